"""The fields of composite keys: how each encodes itself, says where it ends, and is asked for."""

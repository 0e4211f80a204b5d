"""The fields of composite keys: encoding, decoding, and ranges of conditions."""

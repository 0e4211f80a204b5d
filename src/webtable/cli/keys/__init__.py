"""The commands about row keys and rows under declared keys."""

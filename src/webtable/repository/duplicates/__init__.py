"""duplicates."""

"""Deletes of one page or many, the erasure of a domain, and compaction."""

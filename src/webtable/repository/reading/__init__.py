"""Scans across salts: ranges merged into one order, and read ahead of the caller."""

"""Diagnosis: read-only checks of a store and a table, each with its result and a remedy."""

"""The commands about a table: creating, altering, indexes, health, deletes."""

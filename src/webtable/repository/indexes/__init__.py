"""Secondary indexes: entries in separate tables, which are checked against the pages that they name."""

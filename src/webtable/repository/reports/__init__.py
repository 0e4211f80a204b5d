"""Reports on a site, its audit and its changes: made of the answers of a table, which hands itself in."""

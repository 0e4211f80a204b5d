"""Secondary indexes: entries in tables of their own, each a hint that the page which it names confirms or not."""

"""Options that several commands share: the layout of a table, limits, which pages, resuming."""

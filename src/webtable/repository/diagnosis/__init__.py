"""What is well with a table, what will be trouble and what is broken: looked at, and nothing changed."""

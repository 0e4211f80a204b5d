"""Text: the words of a query, matching rows, excerpts, and differences of two versions."""

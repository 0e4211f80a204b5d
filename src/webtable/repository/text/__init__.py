"""Text: words that are looked for, rows matched by them, excerpts, and differences of two versions."""

"""A table out as files of bounded size, with a manifest of them by which they are checked and read again."""

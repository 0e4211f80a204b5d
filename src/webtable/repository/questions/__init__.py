"""The questions that a web table answers, by what answers them: ranges of rows, indexes, links, text."""

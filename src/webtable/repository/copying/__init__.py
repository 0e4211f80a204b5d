"""Copies of a web table into another one, with other keys and cells, and the comparison of both."""

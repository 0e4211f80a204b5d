"""The formats in which answers are written, one module each, named as in `--format` and `write`.

Each module has one function:

    lines(records, columns, *, for_terminal) -> Iterator[bytes]

It yields lines with their ends: a header line if the format has one, then a line for each record; of a binary format
pieces of the file. Each of the *columns*
gives its value of a record (`webtable.display.values` formats values as text). *for_terminal* escapes terminal control
characters.
"""

"""The formats that answers are written in: a file each, and its name is what `--format` and `write` call it.

Such a file has one function:

    lines(records, columns, *, for_terminal) -> Iterator[bytes]

It yields lines with their ends, one for each record as it comes, and a heading in front where the format has one.
Records have *columns* as attributes (`webtable.formats.text` says how values look as text); None are those that
`webtable.formats.columns.columns_of` finds. With *for_terminal* nothing in a line commands a terminal.
"""

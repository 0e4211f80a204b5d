"""The formats that answers are written in: a file each, and its name is what `--format` and `write` call it.

Such a file has one function:

    lines(records, columns, *, for_terminal) -> Iterator[bytes]

It yields lines with their ends, one for each record as it comes, and a heading in front where the format has one.
Each of the *columns* gives its value of a record (`webtable.formats.text` says how values look as text). With
*for_terminal* nothing in a line commands a terminal.
"""

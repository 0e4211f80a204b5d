"""Cells as HBase's KeyValueCodec writes them, which follow the messages of calls and answers.

A cell is: the length of all that follows, the length of its key, the length of its value, the length of its row, the
row, the length of its family in one byte, family, qualifier, timestamp, type, and the value (KeyValue.java).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from webtable.store.hbase.failures import WrongReply
from webtable.store.rows import Cell, Row, distinct_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.store.rows import Delete, Put

PUT: Final = 4
_DELETE, _DELETE_COLUMN, _DELETE_FAMILY = 8, 12, 14
_HEAD = struct.Struct(">IIIH")
_TAIL = struct.Struct(">QB")
_TIMESTAMP = struct.Struct(">Q")
_MOST_NAMES: Final = 4096
"""Names of columns that are remembered while a block is read: those of links differ from row to row."""

Found = tuple[bytes, list[tuple[bytes, Cell]]]
"""A row, and its cells with their columns."""


def encode_put(put: Put, out: list[bytes], names: dict[bytes, bytes]) -> int:
    """Append the cells of *put* to *out*, and return how many they are; *names* remembers columns."""
    row = put.row
    length = len(row)
    add, head, tail = out.append, _HEAD.pack, _TAIL.pack
    for column, timestamp, value in put.cells:
        name = names.get(column)
        if name is None:
            name = _name(column)
            if len(names) < _MOST_NAMES:
                names[column] = name
        key, size = length + len(name) + 11, len(value)
        add(b"%b%b%b%b" % (head(key + size + 8, key, size, length), row, name, tail(timestamp, PUT)))
        add(value)
    return len(put.cells)


def encode_delete(delete: Delete, out: list[bytes]) -> int:
    """Append the cells of *delete* to *out*, and return how many they are: none for a whole row."""
    if delete.columns is None:
        return 0
    columns = distinct_columns(delete.columns)
    for column in columns:
        qualifier = column.partition(b":")[2]
        kind = (_DELETE if delete.exact else _DELETE_COLUMN) if qualifier else _DELETE_FAMILY
        name = _name(column)
        key = len(delete.row) + len(name) + 11
        out.append(
            _HEAD.pack(key + 8, key, 0, len(delete.row)) + delete.row + name + _TAIL.pack(delete.timestamp, kind)
        )
    return len(columns)


def _name(column: bytes) -> bytes:
    # The key of the delete of a family has no colon either: one byte off, and HBase refuses the whole call.
    family, _, qualifier = column.partition(b":")
    return bytes((len(family),)) + family + qualifier


def decoded_rows(data: bytes, start: int, end: int, counts: Sequence[int]) -> list[Found]:
    """Return the rows of a block of cells, from *start* to *end* of *data*, in which each has so many cells.

    Raises `WrongReply` if the lengths in it do not fit.
    """
    rows: list[Found] = []
    cells = _cells(data, start, end)
    try:
        for count in counts:
            if not count:
                rows.append((b"", []))
                continue
            row, column, cell = next(cells)
            found = [(column, cell)]
            for _ in range(count - 1):
                other, column, cell = next(cells)
                if other != row:
                    raise WrongReply("cells of another row came in a row")
                found.append((column, cell))
            rows.append((row, found))
    except StopIteration:
        raise WrongReply("fewer cells came than were announced") from None
    if next(cells, None) is not None:
        raise WrongReply("more cells came than were announced")
    return rows


def _cells(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes, Cell]]:
    """Yield the row, the column and the cell of each cell of a block."""
    names: dict[bytes, bytes] = {}
    head, timestamp, new = _HEAD.unpack_from, _TIMESTAMP.unpack_from, tuple.__new__
    row, length = b"", -1
    last = end - 25
    while at <= last:
        size, key, value, row_length = head(data, at)
        name_at = at + 14 + row_length
        tail_at = at + key + 3
        stop = at + size + 4
        if tail_at <= name_at or size != key + value + 8 or stop > end:
            raise WrongReply("the lengths of a cell do not fit")
        if row_length != length or not data.startswith(row, at + 14):
            row, length = data[at + 14 : name_at], row_length
        name = data[name_at:tail_at]
        column = names.get(name)
        if column is None:
            column = _column(name)
            if len(names) < _MOST_NAMES:
                names[name] = column
        yield row, column, new(Cell, (timestamp(data, tail_at)[0], data[stop - value : stop]))
        at = stop
    if at != end:
        raise WrongReply("a block of cells ends within a cell")


def _column(name: bytes) -> bytes:
    family = name[0] + 1
    if family > len(name):
        raise WrongReply("the family of a cell is longer than its key")
    return name[1:family] + b":" + name[family:]


def row_of(found: Found, *, one_version: bool) -> Row:
    """Return the row; with *one_version* each of its columns has one cell."""
    key, cells = found
    if one_version:
        return Row(key, {column: (cell,) for column, cell in cells})
    columns: dict[bytes, list[Cell]] = {}
    for column, cell in cells:
        columns.setdefault(column, []).append(cell)
    return Row(key, columns)

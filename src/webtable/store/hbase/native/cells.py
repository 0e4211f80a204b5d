"""Cells as HBase's KeyValueCodec writes them, which follow the messages of calls and answers.

A cell is: the length of all that follows, the length of its key, the length of its value, the length of its row, the
row, the length of its family in one byte, family, qualifier, timestamp, type, and the value (KeyValue.java).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.rows import Cell, Row, distinct_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.rows import Delete, Put

PUT: Final = 4
_DELETE, _DELETE_COLUMN, _DELETE_FAMILY = 8, 12, 14
_HEAD = struct.Struct(">IIIH")
_TAIL = struct.Struct(">QB")
_TIMESTAMP = struct.Struct(">Q")
_SHORTEST: Final = 4 + 4 + 4 + 2 + 1 + 8 + 1
"""The bytes of a cell in which everything is empty that may be."""
_MOST_NAMES: Final = 4096
"""Names of columns that are remembered while a block is read: those of links differ from row to row."""


def encode_put(put: Put, out: list[bytes], names: dict[bytes, bytes]) -> int:
    """Append the cells of *put* to *out*, and return how many they are; *names* remembers columns."""
    row = put.row
    length = len(row)
    head, tail = _HEAD.pack, _TAIL.pack  # a loop over all cells of a batch
    for column, timestamp, value in put.cells:
        name = names.get(column)
        if name is None:
            name = _name(column)
            if len(names) < _MOST_NAMES:
                names[column] = name
        key, size = length + len(name) + 11, len(value)
        out += (head(key + size + 8, key, size, length), row, name, tail(timestamp, PUT), value)
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


def decoded_rows(data: bytes, start: int, end: int, counts: Sequence[int], *, one_version: bool = True) -> list[Row]:
    """Return the rows of a block of cells, from *start* to *end* of *data*; *counts* has the cells of each.

    With *one_version* each column has one cell. A row without cells has no key. Raises `WrongReply` if the lengths in
    the block do not fit.
    """
    rows: list[Row] = []
    names: dict[bytes, bytes] = {}
    head, timestamp, new = _HEAD.unpack_from, _TIMESTAMP.unpack_from, tuple.__new__  # a loop over all cells of a scan
    at, last, row = start, end - _SHORTEST, b""
    for count in counts:
        cells: dict[bytes, Any] = {}
        for place in range(count):
            if at > last:
                raise WrongReply("fewer cells came than were announced")
            size, key, value, length = head(data, at)
            name_at, tail_at, stop = at + 14 + length, at + key + 3, at + size + 4
            if tail_at <= name_at or size != key + value + 8 or stop > end:
                raise WrongReply("the lengths of a cell do not fit")
            if not place:
                row = data[at + 14 : name_at]
            elif length != len(row) or not data.startswith(row, at + 14):
                raise WrongReply("cells of another row came in a row")
            name = data[name_at:tail_at]
            column = names.get(name)
            if column is None:
                column = _column(name)
                if len(names) < _MOST_NAMES:
                    names[name] = column
            cell = new(Cell, (timestamp(data, tail_at)[0], data[stop - value : stop]))
            if one_version:
                cells[column] = (cell,)
            else:
                cells.setdefault(column, []).append(cell)
            at = stop
        rows.append(new(Row, (row if count else b"", cells)))
    if at != end:
        raise WrongReply("more cells came than were announced")
    return rows


def _column(name: bytes) -> bytes:
    family = name[0] + 1
    if family > len(name):
        raise WrongReply("the family of a cell is longer than its key")
    return name[1:family] + b":" + name[family:]


def joined(part: Row, rest: Row) -> Row:
    """Return the row of which *part* and *rest* are."""
    cells = dict(part.cells)
    for column, more in rest.cells.items():
        before = cells.get(column)
        cells[column] = more if before is None else [*before, *more]
    return Row(part.key, cells)

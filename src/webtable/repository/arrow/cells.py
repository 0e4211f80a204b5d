"""Stored rows as record batches, straight from their cells: no page is made on the way.

A row's metadata is one JSON object. The objects of many rows, each proven by its checksum, are lines of JSON together,
and pyarrow reads those with a schema. Members that are left out have their defaults. Where the lines are not what they
should be (a cell of another program may hold an end of line), the pages are made one by one.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING
from zlib import crc32

from webtable._checksums import RIGHT
from webtable.errors import DamagedRow
from webtable.repository.arrow.batches import BATCH_ROWS, arrow, batch_of, parts_of, schema_of
from webtable.repository.arrow.kinds import URL
from webtable.repository.read_ahead import ahead
from webtable.store import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from webtable._page import Page
    from webtable.repository.arrow.kinds import Column
    from webtable.repository.codec import PageCodec
    from webtable.repository.damage import Damage

FIRST_ROWS = 256
"""How many rows the first batch has: most answers have fewer."""
BATCH_CELLS = 4 * 2**20
"""How many bytes of cells a batch is made of, but for the last of its rows."""


def in_batches(
    rows: Iterator[Row], codec: PageCodec, columns: Sequence[Column], damage: Damage
) -> Iterator[pa.RecordBatch]:
    """Yield the pages of *rows*, without those that are none, reading the next ones while the caller works.

    Each of *columns* must be stored, or made of the URL. Damaged rows are told to *damage*.
    """
    with closing(ahead(_pieces(rows, codec.columns.page))) as pieces:
        for piece in pieces:
            yield piece.batch(codec, columns, damage)


@dataclass(slots=True)
class _Piece:
    """Rows that are pages, and their metadata as it is stored."""

    rows: list[Row] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    is_proven: bool = True
    """Whether the checksums of all rows are right."""
    has_more: bool = False

    def batch(self, codec: PageCodec, columns: Sequence[Column], damage: Damage) -> pa.RecordBatch:
        """Return the rows as a batch."""
        parsed = self._parsed(columns) if self.is_proven and self.rows else None
        if parsed is not None:
            return parsed
        pages = (_page(codec, row) for row in self.rows)
        return batch_of([page for page in damage.sift(pages) if page is not None], columns)

    def _parsed(self, columns: Sequence[Column]) -> pa.RecordBatch | None:
        """Return what pyarrow reads in the values, None where they are not a line of JSON each."""
        pa = arrow()
        lines = b"\n".join(self.values)
        if lines.count(b"\n") != len(self.values) - 1:
            return None
        stored = [column for column in columns if column.source == "stored"]
        needed = stored if URL in stored else [URL, *stored]
        try:
            table = pa.json.read_json(
                pa.BufferReader(lines),
                # One block, so that a batch comes out.
                pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
                pa.json.ParseOptions(explicit_schema=schema_of(needed), unexpected_field_behavior="ignore"),
            )
        except pa.ArrowException:
            return None
        urls = table["url"]
        if table.num_rows != len(self.values) or urls.null_count:
            return None
        arrays = [
            parts_of(column, urls) if column.source == "url" else _filled(table[column.name], column)
            for column in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))


def _filled(values: pa.ChunkedArray, column: Column) -> pa.Array:
    filled = values if column.default is None else values.fill_null(column.default)
    return filled.combine_chunks()


def _page(codec: PageCodec, row: Row) -> Page | DamagedRow | None:
    try:
        return codec.page(row)
    except DamagedRow as exc:
        return exc


def _pieces(rows: Iterator[Row], column: bytes) -> Iterator[_Piece]:
    most = FIRST_ROWS
    while True:
        piece = _piece(islice(rows, most), column, most)
        yield piece
        if not piece.has_more:
            return
        most = BATCH_ROWS


def _piece(rows: Iterator[Row], column: bytes, most: int) -> _Piece:
    """Return the next *most* of *rows*, or as many as take BATCH_CELLS, those that are pages."""
    piece = _Piece()
    add_row, add_value = piece.rows.append, piece.values.append
    count = size = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - how many there were is told at the end
        cells = row.cells.get(column)
        if not cells:
            continue
        timestamp, value = cells[0]
        add_row(row)
        add_value(value)
        # As `PageCodec.page` does it.
        if crc32(value, crc32(row.key, timestamp ^ timestamp >> 32)) != RIGHT:
            piece.is_proven = False
        size += len(value)
        if size >= BATCH_CELLS:
            piece.has_more = True
            return piece
    piece.has_more = count == most
    return piece

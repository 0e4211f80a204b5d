"""Arrow tables of pages: pages from the rows of data frames, and record batches from stored rows.

Record batches are made directly from cells, without pages in between. A row's metadata are one JSON object. The objects
of many rows, each verified by its checksum, form lines of JSON, which pyarrow reads with a schema: a decoder that makes
Python objects takes as much processor time, but holds the interpreter's lock, while the next rows are read in another
thread. Missing members get their defaults. If the lines are not valid (a cell of another program may contain an end of
line), or a value is none that a page can have, the pages are made one by one.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol
from zlib import crc32

import msgspec

from webtable._checksums import RIGHT, UNREADABLE
from webtable.errors import FormatError, InvalidCapture, UnknownColumn
from webtable.page.json_lines import ATTRIBUTES, TIMES, WHOLE_NUMBERS, headers_in_row, time_in_row, whole_number
from webtable.page.page import Page
from webtable.page.parts import Link, meant
from webtable.repository.answers.arrow import (
    BATCH_ROWS,
    UnreadableRow,
    arrow,
    batch_of,
    parts_of,
    rows_of,
    schema_of,
    type_of,
)
from webtable.repository.answers.columns import PAGES, URL
from webtable.repository.answers.tabular import Tabular
from webtable.repository.page_storage.state import GIVEN
from webtable.repository.reading.read_ahead import ahead
from webtable.store import Cell, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from webtable.errors import DamagedRow
    from webtable.repository.answers.columns import Column
    from webtable.repository.reading.read_ahead import Damage

_MADE = set(PAGES.names).difference(GIVEN)
"""Columns of answers that are computed when a page is stored, or never stored: they are ignored."""
_INDEX = "__index_level_"
"""The prefix of the columns that pandas makes of its index."""
_STORED_AS = dict(zip(ATTRIBUTES, Page.__struct_encode_fields__, strict=True))
_TYPES = {field.encode_name: field.type for field in msgspec.structs.fields(Page)}
_RENAMED = {theirs: ours for ours, theirs in PAGES.renaming("commoncrawl").items()}


class ArrowStream(Protocol):
    """A table, as defined by the Arrow PyCapsule protocol."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with the stream."""


def pages_of(
    rows: Iterable[Page] | ArrowStream, refuse: Callable[[int, str | None, InvalidCapture], None]
) -> Iterator[Page]:
    """Yield the pages of *rows*: an iterable of pages, or a table with the Arrow PyCapsule protocol.

    *refuse* is called with the number, from 1, of each row of a table that is not a page, its URL if it has one, and
    the reason. Raises `UnknownColumn`.
    """
    if isinstance(rows, Tabular):  # else it would only have the columns that its question named
        rows = rows.to_arrow([column.name for column in rows._columns.in_json()])
    if not hasattr(rows, "__arrow_c_stream__"):
        yield from rows
        return
    reader = arrow().RecordBatchReader.from_stream(rows)
    fields = checked_columns(reader.schema.names)
    number = 0
    for batch in reader:
        for row in rows_of(batch):
            number += 1
            try:
                if isinstance(row, UnreadableRow):
                    raise row
                page = page_of({fields[name]: value for name, value in row.items() if name in fields})
            except (UnreadableRow, ValueError, TypeError, OverflowError) as exc:
                url = None if isinstance(row, UnreadableRow) else row.get("url")
                refuse(number, url if isinstance(url, str) else None, InvalidCapture(f"it is not a page: {exc}"))
            else:
                yield page


def checked_columns(names: Iterable[str]) -> dict[str, str]:
    """Return the field of a page for each of the columns *names*, without columns that are ignored.

    Raises `UnknownColumn` for a column that answers do not have, for a second one of a field, and if there is no URL.
    """
    names = tuple(names)
    if "warc_filename" in names and "body" not in names:
        raise UnknownColumn(
            "columns='warc_filename' is one of Common Crawl's index, which has no bodies: it names the WARC files that "
            "have them, at warc_record_offset; fetch those, and read them in place of the index"
        )
    fields: dict[str, str] = {}
    for name in names:
        field = _RENAMED.get(name, name)
        if field in GIVEN:
            other = next((other for other, taken in fields.items() if taken == field), None)
            if other is not None:
                what = f"columns={name!r} is there twice" if other == name else f"columns={other!r} and {name!r}"
                raise UnknownColumn(f"{what}: one column is the {field} of a page; leave one out")
            fields[name] = field
        elif field not in _MADE and not name.startswith(_INDEX):
            close = meant(name, GIVEN) or "; leave it out."
            raise UnknownColumn(f"columns={name!r} is not a field of a page{close} There are {', '.join(GIVEN)}")
    if "url" not in fields.values():
        raise UnknownColumn("there is no column 'url'")
    return fields


def page_of(values: Mapping[str, Any]) -> Page:
    """Return the page with these *values* by field, without those that are None.

    Times may be text in ISO 8601, and without a time zone are in UTC. Raises `ValueError`, `TypeError`, and
    `OverflowError` for a time that is none in UTC.
    """
    present = {name: value for name, value in values.items() if value is not None}
    for name, convert in _CONVERTED.items():
        if name in present:
            present[name] = convert(present[name])
    headers = present.pop("headers", None)
    page = msgspec.convert({_STORED_AS[name]: value for name, value in present.items()}, Page)
    return msgspec.structs.replace(page, headers=headers) if headers is not None else page


def _link(link: Any) -> Link:
    match link:
        case str():
            return Link(link)
        case dict():
            return Link(**{name: value for name, value in link.items() if value is not None})
    return Link(*link)


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "body": lambda body: body.encode() if isinstance(body, str) else bytes(memoryview(body)),
    "headers": headers_in_row,
    "html_facts": lambda facts: dict(facts.items() if isinstance(facts, dict) else facts),
    "outlinks": lambda links: tuple(map(_link, links)),
    **dict.fromkeys(WHOLE_NUMBERS, whole_number),
    **dict.fromkeys(TIMES, time_in_row),
}


FIRST_ROWS = 256
"""How many rows the first batch has: most answers have fewer."""
TAKEN_AT_ONCE = 64
"""After how many rows their bytes are counted."""
BATCH_CELLS = 4 * 2**20
"""How many bytes of cells a batch is made of at most, not counting its last row."""


def in_batches(
    rows: Iterator[Row],
    metadata: bytes,
    each: Callable[[Row], Page | DamagedRow | None],
    columns: Sequence[Column],
    damage: Damage,
    expected: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the pages of *rows* in batches, reading the next ones while the caller works; other rows are skipped.

    The first batch comes after *expected* rows, if these are few. The stored column *metadata* has the pages. Each of
    *columns* must be stored, or computed from the URL. If pages are needed, *each* makes them (`PageReader.each`).
    Damaged rows are added to *damage*.
    """
    with closing(ahead(_pieces(rows, metadata, min(expected or FIRST_ROWS, FIRST_ROWS)))) as pieces:
        for piece in pieces:
            parsed = piece.parsed(columns)
            yield piece.made(metadata, each, columns, damage) if parsed is None else parsed


class _Piece(msgspec.Struct):
    """Rows that are pages: the key of each, and its stored metadata with the timestamp.

    These are tuples, because the garbage collector would check row objects again and again.
    """

    cells: list[tuple[bytes, int, bytes]] = []
    is_proven: bool = True
    """Whether the checksums of all rows are right."""
    has_more: bool = False

    def made(
        self,
        metadata: bytes,
        each: Callable[[Row], Page | DamagedRow | None],
        columns: Sequence[Column],
        damage: Damage,
    ) -> pa.RecordBatch:
        """Return the rows as a batch, after making a page of each."""
        rows = (Row(key, {metadata: [Cell(timestamp, value)]}) for key, timestamp, value in self.cells)
        pages = damage.sift(map(each, rows))
        return batch_of([page for page in pages if page is not None], columns)

    def parsed(self, columns: Sequence[Column]) -> pa.RecordBatch | None:
        """Return the batch that pyarrow reads from the values, or None unless each is verified and a line of JSON."""
        if not (self.is_proven and self.cells):
            return None
        pa = arrow()
        # Each value must be one line, or pages would be read that nobody stored; JSON of webtable has no ends of lines.
        lines = b"\n".join([value for _, _, value in self.cells])
        if lines.count(b"\n") != len(self.cells) - 1:
            return None
        stored = [column for column in columns if column.source == "stored"]
        in_lines = stored if URL in stored else [URL, *stored]
        needed = [replace(column, name=_STORED_AS[column.name]) for column in in_lines]
        try:
            table = pa.json.read_json(
                pa.BufferReader(lines),
                # One block, so that pyarrow returns one batch.
                pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
                pa.json.ParseOptions(explicit_schema=schema_of(needed), unexpected_field_behavior="ignore"),
            )
            urls = table["url"]
            if table.num_rows != len(self.cells) or urls.null_count:
                return None
            _check(table)
            arrays = [
                parts_of(column, urls) if column.source == "url" else _filled(table[_STORED_AS[column.name]], column)
                for column in columns
            ]
        except (*UNREADABLE, FormatError, pa.ArrowException):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))


def _check(table: pa.Table) -> None:
    """Raise `ValueError`, `OverflowError` or Arrow's exception if *table* has a value that no page can have.

    Arrow reads texts that are not UTF-8, numbers without their limits, and years before the first.
    """
    table.validate(full=True)
    limited = {type_of("int"), type_of("time")}
    for field, values in zip(table.schema, table.columns, strict=True):
        if field.type in limited:
            for extreme in arrow().compute.min_max(values).as_py().values():
                msgspec.convert(extreme, _TYPES[field.name] | None)


def _filled(values: pa.ChunkedArray, column: Column) -> pa.Array:
    filled = values if column.default is None else values.fill_null(column.default)
    return filled.combine_chunks()


def _pieces(rows: Iterator[Row], column: bytes, limit: int) -> Iterator[_Piece]:
    while True:
        piece = _piece(rows, column, limit)
        yield piece
        if not piece.has_more:
            return
        limit = BATCH_ROWS


def _piece(rows: Iterator[Row], column: bytes, limit: int) -> _Piece:
    """Return the next *limit* of *rows*, or as many as take BATCH_CELLS, those that are pages."""
    piece = _Piece()
    count = size = 0
    while count < limit and size < BATCH_CELLS:
        batch = list(islice(rows, min(TAKEN_AT_ONCE, limit - count)))
        if not batch:
            return piece
        count += len(batch)
        pages = [(row.key, *row.cells[column][0]) for row in batch if column in row.cells]
        # The checksum begins with the row key and the timestamp. In the same way as `PageCodec.page`.
        sums = [crc32(value, crc32(key, timestamp ^ timestamp >> 32)) for key, timestamp, value in pages]
        piece.is_proven = piece.is_proven and sums.count(RIGHT) == len(sums)
        piece.cells += pages
        size += sum(len(value) for _, _, value in pages)
    piece.has_more = True
    return piece

"""Arrow record batches of records, and Parquet files of batches; only this module imports pyarrow."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING, Any

from webtable._files import atomic_file
from webtable._importable import needed
from webtable.errors import FormatError
from webtable.page.page import LINK_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from io import RawIOBase

    import pyarrow as pa

    from webtable.repository.answers.columns import Column, Type


BATCH_ROWS = 4_096
"""How many rows a batch has at most."""
BATCH_BYTES = 8 * 2**20
"""How many bytes of bodies and links a batch has at most, not counting its last row."""
GROUP_ROWS = 50_000
"""How many rows a row group has at most, of one host or of several small ones."""
GROUP_BYTES = 64 * 2**20
"""How many bytes of memory a row group takes at most, not counting its last batch."""


@cache
def arrow() -> Any:
    """Return pyarrow with the modules that are used; raises `MissingExtra`."""
    with needed("pyarrow", "arrow"):
        import pyarrow
        import pyarrow.compute
        import pyarrow.json
        import pyarrow.parquet
    return pyarrow


def check_arrow() -> None:
    """Raise `MissingExtra` unless there is pyarrow, without importing it."""
    # To import it takes longer than most commands run.
    if find_spec("pyarrow") is None:
        arrow()


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of batches with these *columns*."""
    return arrow().schema([(column.name, type_of(column.type)) for column in columns])


@cache
def type_of(kind: Type) -> pa.DataType:
    """Return the Arrow type of columns of a *kind*."""
    pa = arrow()
    text, number, time = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
    counts = [(name, number) for name in ("inlinks", "internal", "external", "self_links")]
    types: dict[Type, Any] = {
        "string": text,
        "int": number,
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": time,
        "bytes": pa.binary(),
        "strings": pa.list_(text),
        "headers": pa.map_(text, text),
        "cells": pa.map_(text, pa.binary()),
        "links": pa.list_(
            pa.struct(
                [
                    ("url", text),
                    ("anchor", text),
                    ("rel", text),
                    ("kind", text),
                    ("position", text),
                    ("times", pa.int64()),
                ]
            )
        ),
        "counts": pa.struct([*counts, ("counted_at", time)]),
    }
    return types[kind]


def batches_of(records: Iterable[Any], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Yield *records* in batches of BATCH_ROWS, or of BATCH_BYTES if they have bodies."""
    rest = iter(records)
    while piece := _next_piece(rest):
        yield batch_of(piece, columns)


def batch_of(records: Sequence[Any], columns: Sequence[Column]) -> pa.RecordBatch:
    """Return *records* as one batch; raises `FormatError` for a value that its column cannot hold."""
    return arrow().RecordBatch.from_arrays(
        [array_of(column, map(column.of, records)) for column in columns], schema=schema_of(columns)
    )


def array_of(column: Column, values: Iterable[Any]) -> pa.Array:
    """Return *values* as the array of a *column*; raises `FormatError` for a value that it cannot hold."""
    pa = arrow()
    if column.type in _IN_PARTS:
        values = (None if value is None else _IN_PARTS[column.type](value) for value in values)
    try:
        return pa.array(list(values), type_of(column.type))
    except (pa.ArrowException, OverflowError, ValueError) as exc:
        raise FormatError(f"column {column.name!r} cannot be {type_of(column.type)} in Arrow: {exc}") from exc


_IN_PARTS: dict[Type, Callable[[Any], Any]] = {
    "headers": lambda headers: list(headers.items()),
    "cells": lambda cells: list(cells.items()),
    "links": lambda links: [link._asdict() for link in links],
    "counts": lambda counts: {name: getattr(counts, name) for name in counts.__struct_fields__},
}


def parts_of(column: Column, urls: pa.Array) -> pa.Array:
    """Return the array of a *column* that is computed from the URL alone."""
    return array_of(column, (column.of(SimpleNamespace(url=url)) for url in urls.to_pylist()))


def _next_piece(records: Iterator[Any]) -> list[Any]:
    piece: list[Any] = []
    size = 0
    for record in islice(records, BATCH_ROWS):
        piece.append(record)
        size += len(getattr(record, "body", None) or b"")
        size += LINK_BYTES * len(getattr(record, "outlinks", None) or ())
        size += sum(len(cell) for cell in getattr(record, "cells", {}).values() if isinstance(cell, bytes | str))
        if size >= BATCH_BYTES:
            break
    return piece


def first_rows(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the first *limit* rows of *batches* (None: all of them), without empty batches."""
    remaining = limit
    while remaining is None or remaining > 0:
        batch = next(batches, None)
        if batch is None:
            return
        if remaining is not None:
            batch = batch.slice(0, remaining)
            remaining -= batch.num_rows
        if batch.num_rows:
            yield batch


def write_parquet(reader: pa.RecordBatchReader, path: str | os.PathLike[str], host: str | None) -> int:
    """Write the rows of *reader* to the file *path*, and return how many there were.

    The file appears when it is complete: until then another file is written beside it, which is removed after an error.
    *host* names the column of URLs by whose hosts rows are grouped, if there is one.
    """
    rows = 0
    with atomic_file(Path(path)) as part, new_file(part, reader.schema) as writer:
        for group in _row_groups(reader, host):
            writer.write_table(group, row_group_size=max(1, group.num_rows))
            rows += group.num_rows
    return rows


def new_file(target: Path | IO[bytes] | RawIOBase, schema: pa.Schema) -> Any:
    """Return a writer of a Parquet file with that *schema*."""
    pa = arrow()
    # Statistics contain copies of the smallest and the largest value, which is useless for bodies.
    compared = [field.name for field in schema if not pa.types.is_binary(field.type)]
    return pa.parquet.ParquetWriter(target, schema, compression="zstd", write_statistics=compared)


def _row_groups(reader: pa.RecordBatchReader, host: str | None) -> Iterator[pa.Table]:
    """Yield the row groups: whole hosts together up to GROUP_ROWS, or parts of a host with more rows."""
    pa = arrow()
    waiting: list[Any] = []
    for batch in reader:
        waiting.append(batch)
        rows, size = sum(part.num_rows for part in waiting), sum(part.nbytes for part in waiting)
        if rows < GROUP_ROWS and size < GROUP_BYTES:
            continue
        # Rows come in the order of URLs, so a host is whole once the next one has begun. Readers skip groups by the
        # smallest and the largest URL, which the statistics of a group have.
        together = pa.Table.from_batches(waiting)
        cut = _last_host(together[host]) or rows if host else rows
        yield together.slice(0, cut)
        waiting = together.slice(cut).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _last_host(urls: pa.ChunkedArray) -> int:
    """Return the place of the first row of the last host; 0 if there is only one host."""
    pc = arrow().compute
    last = _host(urls[-1].as_py())
    # From the end: the last row that is of another host.
    same = pc.starts_with(urls, f"{last}/")
    others = pc.index(pc.invert(same).combine_chunks()[::-1], True).as_py()
    return 0 if others < 0 else len(urls) - others


def _host(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


# --- Rows of Arrow tables ---------------------------------------------------------------------------------------------
#
# As Python values; one odd row spoils none of the others.


ROWS_AT_ONCE = 256
"""How many rows of a table are converted to Python objects at once."""


class UnreadableRow(Exception):
    """The reason why a row has no values in Python, as text that is not UTF-8."""


def rows_of(batch: pa.RecordBatch) -> Iterator[Mapping[str, Any] | UnreadableRow]:
    """Yield the values of each row of *batch* by the names of columns, or why it cannot be read.

    Times are in UTC, cut to microseconds; those without a time zone are taken for UTC.
    """
    for at in range(0, batch.num_rows, ROWS_AT_ONCE):
        yield from _rows_of(batch.slice(at, ROWS_AT_ONCE))


def _rows_of(batch: pa.RecordBatch) -> Iterator[Mapping[str, Any] | UnreadableRow]:
    try:
        yield from _in_utc(batch).to_pylist()
    except (ValueError, OverflowError, arrow().ArrowException) as exc:
        if batch.num_rows == 1:
            yield UnreadableRow(str(exc))
            return
        for at in range(batch.num_rows):
            yield from _rows_of(batch.slice(at, 1))


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return *batch* with its times as `datetime` has them.

    pandas writes nanoseconds, and so is INT96 read, which Spark, Hive and Impala write: without pandas these cannot be
    converted to Python, and with it they become a type of its own.
    """
    pa = arrow()
    times = pa.timestamp("us", "UTC")
    for at, kind in enumerate(batch.schema.types):
        if (pa.types.is_timestamp(kind) and kind != times) or pa.types.is_date(kind):
            batch = batch.set_column(at, batch.schema.names[at], batch.column(at).cast(times, safe=False))
    return batch

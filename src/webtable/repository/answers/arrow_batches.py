"""Record batches made of records, a column at a time; and pyarrow, which is imported here and nowhere else."""

from __future__ import annotations

from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from webtable._page.page import LINK_BYTES
from webtable.errors import FormatError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from webtable.repository.answers.columns import Column, Type

BATCH_ROWS = 4_096
"""How many rows a batch has at most."""
BATCH_BYTES = 8 * 2**20
"""How many bytes of bodies and links a batch has at most, but for the last of its rows."""


@cache
def arrow() -> Any:
    """Return pyarrow with the modules of it that are used; raises `MissingExtra`."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.json
        import pyarrow.parquet
    except ImportError as exc:
        raise MissingExtra(f"this needs pyarrow: pip install 'hbase-webtable[arrow]' ({exc})") from exc
    return pyarrow


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Return the schema of batches with these *columns*."""
    return arrow().schema([(column.name, type_of(column.type)) for column in columns])


@cache
def type_of(kind: Type) -> pa.DataType:
    """Return the Arrow type that columns of a *kind* have."""
    pa = arrow()
    text, number, time = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
    counts = [(name, number) for name in ("inlinks", "internal", "external", "self_links")]
    types: dict[Type, Any] = {
        "string": text,
        "int": number,
        "bool": pa.bool_(),
        "time": time,
        "bytes": pa.binary(),
        "strings": pa.list_(text),
        "headers": pa.map_(text, text),
        "links": pa.list_(pa.struct([("url", text), ("anchor", text), ("rel", text)])),
        "counts": pa.struct([*counts, ("counted_at", time)]),
    }
    return types[kind]


def batches_of(records: Iterable[Any], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Yield *records* in batches of BATCH_ROWS, or of BATCH_BYTES where they have bodies."""
    rest = iter(records)
    while some := _some(rest):
        yield batch_of(some, columns)


def batch_of(records: Sequence[Any], columns: Sequence[Column]) -> pa.RecordBatch:
    """Return *records* as one batch; raises `FormatError` for a value that its column cannot hold."""
    return arrow().RecordBatch.from_arrays(
        [array_of(column, map(column.of, records)) for column in columns], schema=schema_of(columns)
    )


def array_of(column: Column, values: Iterable[Any]) -> pa.Array:
    """Return *values* as the array of a *column*; raises `FormatError` for one that it cannot hold."""
    pa = arrow()
    if column.type in _IN_PARTS:
        values = (None if value is None else _IN_PARTS[column.type](value) for value in values)
    try:
        return pa.array(list(values), type_of(column.type))
    except (pa.ArrowException, OverflowError, ValueError) as exc:
        raise FormatError(f"column {column.name!r} cannot be {type_of(column.type)} in Arrow: {exc}") from exc


_IN_PARTS: dict[Type, Callable[[Any], Any]] = {
    "headers": lambda headers: list(headers.items()),
    "links": lambda links: [link._asdict() for link in links],
    "counts": lambda counts: {name: getattr(counts, name) for name in counts.__struct_fields__},
}


def parts_of(column: Column, urls: pa.Array) -> pa.Array:
    """Return the array of a *column* that is made of the URL alone."""
    return array_of(column, (column.of(SimpleNamespace(url=url)) for url in urls.to_pylist()))


def _some(records: Iterator[Any]) -> list[Any]:
    some: list[Any] = []
    size = 0
    for record in islice(records, BATCH_ROWS):
        some.append(record)
        size += len(getattr(record, "html", None) or b"")
        size += LINK_BYTES * len(getattr(record, "outlinks", None) or ())
        if size >= BATCH_BYTES:
            break
    return some


def first_rows(batches: Iterator[pa.RecordBatch], most: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the first *most* rows of *batches*, None all of them, without batches that are empty."""
    left = most
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        if left is not None:
            batch = batch.slice(0, left)
            left -= batch.num_rows
        if batch.num_rows:
            yield batch

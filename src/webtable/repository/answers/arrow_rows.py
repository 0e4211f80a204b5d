"""Rows of Arrow tables as Python values, one odd row of which spoils none of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.repository.answers.arrow_batches import arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

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

"""Writing of frames: a row is a capture, stored under its own date, so that what is written twice is stored once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

import webtable
from webtable.errors import DamagedRow, InvalidArgument, StoreError, WebTableError, WriteFailed
from webtable.integrations._spark.options import check_names, moment_of, store_of, truth_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.types import StructType

    from webtable.writing import PageOutcome

MOST_NAMED = 20
"""How many of the rows that were refused an error names."""
MOST_LETTERS = 300
_DATES = ("fetched_at", "fetch_time")
_OWN = {"store", "create", "fetched_at"}
_OF_SPARK = {"checkpointlocation", "path", "queryname"}


@dataclass
class StoredRows(WriterCommitMessage):
    """What became of rows: how many there were, how many were refused, and the first of these with the reasons."""

    rows: int = 0
    refused: int = 0
    named: list[str] = field(default_factory=list)

    def refuse(self, url: object, error: WebTableError) -> None:
        """Count a row that was refused; raises *error* if it is not the row's, but that of the store."""
        if isinstance(error, StoreError) and not isinstance(error, DamagedRow):
            raise error
        self.refused += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(f"{url}: {type(error).__name__}: {error}"[:MOST_LETTERS])


def check_stored(messages: Sequence[StoredRows | None]) -> None:
    """Raise `WriteFailed`, which names rows and reasons, if any row was refused; all others are stored then."""
    reports = [report for report in messages if report is not None]
    refused = sum(report.refused for report in reports)
    if refused:
        named = [line for report in reports for line in report.named][:MOST_NAMED]
        more = f"\nand {refused - len(named):,} more" if refused > len(named) else ""
        rows = sum(report.rows for report in reports)
        raise WriteFailed(f"{refused:,} of {rows:,} rows were not stored; the others are:\n" + "\n".join(named) + more)


@dataclass(frozen=True)
class RowStore:
    """How tasks store rows: said once by the driver, for all of them and for each time that one of them runs."""

    store: str
    fetched_at: datetime
    """The date of rows that have none."""

    @classmethod
    def of(cls, options: Mapping[str, str], schema: StructType, *, overwrite: bool, is_stream: bool = False) -> Self:
        """The store of rows that *options* describe, after opening the table and checking the columns.

        Raises `InvalidArgument`, `UnknownColumn`, and what opening does.
        """
        if overwrite:
            raise InvalidArgument("mode: pages have dates, and are not overwritten; say mode('append')")
        check_names(options.keys() - _OF_SPARK, _OWN, "writing")
        fetched_at = options.get("fetched_at")
        if is_stream and fetched_at is None and not set(_DATES) & set(schema.names):
            raise InvalidArgument("a stream needs a column fetched_at, so that a repeated batch has the same dates")
        made = cls(store_of(options), datetime.now(UTC) if fetched_at is None else moment_of("fetched_at", fetched_at))
        create = truth_of("create", options.get("create", "false"))
        with webtable.open(made.store, create=create) as table, table.writer() as writer:
            writer.put_many(pa.table({name: pa.nulls(0) for name in schema.names}))
        return made

    def stored(self, batches: Iterator[pa.RecordBatch]) -> StoredRows:
        """Store the rows of *batches*, and return what became of them; raises `StoreError` if the store fails."""
        report = StoredRows()
        failed: list[tuple[str, WebTableError]] = []

        def note(outcome: PageOutcome) -> None:
            if outcome.error is not None:
                failed.append((outcome.url, outcome.error))

        with webtable.open(self.store) as table:
            with table.writer(on_outcome=note) as writer:
                for batch in map(self._dated, batches):
                    report.rows += batch.num_rows
                    for at in range(batch.num_rows):
                        row = batch.slice(at, 1)
                        # One by one, so that a row that is refused is known, and those after it are stored.
                        try:
                            writer.put_many(row)
                        except WriteFailed as exc:
                            report.refuse(row["url"][0], exc.failures[0].error if exc.failures else exc)
                        except WebTableError as exc:
                            report.refuse(row["url"][0], exc)
            for url, error in failed:
                report.refuse(url, error)
        return report

    def _dated(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return *batch* with a date in each row."""
        date = pa.scalar(self.fetched_at, pa.timestamp("us", "UTC"))
        for name in _DATES:
            if name in batch.schema.names:
                dates = batch[name]
                return batch.set_column(
                    batch.schema.names.index(name), name, pc.fill_null(dates, date.cast(dates.type))
                )
        return batch.append_column(_DATES[0], pa.repeat(date, batch.num_rows))


class PageWriter(DataSourceArrowWriter):
    """Appends the rows of a frame to a table."""

    def __init__(self, storing: RowStore) -> None:
        self.storing = storing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StoredRows:
        """Store the rows of a task."""
        return self.storing.stored(iterator)

    def commit(self, messages: list[StoredRows | None]) -> None:
        """Raise `WriteFailed` if any row was refused."""
        check_stored(messages)

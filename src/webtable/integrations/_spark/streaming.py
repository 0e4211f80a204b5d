"""Streams: the pages fetched since an offset, which is a moment, and the batches of a stream as captures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
)

from webtable.integrations._spark.options import SparkQuestion, moment_of, number_of
from webtable.integrations._spark.writing import RowStore, StoredRows, check_stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

MARGIN_SECONDS = 60
"""How old a capture must be by default: writers store it some seconds after it was fetched."""
OPTIONS = ("since", "margin")
_FIRST = "1970-01-01T00:00:00+00:00"

Offset = dict[str, str]


class FetchedReader(DataSourceStreamReader):
    """Reads the pages that were fetched in a period, batch by batch; the offset is the end of the period."""

    def __init__(self, options: Mapping[str, str], columns: Sequence[str]) -> None:
        self._question = SparkQuestion.of(options, name="fetched", also=OPTIONS)
        self._columns = columns
        self._since = moment_of("since", options.get("since", _FIRST))
        self._margin = timedelta(seconds=number_of("margin", options.get("margin", str(MARGIN_SECONDS))))

    def initialOffset(self) -> Offset:  # noqa: N802 - the names of Spark, here and below
        """Return the option `since`."""
        return {"until": self._since.isoformat()}

    def latestOffset(self, start: Offset | None = None, limit: object = None) -> Offset:  # noqa: ARG002, N802
        """Return the moment up to which captures are stored by now, or *start* if none came after it."""
        now = datetime.now(UTC) - self._margin
        end = {"until": now.replace(microsecond=now.microsecond // 1_000 * 1_000).isoformat()}
        # Spark before 4.2 does not say where it starts.
        return end if start is None or self._has_pages(start, end) else start

    def _has_pages(self, start: Offset, end: Offset) -> bool:
        if datetime.fromisoformat(end["until"]) <= datetime.fromisoformat(start["until"]):
            return False
        with self._between(start, end).opened() as (_, answer):
            return bool(answer)

    def _between(self, start: Offset, end: Offset) -> SparkQuestion:
        arguments: dict[str, Any] = {**self._question.arguments, "since": start["until"], "until": end["until"]}
        return replace(self._question, arguments=arguments)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Return the parts of the pages that were fetched from *start* on and before *end*."""
        if start == end:
            return []
        with self._between(start, end).opened() as (_, answer):
            return [InputPartition(part) for part in answer.partitions(self._question.partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a part."""
        yield from partition.value.to_arrow(self._columns)


class PageStreamWriter(DataSourceStreamArrowWriter):
    """Appends the rows of each batch of a stream to a table."""

    def __init__(self, storing: RowStore) -> None:
        self.storing = storing

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StoredRows:
        """Store the rows of a task."""
        return self.storing.stored(iterator)

    def commit(self, messages: list[StoredRows | None], batchId: int) -> None:  # noqa: ARG002, N803
        """Raise `WriteFailed` if any row was refused."""
        check_stored(messages)

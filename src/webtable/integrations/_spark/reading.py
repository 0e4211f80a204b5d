"""Reading of an answer: its partitions, and the Arrow batches of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from webtable.integrations._spark.options import SparkQuestion


class AnswerReader(DataSourceReader):
    """Reads some columns of the answer to a question; the driver divides it, and tasks read the parts."""

    def __init__(self, question: SparkQuestion, columns: Sequence[str]) -> None:
        self.question = question
        self.columns = columns

    def partitions(self) -> list[InputPartition]:
        """Return the parts of the answer."""
        with self.question.opened() as (_, answer):
            return [InputPartition(part) for part in answer.partitions(self.question.partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a part."""
        yield from partition.value.to_arrow(self.columns)

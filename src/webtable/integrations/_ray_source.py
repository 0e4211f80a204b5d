"""The source of Ray Data, which needs Ray when it is imported."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.parallel import Partition


class AnswerSource(Datasource):  # type: ignore[misc] # Ray is unknown where types are checked
    """The parts of an answer. It holds no answer: Ray pickles it."""

    def __init__(self, parts: Sequence[Partition[Any]], schema: pa.Schema) -> None:
        super().__init__()
        self._parts = parts
        self._schema = schema

    def get_name(self) -> str:
        """Return the name of the tasks."""
        return "Webtable"

    def estimate_inmemory_data_size(self) -> int | None:
        """Return the size of the stored values in bytes; None if it is not known."""
        return _bytes_of(self._parts)

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: object = None
    ) -> list[ReadTask]:
        """Return at most *parallelism* tasks."""
        del data_context
        count, number = len(self._parts), min(parallelism, len(self._parts))
        tasks = [self._parts[count * at // number : count * (at + 1) // number] for at in range(number)]
        # Without their rows: what is an estimate here Ray returns as `Dataset.count()`.
        return [
            ReadTask(
                partial(_blocks, parts, self._schema),
                BlockMetadata(num_rows=None, size_bytes=_bytes_of(parts), input_files=None, exec_stats=None),
                schema=self._schema,
                per_task_row_limit=per_task_row_limit,
            )
            for parts in tasks
        ]


def _bytes_of(parts: Sequence[Partition[Any]]) -> int | None:
    sizes = [part.bytes for part in parts if part.bytes is not None]
    return sum(sizes) if len(sizes) == len(parts) else None


def _blocks(parts: Sequence[Partition[Any]], schema: pa.Schema) -> Iterator[pa.Table]:
    for part in parts:
        for batch in part.to_arrow(schema.names):
            yield pa.Table.from_batches([batch])

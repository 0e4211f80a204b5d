"""A part of an answer, as a value that another process can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from webtable.repository.answers.arrow_batches import arrow
from webtable.repository.answers.results import Results
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    import pyarrow as pa


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Generic[T]):
    """A part of an answer, which can be pickled and read by another process, any number of times.

    It has the results whose rows are in the range `keys` of the table `table` of a store, whatever regions these are in
    by then. It opens the store itself by its URL `store`, which has no password: a process takes that from its own
    environment or `~/.netrc`. `rows` is how many rows it reads, and `bytes` how many bytes of values these have; both
    are estimates, None where nothing is known.

    A page that is fetched again while partitions of an index are read may move from one of them to another that was
    read already, and is then in neither; it is never in two.
    """

    question: str
    store: str
    table: str
    keys: KeyRange
    rows: int | None
    bytes: int | None
    ask: Callable[..., Results[T]] = field(repr=False)
    """The method that asks the question."""
    arguments: Sequence[Any] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    fingerprint: object = field(repr=False)
    """What the table must have been created with, for its row keys to mean the same."""
    opened: Callable[[Partition[T]], AbstractContextManager[Results[T]]] = field(repr=False)

    def open(self) -> AbstractContextManager[Results[T]]:
        """Return the results of this part as an answer, for a `with` block, at whose end the store is closed.

        Raises what `webtable.open` does, and `LayoutMismatch` if the table was created anew with another layout.
        """
        return self.opened(self)

    def pages(self) -> Iterator[T]:
        """Yield the results of this part: pages, or what else the answer has. Raises as `open` and the question do."""
        with self.open() as answer:
            yield from answer

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the results as a reader of Arrow record batches, as `Results.to_arrow` does.

        The store is closed once the reader is exhausted or dropped.
        """
        found = self._schema_and_batches(columns)
        return arrow().RecordBatchReader.from_batches(next(found), found)

    def _schema_and_batches(self, columns: Sequence[str] | None) -> Iterator[Any]:
        with self.open() as answer:
            reader = answer.to_arrow(columns)
            yield reader.schema
            yield from reader

"""The answer to a question: lazy, iterable, cut into batches that can be taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar, overload

from webtable._page.page import Page
from webtable._shown import harmless
from webtable._shown.markup import preformatted
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.answers.arrow_batches import batches_of
from webtable.repository.answers.columns import Columns
from webtable.repository.answers.tabular import Tabular
from webtable.repository.answers.tokens import place_in, token_of
from webtable.repository.scanning.damage import Damage
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    import pyarrow as pa

    from webtable.repository.answers.columns import Column

T = TypeVar("T")
Cells = Callable[["Sequence[Column]", "bytes | None", "int | None", Damage], "Iterator[pa.RecordBatch]"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a question will be answered: its key ranges, the stored columns, and the calls of its first piece.

    `index` is the index whose entries are read (the ranges are theirs then); `notes` say what else there is to know.
    """

    question: str
    order: str
    columns: tuple[str, ...]
    ranges: tuple[KeyRange, ...]
    calls: tuple[str, ...]
    index: str | None = None
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return preformatted(self._lines())

    def __rich__(self) -> object:
        from rich.text import Text

        return Text(self._lines())

    def _lines(self) -> str:
        return "\n".join(map(harmless, str(self).splitlines()))

    def __str__(self) -> str:
        shown = [f"  {keys.start!r} .. {keys.stop!r}" for keys in self.ranges[:4]]
        if len(self.ranges) > 4:
            shown += [f"  … and {len(self.ranges) - 4:,} more"]
        return "\n".join(
            [
                self.question,
                f"order: {self.order}",
                *([f"index: {self.index}"] if self.index else []),
                f"columns: {', '.join(self.columns)}",
                f"ranges: {len(self.ranges):,}",
                *shown,
                f"calls of the first piece: {len(self.calls):,}",
                *(f"  {call}" for call in self.calls),
                *self.notes,
            ]
        )


class Several(Tabular[T]):
    """Some results in order, as a list has them; equal to a list or a tuple of the same results."""

    def __init__(self, results: Iterable[T], columns: Columns) -> None:
        self._results = tuple(results)
        self._of_columns = columns

    @property
    def _columns(self) -> Columns:
        return self._of_columns

    def __iter__(self) -> Iterator[T]:
        return iter(self._results)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Several):
            return self._results == other._results
        return self._results == tuple(other) if isinstance(other, list | tuple) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def _title(self) -> str:
        return f"{len(self):,} results"

    def __repr__(self) -> str:
        return repr(list(self._results))


class Batch(Several[T]):
    """Some results in order, and the token that goes on behind them (`next_token`, None at the end)."""

    def __init__(self, results: Sequence[T], next_token: str | None, columns: Columns) -> None:
        super().__init__(results, columns)
        self.next_token = next_token

    def _title(self) -> str:
        return super()._title() + (", and more behind them: after=batch.next_token" if self.next_token else "")

    def __repr__(self) -> str:
        return f"<Batch of {len(self)}, next_token={self.next_token!r}>"


@dataclass(frozen=True, slots=True)
class Results(Tabular[T]):
    """What answers a question, pages mostly. Iterating asks it anew every time; nothing is asked before.

    `limit` is the most results that an iteration gives. `page()` gives the first of them as a batch whose `next_token`,
    given back as `after=`, goes on behind it: in another process too, and after inserts and deletes.

    Rows that cannot be read are left out; `damaged` has those that the last iteration met, 100 of them at most.
    """

    question: str
    order: str
    limit: int | None
    after: bytes | None
    _run: Callable[[bytes | None, int | None, Damage], Iterator[T]] = field(repr=False)
    """Gives the results behind a place, of which at least so many are expected, and tells of the damaged rows."""
    _place: Callable[[T], bytes] = field(repr=False)
    _explain: Callable[[], Explanation] = field(repr=False)
    _damage: Callable[[list[DamagedRow]], Damage] = field(repr=False)
    _columns: Columns = field(repr=False, compare=False)
    _cells: Cells | None = field(default=None, repr=False, compare=False)
    """Gives the results as record batches without making pages: columns that are stored, or made of the URL."""
    damaged: list[DamagedRow] = field(default_factory=list, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[T]:
        return self._asked(self.limit)

    def _asked(self, limit: int | None) -> Iterator[T]:
        self.damaged.clear()
        if limit == 0:
            return iter(())
        found = self._run(self.after, limit, self._damage(self.damaged))
        return found if limit is None else _first(found, limit)

    def _batches(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        if self._cells is None or any(column.source == "record" for column in columns):
            return batches_of(self, columns)
        self.damaged.clear()
        return self._cells(columns, self.after, self.limit, self._damage(self.damaged))

    def _head(self, count: int) -> list[T]:
        return list(self._asked(count if self.limit is None else min(count, self.limit)))

    def _title(self) -> str:
        return f"{self.question}, order {self.order}" + ("" if self.limit is None else f", limit {self.limit:,}")

    def first(self) -> T | None:
        """Return the first result, None where there is none; no more are read."""
        return next(iter(self._head(1)), None)

    def page(self, size: int = 50) -> Batch[T]:
        """Return the first results, *size* of them; raises `InvalidArgument` for a size below 1."""
        if not isinstance(size, int) or size < 1:
            raise InvalidArgument(f"size={size!r} must be at least 1")
        wanted = size if self.limit is None else min(size, self.limit)
        # One more tells whether there is a next batch.
        more = wanted + (self.limit is None or wanted < self.limit)
        found = list(self._asked(more))
        token = self.token_behind(found[wanted - 1]) if len(found) > wanted > 0 else None
        return Batch(found[:wanted], token, self._columns)

    def token_behind(self, result: T) -> str:
        """Return the token that goes on behind *result*, one of those that the question gave."""
        return token_of(self.question, self.order, self._place(result))

    def explain(self) -> Explanation:
        """Return how the question will be answered, without asking it."""
        return self._explain()


Pages = Results[Page]
"""The pages that answer a question."""


def _first(found: Iterator[T], limit: int) -> Iterator[T]:
    # A generator, since a stream for asyncio closes what it has not read to its end, and an `islice` cannot be closed.
    yield from islice(found, limit)


class Slice(NamedTuple):
    """Which part of an answer is wanted: in which order, at most how many results, and behind which token."""

    order: str
    limit: int | None = None
    after: str | None = None

    def check(self, *orders: str) -> None:
        """Raise `InvalidArgument` for an order that is not one of *orders*, or a limit below 0."""
        if self.order not in orders:
            raise InvalidArgument(f"order={self.order!r} must be one of {', '.join(orders)}")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 0):
            raise InvalidArgument(f"limit={self.limit!r} must be a number of results, 0 or more")

    def of(
        self,
        question: str,
        run: Callable[[bytes | None, int | None, Damage], Iterator[T]],
        place: Callable[[T], bytes],
        explain: Callable[[], Explanation],
        damage: Callable[[list[DamagedRow]], Damage],
        columns: Columns,
        cells: Cells | None = None,
    ) -> Results[T]:
        """Return this part of the answer to *question*; the other arguments are those of `Results`.

        Raises `InvalidToken` for a token that is damaged, or of another question.
        """
        behind = self.behind(question)
        return Results(question, self.order, self.limit, behind, run, place, explain, damage, columns, cells)

    def behind(self, question: str) -> bytes | None:
        """Return the place behind which the answer to *question* goes on; raises `InvalidToken` as `of` does."""
        return place_in(self.after, question, self.order)

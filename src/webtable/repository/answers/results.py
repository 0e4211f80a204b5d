"""The answer to a question: lazy and iterable, with batches and tokens with which it can be continued."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, overload

import msgspec
from blake3 import blake3

from webtable.display import harmless
from webtable.display.markup import preformatted
from webtable.display.text import plural
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import Page
from webtable.repository.answers.arrow import arrow, batches_of, first_rows
from webtable.repository.answers.columns import column_names
from webtable.repository.answers.tabular import SHOWN_ROWS, Tabular
from webtable.repository.answers.tokens import place_in, token_of
from webtable.repository.reading.samples import check_number
from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import pyarrow as pa

    from webtable.repository.answers.columns import Column, Columns
    from webtable.repository.reading.read_ahead import Damage
    from webtable.url_filter import URLFilter  # noqa: TC004 - it imports RE2, which takes a moment


# --- Plans ------------------------------------------------------------------------------------------------------------
#
# A plan names ranges and indexes, not calls: how many calls a store makes for them is its own affair.


class Explanation(msgspec.Struct, frozen=True):
    """The plan of an answer: its key ranges and the stored columns.

    `index` is the index whose entries are read, if any; the ranges are then ranges of entries. `notes` are remarks.
    """

    question: str
    order: str
    columns: tuple[str, ...]
    ranges: tuple[KeyRange, ...]
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
                *self.notes,
            ]
        )


# --- Results that have been read --------------------------------------------------------------------------------------


T = TypeVar("T")


class ResultList(Tabular[T]):
    """Results in order, like a list; equal to a list or a tuple of the same results."""

    def __init__(self, results: Iterable[T], columns: Columns) -> None:
        self._results = tuple(results)
        self._of_columns = columns

    @property
    def _columns(self) -> Columns:
        return self._of_columns

    def __iter__(self) -> Iterator[T]:
        return iter(self._results)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ResultList):
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
        return plural(len(self), "result")

    def _nothing(self) -> str:
        return "no results"

    def __repr__(self) -> str:
        return repr(list(self._results))


class Batch(ResultList[T]):
    """Results in order, and the token for those after them (`next_token`, None at the end)."""

    def __init__(
        self, results: Sequence[T], next_token: str | None, columns: Columns, *, shown: int = SHOWN_ROWS, empty: str
    ) -> None:
        super().__init__(results, columns)
        self._empty = empty
        self.next_token = next_token
        self._shown_rows = shown

    def _most_shown(self) -> int:
        return self._shown_rows

    def _nothing(self) -> str:
        return self._empty or super()._nothing()

    def _title(self) -> str:
        return super()._title() + (", and more after them: after=batch.next_token" if self.next_token else "")

    def __repr__(self) -> str:
        return f"<Batch of {len(self)}, next_token={self.next_token!r}>"


# --- Questions and their answers --------------------------------------------------------------------------------------


class Window(NamedTuple):
    """The requested part of an answer: its order, its limit, the token after which it begins, and the wanted URLs."""

    order: str
    limit: int | None = None
    after: str | None = None
    urls: URLFilter | None = None

    def check(self, *orders: str) -> None:
        """Raise `InvalidArgument` for an order that is not one of *orders*, or a limit below 0."""
        if self.order not in orders:
            allowed = (
                f"one of {', '.join(orders)}" if len(orders) > 1 else f"{orders[0]!r}, the only order of this answer"
            )
            raise InvalidArgument(f"order={self.order!r} must be {allowed}")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 0):
            raise InvalidArgument(f"limit={self.limit!r} must be a number of results, 0 or more")
        if self.urls is not None:
            from webtable.url_filter import checked_filter

            checked_filter(self.urls)


class Question(ABC, Generic[T]):
    """A question about a table: how its results are read from any place on, and how that is explained.

    `title` is the question in words; page tokens belong to it and to the order of the `window`. `columns` are those of
    its results. Nothing is read before `rows` is iterated.
    """

    title: str
    columns: Columns
    window: Window

    @abstractmethod
    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[T]:
        """Yield the results after the place *after*, in the order of the window.

        *expected* is how many will be read, if known; rows that cannot be read are added to *damage*.
        """

    @abstractmethod
    def place(self, result: T) -> bytes:
        """Return the place of *result*, which is one of the results, in the order of the window."""

    @abstractmethod
    def explain(self) -> Explanation:
        """Return which ranges, of which index, will be read."""

    @abstractmethod
    def damage(self, rows: list[DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, which are added to *rows* as well."""

    def batches(
        self, columns: Sequence[Column], after: bytes | None, expected: int | None, damage: Damage
    ) -> Iterator[pa.RecordBatch] | None:
        """Return the results as record batches made without records, where the question can; else None.

        No column is of the records alone.
        """
        del columns, after, expected, damage
        return None

    def suggestion(self) -> str:
        """Return a question that suggests another site, for an answer without results; "" if there is none."""
        return ""

    def as_of(self) -> datetime | None:
        """Return up to when captures are in the answer; None if all of them are."""
        return None

    def answer(self) -> Results[T]:
        """Return the answer; raises `InvalidToken` for a token that is damaged, or of another question."""
        order, limit, after, urls = self.window
        # A filter of nothing is none.
        wanted = urls if urls is not None and urls.arguments else None
        return Results(self, order, limit, place_in(after, _titled(self.title, wanted), order), _urls=wanted)


def _titled(title: str, urls: URLFilter | None) -> str:
    """Return the *title* of a question with the filter *urls*, of which nobody reads a thousand hosts."""
    if urls is None:
        return title
    words = str(urls)
    short = (
        words
        if len(words) <= _LONGEST_FILTER
        else f"{words[:_LONGEST_FILTER]}… ({blake3(words.encode()).hexdigest()[:16]})"
    )
    return f"{title}, of URLs with {short}"


_LONGEST_FILTER = 200


class Repeatable(Protocol):
    """How an answer was asked for, so that it can be asked for again."""

    @property
    def takes_columns(self) -> bool:
        """Whether the question has the argument `columns`."""

    def again(self, **options: Any) -> Results[Any]:
        """Return the answer to the same question, with other *options*."""

    def partitions(self, n: int) -> list[Partition[Any]]:
        """Return *n* parts of the answer."""


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
        parts = self._schema_and_batches(columns)
        return arrow().RecordBatchReader.from_batches(next(parts), parts)

    def _schema_and_batches(self, columns: Sequence[str] | None) -> Iterator[Any]:
        with self.open() as answer:
            reader = answer.to_arrow(columns)
            yield reader.schema
            yield from reader


class Divisible(Protocol[T]):
    """What can be divided into parts: an answer, or a scan of a keyed table."""

    def partitions(self, n: int) -> list[Partition[T]]:
        """Return it in *n* parts; raises `InvalidArgument` for what cannot be divided."""


@dataclass(frozen=True, slots=True)
class Results(Tabular[T]):
    """The answer to a question, mostly pages. Each iteration asks the question again; nothing is read before.

    An iteration yields at most `limit` results. `page()` returns the first of them as a batch; with its `next_token` as
    `after=` the same question returns those after it, in another process too, and after inserts and deletes.

    An answer is true if it has a result, as a list is; asking for that reads the first one.

    Rows that cannot be read are skipped; `damaged` has the first 100 of the last iteration.
    """

    _question: Question[T]
    order: str
    limit: int | None
    after: bytes | None
    _urls: URLFilter | None = field(default=None, repr=False)
    """The filter of addresses that its results pass, if it has one."""
    _again: Repeatable | None = field(default=None, repr=False, compare=False)
    """How it was asked for, if it can be asked for again."""
    damaged: list[DamagedRow] = field(default_factory=list, repr=False, compare=False)

    @property
    def question(self) -> str:
        """The question in words, to which its tokens belong."""
        return _titled(self._question.title, self._urls)

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in the answer, if it is by full text in a directory; None if all of them are."""
        return self._question.as_of()

    @property
    def columns(self) -> Columns:
        """The columns that it has, in frames, files and listings."""
        return self._question.columns

    @property
    def _columns(self) -> Columns:
        return self.columns

    def __iter__(self) -> Iterator[T]:
        return self._results(self.limit)

    def __bool__(self) -> bool:
        return self.first() is not None

    def _results(self, limit: int | None) -> Iterator[T]:
        self.damaged.clear()
        if limit == 0:
            return iter(())
        # How many pass a filter is not known.
        expected = limit if self._urls is None else None
        results = self._question.rows(self.after, expected, self._question.damage(self.damaged))
        if self._urls is not None:
            allows, url_of = self._urls.allows, self._url.of
            results = (result for result in results if allows(url_of(result)))
        return results if limit is None else _first(results, limit)

    def _batches(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        if not any(column.source == "record" for column in columns):
            self.damaged.clear()
            damage = self._question.damage(self.damaged)
            if self._urls is not None:
                needed = tuple(dict.fromkeys([*columns, self._url]))
                batches = self._question.batches(needed, self.after, None, damage)
                if batches is not None:
                    return first_rows((self._allowed(batch, columns) for batch in batches), self.limit)
            elif (batches := self._question.batches(columns, self.after, self.limit, damage)) is not None:
                return batches
        return batches_of(self, columns)

    @property
    def _url(self) -> Column:
        """The column that the filter is about."""
        return self.columns.chosen(["url"])[0]

    def _allowed(self, batch: pa.RecordBatch, columns: Sequence[Column]) -> pa.RecordBatch:
        """Return the rows of *batch* that the filter allows, with these *columns*."""
        allows = self._urls.allows if self._urls is not None else bool
        is_allowed = arrow().array([allows(url) for url in batch["url"].to_pylist()], arrow().bool_())
        return batch.filter(is_allowed).select([column.name for column in columns])

    def _reading(self, columns: Sequence[str] | None) -> Tabular[T]:
        names = column_names(columns)
        # Nothing to read anew: it cannot be asked for again, or the columns are among those that it has.
        if self._again is None or not self._again.takes_columns or all(name in self._columns.names for name in names):
            return self
        return replace(self._again.again(columns=names), limit=self.limit, damaged=self.damaged)

    def _head(self, count: int) -> list[T]:
        return list(self._results(count if self.limit is None else min(count, self.limit)))

    def _title(self) -> str:
        return f"{self.question}, order {self.order}" + ("" if self.limit is None else f", limit {self.limit:,}")

    def _nothing(self) -> str:
        if self.limit == 0:
            return f"none of the {self.question}: limit 0"
        if self.after is not None:
            return f"no further {self.question}"
        damage = f"; {plural(len(self.damaged), 'row')} cannot be read, see .damaged" if self.damaged else ""
        return f"{self._absent()}{damage}{self._question.suggestion()}"

    def why_empty(self) -> str:
        """Return that there is no result, and which stored site was probably meant, if it knows one; it may read."""
        return f"{self._absent()}{self._question.suggestion()}"

    def _absent(self) -> str:
        """A sentence that the question has no answer, without a suggestion."""
        return f"no {self.question.removeprefix('all ')}"

    def first(self) -> T | None:
        """Return the first result, or None; no others are read."""
        return next(iter(self._head(1)), None)

    def page(self, size: int = 50) -> Batch[T]:
        """Return the first *size* results as a batch; raises `InvalidArgument` for a size below 1."""
        return self._batch("size", size, SHOWN_ROWS, self._absent)

    def head(self, n: int = SHOWN_ROWS) -> Batch[T]:
        """Return the first *n* results as a batch that shows all of them; raises `InvalidArgument` for *n* below 1."""
        return self._batch("n", n, n, self._nothing)

    def _batch(self, name: str, size: int, shown: int, nothing: Callable[[], str]) -> Batch[T]:
        if type(size) is not int or size < 1:
            raise InvalidArgument(f"{name}={size!r} must be a whole number, 1 or more")
        wanted = size if self.limit is None else min(size, self.limit)
        # One more, to know whether there is a next batch.
        more = wanted + (self.limit is None or wanted < self.limit)
        results = list(self._results(more))
        token = self.token_after(results[wanted - 1]) if len(results) > wanted > 0 else None
        # To suggest another site takes reads: `head` is for people, and `page` for programs.
        empty = "" if results else nothing()
        return Batch(results[:wanted], token, self._columns, shown=shown, empty=empty)

    def token_after(self, result: T) -> str:
        """Return the token with which the answer continues after *result*, which must be one of its results."""
        return token_of(self.question, self.order, self._question.place(result))

    def explain(self) -> Explanation:
        """Return how the question will be answered, without answering it."""
        plan = self._question.explain()
        if self._urls is None:
            return plan
        note = "what is read is then compared with the filter of URLs"
        return msgspec.structs.replace(plan, question=self.question, notes=(*plan.notes, note))

    def partitions(self, n: int) -> list[Partition[T]]:
        """Return the answer in *n* parts of about the same number of rows, as values that other processes can read.

        Together they have all results, and no result is in two of them; each has its results in the order of the
        store, and may be read again. Up to some 50,000 row keys are read for this. Raises `InvalidArgument` for an
        answer with a limit or a token, for one that is sorted after all pages were read, and for one about the links of
        a single page; also for a store that no other process can open.
        """
        if self._again is None:
            raise InvalidArgument(f"the {self.question} cannot be divided: they come from one page, or are sorted")
        check_number(n)
        if self.limit is not None or self.after is not None:
            raise InvalidArgument("partitions: an answer with limit= or after= cannot be divided: ask without them")
        return self._again.partitions(n)


Pages = Results[Page]
"""The pages that answer a question."""


def _first(results: Iterator[T], limit: int) -> Iterator[T]:
    # A generator, since asyncio streams close iterators that are not exhausted, and an `islice` cannot be closed.
    yield from islice(results, limit)


# --- The first results, and a token for more --------------------------------------------------------------------------


class Limited(Generic[T]):
    """The first *limit* results of a question (None: all); `next_token` continues after them, None if there are none.

    *results* must be asked for with a limit of one more, which shows whether there are more. The token is there once
    they were read.
    """

    def __init__(self, results: Results[T], limit: int | None) -> None:
        self._results = results
        self._limit = limit
        self.next_token: str | None = None

    def __iter__(self) -> Iterator[T]:
        last: T | None = None
        for number, result in enumerate(self._results):
            if number == self._limit:
                if last is not None:
                    self.next_token = self._results.token_after(last)
                return
            yield result
            last = result

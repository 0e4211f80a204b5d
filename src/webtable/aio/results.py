"""The answer to a question, for `async for` and `await`."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, Final, Generic, NoReturn, ParamSpec, TypeVar

from webtable.aio.stream import Stream, Wrapped, awaited
from webtable.repository.answers.results import Results as SyncResults
from webtable.repository.hosts.hosts import Host as SyncHost

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from datetime import datetime
    from typing import Any

    import pyarrow as pa
    from matplotlib.axes import Axes

    from webtable.errors import DamagedRow
    from webtable.repository.answers.columns import ColumnNames
    from webtable.repository.answers.pictures import Amount

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Results(Wrapped[SyncResults[T]], Generic[T]):
    """The answer to a question: `webtable.answers.Results`, for `async for`; methods that read are awaited.

    Nothing is read before. Each iteration asks the question again, and reads in pieces of up to 1,024 results or 8 MB
    of pages, one piece ahead; `damaged` has the rows that it could not read.
    """

    def __repr__(self) -> str:
        return repr(self._core)

    def __bool__(self) -> NoReturn:
        raise TypeError("whether an answer is empty has to be read: await answer.first()")

    def __aiter__(self) -> Stream[T]:
        return Stream(self._calls, lambda: iter(self._core))

    @property
    def question(self) -> str:
        """The question in words."""
        return self._core.question

    @property
    def order(self) -> str:
        """The order of the results."""
        return self._core.order

    @property
    def limit(self) -> int | None:
        """The most results of an iteration."""
        return self._core.limit

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in the answer; it reads the state of full text, as `webtable.Results.as_of` does."""
        return self._core.as_of

    @property
    def after(self) -> bytes | None:
        """The place after which the results begin."""
        return self._core.after

    @property
    def damaged(self) -> list[DamagedRow]:
        """The first 100 rows that the last iteration could not read."""
        return self._core.damaged

    def token_after(self, result: T) -> str:
        """Return the token that continues after *result*, one of the results of this answer."""
        return self._core.token_after(result)

    async def to_arrow(self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable") -> pa.Table:
        """Return all results as an Arrow table: a reader would read from the store in the event loop.

        Raises as `webtable.answers.Results.to_arrow` does, and what the question raises.
        """
        return await self._calls.run(lambda: self._core.to_arrow(columns, names=names).read_all())

    head: Final = awaited(SyncResults[T].head)
    page: Final = awaited(SyncResults[T].page)
    explain: Final = awaited(SyncResults[T].explain)
    partitions: Final = awaited(SyncResults[T].partitions)
    first: Final = awaited(SyncResults[T].first)
    count: Final = awaited(SyncResults[T].count)
    to_dicts: Final = awaited(SyncResults[T].to_dicts)
    to_pandas: Final = awaited(SyncResults[T].to_pandas)
    to_polars: Final = awaited(SyncResults[T].to_polars)
    to_parquet: Final = awaited(SyncResults[T].to_parquet)


class Hosts(Results[SyncHost]):
    """The hosts that have pages: `webtable.answers.Hosts`."""

    async def plot(self, by: Amount = "pages", *, ax: Axes | None = None) -> Axes:
        """Draw what `webtable.answers.Hosts.plot` draws, in the caller's thread, after reading all hosts.

        Drawing blocks the event loop. Raises what that method does.
        """
        from webtable.repository.answers.pictures import draw_hosts

        return draw_hosts(await self._calls.run(lambda: list(self._core)), by, ax)


def asked(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Results[T]]:
    """Return *function*, whose answer is lazy, as a method whose answer is read with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Results[T]:
        return Results(function(self._core, *args, **kwargs), self._calls)

    return method


def asked_of_the_store(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Coroutine[Any, Any, Results[T]]]:
    """Return *function*, which reads before it answers, as a method whose answer is awaited first."""

    @wraps(function)
    async def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Results[T]:
        return Results(await self._calls.run(partial(function, self._core, *args, **kwargs)), self._calls)

    return method


def asked_hosts(
    function: Callable[Concatenate[S, P], SyncResults[SyncHost]],
) -> Callable[Concatenate[Wrapped[S], P], Hosts]:
    """Return what `asked` does, for hosts."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Hosts:
        return Hosts(function(self._core, *args, **kwargs), self._calls)

    return method


def streamed(function: Callable[Concatenate[S, P], Iterator[T]]) -> Callable[Concatenate[Wrapped[S], P], Stream[T]]:
    """Return *function*, which returns an iterator, as a method whose results are read with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Stream[T]:
        return Stream(self._calls, partial(function, self._core, *args, **kwargs))

    return method

"""The answer to a question, for `async for` and `await`."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, Final, Generic, ParamSpec, TypeVar

from webtable.aio.calls import Wrapped, awaited
from webtable.aio.stream import Stream
from webtable.repository.answers.results import Results as SyncResults
from webtable.repository.questions.hosts import Host as SyncHost

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from typing import Any

    import pyarrow as pa
    from matplotlib.axes import Axes

    from webtable.errors import DamagedRow
    from webtable.repository.answers.columns import ColumnNames
    from webtable.repository.pictures.treemap import Amount

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Results(Wrapped[SyncResults[T]], Generic[T]):
    """What answers a question: `webtable.answers.Results`, to be iterated with `async for`; what reads is awaited.

    Nothing is asked before. Each iteration asks again, and reads in pieces of up to 1,024 results or 8 MB of pages, one
    piece ahead; `damaged` has the rows that this has come across and could not read.
    """

    def __repr__(self) -> str:
        return repr(self._core)

    def __aiter__(self) -> Stream[T]:
        return Stream(self._calls, lambda: iter(self._core))

    @property
    def question(self) -> str:
        """The question in words."""
        return self._core.question

    @property
    def order(self) -> str:
        """In which order the results come."""
        return self._core.order

    @property
    def limit(self) -> int | None:
        """The most results that an iteration gives."""
        return self._core.limit

    @property
    def after(self) -> bytes | None:
        """The place after which they come."""
        return self._core.after

    @property
    def damaged(self) -> list[DamagedRow]:
        """The rows that the last iteration met and could not read, 100 of them at most."""
        return self._core.damaged

    def token_after(self, result: T) -> str:
        """Return the token that continues after *result*, one of those that the question gave."""
        return self._core.token_after(result)

    async def to_arrow(self, columns: Sequence[str] | None = None, *, names: ColumnNames = "webtable") -> pa.Table:
        """Return all results as an Arrow table, read whole: a reader would read from the store in the loop.

        Raises as `webtable.answers.Results.to_arrow` does, and what the question raises.
        """
        return await self._calls.run(lambda: self._core.to_arrow(columns, names=names).read_all())

    page: Final = awaited(SyncResults[T].page)
    explain: Final = awaited(SyncResults[T].explain)
    first: Final = awaited(SyncResults[T].first)
    count: Final = awaited(SyncResults[T].count)
    to_dicts: Final = awaited(SyncResults[T].to_dicts)
    to_pandas: Final = awaited(SyncResults[T].to_pandas)
    to_polars: Final = awaited(SyncResults[T].to_polars)
    to_parquet: Final = awaited(SyncResults[T].to_parquet)


class Hosts(Results[SyncHost]):
    """The hosts that have pages: `webtable.answers.Hosts`."""

    async def plot(self, by: Amount = "pages", *, ax: Axes | None = None) -> Axes:
        """Draw what `webtable.answers.Hosts.plot` does, in the caller's own thread, once all is read.

        The loop waits while it is drawn. Raises as that does.
        """
        from webtable.repository.pictures.treemap import draw_hosts

        return draw_hosts(await self._calls.run(lambda: list(self._core)), by, ax)


def asked(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Results[T]]:
    """Return the method *function*, whose answer is lazy, as one whose answer is iterated with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Results[T]:
        return Results(function(self._core, *args, **kwargs), self._calls)

    return method


def asked_of_the_store(
    function: Callable[Concatenate[S, P], SyncResults[T]],
) -> Callable[Concatenate[Wrapped[S], P], Coroutine[Any, Any, Results[T]]]:
    """Return the method *function*, which reads before it has an answer, as one whose answer is awaited first."""

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
    """Return the method *function*, which gives an iterator, as one whose results are taken with `async for`."""

    @wraps(function)
    def method(self: Wrapped[S], /, *args: P.args, **kwargs: P.kwargs) -> Stream[T]:
        return Stream(self._calls, partial(function, self._core, *args, **kwargs))

    return method

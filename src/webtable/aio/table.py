"""The web table for asyncio: the methods of `webtable.WebTable`, a line each."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, Self, TypeVar

from webtable import repository as sync
from webtable.aio.calls import THREADS, Calls, Missed, Opening, Wrapped, awaited, checked_threads, close_unasked
from webtable.aio.groups import TableIndexes, TableLinks, TableMaintenance
from webtable.aio.results import asked, asked_hosts, asked_of_the_store, streamed
from webtable.aio.writer import Writer
from webtable.errors import failed_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from webtable.repository import Metrics
    from webtable.rowkey import WebKey
    from webtable.schema import Layout

P = ParamSpec("P")
T = TypeVar("T")


def opened(
    function: Callable[Concatenate[sync.WebTable, P], sync.Writer],
) -> Callable[Concatenate[WebTable, P], Opening[Writer]]:
    """Return the method *function* as one that opens the writer in a thread."""

    @wraps(function)
    def method(self: WebTable, /, *args: P.args, **kwargs: P.kwargs) -> Opening[Writer]:
        return Opening(partial(self.opened_writer, partial(function, self.synchronous, *args, **kwargs)))

    return method


class WebTable(Wrapped[sync.WebTable]):
    """A table of web pages, for asyncio; `webtable.aio.open` makes one, or `WebTable(table)` of one that is open.

    Its methods are those of `webtable.WebTable`, with the same arguments and errors. What reads or writes is awaited; a
    question returns `Results`, to be iterated with `async for`; `indexed`, which looks up its index, is awaited first.
    The calls are made in at most *threads* threads.

    A task that is cancelled leaves its call to the thread, which brings it to its end and gives back what it has taken
    from the store; one that has not begun is not made. A table belongs to no loop: it may be used in a second
    `asyncio.run`, where the first one has not closed it. Functions that are told of progress are called in threads.
    """

    def __init__(self, table: sync.WebTable, *, threads: int = THREADS) -> None:
        super().__init__(table, Calls(checked_threads(threads), "webtable-aio"))
        self.links = TableLinks(table.links, self._calls)
        self.indexes = TableIndexes(table.indexes, self._calls)
        self.maintenance = TableMaintenance(table.maintenance, self._calls)
        self._closing = Calls(1, "webtable-aio-close")
        self._missed = Missed()

    def __repr__(self) -> str:
        return f"<aio.WebTable {self.name} salt={self.layout.salt}>"

    @property
    def synchronous(self) -> sync.WebTable:
        """The table of the synchronous library, for what takes one: to be used in a thread (`asyncio.to_thread`)."""
        return self._core

    @property
    def table(self) -> str:
        """The name of the table in its store."""
        return self._core.table

    @property
    def key(self) -> WebKey:
        """How keys are made of URLs."""
        return self._core.key

    @property
    def strict(self) -> bool:
        """Whether a question raises the first `DamagedRow` that it meets, in place of leaving such rows out."""
        return self._core.strict

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._core.name

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made, and what is kept for how long, as it was known last."""
        return self._core.layout

    @property
    def metrics(self) -> Metrics:
        """What the table has done until now, as a value of this moment."""
        return self._core.metrics

    writer: Final = opened(sync.WebTable.writer)
    put: Final = awaited(sync.WebTable.put)
    put_not_modified: Final = awaited(sync.WebTable.put_not_modified)
    delete: Final = awaited(sync.WebTable.delete)
    delete_pages: Final = awaited(sync.WebTable.delete_pages)

    get: Final = awaited(sync.WebTable.get)
    get_many: Final = streamed(sync.WebTable.get_many)
    history: Final = awaited(sync.WebTable.history)
    diff: Final = awaited(sync.WebTable.diff)
    validators: Final = awaited(sync.WebTable.validators)

    pages: Final = asked(sync.WebTable.pages)
    hosts: Final = asked_hosts(sync.WebTable.hosts)
    search: Final = asked(sync.WebTable.search)
    stats: Final = awaited(sync.WebTable.stats)
    changes: Final = asked(sync.WebTable.changes)
    duplicate_groups: Final = asked(sync.WebTable.duplicate_groups)
    titles: Final = asked(sync.WebTable.titles)
    redirect_chains: Final = asked(sync.WebTable.redirect_chains)
    crawls: Final = asked(sync.WebTable.crawls)
    largest_growth: Final = asked(sync.WebTable.largest_growth)

    fetched: Final = asked(sync.WebTable.fetched)
    modified: Final = asked(sync.WebTable.modified)
    outdated: Final = asked(sync.WebTable.outdated)
    largest: Final = asked(sync.WebTable.largest)
    with_status: Final = asked(sync.WebTable.with_status)
    errors: Final = asked(sync.WebTable.errors)
    redirects: Final = asked(sync.WebTable.redirects)
    duplicates: Final = asked(sync.WebTable.duplicates)
    indexed: Final = asked_of_the_store(sync.WebTable.indexed)
    by_handle: Final = awaited(sync.WebTable.by_handle)
    resolve: Final = awaited(sync.WebTable.resolve)

    async def close(self) -> None:
        """Flush and close all writers, then the store; raises as `webtable.WebTable.close` does.

        One that was cancelled goes on, and may be awaited again.
        """
        await self._closing.run(self._closed, partial(self._missed.keep, self))
        self._closing.close()
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def opened_writer(self, make: Callable[[], sync.Writer]) -> Writer:
        """Return the writer that *make* makes."""
        return Writer(await self._calls.run(make, close_unasked), self._calls, self._missed)

    async def called(self, job: Callable[[], T]) -> T:
        """Return what *job* returns, which is made in one of the table's threads."""
        return await self._calls.run(job)

    def _closed(self) -> None:
        errors: list[Exception] = []
        try:
            self._core.close()
        except Exception as exc:  # noqa: BLE001 - it is raised with the others
            errors.append(exc)
        if errors := self._missed.errors(self, also_others=True) + errors:
            raise failed_together(self.name, errors)

"""The web table for asyncio: the methods of `webtable.WebTable`, one line each."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from webtable.aio.results import (
    THREADS,
    AbandonedCalls,
    Calls,
    Opening,
    Wrapped,
    awaited,
    awaited_question,
    checked_threads,
    close_abandoned,
    hosts_question,
    question,
    streamed,
)
from webtable.aio.writer import Writer
from webtable.errors import failed_together
from webtable.repository.adoption import adopt as sync_adopt
from webtable.repository.keyed_table.table import KeyedTable as SyncKeyedTable
from webtable.repository.keyed_table.writer import RecordOutcomeCallback
from webtable.repository.keyed_table.writer import RecordWriter as SyncRecordWriter
from webtable.repository.maintenance.doctor import doctor as sync_doctor
from webtable.repository.maintenance.summary import RegionComparison
from webtable.repository.maintenance.summary import regions_of as sync_regions_of
from webtable.repository.table import groups
from webtable.repository.table.opening import copy_target as sync_copy_target
from webtable.repository.table.opening import create as sync_create
from webtable.repository.table.opening import open as sync_open
from webtable.repository.table.web_table import WebTable as SyncWebTable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from webtable.repository.maintenance.create import LayoutOptions
    from webtable.repository.metrics import Metrics
    from webtable.repository.writing.writer import Writer as SyncWriter
    from webtable.rowkey import RowKey, WebKey
    from webtable.schema import FamilySchema, Layout, TypedColumn


# --- Keyed tables -----------------------------------------------------------------------------------------------------


P = ParamSpec("P")


class RecordWriter(Wrapped[SyncRecordWriter]):
    """Stores rows in batches: `webtable.records.RecordWriter` with awaitable methods; made by `KeyedTable.writer`.

    Calls are made one after another in a thread of the table; *on_outcome* is called there.
    """

    @property
    def stored(self) -> int:
        """How many rows are stored, so far."""
        return self._core.stored

    @property
    def failed(self) -> int:
        """How many rows were not stored, so far."""
        return self._core.failed

    put: Final = awaited(SyncRecordWriter.put)
    put_many: Final = awaited(SyncRecordWriter.put_many)
    flush: Final = awaited(SyncRecordWriter.flush)
    close: Final = awaited(SyncRecordWriter.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class KeyedTable(Wrapped[SyncKeyedTable]):
    """A table whose rows are found by the fields of their key, for asyncio; `KeyedTable.open` makes one.

    Its methods are those of `webtable.KeyedTable`; those that read or write are awaited, run in at most *threads*
    threads, and are cancelled like the calls of `WebTable`.
    """

    def __init__(self, table: SyncKeyedTable, *, threads: int = THREADS) -> None:
        super().__init__(table, Calls(checked_threads(threads), "webtable-aio"))

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        key: RowKey,
        *,
        families: Sequence[str | FamilySchema] = ("d",),
        columns: Iterable[TypedColumn] = (),
        create: bool = False,
        split_keys: Sequence[bytes] = (),
        strict: bool = False,
        threads: int = THREADS,
    ) -> Opening[Self]:
        """Return the table at *url*, to be used in an `async with` block, or awaited.

        The arguments and errors are those of `webtable.KeyedTable.open`.
        """
        make = partial(
            SyncKeyedTable.open,
            url,
            key,
            families=families,
            columns=columns,
            create=create,
            split_keys=split_keys,
            strict=strict,
        )

        async def opened() -> Self:
            calls = Calls(1, "webtable-aio-open")
            return cls(await calls.run(make, close_abandoned), threads=threads)

        return Opening(opened)

    def __repr__(self) -> str:
        return f"<aio.KeyedTable {self.name} key={self.key.declaration}>"

    @property
    def synchronous(self) -> SyncKeyedTable:
        """The synchronous table, for functions that take one; use it in a thread (`asyncio.to_thread`)."""
        return self._core

    @property
    def table(self) -> str:
        """The name of the table in its store."""
        return self._core.table

    @property
    def key(self) -> RowKey:
        """How the keys of rows are made."""
        return self._core.key

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._core.name

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the table's metrics: its calls, its errors, and the rows that scans skipped."""
        return self._core.metrics

    @property
    def columns(self) -> tuple[TypedColumn, ...]:
        """The typed columns of the table, by their names."""
        return self._core.columns

    def writer(self, *, on_outcome: RecordOutcomeCallback | None = None) -> RecordWriter:
        """Return a writer of many rows, as `webtable.KeyedTable.writer` does, for an `async with` block."""
        return RecordWriter(self._core.writer(on_outcome=on_outcome), self._calls)

    async def copy(self, target: KeyedTable) -> int:
        """Copy all rows to *target*, as `webtable.KeyedTable.copy` does; raises what that raises."""
        return await self._calls.run(partial(self._core.copy, target._core))

    put: Final = awaited(SyncKeyedTable.put)
    put_many: Final = awaited(SyncKeyedTable.put_many)
    get: Final = awaited(SyncKeyedTable.get)
    delete: Final = awaited(SyncKeyedTable.delete)
    scan: Final = question(SyncKeyedTable.scan)
    count: Final = awaited(SyncKeyedTable.count)
    history: Final = awaited(SyncKeyedTable.history)
    check_and_put: Final = awaited(SyncKeyedTable.check_and_put)
    increment: Final = awaited(SyncKeyedTable.increment)
    set_family: Final = awaited(SyncKeyedTable.set_family)
    latest: Final = awaited(SyncKeyedTable.latest)

    async def close(self) -> None:
        """Close the store."""
        await self._calls.run(self._core.close)
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# --- Groups of methods ------------------------------------------------------------------------------------------------


T = TypeVar("T")


class TableLinks(Wrapped[groups.TableLinks]):
    """The links between pages, as `webtable.WebTable.links`."""

    to: Final = question(groups.TableLinks.to)
    of: Final = question(groups.TableLinks.of)
    most_linked: Final = question(groups.TableLinks.most_linked)
    dead_ends: Final = question(groups.TableLinks.dead_ends)
    broken: Final = question(groups.TableLinks.broken)
    orphans: Final = question(groups.TableLinks.orphans)
    discovered: Final = question(groups.TableLinks.discovered)
    refresh: Final = awaited(groups.TableLinks.refresh)
    freshness: Final = awaited(groups.TableLinks.freshness)


class TableIndexes(Wrapped[groups.TableIndexes]):
    """The indexes, as `webtable.WebTable.indexes`."""

    states: Final = awaited(groups.TableIndexes.states)
    add: Final = awaited(groups.TableIndexes.add)
    drop: Final = awaited(groups.TableIndexes.drop)
    rebuild: Final = awaited(groups.TableIndexes.rebuild)
    verify: Final = awaited(groups.TableIndexes.verify)
    repair: Final = awaited(groups.TableIndexes.repair)


class TableSearchIndex(Wrapped[groups.TableSearchIndex]):
    """The full text, as `webtable.WebTable.search_index`."""

    create: Final = awaited(groups.TableSearchIndex.create)
    refresh: Final = awaited(groups.TableSearchIndex.refresh)
    state: Final = awaited(groups.TableSearchIndex.state)
    drop: Final = awaited(groups.TableSearchIndex.drop)


def _beside(
    function: Callable[Concatenate[groups.TableMaintenance, groups.CopyTarget, P], T],
) -> Callable[Concatenate[TableMaintenance, Wrapped[SyncWebTable], P], Coroutine[Any, Any, T]]:
    """Return *function*, which takes another table, as an awaitable method that takes one for asyncio."""

    @wraps(function)
    async def method(self: TableMaintenance, target: Wrapped[SyncWebTable], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._calls.run(partial(function, self._core, target._core, *args, **kwargs))

    return method


class TableMaintenance(Wrapped[groups.TableMaintenance]):
    """The maintenance, as `webtable.WebTable.maintenance`."""

    alter: Final = awaited(groups.TableMaintenance.alter)
    verify: Final = awaited(groups.TableMaintenance.verify)
    copy: Final = _beside(groups.TableMaintenance.copy)
    check_copy: Final = _beside(groups.TableMaintenance.check_copy)
    backup: Final = awaited(groups.TableMaintenance.backup)
    compact: Final = awaited(groups.TableMaintenance.compact)
    forget_deletes: Final = awaited(groups.TableMaintenance.forget_deletes)


# --- Web table --------------------------------------------------------------------------------------------------------


def opened(
    function: Callable[Concatenate[SyncWebTable, P], SyncWriter],
) -> Callable[Concatenate[WebTable, P], Opening[Writer]]:
    """Return the method *function* as one that opens the writer in a thread."""

    @wraps(function)
    def method(self: WebTable, /, *args: P.args, **kwargs: P.kwargs) -> Opening[Writer]:
        return Opening(partial(self.opened_writer, partial(function, self.synchronous, *args, **kwargs)))

    return method


class WebTable(Wrapped[SyncWebTable]):
    """A table of web pages, for asyncio; `webtable.aio.open` returns one, or `WebTable(table)` wraps an open one.

    Its methods are those of `webtable.WebTable`, with the same arguments and errors. Those that read or write are
    awaited; questions return `Results`, for `async for`; `indexed`, which looks up its index, is awaited first. Calls
    run in at most *threads* threads.

    If a task is cancelled, its call runs to its end in the thread, which releases what it holds of the store; a call
    that has not begun is not made. A table is not tied to an event loop: a second `asyncio.run` may use it if the first
    has not closed it. Progress functions are called in threads.
    """

    def __init__(self, table: SyncWebTable, *, threads: int = THREADS) -> None:
        super().__init__(table, Calls(checked_threads(threads), "webtable-aio"))
        self.links: Final = TableLinks(table.links, self._calls)
        self.indexes: Final = TableIndexes(table.indexes, self._calls)
        self.search_index: Final = TableSearchIndex(table.search_index, self._calls)
        self.maintenance: Final = TableMaintenance(table.maintenance, self._calls)
        # In a thread of its own: the others may all wait for the store.
        self._closing = Calls(1, "webtable-aio-close")
        self._abandoned = AbandonedCalls()

    def __repr__(self) -> str:
        return f"<aio.WebTable {self.name} salt={self.layout.salt}>"

    @property
    def synchronous(self) -> SyncWebTable:
        """The synchronous table, for functions that take one; use it in a thread (`asyncio.to_thread`)."""
        return self._core

    @property
    def table(self) -> str:
        """The name of the table in its store."""
        return self._core.table

    @property
    def key(self) -> WebKey:
        """How keys are made from URLs."""
        return self._core.key

    @property
    def strict(self) -> bool:
        """Whether a question raises the first `DamagedRow`, instead of skipping such rows."""
        return self._core.strict

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._core.name

    @property
    def layout(self) -> Layout:
        """How keys, columns and bodies are made, and what is kept for how long, as last read."""
        return self._core.layout

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the table's metrics."""
        return self._core.metrics

    explore: Final = awaited(SyncWebTable.explore)
    ingest: Final = awaited(SyncWebTable.ingest)
    writer: Final = opened(SyncWebTable.writer)
    put: Final = awaited(SyncWebTable.put)
    put_not_modified: Final = awaited(SyncWebTable.put_not_modified)
    put_failed: Final = awaited(SyncWebTable.put_failed)
    delete: Final = awaited(SyncWebTable.delete)
    delete_many: Final = awaited(SyncWebTable.delete_many)
    delete_pages: Final = awaited(SyncWebTable.delete_pages)

    get: Final = awaited(SyncWebTable.get)
    get_many: Final = streamed(SyncWebTable.get_many)
    history: Final = awaited(SyncWebTable.history)
    history_many: Final = streamed(SyncWebTable.history_many)
    diff: Final = awaited(SyncWebTable.diff)
    validators: Final = awaited(SyncWebTable.validators)
    robots_txt: Final = awaited(SyncWebTable.robots_txt)

    pages: Final = question(SyncWebTable.pages)
    hosts: Final = hosts_question(SyncWebTable.hosts)
    edges: Final = question(SyncWebTable.edges)
    unresolved: Final = question(SyncWebTable.unresolved)
    failed: Final = question(SyncWebTable.failed)
    search: Final = question(SyncWebTable.search)
    stats: Final = awaited(SyncWebTable.stats)
    changes: Final = question(SyncWebTable.changes)
    duplicate_groups: Final = question(SyncWebTable.duplicate_groups)
    near_duplicate_groups: Final = question(SyncWebTable.near_duplicate_groups)
    titles: Final = question(SyncWebTable.titles)
    redirect_chains: Final = question(SyncWebTable.redirect_chains)
    canonicals: Final = question(SyncWebTable.canonicals)
    hreflang: Final = question(SyncWebTable.hreflang)
    pagination: Final = question(SyncWebTable.pagination)
    soft_404s: Final = question(SyncWebTable.soft_404s)
    depths: Final = question(SyncWebTable.depths)
    sitemaps: Final = question(SyncWebTable.sitemaps)
    crawls: Final = question(SyncWebTable.crawls)
    indexability: Final = question(SyncWebTable.indexability)
    headings: Final = question(SyncWebTable.headings)
    images: Final = question(SyncWebTable.images)
    structured_data: Final = question(SyncWebTable.structured_data)
    insecure_content: Final = question(SyncWebTable.insecure_content)
    audit: Final = awaited(SyncWebTable.audit)

    fetched: Final = question(SyncWebTable.fetched)
    modified: Final = question(SyncWebTable.modified)
    outdated: Final = question(SyncWebTable.outdated)
    largest: Final = question(SyncWebTable.largest)
    with_status: Final = question(SyncWebTable.with_status)
    errors: Final = question(SyncWebTable.errors)
    redirects: Final = question(SyncWebTable.redirects)
    duplicates: Final = question(SyncWebTable.duplicates)
    near_duplicates: Final = question(SyncWebTable.near_duplicates)
    indexed: Final = awaited_question(SyncWebTable.indexed)
    by_id: Final = awaited(SyncWebTable.by_id)
    resolve: Final = awaited(SyncWebTable.resolve)

    async def close(self) -> None:
        """Flush and close all writers, then the store; raises as `webtable.WebTable.close` does.

        A cancelled close goes on, and may be awaited again.
        """
        await self._closing.run(self._closed, partial(self._abandoned.keep, self))
        self._closing.close()
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def opened_writer(self, make: Callable[[], SyncWriter]) -> Writer:
        """Return the writer that *make* returns, for asyncio."""
        return Writer(await self._calls.run(make, close_abandoned), self._calls, self._abandoned)

    async def called(self, job: Callable[[], T]) -> T:
        """Return the result of *job*, called in one of the table's threads."""
        return await self._calls.run(job)

    def _closed(self) -> None:
        errors: list[Exception] = []
        try:
            self._core.close()
        except Exception as exc:  # noqa: BLE001 - it is raised with the others
            errors.append(exc)
        if errors := self._abandoned.errors(self, also_others=True) + errors:
            raise failed_together(self.name, errors)


# --- Opening ----------------------------------------------------------------------------------------------------------


def open(
    url: str | os.PathLike[str],
    *,
    create: bool = False,
    regions: int = 1,
    strict: bool = False,
    threads: int = THREADS,
    **options: Unpack[LayoutOptions],
) -> Opening[WebTable]:
    """Return the web table at *url*, to be used in an `async with` block, or awaited.

    At most *threads* of its calls run at once, each in a thread; further calls wait. The other arguments and the errors
    are those of `webtable.open`.
    """
    checked_threads(threads)
    make = partial(sync_open, url, create=create, regions=regions, strict=strict, **options)

    async def opened() -> WebTable:
        return WebTable(await _once(make, close_abandoned), threads=threads)

    return Opening(opened)


def copy_target(
    source: WebTable,
    url: str | os.PathLike[str],
    *,
    regions: int = 1,
    threads: int = THREADS,
    **options: Unpack[LayoutOptions],
) -> Opening[WebTable]:
    """Return the web table at *url*, for `source.maintenance.copy`, as `webtable.maintenance.copy_target` does.

    Use it in an `async with` block, or await it; *threads* as in `open`.
    """
    checked_threads(threads)
    make = partial(sync_copy_target, source.synchronous, url, regions=regions, **options)

    async def opened() -> WebTable:
        return WebTable(await _once(make, close_abandoned), threads=threads)

    return Opening(opened)


def _in_a_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    @wraps(function)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        return await _once(partial(function, *args, **kwargs))

    return awaited


def _into(
    function: Callable[Concatenate[str | os.PathLike[str], groups.CopyTarget, P], T],
) -> Callable[Concatenate[str | os.PathLike[str], Wrapped[SyncWebTable], P], Coroutine[Any, Any, T]]:
    """Return *function*, which fills a table from a source, as an awaitable one that fills one for asyncio."""

    @wraps(function)
    async def awaited(
        source: str | os.PathLike[str], target: Wrapped[SyncWebTable], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await target._calls.run(partial(function, source, target._core, *args, **kwargs))

    return awaited


async def _once(job: Callable[[], T], on_abandoned: Callable[[Any], object] | None = None) -> T:
    calls = Calls(1, "webtable-aio-open")
    try:
        return await calls.run(job, on_abandoned)
    finally:
        calls.close()


adopt: Final = _into(sync_adopt)
create: Final = _in_a_thread(sync_create)
doctor: Final = _in_a_thread(sync_doctor)


async def regions_of(table: WebTable | KeyedTable, wanted: Iterable[bytes] | None = None) -> RegionComparison:
    """Return the regions of *table* compared with the *wanted* ones, as `webtable.maintenance.regions_of` does."""
    return await _once(partial(sync_regions_of, table.synchronous, wanted))

"""Functions for asyncio that open and create tables, and compare the regions of one."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Final, ParamSpec, Unpack

from webtable.aio.stream import THREADS, Calls, Opening, checked_threads, close_unasked
from webtable.aio.table import WebTable
from webtable.repository.maintenance.doctor import doctor as sync_doctor
from webtable.repository.maintenance.regions import regions_of as sync_regions_of
from webtable.repository.table.opening import copy_target as sync_copy_target
from webtable.repository.table.opening import create as sync_create
from webtable.repository.table.opening import open as sync_open

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any, TypeVar

    from webtable.aio.records import KeyedTable
    from webtable.repository.maintenance.create import LayoutOptions
    from webtable.repository.maintenance.regions import RegionComparison

    T = TypeVar("T")

P = ParamSpec("P")


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
        return WebTable(await _once(make, close_unasked), threads=threads)

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
        return WebTable(await _once(make, close_unasked), threads=threads)

    return Opening(opened)


def _in_a_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    @wraps(function)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        return await _once(partial(function, *args, **kwargs))

    return awaited


async def _once(job: Callable[[], T], left: Callable[[Any], object] | None = None) -> T:
    calls = Calls(1, "webtable-aio-open")
    try:
        return await calls.run(job, left)
    finally:
        calls.close()


create: Final = _in_a_thread(sync_create)
doctor: Final = _in_a_thread(sync_doctor)


async def regions_of(table: WebTable | KeyedTable, wanted: Iterable[bytes] | None = None) -> RegionComparison:
    """Return the regions of *table* compared with the *wanted* ones, as `webtable.maintenance.regions_of` does."""
    return await _once(partial(sync_regions_of, table.synchronous, wanted))

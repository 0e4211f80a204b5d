"""The method groups of a web table, for asyncio: links, indexes, full text and maintenance."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from webtable.aio.calls import Wrapped, awaited
from webtable.aio.results import asked
from webtable.repository.table import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from webtable.repository.context import CopyTarget
    from webtable.repository.table.web_table import WebTable as SyncWebTable

P = ParamSpec("P")
T = TypeVar("T")


class TableLinks(Wrapped[groups.TableLinks]):
    """The links between pages, as `webtable.WebTable.links`."""

    to: Final = asked(groups.TableLinks.to)
    of: Final = asked(groups.TableLinks.of)
    most_linked: Final = asked(groups.TableLinks.most_linked)
    dead_ends: Final = asked(groups.TableLinks.dead_ends)
    broken: Final = asked(groups.TableLinks.broken)
    orphans: Final = asked(groups.TableLinks.orphans)
    discovered: Final = asked(groups.TableLinks.discovered)
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
    function: Callable[Concatenate[groups.TableMaintenance, CopyTarget, P], T],
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

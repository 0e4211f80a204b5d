"""The method groups of a web table, for asyncio: links, indexes, full text and maintenance."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from webtable.aio.calls import Wrapped, awaited
from webtable.aio.results import asked
from webtable.repository.table import full_text, indexes, links, maintenance

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from webtable.repository.context import CopyTarget
    from webtable.repository.table.web_table import WebTable as SyncWebTable

P = ParamSpec("P")
T = TypeVar("T")


class TableLinks(Wrapped[links.TableLinks]):
    """The links between pages, as `webtable.WebTable.links`."""

    to: Final = asked(links.TableLinks.to)
    of: Final = asked(links.TableLinks.of)
    most_linked: Final = asked(links.TableLinks.most_linked)
    dead_ends: Final = asked(links.TableLinks.dead_ends)
    broken: Final = asked(links.TableLinks.broken)
    orphans: Final = asked(links.TableLinks.orphans)
    discovered: Final = asked(links.TableLinks.discovered)
    refresh: Final = awaited(links.TableLinks.refresh)
    freshness: Final = awaited(links.TableLinks.freshness)


class TableIndexes(Wrapped[indexes.TableIndexes]):
    """The indexes, as `webtable.WebTable.indexes`."""

    states: Final = awaited(indexes.TableIndexes.states)
    add: Final = awaited(indexes.TableIndexes.add)
    drop: Final = awaited(indexes.TableIndexes.drop)
    rebuild: Final = awaited(indexes.TableIndexes.rebuild)
    verify: Final = awaited(indexes.TableIndexes.verify)
    repair: Final = awaited(indexes.TableIndexes.repair)


class TableSearchIndex(Wrapped[full_text.TableSearchIndex]):
    """The full text, as `webtable.WebTable.search_index`."""

    create: Final = awaited(full_text.TableSearchIndex.create)
    refresh: Final = awaited(full_text.TableSearchIndex.refresh)
    state: Final = awaited(full_text.TableSearchIndex.state)
    drop: Final = awaited(full_text.TableSearchIndex.drop)


def _beside(
    function: Callable[Concatenate[maintenance.TableMaintenance, CopyTarget, P], T],
) -> Callable[Concatenate[TableMaintenance, Wrapped[SyncWebTable], P], Coroutine[Any, Any, T]]:
    """Return *function*, which takes another table, as an awaitable method that takes one for asyncio."""

    @wraps(function)
    async def method(self: TableMaintenance, target: Wrapped[SyncWebTable], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._calls.run(partial(function, self._core, target._core, *args, **kwargs))

    return method


class TableMaintenance(Wrapped[maintenance.TableMaintenance]):
    """The maintenance, as `webtable.WebTable.maintenance`."""

    alter: Final = awaited(maintenance.TableMaintenance.alter)
    verify: Final = awaited(maintenance.TableMaintenance.verify)
    copy: Final = _beside(maintenance.TableMaintenance.copy)
    check_copy: Final = _beside(maintenance.TableMaintenance.check_copy)
    backup: Final = awaited(maintenance.TableMaintenance.backup)
    compact: Final = awaited(maintenance.TableMaintenance.compact)
    forget_deletes: Final = awaited(maintenance.TableMaintenance.forget_deletes)

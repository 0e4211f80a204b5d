"""The table that is looked at: whether it is whole, as its layout has it, and how fresh indexes and counts are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from webtable._clock import clock, moment_of
from webtable.errors import LayoutMismatch
from webtable.repository.creation.web import StoredWebTable
from webtable.repository.derived.queue import RecountQueue
from webtable.repository.frame import Frame
from webtable.repository.table import WebTable
from webtable.schema import check_suffix_list
from webtable.store import Store
from webtable.store.deadline import Deadline
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.health import Check


@dataclass(frozen=True)
class CheckedTable:
    """A web table in its *store*, what is *stored* of it, and the *time* in which all is to be looked at."""

    store: Store
    table: str
    stored: StoredWebTable
    time: Deadline

    @cached_property
    def frame(self) -> Frame:
        """What questions go by."""
        return Frame.of(self.store, self.table, self.stored.layout)

    @cached_property
    def web_table(self) -> WebTable:
        """What callers hold; it is not closed, as that would close the store."""
        return WebTable(self.store, self.table, self.stored.layout)

    @cached_property
    def missing(self) -> frozenset[str]:
        """The names of the tables that belong to it and are not there."""
        return frozenset(schema.name for schema in self.stored.missing())


def layout(checked: CheckedTable) -> Iterator[Check]:
    """Yield what the layout says; raises `LayoutMismatch` where its keys cannot be made here."""
    found = checked.stored.layout
    check_suffix_list(checked.stored.name, found)
    told = f"salt {found.salt}, names {found.names}, compression {found.compression}"
    yield well("layout", f"{told}; keeps {found.limits}")


def missing(checked: CheckedTable) -> Iterator[Check]:
    """Yield which tables are missing that belong to it."""
    if not checked.missing:
        yield well("tables", "all of them are there")
        return
    names = ", ".join(map(repr, sorted(checked.missing)))
    remedy = "bring back what is missing from a copy; or webtable create makes it anew, empty"
    if checked.table not in checked.missing:
        remedy += ", and webtable index rebuild fills that of an index"
    yield failed("tables", f"missing: {names}, while the layout is still stored", remedy)


def families(checked: CheckedTable) -> Iterator[Check]:
    """Yield where families are otherwise than the layout has them: what is kept, and how it is stored."""
    drifted = checked.stored.drifted()
    if not drifted:
        yield well("families", "as the layout has them")
    for plan in drifted:
        remedy = "webtable create --apply" if plan.wanted.name == checked.table else "by the HBase shell"
        yield warned("families", "; ".join(str(plan).splitlines()), f"{remedy}: {'; '.join(plan.shell().splitlines())}")


LONG_WAIT: Final = timedelta(days=1)
"""From when on counts are called old."""


def indexes(checked: CheckedTable) -> Iterator[Check]:
    """Yield the phases of the indexes, and which of them nobody can keep here."""
    found = checked.frame.indexes.read()
    unusual = False
    for name, index in found.items():
        if index.table in checked.missing:
            continue
        if index.state.phase == "building":
            told = f"{name} is not complete: its questions cannot be asked yet"
            yield warned("indexes", told, f"webtable index rebuild {name}, which goes on where it was")
        elif index.state.phase == "retired":
            yield warned("indexes", f"{name} was to be dropped, and is not gone", f"webtable index drop {name}")
        else:
            try:
                _ = index.index
                continue
            except LayoutMismatch as exc:
                yield warned("indexes", str(exc), f"name it to every writer, or webtable index drop {name}")
        unusual = True
    if not unusual:
        yield well("indexes", f"ready: {', '.join(sorted(found))}" if found else "the table has none")


def freshness(checked: CheckedTable) -> Iterator[Check]:
    """Yield how far links and hosts are counted, and whether writers have ended before their time."""
    queue = RecountQueue(checked.store, checked.table)
    if queue.table in checked.missing:
        return
    waiting, since = queue.extent()
    counted = checked.frame.refreshed.until()
    told = "links were never counted" if counted is None else f"links are counted up to {counted:%Y-%m-%d %H:%M} UTC"
    if since is not None:
        told += f", {waiting:,} batches wait, since {moment_of(since):%Y-%m-%d %H:%M} UTC"
    unfinished = queue.unfinished()
    if unfinished:
        told += f"; of these {unfinished:,} were left by writers that did not come to their end"
    if unfinished or (since is not None and clock.now() - moment_of(since) > LONG_WAIT):
        yield warned("freshness", told, "webtable links refresh; from cron it keeps up")
    else:
        yield well("freshness", told)

"""Checks of the tables of a web table: whether all exist and match the layout; and of its indexes and counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from webtable._clock import clock, moment_of
from webtable._messages import Command, Message, message_of
from webtable.display.text import size_text
from webtable.errors import LayoutMismatch
from webtable.repository.context import Frame
from webtable.repository.full_text.upkeep import state
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.table.web_table import WebTable
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import MOST_COUNTED, OpenRevisits, number_text
from webtable.schema import check_suffix_list
from webtable.store import Store
from webtable.store.deadline import Deadline
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.health import Check


@dataclass(frozen=True)
class CheckedTable:
    """A web table in its *store*, what is *stored* of it, and the *time* for all checks."""

    store: Store
    table: str
    stored: StoredWebTable
    time: Deadline

    @cached_property
    def frame(self) -> Frame:
        """The frame of the table."""
        return Frame.of(self.store, self.table, self.stored.layout)

    @cached_property
    def web_table(self) -> WebTable:
        """The table as an object of the API; it is not closed, since that would close the store."""
        return WebTable(self.store, self.table, self.stored.layout)

    @cached_property
    def missing(self) -> frozenset[str]:
        """The names of the tables that belong to it and are missing."""
        return frozenset(schema.name for schema in self.stored.missing())


def layout(checked: CheckedTable) -> Iterator[Check]:
    """Yield a description of the layout; raises `LayoutMismatch` if its keys cannot be made here."""
    found = checked.stored.layout
    check_suffix_list(checked.stored.name, found)
    text = f"salt {found.salt}, names {found.names}, compression {found.compression}"
    yield well("layout", f"{text}; keeps {found.limits}")


def missing(checked: CheckedTable) -> Iterator[Check]:
    """Yield which of its tables are missing."""
    if not checked.missing:
        yield well("tables", "none is missing")
        return
    names = ", ".join(map(repr, sorted(checked.missing)))
    remedy = Message("restore what is missing from a backup; or create it again, empty, with ", Command("create"))
    if checked.table not in checked.missing:
        remedy += Message(", and fill that of an index with ", Command("index rebuild NAME"))
    yield failed("tables", f"missing: {names}, while the layout is still stored", remedy)


def families(checked: CheckedTable) -> Iterator[Check]:
    """Yield the families that differ from the layout, in what they keep or how they store it."""
    drifted = checked.stored.drifted()
    if not drifted:
        yield well("families", "they match the layout")
    for plan in drifted:
        remedy = (
            Message(Command("create --alter-families")) if plan.wanted.name == checked.table else "in the HBase shell"
        )
        yield warned(
            "families", "; ".join(str(plan).splitlines()), remedy + f": {'; '.join(plan.shell().splitlines())}"
        )


LONG_WAIT: Final = timedelta(days=1)
"""The age from which counts are reported as old."""


def full_text(checked: CheckedTable) -> Iterator[Check]:
    """Yield whether the full text is complete, if the table has any."""
    found = state(checked.frame)
    if found is not None and not found.is_complete:
        yield warned("full text", "it is not complete", Message(Command("search-index refresh"), ", which goes on"))
    elif found is not None and found.as_of is not None and clock.now() - found.as_of > LONG_WAIT:
        text = f"it has the captures up to {found.as_of:%Y-%m-%d %H:%M}Z"
        yield warned("full text", text, Message(Command("search-index refresh"), ", which adds later ones"))
    elif found is not None:
        yield well("full text", f"complete, {size_text(found.bytes)}")


def indexes(checked: CheckedTable) -> Iterator[Check]:
    """Yield the indexes that are not ready, or that cannot be used here."""
    found = checked.frame.indexes.read()
    unusual = False
    for name, index in found.items():
        if index.table in checked.missing:
            continue
        if index.state.phase == "building":
            text = f"{name} is not complete: questions cannot use it yet"
            yield warned(
                "indexes", text, Message(Command(f"index rebuild {name}"), ", which goes on where it was interrupted")
            )
        elif index.state.phase == "retired":
            yield warned("indexes", f"the drop of {name} was interrupted", Message(Command(f"index drop {name}")))
        else:
            try:
                _ = index.index
                continue
            except LayoutMismatch as exc:
                yield warned(
                    "indexes", message_of(exc), Message("name it to every writer, or ", Command(f"index drop {name}"))
                )
        unusual = True
    if not unusual:
        yield well("indexes", f"ready: {', '.join(sorted(found))}" if found else "the table has no indexes")


def freshness(checked: CheckedTable) -> Iterator[Check]:
    """Yield up to when links and hosts are counted, and whether writers have died."""
    queue = RecountQueue(checked.store, checked.table)
    if queue.table in checked.missing:
        return
    waiting, since = queue.extent()
    counted = checked.frame.refreshed.until()
    text = "links were never counted" if counted is None else f"links are counted up to {counted:%Y-%m-%d %H:%M} UTC"
    if since is not None:
        text += f", {waiting:,} batches have waited since {moment_of(since):%Y-%m-%d %H:%M} UTC"
    unfinished = queue.unfinished()
    if unfinished:
        text += f"; {unfinished:,} of these were left by writers that died"
    if unfinished or (since is not None and clock.now() - moment_of(since) > LONG_WAIT):
        yield warned("freshness", text, Message("run ", Command("links refresh"), ", regularly from cron"))
    else:
        yield well("freshness", text)


def revisits(checked: CheckedTable) -> Iterator[Check]:
    """Yield how many revisits wait for their originals."""
    found = OpenRevisits(checked.store, checked.table, checked.frame.key)
    if found.table in checked.missing:
        return
    count = found.count(MOST_COUNTED)
    if count:
        text = f"{number_text(count)} of captures that are not stored"
        yield warned("revisits", text, "webtable unresolved lists them; ingest the files that have their originals")
    else:
        yield well("revisits", "all have their content")

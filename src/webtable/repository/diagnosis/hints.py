"""The indexes of a table and the counts of its links: whether they are complete, and how fresh they are."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import LayoutMismatch
from webtable.repository.hints.queue import RecountQueue
from webtable.repository.stored.timestamps import moment_of
from webtable.store.health import warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.diagnosis.checked_table import Patient
    from webtable.store.health import Check

LONG_WAIT: Final = timedelta(days=1)
"""From when on counts are called old."""


def indexes(patient: Patient) -> Iterator[Check]:
    """Yield the phases of the indexes, and which of them nobody can keep here."""
    found = patient.frame.indexes.read()
    unusual = False
    for name, index in found.items():
        if index.table in patient.missing:
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


def freshness(patient: Patient) -> Iterator[Check]:
    """Yield how far links and hosts are counted, and whether writers have ended before their time."""
    queue = RecountQueue(patient.store, patient.table)
    if queue.table in patient.missing:
        return
    waiting, since = queue.extent()
    counted = patient.frame.refreshed.until()
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

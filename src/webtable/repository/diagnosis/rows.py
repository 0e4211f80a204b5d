"""A sample of the rows of a table, or all: whether they can be read, are what was stored, and are not of the future."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._page.page import Page
from webtable.errors import DamagedRow
from webtable.repository.arguments import Progress
from webtable.repository.questions.verification import verified, wanted_to_verify
from webtable.repository.samples import sample_urls
from webtable.rowkey import KeyRange
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.diagnosis.tables import CheckedTable
    from webtable.store import Row
    from webtable.store.deadline import Deadline
    from webtable.store.health import Check

SAMPLE: Final = 200
DEEP_SAMPLE: Final = 1_000
_AT_ONCE: Final = 16
"""How many rows are read at once with all their bodies."""
_LEAST_LEFT: Final = 0.5
"""Seconds: a row that is asked for later would not come in time."""
_AHEAD: Final = timedelta(minutes=1)
_MENDED = "store newer captures of these pages, or delete them; webtable verify --full-scan finds all"


@dataclass(frozen=True, slots=True)
class Deepness:
    """Whether bodies are compared with their digests, and whether those of all pages; who is told how far that is."""

    is_wanted: bool
    is_full: bool
    on_progress: Progress | None


def sample(checked: CheckedTable) -> Iterator[Check]:
    """Yield how many pages of a sample cannot be read, and whether some are dated in the future."""
    keys = _keys(checked, SAMPLE)
    found = list(checked.frame.pages.read_each(keys, ("fetched_at",)))
    damaged = [one for one in found if isinstance(one, DamagedRow)]
    told = f"{len(damaged):,} of {len(found):,} pages of a sample cannot be read"
    if damaged:
        yield failed("rows", f"{told}: {damaged[0]}", _MENDED)
    else:
        yield well("rows", told)
    newest = max((one.fetched_at for one in found if isinstance(one, Page)), default=None)
    if newest is not None and newest > clock.now() + _AHEAD:
        told = f"a page of the sample is dated {newest:%Y-%m-%d %H:%M:%S} UTC, which is to come"
        yield warned("dates", told, "set the clocks of this machine and of those that write by NTP")


def digests(checked: CheckedTable, deepness: Deepness) -> Iterator[Check]:
    """Yield how many bodies are not those of their digests, in a sample of the pages or in all."""
    found = verified(checked.frame, _in_time(_rows(checked, deepness), checked.time), deepness.on_progress)
    told = f"{found.bodies:,} bodies of {found.pages:,} pages are read: {found.damaged:,} damaged, {found.lost:,} lost"
    if found.examples:
        yield failed("digests", f"{told}: {found.examples[0]}", _MENDED)
    elif checked.time.left() < _LEAST_LEFT:
        yield warned("digests", f"{told}, when the time was over", "give it more time (timeout=)")
    else:
        yield well("digests", told)
    if found.crossed:
        told = f"the newest capture of {found.crossed:,} of these pages disagrees with their history"
        yield failed("history", told, "run: webtable index repair --all --apply")


def _rows(checked: CheckedTable, deepness: Deepness) -> Iterator[Row]:
    wanted = wanted_to_verify(checked.frame)
    if deepness.is_full:
        yield from checked.store.scan(checked.table, [KeyRange()], wanted)
        return
    keys = iter(_keys(checked, DEEP_SAMPLE))
    while some := list(islice(keys, _AT_ONCE)):
        yield from (row for row in checked.store.read(checked.table, some, wanted) if row is not None)


def _keys(checked: CheckedTable, most: int) -> Sequence[bytes]:
    return [checked.frame.key.encode(url) for url in sample_urls(checked.web_table, most=most)]


def _in_time(rows: Iterable[Row], time: Deadline) -> Iterator[Row]:
    for row in rows:
        yield row
        if time.left() < _LEAST_LEFT:
            return

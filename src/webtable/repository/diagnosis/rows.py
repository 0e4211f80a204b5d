"""Checks of the rows of a table, a sample or all: whether they can be read and are intact; and of their regions."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._messages import Command, Message
from webtable.display.text import plural
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.arguments import Progress
from webtable.repository.maintenance.regions import sample_urls
from webtable.repository.questions.verification import verified, wanted_to_verify
from webtable.repository.reading.page_counts import HOT, Group, PageCounts, RegionShares, grouping, named
from webtable.rowkey import KeyRange, key_text
from webtable.store.health import MORE_TIME, failed, warned, well
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.diagnosis.tables import CheckedTable
    from webtable.store import Region, Row, Store
    from webtable.store.deadline import Deadline
    from webtable.store.health import Check

SAMPLE: Final = 200
DEEP_SAMPLE: Final = 1_000
_AT_ONCE: Final = 16
"""How many rows are read at once with all their bodies."""
_LEAST_LEFT: Final = 0.5
"""With fewer seconds left no more rows are read: they would not come in time."""
_AHEAD: Final = timedelta(minutes=1)
_MENDED = Message("store newer captures of these pages, or delete them; ", Command("verify all"), " finds each of them")


@dataclass(frozen=True, slots=True)
class Deepness:
    """Whether bodies are compared with their digests, and whether those of all pages; and a function for progress."""

    is_wanted: bool
    is_full: bool
    on_progress: Progress | None


def sample(checked: CheckedTable) -> Iterator[Check]:
    """Yield how many pages of a sample cannot be read, and whether some are dated in the future."""
    keys = _keys(checked, SAMPLE)
    found = list(checked.frame.pages.read_each(keys, ("fetched_at",)))
    damaged = [one for one in found if isinstance(one, DamagedRow)]
    if damaged:
        text = f"{len(damaged):,} of {len(found):,} pages of a sample cannot be read"
        yield failed("rows", f"{text}: {damaged[0]}", _MENDED)
    else:
        yield well("rows", f"{plural(len(found), 'page')} of a sample can be read" if found else "there are no pages")
    newest = max((one.fetched_at for one in found if isinstance(one, Page)), default=None)
    if newest is not None and newest > clock.now() + _AHEAD:
        text = f"a page of the sample is dated {newest:%Y-%m-%d %H:%M:%S} UTC, in the future"
        yield warned("dates", text, "set the clocks of this machine and of those that write by NTP")


def digests(checked: CheckedTable, deepness: Deepness) -> Iterator[Check]:
    """Yield how many bodies do not match their digests, in a sample of the pages or in all."""
    found = verified(checked.frame, _in_time(_rows(checked, deepness), checked.time), deepness.on_progress)
    text = f"{found.bodies:,} bodies of {found.pages:,} pages were read: {found.damaged:,} damaged, {found.lost:,} lost"
    if found.examples:
        yield failed("digests", f"{text}: {found.examples[0]}", _MENDED)
    elif checked.time.left() < _LEAST_LEFT:
        yield warned("digests", f"{text}, when the time was over", MORE_TIME)
    else:
        yield well("digests", text)
    if found.inconsistent:
        text = f"the newest capture of {found.inconsistent:,} of these pages disagrees with their history"
        yield failed("history", text, Message("run: ", Command("index repair --all")))


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


MOST_PAGES: Final = 50_000
"""How many pages are counted at most, in a second or two; if there are more, salts or first rows are compared."""
MOST_REGIONS: Final = 256
"""How many regions are then checked for being full."""
MOST_ROWS: Final = 200
"""How many rows a region needs to count as full."""
_UNEVEN: Final = 4
"""A server with this many times as many regions as another one has too many."""
_SPLIT: Final = Message(
    "split hot regions in the HBase shell (split 'TABLE', 'KEY') and merge empty ones (merge_region); ",
    Command("keys splits --regions 16"),
    " names split points",
)
_COUNTS: Final = Message(Command("stats all --by region"), " counts their pages")


def regions(checked: CheckedTable) -> Iterator[Check]:
    """Yield the checks of the regions of the pages, if the store has regions."""
    found = checked.store.regions(checked.table)
    yield from placed(checked.store, checked.table, found)
    if not any(region.server for region in found):
        return
    if len(found) == 1:
        yield _judged(RegionShares.of({_name(found[0]): (0, None)}))
        return
    digits = checked.stored.layout.digits
    groups = _pages(checked, found)
    if groups is not None:
        yield _judged(RegionShares.of(groups))
    elif digits:
        salts = [b"%0*x" % (digits, number) for number in range(16**digits)]
        shares = RegionShares.of({_name(one): (_begin_in(one.keys, salts), None) for one in found})
        yield _judged(shares, ", by the salts that begin in them; " + _COUNTS)
    else:
        yield _filled(checked, found)


def _pages(checked: CheckedTable, found: Sequence[Region]) -> dict[str, Group] | None:
    """Return the pages and bytes of each region, or None if there are too many pages to count."""
    frame, by = checked.frame, grouping("region", starts=[region.keys.start for region in found])
    counts, wanted = PageCounts({"region": by}), Wanted([frame.codec.columns.page])
    for number, row in enumerate(frame.store.scan(frame.table, [KeyRange()], wanted, limit=MOST_PAGES + 1)):
        if number == MOST_PAGES:
            return None
        page = frame.counted.each(row)
        if page is not None and not isinstance(page, DamagedRow):
            counts.add(row.key, page)
    return {_name(region): Group(0, 0) for region in found} | by.groups()


def _judged(shares: RegionShares, basis: str = "") -> Check:
    """Return the check of *shares*, in the words of the picture of the regions."""
    text = str(shares) + basis
    return warned("splits", text, _SPLIT) if shares.hot else well("splits", text)


def _filled(checked: CheckedTable, found: Sequence[Region]) -> Check:
    """Return in how few regions nearly all pages are, judged by their first rows."""
    some = found[:MOST_REGIONS]
    rows = checked.store.first_rows(checked.table, [one.keys for one in some], MOST_ROWS, Wanted(keys_only=True))
    full = [_name(one) for one, first in zip(some, rows, strict=True) if len(first) == MOST_ROWS]
    text = f"{len(found):,} regions: {named(full)} have {MOST_ROWS} rows or more"
    # Nearly all of over MOST_PAGES pages are in these, so one of them has more than HOT times its fair share.
    if len(some) == len(found) and len(full) < len(found) / HOT:
        return warned("splits", text, _SPLIT)
    return well("splits", f"{text}; " + _COUNTS)


def placed(store: Store, table: str, found: Sequence[Region] | None = None) -> Iterator[Check]:
    """Yield the check of the servers of the regions, if the store has regions."""
    found = store.regions(table) if found is None else found
    if not any(region.server for region in found):
        return
    lost = [region for region in found if not region.server]
    servers = Counter(region.server for region in found if region.server)
    text = f"{len(found):,} on {plural(len(servers), 'server')}"
    if lost:
        remedy = "wait while they move; else assign them in the HBase shell (list_regions, assign), or use hbck2"
        yield failed(
            "regions", f"{named([_name(one) for one in lost])} of {len(found):,} regions are on no server", remedy
        )
    elif max(servers.values()) > _UNEVEN * max(1, min(servers.values())):
        (busiest, most), *_ = servers.most_common(1)
        yield warned("regions", f"{text}, {most:,} of them on {busiest}", "run balancer in the HBase shell")
    else:
        yield well("regions", text)


def _begin_in(keys: KeyRange, salts: Sequence[bytes]) -> int:
    """Return how many of *salts*, which are in order, begin in *keys*."""
    stop = bisect_left(salts, keys.stop) if keys.stop else len(salts)
    return max(0, stop - bisect_left(salts, keys.start))


def _name(region: Region) -> str:
    return key_text(region.keys.start)

"""The question which pages have grown or shrunk most between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from operator import neg, pos
from typing import TYPE_CHECKING

from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.answers.tokens import number_of
from webtable.repository.indexes.index import HIGHEST_SIZE
from webtable.repository.questions.changes import SINCE, UNTIL, Period, changes_of, period_of
from webtable.repository.questions.rows import SortedQuestion, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.page.page import Page
    from webtable.repository.answers.results import Window
    from webtable.repository.arguments import Moment
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope

_TABLE = "CREATE TABLE found (rank INTEGER, place BLOB, before INTEGER, after INTEGER)"
_SORTED = "SELECT place, before, after FROM found WHERE (rank, place) > (?, ?) ORDER BY rank, place"
_RANKS: dict[str, Callable[[int], int]] = {"most": lambda growth: -abs(growth), "grown": neg, "shrunk": pos}
"""The sort key of each order, computed from the growth; pages with a key of 0 or above are left out."""
_BEFORE_ALL: tuple[int, bytes] = -(2**63), b""


@dataclass(frozen=True, slots=True)
class Growth:
    """The `growth` in bytes of the body of the page `url` between two moments; it is negative if the body has shrunk.

    `size_before` and `size_after` are its sizes at these moments, in bytes.
    """

    url: str
    growth: int
    size_before: int
    size_after: int


GROWTHS = declared(
    Growth,
    "growth",
    column("url", "url"),
    column("growth", "count", width=14),
    column("size_before", "bytes", heading="was"),
    column("size_after", "bytes", heading="size"),
)
LISTING = Listing(
    "largest_growth",
    GROWTHS,
    orders=tuple(_RANKS),
    options=(SITE, SINCE, UNTIL),
    examples=(
        "webtable largest-growth example.com --since 7d --limit 20",
        "webtable largest-growth all --since 2026-11-01 --until 2026-11-08 --order shrunk",
    ),
    help="""List the pages whose size has changed most between two moments, with the change and both sizes in bytes.

    Pages that were not stored at both moments are left out. In the order `grown` only pages that have become larger are
    listed, in the order `shrunk` only those that have become smaller.
    """,
)


class GrowthQuestion(SortedQuestion[Growth]):
    """Which pages of a scope have grown or shrunk most between two times."""

    notes: Sequence[str] = ("for pages whose content has changed since, the list of versions is read",)

    def __init__(self, frame: Frame, scope: Scope, window: Window, since: Moment | None, until: Moment | None) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.rank: Callable[[int], int] = _RANKS[window.order]
        period, times = period_of(since, until)
        self.period: Period = period
        self.title: str = f"{self.pages.label} by change of size {times}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Growth]:
        changes = damage.sift(changes_of(self.frame, self.pages.all(damage), self.period, None))
        rank, by_url = self.rank, self.pages.by_url
        with TemporaryTables(_TABLE) as scratch:
            sized = ((change.url, _size(change.before), _size(change.after)) for change in changes)
            grown = ((url, before, now) for url, before, now in sized if before is not None and now is not None)
            ranked = ((rank(now - before), by_url(url), before, now) for url, before, now in grown)
            scratch.fill("found", (row for row in ranked if row[0] < 0), 4)
            yield from _growths(scratch, after)

    def place(self, result: Growth) -> bytes:
        return b"%d %s" % (self.rank(result.growth), self.pages.by_url(result.url))


def _growths(found: TemporaryTables, after: bytes | None) -> Iterator[Growth]:
    first = _BEFORE_ALL
    if after is not None:
        number, _, place = after.partition(b" ")
        first = number_of(number), place
    for place, before, now in found.rows(_SORTED, first):
        yield Growth(url_at(place), now - before, before, now)


def _size(page: Page | None) -> int | None:
    return None if page is None or page.size is None else min(page.size, HIGHEST_SIZE)

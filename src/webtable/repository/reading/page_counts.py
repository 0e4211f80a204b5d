"""Counts of pages, their bytes and dates, in total and by group, for statistics, audits, metrics and the doctor."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from heapq import nlargest
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable.display.text import class_name, plural, size_class
from webtable.rowkey import WebKey, key_text
from webtable.rowkey.fields.domain import host_of

if TYPE_CHECKING:
    from webtable.page.page import Page
    from webtable.repository.arguments import Grouping

AGES: Final = ("under 1 day", "1 to 7 days", "7 to 30 days", "30 to 90 days", "90 days and older")
"""The groups of pages by the age of their last capture, the youngest first."""
UNKNOWN: Final = "unknown"
"""The group of pages without a media type, or without a language."""
OTHERS: Final = "others"
"""The group of pages beyond the largest number of groups."""
HOT: Final = 2.0
"""A region is hot if it has more than this many times its fair share of the pages, or of the bytes."""
DATES: Final = frozenset({"day", "month"})
"""The groupings by the date of the last capture."""
MOST_DATES: Final = 31
"""How many days or months are shown: at least all days of a month."""
MOST_GROUPS: Final = 10_000
"""How many values of a column are counted apart; pages with further ones are `OTHERS`."""
_IN_ORDER: Final = frozenset({"age", "size"})
_NAMED: Final = 3
# BCP 47 has further ones, which no page uses; people write `de_DE` for `de-DE`.
_LANGUAGE: Final = re.compile(r"([a-z]{2,3})(?:[-_]|$)")
# The limits of `AGES`.
_UP_TO = [timedelta(days=days) for days in (1, 7, 30, 90)]


class Group(NamedTuple):
    """The number of pages of a group, and the bytes of their bodies (None if they were not counted)."""

    pages: int
    bytes: int | None

    def __str__(self) -> str:
        size = "" if self.bytes is None else f", {self.bytes:,} bytes"
        return f"{plural(self.pages, 'page')}{size}"


def shown_groups(by: str, groups: Mapping[str, tuple[int, int | None]], limit: int) -> list[str]:
    """Return the names of those *groups* that are shown where there is no room for all, in their order.

    These are the *limit* with the most pages, of days and months the latest; ages and sizes are all shown. So no series
    has gaps where its groups are small.
    """
    if by in _IN_ORDER:
        return list(groups)
    if by in DATES:
        return list(groups)[-MOST_DATES:]
    largest = set(nlargest(limit, groups, key=lambda name: groups[name][0]))
    return [name for name in groups if name in largest]


def left_out(by: str, groups: int) -> str:
    """Return in words that this number of *groups* is not among the `shown_groups`."""
    return f"… and {groups:,} {'earlier' if by in DATES else 'more'}"


def language_of(page: Page) -> str | None:
    """Return the language of *page* without its region or script: `pt` for `pt-br`; None if it names none.

    >>> from webtable import Page
    >>> [language_of(Page(url="https://example.com/", language=one)) for one in ("pt-br", "de_at", "english", None)]
    ['pt', 'de', None, None]
    """
    return language_code(page.language or "")


def language_code(name: str) -> str | None:
    """Return the language of *name*, as in `pt` for `pt-BR`; None if it is no code of one."""
    language = _LANGUAGE.match(name.lower())
    return language[1] if language else None


class GroupCounts:
    """The pages and bytes of each group; *group_of* returns the group of a row key and its page, *shown* its name.

    There are at most *limit* groups, and one for all other pages.
    """

    def __init__(
        self, group_of: Callable[[bytes, Any], Any], shown: Callable[[Any], str] = str, limit: int | None = None
    ) -> None:
        self.group_of = group_of
        """The function that returns the group of a row key and its page."""
        self._shown = shown
        self._limit = limit
        self._pages: Counter[Any] = Counter()
        self._bytes: Counter[Any] = Counter()

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, group: Any, size: int, pages: int = 1) -> None:
        """Count a page of *group* with *size* bytes, or several *pages* with *size* bytes in total."""
        # The groups are in memory, and a server may make up as many media types as it has pages.
        if self._limit is not None and len(self._pages) >= self._limit and group not in self._pages:
            group = OTHERS
        self._pages[group] += pages
        self._bytes[group] += size

    def counted(self) -> list[tuple[Any, int, int]]:
        """Return each group with its pages and bytes, in a form that can be added again."""
        return [(group, pages, self._bytes[group]) for group, pages in self._pages.items()]

    def groups(self, *, with_bytes: bool = True) -> dict[str, Group]:
        """Return the groups, sorted."""
        return {
            self._shown(group): Group(pages, self._bytes[group] if with_bytes else None)
            for group, pages in sorted(self._pages.items())
        }


class PageCounts:
    """The number and bytes of all pages, those of each group by some groupings, and the range of capture dates."""

    def __init__(self, groups: Mapping[Grouping, GroupCounts]) -> None:
        self.groups = groups
        self.pages: int = 0
        self.bytes: int = 0
        self.oldest: datetime | None = None
        self.newest: datetime | None = None
        self._each = tuple(groups.values())

    def add(self, key: bytes, page: Page | None) -> None:
        """Count the page with this row *key*; *page* is None if only the key was read.

        Raises `ValueError`, without counting the page, if its group cannot be found from the key.
        """
        # All first: a key that cannot be read must not be counted in some of them.
        groups = [counts.group_of(key, page) for counts in self._each]
        size = (page and page.size) or 0
        self.pages += 1
        self.bytes += size
        for counts, group in zip(self._each, groups, strict=True):
            counts.add(group, size)

    def add_dated(self, key: bytes, page: Page) -> None:
        """Count the page, and its capture date."""
        self.add(key, page)
        self.oldest = min(self.oldest or page.fetched_at, page.fetched_at)
        self.newest = max(self.newest or page.fetched_at, page.fetched_at)


def grouping(
    name: Grouping,
    *,
    key: WebKey | None = None,
    now: datetime | None = None,
    starts: Sequence[bytes] = (),
    limit: int | None = None,
    value: Callable[[Page], object] | None = None,
) -> GroupCounts:
    """Return empty counts by *name*, with at most *limit* groups.

    Hosts are found from row keys by *key*, ages are as of *now*, regions begin at *starts*, and *value* is that of the
    column *name*.
    """
    match name:
        case "host":
            # Neighbouring rows have the same host, whose name is decoded once.
            host = lru_cache(maxsize=4_096)(lambda reversed_name: host_of(reversed_name.decode("ascii")))
            return GroupCounts(lambda row, _: host(key.unsalted(row).partition(b"/")[0]))  # type: ignore[union-attr]
        case "status":
            return GroupCounts(lambda _, page: page.status)
        case "type":
            return GroupCounts(lambda _, page: page.content_type or UNKNOWN, limit=limit)
        case "language":
            return GroupCounts(lambda _, page: language_of(page) or UNKNOWN, limit=limit)
        case "age":
            return GroupCounts(lambda _, page: bisect_right(_UP_TO, now - page.fetched_at), AGES.__getitem__)
        case "region":
            return GroupCounts(lambda row, _: bisect_right(starts, row) - 1, lambda place: key_text(starts[place]))
        case "size":
            return GroupCounts(lambda _, page: size_class(page.size), class_name)
        case "day":
            return GroupCounts(
                lambda _, page: page.fetched_at.astimezone(UTC).toordinal(),
                lambda day: date.fromordinal(day).isoformat(),
            )
        case "month":
            return GroupCounts(
                lambda _, page: _month(page.fetched_at), lambda month: f"{month // 12:04}-{month % 12 + 1:02}"
            )
        case "directory":
            return GroupCounts(lambda _, page: page.url.partition("?")[0].rpartition("/")[0] + "/", limit=MOST_GROUPS)
        case _:
            of: Callable[[Page], object] = value or attrgetter(name)
            return GroupCounts(lambda _, page: _text_of(of(page)), limit=MOST_GROUPS)


def _text_of(value: object) -> str:
    """Return the name of the group of pages with this *value*."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return UNKNOWN if value is None or value == "" else str(value)


def _month(moment: datetime) -> int:
    """Return the number of the month of *moment* in UTC, counted from that of the year 0."""
    at = moment.astimezone(UTC)
    return 12 * at.year + at.month - 1


@dataclass(frozen=True, slots=True)
class RegionShares:
    """The share of each region, by first key, of all pages and of all bytes (None if these are not known)."""

    pages: Mapping[str, float]
    bytes: Mapping[str, float] | None

    @classmethod
    def of(cls, groups: Mapping[str, tuple[int, int | None]]) -> RegionShares:
        """Return the shares of *groups*: the pages and bytes of each region."""
        pages = sum(group[0] for group in groups.values()) or 1
        sizes = {name: group[1] for name, group in groups.items()}
        total = sum(size or 0 for size in sizes.values()) or 1
        has_bytes = None not in sizes.values()
        return cls(
            {name: group[0] / pages for name, group in groups.items()},
            {name: (size or 0) / total for name, size in sizes.items()} if has_bytes else None,
        )

    @property
    def fair(self) -> float:
        """The share of each region if all were equal."""
        return 1 / max(1, len(self.pages))

    def highest(self, name: str) -> tuple[float, str]:
        """Return the larger one of a region's shares, and whether it is that of `pages` or `bytes`."""
        shares = [(self.pages[name], "pages")]
        if self.bytes is not None:
            shares.append((self.bytes[name], "bytes"))
        return max(shares)

    @property
    def hot(self) -> list[str]:
        """The regions with more than `HOT` times their fair share; a single region is never hot.

        If over half of the regions are empty, at least one of the others is hot.
        """
        return [name for name in self.pages if len(self.pages) > 1 and self.highest(name)[0] > HOT * self.fair]

    @property
    def empty(self) -> list[str]:
        """The regions without pages; an empty list if no region has pages."""
        return [name for name, share in self.pages.items() if not share] if any(self.pages.values()) else []

    def __str__(self) -> str:
        """Return a summary in one line."""
        if len(self.pages) == 1:
            return "1 region"
        if not any(self.pages.values()):
            return f"{len(self.pages):,} regions: no pages"
        # The picture of the regions and the doctor say the same in these words.
        hot, empty = self.hot, self.empty
        over = f"over {HOT:g} times the fair share of pages or bytes"
        held = f"{named(hot)} hold {over}" if hot else f"no region holds {over}"
        without = f", {named(empty)} have no pages" if empty else ""
        return f"{len(self.pages):,} regions: {held}{without}"


def named(regions: list[str]) -> str:
    """Return the number of *regions*, and the first keys of some."""
    keys = ", ".join(name or "the first" for name in regions[:_NAMED])
    return f"{len(regions):,} ({keys}{', …' if len(regions) > _NAMED else ''})"

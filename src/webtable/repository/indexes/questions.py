"""Questions that the indexes answer: by time, size and status, and by any index, custom ones included."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from webtable._messages import Argument, Command, Words
from webtable.errors import InvalidArgument, UnknownIndex
from webtable.repository.answers.columns import PAGES
from webtable.repository.answers.listing import BY_URL, MAX_SIZE, MIN_SIZE, SITE, Listing, ListingOption
from webtable.repository.arguments import TIME_FORMS, Moment, check_numbers, given_moment, moments, said_time
from webtable.repository.failed_fetches import due
from webtable.repository.indexes.index import (
    HIGHEST_SIZE,
    SIZE,
    STATUS,
    TIME,
    by_term,
    descending,
    page_id,
    status_text,
    time_text,
)
from webtable.repository.indexes.pages import IndexQuestion, SitePageOptions
from webtable.repository.questions.page import pages_with_id, target_of
from webtable.rowkey import KeyRange, canonical_url, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.repository.answers.results import Pages
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.index import Index
    from webtable.repository.reading.read_ahead import Damage

SizeClass = Literal["small", "medium", "large", "huge"]
SIZE_CLASSES: dict[SizeClass, tuple[int, int]] = {
    "small": (0, 999),
    "medium": (1_000, 9_999),
    "large": (10_000, 99_999),
    "huge": (100_000, HIGHEST_SIZE),
}
"""The names of ranges of sizes, in bytes, both ends included; each is several of the classes of `display.text`."""


def _listing(
    name: str,
    orders: tuple[str, ...],
    text: str,
    examples: tuple[str, ...],
    *,
    options: tuple[ListingOption, ...] = (),
    indexes: tuple[Index, ...] = (),
    listed: tuple[str, ...] = PAGES.listed,
) -> Listing:
    """Return the declaration of a question for pages by an index, all of them or those of a site."""
    columns = PAGES.listing(*listed)
    return Listing(name, columns, orders, (*options, SITE), examples, text, indexes, is_of_pages=True)


_SINCE = ListingOption("since", f"From this time on: {TIME_FORMS}.", "time", metavar="TIME")
_UNTIL = ListingOption("until", "Up to this time, which is not included.", "time", metavar="TIME")
_NEWEST = ("newest", "oldest", "storage")
FETCHED = _listing(
    "fetched",
    orders=_NEWEST,
    options=(_SINCE, _UNTIL),
    examples=(
        "webtable fetched --since 2d --limit 20",
        "webtable fetched example.com --since 2026-11-20 --until 2026-11-21 --order oldest",
    ),
    indexes=(TIME,),
    text="List the pages that were fetched in a period, the newest first.",
)
MODIFIED = _listing(
    "modified",
    listed=("url", "status", "last_modified", "changed_at", "title"),
    orders=_NEWEST,
    options=(_SINCE, _UNTIL),
    examples=(
        "webtable modified example.com --since 7d",
        "webtable modified --until 2026-01-01T00:00+01:00 --order oldest --limit 100",
    ),
    indexes=(TIME,),
    text="""List the pages that were modified in a period, the newest first.

    A page was modified when its server says so, else when a capture first brought its content.
    """,
)
OUTDATED = _listing(
    "outdated",
    orders=("oldest", "newest", "storage"),
    options=(
        ListingOption("not_fetched_since", f"{TIME_FORMS}.", "time", metavar="TIME", example="1d"),
        ListingOption("not_modified_since", "The same for the last modification.", "time", metavar="TIME"),
    ),
    examples=(
        "webtable outdated --not-fetched-since 30d --columns url > fetch-again.txt",
        "webtable outdated example.com --not-modified-since 2025-01-01",
    ),
    indexes=(TIME,),
    text="""List the pages that were not fetched, or not modified, since a time: what to fetch again.

    Give one of the two times. A page whose last fetch failed is left out until it is to be tried again.
    """,
)
LARGEST = _listing(
    "largest",
    orders=("largest", "smallest", "storage"),
    options=(
        ListingOption(
            "size_class",
            "Below 1,000, 10,000 or 100,000 bytes, or from there on.",
            flag="class",
            metavar="|".join(SIZE_CLASSES),
        ),
        MIN_SIZE,
        MAX_SIZE,
    ),
    examples=(
        "webtable largest --limit 20",
        "webtable largest example.com --class huge",
        "webtable largest --min-size 1MB --max-size 5MB --order smallest",
    ),
    indexes=(SIZE,),
    text="List the pages by the size of their bodies, the largest first.",
)
WITH_STATUS = _listing(
    "with_status",
    orders=BY_URL,
    options=(ListingOption("status", "The status code.", "number", is_argument=True, is_needed=True, example="404"),),
    examples=("webtable with-status 503", "webtable with-status 404 example.com --columns url"),
    indexes=(STATUS,),
    text="List the pages whose last capture has this status.",
)
ERRORS = _listing(
    "errors",
    orders=("status", "storage"),
    examples=("webtable errors example.com", "webtable errors --format csv > errors.csv"),
    indexes=(STATUS,),
    text="List the pages whose last capture is an error (status 400 and above), by status and URL.",
)
REDIRECTS = _listing(
    "redirects",
    listed=("url", "status", "redirect_to", "fetched_at"),
    orders=("status", "url", "storage"),
    options=(ListingOption("to", "Only those that lead there directly, by URL.", metavar="URL"),),
    examples=(
        "webtable redirects example.com",
        "webtable redirects --to https://example.com/new",
    ),
    indexes=(STATUS,),
    text="List the pages that redirect, by status and URL.",
)
INDEXED = _listing(
    "indexed",
    orders=("term", "reverse", "storage"),
    options=(
        ListingOption(
            "index", "The name of an index.", is_argument=True, is_needed=True, is_index=True, example="status"
        ),
        ListingOption(
            "term",
            "Only pages with this term; repeat it for each part, where the index has several.",
            is_many=True,
            read=lambda term: term[0] if len(term) == 1 else tuple(term) or None,
        ),
    ),
    examples=("webtable indexed language --term de --limit 20", "webtable indexed language --order reverse"),
    text="List the pages that an index has, in its order, also a custom one.",
)


class OutdatedQuestion(IndexQuestion):
    """A question for pages to fetch again: those whose last fetch failed are left out until they are due."""

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Page]:
        pages = super().rows(after, expected, damage)
        return due(self.context, pages, expected, lambda page: (page.url, page.fetched_at))


def by_time(
    context: TableContext,
    kind: Literal["fetched", "modified"],
    since: Moment | None,
    until: Moment | None,
    options: SitePageOptions,
    listing: Listing,
) -> Pages:
    """Return the pages that were fetched or modified from *since* on and before *until*, as *listing* declares."""
    bounds = moments(since=since, until=until).values()
    prefix = f"{kind}_".encode()
    # Places are whole milliseconds: each bound is the first one that is not before its moment.
    first, last = (None if moment is None else _next_millisecond(moment) for moment in bounds)
    begin, end = (prefix + time_text(moment).encode() if moment else None for moment in (first, last))
    places = KeyRange(begin or prefix, end or prefix_stop(prefix))
    title = f"pages {kind}" + (f" from {said_time(first)}" if first else "")
    kind_of_question = OutdatedQuestion if listing is OUTDATED else IndexQuestion
    return kind_of_question(
        context,
        options,
        listing,
        title=title + (f" before {said_time(last)}" if last else ""),
        index=TIME,
        places=lambda: [places],
        backwards="newest",
    ).answer()


def outdated(
    context: TableContext,
    not_fetched_since: Moment | None,
    not_modified_since: Moment | None,
    options: SitePageOptions,
) -> Pages:
    """Return the pages that were not fetched, or not modified, since a time; raises `InvalidArgument`."""
    if (not_fetched_since is None) == (not_modified_since is None):
        times = Argument("not_fetched_since"), " or ", Argument("not_modified_since")
        raise InvalidArgument("outdated takes ", *times, ", one of the two")
    if not_modified_since is None:
        fetched = given_moment("not_fetched_since", not_fetched_since)
        return by_time(context, "fetched", None, fetched, options, OUTDATED)
    modified = given_moment("not_modified_since", not_modified_since)
    return by_time(context, "modified", None, modified, options, OUTDATED)


def largest(
    context: TableContext,
    size_class: SizeClass | None,
    min_size: int | None,
    max_size: int | None,
    options: SitePageOptions,
) -> Pages:
    """Return the pages of a class or between two sizes in bytes, the largest first; raises `InvalidArgument`."""
    if (site := options.get("site")) in SIZE_CLASSES:
        raise InvalidArgument(f"site={site!r} is a class of sizes: name it, as in ", Argument("size_class", repr(site)))
    if size_class is not None:
        if size_class not in SIZE_CLASSES or min_size is not None or max_size is not None:
            names = ", ".join(SIZE_CLASSES)
            limits = Argument("min_size"), " and ", Argument("max_size")
            raise InvalidArgument(f"size_class={size_class!r} must be one of {names}, without ", *limits)
        min_size, max_size = SIZE_CLASSES[size_class]
    check_numbers(min_size=min_size, max_size=max_size)
    low, high = min_size or 0, HIGHEST_SIZE if max_size is None else max_size
    if not 0 <= low <= high:
        raise InvalidArgument(f"min_size={min_size} and ", Argument("max_size", max_size), " leave no size in between")
    # Terms are backwards, so the highest size comes first.
    first, last = (SIZE.term(descending(min(size, HIGHEST_SIZE), HIGHEST_SIZE)) for size in (high, low))
    return IndexQuestion(
        context,
        options,
        LARGEST,
        title=f"pages of {low:,} to {high:,} bytes" if low or max_size is not None else "pages by size",
        index=SIZE,
        places=lambda: [KeyRange(first, prefix_stop(last))],
        backwards="smallest",
    ).answer()


def with_status(context: TableContext, status: int, options: SitePageOptions) -> Pages:
    """Return the pages with a *status*; raises `InvalidArgument`."""
    if type(status) is not int or not 0 <= status <= 999:
        raise InvalidArgument(f"status={status!r} must be a status code, from 0 to 999")
    return IndexQuestion(
        context,
        options,
        WITH_STATUS,
        title=f"pages with status {status}",
        index=STATUS,
        places=lambda: [STATUS.range_of(status_text(status))],
    ).answer()


def errors(context: TableContext, options: SitePageOptions) -> Pages:
    """Return the pages whose last capture is an error, by status and URL."""
    return _by_status(context, "pages with an error", [(400, 999)], options, ERRORS)


def redirects(context: TableContext, to: str | None, options: SitePageOptions) -> Pages:
    """Return the pages that redirect, or those that lead directly *to* a URL, whatever their status."""
    if to is not None:
        target = canonical_url(to)
        title, id = f"redirects to {target}", page_id(target)
        return pages_with_id(context, options, title, id, lambda page: target_of(page) == target)
    # 304 is no redirect. In the order of URLs are only those to one URL, which have one term in the index of ids.
    by_status = replace(REDIRECTS, orders=("status", "storage"))
    return _by_status(context, "redirects", [(300, 303), (305, 399)], options, by_status)


def _by_status(
    context: TableContext, title: str, statuses: list[tuple[int, int]], options: SitePageOptions, listing: Listing
) -> Pages:
    """Return the pages whose status is in one of the ranges *statuses*, which are in order and include both ends."""
    places = [KeyRange(status_text(low).encode(), prefix_stop(status_text(high).encode())) for low, high in statuses]
    return IndexQuestion(context, options, listing, title=title, index=STATUS, places=lambda: places).answer()


def indexed(context: TableContext, index: str, term: str | tuple[str, ...] | None, options: SitePageOptions) -> Pages:
    """Return the pages by their terms in an *index*; raises `UnknownIndex`."""
    chosen = context.indexes.named(index).index
    if not chosen.names_pages:
        raise UnknownIndex(f"the index {index!r} does not name pages: ask for ", Words("hosts()", Command("hosts")))
    if chosen.signs_pages:
        other = Words("near_duplicates()", Command("near-duplicates"))
        raise UnknownIndex(f"the index {index!r} has parts of signatures, not of pages: ask for ", other)
    places = KeyRange() if term is None else chosen.range_of(term)
    raw = b"" if term is None else chosen.term(term)
    is_together = term is not None and chosen.sharding is by_term
    return IndexQuestion(
        context,
        options,
        INDEXED,
        title=f"pages with {'all terms' if term is None else repr(term)} in the index {index}",
        index=chosen,
        places=lambda: [places],
        backwards="reverse",
        shard_of=(lambda: raw) if is_together else None,
    ).answer()


def _next_millisecond(moment: datetime) -> datetime:
    with suppress(OverflowError):  # at the end of the calendar
        return moment + timedelta(microseconds=-moment.microsecond % 1_000)
    return moment

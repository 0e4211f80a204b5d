"""Questions about one page: its current and former versions, their differences, and its validators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from webtable._clock import clock, milliseconds
from webtable.errors import DamagedRow, InvalidArgument, InvalidURL
from webtable.page.page import Page
from webtable.repository.answers.columns import (
    EXTRA_COLUMNS,
    checked_fields,
    column,
    column_names,
    declared,
    fields_of,
    pages_with,
)
from webtable.repository.answers.results import ResultList
from webtable.repository.arguments import Moment, given_moment, moments
from webtable.repository.indexes.index import URL, page_id
from webtable.repository.page_storage.cells import BODY_BYTES
from webtable.repository.page_storage.state import is_repeat
from webtable.rowkey import canonical_url
from webtable.rowkey.urls import canonical_or_none
from webtable.store import Row, TimeRange
from webtable.store.deadline import Deadline, until
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes

    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Pages
    from webtable.repository.context import TableContext
    from webtable.repository.indexes.pages import SitePageOptions
    from webtable.repository.questions.difference import Difference


# --- A page by its id, and where its redirects lead -------------------------------------------------------------------


MAX_HOPS = 20
"""How many redirects `resolve` follows."""

_PAGE_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a URL leads: the `page` at the end of its redirects, None if that is not stored.

    `hops` are the URLs from the first to the last. `problem` is why there is no end: "loop", "not
    stored" or "too many".
    """

    hops: tuple[str, ...]
    page: Page | None = None
    problem: Literal["loop", "not stored", "too many"] | None = None

    @property
    def url(self) -> str:
        """The last URL."""
        return self.hops[-1]


declared(Resolution, "resolution", column("hops", "urls"), column("url", "url"), column("problem"))


def by_id(context: TableContext, id: str, columns: Sequence[str] | None = None) -> Page | None:
    """Return the page with this *id*, None if it is not stored; raises `InvalidArgument` and `DamagedRow`."""
    if not isinstance(id, str) or not _PAGE_ID.fullmatch(id):
        raise InvalidArgument(f"id={id!r} must be 16 hexadecimal digits, as page_id gives them")
    # The index also has the pages that redirect to the one with this id.
    options: SitePageOptions = {"columns": columns, "limit": 1}
    answer = pages_with_id(context, options, f"the page {id}", id, lambda page: page_id(page.url) == id)
    page = answer.first()
    if page is None and answer.damaged:
        raise answer.damaged[0]
    return page


def resolve(context: TableContext, url: str) -> Resolution:
    """Follow the redirects of *url*, or of the page that has it as its id."""
    page: Page | None
    if isinstance(url, str) and _PAGE_ID.fullmatch(url):
        page = by_id(context, url)
        hops = [url if page is None else page.url]
    else:
        hops = [canonical_url(url)]
        page = stored_page(context, hops[0])
    while page is not None and (target := target_of(page)) is not None:
        if target in hops:
            return Resolution((*hops, target), None, "loop")
        # As browsers do: Chrome and Firefox give up after 20 redirects.
        if len(hops) > MAX_HOPS:
            return Resolution(tuple(hops), None, "too many")
        hops.append(target)
        page = stored_page(context, target)
    return Resolution(tuple(hops), page, "not stored" if page is None else None)


def stored_page(context: TableContext, url: str) -> Page | None:
    """Return the page *url* without its body, None if it is not stored or not a URL; raises `DamagedRow`."""
    try:
        row = context.key.encode(url)
    except InvalidURL:
        return None
    return context.counted.read([row], ())[0]


def pages_with_id(
    context: TableContext, options: SitePageOptions, title: str, id: str, only: Callable[[Page], bool]
) -> Pages:
    """Return the pages that have this *id*, or redirect to the page that has it, and pass the test *only*."""
    # `get` needs neither: it is the command whose start is measured.
    from webtable.repository.indexes.pages import IndexQuestion
    from webtable.repository.questions.pages import LISTING

    return IndexQuestion(
        context,
        options,
        LISTING,
        title=title,
        index=URL,
        places=lambda: [URL.range_of(id)],
        shard_of=lambda: URL.term(id),
        only=only,
    ).answer()


def target_of(page: Page) -> str | None:
    """Return the canonical URL that *page* redirects to, if any."""
    return None if page.redirect_to is None else canonical_or_none(page.redirect_to)


# --- A page now and in the past ---------------------------------------------------------------------------------------


READ_AT_ONCE = 64
"""How many pages, or the versions of how many, are read at once."""


def get(
    context: TableContext, url: str, as_of: Moment | None, columns: Sequence[str] | None, *, verify: bool
) -> Page | None:
    """Return the page *url* now or *as_of* a moment, None if it is not stored; raises `DamagedRow`."""
    with until(Deadline(context.store.timeout)):
        moment = given_moment("as_of", as_of)
        fields = _fields(columns)
        (page,) = context.counted.read([context.key.encode(url)], fields)
        if page is not None and moment is not None and page.fetched_at > moment:
            page = _as_of(context, url, moment, columns)
    if verify and page is not None:
        context.counted.check(context.key.encode(url), page)
    return page


def get_many(context: TableContext, urls: Iterable[str], columns: Sequence[str] | None) -> Iterator[Page | None]:
    """Yield for each of *urls* its page, or None; raises `DamagedRow` at one that cannot be read, and goes on."""
    fields = _fields(columns)
    return _Many(map(context.key.encode, urls), lambda rows: context.counted.read_each(rows, fields))


def _fields(columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the fields to read for *columns* (None: body and links); raises `UnknownColumn`."""
    return ("body", "outlinks") if columns is None else checked_fields(columns)


class History(ResultList[Page]):
    """The stored versions of a page, newest first; equal to a list or a tuple of the same versions."""

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the sizes of the versions over time, with their statuses, and return the axes.

        *ax* are axes of matplotlib to draw on; without them a figure is made. Raises `MissingExtra` without
        matplotlib.
        """
        from webtable.repository.answers.pictures import draw_timeline

        return draw_timeline(tuple(self), ax)


def history(context: TableContext, url: str, columns: Sequence[str] | None) -> History:
    """Return the versions of *url*, the newest first, without those that cannot be read."""
    names = column_names(columns)
    fields = fields_of(names)
    context.codec.select(names)
    return _history(context, _rows(context, [url], fields)[0], fields, pages_with(names))


def _history(context: TableContext, row: Row | None, fields: Sequence[str], columns: Columns) -> History:
    return History(context.damage().sift(version for _, version in _contents(context, row, fields)), columns)


def history_many(context: TableContext, urls: Iterable[str]) -> Iterator[History]:
    """Yield the `history` of each of *urls*, without bodies."""
    remaining, size, columns = iter(urls), 1, pages_with(())
    while batch := list(islice(remaining, size)):
        rows = _rows(context, batch, ())
        for row in rows:
            yield _history(context, row, (), columns)
        # Twice as many next time if those will fit, so that pages with very many versions are read alone.
        weight = sum(len(cell.value) for row in rows if row for cells in row.cells.values() for cell in cells)
        size = min(2 * size, READ_AT_ONCE, max(1, size * BODY_BYTES // (weight or 1)))


def diff(context: TableContext, url: str, old: Moment | None, new: Moment | None) -> Difference | None:
    """Return how the versions of *url* at two moments differ, None if one of them is not stored.

    By default they are the newest version and the one before it. Raises `DamagedRow`.
    """
    from webtable.repository.questions.difference import difference  # it imports what only this needs

    first, last = moments(old=old, new=new).values()
    # Without bodies, of which thousands may not fit into memory. EXTRA_COLUMNS: the content that is lost counts.
    versions = _contents(context, _rows(context, [url], ())[0], EXTRA_COLUMNS)
    after = [at for at, _ in versions if last is None or at <= milliseconds(last)]
    before = after[1:] if first is None else [at for at, _ in versions if at <= milliseconds(first)]
    if not before or not after:
        return None
    return difference(_whole(context, url, versions, before[0]), _whole(context, url, versions, after[0]))


def _whole(context: TableContext, url: str, versions: Sequence[tuple[int, Page | DamagedRow]], at: int) -> Page:
    """Return the version of *url* with the date *at*, one of *versions* without bodies, with its content.

    It is without content if it was deleted meanwhile. Raises `DamagedRow`.
    """
    dates = [date for date, _ in versions]
    number = dates.index(at)
    version = _readable(versions[number][1])
    times = TimeRange(at, dates[number - 1]) if number else TimeRange(at)
    (row,) = _rows(context, [url], EXTRA_COLUMNS, times)
    return next((_readable(whole) for _, whole in _contents(context, row, EXTRA_COLUMNS)), version)


def _readable(version: Page | DamagedRow) -> Page:
    if isinstance(version, DamagedRow):
        raise version
    return version


def validators(context: TableContext, url: str) -> dict[str, str]:
    """Return the headers with which a request for *url* is conditional; none if "not modified" would be of no use."""
    from email.utils import format_datetime

    (page,) = context.counted.read([context.key.encode(url)], ())
    if page is None or not 200 <= page.status < 300 or not _has_body(context, page):
        return {}
    headers = {} if page.etag is None else {"If-None-Match": page.etag}
    # As the server wrote it, if that is known: RFC 9110, section 13.1.3.
    date = page.headers.get("last-modified")
    if date is None and page.last_modified is not None:
        with suppress(OverflowError):  # in the first or the last hours of the calendar
            date = format_datetime(page.last_modified.astimezone(UTC), usegmt=True)
    return headers if date is None else {**headers, "If-Modified-Since": date}


def versions_in(
    context: TableContext, row: Row | None, *, oldest_first: bool = False, last: int | None = None
) -> Iterator[tuple[int, Page | DamagedRow]]:
    """Yield the versions in *row*, each with its date in epoch milliseconds, or the error if it cannot be read.

    Those after the date *last* are left out.
    """
    if row is None:
        return
    names = context.codec.columns
    bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
    links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
    captures = row.cells.get(names.capture, ())
    for capture in reversed(captures) if oldest_first else captures:
        at = capture.timestamp
        if last is not None and at > last:
            continue
        try:
            yield at, context.codec.version(row, capture, bodies.get(at), links.get(at))
        except DamagedRow as exc:
            yield at, exc


def _as_of(context: TableContext, url: str, as_of: datetime, columns: Sequence[str] | None) -> Page | None:
    # By the list of versions, not a time range, in which HBase may also find versions that it is about to remove.
    (row,) = _rows(context, [url], ())
    same: list[tuple[int, Page | DamagedRow]] = []
    for at, version in versions_in(context, row, last=milliseconds(as_of)):
        if same and not _is_repeat(same[-1][1], version):
            break
        same.append((at, version))
    if not same:
        return None
    # The date is that of the first capture with the content, the body that of the last one which has it whole.
    bodies = [at for at, version in same if isinstance(version, Page) and not version.truncated]
    first, at = same[-1], next(iter(bodies), same[0][0])
    wanted = EXTRA_COLUMNS if columns is None else fields_of(columns)
    (row,) = _rows(context, [url], wanted, TimeRange(at, at + 1))
    content = next((version for _, version in versions_in(context, row)), None)
    if content is None or first[0] == at:
        return None if content is None else _readable(content)
    whole, page = _readable(content), _readable(first[1])
    return replace(page, body=whole.body, outlinks=whole.outlinks, size=whole.size, truncated=whole.truncated)


def _is_repeat(newer: Page | DamagedRow, older: Page | DamagedRow) -> bool:
    return isinstance(newer, Page) and isinstance(older, Page) and is_repeat(newer, older)


def _contents(context: TableContext, row: Row | None, columns: Sequence[str]) -> list[tuple[int, Page | DamagedRow]]:
    """Return the versions in *row*, newest first, without those that only renew the one before them."""
    versions: list[tuple[int, Page | DamagedRow]] = []
    for at, version in () if row is None else _with_lost(context, row, columns):
        newer = versions[-1][1] if versions else None
        if isinstance(newer, Page) and isinstance(version, Page) and is_repeat(newer, version):
            # Its content was written again for its time to live: it was first seen under the older date.
            versions.pop()
            version = replace(version, body=version.body or newer.body, outlinks=version.outlinks or newer.outlinks)
        versions.append((at, version))
    return versions


def _rows(
    context: TableContext, urls: Sequence[str], columns: Sequence[str], times: TimeRange | None = None
) -> list[Row | None]:
    """Return the rows of *urls* with their metadata and their versions."""
    names = context.codec.columns
    wanted = [
        names.page,
        names.capture,
        *([names.body] if "body" in columns else []),
        *([names.urls] if "outlinks" in columns else []),
    ]
    context.codec.select(columns)
    versions = context.layouts.recent().versions
    keys = list(map(context.key.encode, urls))
    return context.store.read(context.table, keys, Wanted(wanted, versions=versions, time_range=times))


def _with_lost(context: TableContext, row: Row, columns: Sequence[str]) -> list[tuple[int, Page | DamagedRow]]:
    """Return the versions in *row*; if current content of the page is lost, with the error in its place.

    Whether older versions had a body is not known.
    """
    names, versions = context.codec.columns, list(versions_in(context, row))
    page = context.pages.each(Row(row.key, {names.page: row.cells.get(names.page, ())}))
    if not isinstance(page, Page) or (content_at := page.stored.content_at) is None:
        return versions
    at = milliseconds(content_at)
    own = dict(versions).get(at)
    if isinstance(own, DamagedRow):
        return versions
    html, links = (own.body, own.outlinks) if own else (None, None)
    whole = replace(page, body=html, outlinks=links)
    error = context.pages.lost(row.key, whole, context.codec.contents(context.codec.select(columns)))
    if error is None:
        return versions
    return sorted(
        [*(version for version in versions if version[0] != at), (at, error)], key=itemgetter(0), reverse=True
    )


def _has_body(context: TableContext, page: Page) -> bool:
    ttl = context.layouts.recent().ttl
    content_at = page.stored.content_at
    # A server that answers 304 must find the whole body here, or the crawler has nothing.
    if not page.has_body or content_at is None or page.truncated:
        return False
    return ttl is None or clock.now() - content_at < timedelta(seconds=ttl)


class _Many(Iterator["Page | None"]):
    """The pages of many rows, read in batches: a generator would end when it raises."""

    def __init__(
        self, rows: Iterator[bytes], read: Callable[[Sequence[bytes]], Iterator[Page | DamagedRow | None]]
    ) -> None:
        batches = iter(lambda: list(islice(rows, READ_AT_ONCE)), [])
        self._pages = (page for batch in batches for page in read(batch))

    def __next__(self) -> Page | None:
        page = next(self._pages)
        return None if page is None else _readable(page)

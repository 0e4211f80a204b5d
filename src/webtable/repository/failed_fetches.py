"""Failed fetches: what came instead of a page (no address, no connection, no answer), and when to try again.

They are no captures: a page keeps its content, its validators and its history. One row for each URL is in the table of
the queue, in the order of the URLs, so that those of a site are a range; the date of its cell is that of the failure.
No writer looks at it. A capture that is as new or newer makes it outdated: whoever reads failures compares them with
the dates of their pages, so storing a page costs nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from webtable._checksums import UNREADABLE
from webtable._clock import clock, milliseconds, now_in_milliseconds
from webtable.errors import InvalidArgument
from webtable.page.parts import Time
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing, ListingOption
from webtable.repository.arguments import checked_date, in_utc
from webtable.repository.page_storage.cells import json_of, pack, unpack, written
from webtable.repository.questions.pages import TableQuestion, pieces_of
from webtable.rowkey import KeyRange, canonical_url
from webtable.schema import ENTERED_COLUMN, FAILED_ROW, QUEUE_FAMILY, meta_table, queue_table
from webtable.store import Delete, NewCell, Put, Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope

FAILED = KeyRange(b"failed:", b"failed;")
"""The rows of failed fetches; the key of the page without the salt follows."""
AT_ONCE = 500
"""How many failures are read or written at once."""
MAX_DETAIL = 1_000
_COLUMN = f"{QUEUE_FAMILY}:failed".encode()
_REASON = re.compile(r"[a-z][a-z0-9_-]{0,49}")
_FIRST_WAIT = timedelta(hours=1)
_LONGEST_WAIT = timedelta(days=30)
_LAST_YEAR = datetime.max.year
_MOST_ATTEMPTS = 1_000_000

T = TypeVar("T")
Backoff = Callable[[int], timedelta]
"""Returns how long to wait after so many failed attempts in a row, from 1 on."""


@dataclass(frozen=True, slots=True)
class FailedFetch:
    """The last attempt to fetch `url`, which failed at `failed_at`, after the last capture of it.

    `reason` is one word. The add-on for Scrapy and `webtable crawl` write `dns` (the host has no address), `refused`,
    `timeout`, `tls`, `closed` (the connection ended before the answer), `too_large`, `robots` (forbidden by
    robots.txt), `unsupported` (the scheme) and `other`; a crawler of your own may have others. It was the last of so
    many `attempts` in a row, the first of which was at `failing_since`. The URL should not be fetched again before
    `retry_at`. `detail` is the message of the error, or None.
    """

    url: str
    reason: str
    failed_at: Time
    attempts: int = 1
    failing_since: Time | None = None
    retry_at: Time | None = None
    detail: str | None = None


_decode = msgspec.json.Decoder(FailedFetch).decode


def doubled(attempts: int) -> timedelta:
    """Return how long to wait by default: an hour after the first failure, twice as long each time, 30 days at most.

    >>> str(doubled(1)), str(doubled(3)), str(doubled(1_000))
    ('1:00:00', '4:00:00', '30 days, 0:00:00')
    """
    waited: timedelta = _FIRST_WAIT * 2 ** min(attempts - 1, 10)
    return min(waited, _LONGEST_WAIT)


# --- Storing ----------------------------------------------------------------------------------------------------------


class FailedFetches:
    """The failed fetches of one web table."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        self._store = context.store
        self.table: Final = queue_table(context.table).name

    def is_any(self) -> bool:
        """Whether any failure is stored."""
        return any(self._store.scan(self.table, [FAILED], Wanted(keys_only=True), limit=1))

    def put(self, failure: FailedFetch, backoff: Backoff) -> FailedFetch | None:
        """Store *failure* as the next attempt after those that are stored, and return it so.

        Returns None, and stores nothing, if a capture or a failure of the URL is stored that is as new or newer.
        """
        (stored,) = self._put([checked(failure)], backoff)
        return stored

    def enter(self, failures: Iterable[FailedFetch]) -> int:
        """Store *failures* as they are, as those of another table, and return how many are newer than what is stored.

        Raises what `checked` does before anything is stored of the 500 among which it is.
        """
        rest, count = iter(failures), 0
        while piece := list(islice(rest, AT_ONCE)):
            newest = {failure.url: failure for failure in sorted(map(checked, piece), key=_failed_at)}
            count += sum(failure is not None for failure in self._put(list(newest.values()), None))
        return count

    def _put(self, failures: Sequence[FailedFetch], backoff: Backoff | None) -> list[FailedFetch | None]:
        # In one transaction, where the store has any: of two that fail at once each counts.
        with self._store.transaction():
            self._context.indexes.read()  # raises `NewerFormat`
            pages = self._dates([failure.url for failure in failures])
            stored = self.of([failure.url for failure in failures])
            results: list[FailedFetch | None] = []
            for failure, (page, hidden) in zip(failures, pages, strict=True):
                before = stored.get(failure.url)
                if before is not None and milliseconds(before.failed_at) <= page:
                    before = None
                date = milliseconds(failure.failed_at)
                if date <= max(page, hidden) or (before is not None and failure.failed_at <= before.failed_at):
                    results.append(None)
                else:
                    results.append(failure if backoff is None else _next(failure, before, backoff))
            new = [failure for failure in results if failure is not None]
            packed = pack([json_of(failure) for failure in new])
            puts = [
                Put(self._row(failure.url), [NewCell(_COLUMN, milliseconds(failure.failed_at), value)])
                for failure, value in zip(new, packed, strict=True)
            ]
            if puts:
                self._mark()
                written(self._store, self.table, puts)
        return results

    def _mark(self) -> None:
        """Leave the mark by which questions know that there are failures, in a row that is read with the indexes."""
        if not self._context.indexes.may_have_failed:
            mark = Put(FAILED_ROW, [NewCell(ENTERED_COLUMN, now_in_milliseconds(), b"")])
            written(self._store, meta_table(self._context.table).name, [mark])
            self._context.indexes.may_have_failed = True

    def _dates(self, urls: Sequence[str]) -> list[tuple[int, int]]:
        """Return for each of *urls* the dates of its newest capture and of its last delete, in epoch milliseconds.

        They are -1 where there is none.
        """
        context, names = self._context, self._context.codec.columns
        columns = [names.page, names.deleted]
        rows = context.read([context.key.encode(url) for url in urls], Wanted(columns))
        return [(-1, -1) if row is None else (_date(row, names.page), _date(row, names.deleted)) for row in rows]

    # --- Reading ------------------------------------------------------------------------------------------------------

    def of(self, urls: Iterable[str]) -> dict[str, FailedFetch]:
        """Return the stored failures of *urls*, which are canonical, by URL; outdated ones are among them."""
        rows = self._store.read(self.table, [self._row(url) for url in urls], Wanted([_COLUMN]))
        return {failure.url: failure for row in rows if row is not None and (failure := failure_in(row)) is not None}

    def waiting(self, captures: Iterable[tuple[str, datetime | None]]) -> set[str]:
        """Return the URLs that should not be fetched yet, of URLs with the dates of their newest captures."""
        fetched, now = dict(captures), clock.now()
        return {
            url
            for url, failure in self.of(fetched).items()
            if failure.retry_at is not None and failure.retry_at > now and _is_newer(failure, fetched[url])
        }

    def current(self, keys: KeyRange, after: bytes | None = None) -> Iterator[FailedFetch]:
        """Yield the failures of pages with these unsalted *keys*, after a place, that no capture has outdated."""
        stored = rows_of(keys)
        ranges = [stored if after is None else stored.after(FAILED.start + after)]
        rows = self._store.scan(self.table, ranges, Wanted([_COLUMN]))
        failures = (failure for row in rows if (failure := failure_in(row)) is not None)
        while piece := list(islice(failures, AT_ONCE)):
            dates = self._dates([failure.url for failure in piece])
            for failure, (page, _) in zip(piece, dates, strict=True):
                if milliseconds(failure.failed_at) > page:
                    yield failure

    def in_scope(self, scope: Scope, after: bytes | None = None) -> Iterator[FailedFetch]:
        """Yield the `current` failures of *scope* after a place."""
        contains = scope.contains()
        for failure in self.current(scope.unsalted(), after):
            if contains is None or contains(self.key(failure.url)):
                yield failure

    # --- Removing -----------------------------------------------------------------------------------------------------

    def remove(self, keys: Sequence[bytes], until: int) -> None:
        """Remove the failures of the pages with these unsalted *keys* up to a moment, in epoch milliseconds."""
        if self.is_any():  # one call: most tables have none
            written(self._store, self.table, [Delete(FAILED.start + key, until) for key in keys])

    def remove_all(self, scope: Scope) -> None:
        """Remove the failures of all pages of *scope*."""
        contains = scope.contains()
        rows = self._store.scan(self.table, [rows_of(scope.unsalted())], Wanted([_COLUMN]))
        rows = (row for row in rows if contains is None or contains(row.key[len(FAILED.start) :]))
        while piece := list(islice(rows, AT_ONCE)):
            written(self._store, self.table, [Delete(row.key, row.cells[_COLUMN][0].timestamp) for row in piece])

    def key(self, url: str) -> bytes:
        """Return the unsalted key of the page *url*."""
        return self._context.key.unsalted(self._context.key.encode(url))

    def _row(self, url: str) -> bytes:
        return FAILED.start + self.key(url)


def rows_of(keys: KeyRange) -> KeyRange:
    """Return the rows of the failures of pages with these unsalted *keys*."""
    return FAILED.inside(KeyRange(FAILED.start + keys.start, keys.stop and FAILED.start + keys.stop))


def checked(failure: FailedFetch) -> FailedFetch:
    """Return *failure* with the canonical form of its URL, its dates to the millisecond, and a detail of 1,000 letters.

    Raises `InvalidURL`, `InvalidArgument` for a reason that is no single word, and `InvalidCapture` or `FutureCapture`
    for its dates.
    """
    url, now = canonical_url(failure.url), clock.now()
    if not isinstance(failure.reason, str) or not _REASON.fullmatch(failure.reason):
        raise InvalidArgument(
            f"reason={failure.reason!r} must be a word of at most 50 of a-z, 0-9, _ and -, as in 'timeout'; "
            "detail= takes the message of the error"
        )
    failed_at = checked_date(url, "failed_at", failure.failed_at, now)
    since = failure.failing_since or failed_at
    return replace(
        failure,
        url=url,
        failed_at=failed_at,
        attempts=max(1, min(failure.attempts, _MOST_ATTEMPTS)),
        retry_at=None if failure.retry_at is None else in_utc(url, "retry_at", failure.retry_at),
        failing_since=min(failed_at, checked_date(url, "failing_since", since, now)),
        detail=None if failure.detail is None else failure.detail[:MAX_DETAIL],
    )


def _next(failure: FailedFetch, before: FailedFetch | None, backoff: Backoff) -> FailedFetch:
    """Return *failure* as the attempt after *before*, with the time of the next one."""
    attempts = 1 if before is None else before.attempts + 1
    since = failure.failed_at if before is None else before.failing_since
    try:
        retry_at = failure.failed_at + backoff(attempts)
    except OverflowError:  # after the last year of the calendar: never
        retry_at = failure.failed_at.replace(year=_LAST_YEAR)
    return replace(failure, attempts=attempts, failing_since=since, retry_at=retry_at)


def failure_in(row: Row) -> FailedFetch | None:
    """Return the failure in a *row* of `FAILED`, None if it cannot be read."""
    value = row.value(_COLUMN)
    try:
        return None if value is None else _decode(unpack(value))
    except UNREADABLE:
        return None


def _date(row: Row, column: bytes) -> int:
    cells = row.cells.get(column)
    return cells[0].timestamp if cells else -1


def _is_newer(failure: FailedFetch, fetched_at: datetime | None) -> bool:
    return fetched_at is None or failure.failed_at > fetched_at


def _failed_at(failure: FailedFetch) -> datetime:
    return failure.failed_at


def put_failed(
    context: TableContext, url: str, reason: str, at: datetime | None, detail: str | None, backoff: Backoff | None
) -> FailedFetch | None:
    """Store that fetching *url* failed, as `WebTable.put_failed` does."""
    failure = FailedFetch(url, reason, clock.now() if at is None else at, detail=detail)
    return FailedFetches(context).put(failure, doubled if backoff is None else backoff)


# --- The question for them --------------------------------------------------------------------------------------------


FAILURES = declared(
    FailedFetch,
    "failed fetch",
    column("url", "url"),
    column("reason", "text"),
    column("failed_at", "time", heading="failed"),
    column("attempts", "count"),
    column("failing_since", "time", heading="since"),
    column("retry_at", "time", heading="next"),
    column("detail", "text"),
    listed=("url", "reason", "failed_at", "attempts", "retry_at"),
)
FAILED_LISTING = Listing(
    "failed",
    FAILURES,
    orders=("url",),
    options=(
        SITE,
        ListingOption("reason", "Only those that failed for this reason.", metavar="WORD"),
        ListingOption("due", "Only those that may be fetched again now.", "flag"),
    ),
    examples=(
        "webtable failed example.com",
        "webtable failed all --reason dns --columns url,failing_since,detail",
        "webtable failed all --due --columns url --format csv",
    ),
    help="""List the URLs whose last fetch failed, so that there was no answer: the reason, and the time of the next.

    Pages keep their content. A 404 is a page, which `errors` lists. The next capture of a URL removes it here.
    """,
)


class FailedQuestion(TableQuestion[FailedFetch]):
    """Of which URLs of a scope the last fetch failed."""

    listing = FAILED_LISTING

    def __init__(self, context: TableContext, scope: Scope, window: Window, reason: str | None, *, due: bool) -> None:
        super().__init__(context, scope, window)
        self.reason = reason
        self.due = due
        self.title: str = (
            "failed fetches"
            + (f" of {scope}" if scope.place is not None else "")
            + (f" by {reason}" if reason else "")
            + (" that are due" if due else "")
        )
        self._failures = FailedFetches(context)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[FailedFetch]:
        del expected, damage  # what cannot be read stays out: the next attempt replaces it
        part, now = self.context.keys_of(self.context.table), clock.now()
        for failure in self._failures.in_scope(self.scope, after):
            if (
                self.context.key.encode(failure.url) in part
                and (self.reason is None or failure.reason == self.reason)
                and (not self.due or failure.retry_at is None or failure.retry_at <= now)
            ):
                yield failure

    def place(self, result: FailedFetch) -> bytes:
        return self._failures.key(result.url)

    def explain(self) -> Explanation:
        rows = rows_of(self.scope.unsalted())
        return self.plan((_COLUMN,), (rows,), "rows of the queue, compared with the dates of their pages")


def due(
    context: TableContext, results: Iterator[T], expected: int | None, fetch: Callable[[T], tuple[str, datetime | None]]
) -> Iterator[T]:
    """Yield the *results* that may be fetched now: whose last fetch did not fail, or which are due again.

    *fetch* returns the URL of a result, and the date of its newest capture.
    """
    failures = FailedFetches(context)
    context.indexes.recent()
    if not context.indexes.may_have_failed:
        yield from results
        return
    for piece in pieces_of(results, expected, AT_ONCE):
        waiting = failures.waiting(map(fetch, piece))
        yield from (result for result in piece if fetch(result)[0] not in waiting)

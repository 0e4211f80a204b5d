"""The seven indexes of a web table."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from webtable.repository.indexes.index import Index, by_domain, by_term
from webtable.repository.stored.values import JSONValue
from webtable.rowkey.fields.domain import reversed_host
from webtable.rowkey.urls import canonical_or_none
from webtable.rowkey.web import host_and_rest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._page.page import Page

HIGHEST_SIZE = 10**12 - 1
HIGHEST_COUNT = 10**8 - 1
HOST_COUNTS = b"ref:counts"
"""The column of a host's entry that holds how many pages it had when they were counted last."""


class HostCounts(msgspec.Struct, frozen=True):
    """What was counted of a host: the value of `HOST_COUNTS`."""

    pages: int
    bytes: int
    counted_at: datetime


HOST_VALUES = JSONValue(HostCounts)


def time_text(moment: datetime) -> str:
    """Return *moment* as it stands in a term: `YYYYMMDDTHHMMSSmmm`, in UTC.

    >>> time_text(datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC))
    '20260102T030405678'
    """
    if moment.tzinfo is not UTC:
        with suppress(OverflowError):  # in the first or the last hours of the calendar
            moment = moment.astimezone(UTC)
    text = moment.isoformat(timespec="milliseconds")[:23]
    return text.replace("-", "").replace(":", "").replace(".", "")


def modified_at(page: Page) -> datetime | None:
    """Return when *page* was modified: as its server says, else when a capture first brought its content."""
    return page.last_modified or page.changed_at


def handle_of(url: str) -> str:
    """Return the handle of *url*, a canonical URL: the first 16 hexadecimal digits of its MD5.

    >>> handle_of("https://example.com/")
    '182ccedb33a9e03f'
    """
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:16]


def descending(number: int, highest: int) -> str:
    """Return *number* in digits that sort backwards, so that the highest comes first."""
    return str(max(highest - number, 0)).zfill(len(str(highest)))


def status_text(status_code: int) -> str:
    """Return a status code as it stands in a term."""
    return f"{min(max(status_code, 0), 999):03d}"


def _times(page: Page) -> Iterator[tuple[str, str]]:
    yield "fetched", time_text(page.fetched_at)
    if modified := modified_at(page):
        yield "modified", time_text(modified)


def _sizes(page: Page) -> Iterator[str]:
    if page.size is not None:
        yield descending(page.size, HIGHEST_SIZE)


def _links(page: Page) -> Iterator[tuple[str, str]]:
    if page.outlink_count is not None:
        yield "outlinks", descending(0 if page.only_self_links else page.outlink_count, HIGHEST_COUNT)
    if page.link_counts is not None:
        yield "inlinks", descending(page.link_counts.inlinks, HIGHEST_COUNT)


def _handles(page: Page) -> Iterator[str]:
    yield handle_of(page.url)
    if page.redirect_to is not None:
        target = canonical_or_none(page.redirect_to)
        if target is not None and target != page.url:
            yield handle_of(target)


def _statuses(page: Page) -> Iterator[str]:
    yield status_text(page.status_code)


def _hosts(page: Page) -> Iterator[str]:
    # Behind the `/` that ends it in a row key, hosts have the order of their pages, and a subtree is one range.
    yield reversed_host(host_and_rest(page.url)[0]) + "/"


def _digests(page: Page) -> Iterator[str]:
    if page.digest is not None:
        yield page.digest


TIME = Index("time", _times, parts=2)
SIZE = Index("size", _sizes)
LINK = Index("link", _links, parts=2, columns=("link_counts",), keeps_inlinks=True)
URL = Index("url", _handles, sharding=by_term)
STATUS = Index("status", _statuses)
HOST = Index("host", _hosts, sharding=by_domain, names_pages=False, counts_pages=True)
DIGEST = Index("digest", _digests, sharding=by_term)

WEB_INDEXES = {index.name: index for index in (TIME, SIZE, LINK, URL, STATUS, HOST, DIGEST)}
"""The indexes that a web table has unless it is created with others, by their names: the one place that lists them."""

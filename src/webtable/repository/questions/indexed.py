"""Questions that the indexes answer: by time, size, status, handle, content, and by an index of the user's own."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Unpack

from webtable.errors import InvalidArgument, InvalidURL, UnknownIndex
from webtable.page import Page
from webtable.repository.arguments import check_numbers, check_times
from webtable.repository.indexes.index import by_term
from webtable.repository.indexes.web import (
    DIGEST,
    HIGHEST_SIZE,
    SIZE,
    STATUS,
    TIME,
    URL,
    descending,
    handle_of,
    status_text,
    time_text,
)
from webtable.repository.questions.base import PLAIN_KEY, Asked, Asking
from webtable.rowkey import KeyRange, canonical_host, canonical_url, prefix_stop
from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from webtable.repository.results import Pages

SizeClass = Literal["small", "medium", "large", "huge"]
SIZE_CLASSES: dict[SizeClass, tuple[int, int]] = {
    "small": (0, 999),
    "medium": (1_000, 9_999),
    "large": (10_000, 99_999),
    "huge": (100_000, HIGHEST_SIZE),
}
"""The names of ranges of sizes, in bytes, both ends included."""
MAX_HOPS = 20
"""How many redirects `resolve` follows."""

_NEWEST_FIRST = {"newest": True, "oldest": False}
_OLDEST_FIRST = {"oldest": False, "newest": True}
_HANDLE = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a URL leads: the `page` at the end of its redirects, None where that is not stored.

    `hops` are the URLs from the one that was asked for to the last one. `problem` is why there is no end: "loop", "not
    stored" or "too many".
    """

    hops: tuple[str, ...]
    page: Page | None = None
    problem: Literal["loop", "not stored", "too many"] | None = None

    @property
    def url(self) -> str:
        """The last URL."""
        return self.hops[-1]


class IndexQuestions(Asked):
    """The questions that take an index.

    All take the same options (`Asking`), and besides its own orders each has "storage", the fastest. They raise
    `InvalidURL`, `UnknownColumn`, `InvalidToken`, `InvalidArgument`, and when they are asked `IndexNeeded` on a table
    that lacks the index.
    """

    def fetched(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were fetched from *since* on and before *until*, the newest or the `oldest` first."""
        return self._by_time("fetched", since, until, _NEWEST_FIRST, **asking)

    def modified(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were modified from *since* on and before *until*, the newest or the `oldest` first.

        A page was modified when its server says so (`last_modified`), else when a capture first brought its content
        (`changed_at`).
        """
        return self._by_time("modified", since, until, _NEWEST_FIRST, **asking)

    def outdated(
        self,
        *,
        not_fetched_since: datetime | None = None,
        not_modified_since: datetime | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that were not fetched, or not modified, since a moment: what to fetch again, by when.

        One of the two moments must be given.
        """
        if (not_fetched_since is None) == (not_modified_since is None):
            raise InvalidArgument("outdated takes not_fetched_since= or not_modified_since=, one of the two")
        check_times(not_fetched_since=not_fetched_since, not_modified_since=not_modified_since)
        kind = "fetched" if not_modified_since is None else "modified"
        return self._by_time(kind, None, not_fetched_since or not_modified_since, _OLDEST_FIRST, **asking)

    def largest(
        self,
        *,
        size_class: SizeClass | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages by the size of their bodies, the largest first (or the `smallest`).

        *min_size* and *max_size* are in bytes and included; a *size_class* is a name for both: small (below 1,000),
        medium (below 10,000), large (below 100,000) or huge.
        """
        if size_class is not None:
            if size_class not in SIZE_CLASSES or min_size is not None or max_size is not None:
                raise InvalidArgument(
                    f"size_class={size_class!r} must be one of {', '.join(SIZE_CLASSES)}, and stands without min_size "
                    "and max_size"
                )
            min_size, max_size = SIZE_CLASSES[size_class]
        check_numbers(min_size=min_size, max_size=max_size)
        low, high = min_size or 0, HIGHEST_SIZE if max_size is None else max_size
        if not 0 <= low <= high:
            raise InvalidArgument(f"min_size={min_size} and max_size={max_size} leave no size in between")
        question = f"pages of {low:,} to {high:,} bytes" if low or max_size is not None else "pages by size"
        first, last = (SIZE.term(descending(min(size, HIGHEST_SIZE), HIGHEST_SIZE)) for size in (high, low))
        places = KeyRange(first, prefix_stop(last))
        return self._by_index(question, SIZE, lambda: [places], {"largest": False, "smallest": True}, **asking)

    def with_status(
        self,
        status: int,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages whose last capture has this *status* code, in the order of their URLs."""
        if type(status) is not int or not 0 <= status <= 999:
            raise InvalidArgument(f"status={status!r} must be a status code, from 0 to 999")
        places = STATUS.range_of(status_text(status))
        if (domain := asking.get("domain")) is not None:
            # Pages with one status are in the order of their URLs: those of a domain are a range.
            (inside,) = PLAIN_KEY.subtree_ranges(canonical_host(domain))
            places = KeyRange(places.start + inside.start, places.start + inside.stop)
        return self._by_index(
            f"pages with status {status}", STATUS, lambda: [places], {"url": False}, within=True, **asking
        )

    def errors(
        self,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages whose last capture has a status of 400 or above, by the status and then by URL."""
        return self._by_status("pages with an error", (400, 999), **asking)

    def redirects(
        self,
        *,
        to: str | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that redirect: with a status of 300 to 399 but 304, by the status and then by URL.

        With *to* only those that lead to that URL directly, whatever their status, by URL (by the url index).

        """
        if to is None:
            return self._by_status("redirects", (300, 303), (305, 399), **asking)
        target = canonical_url(to)
        return self._with_handle(
            f"redirects to {target}", handle_of(target), lambda page: _target(page) == target, **asking
        )

    def by_handle(self, handle: str, *, columns: Sequence[str] | None = None) -> Page | None:
        """Return the page whose URL has this *handle* (`webtable.handle_of`), or None where none is stored.

        A URL that redirects has a handle of its own, and is found with its `redirect_to`; see `resolve`. Raises
        `InvalidArgument` for what is no handle, `UnknownColumn`, `IndexNeeded`, `DamagedRow`.
        """
        if not isinstance(handle, str) or not _HANDLE.fullmatch(handle):
            raise InvalidArgument(f"handle={handle!r} must be 16 hexadecimal digits, as handle_of gives them")
        found = self._with_handle(
            f"the page {handle}", handle, lambda page: handle_of(page.url) == handle, columns=columns, limit=1
        )
        page = next(iter(found), None)
        if page is None and found.damaged:
            raise found.damaged[0]
        return page

    def resolve(self, url: str) -> Resolution:
        """Return where *url* leads, by the redirects that are stored; *url* may be a handle too.

        A page that does not redirect is its own end. Raises `InvalidURL`, `DamagedRow`.
        """
        page: Page | None
        if isinstance(url, str) and _HANDLE.fullmatch(url):
            page = self.by_handle(url)
            hops = [url if page is None else page.url]
        else:
            hops = [canonical_url(url)]
            page = self._at(hops[0])
        while page is not None and (target := _target(page)) is not None:
            if target in hops:
                return Resolution((*hops, target), None, "loop")
            if len(hops) > MAX_HOPS:
                return Resolution(tuple(hops), None, "too many")
            hops.append(target)
            page = self._at(target)
        return Resolution(tuple(hops), page, "not stored" if page is None else None)

    def duplicates(
        self,
        url: str,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the other pages that have the very content (the digest) of *url*, in the order of their URLs.

        None come where *url* is not stored, or has no body. Raises `DamagedRow` where its own row cannot be read.
        """
        own = canonical_url(url)

        def digest() -> str:
            page = self._at(own)
            return (page and page.digest) or ""

        return self._by_index(
            f"pages with the content of {own}",
            DIGEST,
            lambda: [DIGEST.range_of(digest())],
            {"url": False},
            shard_of=lambda: DIGEST.term(digest()),
            only=lambda page: page.url != own,
            **asking,
        )

    def indexed(
        self,
        index: str,
        term: str | tuple[str, ...] | None = None,
        **asking: Unpack[Asking],
    ) -> Pages:
        """Return the pages that the index named *index*, one of the table's own, has for *term*, or for all terms.

        They come in the order of their terms, by code points and part by part, then of their URLs ("de" before "de-AT"
        before "deu"), or in the order "reverse"; one with several terms comes once, by the first of them. In an index
        of one's own that was added by an earlier version "de" comes behind what it is the beginning of, as in "de-AT";
        dropped and added again, it is in order. Raises `UnknownIndex`.
        """
        chosen = self.indexes.named(index).index
        if not chosen.names_pages:
            raise UnknownIndex(f"the index {index!r} does not name pages: ask for hosts()")
        places = KeyRange() if term is None else chosen.range_of(term)
        raw = b"" if term is None else chosen.term(term)
        is_together = term is not None and chosen.sharding is by_term
        said = "all terms" if term is None else repr(term)
        return self._by_index(
            f"pages with {said} in the index {index}",
            chosen,
            lambda: [places],
            {"term": False, "reverse": True},
            shard_of=(lambda: raw) if is_together else None,
            **asking,
        )

    def _by_time(
        self,
        kind: str,
        since: datetime | None,
        until: datetime | None,
        orders: dict[str, bool],
        **asking: Unpack[Asking],
    ) -> Pages:
        check_times(since=since, until=until)
        prefix = f"{kind}_".encode()
        # Places are whole milliseconds: both bounds are the first of them that is not before the moment.
        first, last = (None if moment is None else time_text(_next_millisecond(moment)) for moment in (since, until))
        start = prefix + first.encode() if first else prefix
        stop = prefix + last.encode() if last else prefix_stop(prefix)
        question = f"pages {kind}" + (f" from {first}" if first else "") + (f" before {last}" if last else "")
        return self._by_index(question, TIME, lambda: [KeyRange(start, stop)], orders, **asking)

    def _by_status(self, question: str, *statuses: tuple[int, int], **asking: Unpack[Asking]) -> Pages:
        """Return the pages whose status is from the first to the second of one of *statuses*, which are in order."""
        places = [
            KeyRange(status_text(low).encode(), prefix_stop(status_text(high).encode())) for low, high in statuses
        ]
        return self._by_index(question, STATUS, lambda: places, {"status": False}, **asking)

    def _with_handle(self, question: str, handle: str, only: Callable[[Page], bool], **asking: Unpack[Asking]) -> Pages:
        return self._by_index(
            question,
            URL,
            lambda: [URL.range_of(handle)],
            {"url": False},
            shard_of=lambda: URL.term(handle),
            only=only,
            **asking,
        )

    def _at(self, url: str) -> Page | None:
        try:
            row = self.key.encode(url)
        except InvalidURL:
            return None
        return self._reader.read([row], ())[0]


def _target(page: Page) -> str | None:
    """Return where *page* redirects to, as a canonical URL."""
    return None if page.redirect_to is None else canonical_or_none(page.redirect_to)


def _next_millisecond(moment: datetime) -> datetime:
    with suppress(OverflowError):  # at the end of the calendar
        return moment + timedelta(microseconds=-moment.microsecond % 1_000)
    return moment

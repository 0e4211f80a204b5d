"""Questions about one page: what it is now, what it was, what changed, and how to ask its server whether it did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.repository.codec import EXTRA_COLUMNS, milliseconds
from webtable.repository.difference import Difference, difference
from webtable.repository.questions.base import Asked, check_times
from webtable.store import TimeRange
from webtable.store.deadline import Deadline, until

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.page import Page
    from webtable.store import Row

READ_AT_ONCE = 64


class VersionQuestions(Asked):
    """The questions about one page."""

    def get(
        self, url: str, *, as_of: datetime | None = None, columns: Sequence[str] | None = None
    ) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None where it is not stored.

        With *as_of* the page as it was at that moment: the newest capture up to it, or of a page that was fetched again
        since then the content that it had (its title, status, type, headers, body and links), as far as it is kept.
        *columns* names what is wanted instead; `html` and `outlinks` are read only where they are named.
        Raises `InvalidURL`, `UnknownColumn`, `InvalidArgument`.
        """
        with until(Deadline(self.store.timeout)):
            return self._get(url, as_of, columns)

    def _get(self, url: str, as_of: datetime | None, columns: Sequence[str] | None) -> Page | None:
        if as_of is None:
            (page,) = self.get_many([url], columns=columns)
            return page
        check_times(as_of=as_of)
        (newest,) = self.get_many([url], columns=columns)
        if newest is None or newest.fetched_at <= as_of:
            return newest
        # By the list of versions, and not by a time range: in one HBase may find versions that are to be removed.
        known = (version for version in self._versions(url, (), None) if version.fetched_at <= as_of)
        if (version := next(known, None)) is None:
            return None
        at = milliseconds(version.fetched_at)
        wanted = EXTRA_COLUMNS if columns is None else columns
        return next(self._versions(url, wanted, TimeRange(at, at + 1)), None)

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Yield for each of *urls*, in their order, what `get` returns; read in batches, lazily."""
        wanted = ("html", "outlinks") if columns is None else tuple(columns)
        self._codec.select(wanted)
        keys = map(self.key.encode, urls)
        while batch := list(islice(keys, READ_AT_ONCE)):
            yield from self._reader.each(batch, wanted)

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> list[Page]:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies and links are read where *columns* names `html` or `outlinks`. Empty where the URL is not stored. Raises
        `InvalidURL` and `UnknownColumn`.
        """
        versions: list[Page] = []
        for version in self._versions(url, columns or (), None):
            if versions and _same_content(versions[-1], version):
                # Content that was only renewed: it was first seen under the older date.
                newer = versions.pop()
                version = replace(version, html=version.html or newer.html, outlinks=version.outlinks or newer.outlinks)
            versions.append(version)
        return versions

    def diff(self, url: str, old: datetime | None = None, new: datetime | None = None) -> Difference | None:
        """Return what changed between two versions of *url*: in its title, status, headers, text and links.

        They are those at the moments *old* and *new*; by default the newest one and the one before it. None where one
        of them is not stored. Raises `InvalidURL`, `InvalidArgument`.
        """
        check_times(since=old, until=new)
        versions = self.history(url, columns=EXTRA_COLUMNS)
        after = versions if new is None else [one for one in versions if one.fetched_at <= new]
        before = after[1:] if old is None else [one for one in versions if one.fetched_at <= old]
        return difference(before[0], after[0]) if before and after else None

    def validators(self, url: str) -> dict[str, str]:
        """Return the headers that ask the server of *url* to answer only if it has other content than what is stored.

        `If-None-Match` and `If-Modified-Since`, as far as the server gave an ETag and a date. Empty where the answer
        "not modified" would be of no use: the URL is not stored, its last capture is an error or a redirect, or its
        body is not there (any more). Raises `InvalidURL`.
        """
        (page,) = self._reader.read([self.key.encode(url)], ())
        if page is None or not 200 <= page.status_code < 300 or not self._has_body(page):
            return {}
        headers = {} if page.etag is None else {"If-None-Match": page.etag}
        # As the server wrote it, where it is known: RFC 9110, section 13.1.3.
        date = page.headers.get("last-modified")
        if date is None and page.last_modified is not None:
            date = format_datetime(page.last_modified.astimezone(UTC), usegmt=True)
        return headers if date is None else {**headers, "If-Modified-Since": date}

    def _has_body(self, page: Page) -> bool:
        ttl = self.layout.ttl
        if not page.has_body or page.content_at is None or page.truncated:
            return False
        return ttl is None or datetime.now(UTC) - page.content_at < timedelta(seconds=ttl)

    def _versions(self, url: str, columns: Sequence[str], times: TimeRange | None) -> Iterator[Page]:
        names = self._codec.columns
        extra = [column for column in self._codec.select(columns) if column in (names.html, names.urls)]
        (row,) = self.store.read(
            self.table, [self.key.encode(url)], columns=[names.capture, *extra], versions=self.layout.versions,
            time_range=times,
        )  # fmt: skip
        if row is not None:
            yield from self._of(row)

    def _of(self, row: Row) -> Iterator[Page]:
        names = self._codec.columns
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.html, ())}
        links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
        for capture in row.cells.get(names.capture, ()):
            yield self._codec.version(row, capture, bodies.get(capture.timestamp), links.get(capture.timestamp))


def _same_content(one: Page, other: Page) -> bool:
    return one.digest is not None and (one.digest, one.status_code) == (other.digest, other.status_code)

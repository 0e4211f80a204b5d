"""Questions about one page: what it is now, what it was, what changed, and how to ask its server whether it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import DamagedRow
from webtable.page import Page
from webtable.repository.arguments import check_times
from webtable.repository.codec import EXTRA_COLUMNS, column_names
from webtable.repository.difference import Difference, difference
from webtable.repository.moments import milliseconds
from webtable.repository.questions.base import Asked
from webtable.store import TimeRange
from webtable.store.deadline import Deadline, until
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webtable.store import Row

READ_AT_ONCE = 64


class VersionQuestions(Asked):
    """The questions about one page."""

    def get(
        self, url: str, *, as_of: datetime | None = None, columns: Sequence[str] | None = None, verify: bool = False
    ) -> Page | None:
        """Return the newest capture of *url*, with its body and links, or None where it is not stored.

        With *as_of* the page as it was at that moment: the newest capture up to it, or of a page that was fetched again
        since then the content that it had (its title, status, type, headers, body and links), as far as it is kept.
        *columns* names what is wanted instead; `html` and `outlinks` are read only where they are named.
        With *verify* its body is compared with its digest and its size as well: without that, a body that was stored
        before bodies had checksums may be another one. Raises `InvalidURL`, `UnknownColumn`, `InvalidArgument`, and
        `DamagedRow` for a page that cannot be read.
        """
        with until(Deadline(self.store.timeout)):
            if as_of is not None:
                check_times(as_of=as_of)
            page = next(self.get_many([url], columns=columns))
            if page is not None and as_of is not None and page.fetched_at > as_of:
                page = self._as_of(url, as_of, columns)
        if verify and page is not None:
            self._reader.check(self.key.encode(url), page)
        return page

    def _as_of(self, url: str, as_of: datetime, columns: Sequence[str] | None) -> Page | None:
        # By the list of versions, and not by a time range: in one HBase may find versions that are to be removed.
        last = milliseconds(as_of)
        at = next((at for at, _ in self._versions(url, (), None) if at <= last), None)
        if at is None:
            return None
        wanted = EXTRA_COLUMNS if columns is None else columns
        _, version = next(self._versions(url, wanted, TimeRange(at, at + 1)), (at, None))
        if isinstance(version, DamagedRow):
            raise version
        return version

    def get_many(self, urls: Iterable[str], *, columns: Sequence[str] | None = None) -> Iterator[Page | None]:
        """Return an iterator that gives for each of *urls*, in their order, what `get` returns; in batches, lazily.

        At a page that cannot be read it raises `DamagedRow`; asked on, it gives those behind it.
        """
        wanted = ("html", "outlinks") if columns is None else column_names(columns)
        self._codec.select(wanted)
        return _Many(map(self.key.encode, urls), lambda rows: self._reader.read_each(rows, wanted))

    def history(self, url: str, *, columns: Sequence[str] | None = None) -> list[Page]:
        """Return the stored versions of *url*, newest first: one for each content, dated when it was first seen.

        Bodies and links are read where *columns* names `html` or `outlinks`. A version has its links as long as its
        body; in a table that keeps links in two versions, as all did once, those before the two newest may have none.
        Empty where the URL is not stored. A version that cannot be read is left out, and counted in `metrics`. Raises
        `InvalidURL` and `UnknownColumn`.
        """
        damage = self._damage()
        return list(damage.sift(version for _, version in self._contents(url, columns or ())))

    def _contents(self, url: str, columns: Sequence[str]) -> list[tuple[int, Page | DamagedRow]]:
        """Return the versions of *url*, newest first, without those that only renew the one before them."""
        versions: list[tuple[int, Page | DamagedRow]] = []
        for at, version in self._versions(url, columns, None):
            newer = versions[-1][1] if versions else None
            if isinstance(newer, Page) and isinstance(version, Page) and _same_content(newer, version):
                # Content that was only renewed: it was first seen under the older date.
                versions.pop()
                version = replace(version, html=version.html or newer.html, outlinks=version.outlinks or newer.outlinks)
            versions.append((at, version))
        return versions

    def diff(self, url: str, old: datetime | None = None, new: datetime | None = None) -> Difference | None:
        """Return what changed between two versions of *url*: in its title, status, headers, text and links.

        They are those at the moments *old* and *new*; by default the newest one and the one before it. None where one
        of them is not stored. Raises `InvalidURL`, `InvalidArgument`, and `DamagedRow` where one cannot be read.
        """
        check_times(since=old, until=new)
        versions = self._contents(url, EXTRA_COLUMNS)
        after = versions if new is None else [one for one in versions if one[0] <= milliseconds(new)]
        before = after[1:] if old is None else [one for one in versions if one[0] <= milliseconds(old)]
        if not before or not after:
            return None
        one, other = before[0][1], after[0][1]
        if isinstance(one, DamagedRow):
            raise one
        if isinstance(other, DamagedRow):
            raise other
        return difference(one, other)

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
            with suppress(OverflowError):  # in the first or the last hours of the calendar
                date = format_datetime(page.last_modified.astimezone(UTC), usegmt=True)
        return headers if date is None else {**headers, "If-Modified-Since": date}

    def _has_body(self, page: Page) -> bool:
        ttl = self._frame.layouts.recent().ttl
        if not page.has_body or page.content_at is None or page.truncated:
            return False
        return ttl is None or datetime.now(UTC) - page.content_at < timedelta(seconds=ttl)

    def _versions(
        self, url: str, columns: Sequence[str], times: TimeRange | None
    ) -> Iterator[tuple[int, Page | DamagedRow]]:
        names = self._codec.columns
        wanted = [
            names.capture,
            *([names.html] if "html" in columns else []),
            *([names.urls] if "outlinks" in columns else []),
        ]
        self._codec.select(columns)
        versions = self._frame.layouts.recent().versions
        (row,) = self.store.read(
            self.table, [self.key.encode(url)], Wanted(wanted, versions=versions, time_range=times)
        )
        if row is not None:
            yield from self._of(row)

    def _of(self, row: Row) -> Iterator[tuple[int, Page | DamagedRow]]:
        """Yield the versions in *row*, each with its date in epoch milliseconds, or why it cannot be read."""
        names = self._codec.columns
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.html, ())}
        links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
        for capture in row.cells.get(names.capture, ()):
            at = capture.timestamp
            try:
                yield at, self._codec.version(row, capture, bodies.get(at), links.get(at))
            except DamagedRow as exc:
                yield at, exc


class _Many(Iterator["Page | None"]):
    """The pages of many rows, read in batches: a generator would be at its end where it raises."""

    def __init__(
        self, rows: Iterator[bytes], read: Callable[[Sequence[bytes]], Iterator[Page | DamagedRow | None]]
    ) -> None:
        batches = iter(lambda: list(islice(rows, READ_AT_ONCE)), [])
        self._found = (found for batch in batches for found in read(batch))

    def __next__(self) -> Page | None:
        found = next(self._found)
        if isinstance(found, DamagedRow):
            raise found
        return found


def _same_content(one: Page, other: Page) -> bool:
    brought = [(page.digest, page.status_code, page.redirect_to) for page in (one, other)]
    return one.digest is not None and brought[0] == brought[1]

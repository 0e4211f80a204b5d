"""The reader of rows as pages, each with its own content."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import milliseconds
from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.page_storage.cells import together
from webtable.repository.page_storage.codec import PageCodec, check_body
from webtable.repository.page_storage.state import DAMAGED_CAPTURE, NEWEST, NOTHING, KeyedPage, Stored, Version
from webtable.store import Cell, Row, Store, TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from webtable.repository.page_storage.layouts import Limits, Refreshed


# A page never has the content of another capture: body and links are those under its `content_at`. A late capture may
# have put others on top, which a reader that asks for the newest cells gets first.
class PageReader:
    """Reads pages from one table; those without counts of links get counts of 0 according to the mark *refreshed*."""

    def __init__(
        self, store: Store, table: str, codec: PageCodec, limits: Limits, refreshed: Refreshed | None = None
    ) -> None:
        self._store = store
        self._table = table
        self._codec = codec
        self._limits = limits
        self._refreshed = refreshed

    def read(self, rows: Sequence[bytes], columns: Sequence[str]) -> list[Page | None]:
        """Return the page of each of *rows*, or None; *columns* are those of `PageCodec.select`.

        Raises `DamagedRow` for the first row that cannot be read.
        """
        wanted, content = self._codec.selection(tuple(columns))
        stored = self._store.read(self._table, rows, wanted)
        return [row and self._counted(self.page(row, content), columns) for row in stored]

    def read_each(
        self,
        rows: Sequence[bytes],
        columns: Sequence[str],
        *,
        weights: Sequence[int] | None = None,
        verify: bool = False,
    ) -> Iterator[Page | DamagedRow | None]:
        """Yield the same as `read`, with an error in place of each page that cannot be read.

        Bodies and links are read for as many rows at once as take 8 MiB; *weights* are their sizes in bytes, if known.
        With *verify* bodies that do not match their digests are errors too.
        """
        wanted, content = self._codec.selection(tuple(columns))
        # The sizes are in the metadata. Without knowing them, 64 bodies of 10 MB would be in memory at once.
        if weights is not None:
            pieces = together(zip(rows, weights, strict=True))
            stored: Iterable[Row | None] = chain.from_iterable(
                self._store.read(self._table, piece, wanted) for piece in pieces
            )
        elif len(rows) == 1 or not content:
            stored = self._store.read(self._table, rows, wanted)
        else:
            stored = self._with_contents(rows, wanted.columns or (), content)
        for row in stored:
            page = row and self.each(row, content, verify=verify)
            yield self._counted(page, columns) if isinstance(page, Page) else page

    def _counted(self, page: Page | None, columns: Sequence[str]) -> Page | None:
        return page if page is None or self._refreshed is None else self._refreshed.counted(page, columns)

    def _with_contents(
        self, rows: Sequence[bytes], wanted: Sequence[bytes], content: Sequence[bytes]
    ) -> Iterator[Row | None]:
        light = self._store.read(self._table, rows, Wanted([column for column in wanted if column not in content]))
        weight = self._codec.weight(content)
        for piece in together((row, 0 if row is None else weight(row)) for row in light):
            keys = [row.key for row in piece if row is not None]
            contents = iter(self._store.read(self._table, keys, Wanted(content)) if keys else ())
            for row in piece:
                body = next(contents) if row else None
                yield row if row is None or body is None else Row(row.key, {**row.cells, **body.cells})

    def weights(self, rows: Sequence[bytes], columns: Sequence[str]) -> list[int]:
        """Return about how many bytes each of *rows* has in the page columns *columns*; 0 if it is not a page."""
        weight = self._codec.weight(self._codec.select(columns))
        stored = self._store.read(self._table, rows, Wanted([self._codec.columns.page]))
        return [0 if row is None else weight(row) for row in stored]

    def stored(self, rows: Sequence[bytes], versions: int | None = None) -> list[Stored]:
        """Return the state of the page of each of *rows*: its newest capture and its versions, without bodies.

        So many *versions* are read, by default the newest eight.
        """
        if versions is None:
            versions = min(self._limits.layouts.current.versions, NEWEST)
        columns = [self._codec.columns.page, self._codec.columns.deleted, self._codec.columns.capture]
        stored = self._store.read(self._table, rows, Wanted(columns, versions=versions))
        return [NOTHING if row is None else self._codec.stored(row) for row in stored]

    def versions_around(self, row: bytes, moment: datetime, newest: Sequence[Version]) -> Sequence[Version]:
        """Return the *newest* versions of the page of *row*, which are later than *moment*, and those next to that.

        These are the last one up to the moment, and the first one after it.
        """
        low, high = milliseconds(moment) + 1, milliseconds(newest[-1].at)
        following, probe = newest[-1], high
        # No store reads the oldest cells first. So the time between is halved until few enough are in it.
        while low < high:
            between = self._versions(row, low, probe)
            if between:
                following, high = between[-1], milliseconds(between[-1].at)
            elif probe < high:
                low = probe
            if len(between) < NEWEST and (between or probe == high):
                break
            probe = (low + high) // 2 if between else high
        until = self._versions(row, 0, milliseconds(moment) + 1)[:1]
        return [*newest, *([following] if following is not newest[-1] else []), *until]

    def _versions(self, row: bytes, start: int, stop: int) -> Sequence[Version]:
        times = TimeRange(start, stop)
        wanted = Wanted([self._codec.columns.capture], versions=NEWEST, time_range=times)
        (stored,) = self._store.read(self._table, [row], wanted)
        return [] if stored is None else self._codec.versions(stored)

    def links_of(self, pages: Sequence[KeyedPage]) -> list[Sequence[Link]]:
        """Return the stored links of each of *pages*, given with their rows; an empty list if they cannot be read."""
        return [links for links, _ in self.links_and_older(pages)]

    def links_since(self, rows: Sequence[tuple[bytes, int]], versions: int) -> list[Sequence[Link]]:
        """Return all links of the newest *versions* of each of *rows*, given with the timestamp since when.

        Links that cannot be read are skipped.
        """
        urls = self._codec.columns.urls
        wanted = Wanted(self._codec.with_checksums([urls]), versions=versions)
        stored_rows = self._store.read(self._table, [row for row, _ in rows], wanted)
        return [
            [
                link
                for cell in (stored.cells.get(urls, ()) if stored else ())
                if stored and cell.timestamp >= since
                for link in self.links(stored, cell)
            ]
            for stored, (_, since) in zip(stored_rows, rows, strict=True)
        ]

    def link_versions(self, rows: Sequence[bytes]) -> Iterator[Sequence[tuple[datetime, Sequence[Link]]]]:
        """Yield the links of the versions of each of *rows*, with their dates, the newest first.

        Links that cannot be read are skipped with their version.
        """
        urls, captures = self._codec.columns.urls, self._codec.columns.capture
        versions = self._limits.layouts.recent().versions
        for row in rows:
            (stored,) = self._store.read(self._table, [row], Wanted([captures, urls], versions=versions))
            cells = {} if stored is None else {cell.timestamp: cell for cell in stored.cells.get(urls, ())}
            history: list[tuple[datetime, Sequence[Link]]] = []
            for version in [] if stored is None else self._codec.versions(stored):
                cell = cells.get(milliseconds(version.at)) if version.capture.has_links else None
                if stored is not None and version.capture is not DAMAGED_CAPTURE:
                    history.append((version.at, self.links(stored, cell) if cell else ()))
            yield history

    def links_and_older(self, pages: Sequence[KeyedPage]) -> list[tuple[Sequence[Link], Sequence[Link]]]:
        """Return the stored links of each of *pages*, given with their rows, and those of the content before it.

        Those before have the redirect of that content, too. Links that cannot be read are empty lists.
        """
        urls, capture = self._codec.columns.urls, self._codec.columns.capture
        stored_rows = self._store.read(self._table, [row for row, _ in pages], Wanted([urls, capture], versions=2))
        pairs: list[tuple[Sequence[Link], Sequence[Link]]] = []
        for stored, (_, page) in zip(stored_rows, pages, strict=True):
            if stored is None:
                pairs.append(([], []))
                continue
            content_at = page.stored.content_at
            at = 0 if content_at is None else milliseconds(content_at)
            older = {name: [cell for cell in cells if cell.timestamp < at][:1] for name, cells in stored.cells.items()}
            former = [link for cell in older.get(urls, ()) for link in self.links(stored, cell)]
            former += [link for cell in older.get(capture, ()) for link in self._redirect(stored, cell)]
            pairs.append((self._links(stored, page), former))
        return pairs

    def _redirect(self, row: Row, cell: Cell) -> list[Link]:
        with suppress(DamagedRow):
            if target := self._codec.capture(row, cell).capture.redirect_to:
                return [Link(target, kind="redirect")]
        return []

    def links(self, row: Row, cell: Cell) -> Sequence[Link]:
        """Return the links in a cell of *row*, an empty list if it cannot be read."""
        try:
            return self._codec.links(row, cell)
        except DamagedRow:
            return []

    def _links(self, stored: Row, page: Page) -> Sequence[Link]:
        at = (content_at := page.stored.content_at) and milliseconds(content_at)
        for cell in stored.cells.get(self._codec.columns.urls, ()):
            if cell.timestamp == at:
                return self.links(stored, cell)
        try:
            return self.content_of(stored.key, page, with_body=False).outlinks or []
        except DamagedRow:
            return []

    def page(self, row: Row, columns: Collection[bytes] = ()) -> Page | None:
        """Return the page of *row*, or None if it is not a page; raises `DamagedRow`.

        *columns* are the columns of content that were read; if content is lost that the page should have there, that is
        damage too.
        """
        page = self._codec.page(row)
        if page is None:
            return None
        if len(row.cells) > 1 and self._codec.is_stale(page, row):
            page = self._with_own(row.key, page, columns or row.cells)
        return self._complete(row.key, page, columns) if columns and self._codec.lacking(page, columns) else page

    def each(self, row: Row, columns: Collection[bytes] = (), *, verify: bool = False) -> Page | DamagedRow | None:
        """Return the result of `page`, or its error; with *verify* also that of `check`."""
        try:
            page = self.page(row, columns)
            if verify and page is not None:
                self.check(row.key, page)
        except DamagedRow as exc:
            return exc
        return page

    def lost(self, row: bytes, page: Page, columns: Collection[bytes]) -> DamagedRow | None:
        """Return an error if *page* lacks content that it should have in the stored *columns*.

        None if it has the content, if limits or a delete explain its absence, or if the page has other content now.
        """
        try:
            if self._codec.lacking(page, columns):
                self._complete(row, page, columns)
        except DamagedRow as exc:
            return exc
        return None

    def _complete(self, row: bytes, page: Page, columns: Collection[bytes]) -> Page | None:
        """Return *page* with the content that it lacks in *columns*; raises `DamagedRow` if that is lost.

        The page may have been deleted since it was read (None), or have other content now.
        """
        # Looked up twice before it counts as lost, because the page may be written between two reads.
        while (at := page.stored.content_at) is not None and not self._limits.may_have_expired(at):
            page = self._with_own(row, page, columns)
            if not self._codec.lacking(page, columns):
                break
            # Read last: if the page is unchanged now, it was the same when its content was not found.
            (stored,) = self.stored([row], self._limits.layouts.recent().versions)
            if stored.unreadable is not None:
                raise stored.unreadable.error
            if stored.page is None:
                if stored.deleted is None or not stored.deleted.hides(page.fetched_at):
                    raise self._codec.damaged(
                        row, self._codec.columns.page, "it was found by a scan, but not by its row key"
                    )
                return None
            if (stored.page.stored.content_at, stored.page.has_body) == (at, page.has_body):
                self._check_there(row, page, columns, stored)
                break
            page = replace(stored.page, link_counts=page.link_counts)
        return page

    def _check_there(self, row: bytes, page: Page, columns: Collection[bytes], stored: Stored) -> None:
        """Raise `DamagedRow` if nothing explains that *page* lacks content in *columns*."""
        at = page.stored.content_at
        for column in self._codec.lacking(page, columns):
            if at is not None and not self._limits.explain(column, at, stored):
                raise self._codec.damaged(row, column, f"it is lost: the page has one of {at:%Y-%m-%d %H:%M:%S} UTC")

    def _with_own(self, row: bytes, page: Page, columns: Collection[bytes]) -> Page:
        """Return *page* with the content of *columns* from its `content_at`, and no other."""
        with_body, with_links = self._codec.wanted(columns)
        own = self.content_of(row, page, with_body=with_body)
        return replace(page, body=own.body, outlinks=own.outlinks if with_links else None)

    def metadata_of(self, row: Row) -> Page | DamagedRow | None:
        """Return the page of *row* from its metadata alone, whatever else was read of it, or its error."""
        column = self._codec.columns.page
        return self.each(Row(row.key, {column: row.cells.get(column, ())}))

    def page_and_links(self, row: Row) -> tuple[Page | None, Sequence[Link]]:
        """Return the page of *row* (None if there is none or its metadata cannot be read), and its links.

        Without a page they are the links of its newest content; an empty list if they cannot be read.
        """
        page = self.each(row)
        if isinstance(page, DamagedRow):
            page = self.metadata_of(row)
            if isinstance(page, Page):
                return page, self.links_of([(row.key, page)])[0]
        if isinstance(page, Page):
            return page, page.outlinks or ()
        stored = row.cells.get(self._codec.columns.urls)
        return None, self.links(row, stored[0]) if stored else ()

    def contents_of(self, pages: Sequence[KeyedPage]) -> list[Page | DamagedRow]:
        """Return each of *pages*, given with their rows, with the body and the links from its `content_at`.

        Bodies are compared with their digests; a page whose content cannot be read or differs is a `DamagedRow`.
        """
        # All at once, by the newest cells: only pages with late captures need a call of their own.
        columns = self._codec.with_checksums([*self._codec.body_and_links])
        filled: list[Page | DamagedRow] = []
        for piece in together((keyed, keyed[1].size or 0) for keyed in pages):
            stored_rows = self._store.read(self._table, [row for row, _ in piece], Wanted(columns))
            filled += [self._content(stored, row, page) for stored, (row, page) in zip(stored_rows, piece, strict=True)]
        return filled

    def _content(self, stored: Row | None, row: bytes, page: Page) -> Page | DamagedRow:
        try:
            filled = replace(page, body=None, outlinks=None)
            if stored is None or self._codec.is_stale(self._codec.fill(filled, stored), stored):
                filled = self.content_of(row, page)
            self.check(row, filled)
        except DamagedRow as exc:
            return exc
        # This may be the content of an older version, which may have no body.
        return self.lost(row, filled, self._codec.body_and_links) or filled

    def check(self, row: bytes, page: Page) -> None:
        """Raise `DamagedRow` if the body of *page*, if it was read, does not match its digest and size."""
        try:
            if page.body is not None:
                check_body(page.body, page)
        except ValueError as exc:
            raise self._codec.damaged(row, self._codec.columns.body, exc) from exc

    def content_of(self, row: bytes, page: Page, *, with_body: bool = True) -> Page:
        """Return *page* with the body and the links that were stored with its `content_at`; raises `DamagedRow`."""
        content_at = page.stored.content_at
        if content_at is None:
            return page
        timestamp = milliseconds(content_at)
        names = self._codec.columns
        columns = self._codec.with_checksums([*([names.body] if with_body else []), names.urls])
        (stored,) = self._store.read(
            self._table, [row], Wanted(columns, time_range=TimeRange(timestamp, timestamp + 1))
        )
        bare = replace(page, body=None, outlinks=None)
        return self._codec.fill(bare, stored) if stored else bare

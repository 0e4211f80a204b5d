"""The first pass of a copy: pages with all their versions, their entries in indexes, and deletes.

A page that is the same in the target is skipped. A page that is missing there, or outdated, is written as it is stored:
with its dates, its counts and its bodies, which are not compressed again. A page that has other captures in the target
is put capture by capture, like a crawler would, so that each is stored in its place among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from webtable._clock import EPOCH, milliseconds
from webtable.errors import DamagedRow, WebTableError
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.copying.tables import as_kept, covers
from webtable.repository.duplicates.signatures import is_unsigned, sign_pages, with_signature
from webtable.repository.links.inlink_cells import with_self_links
from webtable.repository.maintenance.delete import Deletion
from webtable.repository.page_storage.cells import pack, together
from webtable.repository.page_storage.codec import PackedVersion, check_body
from webtable.repository.page_storage.state import PageWrite, Stored
from webtable.repository.upkeep.updates import Updater
from webtable.repository.writing.batch import BatchWriter
from webtable.repository.writing.capture_checks import checked, hidden
from webtable.repository.writing.plan import BatchPlan, PagePut, PlannedWrite, Prepared
from webtable.store import Put, Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable.repository.copying.tables import Counts, RateLimit, RowPair, TablePair
    from webtable.repository.page_storage.state import Version
    from webtable.store import Cell, NewCell


# --- The content of rows of the source, all versions of pages, converted to cells of the target -----------------------


@dataclass(frozen=True, slots=True)
class Content:
    """The readable versions of a page, newest first, as they are stored, and errors for the others.

    `links` has the links of each version, by its date.
    """

    packed: list[PackedVersion]
    links: dict[int, Sequence[Link]]
    damaged: list[DamagedRow]

    @property
    def bytes(self) -> int:
        """The bytes of the bodies and links, as they are stored."""
        return sum(len(value) for one in self.packed for value in (one.body, one.links) if value is not None)

    def page(self, page: Page) -> Page:
        """Return *page* with its links."""
        links = None if (at := page.stored.content_at) is None else self.links.get(milliseconds(at))
        return page if links is None else replace(page, outlinks=tuple(links))


class ContentReader:
    """Reads the content of rows of the source, and compares each body with its checksum and its digest."""

    def __init__(self, tables: TablePair) -> None:
        self._source = tables.source.codec
        self._target = tables.target.codec
        self._repacks = tables.source.layout.compression != tables.target.layout.compression
        self._compress = tables.target.layout.compression != "none"

    def content(self, row: Row, versions: Sequence[Version]) -> Content:
        """Return the content of *row* in these *versions*, which are to be copied."""
        found = Content([], {}, [])
        wanted = {milliseconds(version.at) for version in versions}
        names = self._source.columns
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
        links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
        for cell in row.cells.get(names.capture, ()):
            if cell.timestamp not in wanted:
                continue
            try:
                self._add(found, row, cell, bodies.get(cell.timestamp), links.get(cell.timestamp))
            except DamagedRow as exc:
                found.damaged.append(exc)
        return found

    def cells(self, row: bytes, content: Content) -> Iterator[NewCell]:
        """Yield the cells of *content* in the *row* of the target."""
        for version in content.packed:
            yield from self._target.copied_cells(row, version)

    def captures(self, row: Row, content: Content, page: Page) -> list[Page]:
        """Return *content* and the *page* of *row* as captures, oldest first, as a crawler has put them."""
        source, names = self._source, self._source.columns
        cells = {cell.timestamp: cell for cell in row.cells[names.capture]} if content.packed else {}
        bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
        captures = [
            replace(
                source.version(row, cells[one.timestamp], None if one.body is None else bodies[one.timestamp]),
                outlinks=None if one.timestamp not in content.links else tuple(content.links[one.timestamp]),
                _content_at=None,
            )
            for one in reversed(content.packed)
        ]
        if not captures or page.fetched_at > captures[-1].fetched_at:
            own = [one for one in captures if one.fetched_at == page.stored.content_at]
            html, links = (own[0].body, own[0].outlinks) if own else (None, None)
            captures.append(with_self_links(replace(page, body=html, outlinks=links)))
        return captures

    def _add(self, found: Content, row: Row, cell: Cell, body: Cell | None, links: Cell | None) -> None:
        version = self._source.capture(row, cell)
        capture = version.capture
        # Another capture of the same millisecond may have left its body or links.
        unpacked = None if body is None or capture.digest is None else self._body(row, body, version)
        known = None if links is None or not capture.has_links else self._source.links(row, links)
        packed = None if unpacked is None or body is None else self._packed(body.value, unpacked)
        packed_links = None if known is None or links is None else self._packed(links.value)
        found.packed.append(PackedVersion(cell.timestamp, capture, packed, packed_links))
        if known is not None:
            found.links[cell.timestamp] = known

    def _packed(self, stored: bytes, unpacked: bytes | None = None) -> bytes:
        """Return a *stored* body or list of links as the target stores it: unchanged, if both compress the same way."""
        if not self._repacks:
            return stored
        (packed,) = pack([self._source.unpacked(stored) if unpacked is None else unpacked], compress=self._compress)
        return packed

    def _body(self, row: Row, cell: Cell, version: Version) -> bytes:
        body = self._source.body(row, cell)
        try:
            check_body(body, version.capture)
        except ValueError as exc:
            raise self._source.damaged(row.key, self._source.columns.body, exc) from exc
        return body


# ----------------------------------------------------------------------------------------------------------------------


class _Copy(NamedTuple):
    """A page to copy: the whole row of the source, the row key in the target, and the state in source and target."""

    row: Row
    target_row: bytes
    there: Stored
    here: Stored
    page: Page
    content: Content


class PageCopier:
    """Copies the pages of one table into another; *with_inlinks* unless their inlinks are copied separately.

    In a *dry_run* everything is decided and counted, and nothing is written.
    """

    def __init__(self, tables: TablePair, counts: Counts, *, with_inlinks: bool, dry_run: bool) -> None:
        self._tables = tables
        self._counts = counts
        self._reader = ContentReader(tables)
        self._with_inlinks = with_inlinks
        self._dry_run = dry_run
        self._updater = Updater(tables.target, with_inlinks=with_inlinks)
        self._batches = BatchWriter(tables.target, None)

    def close(self) -> None:
        """Stop the threads."""
        self._updater.close()
        self._batches.close()

    def run(self, after: bytes, limit: RateLimit) -> Iterator[bytes]:
        """Copy the pages after the row key *after*, and yield the rows up to which they are copied."""
        for piece in self._tables.pieces(after, limit):
            for damaged in piece.damaged:
                self._counts.add_damaged(damaged)
            others = [both for both in piece.rows if self._differs(both)]
            for some in together((both, self._weight(both)) for both in others):
                self._copy(some)
                yield some[-1].row.key
            yield piece.last

    def _differs(self, both: RowPair) -> bool:
        """Whether a row must be copied; counts it as unchanged if not."""
        if not covers(both.here.deleted, both.there.deleted):
            return True
        if both.there.page is None:
            return False
        is_same = self._tables.relation(both.there, both.here) == "same"
        self._counts.add(unchanged=is_same)
        return not is_same

    def _weight(self, both: RowPair) -> int:
        return sum(version.capture.size or 0 for version in both.there.versions)

    def _copy(self, some: Sequence[RowPair]) -> None:
        deleted = [both for both in some if not covers(both.here.deleted, both.there.deleted)]
        for both in deleted:
            self._repeat_delete(both)
        outdated: list[_Copy] = []
        own: list[_Copy] = []
        for one in self._read(some, stale={both.target_row for both in deleted}):
            relation = self._tables.relation(one.there, one.here)
            if relation == "same":
                self._counts.add(unchanged=1)
            else:
                (outdated if relation == "outdated" else own).append(one)
        self._store_outdated(outdated)
        self._merge(own)

    def _repeat_delete(self, both: RowPair) -> None:
        if both.there.deleted is None:
            return
        try:
            if not self._dry_run:
                with closing(Deletion(self._tables.target, with_inlinks=self._with_inlinks)) as deletion:
                    deletion.repeat(both.target_row, both.there.deleted)
        except WebTableError as exc:
            self._counts.add_failed(exc)
        else:
            self._counts.add(deleted=1)

    def _read(self, some: Sequence[RowPair], stale: set[bytes]) -> Iterator[_Copy]:
        """Yield the whole pages of *some* rows that can be copied; those in *stale* rows of the target were deleted.

        They are read again, since captures may have been added after they were compared.
        """
        source, target = self._tables.source, self._tables.target
        names, versions = source.codec.columns, source.layouts.known.versions
        columns = [names.page, names.deleted, names.urls, source.codec.family]
        rows = source.store.read(source.table, [both.row.key for both in some], Wanted(columns, versions=versions))
        renewed = list(stale)
        now: dict[bytes, Stored] = {}
        if self._dry_run:
            now = {both.target_row: _without_deleted(both) for both in some if both.target_row in stale}
        elif stale:
            now = dict(zip(renewed, target.pages.stored(renewed, target.layouts.known.versions), strict=True))
        for both, row in zip(some, rows, strict=True):
            one = row and self._one(row, both.target_row, now.get(both.target_row, both.here))
            if one is not None:
                yield one

    def _one(self, row: Row, target_row: bytes, here: Stored) -> _Copy | None:
        there = self._tables.stored_there(row)
        if there.unreadable is not None:
            self._counts.add_damaged(there.unreadable.error)
        if there.page is None:
            return None
        if (error := hidden(there.page, here)) is not None:
            self._counts.add_failed(error)
            return None
        kept = [version for version in self._tables.kept(there.versions) if not _is_hidden(version.at, here)]
        content = self._reader.content(row, kept)
        page = content.page(as_kept(there) or there.page)
        for damaged in (content.damaged or self._lost(row.key, there, content))[:1]:
            self._counts.add_damaged(damaged)
        return _Copy(row, target_row, there, here, page, content)

    def _lost(self, row: bytes, there: Stored, content: Content) -> list[DamagedRow]:
        """Return an error if the source has lost content that its page should have."""
        page, html = there.page, self._tables.source.codec.columns.body
        dates = {one.timestamp for one in content.packed if one.body is not None}
        if page is None or (at := page.stored.content_at) is None or milliseconds(at) in dates:
            return []
        error = self._tables.source.pages.lost(row, page, [html])
        return [] if error is None else [error]

    def _store_outdated(self, copies: Sequence[_Copy]) -> None:
        """Write pages as they are stored in the source."""
        if not copies:
            return
        indexes = self._tables.target.indexes.read()
        if sign_pages(indexes.values()):
            copies = [self._signed(one) for one in copies]
        puts: list[PagePut] = []
        unwritable: dict[int, WebTableError] = {}
        for at, one in enumerate(copies):
            planned = PlannedWrite(at, one.target_row, PageWrite(one.page), one.here.page)
            try:
                puts.append(PagePut(planned, one.page, Put(one.target_row, self._cells(one))))
            except WebTableError as exc:
                unwritable[at] = exc
        if self._dry_run:
            for at, one in enumerate(copies):
                self._settle(one, unwritable.get(at))
            return
        update = self._updater.prepare([one.change for one in puts], indexes)
        plan = BatchPlan(len(copies), [one.planned for one in puts], [], {})
        batch = [(one.target_row, one.page) for one in copies]
        known = {one.target_row: one.here._replace(versions=one.there.versions) for one in copies}
        outcomes = self._batches.store(Prepared(batch, plan, puts, unwritable, update, known))
        for one, outcome in zip(copies, outcomes, strict=True):
            self._settle(one, outcome.error)

    def _signed(self, one: _Copy) -> _Copy:
        at = one.page.stored.content_at
        if at is None or not is_unsigned(one.page):
            return one
        packed = [version.body for version in one.content.packed if version.timestamp == milliseconds(at)]
        body = self._tables.target.codec.unpacked(packed[0]) if packed and packed[0] is not None else None
        return one._replace(page=with_signature(one.page, body))

    def _cells(self, one: _Copy) -> list[NewCell]:
        codec, row, date = self._tables.target.codec, one.target_row, milliseconds(one.page.fetched_at)
        cells = [*self._reader.cells(row, one.content), *codec.metadata_cells(row, date, one.page, one.here.page)]
        codec.check_sizes(one.page, cells)
        return cells

    def _merge(self, copies: Sequence[_Copy]) -> None:
        """Put the captures of pages of which the target has other captures."""
        for one in copies:
            try:
                is_new = self._put_each(one)
            except WebTableError as exc:
                self._counts.add_failed(exc)
                continue
            if is_new:
                self._settle(one, None)
                self._counts.add(merged=1)
            else:
                self._counts.add(unchanged=1)

    def _put_each(self, one: _Copy) -> bool:
        """Put the captures of a page that the target would keep, and return whether any had new content."""
        layouts = self._tables.target.layouts
        captures = (checked(page, layouts) for page in self._reader.captures(one.row, one.content, one.page))
        versions, most = one.here.versions, layouts.known.versions
        oldest = versions[-1].at if len(versions) >= most else EPOCH
        batch: Sequence[tuple[bytes, Page]] = [(one.target_row, page) for page in captures if page.fetched_at >= oldest]
        is_new = False
        while batch:
            prepared = self._batches.prepare(batch)
            # Of a dry run, captures that make a batch of their own are decided without those of the batch before.
            outcomes = prepared.outcomes(prepared.errors({})) if self._dry_run else self._batches.store(prepared)
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                is_new |= outcome.is_new
            batch = prepared.rest
        return is_new

    def _settle(self, one: _Copy, error: WebTableError | None) -> None:
        if error is not None:
            self._counts.add_failed(error)
            return
        self._counts.add(pages=1, versions=len(one.content.packed), bytes=one.content.bytes)


def _without_deleted(both: RowPair) -> Stored:
    """Return the state of the target once the delete of the source is repeated there."""
    deleted, here = both.there.deleted, both.here
    if deleted is None:
        return here
    page = None if here.page is None or deleted.hides(here.page.fetched_at) else here.page
    versions = [one for one in here.versions if not deleted.hides(one.at)]
    return here._replace(page=page, versions=versions, deleted=deleted)


def _is_hidden(at: datetime, here: Stored) -> bool:
    return here.deleted is not None and here.deleted.hides(at)

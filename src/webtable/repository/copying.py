"""The copy of a web table, from the beginning or from where a call was interrupted, and the check of a copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable import errors
from webtable._clock import EPOCH, clock, milliseconds, moment_of, now_in_milliseconds, possible_moment
from webtable._messages import Command, Words
from webtable.errors import DamagedRow, WebTableError
from webtable.page.page import Page
from webtable.page.parts import Link
from webtable.repository.context import TableContext
from webtable.repository.failed_fetches import FailedFetches
from webtable.repository.journal import Journal
from webtable.repository.links.inlink_cells import PAST, with_self_links
from webtable.repository.maintenance.delete import Deletion
from webtable.repository.page_storage.cells import NARROW, PIECE, pack, together
from webtable.repository.page_storage.codec import PackedVersion, check_body
from webtable.repository.page_storage.state import Deleted, KeyedPage, PageWrite, Stored, Version, brought
from webtable.repository.partitions.processes import PartTask, TableAddress, Whole, check_workers, done_by, parts_of
from webtable.repository.questions.page import versions_in
from webtable.repository.reading.read_ahead import MOST_KEPT
from webtable.repository.upkeep.cells import is_unsigned, sign_pages, with_signature
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import AT_ONCE, OpenRevisits, page_in
from webtable.repository.upkeep.updates import Updater
from webtable.repository.writing.batch import BatchWriter, complete
from webtable.repository.writing.capture_checks import checked, hidden
from webtable.repository.writing.plan import BatchPlan, PagePut, PlannedWrite, Prepared
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import Cell, Delete, NewCell, Put, Row, TimeRange
from webtable.store.rows import ALL_QUALIFIERS, Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from os import PathLike

    from webtable.repository.arguments import Progress
    from webtable.rowkey import KeyRange


# --- What is reported of a copy ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copied:
    """The progress, or the result, of `TableMaintenance.copy`.

    `pages` were written, with `versions` and `bytes` of bodies and links, as they are stored. `unchanged` pages were in
    the target already; `deleted` is the number of deletes that were repeated there. For the `merged` ones of the pages
    the target had other captures, which it keeps. `inlinks` is the number of inlinks that were written.

    `damaged` counts rows of the source with content that cannot be read and was skipped; `examples` has the first 100.
    The target has deleted `hidden` pages after they were fetched, and did not store `failed` pages; `errors` has the
    first 100 reasons. If it `resumed`, this call did not compare the pages that the interrupted one had copied already.
    """

    pages: int = 0
    versions: int = 0
    bytes: int = 0
    unchanged: int = 0
    deleted: int = 0
    merged: int = 0
    inlinks: int = 0
    damaged: int = 0
    hidden: int = 0
    failed: int = 0
    examples: tuple[DamagedRow, ...] = ()
    errors: tuple[WebTableError, ...] = ()
    resumed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing was skipped."""
        return not (self.damaged or self.hidden or self.failed)

    @property
    def looked_at(self) -> int:
        """How many pages were compared."""
        return self.pages + self.unchanged + self.hidden + self.failed


class Counts:
    """The counts of a running copy."""

    def __init__(self) -> None:
        self.resumed = False
        self._counts = Counter[str]()
        self._examples: list[DamagedRow] = []
        self._errors: list[WebTableError] = []

    def add(self, **counts: int) -> None:
        """Add *counts*, which have the names of the fields of `Copied`."""
        self._counts.update(counts)

    def add_part(self, part: Counts) -> None:
        """Add the counts of a *part* of the rows."""
        self._counts.update(part._counts)
        self._examples += part._examples[: MOST_KEPT - len(self._examples)]
        self._errors += part._errors[: MOST_KEPT - len(self._errors)]

    def add_damaged(self, error: DamagedRow) -> None:
        """Count a row of the source that cannot be read."""
        self.add(damaged=1)
        self.add_example(error)

    def add_example(self, error: DamagedRow) -> None:
        """Keep *error*, unless there are many already."""
        if len(self._examples) < MOST_KEPT:
            self._examples.append(error)

    def add_failed(self, error: WebTableError) -> None:
        """Count a page that was not stored; raises *error* if no other page could be stored either."""
        if isinstance(error, errors.StoreUnavailable | errors.SchemaError):
            raise error
        if isinstance(error, errors.HiddenByDelete):
            self.add(hidden=1)
        else:
            self.add(failed=1)
        if len(self._errors) < MOST_KEPT:
            self._errors.append(error)

    def copied(self) -> Copied:
        """Return the present counts."""
        return Copied(**self.fields())

    def fields(self) -> dict[str, Any]:
        """Return the present values of the fields of `Copied`."""
        collected = {"examples": tuple(self._examples), "errors": tuple(self._errors)}
        return {**self._counts, **collected, "resumed": self.resumed}


# --- The two tables ---------------------------------------------------------------------------------------------------


class RateLimit:
    """Limits the caller to *rate* rows a second; with None there is no limit."""

    def __init__(self, rate: float | None) -> None:
        if rate is not None and not (isinstance(rate, int | float) and 0 < rate < float("inf")):
            raise errors.InvalidArgument(f"rate={rate!r} must be a number of pages a second above 0")
        self._rate = rate
        self._next = 0.0

    def at_once(self, limit: int) -> int:
        """The number of rows to read at once: those of one second, but at most *limit*."""
        return limit if self._rate is None else max(1, min(limit, int(self._rate)))

    def wait(self, count: int) -> None:
        """Wait as long as *count* rows take at this rate, counted from the end of the last wait."""
        if self._rate is None:
            return
        now = clock.monotonic()
        # Unused time is not made up for, since that would cause a burst.
        self._next = max(self._next, now - count / self._rate) + count / self._rate
        clock.sleep(max(0.0, self._next - now))


ROWS_AT_ONCE = 256
"""How many rows of both tables are compared at once."""

Relation = Literal["same", "outdated", "own"]
"""The relation of a page in the target to that in the source: the same, an earlier state, or with captures of its own.

A page that is missing in the target is outdated.
"""


class RowPair(NamedTuple):
    """A row of the source, its key in the target, and the state of the page in the source (`there`) and here."""

    row: Row
    target_row: bytes
    there: Stored
    here: Stored

    @property
    def weight(self) -> int:
        """About how many bytes of bodies the page has in the source."""
        return sum(version.capture.size or 0 for version in self.there.versions)


class ComparedRows(NamedTuple):
    """Some rows of the source, up to the row key `last`, and errors for those that cannot be copied."""

    last: bytes
    rows: list[RowPair]
    damaged: list[DamagedRow]


# A copy walks the rows of the source in order and compares what both sides store: metadata, captures and deletes, no
# bodies. So one mechanism serves the first copy, a repeated one, one that goes on after a kill, and one that follows a
# table in use; a journal only saves comparisons.
@dataclass(frozen=True, slots=True)
class TablePair:
    """The *source* of a copy, and its *target*. State in the source is named `there`, in the target `here`."""

    source: TableContext
    target: TableContext

    @property
    def keep_inlinks(self) -> bool:
        """Whether both tables store inlinks."""
        sides = (side.indexes.read().values() for side in (self.source, self.target))
        return all(any(index.keeps_inlinks for index in indexes) for indexes in sides)

    @property
    def _light(self) -> list[bytes]:
        """The columns of the source with the state of a page, without its body and its links."""
        names = self.source.codec.columns
        return [names.page, names.deleted, names.capture]

    def stored_there(self, row: Row) -> Stored:
        """Return the state of the page in *row* of the source, without reading its body, which may be damaged."""
        light = {column: row.cells[column] for column in self._light if column in row.cells}
        return self.source.codec.stored(Row(row.key, light))

    def pieces(self, after: bytes, limit: RateLimit) -> Iterator[ComparedRows]:
        """Yield the rows of the source after the row key *after* that are pages or deleted pages, some at once."""
        wanted = Wanted(self._light, versions=self.source.layouts.recent().versions)
        scanned = self.source.scan(wanted, after=after)
        while rows := list(islice(scanned, limit.at_once(ROWS_AT_ONCE))):
            yield self._piece(rows)
            limit.wait(len(rows))

    def _piece(self, rows: Sequence[Row]) -> ComparedRows:
        damaged: list[DamagedRow] = []
        readable: list[tuple[Row, bytes, Stored]] = []
        for row in rows:
            key, there = self.target_row(row.key), self.source.codec.stored(row)
            if isinstance(key, DamagedRow):
                damaged.append(key)
            elif there.unreadable is not None:
                damaged.append(there.unreadable.error)
            else:
                readable.append((row, key, there))
        keys = [key for _, key, _ in readable]
        stored = self.target.pages.stored(keys, self.target.layouts.recent().versions)
        pairs = [RowPair(*of_source, here) for of_source, here in zip(readable, stored, strict=True)]
        return ComparedRows(rows[-1].key, pairs, damaged)

    def target_row(self, row: bytes) -> bytes | DamagedRow:
        """Return the row key in the target for the *row* of the source, or an error if there is none."""
        try:
            return self.target.key.encode(self.source.key.url_of(row))
        except ValueError as exc:
            return DamagedRow(row, None, f"its row key is not that of a URL: {exc}")

    def kept(self, versions: Sequence[Version]) -> list[Version]:
        """The *versions* of a page in the source, newest first, that the target keeps."""
        layout, now = self.target.layout, clock.now()
        return [version for version in versions[: layout.versions] if not _is_past(version.at, layout.ttl, now)]

    def relation(self, there: Stored, here: Stored) -> Relation:
        """Return the relation of the state *here*, in the target, to the state *there*, in the source."""
        if here.unreadable is not None:
            is_older = there.page is not None and not here.unreadable.hides(there.page)
            return "outdated" if is_older else "own"
        kept, other = _comparable(self.kept(there.versions)), _comparable(here.versions)
        if _unsigned(here.page) == _unsigned(as_kept(there)) and other[: len(kept)] == kept:
            return "same"
        if here.page is None or there.page is None:
            return "outdated" if not other else "own"
        if here.page.fetched_at > there.page.fetched_at:
            return "own"
        brought_there = set(map(_brought, there.versions))
        others = (version.at for version in here.versions if _brought(version) not in brought_there)
        return "outdated" if all(self._is_gone(there, at) for at in others) else "own"

    def _is_gone(self, there: Stored, at: datetime) -> bool:
        """Whether the source would no longer keep a version of that moment."""
        layout, versions = self.source.layout, there.versions
        is_full = len(versions) >= layout.versions
        return (is_full and at < versions[-1].at) or _is_past(at, layout.ttl, clock.now())


def as_kept(there: Stored) -> Page | None:
    """Return the page of the source as it is copied: without a body if the version with the body is gone.

    In the source its limits may explain the missing version; in the target nothing would.
    """
    page = there.page
    if page is None or not page.has_body or any(version.at == page.stored.content_at for version in there.versions):
        return page
    return replace(page, has_body=False)


def _unsigned(page: Page | None) -> Page | None:
    """Return *page* without its signature, which a table has or not as it has the index for that."""
    return page and replace(page, _similarity=None)


def covers(here: Deleted | None, there: Deleted | None) -> bool:
    """Whether the delete *here* hides everything that the delete *there* hides."""
    return there is None or (
        here is not None and here.until >= there.until and all(here.hides(moment) for moment in there.also)
    )


def _is_past(at: datetime, ttl: int | None, now: datetime) -> bool:
    return ttl is not None and at <= now - timedelta(seconds=ttl)


def _comparable(versions: Sequence[Version]) -> list[object]:
    return [(at, replace(capture, body_crc32=None, links_crc32=None)) for at, capture in versions]


def _brought(version: Version) -> tuple[object, ...]:
    return version.at, *brought(version.capture)


# --- Pages ------------------------------------------------------------------------------------------------------------
#
# The first pass copies pages with all their versions, their entries in indexes, and deletes.
#
# A page that is the same in the target is skipped. A page that is missing there, or outdated, is written as it is
# stored: with its dates, its counts and its bodies, which are not compressed again. A page that has other captures in
# the target is put capture by capture, like a crawler would, so that each is stored in its place among them.


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
        return sum(
            len(value) for version in self.packed for value in (version.body, version.links) if value is not None
        )

    def page(self, page: Page) -> Page:
        """Return *page* with its links."""
        links = None if (at := page.stored.content_at) is None else self.links.get(milliseconds(at))
        return page if links is None else replace(page, outlinks=tuple(links))


# JSON is written again, because its checksums begin with the row key; bodies are frames that hold in any row.
class ContentReader:
    """Reads the content of rows of the source, and compares each body with its checksum and its digest."""

    def __init__(self, tables: TablePair) -> None:
        self._source = tables.source.codec
        self._repacks = tables.source.layout.compression != tables.target.layout.compression
        self._compress = tables.target.layout.compression != "none"

    def content(self, row: Row, versions: Sequence[Version]) -> Content:
        """Return the content of *row* in these *versions*, which are to be copied."""
        content = Content([], {}, [])
        wanted, names = {milliseconds(version.at) for version in versions}, self._source.columns
        bodies, links = _by_date(row, names.body), _by_date(row, names.urls)
        for at, cell in _by_date(row, names.capture).items():
            if at in wanted:
                try:
                    self._add(content, row, cell, bodies.get(at), links.get(at))
                except DamagedRow as exc:
                    content.damaged.append(exc)
        return content

    def captures(self, row: Row, content: Content, page: Page) -> list[Page]:
        """Return *content* and the *page* of *row* as captures, oldest first, as a crawler has put them."""
        names, captures = self._source.columns, list[Page]()
        cells, bodies = _by_date(row, names.capture), _by_date(row, names.body)
        for at, _, body, _ in reversed(content.packed):
            version = self._source.version(row, cells[at], None if body is None else bodies[at])
            links = tuple(content.links[at]) if at in content.links else None
            captures.append(replace(version, outlinks=links, _content_at=None))
        if not captures or page.fetched_at > captures[-1].fetched_at:
            own = [version for version in captures if version.fetched_at == page.stored.content_at]
            html, links = (own[0].body, own[0].outlinks) if own else (None, None)
            captures.append(with_self_links(replace(page, body=html, outlinks=links)))
        return captures

    def _add(self, content: Content, row: Row, cell: Cell, body: Cell | None, links: Cell | None) -> None:
        version = self._source.capture(row, cell)
        capture = version.capture
        # Another capture of the same millisecond may have left its body or links.
        body, links = body if capture.digest is not None else None, links if capture.has_links else None
        # Each is read even where it is copied as it is: damage must not be.
        unpacked = None if body is None else self._body(row, body, version)
        packed = None if unpacked is None or body is None else self._packed(body.value, unpacked)
        if links is not None:
            content.links[cell.timestamp] = self._source.links(row, links)
        packed_links = None if links is None else self._packed(links.value)
        content.packed.append(PackedVersion(cell.timestamp, capture, packed, packed_links))

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


def _by_date(row: Row, column: bytes) -> dict[int, Cell]:
    return {cell.timestamp: cell for cell in row.cells.get(column, ())}


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
            others = [pair for pair in piece.rows if self._differs(pair)]
            for piece_pairs in together((pair, pair.weight) for pair in others):
                self._copy(piece_pairs)
                yield piece_pairs[-1].row.key
            yield piece.last

    def _differs(self, pair: RowPair) -> bool:
        """Whether a row must be copied; counts it as unchanged if not."""
        if not covers(pair.here.deleted, pair.there.deleted):
            return True
        if pair.there.page is None:
            return False
        is_same = self._tables.relation(pair.there, pair.here) == "same"
        self._counts.add(unchanged=is_same)
        return not is_same

    def _copy(self, pairs: Sequence[RowPair]) -> None:
        deleted = [pair for pair in pairs if not covers(pair.here.deleted, pair.there.deleted)]
        for pair in deleted:
            self._repeat_delete(pair)
        outdated: list[_Copy] = []
        own: list[_Copy] = []
        for copy in self._read(pairs, stale={pair.target_row for pair in deleted}):
            relation = self._tables.relation(copy.there, copy.here)
            if relation == "same":
                self._counts.add(unchanged=1)
            else:
                (outdated if relation == "outdated" else own).append(copy)
        self._store_outdated(outdated)
        self._merge(own)

    def _repeat_delete(self, pair: RowPair) -> None:
        if pair.there.deleted is None:
            return
        try:
            if not self._dry_run:
                with closing(Deletion(self._tables.target, with_inlinks=self._with_inlinks)) as deletion:
                    deletion.repeat(pair.target_row, pair.there.deleted)
        except WebTableError as exc:
            self._counts.add_failed(exc)
        else:
            self._counts.add(deleted=1)

    def _read(self, pairs: Sequence[RowPair], stale: set[bytes]) -> Iterator[_Copy]:
        """Yield the whole pages of *pairs* that can be copied; those in *stale* rows of the target were deleted.

        They are read again, since captures may have been added after they were compared.
        """
        source, target = self._tables.source, self._tables.target
        names, versions = source.codec.columns, source.layout.versions
        columns = [names.page, names.deleted, names.urls, source.codec.family]
        rows = source.read([pair.row.key for pair in pairs], Wanted(columns, versions=versions))
        renewed = list(stale)
        now: dict[bytes, Stored] = {}
        if self._dry_run:
            now = {pair.target_row: _without_deleted(pair) for pair in pairs if pair.target_row in stale}
        elif stale:
            now = dict(zip(renewed, target.pages.stored(renewed, target.layout.versions), strict=True))
        for pair, row in zip(pairs, rows, strict=True):
            copy = row and self._one(row, pair.target_row, now.get(pair.target_row, pair.here))
            if copy is not None:
                yield copy

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
        dates = {version.timestamp for version in content.packed if version.body is not None}
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
            copies = [self._signed(copy) for copy in copies]
        puts: list[PagePut] = []
        unwritable: dict[int, WebTableError] = {}
        for at, copy in enumerate(copies):
            planned = PlannedWrite(at, copy.target_row, PageWrite(copy.page), copy.here.page)
            try:
                puts.append(PagePut(planned, copy.page, Put(copy.target_row, self._cells(copy))))
            except WebTableError as exc:
                unwritable[at] = exc
        if self._dry_run:
            for at, copy in enumerate(copies):
                self._settle(copy, unwritable.get(at))
            return
        update = self._updater.prepare([put.change for put in puts], indexes)
        plan = BatchPlan(len(copies), [put.planned for put in puts], [], {})
        batch = [(copy.target_row, copy.page) for copy in copies]
        states = {copy.target_row: copy.here._replace(versions=copy.there.versions) for copy in copies}
        outcomes = self._batches.store(Prepared(batch, plan, puts, unwritable, update, states))
        for copy, outcome in zip(copies, outcomes, strict=True):
            self._settle(copy, outcome.error)

    def _signed(self, copy: _Copy) -> _Copy:
        at = copy.page.stored.content_at
        if at is None or not is_unsigned(copy.page):
            return copy
        packed = [version.body for version in copy.content.packed if version.timestamp == milliseconds(at)]
        body = self._tables.target.codec.unpacked(packed[0]) if packed and packed[0] is not None else None
        return copy._replace(page=with_signature(copy.page, body))

    def _cells(self, copy: _Copy) -> list[NewCell]:
        codec, row = self._tables.target.codec, copy.target_row
        content = (cell for version in copy.content.packed for cell in codec.version_cells(row, version))
        cells = [*content, *codec.metadata_cells(row, copy.page, copy.here.page)]
        codec.check_sizes(copy.page, cells)
        return cells

    def _merge(self, copies: Sequence[_Copy]) -> None:
        """Put the captures of pages of which the target has other captures."""
        for copy in copies:
            try:
                is_new = self._put_each(copy)
            except WebTableError as exc:
                self._counts.add_failed(exc)
                continue
            if is_new:
                self._settle(copy, None)
                self._counts.add(merged=1)
            else:
                self._counts.add(unchanged=1)

    def _put_each(self, copy: _Copy) -> bool:
        """Put the captures of a page that the target would keep, and return whether any had new content."""
        layouts = self._tables.target.layouts
        captures = (checked(page, layouts) for page in self._reader.captures(copy.row, copy.content, copy.page))
        versions, limit = copy.here.versions, layouts.current.versions
        oldest = versions[-1].at if len(versions) >= limit else EPOCH
        batch: Sequence[KeyedPage] = [(copy.target_row, page) for page in captures if page.fetched_at >= oldest]
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

    def _settle(self, copy: _Copy, error: WebTableError | None) -> None:
        if error is not None:
            self._counts.add_failed(error)
            return
        self._counts.add(pages=1, versions=len(copy.content.packed), bytes=copy.content.bytes)


def _without_deleted(pair: RowPair) -> Stored:
    """Return the state of the target once the delete of the source is repeated there."""
    deleted, here = pair.there.deleted, pair.here
    if deleted is None:
        return here
    page = None if here.page is None or deleted.hides(here.page.fetched_at) else here.page
    versions = [version for version in here.versions if not deleted.hides(version.at)]
    return here._replace(page=page, versions=versions, deleted=deleted)


def _is_hidden(at: datetime, here: Stored) -> bool:
    return here.deleted is not None and here.deleted.hides(at)


# --- Inlinks ----------------------------------------------------------------------------------------------------------
#
# The second pass reads the inlinks of both tables side by side.


class RowInlinks(NamedTuple):
    """Inlinks of a row in the source (`there`) and in the target (`here`), by qualifier.

    `are_all` is False if the row may have more.
    """

    row: bytes
    target_row: bytes
    there: dict[bytes, Cell]
    here: dict[bytes, Cell]
    are_all: bool


class InlinkPairs:
    """Reads the inlinks of two tables side by side; those of the target have values only *with_values*."""

    def __init__(self, tables: TablePair, *, with_values: bool = False) -> None:
        self._tables = tables
        self._with_values = with_values
        self._there = tables.source.codec.columns.inlinks.encode()
        self._here = tables.target.codec.columns.inlinks.encode()

    def pieces(self, after: bytes, limit: RateLimit) -> Iterator[tuple[bytes, Iterator[list[RowInlinks]]]]:
        """Yield the inlinks of the rows after the row key *after*, some rows at once, with the last of these rows."""
        source = self._tables.source
        scanned = source.scan(Wanted([self._there + b":"], keys_only=True), after=after)
        while rows := [row.key for row in islice(scanned, limit.at_once(ROWS_AT_ONCE))]:
            yield rows[-1], self._some(rows)
            limit.wait(len(rows))

    def _some(self, rows: Sequence[bytes]) -> Iterator[list[RowInlinks]]:
        """Yield the inlinks of *rows*: first some of each row, then the rest of rows with many, in pieces."""
        # A row without a key in the target was reported in the first pass.
        keys = {row: key for row in rows if not isinstance(key := self._tables.target_row(row), DamagedRow)}
        yield (few := self._piece(keys, ALL_QUALIFIERS, NARROW))
        for inlinks in few:
            there = inlinks.there
            limit = NARROW
            while len(there) >= limit:
                limit = PIECE
                (piece,) = self._piece({inlinks.row: inlinks.target_row}, ALL_QUALIFIERS.after(max(there)), limit)
                there = piece.there
                yield [piece]

    def _piece(self, keys: dict[bytes, bytes], qualifiers: KeyRange, limit: int) -> list[RowInlinks]:
        source, target = self._tables.source, self._tables.target
        source_cells = source.store.read_cells(source.table, list(keys), self._there, qualifiers, limit=limit)
        target_cells = target.store.read_cells(
            target.table, list(keys.values()), self._here, qualifiers, limit=limit, keys_only=not self._with_values
        )
        return [
            RowInlinks(
                row,
                keys[row],
                {column[len(self._there) + 1 :]: cell for column, cell in there},
                {column[len(self._here) + 1 :]: cell for column, cell in here},
                qualifiers == ALL_QUALIFIERS and len(there) < limit and len(here) < limit,
            )
            for row, there, here in zip(keys, source_cells, target_cells, strict=True)
        ]

    def exactly(self, inlinks: RowInlinks, qualifiers: Sequence[bytes]) -> list[dict[bytes, Cell]]:
        """Return the cells of a row with these *qualifiers*, in the source and in the target."""
        sides = (
            (self._tables.source, inlinks.row, self._there),
            (self._tables.target, inlinks.target_row, self._here),
        )
        cells = []
        for side, key, family in sides:
            columns = {family + b":" + qualifier: qualifier for qualifier in qualifiers}
            (row,) = side.read([key], Wanted(list(columns)))
            cells.append({columns[column]: versions[0] for column, versions in row.cells.items()} if row else {})
        return cells


# As cells: made from the links of pages they would lose since when each has been there, and former links.
class InlinkCopier:
    """Copies the inlinks of one table into another, if both store them; in a *dry_run* they are only counted."""

    def __init__(self, tables: TablePair, counts: Counts, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._tables = tables
        self._counts = counts
        # If a row has more inlinks in the target, some are written again unnecessarily, which changes nothing.
        self._both = InlinkPairs(tables)
        self._queue = RecountQueue(tables.target.store, tables.target.table)
        self._here = tables.target.codec.columns.inlinks.encode()

    def run(self, after: bytes, limit: RateLimit) -> Iterator[bytes]:
        """Copy the inlinks after the row key *after*, and yield the rows up to which they are copied."""
        for last, pieces in self._both.pieces(after, limit):
            for inlinks in pieces:
                self._copy(inlinks)
            yield last

    def _copy(self, rows: Sequence[RowInlinks]) -> None:
        changes: list[Put | Delete] = []
        for row in rows:
            changes += self._changes(row)
        if not changes or self._dry_run:
            return
        # First, as before a batch of pages: an unnecessary recount does no harm.
        target = self._tables.target
        with target.store.transaction():
            entered = self._queue.entered({change.row for change in changes})
            self._queue.write([entered])
            target.write(changes)
            self._queue.write([self._queue.done(entered)])

    def _changes(self, row: RowInlinks) -> Iterator[Put | Delete]:
        """Yield the changes that make the inlinks of the target equal to those of the source."""
        new = [
            NewCell(self._column(qualifier), cell.timestamp, cell.value)
            for qualifier, cell in row.there.items()
            if qualifier not in row.here or row.here[qualifier].timestamp < cell.timestamp
        ]
        self._counts.add(inlinks=len(new))
        if new:
            yield Put(row.target_row, new)
        past = {qualifier.removeprefix(PAST): cell for qualifier, cell in row.there.items() if qualifier[:1] == PAST}
        if past and row.here:
            there, here = (row.there, row.here) if row.are_all else self._both.exactly(row, list(past))
            for qualifier in past.keys() & here.keys() - there.keys():
                if here[qualifier].timestamp <= past[qualifier].timestamp:
                    yield Delete(row.target_row, here[qualifier].timestamp, [self._column(qualifier)])

    def _column(self, qualifier: bytes) -> bytes:
        return self._here + b":" + qualifier


# --- The copy as a whole ----------------------------------------------------------------------------------------------


Step = Literal["pages", "inlinks"]


class CopyPlace(msgspec.Struct, frozen=True):
    """A place in a copy: everything up to `row` in this step, and in the steps before it, is copied."""

    step: Step = "pages"
    row: bytes = b""


class CopyPlaces(msgspec.Struct):
    """The places that the copies into a table have reached, by the name of the source: the content of a journal."""

    of: dict[str, CopyPlace] = {}


def copy(
    source: TableContext,
    target: TableContext,
    resume: str | PathLike[str] | None,
    rate: float | None,
    on_copied: Callable[[Copied], object] | None,
    *,
    dry_run: bool = False,
    workers: int = 1,
) -> Copied:
    """Copy the pages and inlinks of *source* into *target*, as `TableMaintenance.copy` promises."""
    check_workers(source, workers)
    check_workers(target, workers)
    if dry_run and resume is not None:
        raise errors.InvalidArgument("resume= and dry_run=True exclude each other: a dry run compares all pages")
    RateLimit(rate)  # raises for what is none
    tables, counts = TablePair(source, target), Counts()
    check_apart(source, target)
    check_kept(source, target.layouts.recent().ttl, target.name)
    with Journal(resume, f"copy to {target.name}", CopyPlaces, seconds=0).alone("copy") as journal:
        walk = partial(_copied, tables, counts, rate, dry_run=dry_run, workers=workers)
        walked(journal, source.name, target, walk, counts, on_copied)
    return counts.copied()


def walked(
    journal: Journal[CopyPlaces],
    source: str,
    target: TableContext,
    walk: Callable[[CopyPlace], Generator[CopyPlace]],
    counts: Counts,
    on_copied: Callable[[Any], object] | None,
) -> None:
    """Do the *walk* over the table *source* from the place in the *journal*, and keep there the places that it yields.

    *on_copied* is called with the *counts* at each of them.
    """
    places = journal.begun() or CopyPlaces()
    began = places.of.get(source, CopyPlace())
    if began.row and not target.pages_up_to(1):
        began = CopyPlace()  # the target was created again
    counts.resumed = bool(began.row)
    try:
        with closing(walk(began)) as reached:
            for place in reached:
                places.of[source] = place
                if journal.is_due():
                    journal.keep(places)
                if on_copied is not None:
                    on_copied(counts.copied())
        places.of.pop(source, None)
    finally:  # also after an interrupt, from which the next call goes on
        if places.of:
            journal.keep(places)
        else:
            journal.end()


def _copied(
    tables: TablePair, counts: Counts, rate: float | None, began: CopyPlace, *, dry_run: bool, workers: int
) -> Generator[CopyPlace]:
    """Copy everything after the place *began*, and yield the places reached."""
    # Inlinks second, as deletes and merged pages of the first pass change some.
    steps: list[Step] = ["pages", "inlinks"] if tables.keep_inlinks else ["pages"]
    for step in steps[began.step == "inlinks" :]:
        after = began.row if step == began.step else b""
        if workers > 1:
            rows = _copied_by(workers, tables, counts, step, after, rate, dry_run=dry_run)
        else:
            rows = _copied_rows(tables, counts, step, after, RateLimit(rate), dry_run=dry_run)
        with closing(rows):
            for last in rows:
                yield CopyPlace(step, last)
    if not dry_run:
        _copy_revisits(tables)
        FailedFetches(tables.target).enter(FailedFetches(tables.source).current(ALL_KEYS))


def _copy_revisits(tables: TablePair) -> None:
    """Copy the open revisits; those whose originals the target has are completed there."""
    source, target = (OpenRevisits(side.store, side.table, side.key) for side in (tables.source, tables.target))
    rows = source.rows([ALL_KEYS])
    with closing(BatchWriter(tables.target, None, is_completing=True)) as writer:
        while piece := list(islice(rows, AT_ONCE)):
            pages = [page for page in map(page_in, piece) if page is not None]
            target.enter(pages)
            complete(target, writer, pages, [])


def _copied_rows(
    tables: TablePair, counts: Counts, step: Step, after: bytes, limit: RateLimit, *, dry_run: bool
) -> Generator[bytes]:
    """Do this *step* for the rows after the row *after*, and yield the rows reached."""
    if step == "inlinks":
        yield from InlinkCopier(tables, counts, dry_run=dry_run).run(after, limit)
        return
    copier = PageCopier(tables, counts, with_inlinks=not tables.keep_inlinks, dry_run=dry_run)
    with closing(copier) as pages:
        yield from pages.run(after, limit)


def _copied_by(
    workers: int, tables: TablePair, counts: Counts, step: Step, after: bytes, rate: float | None, *, dry_run: bool
) -> Generator[bytes]:
    """Do as `_copied_rows`, a part of the source at once, by *workers*."""
    target, each = TableAddress.of(tables.target, with_indexes=True), None if rate is None else rate / workers
    parts = parts_of(tables.source, Whole.of_rows(tables.source, [ALL_KEYS.after(after)]), workers)
    tasks = [PartTask(_copy_part, part, (target, step, after, each, dry_run)) for part in parts]
    with done_by(workers, tables.source, tasks) as copied:
        for part, last in copied:
            counts.add_part(part)
            after = max(after, last)
            yield after


def _copy_part(
    source: TableContext, target: TableAddress, step: Step, after: bytes, rate: float | None, dry_run: bool
) -> tuple[Counts, bytes]:
    """Do a *step* for a part of the source, and return the counts and the last row; a worker calls it."""
    counts = Counts()
    with target.opened(None) as opened:
        for last in _copied_rows(TablePair(source, opened), counts, step, after, RateLimit(rate), dry_run=dry_run):
            after = last
    return counts, after


def check_apart(source: TableContext, target: TableContext) -> None:
    """Raise `InvalidArgument` if both are the same table."""
    same_store = source.store is target.store or _place(source.store.name) == _place(target.store.name)
    if same_store and source.table == target.table:
        raise errors.InvalidArgument(f"target={target.name!r} is the source itself: name another table")


def _place(name: str) -> str:
    url = StoreURL.parse(name)
    return str(Path(url.rest).resolve()) if url.is_path else name


def check_kept(source: TableContext, ttl: int | None, name: str) -> None:
    """Raise `ExpiredCapture` if the table *name*, which keeps content *ttl* seconds, would drop content of *source*.

    Content that is about to expire in the source as well does not count.
    """
    # Before anything is written: a copy that drops old content silently would be no copy.
    kept = source.layouts.recent().ttl
    if ttl is None or (kept is not None and kept <= ttl):
        return
    column = source.codec.columns.capture
    past = TimeRange(0, now_in_milliseconds() - ttl * 1000 + 1)
    old = next(source.scan(Wanted([column], time_range=past), limit=1), None)
    if old is not None:
        url = source.codec.damaged(old.key, column, "").url or source.name
        raise too_old(url, old.cells[column][0].timestamp, ttl, name)


def too_old(what: str, timestamp: int, ttl: int, name: str) -> errors.ExpiredCapture:
    """Return the error for a capture of *what*, which the table *name* would drop after *ttl* seconds."""
    return errors.ExpiredCapture(
        f"{what}: a capture of {possible_moment(timestamp):%Y-%m-%d} is older than the {ttl / 86400:g} days for which "
        f"{name} keeps content: let it keep content longer (",
        Words("a new table with ttl=None", "webtable copy --ttl none for a new table"),
        ", else ",
        Command("alter --ttl none", python="table.maintenance.alter(ttl=None)"),
        "). Nothing was written",
    )


# --- The check of a copy ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """The comparison of a source and its copy: `pages` of the source, and `versions` of them, were compared.

    A full comparison includes the `links` to pages. `missing` pages are not in the copy, `different` ones have other
    dates, digests or bodies there, or are outdated; `deleted` ones are still in the copy, but were deleted in the
    source. `examples` has the first 100 URLs of these. `own` pages have other captures in the copy besides, `extra`
    pages are only in the copy, and `damaged` ones cannot be read in the source.
    """

    pages: int
    versions: int
    missing: int
    different: int
    deleted: int
    own: int
    extra: int
    damaged: int
    links: int = 0
    examples: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the copy has everything that can be read in the source."""
        return not (self.missing or self.different or self.deleted)


class _Check:
    """A comparison of two tables under way: the counts of a `CopyCheck`, and how many pages the target has `there`."""

    def __init__(self, tables: TablePair) -> None:
        self._tables = tables
        self._examples: list[str] = []
        self.counts = Counter[str]()

    def _add(self, what: str, row: bytes) -> None:
        """Count a page as *what*, the kind of its difference, and keep its URL if there are few."""
        self.counts[what] += 1
        if len(self._examples) < MOST_KEPT:
            self._examples.append(self._tables.source.key.url_of(row))

    def compare(self, pair: RowPair) -> bool:
        """Count a row, and return whether it seems to be the same, without comparing bodies."""
        there, here = pair.there, pair.here
        self.counts["there"] += here.page is not None
        if there.page is None:
            if here.page is not None and there.deleted is not None and there.deleted.hides(here.page.fetched_at):
                self._add("deleted", pair.row.key)
            return False
        self.counts.update(pages=1, versions=len(there.versions))
        relation = self._tables.relation(there, here)
        if relation == "own":
            self.counts["own"] += 1
        elif relation == "outdated" or not covers(here.deleted, there.deleted):
            self._add("missing" if here.page is None else "different", pair.row.key)
        return relation == "same"

    def compare_bodies(self, pairs: Sequence[RowPair]) -> None:
        """Compare all versions of pages that seem to be the same, with their bodies and links."""
        source, target = self._tables.source, self._tables.target
        rows = _in_full(source, [pair.row.key for pair in pairs])
        copies = _in_full(target, [pair.target_row for pair in pairs])
        for pair, row, copied in zip(pairs, rows, copies, strict=True):
            there = dict(versions_in(source, row))
            here = dict(versions_in(target, copied))
            kept = {moment for moment, _ in self._tables.kept(pair.there.versions)}
            if any(isinstance(version, DamagedRow) for version in there.values()):
                self.counts["damaged"] += 1
            elif any(here.get(at) != version for at, version in there.items() if moment_of(at) in kept):
                self._add("different", pair.row.key)

    def compare_links(self) -> None:
        """Compare the inlinks of all rows."""
        added = b""
        for row, links, differs in differing_rows(self._tables):
            self.counts["links"] += links
            if differs and row != added:  # a row with many links comes several times
                self._add("different", row)
                added = row

    def result(self) -> CopyCheck:
        """Return the counts; those pages of the target that no page of the source met are `extra`."""
        self.counts["extra"] = self._tables.target.pages_up_to(None) - self.counts["there"]
        counts = {name: self.counts[name] for name in CopyCheck.__slots__ if name != "examples"}
        return CopyCheck(**counts, examples=tuple(self._examples))


def check_copy(source: TableContext, target: TableContext, on_progress: Progress | None, *, full: bool) -> CopyCheck:
    """Compare the two tables, as `TableMaintenance.check_copy` promises."""
    tables = TablePair(source, target)
    check = _Check(tables)
    source.layouts.recent()
    for piece in tables.pieces(b"", RateLimit(None)):
        check.counts["damaged"] += len(piece.damaged)
        same = [pair for pair in piece.rows if check.compare(pair)]
        # Of both tables, so twice the bytes.
        for pairs in together((pair, 2 * pair.weight) for pair in same) if full else ():
            check.compare_bodies(pairs)
        if on_progress is not None:
            on_progress(check.counts["pages"])
    if full and tables.keep_inlinks:
        check.compare_links()
    return check.result()


def _in_full(side: TableContext, rows: Sequence[bytes]) -> list[Row | None]:
    columns = [side.codec.columns.urls, side.codec.family]
    return side.read(rows, Wanted(columns, versions=side.layout.versions))


def differing_rows(tables: TablePair) -> Iterator[tuple[bytes, int, bool]]:
    """Yield rows of the source, with how many of their links were compared, and whether one differs.

    Newer links in the target are not differences. Links that the target no longer keeps are not compared.
    """
    pairs, oldest = InlinkPairs(tables, with_values=True), _oldest_kept(tables)
    for _, pieces in pairs.pieces(b"", RateLimit(None)):
        for rows in pieces:
            for row in rows:
                kept = {name: cell for name, cell in row.there.items() if cell.timestamp > oldest}
                yield row.row, len(kept), _differs(pairs, row, kept)


def _oldest_kept(tables: TablePair) -> int:
    """Return the date, in epoch milliseconds, up to which the target no longer keeps links."""
    ttl = tables.target.layout.ttl
    return -1 if ttl is None else now_in_milliseconds() - 2 * ttl * 1000


def _differs(pairs: InlinkPairs, row: RowInlinks, kept: Mapping[bytes, Cell]) -> bool:
    suspects = [name for name, cell in kept.items() if not _is_there(name, cell, row.here)]
    gone = [name.removeprefix(PAST) for name in kept if name.startswith(PAST)]
    # A link that is not in this piece of the other table may be in a later piece.
    names = {*suspects, *map(_other, suspects), *gone, *map(_other, gone)} if suspects or not row.are_all else {*gone}
    if not names:
        return False
    there, here = (row.there, row.here) if row.are_all else pairs.exactly(row, sorted(names))
    return any(not _is_there(name, kept[name], here) for name in suspects) or any(
        name in here and name not in there and here[name].timestamp <= kept[_other(name)].timestamp for name in gone
    )


def _is_there(name: bytes, cell: Cell, here: Mapping[bytes, Cell]) -> bool:
    """Whether *here* has the link, or has a later state of it: a newer link, or its removal."""
    same, other = here.get(name), here.get(_other(name))
    if same is not None and same.timestamp == cell.timestamp:
        return same.value == cell.value
    return any(state is not None and state.timestamp > cell.timestamp for state in (same, other))


def _other(name: bytes) -> bytes:
    """Return the name of a link after it was removed, or for that name the one before."""
    return name.removeprefix(PAST) if name.startswith(PAST) else PAST + name

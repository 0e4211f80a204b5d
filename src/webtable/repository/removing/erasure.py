"""The erasure of a domain from the rows of other pages, and of the rest of its own rows once its pages are deleted.

Other pages have links to the domain, and inlinks from it. An erased link stays as a link to nowhere, so that a page
keeps the number of links that it had when it was fetched. All rows are read: no index has the links of older captures.
The domain's own rows have inlinks from others, and its hosts have entries with counts.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._clock import milliseconds, now_in_milliseconds
from webtable.errors import DamagedRow, InvalidURL
from webtable.page.parts import Link
from webtable.repository.hosts.entries import entries_without_pages
from webtable.repository.indexes.index import HOST, LINK, place_of
from webtable.repository.links.inlink_cells import PAST, inlinks_of
from webtable.repository.links.inlink_counts import entries_of
from webtable.repository.links.links import refresh_links
from webtable.repository.page_storage.cells import later_removed, removed, together, written
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import OpenRevisits, page_in
from webtable.rowkey import KeyRange
from webtable.schema import index_table_name
from webtable.store import Delete, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.store import NewCell, Row

NOWHERE = "about:blank"
"""The target of an erased link."""
ALL_SOURCES = KeyRange()
_PIECE = 500


class Erasure:
    """Erases, and counts, the links of pages in *place* from all rows of *frame* that are not in it.

    *place* is a range of unsalted row keys. Links that cannot be read stay, and are added to *damage*.
    """

    def __init__(self, frame: Frame, place: KeyRange, damage: Damage) -> None:
        self.links: int = 0
        """How many links led to pages in *place*."""
        self.inlinks: int = 0
        """How many inlinks came from pages in *place*, former links included; each page counts once for each row."""
        self._frame = frame
        self._place = place
        self._damage = damage
        self._family = frame.codec.columns.inlinks.encode()
        self._queue = RecountQueue(frame.store, frame.table)

    def of_others(self, *, dry_run: bool) -> None:
        """Erase the links in other rows; with *dry_run* only count them."""
        store, table = self._frame.store, self._frame.table
        if not dry_run:
            self._forget_revisits()
        keys = self._others()
        while some := list(islice(keys, _PIECE)):
            for mutations in (self._without_links(some), self._without_inlinks(some)):
                if not dry_run:
                    removed(store, table, mutations)

    def _forget_revisits(self) -> None:
        """Remove the open revisits of erased pages, by others as well, whose metadata must not name them either."""
        frame, revisits = self._frame, OpenRevisits(self._frame.store, self._frame.table, self._frame.key)
        rows = revisits.rows([KeyRange()])
        while some := list(islice(rows, _PIECE)):
            known = [(row, page) for row in some if (page := page_in(row)) is not None]
            erased = [(row, page) for row, page in known if self._leads_there(page.same_as or page.url)]
            keys = [frame.key.encode(page.url) for _, page in erased]
            found = zip(keys, frame.pages.stored(keys, 1), strict=True)
            puts = [
                Put(
                    key,
                    frame.codec.metadata_cells(
                        key,
                        milliseconds(page.fetched_at),
                        replace(page, same_as=None, _repeats_at=None, _payload_digest=None),
                        page,
                    ),
                )
                for key, (page, *_) in found
                if page is not None and page.same_as is not None and self._leads_there(page.same_as)
            ]
            written(frame.store, frame.table, puts)
            revisits.remove([row for row, page in known if (row, page) in erased or self._leads_there(page.url)])

    def of_its_own(self, domain: str, ranges: Sequence[KeyRange]) -> None:
        """Erase the rest of the domain's own rows, in *ranges*, after its pages, and its hosts without pages.

        Counts of links are removed after the queue was counted: they are needed to find the entries of the link index.
        """
        for rows in self._rows_with(self._family + b":", ranges):
            entered = self._queue.entered(rows)
            self._queue.write([entered])
            removed(self._frame.store, self._frame.table, self._inlinks_of(rows, lambda _: True))
            self._queue.write([self._queue.done(entered)])
        refresh_links(self._frame, None, also_unfinished=False)
        for rows in self._rows_with(self._frame.codec.columns.links, ranges):
            self._forget_counts(rows)
        for entry in entries_without_pages(self._frame, domain):
            if place_of(entry.key) in self._place:
                self._forget_host(entry)

    def _rows_with(self, column: bytes, ranges: Sequence[KeyRange]) -> Iterator[list[bytes]]:
        """Yield the keys of the rows in *ranges* that have *column*, or any column of a family."""
        found = self._frame.store.scan(self._frame.table, ranges, Wanted([column], keys_only=True))
        while rows := [row.key for row in islice(found, _PIECE)]:
            yield rows

    def _forget_counts(self, keys: Sequence[bytes]) -> None:
        """Remove the link counts of some rows, and their entries in the link index."""
        frame, column = self._frame, self._frame.codec.columns.links
        entries, deletes = [], []
        for row in frame.store.read(frame.table, keys, Wanted([column])):
            if row is None:
                continue
            at = row.cells[column][0].timestamp
            deletes.append(Delete(row.key, at, [column]))
            with suppress(DamagedRow):
                known = entries_of(frame.codec.counts(row), frame.key.unsalted(row.key))
                entries += [Delete(entry, at) for entry in known]
        if LINK.name in frame.indexes.read():
            written(frame.store, index_table_name(frame.table, LINK.name), entries)
        written(frame.store, frame.table, deletes)

    def _forget_host(self, entry: Row) -> None:
        """Remove the entry of a host, cell by cell: a delete up to a moment would hide older cells put later."""
        store, table = self._frame.store, self._frame.indexes.ready(HOST.name, "").table
        (whole,) = store.read(table, [entry.key])
        if whole is not None:
            later, until = later_removed(store, table, whole, None, 0)
            if not later:  # gateways cannot remove single cells
                written(store, table, [Delete(entry.key, until)])

    def _others(self) -> Iterator[bytes]:
        rows = self._frame.store.scan(self._frame.table, [KeyRange()], Wanted(keys_only=True))
        return (row.key for row in rows if self._frame.key.unsalted(row.key) not in self._place)

    def _without_links(self, keys: Sequence[bytes]) -> list[Put]:
        frame, puts = self._frame, []
        # `schema.web_table_schema` keeps this many versions of outlinks.
        columns, versions = frame.codec.with_checksums([frame.codec.columns.urls]), max(2, frame.layout.versions)
        weights = (weight * versions for weight in frame.pages.weights(keys, ["outlinks"]))
        for some in together(zip(keys, weights, strict=True)):
            for row in frame.store.read(frame.table, some, Wanted(columns, versions=versions)):
                cells = self._link_cells(row) if row is not None else []
                if row is not None and cells:
                    puts.append(Put(row.key, cells))
        return puts

    def _link_cells(self, row: Row) -> list[NewCell]:
        """Return cells that replace those of *row* with links to erased pages."""
        codec, cells = self._frame.codec, []
        for cell in row.cells.get(codec.columns.urls, ()):
            try:
                links = codec.links(row, cell)
                erased = {link.url for link in links if self._leads_there(link.url)}
                if erased:
                    kept = [Link(NOWHERE, rel=link.rel) if link.url in erased else link for link in links]
                    cells += codec.link_cells(row, cell, kept)
                    self.links += sum(link.url in erased for link in links)
            except DamagedRow as exc:
                self._damage.add(exc)
        return cells

    def _without_inlinks(self, keys: Sequence[bytes]) -> list[Delete]:
        deletes = self._inlinks_of(keys, self._leads_there)
        # The delete of the page has turned current links into former ones, so each source counts once.
        self.inlinks += len({(one.row, self._source(column)) for one in deletes for column in one.columns or ()})
        return deletes

    def _inlinks_of(self, keys: Sequence[bytes], is_erased: Callable[[str], bool]) -> list[Delete]:
        """Return deletes of the current and former inlinks of rows whose source *is_erased*."""
        frame, deletes, now = self._frame, [], now_in_milliseconds()
        for row, cells in inlinks_of(frame.store, frame.table, self._family, keys, ALL_SOURCES):
            for column, cell in cells:
                if is_erased(self._source(column)):
                    # Up to its own date only, and a cell dated in the future alone: see `repository.stored.cells`.
                    deletes.append(Delete(row, cell.timestamp, [column], exact=cell.timestamp > now))
        return deletes

    def _source(self, column: bytes) -> str:
        return column[len(self._family) + 1 :].removeprefix(PAST).decode(errors="replace")

    def _leads_there(self, url: str) -> bool:
        try:
            return PLAIN_KEY.encode(url) in self._place
        except InvalidURL:
            return False

"""Inlinks as cells: a row of the web table has a column for each page that links to it; and their counts.

    inlinks:https://example.com/        links here now: anchor, rel, kind, position and times of each link
    inlinks:-https://example.org/       linked here in the past, up to the date of the cell

Like index entries they are derived data: the outlinks of the linking page decide whether they hold.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from webtable._clock import clock, milliseconds, now_in_milliseconds, possible_moment
from webtable.errors import DamagedRow, InvalidURL, KeyFormatError
from webtable.page.page import BLANK
from webtable.page.parts import MOST_TO_ONE, PAGE_KINDS, Link, LinkCounts
from webtable.repository.context import TableContext
from webtable.repository.indexes.index import LINK
from webtable.repository.page_storage.cells import cells_of, checked_json, removals, written
from webtable.repository.page_storage.state import content_date, hints_at
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.upkeep.queue import CountedBatch, RecountQueue
from webtable.rowkey import KeyRange, WebKey, canonical_host, registered_domain
from webtable.rowkey.urls import MAX_HOST, canonical_or_none, without_port
from webtable.schema import INDEX_COLUMN, index_table_name
from webtable.store import Delete, NewCell, Put
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from webtable.page.page import Page
    from webtable.repository.upkeep.cells import DerivedCells
    from webtable.store import Cell, Row, Store


# A cell for each inlink, not one for each batch and target: that would save HBase about 0.15 ms of the 1.3 ms of
# processor time that a page with 60 links takes in all (client and HBase, native, 2026-11-26), since the rows stay as
# many. But the sources of a popular target would be in thousands of overlapping cells, which would all be read for the
# first twenty in order, and a delete would write the cells of others again.
PAST = b"-"
MOST_REMEMBERED = 8_192
LONGEST_REMEMBERED = 255
"""For how many URLs that were linked to last the row is cached, and how long these URLs may be."""
CURRENT_SOURCES = KeyRange(PAST + b"\xff", b"")
PAST_SOURCES = KeyRange(PAST, PAST + b"\xff")


class InlinkCells:
    """The cells of the inlinks of one web table."""

    def __init__(self, table: str, family: bytes, key: WebKey) -> None:
        self.table = table
        self.family = family
        row_of = partial(_row_of, key)
        # The pages of a site share most of their links.
        self._row_of, self._cached_row_of = row_of, lru_cache(maxsize=MOST_REMEMBERED)(row_of)

    def add_all(self, derived: DerivedCells, owner: int, page: Page, links: Iterable[Link]) -> set[bytes]:
        """Add to *derived* the inlinks for *links* of *page*, and return their rows."""
        rows = self.rows(links)
        self._put(derived, owner, page, milliseconds(hints_at(page)), rows)
        return set(rows)

    def column(self, source: str) -> bytes:
        """Return the column of the page *source*, which links here."""
        return self.family + b":" + source.encode()

    def past_column(self, source: str) -> bytes:
        """Return the column of the page *source*, which linked here in the past."""
        return self.family + b":" + PAST + source.encode()

    def add(
        self, derived: DerivedCells, owner: int, page: Page, before: Page | None, old: Sequence[Link]
    ) -> set[bytes]:
        """Add to *derived* the changes of inlinks when *page* replaces the page stored *before*, whose links are *old*.

        Returns the rows that gain or lose an inlink. Unchanged inlinks are written again if the page says so
        (`inlinks_at`), or if their anchor or rel has changed.
        """
        # An index entry is written with every capture; of inlinks only what differs, as a page with a thousand links
        # that stay must not write them every day. They are renewed with half of the content's time to live over.
        links, stored = self.rows(links_of(page)), self.rows(old if before is None else with_redirect(before, old))
        timestamp = milliseconds(hints_at(page))
        written = links if page.stored.inlinks_at is None else _missing_in(stored, links)
        self._put(derived, owner, page, timestamp, written)
        gone = {row: stored[row] for row in stored.keys() - links.keys()}
        self._remove_all(derived, owner, page, before, gone, timestamp)
        return gone.keys() | (links.keys() - stored.keys())

    def add_again(self, derived: DerivedCells, owner: int, page: Page, old: Iterable[Link]) -> set[bytes]:
        """Do the same as `add` for a *page* whose same capture is put again; *old* are the links of the content before.

        All its inlinks are written, so that none is missing, under the date when they were last written.
        """
        links, stored = self.rows(links_of(page)), self.rows(old)
        content_at = content_date(page) or hints_at(page)
        self._put(derived, owner, page, milliseconds(page.stored.inlinks_at or content_at), links)
        gone = {row: stored[row] for row in stored.keys() - links.keys()}
        self._remove_all(derived, owner, page, None, gone, milliseconds(content_at))
        return gone.keys() | (links.keys() - stored.keys())

    def add_past(self, derived: DerivedCells, owner: int, page: Page, newest: Iterable[Link]) -> None:
        """Add to *derived* that *page*, an older capture of its URL, had links that are not those of the *newest* one.

        How long it had them is told by the versions of the page (`Page.stored.has_late`): the date here is the least.
        """
        stored, column, at = self.rows(newest), self.past_column(page.url), milliseconds(page.fetched_at)
        past = {row: links for row, links in self.rows(page.outlinks or ()).items() if row not in stored}
        derived.put(
            owner, self.table, list(past), [NewCell(column, at, inlink_value(links)) for links in past.values()]
        )

    def _put(
        self, derived: DerivedCells, owner: int, page: Page, timestamp: int, links: Mapping[bytes, Sequence[Link]]
    ) -> None:
        column, new = self.column(page.url), tuple.__new__  # a loop over all links of a batch
        cells = [new(NewCell, (column, timestamp, inlink_value(to_one))) for to_one in links.values()]
        derived.put(owner, self.table, list(links), cells)

    def _remove_all(
        self,
        derived: DerivedCells,
        owner: int,
        page: Page,
        before: Page | None,
        gone: Mapping[bytes, Sequence[Link]],
        gone_at: int,
    ) -> None:
        if not gone:
            return
        until, now = milliseconds(hints_at(page)) - 1, now_in_milliseconds()
        self.remove(derived, owner, gone, page.url, until=until, before=before, now=now, gone_at=gone_at)

    def remove(
        self,
        derived: DerivedCells,
        owner: int,
        links: Mapping[bytes, Sequence[Link]],
        source: str,
        *,
        until: int,
        before: Page | None,
        now: int,
        gone_at: int | None = None,
    ) -> None:
        """Add to *derived* that the page *source* no longer has these *links*, by the rows of their targets.

        They become history: they were removed at *gone_at*, by default *now*; *before* is the page with the links.
        """
        column, past, at = self.column(source), self.past_column(source), now if gone_at is None else gone_at
        dates = [hints_at(before), before.stored.content_at, before.stored.inlinks_at] if before is not None else []
        history = [NewCell(past, at, inlink_value(to_one)) for to_one in links.values()]
        derived.remove(owner, self.table, links.keys(), removals(column, until, dates, now), history)

    def rows(self, links: Iterable[Link]) -> dict[bytes, list[Link]]:
        """Return *links* by the rows of their targets, without links to URLs that cannot be pages."""
        rows: dict[bytes, list[Link]] = {}
        cached_row_of = self._cached_row_of
        for link in links:
            url = link[0]
            row = cached_row_of(url) if len(url) <= LONGEST_REMEMBERED else self._row_of(url)
            if row is None:
                continue
            if (others := rows.get(row)) is None:
                rows[row] = [link]
            elif len(others) < MOST_TO_ONE:  # a caller may have given several spellings of one URL
                others.append(link)
        return rows


def _row_of(key: WebKey, url: str) -> bytes | None:
    try:
        return key.encode(url)
    except InvalidURL:
        return None


def _missing_in(
    stored: Mapping[bytes, Sequence[Link]], links: Mapping[bytes, Sequence[Link]]
) -> dict[bytes, Sequence[Link]]:
    return {row: to_one for row, to_one in links.items() if stored.get(row) != to_one}


def inlink_value(links: Sequence[Link]) -> bytes:
    """Return the value of an inlink: the *links* of a page to another, each as five texts, with zero bytes between.

    An `a` and one time are empty texts, and the last link goes without those at its end: of a single link mostly the
    anchor is left.
    """
    first = links[0]
    if len(links) == 1 and first[2:] == _ONLY_ANCHOR and "\0" not in first[1]:  # half of them
        return first[1].encode("utf-8", "replace")
    texts = [
        f"{anchor}\0{rel}\0{'' if kind == 'a' else kind}\0{position}\0{'' if times == 1 else times}"
        for _, anchor, rel, kind, position, times in links
    ]
    text = "\0".join(texts)
    if text.count("\0") != 5 * len(links) - 1:  # a caller's text has a zero byte, which HTML has U+FFFD for
        return inlink_value([Link(*(_without_zeros(value) for value in link)) for link in links])
    return text[: len(text) - len(texts[-1]) + len(texts[-1].rstrip("\0"))].encode("utf-8", "replace")


_ONLY_ANCHOR = ("", "a", "", 1)


def _without_zeros(value: Any) -> Any:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def links_in(url: str, value: bytes) -> list[Link]:
    """Return the links to *url* with the stored *value*, made by `inlink_value`."""
    texts = value.decode("utf-8", "replace").split("\0")
    texts += [""] * (-len(texts) % 5)
    each = zip(*(texts[at::5] for at in range(5)), strict=True)
    return [
        Link(url, anchor, rel, kind or "a", position, int(times) if _TIMES.fullmatch(times) else 1)
        for anchor, rel, kind, position, times in each
    ]


_TIMES = re.compile("[1-9][0-9]{0,17}")


# The redirect of a page is among its metadata, and stays there alone: so it survives every way that a page goes, and
# tables have it of pages that were stored before it was a link.
def with_redirect(page: Page, links: Sequence[Link]) -> Sequence[Link]:
    """Return the *links* of *page*, before them that of its redirect."""
    target = page.redirect_to
    if target is None:
        return links
    return (Link(target, kind="redirect"), *(link for link in links if link.url != target))


def links_of(page: Page) -> Sequence[Link]:
    """Return all links of *page*, which was read with its outlinks: these, and that of its redirect."""
    return with_redirect(page, page.outlinks or ())


def is_only_self(url: str, links: Iterable[Link], kinds: Collection[str] = PAGE_KINDS) -> bool:
    """Whether none of *links* of the page *url* leads to another page, by one of *kinds*."""
    # Usually the first link leads elsewhere, and no other is checked.
    return not any(link.kind in kinds and link.url != url and canonical_or_none(link.url) != url for link in links)


def with_self_links(page: Page) -> Page:
    """Return *page* with `only_self_links` set from its links, if it has them."""
    if page.outlinks is None:
        return page
    is_only = bool(page.outlinks) and is_only_self(page.url, page.outlinks)
    return page if is_only == page.stored.only_self_links else replace(page, _only_self_links=is_only)


def links_to(url: str, links: Sequence[Link], stored: int) -> list[Link]:
    """Return those of *links* of a page that lead to the canonical *url*, of which its inlink has *stored* ones.

    Nearly all are written as canonical URLs, so that others are looked for only where the inlink has more.
    """
    as_written = [link for link in links if link.url == url]
    if len(as_written) == stored:
        return as_written
    return [link for link in links if link.url == url or canonical_or_none(link.url) == url]


def inlinks_of(
    store: Store, table: str, family: bytes, rows: Sequence[bytes], sources: KeyRange = CURRENT_SOURCES
) -> Iterator[tuple[bytes, Sequence[tuple[bytes, Cell]]]]:
    """Yield the inlinks of each of *rows*, without their values; the current ones, or those from other *sources*.

    Like `cells_of` this yields each row at least once, and once more for each further piece of its inlinks.
    """
    return cells_of(store, table, family, rows, sources, keys_only=True)


# --- Counts of inlinks ------------------------------------------------------------------------------------------------
#
# They are made from the keys of the inlinks of a row, a piece at a time. Nothing is written for a page that nobody
# links to: a complete run leaves the moment up to which all links are counted, before which a missing count means 0.
#
# Counts are written like captures: the new entry of the link index first, then the count, then the old entry is
# removed. So concurrent counts do no harm, and an interrupted run is repeated by the next one. Where the three writes
# are not one transaction, the counts whose entries will change are in the queue first, so that the next run can
# remove these entries.


@dataclass(slots=True)
class LinkCounter:
    """Counts the inlinks of pages of one web table; unreadable rows are added to *damage*."""

    context: TableContext
    damage: Damage

    def count(self, rows: Sequence[bytes], tried: Mapping[bytes, Collection[int]]) -> None:
        """Count the links to *rows*, and write the counts.

        *tried* has earlier counts of rows, whose entries an interrupted run may have left.
        """
        column = self.context.codec.columns.links
        urls = dict(self.damage.sift(map(self._named, rows)))
        rows = list(urls)
        stored_rows = self.context.store.read(self.context.table, rows, Wanted([column]))
        before = [self._before(stored) if stored else None for stored in stored_rows]
        # Later than the last count, even if the clock of the machine that made it is ahead of this one's.
        last = [possible_moment(stored.cells[column][0].timestamp) for stored in stored_rows if stored]
        counted_at = _later(_now(), last)
        made = zip(rows, before, self._counts(urls, counted_at), strict=True)
        counts = [(row, was, now) for row, was, now in made if now.inlinks or now.self_links or was]
        entries, cells, removals = [], [], []
        changed: list[tuple[bytes, int]] = []
        timestamp = milliseconds(counted_at)
        for row, was, now in counts:
            unsalted = self.context.key.unsalted(row)
            new, old = entries_of(now, unsalted), entries_of(was, unsalted)
            if new != old:
                changed += [(row, counted.inlinks) for counted in (was, now) if counted is not None]
            for inlinks in tried.get(row, ()):
                old += entries_of(LinkCounts(inlinks), unsalted)
            entries += [Put(entry, [NewCell(INDEX_COLUMN, timestamp, b"")]) for entry in new]
            cells.append(Put(row, [NewCell(column, timestamp, checked_json(now, row, timestamp))]))
            removals += [Delete(entry, timestamp - 1) for entry in old if entry not in new]
        index = index_table_name(self.context.table, LINK.name)
        with self.context.store.transaction() as transaction, self._announced(changed if transaction is None else []):
            written(self.context.store, index, entries)
            written(self.context.store, self.context.table, cells)
            written(self.context.store, index, removals)

    @contextmanager
    def _announced(self, counts: Sequence[tuple[bytes, int]]) -> Iterator[None]:
        """Keep *counts* in the queue during the block; if it is interrupted, the next run removes their entries."""
        queue = RecountQueue(self.context.store, self.context.table)
        entered = [queue.counting(counts)] if counts else []
        queue.write(entered)
        yield
        queue.remove([CountedBatch(put.row, put.cells[0].timestamp) for put in entered])

    def _named(self, row: bytes) -> tuple[bytes, str] | DamagedRow:
        """Return *row* with its URL, or an error if it is not a valid row key."""
        try:
            return row, self.context.key.url_of(row)
        except KeyFormatError as exc:
            return DamagedRow(row, None, f"the queue: {exc}")

    def _before(self, stored: Row) -> LinkCounts | None:
        """Return the last counts of a row; empty ones if they cannot be read."""
        try:
            return self.context.codec.counts(stored)
        except DamagedRow as exc:
            self.damage.add(exc)
            return LinkCounts()

    def _counts(self, urls: Mapping[bytes, str], counted_at: datetime) -> Iterator[LinkCounts]:
        family = self.context.codec.columns.inlinks.encode()
        start = len(family) + 1
        pieces = inlinks_of(self.context.store, self.context.table, family, list(urls))
        for row, of_row in groupby(pieces, key=itemgetter(0)):
            sources = SourceCounts(urls[row])
            for _, cells in of_row:
                sources.add(column[start:] for column, _ in cells)
            yield sources.counts(counted_at)


def entries_of(counts: LinkCounts | None, key: bytes) -> list[bytes]:
    """Return the entries of the link index for *counts* of the row with the unsalted *key*."""
    return [] if counts is None else [LINK.entry(start + key, key) for start in _starts(counts.inlinks)]


@lru_cache(maxsize=4_096)  # most pages have few inlinks
def _starts(inlinks: int) -> list[bytes]:
    """Return what the entries of rows with so many *inlinks* begin with, after the shard and before the key."""
    return LINK.places(replace(BLANK, link_counts=LinkCounts(inlinks)), b"")


class SourceCounts:
    """The number of sources that link to one page, by kind."""

    def __init__(self, url: str) -> None:
        self._url = url.encode()
        self._domain = _site_of(self._url)[1]
        self._internal = self._external = self._self = 0

    def add(self, sources: Iterable[bytes]) -> None:
        site, domain = b"", None
        for source in sources:
            if source == self._url:
                self._self = 1
                continue
            # They are sorted, so that those of a site follow each other.
            if not (site and source.startswith(site)):
                site, domain = _site_of(source)
            if domain == self._domain:
                self._internal += 1
            elif domain is not None:
                self._external += 1

    def counts(self, counted_at: datetime) -> LinkCounts:
        return LinkCounts(self._internal + self._external, self._internal, self._external, self._self, counted_at)


def _site_of(url: bytes) -> tuple[bytes, str | None]:
    """Return the beginning of *url* with its host, and its registered domain.

    They are empty and None if it is not a URL: readers ignore such an inlink.
    """
    parts = url.split(b"/", 3)
    if len(parts) != 4 or parts[0] not in (b"https:", b"http:"):
        return b"", None
    domain = (_known_domain if len(parts[2]) <= MAX_HOST else _domain_of)(parts[2])
    return url[: len(url) - len(parts[3])], domain


def _domain_of(authority: bytes) -> str | None:
    try:
        return registered_domain(canonical_host(without_port(authority).decode("ascii")))
    except ValueError:
        return None


_known_domain = lru_cache(maxsize=65_536)(_domain_of)


def _later(now: datetime, others: Iterable[datetime]) -> datetime:
    return max([now, *(other + timedelta(milliseconds=1) for other in others)])


def _now() -> datetime:
    now = clock.now()
    return now.replace(microsecond=now.microsecond // 1000 * 1000)

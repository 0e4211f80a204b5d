"""Open revisits: captures that repeat content which is not stored, kept until it is.

They are in the table of the queue, in two kinds of rows. The capture itself is one row, in the order of the URLs, so
that those of a site are a range. For each thing by which its original can be recognized (its date, its digest) another
row, named by a hash, lists the captures that wait for it: a batch looks up the rows of what it has just stored, in one
call, and only if any revisit is open at all. So storing a page never looks at what is waiting for others.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import msgspec

from webtable._checksums import UNREADABLE
from webtable._clock import milliseconds, now_in_milliseconds
from webtable.display.text import plural
from webtable.page.body import payload_digest_of
from webtable.page.page import Page
from webtable.repository.page_storage.cells import cells_of, json_of, pack, unpack, written
from webtable.rowkey import KeyRange, WebKey
from webtable.schema import ENTERED_COLUMN, QUEUE_FAMILY, REVISITS_ROW, meta_table, queue_table
from webtable.store import Delete, NewCell, Put, Row, Store
from webtable.store.rows import ALL_QUALIFIERS, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime


OPEN = KeyRange(b"revisit:", b"revisit;")
"""The rows of open revisits; the key of a page without the salt, a zero byte and the date of the capture follow."""
AWAITED = KeyRange(b"revisit-of:", b"revisit-of;")
"""The rows of what they wait for; a hash follows."""
AT_ONCE = 500
"""How many rows, or revisits of one row, are read at once."""
MOST_COUNTED = 1_000_000
"""How many open revisits are counted, which takes about a second."""
_CAPTURE = f"{QUEUE_FAMILY}:capture".encode()
_FAMILY = QUEUE_FAMILY.encode()
_decode = msgspec.json.Decoder(Page).decode
_ALGORITHMS = ("sha1", "sha256")
"""The algorithms of the digests of bodies that are looked up; WARC files have hardly any others."""


# A row of its own for each: in the row of its page, late captures and those that a newer one followed would be lost.
class OpenRevisits:
    """The open revisits of one web table."""

    def __init__(self, store: Store, table: str, key: WebKey) -> None:
        self._store = store
        self._key = key
        self.table: Final = queue_table(table).name
        self._meta = meta_table(table).name

    def is_any(self) -> bool:
        """Whether any revisit is open."""
        return any(self._store.scan(self.table, [OPEN], Wanted(keys_only=True), limit=1))

    def count(self, limit: int) -> int:
        """The number of open revisits, at most *limit*."""
        return sum(1 for _ in self._store.scan(self.table, [OPEN], Wanted(keys_only=True), limit=limit))

    def enter(self, pages: Sequence[Page]) -> None:
        """Enter *pages*, which repeat content that is not stored; raises the first error.

        What they wait for is entered first: a revisit that is listed must not be missed when its original comes. Before
        that a mark is left for all writers, which read its row with the states of the indexes.
        """
        if not pages:
            return
        now = now_in_milliseconds()
        written(self._store, self._meta, [Put(REVISITS_ROW, [NewCell(ENTERED_COLUMN, now, b"")])])
        packed = pack([json_of(page) for page in pages])
        listed: dict[bytes, list[NewCell]] = {}
        for page in pages:
            for row in _awaited_by(page):
                listed.setdefault(row, []).append(NewCell(self._column(page), now, b""))
        self._write([Put(row, cells) for row, cells in listed.items()])
        self._write(
            [
                Put(OPEN.start + self._place(page), [NewCell(_CAPTURE, now, value)])
                for page, value in zip(pages, packed, strict=True)
            ]
        )

    def waiting_for(self, pages: Iterable[Page]) -> Iterator[Page]:
        """Yield the open revisits that may repeat one of *pages*, which are stored now; one may come again."""
        # By what the stored captures are, not by what is open: so nothing is scanned, however many revisits wait.
        rows = list(dict.fromkeys(row for page in pages for row in _awaited(page)))
        places: dict[bytes, None] = {}
        for _, cells in cells_of(self._store, self.table, _FAMILY, rows, ALL_QUALIFIERS, keys_only=True):
            places.update((column[len(_FAMILY) + 1 :], None) for column, _ in cells)
            if len(places) >= AT_ONCE:
                yield from self.at(list(places))
                places = {}
        yield from self.at(list(places))

    def at(self, places: Sequence[bytes]) -> Iterator[Page]:
        """Yield the open revisits at these *places*; those that are closed by now, or cannot be read, are left out."""
        for start in range(0, len(places), AT_ONCE):
            keys = [OPEN.start + place for place in places[start : start + AT_ONCE]]
            for row in self._store.read(self.table, keys, Wanted([_CAPTURE])):
                page = None if row is None else page_in(row)
                if page is not None:
                    yield page

    def rows(self, keys: Sequence[KeyRange], after: bytes | None = None) -> Iterator[Row]:
        """Yield the rows of the open revisits of pages with these unsalted *keys*, after a place, in their order."""
        ranges = [self.range_of(pages) for pages in keys]
        if after is not None:
            ranges = [pages.after(OPEN.start + after) for pages in ranges]
        return self._store.scan(self.table, ranges, Wanted([_CAPTURE]))

    def of_page(self, url: str) -> list[Page]:
        """Return the open revisits of the page *url*, the oldest first."""
        keys = self._dates_of(self._key.unsalted(self._key.encode(url)))
        rows = self._store.scan(self.table, [keys], Wanted([_CAPTURE]))
        return [page for page in map(page_in, rows) if page is not None]

    def range_of(self, keys: KeyRange) -> KeyRange:
        """Return the rows of the open revisits of pages with these unsalted *keys*."""
        return KeyRange(OPEN.start + keys.start, OPEN.start + keys.stop if keys.stop else OPEN.stop)

    def place(self, url: str, fetched_at: datetime) -> bytes:
        """Return the place of an open revisit in their order: the page *url*, then the date."""
        return self._key.unsalted(self._key.encode(url)) + b"\0%015d" % milliseconds(fetched_at)

    def close(self, pages: Sequence[Page]) -> None:
        """Remove *pages*, which need not be there; the page that is listed goes before what it waits for."""
        rows = [OPEN.start + self._place(page) for page in pages]
        stored = self._store.read(self.table, rows, Wanted([_CAPTURE]))
        self._remove([row for row in stored if row is not None])

    def close_those_of(self, keys: Sequence[bytes], until: int) -> None:
        """Remove the open revisits of the pages with these unsalted *keys* up to a moment, in epoch milliseconds."""
        # One call: most tables have no open revisit.
        if not self.is_any():
            return
        ranges = [self._dates_of(key, until) for key in keys]
        for start in range(0, len(ranges), AT_ONCE):
            self._remove(list(self._store.scan(self.table, ranges[start : start + AT_ONCE], Wanted([_CAPTURE]))))

    def remove(self, rows: Sequence[Row]) -> None:
        """Remove the open revisits in *rows*, as `rows` has returned them."""
        self._remove(rows)

    def _remove(self, rows: Sequence[Row]) -> None:
        self._write([Delete(row.key, row.cells[_CAPTURE][0].timestamp) for row in rows])
        listed: dict[tuple[bytes, int], list[bytes]] = {}
        for row in rows:
            page, timestamp = page_in(row), row.cells[_CAPTURE][0].timestamp
            for awaited in () if page is None else _awaited_by(page):
                listed.setdefault((awaited, timestamp), []).append(self._column(page))  # type: ignore[arg-type]
        self._write([Delete(row, timestamp, columns) for (row, timestamp), columns in listed.items()])

    def _write(self, mutations: Sequence[Put | Delete]) -> None:
        if mutations:
            written(self._store, self.table, mutations)

    def _dates_of(self, key: bytes, until: int = 10**15 - 2) -> KeyRange:
        """Return the rows of the open revisits of the page with this unsalted *key*, up to a moment."""
        return KeyRange(OPEN.start + key + b"\0", OPEN.start + key + b"\0%015d" % (until + 1))

    def _place(self, page: Page) -> bytes:
        return self.place(page.url, page.fetched_at)

    def _column(self, page: Page) -> bytes:
        return _FAMILY + b":" + self._place(page)


def number_text(count: int) -> str:
    """Return the number of open revisits, which were counted up to `MOST_COUNTED`, in words.

    >>> number_text(1), number_text(1_000_000)
    ('1 revisit', 'at least 1,000,000 revisits')
    """
    return f"{'at least ' if count >= MOST_COUNTED else ''}{plural(count, 'revisit')}"


def page_in(row: Row) -> Page | None:
    """Return the revisit in a *row* of `OPEN`, None if it cannot be read."""
    value = row.value(_CAPTURE)
    try:
        return None if value is None else _decode(unpack(value))
    except UNREADABLE:
        return None


def place_of(row: Row) -> bytes:
    """Return the place of a *row* of `OPEN` in an answer."""
    return row.key[len(OPEN.start) :]


def other_scheme(url: str) -> str | None:
    """Return the URL of the same page over https if *url* is http, or the reverse; None for one with a port."""
    scheme, _, rest = url.partition("://")
    if ":" in rest.partition("/")[0].rpartition("]")[2]:
        return None
    return f"{'http' if scheme == 'https' else 'https'}://{rest}"


def _awaited_by(page: Page) -> list[bytes]:
    """Return the rows in which the revisit *page* is listed: for what it names of its original, else for its URL."""
    # To the second, as WARC files name dates.
    original = page.same_as or page.url
    names = [(original, f"{page._repeats_at:%Y-%m-%dT%H:%M:%S}")] if page._repeats_at is not None else []
    if page._payload_digest is not None:
        names += [(url, page._payload_digest) for url in dict.fromkeys((original, page.url))]
    return list(dict.fromkeys(_hashed(url, name) for url, name in names or [(original, "")]))


def _awaited(page: Page) -> list[bytes]:
    """Return the rows that list revisits of the capture *page*."""
    names = [f"{page.fetched_at:%Y-%m-%dT%H:%M:%S}", ""]
    if page._payload_digest is not None:
        names.append(page._payload_digest)
    if page.body is not None:
        names += [payload_digest_of(page.body, algorithm) for algorithm in _ALGORITHMS]
    return [_hashed(page.url, name) for name in names]


def _hashed(url: str, name: str) -> bytes:
    # A page is the same over http and https: crawlers follow the redirect, and look for the original by either.
    text = url if other_scheme(url) is None else url.partition("://")[2]
    value = f"{text}\n{name}".encode("utf-8", "surrogatepass")
    return AWAITED.start + hashlib.blake2b(value, digest_size=16).hexdigest().encode()

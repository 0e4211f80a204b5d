"""Secondary indexes: a name, and a pure function from a page to its terms; and the indexes that webtable has.

    {shard}:{term}_{row key without its salt}
    7:404_com.example/gone                       an entry of the status index
    3:fetched_20260101T093000000_com.example/a   an entry of the time index: its term has two parts

The shard is a hexadecimal digit, so that growing terms (dates, counts) do not all go to one hot region. Entries are in
the order of their terms, then of their URLs, whatever the salt of the table: an entry has no salt, which is computed
from the URL. The parts of a term never contain a `_`, so the row key begins after a known number of them.

In an index that a user has defined, each part ends with a zero byte instead of `_`: terms may be any text, and "de"
comes before "de-AT" because nothing sorts before a zero byte.

An entry holds only if the page that it names still has its term; readers check that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from webtable.errors import IndexFailed, InvalidArgument
from webtable.page.page import Page
from webtable.page.parts import BAND, Time
from webtable.repository.page_storage.cells import JSONValue
from webtable.rowkey import KeyRange, prefix_stop
from webtable.rowkey.fields.domain import reversed_host
from webtable.rowkey.fields.text import escaped
from webtable.rowkey.urls import canonical_or_none
from webtable.rowkey.web import host_and_rest
from webtable.schema import check_index_name

if TYPE_CHECKING:
    from collections.abc import Iterator


Term = str | tuple[str, ...]
MAX_TERM = 8_192
"""The longest term in bytes."""
ORDERED = b"\0"
"""The end of a part of a term that keeps entries in the order of the terms."""
# Growing terms (dates, counts) would all go to one hot region without shards. A term that is looked up by its value is
# in one shard, so that it is one range (`by_term`).
SHARDS = tuple(b"%x:" % digit for digit in range(16))

Sharding = Callable[[bytes, bytes], bytes]
"""Takes the term and the unsalted row key, and returns the bytes whose hash is the shard."""


def by_page(term: bytes, key: bytes) -> bytes:  # noqa: ARG001
    """Spread the entries of each term over all shards."""
    return key


def by_term(term: bytes, key: bytes) -> bytes:  # noqa: ARG001
    """Keep the entries of a term together, in one range."""
    return term


def by_domain(term: bytes, key: bytes) -> bytes:  # noqa: ARG001
    """Keep the hosts of a domain together, by the two last labels of their names."""
    return b".".join(term.rstrip(b"/").split(b".")[:2])


@dataclass(frozen=True, slots=True)
class Index:
    """An index of the pages of a web table.

    `terms` returns the terms of a page, by which it is found: texts, or tuples of *parts* texts. It gets a page with
    its metadata (no `body`, no `outlinks`), must always return the same for the same page, and may return no terms.
    `columns` names further columns that it needs. An index that does not name pages has one entry for each term, like
    the host index.

        language = Index("language", lambda page: [page.headers.get("content-language", "none")])

    Raises `InvalidArgument` for a name that cannot be part of the name of a table.
    """

    name: str
    terms: Callable[[Page], Iterable[Term]]
    parts: int = 1
    sharding: Sharding = by_page
    columns: tuple[str, ...] = ()
    names_pages: bool = True
    keeps_inlinks: bool = False
    """Whether writers store inlinks for this index, in the rows of the pages that are linked to."""
    counts_pages: bool = False
    """Whether its entries have counts of pages, which are updated when pages are added or deleted or change size."""
    signs_pages: bool = False
    """Whether pages get a signature of their main text for it (`stored.similarity`)."""
    end: bytes = b"_"
    """The end of each part of a term in an entry; set by the table, not by the definition of the index."""

    def __post_init__(self) -> None:
        check_index_name(self.name)

    def entries(self, page: Page, key: bytes) -> list[bytes]:
        """Return the keys of the entries of *page*, with the unsalted row key *key*; raises `IndexFailed`."""
        sharding, ending = self.sharding, self._ending(key)
        return [_hashed(sharding(term, key)) + term + ending for term in self._terms(page)]

    def places(self, page: Page, key: bytes) -> list[bytes]:
        """Return the keys of the entries of *page*, with the row key *key*, without their shards."""
        ending = self._ending(key)
        return [term + ending for term in self._terms(page)]

    def term(self, term: Term) -> bytes:
        """Return *term* as it is stored in an entry; raises `InvalidArgument` if it is too long or has a wrong type."""
        parts = (term,) if isinstance(term, str) and self.parts == 1 else self._parts_of(term)
        raw = self.end.join(map(self._escaped, parts)) if self.names_pages else parts[0].encode()
        if len(raw) > MAX_TERM:
            raise InvalidArgument(f"index {self.name}: a term has {len(raw):,} bytes; the limit is {MAX_TERM:,}")
        return raw

    def row_of(self, place: bytes) -> bytes:
        """Return the unsalted row key of the page that the entry at *place* (its key without the shard) names."""
        return place.split(self.end, self.parts)[-1]

    def range_of(self, term: Term) -> KeyRange:
        """Return the places of the entries of *term*."""
        start = self.term(term) + (self.end if self.names_pages else b"")
        return KeyRange(start, prefix_stop(start) if self.names_pages else start + b"\x00")

    def ranges(self, places: KeyRange, shard_of: bytes | None = None) -> list[KeyRange]:
        """Return the ranges of entry keys for *places*, one for each shard, or only for the shard of *shard_of*."""
        shards = SHARDS if shard_of is None else (_hashed(shard_of),)
        return [
            KeyRange(shard + places.start, shard + places.stop if places.stop else prefix_stop(shard))
            for shard in shards
        ]

    def _terms(self, page: Page) -> list[bytes]:
        try:
            terms = self.terms(page)
            if isinstance(terms, str):
                raise InvalidArgument(f"its function returned the text {terms!r}; it must return a list of texts")
            return [self.term(term) for term in terms]
        except Exception as exc:
            raise IndexFailed(f"{page.url[:200]}: the index {self.name} failed: {exc!r}") from exc

    def entry(self, place: bytes, key: bytes) -> bytes:
        """Return the key of the entry at *place*, of the page with the unsalted row key *key*."""
        term = place[: -len(key) - 1] if self.names_pages else place
        return _hashed(self.sharding(term, key)) + place

    def _parts_of(self, term: Term) -> tuple[str, ...]:
        parts = (term,) if isinstance(term, str) else term
        if len(parts) != self.parts or not all([isinstance(part, str) for part in parts]):  # noqa: C419 - half of the time
            raise InvalidArgument(f"index {self.name}: the term {term!r} must have {self.parts} texts")
        return parts

    def _ending(self, key: bytes) -> bytes:
        """Return the part of an entry of the page *key* that follows the term."""
        return self.end + key if self.names_pages else b""

    def _escaped(self, part: str) -> bytes:
        raw = part.encode("utf-8", "replace")
        # A shortcut for the terms of the built-in indexes, which are many, and rarely need escaping.
        return escaped(raw, self.end) if self.end == ORDERED or b"_" in raw or b"%" in raw else raw


def place_of(entry: bytes) -> bytes:
    """Return the key of an entry without its shard, which is the order of the entries."""
    return entry[2:]


# Several indexes hash the same key of a page, and the host index hashes the same host for each of its pages.
@lru_cache(maxsize=256)
def _hashed(value: bytes) -> bytes:
    return hashlib.md5(value, usedforsecurity=False).hexdigest()[:1].encode() + b":"


HIGHEST_SIZE = 10**12 - 1
HIGHEST_COUNT = 10**8 - 1
HOST_COUNTS = b"ref:counts"
"""The column of a host's entry that has the last counts of its pages."""


class HostCounts(msgspec.Struct, frozen=True):
    """The counts of a host: the value of `HOST_COUNTS`."""

    pages: int
    bytes: int
    counted_at: Time


HOST_VALUES = JSONValue(HostCounts)


def time_text(moment: datetime) -> str:
    """Return *moment* as it is written in a term: `YYYYMMDDTHHMMSSmmm`, in UTC.

    >>> time_text(datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC))
    '20260102T030405678'
    """
    if moment.tzinfo is not UTC:
        with suppress(OverflowError):  # in the first or the last hours of the calendar
            moment = moment.astimezone(UTC)
    text = moment.isoformat(timespec="milliseconds")[:23]
    return text.replace("-", "").replace(":", "").replace(".", "")


def modified_at(page: Page) -> datetime | None:
    """Return when *page* was modified: according to its server, else when a capture first had its content."""
    return page.last_modified or page.changed_at


def page_id(url: str) -> str:
    """Return the id of the page at *url*, a canonical URL: the first 16 hexadecimal digits of its MD5.

    >>> page_id("https://example.com/")
    '182ccedb33a9e03f'
    """
    return hashlib.md5(url.encode(), usedforsecurity=False).hexdigest()[:16]


def descending(number: int, highest: int) -> str:
    """Return *number* in digits that sort backwards, so that the highest comes first."""
    return str(max(highest - number, 0)).zfill(len(str(highest)))


def status_text(status: int) -> str:
    """Return a status code as it is written in a term."""
    return f"{min(max(status, 0), 999):03d}"


def _times(page: Page) -> Iterator[tuple[str, str]]:
    yield "fetched", time_text(page.fetched_at)
    if modified := modified_at(page):
        yield "modified", time_text(modified)


def _sizes(page: Page) -> Iterator[str]:
    if page.size is not None:
        yield descending(page.size, HIGHEST_SIZE)


def _links(page: Page) -> Iterator[tuple[str, str]]:
    if page.outlink_count is not None:
        count = 0 if page.stored.only_self_links else page.outlink_count
        # A redirect leads on, though its body may have no link.
        if not count and page.redirect_to is not None and canonical_or_none(page.redirect_to) != page.url:
            count = 1
        yield "outlinks", descending(count, HIGHEST_COUNT)
    if page.link_counts is not None:
        yield "inlinks", descending(page.link_counts.inlinks, HIGHEST_COUNT)


def _ids(page: Page) -> Iterator[str]:
    # A page has the term of its own URL, and a redirect that of its target too.
    yield page_id(page.url)
    if page.redirect_to is not None:
        target = canonical_or_none(page.redirect_to)
        if target is not None and target != page.url:
            yield page_id(target)


def _statuses(page: Page) -> Iterator[str]:
    yield status_text(page.status)


def _hosts(page: Page) -> Iterator[str]:
    # With the `/` that ends it in a row key, hosts are in the order of their pages, and a subtree is one range.
    yield reversed_host(host_and_rest(page.url)[0]) + "/"


def _digests(page: Page) -> Iterator[str]:
    if page.digest is not None:
        yield page.digest


def _bands(page: Page) -> Iterator[str]:
    # Entries must be made, compared and removed without bodies: so the signature was computed once, with the content,
    # and is stored with the metadata. Signatures only find candidates, so an answer does not depend on who made them.
    signature = (page.stored.similarity if page.has_body else None) or ""
    for at in range(0, len(signature), BAND):
        yield f"{at // BAND:02}{signature[at : at + BAND]}"


def _index_statuses(page: Page) -> Iterator[str]:
    status = page.index_status
    if status is not None:
        yield status


TIME = Index("time", _times, parts=2)
SIZE = Index("size", _sizes)
LINK = Index("link", _links, parts=2, columns=("link_counts",), keeps_inlinks=True)
URL = Index("url", _ids, sharding=by_term)
STATUS = Index("status", _statuses)
HOST = Index("host", _hosts, sharding=by_domain, names_pages=False, counts_pages=True)
DIGEST = Index("digest", _digests, sharding=by_term)
SIMILARITY = Index("similarity", _bands, sharding=by_term, signs_pages=True)
INDEX_STATUS = Index("indexstatus", _index_statuses)

WEB_INDEXES = {index.name: index for index in (TIME, SIZE, LINK, URL, STATUS, HOST, DIGEST)}
"""The indexes that a web table has by default, by name: the one place that lists them."""
BUILT_IN = WEB_INDEXES | {index.name: index for index in (SIMILARITY, INDEX_STATUS)}
"""All indexes of webtable's own, by name."""

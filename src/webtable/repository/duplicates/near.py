"""Near duplicates of a page, and groups of them: pages that share a band of a signature, confirmed by their texts."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

import msgspec
from blake3 import blake3

from webtable._recent import RecentValues
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import BLANK, Page
from webtable.repository.answers.columns import column, column_names, declared, fields_of, page_in, records_with
from webtable.repository.answers.listing import SITE, URL, Listing, ListingOption
from webtable.repository.arguments import LIKE
from webtable.repository.duplicates.exact import FACETS, OF_FACETS, GroupsQuestion, groups, is_facet, path_of, size_of
from webtable.repository.indexes.index import SIMILARITY, place_of
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.findings import is_content
from webtable.repository.questions.pages import ScopeRows, TableQuestion
from webtable.repository.reading.scan import ScanSpec, in_key_order
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.repository.upkeep.cells import is_unsigned, read_and_signed, with_signature
from webtable.rowkey import canonical_url
from webtable.schema import INDEX_COLUMN
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page.similarity import Hashes
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import TableContext
    from webtable.repository.reading.read_ahead import Damage
    from webtable.repository.reading.scope import Scope


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A page whose main text is like that of another one.

    `similarity` is that of Jaccard: the share of all sequences of five words in either text that both have.
    """

    page: Page
    similarity: float


_OWN = (
    column("url", "url", "page.url"),
    column("similarity", "fraction"),
    column("title", "title", "page.title"),
    column("status", "status", "page.status", heading="status"),
    column("fetched_at", "time", "page.fetched_at", heading="fetched"),
)
NEAR_DUPLICATES = declared(
    NearDuplicate,
    "near duplicate",
    *_OWN,
    *page_in(attrgetter("page"), [own.name for own in _OWN]),
    listed=("url", "similarity", "title", "fetched_at"),
)
AT_LEAST = ListingOption("at_least", "The least similarity, above 0 and up to 1.", "fraction", LIKE, metavar="SHARE")
LISTING = Listing(
    "near_duplicates",
    NEAR_DUPLICATES,
    orders=("similarity", "url"),
    options=(URL, SITE, AT_LEAST),
    examples=(
        "webtable near-duplicates https://example.com/products",
        "webtable near-duplicates https://example.com/products example.com --at-least 0.9 --order url",
    ),
    indexes=(SIMILARITY,),
    is_of_pages=True,
    help="""List the pages whose main text is nearly that of a page, the most similar first.

    The similarity is that of Jaccard: of all sequences of five words in either text, the share that both have.
    """,
)
_ONE = 10**9
"""Similarities are whole numbers in places, so that they sort as text."""
_FOUND = "CREATE TABLE found (place BLOB PRIMARY KEY, similarity REAL) WITHOUT ROWID"


def check_at_least(at_least: float) -> None:
    """Raise `InvalidArgument` for what is no similarity above 0."""
    if isinstance(at_least, bool) or not isinstance(at_least, int | float) or not 0 < at_least <= 1:
        raise InvalidArgument(f"at_least={at_least!r} must be a share above 0, and 1 at most")


class NearDuplicatesQuestion(TableQuestion[NearDuplicate]):
    """Which pages of a scope have nearly the text of a page."""

    listing = LISTING

    def __init__(
        self,
        context: TableContext,
        scope: Scope,
        window: Window,
        url: str,
        at_least: float,
        columns: Sequence[str] | None,
    ) -> None:
        super().__init__(context, scope, window)
        check_at_least(at_least)
        self.url: str = canonical_url(url)
        self.at_least = at_least
        among = "" if scope.place is None else f" among the {scope}"
        self.title: str = f"pages with at least {at_least:g} of the text of {self.url}{among}"
        names = column_names(columns)
        self.columns: Columns = records_with(names, NEAR_DUPLICATES)
        self.fields: Sequence[str] = fields_of(names)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicate]:
        if self.window.order == "similarity":
            return self._by_similarity(after, damage)
        return (duplicate for _, duplicate in self._confirmed(after, self.fields, damage))

    def place(self, result: NearDuplicate) -> bytes:
        key = self.context.key.unsalted(self.context.key.encode(result.page.url))
        return key if self.window.order == "url" else _place(result.similarity, key)

    def explain(self) -> Explanation:
        notes = ["each entry is checked against its page: the body is read, and its text compared"]
        if self.window.order != "url":
            notes.append("all of them are read for any part of the answer, and what is found is sorted on disk")
        columns = self.context.codec.select((*self.fields, "body"))
        return self.plan(columns, self._spec(self._own()[0]).ranges, *notes, index=SIMILARITY.name)

    def _by_similarity(self, after: bytes | None, damage: Damage) -> Iterator[NearDuplicate]:
        """Yield the near duplicates after the place *after*, the most similar first; they are sorted on disk."""
        context = self.context
        with TemporaryTables(_FOUND) as scratch:
            duplicates = self._confirmed(None, (), damage)
            places = ((_place(duplicate.similarity, key), duplicate.similarity) for key, duplicate in duplicates)
            scratch.fill("found", places, 2)
            rows = scratch.rows("SELECT place, similarity FROM found WHERE place > ? ORDER BY place", (after or b"",))
            while piece := list(islice(rows, BODY_ROWS)):
                keys = [context.key.salted(place.partition(b" ")[2]) for place, _ in piece]
                pages = context.counted.read_each(keys, self.fields)
                for (_, similarity), stored in zip(piece, pages, strict=True):
                    for page in damage.sift([stored]):
                        if page is not None:
                            yield NearDuplicate(context.refreshed.counted(page, self.fields), similarity)

    def _own(self) -> tuple[str, Hashes]:
        """Return the signature and the shingles of the page itself; raises `DamagedRow`."""
        from webtable.page.similarity import shingles  # it needs numpy, which only this answer does

        (page,) = self.context.pages.read([self.context.key.encode(self.url)], ("body",))
        if page is None or page.body is None:
            return "", shingles("")
        signed = with_signature(page, page.body) if is_unsigned(page) else page
        return signed.stored.similarity or "", shingles(page.main_text or "")

    def _spec(self, signature: str) -> ScanSpec:
        """Return the scan of the entries that have a band of *signature*."""
        table = self.context.indexes.ready(SIMILARITY.name, self.title).table
        page = msgspec.structs.replace(BLANK, has_body=True, _similarity=signature)
        terms = [SIMILARITY.term(term) for term in SIMILARITY.terms(page)]
        ranges = [keys for term in terms for keys in SIMILARITY.ranges(SIMILARITY.range_of(term.decode()), term)]
        return ScanSpec(table, ranges, Wanted([INDEX_COLUMN], keys_only=True), expected=BODY_ROWS)

    def _confirmed(
        self, after: bytes | None, fields: Sequence[str], damage: Damage
    ) -> Iterator[tuple[bytes, NearDuplicate]]:
        """Yield the near duplicates after the row key *after*, each with its key, in the order of these."""
        from webtable.page.similarity import shingles, similarity

        context = self.context
        context.indexes.ready(SIMILARITY.name, self.title)
        signature, own = self._own()
        candidates = self._candidates(self._spec(signature), after, damage)
        while piece := list(islice(candidates, BODY_ROWS)):
            pages = context.counted.read_each([row for _, row in piece], (*fields, "body"))
            context.counts(f"{SIMILARITY.name}.read", len(piece))
            for (key, _), stored in zip(piece, pages, strict=True):
                for page in damage.sift([stored]):
                    share = 0.0 if page is None else similarity(own, shingles(page.main_text or ""))
                    if page is None or share < self.at_least:
                        context.counts(f"{SIMILARITY.name}.dropped")
                        continue
                    asked_for = page if "body" in fields else msgspec.structs.replace(page, body=None)
                    yield key, NearDuplicate(context.refreshed.counted(asked_for, fields), share)

    def _candidates(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys of the other pages that entries name, each once in their order, without and with salts."""
        key, contains = self.context.key, self.scope.contains()
        itself = key.unsalted(key.encode(self.url))
        rows = in_key_order(self.context.store, spec, _named, None, after)
        # A page comes once for each band that it shares.
        for named, _ in groupby(rows, lambda row: _named(row.key)):
            if named == itself or (contains is not None and not contains(named)):
                continue
            try:
                yield named, key.salted(named)
            except ValueError as exc:
                damage.add(DamagedRow(named, None, f"{spec.table}: not a valid entry of the index: {exc}"))


def _place(similarity: float, key: bytes) -> bytes:
    """Return the place of the page *key* among others, the most similar first."""
    return b"%010d %s" % (round(_ONE * (1 - similarity)), key)


def _named(entry: bytes) -> bytes:
    return SIMILARITY.row_of(place_of(entry))


# --- Groups -----------------------------------------------------------------------------------------------------------
#
# Candidates share a band; they are joined if their texts are alike, and what is joined to one page is a group.


ALL_COMPARED = 16
"""Up to how many pages with a band in common are compared each with each.

Of more, each is compared with the first of them, and with as many others, each the first of another group.
"""
_KEPT_BYTES = 32 * 2**20
"""How many bytes of shingles are kept for comparisons to come."""
_PIECE = 256
"""How many pages are signed, and how many candidates are read, at once."""

_TABLES = (
    "CREATE TABLE pages (number INTEGER PRIMARY KEY, place BLOB, size INTEGER, digest TEXT)",
    "CREATE TABLE bands (band TEXT, number INTEGER, PRIMARY KEY (band, number)) WITHOUT ROWID",
)
_SAME = "SELECT digest, number FROM pages WHERE digest IS NOT NULL ORDER BY digest, number"
_SHARED = """
    SELECT band, number FROM bands WHERE band IN (SELECT band FROM bands GROUP BY band HAVING count(*) > 1)
    ORDER BY band, number
"""


@dataclass(frozen=True, slots=True)
class NearDuplicateGroup:
    """Pages whose main texts are nearly the same: their number, the size of all bodies, the first ten of their URLs."""

    pages: int
    bytes: int
    urls: tuple[str, ...]


NEAR_DUPLICATE_GROUPS = declared(
    NearDuplicateGroup,
    "group",
    column("pages", "count"),
    column("bytes", "bytes", heading="size"),
    column("urls", "urls", lambda group: list(group.urls)),
)
GROUPS_LISTING = Listing(
    "near_duplicate_groups",
    NEAR_DUPLICATE_GROUPS,
    orders=("pages", "bytes"),
    options=(SITE, AT_LEAST, FACETS),
    examples=(
        "webtable near-duplicate-groups example.com --limit 20",
        "webtable near-duplicate-groups example.com --facets",
        "webtable near-duplicate-groups example.com --at-least 0.9 --format csv > near.csv",
    ),
    indexes=(SIMILARITY,),
    help="""List the groups of pages whose main texts are nearly the same: the group with the most pages first.

    Each has how many pages, how many bytes in all, and the first ten URLs.
    """,
)


class NearDuplicateGroupsQuestion(GroupsQuestion[NearDuplicateGroup]):
    """Which pages of a scope have nearly the same text."""

    listing = GROUPS_LISTING
    notes: Sequence[str] = ("the texts of pages that have a band of their signatures in common are read and compared",)

    def __init__(self, context: TableContext, scope: Scope, window: Window, at_least: float, *, facets: bool) -> None:
        super().__init__(context, scope, window)
        check_at_least(at_least)
        self.at_least = at_least
        self.facets = facets
        of = OF_FACETS if facets else ""
        self.title: str = f"{self.pages.label} in groups with at least {at_least:g} of their text in common{of}"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicateGroup]:
        self.context.indexes.ready(SIMILARITY.name, self.title)
        with TemporaryTables(*_TABLES) as scratch:
            count = _fill(self.context, self.pages, scratch, damage, facets=self.facets)
            members = JoinedPages(self.context, scratch, damage, self.at_least, count).members()
            for _, pages, size, urls in groups(scratch, members, self.window.order, after):
                yield NearDuplicateGroup(pages, size, urls)


def _fill(context: TableContext, pages: ScopeRows, scratch: TemporaryTables, damage: Damage, *, facets: bool) -> int:
    """Fill the tables of *scratch* with the pages that have a signature, and return the number of these.

    Of *facets* only pages with one path have bands and digests in common.
    """

    def of(page: Page) -> str:
        return blake3(path_of(page)).hexdigest(length=8) if facets else ""

    count = 0
    stored = filter(is_facet if facets else is_content, pages.all(damage))
    while piece := list(islice(stored, _PIECE)):
        read = damage.sift(read_and_signed(context, [(context.key.encode(page.url), page) for page in piece]))
        signed = list(enumerate((page for page in read if page._similarity), count))
        count += len(signed)
        rows = (
            (number, pages.by_url(page.url), size_of(page), page.digest and page.digest + of(page))
            for number, page in signed
        )
        scratch.fill("pages (number, place, size, digest)", rows, 4)
        bands = ((f"{band}{of(page)}", number) for number, page in signed for band in SIMILARITY.terms(page))
        scratch.fill("bands", bands, 2)
    return count


class JoinedPages:
    """Pages by numbers, joined where their texts are alike: each has another one of its group, or leads it."""

    def __init__(
        self, context: TableContext, scratch: TemporaryTables, damage: Damage, at_least: float, count: int
    ) -> None:
        self._context = context
        self._scratch = scratch
        self._damage = damage
        self._at_least = at_least
        # Four bytes a page are all that stays in memory.
        self._parents = array("I", range(count))
        self._recent = RecentValues[int, "Hashes"](_KEPT_BYTES)

    def members(self) -> Iterator[tuple[int, bytes, int]]:
        """Join all pages, and yield those of groups of two or more: the leader's number, the place and the size."""
        # Pages with equal content are alike without a look at their texts.
        before: tuple[str, int] = "", 0
        for digest, number in self._scratch.rows(_SAME):
            if digest == before[0]:
                self._join(before[1], number)
            before = digest, number
        self._join_similar()
        parents = self._parents
        # Now each page has its leader as its parent, and only leaders of others are groups.
        leads = bytearray(len(parents))
        for number in range(len(parents)):
            if (leader := self._leader(number)) != number:
                leads[leader] = 1
        rows = self._scratch.rows("SELECT number, place, size FROM pages")
        return ((parents[number], place, size) for number, place, size in rows if leads[parents[number]])

    def _join_similar(self) -> None:
        rows = self._scratch.rows(_SHARED)
        band, compared = "", list[int]()
        while piece := list(islice(rows, _PIECE)):
            self._read_ahead(piece)
            for shared, number in piece:
                if shared != band:
                    band, compared = shared, []
                self._join_each(number, compared)

    def _join_each(self, number: int, compared: list[int]) -> None:
        """Join a page with those of *compared*, of the pages with its band, that are like it; and add it to these."""
        for other in compared:
            if self._leader(number) != self._leader(other) and self._is_like(number, other):
                self._join(number, other)
        limit = ALL_COMPARED
        if len(compared) >= limit and self._leader(number) not in map(self._leader, compared):
            limit *= 2
        if len(compared) < limit:
            compared.append(number)

    def _leader(self, number: int) -> int:
        # Each page on the way gets the leader as its parent, so that chains stay short (a disjoint-set forest).
        parents = self._parents
        leader = number
        while parents[leader] != leader:
            leader = parents[leader]
        while parents[number] != leader:
            parents[number], number = leader, parents[number]
        return leader

    def _join(self, number: int, other: int) -> None:
        first, second = sorted((self._leader(number), self._leader(other)))
        self._parents[second] = first

    def _is_like(self, number: int, other: int) -> bool:
        from webtable.page.similarity import similarity

        return similarity(self._shingles(number), self._shingles(other)) >= self._at_least

    def _read_ahead(self, piece: Sequence[tuple[str, int]]) -> None:
        """Read the texts that the comparisons of a *piece* are likely to need, in few calls."""
        wanted: dict[int, None] = {}
        for _, rows in groupby(piece, itemgetter(0)):
            numbers = [number for _, number in rows]
            if len(numbers) == 1 or len(set(map(self._leader, numbers))) > 1:
                wanted.update(dict.fromkeys(numbers))
        self._read([number for number in wanted if number not in self._recent])

    def _shingles(self, number: int) -> Hashes:
        kept = self._recent.get(number)
        return self._read([number]) if kept is None else kept

    def _read(self, numbers: Sequence[int]) -> Hashes:
        """Read the texts of the pages *numbers*, keep their shingles, and return those of the last one."""
        from webtable.page.similarity import shingles

        hashes = shingles("")
        rows = [self._context.key.salted(self._place(number)) for number in numbers]
        for number, stored in zip(numbers, self._context.counted.read_each(rows, ("body",)), strict=True):
            text = ""
            for page in self._damage.sift([stored]):
                text = (page and page.main_text) or ""
            hashes = shingles(text)
            self._recent.keep(number, hashes, hashes.nbytes)
        return hashes

    def _place(self, number: int) -> bytes:
        row = self._scratch.first("SELECT place FROM pages WHERE number = ?", (number,))
        return row[0] if row else b""

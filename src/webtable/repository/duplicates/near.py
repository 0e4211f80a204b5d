"""The near duplicates of a page: candidates that have a band of its signature, confirmed by what their texts share."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from webtable._recent import RecentValues
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import BLANK, Page
from webtable.repository.answers.columns import column, column_names, declared, fields_of, page_in, records_with
from webtable.repository.answers.listing import SITE, URL, Listing, ListingOption
from webtable.repository.answers.tokens import number_of
from webtable.repository.arguments import LIKE
from webtable.repository.context import TableContext
from webtable.repository.indexes.index import HIGHEST_SIZE, SIMILARITY, place_of
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.pages import ScopeRows, SortedQuestion, TableQuestion, url_at
from webtable.repository.reading.scan import ScanSpec, in_key_order
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.repository.upkeep.cells import is_unsigned, read_and_signed, with_signature
from webtable.rowkey import canonical_url
from webtable.schema import INDEX_COLUMN
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page.similarity import Hashes
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.reading.read_ahead import Damage
    from webtable.rowkey import KeyRange


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
    *page_in(attrgetter("page"), [one.name for one in _OWN]),
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


class Wish(NamedTuple):
    """What is asked for: the pages like that at `url`, which have at least this similarity."""

    url: str
    at_least: float


def check_at_least(at_least: float) -> None:
    """Raise `InvalidArgument` for what is no similarity above 0."""
    if isinstance(at_least, bool) or not isinstance(at_least, int | float) or not 0 < at_least <= 1:
        raise InvalidArgument(f"at_least={at_least!r} must be a share above 0, and 1 at most")


class NearDuplicatesQuestion(TableQuestion[NearDuplicate]):
    """Which pages of a scope have nearly the text of a page."""

    listing = LISTING

    def __init__(
        self, context: TableContext, scope: Scope, window: Window, wish: Wish, columns: Sequence[str] | None
    ) -> None:
        super().__init__(context, scope, window)
        check_at_least(wish.at_least)
        wish = wish._replace(url=canonical_url(wish.url))
        among = "" if scope.place is None else f" among the {scope}"
        self.title: str = f"pages with at least {wish.at_least:g} of the text of {wish.url}{among}"
        names = column_names(columns)
        self.columns: Columns = records_with(names, NEAR_DUPLICATES)
        self._similarity = _Similarity(context, wish, scope, fields_of(names), self.title)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicate]:
        if self.window.order == "url":
            return self._similarity.by_url(after, damage)
        return self._similarity.by_similarity(after, damage)

    def place(self, result: NearDuplicate) -> bytes:
        key = self.context.key.unsalted(self.context.key.encode(result.page.url))
        return key if self.window.order == "url" else _place(result.similarity, key)

    def explain(self) -> Explanation:
        notes = ["each entry is checked against its page: the body is read, and its text compared"]
        if self.window.order != "url":
            notes.append("all of them are read for any part of the answer, and what is found is sorted on disk")
        return self.plan(*self._similarity.read(), *notes, index=SIMILARITY.name)


def _place(similarity: float, key: bytes) -> bytes:
    """Return the place of the page *key* among others, the most similar first."""
    return b"%010d %s" % (round(_ONE * (1 - similarity)), key)


@dataclass(frozen=True, slots=True)
class _Similarity:
    """What is like a page: the page fields *names* are read of it."""

    context: TableContext
    wish: Wish
    scope: Scope
    names: Sequence[str]
    question: str

    def by_url(self, after: bytes | None, damage: Damage) -> Iterator[NearDuplicate]:
        """Yield the near duplicates after the row key *after* in the order of their URLs."""
        for _, one in self._confirmed(after, self.names, damage):
            yield one

    def by_similarity(self, after: bytes | None, damage: Damage) -> Iterator[NearDuplicate]:
        """Yield the near duplicates after the place *after*, the most similar first; they are sorted on disk."""
        with TemporaryTables("CREATE TABLE found (place BLOB PRIMARY KEY, similarity REAL) WITHOUT ROWID") as found:
            some = ((_place(one.similarity, key), one.similarity) for key, one in self._confirmed(None, (), damage))
            found.fill("found", some, 2)
            rows = found.rows("SELECT place, similarity FROM found WHERE place > ? ORDER BY place", (after or b"",))
            while piece := list(islice(rows, BODY_ROWS)):
                keys = [self.context.key.salted(place.partition(b" ")[2]) for place, _ in piece]
                pages = self.context.counted.read_each(keys, self.names)
                for (_, similarity), page in zip(piece, pages, strict=True):
                    for whole in damage.sift([page]):
                        if whole is not None:
                            yield NearDuplicate(self.context.refreshed.counted(whole, self.names), similarity)

    def read(self) -> tuple[Sequence[bytes], Sequence[KeyRange]]:
        """Return the columns of pages and the ranges of entries that are read."""
        return self.context.codec.select((*self.names, "body")), self._spec(self._own()[0]).ranges

    def _own(self) -> tuple[str, Hashes]:
        """Return the signature and the shingles of the page itself; raises `DamagedRow`."""
        from webtable.page.similarity import shingles  # it needs numpy, which only this answer does

        (page,) = self.context.pages.read([self.context.key.encode(self.wish.url)], ("body",))
        if page is None or page.body is None:
            return "", shingles("")
        signed = with_signature(page, page.body) if is_unsigned(page) else page
        return signed.stored.similarity or "", shingles(page.main_text or "")

    def _spec(self, signature: str) -> ScanSpec:
        table = self.context.indexes.ready(SIMILARITY.name, self.question).table
        page = msgspec.structs.replace(BLANK, has_body=True, _similarity=signature)
        terms = [SIMILARITY.term(term) for term in SIMILARITY.terms(page)]
        ranges = [keys for term in terms for keys in SIMILARITY.ranges(SIMILARITY.range_of(term.decode()), term)]
        return ScanSpec(table, ranges, Wanted([INDEX_COLUMN], keys_only=True), expected=BODY_ROWS)

    def _confirmed(
        self, after: bytes | None, names: Sequence[str], damage: Damage
    ) -> Iterator[tuple[bytes, NearDuplicate]]:
        """Yield the near duplicates after the row key *after*, each with its key, in the order of these."""
        from webtable.page.similarity import shingles, similarity

        context = self.context
        context.indexes.ready(SIMILARITY.name, self.question)
        signature, own = self._own()
        candidates = self._candidates(self._spec(signature), after, damage)
        while piece := list(islice(candidates, BODY_ROWS)):
            pages = context.counted.read_each([row for _, row in piece], (*names, "body"))
            context.counts(f"{SIMILARITY.name}.read", len(piece))
            for (key, _), page in zip(piece, pages, strict=True):
                for whole in damage.sift([page]):
                    like = 0.0 if whole is None else similarity(own, shingles(whole.main_text or ""))
                    if whole is None or like < self.wish.at_least:
                        context.counts(f"{SIMILARITY.name}.dropped")
                        continue
                    kept = whole if "body" in names else msgspec.structs.replace(whole, body=None)
                    yield key, NearDuplicate(context.refreshed.counted(kept, names), like)

    def _candidates(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys of the other pages that entries name, each once in their order, without and with salts."""
        key, keep = self.context.key, self.scope.contains()
        itself = key.unsalted(key.encode(self.wish.url))
        rows = in_key_order(self.context.store, spec, _named, None, after)
        for named, _ in groupby(rows, lambda row: _named(row.key)):
            if named == itself or (keep is not None and not keep(named)):
                continue
            try:
                yield named, key.salted(named)
            except ValueError as exc:
                damage.add(DamagedRow(named, None, f"{spec.table}: not a valid entry of the index: {exc}"))


def _named(entry: bytes) -> bytes:
    return SIMILARITY.row_of(place_of(entry))


# --- The groups of near duplicates among the pages of a site: candidates that share a band, confirmed by their texts


FIRST_URLS = 10
"""How many URLs of a group are listed."""
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
    "CREATE TABLE found (leader INTEGER, place BLOB, size INTEGER)",
)
_INDEX = "CREATE INDEX by_leader ON found (leader, place, size)"
_SAME = "SELECT digest, number FROM pages WHERE digest IS NOT NULL ORDER BY digest, number"
_SHARED = """
    SELECT band, number FROM bands WHERE band IN (SELECT band FROM bands GROUP BY band HAVING count(*) > 1)
    ORDER BY band, number
"""
_GROUPS = """
    SELECT leader, pages, bytes FROM (
        SELECT leader, count(*) AS pages, sum(size) AS bytes, min(place) AS first FROM found GROUP BY leader
    ) WHERE (-{order}, first) > (?, ?) ORDER BY -{order}, first
"""
_FIRST = f"SELECT place FROM found WHERE leader = ? ORDER BY place LIMIT {FIRST_URLS}"
_BEFORE_ALL = -(2**63), b""


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
    options=(SITE, AT_LEAST),
    examples=(
        "webtable near-duplicate-groups example.com --limit 20",
        "webtable near-duplicate-groups example.com --at-least 0.9 --format csv > near.csv",
    ),
    indexes=(SIMILARITY,),
    help="""List the groups of pages whose main texts are nearly the same: the group with the most pages first.

    Each has how many pages, how many bytes in all, and the first ten URLs.
    """,
)


class NearDuplicateGroupsQuestion(SortedQuestion[NearDuplicateGroup]):
    """Which pages of a scope have nearly the same text."""

    listing = GROUPS_LISTING
    notes: Sequence[str] = ("the texts of pages that have a band of their signatures in common are read and compared",)

    def __init__(self, context: TableContext, scope: Scope, window: Window, at_least: float) -> None:
        super().__init__(context, scope, window)
        check_at_least(at_least)
        self.at_least = at_least
        self.title: str = f"{self.pages.label} in groups with at least {at_least:g} of their text in common"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicateGroup]:
        self.context.indexes.ready(SIMILARITY.name, self.title)
        with TemporaryTables(*_TABLES) as scratch:
            count = _filled(self.context, self.pages, scratch, damage)
            _Joined(self.context, scratch, damage, self.at_least, count).fill()
            scratch.run(_INDEX)
            yield from _groups(scratch, self.window.order, after)

    def place(self, result: NearDuplicateGroup) -> bytes:
        return b"%d %s" % (-getattr(result, self.window.order), self.pages.by_url(result.urls[0]))


def _filled(context: TableContext, pages: ScopeRows, found: TemporaryTables, damage: Damage) -> int:
    """Fill the tables *found* with the pages that have a signature, and return the number of these."""
    count = 0
    rest = pages.all(damage)
    while some := list(islice(rest, _PIECE)):
        signed = damage.sift(read_and_signed(context, [(context.key.encode(page.url), page) for page in some]))
        known = [(number, page) for number, page in enumerate((page for page in signed if page._similarity), count)]
        count += len(known)
        rows = ((number, pages.by_url(one.url), min(one.size or 0, HIGHEST_SIZE), one.digest) for number, one in known)
        found.fill("pages (number, place, size, digest)", rows, 4)
        found.fill("bands", ((band, number) for number, page in known for band in SIMILARITY.terms(page)), 2)
    return count


class _Joined:
    """Pages by numbers, joined where their texts are alike: each has another one of its group, or leads it."""

    def __init__(
        self, context: TableContext, found: TemporaryTables, damage: Damage, at_least: float, count: int
    ) -> None:
        self._context = context
        self._found = found
        self._damage = damage
        self._at_least = at_least
        # Four bytes a page are all that stays in memory.
        self._parents = array("I", range(count))
        self._known = RecentValues[int, "Hashes"](_KEPT_BYTES)

    def fill(self) -> None:
        """Join all pages, and fill the table with the groups of two or more."""
        before: tuple[str, int] = "", 0
        for digest, number in self._found.rows(_SAME):
            if digest == before[0]:
                self._join(before[1], number)
            before = digest, number
        self._join_similar()
        parents = self._parents
        leads = bytearray(len(parents))
        for number in range(len(parents)):
            if (leader := self._leader(number)) != number:
                leads[leader] = 1
        rows = self._found.rows("SELECT number, place, size FROM pages")
        members = ((parents[number], place, size) for number, place, size in rows if leads[parents[number]])
        self._found.fill("found", members, 3)

    def _join_similar(self) -> None:
        rows = self._found.rows(_SHARED)
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
        most = ALL_COMPARED
        if len(compared) >= most and self._leader(number) not in map(self._leader, compared):
            most *= 2
        if len(compared) < most:
            compared.append(number)

    def _leader(self, number: int) -> int:
        parents = self._parents
        leader = number
        while parents[leader] != leader:
            leader = parents[leader]
        while parents[number] != leader:
            parents[number], number = leader, parents[number]
        return leader

    def _join(self, one: int, other: int) -> None:
        first, second = sorted((self._leader(one), self._leader(other)))
        self._parents[second] = first

    def _is_like(self, one: int, other: int) -> bool:
        from webtable.page.similarity import similarity

        return similarity(self._shingles(one), self._shingles(other)) >= self._at_least

    def _read_ahead(self, piece: Sequence[tuple[str, int]]) -> None:
        """Read the texts that the comparisons of a *piece* are likely to need, in few calls."""
        wanted: dict[int, None] = {}
        for _, some in groupby(piece, itemgetter(0)):
            numbers = [number for _, number in some]
            if len(numbers) == 1 or len(set(map(self._leader, numbers))) > 1:
                wanted.update(dict.fromkeys(numbers))
        self._read([number for number in wanted if number not in self._known])

    def _shingles(self, number: int) -> Hashes:
        known = self._known.get(number)
        return self._read([number]) if known is None else known

    def _read(self, numbers: Sequence[int]) -> Hashes:
        """Read the texts of the pages *numbers*, keep their shingles, and return those of the last one."""
        from webtable.page.similarity import shingles

        hashes = shingles("")
        rows = [self._context.key.salted(self._place(number)) for number in numbers]
        for number, page in zip(numbers, self._context.counted.read_each(rows, ("body",)), strict=True):
            text = ""
            for whole in self._damage.sift([page]):
                text = (whole and whole.main_text) or ""
            hashes = shingles(text)
            self._known.keep(number, hashes, hashes.nbytes)
        return hashes

    def _place(self, number: int) -> bytes:
        found = self._found.first("SELECT place FROM pages WHERE number = ?", (number,))
        return found[0] if found else b""


def _groups(found: TemporaryTables, order: str, after: bytes | None) -> Iterator[NearDuplicateGroup]:
    start: tuple[int, bytes] = _BEFORE_ALL
    if after is not None:
        number, _, place = after.partition(b" ")
        start = number_of(number), place
    for leader, pages, size in found.rows(_GROUPS.format(order=order), start):
        urls = tuple(url_at(place) for (place,) in found.rows(_FIRST, (leader,)))
        yield NearDuplicateGroup(pages, size, urls)

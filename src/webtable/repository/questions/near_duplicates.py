"""The near duplicates of a page: candidates that have a band of its signature, confirmed by what their texts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import BLANK, Page
from webtable.repository.answers.columns import column, column_names, declared, fields_of
from webtable.repository.answers.listing import SITE, URL, Listing, ListingOption
from webtable.repository.answers.page_columns import page_in, records_with
from webtable.repository.arguments import LIKE
from webtable.repository.context import Frame
from webtable.repository.derived.signatures import is_unsigned, with_signature
from webtable.repository.indexes.index import LIKENESS, place_of
from webtable.repository.page_storage.cells import BODY_ROWS
from webtable.repository.questions.rows import TableQuestion
from webtable.repository.reading.scan import ScanSpec, in_key_order
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.temporary_tables import TemporaryTables
from webtable.rowkey import canonical_url
from webtable.schema import INDEX_COLUMN
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.page.similarity import Hashes
    from webtable.repository.answers.columns import Columns
    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.reading.damage import Damage
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
    indexes=(LIKENESS,),
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

    def __init__(self, frame: Frame, scope: Scope, window: Window, wish: Wish, columns: Sequence[str] | None) -> None:
        super().__init__(frame, scope, window, LISTING)
        check_at_least(wish.at_least)
        wish = wish._replace(url=canonical_url(wish.url))
        among = "" if scope.place is None else f" among the {scope}"
        self.title: str = f"pages with at least {wish.at_least:g} of the text of {wish.url}{among}"
        names = column_names(columns)
        self.columns: Columns = records_with(names, NEAR_DUPLICATES)
        self._likeness = _Likeness(frame, wish, scope, fields_of(names), self.title)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicate]:
        if self.window.order == "url":
            return self._likeness.by_url(after, damage)
        return self._likeness.by_similarity(after, damage)

    def place(self, result: NearDuplicate) -> bytes:
        key = self.frame.key.unsalted(self.frame.key.encode(result.page.url))
        return key if self.window.order == "url" else _place(result.similarity, key)

    def explain(self) -> Explanation:
        notes = ["each entry is checked against its page: the body is read, and its text compared"]
        if self.window.order != "url":
            notes.append("all of them are read for any part of the answer, and what is found is sorted on disk")
        return self.plan(*self._likeness.read(), *notes, index=LIKENESS.name)


def _place(similarity: float, key: bytes) -> bytes:
    """Return the place of the page *key* among others, the most similar first."""
    return b"%010d %s" % (round(_ONE * (1 - similarity)), key)


@dataclass(frozen=True, slots=True)
class _Likeness:
    """What is like a page: the page fields *names* are read of it."""

    frame: Frame
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
                keys = [self.frame.key.salted(place.partition(b" ")[2]) for place, _ in piece]
                pages = self.frame.counted.read_each(keys, self.names)
                for (_, similarity), page in zip(piece, pages, strict=True):
                    for whole in damage.sift([page]):
                        if whole is not None:
                            yield NearDuplicate(self.frame.refreshed.counted(whole, self.names), similarity)

    def read(self) -> tuple[Sequence[bytes], Sequence[KeyRange]]:
        """Return the columns of pages and the ranges of entries that are read."""
        return self.frame.codec.select((*self.names, "body")), self._spec(self._own()[0]).ranges

    def _own(self) -> tuple[str, Hashes]:
        """Return the signature and the shingles of the page itself; raises `DamagedRow`."""
        from webtable.page.similarity import shingles  # it needs numpy, which only this answer does

        (page,) = self.frame.pages.read([self.frame.key.encode(self.wish.url)], ("body",))
        if page is None or page.body is None:
            return "", shingles("")
        signed = with_signature(page, page.body) if is_unsigned(page) else page
        return signed.stored.likeness or "", shingles(page.main_text or "")

    def _spec(self, signature: str) -> ScanSpec:
        table = self.frame.indexes.ready(LIKENESS.name, self.question).table
        page = msgspec.structs.replace(BLANK, has_body=True, _likeness=signature)
        terms = [LIKENESS.term(term) for term in LIKENESS.terms(page)]
        ranges = [keys for term in terms for keys in LIKENESS.ranges(LIKENESS.range_of(term.decode()), term)]
        return ScanSpec(table, ranges, Wanted([INDEX_COLUMN], keys_only=True), expected=BODY_ROWS)

    def _confirmed(
        self, after: bytes | None, names: Sequence[str], damage: Damage
    ) -> Iterator[tuple[bytes, NearDuplicate]]:
        """Yield the near duplicates after the row key *after*, each with its key, in the order of these."""
        from webtable.page.similarity import shingles, similarity

        frame = self.frame
        frame.indexes.ready(LIKENESS.name, self.question)
        signature, own = self._own()
        candidates = self._candidates(self._spec(signature), after, damage)
        while piece := list(islice(candidates, BODY_ROWS)):
            pages = frame.counted.read_each([row for _, row in piece], (*names, "body"))
            frame.counts(f"{LIKENESS.name}.read", len(piece))
            for (key, _), page in zip(piece, pages, strict=True):
                for whole in damage.sift([page]):
                    like = 0.0 if whole is None else similarity(own, shingles(whole.main_text or ""))
                    if whole is None or like < self.wish.at_least:
                        frame.counts(f"{LIKENESS.name}.dropped")
                        continue
                    kept = whole if "body" in names else msgspec.structs.replace(whole, body=None)
                    yield key, NearDuplicate(frame.refreshed.counted(kept, names), like)

    def _candidates(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys of the other pages that entries name, each once in their order, without and with salts."""
        key, keep = self.frame.key, self.scope.contains()
        itself = key.unsalted(key.encode(self.wish.url))
        rows = in_key_order(self.frame.store, spec, _named, None, after)
        for named, _ in groupby(rows, lambda row: _named(row.key)):
            if named == itself or (keep is not None and not keep(named)):
                continue
            try:
                yield named, key.salted(named)
            except ValueError as exc:
                damage.add(DamagedRow(named, None, f"{spec.table}: not a valid entry of the index: {exc}"))


def _named(entry: bytes) -> bytes:
    return LIKENESS.row_of(place_of(entry))

"""The groups of near duplicates among the pages of a site: candidates that share a band, confirmed by their texts."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING

from webtable._recent import RecentValues
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.answers.tokens import number_of
from webtable.repository.derived.signatures import read_and_signed
from webtable.repository.indexes.index import HIGHEST_SIZE, LIKENESS
from webtable.repository.questions.near_duplicates import AT_LEAST, check_at_least
from webtable.repository.questions.rows import ScopeRows, SortedQuestion, url_at
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.page.similarity import Hashes
    from webtable.repository.answers.results import Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope

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
LISTING = Listing(
    "near_duplicate_groups",
    NEAR_DUPLICATE_GROUPS,
    orders=("pages", "bytes"),
    options=(SITE, AT_LEAST),
    examples=(
        "webtable near-duplicate-groups example.com --limit 20",
        "webtable near-duplicate-groups example.com --at-least 0.9 --format csv > near.csv",
    ),
    indexes=(LIKENESS,),
    help="""List the groups of pages whose main texts are nearly the same: the group with the most pages first.

    Each has how many pages, how many bytes in all, and the first ten URLs.
    """,
)


class NearDuplicateGroupsQuestion(SortedQuestion[NearDuplicateGroup]):
    """Which pages of a scope have nearly the same text."""

    notes: Sequence[str] = ("the texts of pages that have a band of their signatures in common are read and compared",)

    def __init__(self, frame: Frame, scope: Scope, window: Window, at_least: float) -> None:
        super().__init__(frame, scope, window, LISTING)
        check_at_least(at_least)
        self.at_least = at_least
        self.title: str = f"{self.pages.label} in groups with at least {at_least:g} of their text in common"

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[NearDuplicateGroup]:
        self.frame.indexes.ready(LIKENESS.name, self.title)
        with TemporaryTables(*_TABLES) as scratch:
            count = _filled(self.frame, self.pages, scratch, damage)
            _Joined(self.frame, scratch, damage, self.at_least, count).fill()
            scratch.run(_INDEX)
            yield from _groups(scratch, self.window.order, after)

    def place(self, result: NearDuplicateGroup) -> bytes:
        return b"%d %s" % (-getattr(result, self.window.order), self.pages.by_url(result.urls[0]))


def _filled(frame: Frame, pages: ScopeRows, found: TemporaryTables, damage: Damage) -> int:
    """Fill the tables *found* with the pages that have a signature, and return the number of these."""
    count = 0
    rest = pages.all(damage)
    while some := list(islice(rest, _PIECE)):
        signed = damage.sift(read_and_signed(frame, [(frame.key.encode(page.url), page) for page in some]))
        known = [(number, page) for number, page in enumerate((page for page in signed if page._likeness), count)]
        count += len(known)
        rows = ((number, pages.by_url(one.url), min(one.size or 0, HIGHEST_SIZE), one.digest) for number, one in known)
        found.fill("pages (number, place, size, digest)", rows, 4)
        found.fill("bands", ((band, number) for number, page in known for band in LIKENESS.terms(page)), 2)
    return count


class _Joined:
    """Pages by numbers, joined where their texts are alike: each has another one of its group, or leads it."""

    def __init__(self, frame: Frame, found: TemporaryTables, damage: Damage, at_least: float, count: int) -> None:
        self._frame = frame
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
        rows = [self._frame.key.salted(self._place(number)) for number in numbers]
        for number, page in zip(numbers, self._frame.counted.read_each(rows, ("body",)), strict=True):
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

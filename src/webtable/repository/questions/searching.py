"""Words in titles and bodies: rows are read and matched a little ahead of the caller, and bodies are not kept."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from webtable.errors import DamagedRow
from webtable.repository.codec import EXTRA_COLUMNS, column_names
from webtable.repository.damage import Damage
from webtable.repository.matching import Hit, Matcher, SearchIn
from webtable.repository.questions.pages import ROW_ORDERS, PageQuestions
from webtable.repository.read_ahead import PIECE_ROWS, READ_AHEAD_BYTES
from webtable.repository.results import Explanation, Results, check_order, position_of
from webtable.repository.scan import ScanSpec
from webtable.repository.words import Words
from webtable.rowkey import KeyRange
from webtable.store import Containing, Row
from webtable.store.wanted import Wanted
from webtable.threads import Task, Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from webtable.page import Page

# Reading text out of HTML keeps the GIL: 6,443 real pages took 4.8 s with one thread, 5.0 with two and 5.2 with four.
MATCHERS = 1
"""How many threads match bodies, beside the caller's, which reads them."""
FEW_ROWS = 16
"""How many bodies are matched at once by a thread at most, and how many before any thread is started."""
FEW_BYTES = 256 * 1024
"""How many stored bytes of bodies are matched at once by a thread at most, but one body at least."""
HITS_AT_ONCE = 64
"""How many pages are completed at once at most, where a title matched and more than the metadata was asked for."""
_WHERE: dict[SearchIn, str] = {"title": "title", "body": "body", "all": "title or body"}


class SearchQuestions(PageQuestions):
    """The question for words."""

    def search(
        self,
        text: str,
        *,
        in_: SearchIn = "all",
        substring: bool = False,
        domain: str | None = None,
        host_only: bool = False,
        path: str | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
        order: str = "url",
        full_scan: bool = False,
    ) -> Results[Hit]:
        """Return the pages with all the words of *text* in their title, their body, or the two together, lazily.

        A phrase in double quotes counts as a word. Case does not matter. Words are what Unicode's rules part (UAX #29):
        `cat` is not found in `application`, `appl*` is, and with *substring* so is `cat`. A body that is neither HTML
        nor text has no words. All bodies in question are read for that; with `in_="title"` none is, and where the table
        has a plain `title` column the store leaves out most pages that do not match. The other arguments are those of
        `pages`; a hit's page has its body only where *columns* names `html`.

        Raises `FullScanNeeded`, `InvalidURL`, `UnknownColumn`, `InvalidToken`, `InvalidArgument`; that too for a quote
        in front of a word that is not closed.
        """
        check_order(order, ROW_ORDERS, limit)
        matcher = Matcher(Words.of(text, substring=substring), in_)
        rows_of, ranges = self._rows_of(domain, host_only=host_only, path=path, full_scan=full_scan)
        words = " and ".join(map(repr, matcher.words.words)) + (" (in words too)" if substring else "")
        question = f"{rows_of} with {words} in their {_WHERE[in_]}"
        names = column_names(columns)
        self._codec.select(names)
        behind = position_of(after, question, order)

        def spec() -> ScanSpec:
            some = ranges
            if domain is None and order == "storage":
                some = [KeyRange()]
            elif domain is not None and not host_only and path is None:
                some = self._existing(domain, ranges)
            if in_ == "title":
                return ScanSpec(
                    self.table, some, Wanted(self._codec.select(None), containing=self._title_filter(matcher))
                )
            return ScanSpec(self.table, some, Wanted(self._codec.select((*names, "html"))))

        def run(after_key: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Hit]:
            if at_most == 0:
                return iter(())
            scan = _Scan(spec(), order, after_key, at_most, damage)
            found = self._in_titles if in_ == "title" else self._in_bodies
            return islice(found(scan, matcher, names), at_most)

        return Results(
            question,
            order,
            limit,
            behind,
            run,
            lambda hit: self._place(hit.page.url, order),
            lambda: self._explain_search(question, order, spec(), in_, names),
            self._damage,
        )

    def _title_filter(self, matcher: Matcher) -> Containing | None:
        if "title" not in self.layout.plain_columns or not matcher.words.texts:
            return None
        return Containing(self._codec.columns.plain["title"], matcher.words.texts)

    def _in_titles(self, scan: _Scan, matcher: Matcher, names: Sequence[str]) -> Iterator[Hit]:
        is_filtered = scan.spec.wanted.containing is not None
        pages = self._likely(scan) if is_filtered else self._scan(scan.spec, scan.order, scan.after, scan.damage)
        hits = (hit for page in pages if (hit := matcher.hit(page)))
        return self._completed(hits, matcher, names, scan) if set(names) & set(EXTRA_COLUMNS) else hits

    def _likely(self, scan: _Scan) -> Iterator[Page]:
        """Yield the pages that the store's filter lets through."""
        # The store is asked for no more rows than are wanted, or it would go on to look for the next ones that match;
        # and for more of them each time, as it may let too many through.
        limit, after = scan.at_most, scan.after
        while True:
            count = 0
            for row in self._rows(dataclasses.replace(scan.spec, limit=limit), scan.order, after):
                count += 1
                after = row.key if scan.order == "storage" else self.key.unsalted(row.key)
                for page in scan.damage.sift([self._reader.each(row)]):
                    if page is not None:
                        yield page
            if limit is None or count < limit:
                return
            limit = min(2 * limit, max(limit, PIECE_ROWS))

    def _completed(self, hits: Iterator[Hit], matcher: Matcher, names: Sequence[str], scan: _Scan) -> Iterator[Hit]:
        """Yield *hits* with the columns *names*: the first by itself, as the next one may be far behind it."""
        size, left = 1, HITS_AT_ONCE if scan.at_most is None else scan.at_most
        while some := list(islice(hits, min(size, left))):
            rows = [self.key.encode(hit.page.url) for hit in some]
            found = self._reader.read_each(rows, names, weights=[hit.page.size or 0 for hit in some])
            for page in scan.damage.sift(found):
                # It may have become another page meanwhile.
                if page is not None and (hit := matcher.hit(page)) is not None:
                    left -= scan.at_most is not None
                    yield hit
            size = min(2 * size, HITS_AT_ONCE)

    def _in_bodies(self, scan: _Scan, matcher: Matcher, names: Sequence[str]) -> Iterator[Hit]:
        rows = self._rows(scan.spec, scan.order, scan.after)
        with closing(matched(rows, lambda row: self._hit(row, matcher), self._codec.columns.html)) as found:
            for row, hit in found:
                if isinstance(hit, DamagedRow):
                    scan.damage.add(hit)
                    continue
                for page in scan.damage.sift([self._reader.each(row) if "html" in names else hit.page]):
                    if page is not None:
                        yield dataclasses.replace(hit, page=self.refreshed.counted(page, names))

    def _hit(self, row: Row, matcher: Matcher) -> Hit | DamagedRow | None:
        page = self._reader.each(row)
        if isinstance(page, DamagedRow):
            return page
        hit = None if page is None else matcher.hit(page)
        return hit and dataclasses.replace(hit, page=msgspec.structs.replace(hit.page, html=None))

    def _explain_search(
        self, question: str, order: str, spec: ScanSpec, in_: SearchIn, names: Sequence[str]
    ) -> Explanation:
        search = spec.wanted.containing
        if search is not None:
            words = ", ".join(map(repr, search.words))
            notes = [f"filter in the store: {search.column.decode()} contains {words}; titles are matched here again"]
        elif in_ == "title":
            notes = ["no filter in the store, for want of a title column or of words for it: titles are matched here"]
        else:
            notes = ["no filter in the store: bodies are unpacked and matched here"]
        extra = [name for name in EXTRA_COLUMNS if name in names]
        if in_ == "title" and extra:
            notes.append(f"{', '.join(extra)}: read for the pages found, {HITS_AT_ONCE} at once")
        return self._explain_scan(question, order, spec, notes)


class _Scan(NamedTuple):
    """Which rows are searched, in which order, from where on, how many hits are wanted, and what is told of damage."""

    spec: ScanSpec
    order: str
    after: bytes | None
    at_most: int | None
    damage: Damage


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows that a thread matches, and how many bytes they have."""

    rows: Sequence[Row]
    size: int
    hits: Task[list[tuple[Row, Hit | DamagedRow]]]


def matched(
    rows: Iterator[Row], match: Callable[[Row], Hit | DamagedRow | None], body: bytes
) -> Generator[tuple[Row, Hit | DamagedRow]]:
    """Yield the rows that *match* has a hit for, with it, in order.

    They are matched by threads, ahead of the caller: at most READ_AHEAD_BYTES of what is stored in the column *body*,
    and no more rows than have been matched so far, so that a few hits do not cost the bodies behind them.
    """
    for row in islice(rows, FEW_ROWS):
        if (hit := match(row)) is not None:
            yield row, hit
    # Threads are not started before there is work for them.
    pool = Threads(MATCHERS, "webtable-search")
    ahead: deque[_Piece] = deque()
    done = FEW_ROWS
    try:
        for some, size in _pieces(rows, body):
            ahead.append(_Piece(some, size, pool.submit(partial(_hits, some, match))))
            while ahead and (ahead[0].hits.done() or _is_far(ahead, done)):
                done += len(ahead[0].rows)
                yield from ahead.popleft().hits.result()
        while ahead:
            yield from ahead.popleft().hits.result()
    finally:
        for piece in ahead:
            piece.hits.cancel()
        pool.close()


def _is_far(ahead: Sequence[_Piece], done: int) -> bool:
    rows, size = sum(len(piece.rows) for piece in ahead), sum(piece.size for piece in ahead)
    return rows >= min(done, PIECE_ROWS) or size >= READ_AHEAD_BYTES


def _pieces(rows: Iterator[Row], body: bytes) -> Iterator[tuple[list[Row], int]]:
    piece: list[Row] = []
    size = 0
    for row in rows:
        piece.append(row)
        size += len(row.value(body) or b"")
        if len(piece) >= FEW_ROWS or size >= FEW_BYTES:
            yield piece, size
            piece, size = [], 0
    if piece:
        yield piece, size


def _hits(rows: Sequence[Row], match: Callable[[Row], Hit | DamagedRow | None]) -> list[tuple[Row, Hit | DamagedRow]]:
    return [(row, hit) for row in rows if (hit := match(row)) is not None]

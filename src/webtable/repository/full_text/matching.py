"""Hits: pages whose texts have the words of a query, with read-ahead in a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from webtable._threads import Task, Threads
from webtable.display import Shown, ShowsItself
from webtable.display.text import plural
from webtable.errors import DamagedRow, InvalidArgument
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared, page_in
from webtable.repository.full_text.words import Analyzer, Excerpt, TextQuery, excerpts, joined
from webtable.repository.reading.read_ahead import PIECE_ROWS, READ_AHEAD_BYTES
from webtable.rowkey.fields.field import shown
from webtable.store import Row
from webtable.store.full_text import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

SearchIn = Literal["title", "body", "page", "all"]
"""The parts of a page that are searched: "page" is title and body, "all" and what leads to it, for full text."""
FIELDS_IN: Final[dict[str, tuple[str, ...]]] = {
    "title": ("title",),
    "body": ("headings", "text"),
    "page": ("title", "headings", "text"),
    "all": tuple(FIELDS),
}
# Extracting text from HTML holds the GIL: 6,443 real pages took 4.8 s with one thread, 5.0 with two and 5.2 with four.
MATCHERS = 1
"""How many threads match bodies, besides that of the caller, which reads them."""
FEW_ROWS = 16
"""How many bodies a thread matches at once at most, and how many are matched before any thread is started."""
FEW_BYTES = 256 * 1024
"""How many stored bytes of bodies a thread matches at once at most; at least one body."""


@dataclass(frozen=True, slots=True)
class Hit(ShowsItself):
    """A page that has all words of a query."""

    page: Page
    title: Excerpt | None
    """Its title, with the words marked if titles are searched; None without a title."""
    excerpts: tuple[Excerpt, ...]
    """Pieces of its body around the words; empty if they are only in the title."""
    matches: int
    """How many times the words occur in the searched parts."""
    score: float | None = None
    """How well it matches by BM25, higher is better; None in other orders than relevance."""

    def _shown(self) -> Shown:
        """Return the places of the words, marked."""
        places = [("title", self.title), *(("text", excerpt) for excerpt in self.excerpts)]
        rows = [(name, excerpt.marked()) for name, excerpt in places if excerpt is not None]
        return Shown(self.page.url, ("in its", plural(self.matches, "match", "es")), rows)


_OWN = (
    column("url", "url", "page.url"),
    column("matches", "count", width=7),
    column("title", "title", "page.title", marked=lambda hit: hit.title and hit.title.marked()),
    column(
        "excerpts",
        of=lambda hit: " ".join(excerpt.highlighted() for excerpt in hit.excerpts),
        share=3,
        marked=lambda hit: joined(hit.excerpts),
    ),
    column("status", "status", "page.status", heading="status"),
    column("fetched_at", "time", "page.fetched_at", heading="fetched"),
    column("score", "fraction", is_usual=False),
)
HITS = declared(
    Hit,
    "hit",
    *_OWN,
    *page_in(attrgetter("page"), [own.name for own in _OWN]),
    listed=("url", "matches", "title", "excerpts"),
)


class Phrase(NamedTuple):
    """The words to look for, and where; with `substring`, also inside of words; and what else a page must have."""

    text: str
    in_: SearchIn = "all"
    substring: bool = False
    status: int | None = None
    content_type: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def conditions(self) -> str:
        """What else a page must have, in words, as the end of a sentence."""
        named = (("status", self.status), ("of type", self.content_type), ("since", self.since), ("until", self.until))
        return "".join(f", {name} {value}" for name, value in named if value is not None)

    def allows(self, page: Page) -> bool:
        """Whether *page* has the status, the type and the date."""
        return (
            self.status in {None, page.status}
            and self.content_type in {None, page.content_type}
            and (self.since is None or self.since <= page.fetched_at)
            and (self.until is None or page.fetched_at < self.until)
        )


def query_of(phrase: Phrase, analyzer: Analyzer | None = None) -> TextQuery:
    """Return the query for the words of *phrase*; raises `InvalidArgument` for what is none."""
    if phrase.in_ not in FIELDS_IN:
        raise InvalidArgument(f"in_={shown(phrase.in_)} must be one of {', '.join(map(repr, FIELDS_IN))}")
    return TextQuery.of(phrase.text, FIELDS_IN[phrase.in_], analyzer=analyzer or Analyzer(), substring=phrase.substring)


def texts_of(page: Page, query: TextQuery) -> dict[str, str]:
    """Return the texts of *page* in which a search that has no full text looks.

    A body that is neither HTML nor text, or that was not read, has none.
    """
    return {"title": page.title or "", "text": "" if query.is_of_titles else " ".join((page.text or "").split())}


def hit_in(page: Page, query: TextQuery, texts: Mapping[str, str], score: float | None = None) -> Hit | None:
    """Return the hit in the *texts* of *page*, or None if they are not as *query* wants them.

    >>> from webtable import Page
    >>> page = Page(url="https://example.com/", title="A table", body=b"<p>of the web", content_type="text/html")
    >>> query = TextQuery.of("WEB table")
    >>> found = hit_in(page, query, texts_of(page, query))
    >>> found.title.highlighted(), found.excerpts[0].highlighted(), found.matches
    ('A [table]', 'of the [web]', 2)
    """
    # "de" also wants "de-AT", but not "den".
    if query.language is not None and not f"{page.language}-".lower().startswith(f"{query.language}-"):
        return None
    spans = query.spans(texts)
    if spans is None:
        return None
    title = Excerpt(page.title, tuple(spans["title"])) if page.title is not None else None
    return Hit(page, title, excerpts(texts["text"], spans["text"]), sum(map(len, spans.values())), score)


@dataclass(frozen=True, slots=True)
class _MatchedRows:
    """Some rows that a thread matches, and their size in bytes."""

    rows: Sequence[Row]
    size: int
    hits: Task[list[tuple[Row, Hit | DamagedRow]]]


def matched(
    rows: Iterator[Row], match: Callable[[Row], Hit | DamagedRow | None], body: bytes
) -> Generator[tuple[Row, Hit | DamagedRow]]:
    """Yield the rows for which *match* returns a hit, with the hit, in order.

    Threads match them ahead of the caller: at most READ_AHEAD_BYTES as stored in the column *body*, and no more rows
    than have been matched so far, so that a few hits do not cost many bodies after them.
    """
    for row in islice(rows, FEW_ROWS):
        if (hit := match(row)) is not None:
            yield row, hit
    # Threads are started only when there is work for them.
    pool = Threads(MATCHERS, "webtable-search")
    ahead: deque[_MatchedRows] = deque()
    done = FEW_ROWS
    try:
        for batch, size in _pieces(rows, body):
            ahead.append(_MatchedRows(batch, size, pool.submit(partial(_hits, batch, match))))
            while ahead and (ahead[0].hits.done() or _is_far(ahead, done)):
                done += len(ahead[0].rows)
                yield from ahead.popleft().hits.result()
        while ahead:
            yield from ahead.popleft().hits.result()
    finally:
        for piece in ahead:
            piece.hits.cancel()
        pool.close()


def _is_far(ahead: Sequence[_MatchedRows], done: int) -> bool:
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

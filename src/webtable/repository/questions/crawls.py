"""The question when was crawled: bursts of fetching with pauses in between, found from the dates of the captures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from webtable.errors import IndexNeeded
from webtable.repository.arrow.kinds import CRAWLS
from webtable.repository.indexes.lookup import EntryReader, Lookup
from webtable.repository.indexes.web import HIGHEST_SIZE, TIME, time_text
from webtable.repository.moments import milliseconds, moment_of, possible_moment
from webtable.repository.questions.index_answer import Asking
from webtable.repository.questions.indexed import by_time
from webtable.repository.questions.passes import Pass
from webtable.repository.questions.scope import Scope
from webtable.repository.questions.scratch import Scratch
from webtable.repository.results import number_of
from webtable.repository.times import duration_of
from webtable.rowkey import KeyRange, prefix_stop
from webtable.rowkey.web import host_and_rest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._page import Page
    from webtable.repository.damage import Damage
    from webtable.repository.frame import Frame
    from webtable.repository.results import Explanation, Results, Slice


HOSTS_BYTES = 4 * 2**20
"""How much memory the names of hosts take that are told apart."""

_TABLES = (
    "CREATE TABLE captures (at INTEGER, host BLOB, size INTEGER)",
    "CREATE TABLE hosts (host BLOB PRIMARY KEY) WITHOUT ROWID",
)
_SORTED = {
    "newest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at < ? ORDER BY at DESC",
    "oldest": "SELECT at, host, size FROM captures WHERE ? IS NULL OR at > ? ORDER BY at",
}
_NAME_BYTES = 100
_FETCHED = b"fetched_"

Capture = tuple[int, bytes, int]
"""When a page was fetched, in epoch milliseconds, of which host it is, and how many bytes its body has."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """A burst of fetching, from its first capture (`begin`) to its last one (`end`).

    `pages` are those that were fetched in it and not since, `bytes` the sizes of their bodies, `hosts` how many hosts
    they are of.
    """

    begin: datetime
    end: datetime
    pages: int
    bytes: int
    hosts: int


def crawls(frame: Frame, scope: Scope, gap: timedelta | str, part: Slice) -> Results[Crawl]:
    """Return what `WebTable.crawls` does."""
    part.check(*_SORTED)
    pause = duration_of("gap", gap)
    is_whole = scope == Scope(full_scan=scope.full_scan)
    said = "all pages" if is_whole else Pass(frame, scope).said
    question = f"crawls of {said}, with pauses over {pause}"

    def is_indexed() -> bool:
        try:
            return is_whole and frame.indexes.ready(TIME.name, question) is not None
        except IndexNeeded:
            return False

    def run(after: bytes | None, at_most: int | None, damage: Damage) -> Iterator[Crawl]:
        if at_most == 0:
            return
        behind = None if after is None else max(number_of(after), 0)
        with Scratch(*_TABLES) as scratch:
            if is_indexed():
                captures = _indexed(frame, part.order, behind, damage)
            else:
                captures = _sorted(scratch, Pass(frame, scope).pages(damage), part.order, behind)
            milliseconds_of_pause = pause // timedelta(milliseconds=1)
            found = _bursts(captures, milliseconds_of_pause, _Hosts(scratch), backwards=part.order == "newest")
            yield from islice(found, at_most)

    def place(crawl: Crawl) -> bytes:
        return b"%d" % milliseconds(crawl.begin if part.order == "newest" else crawl.end)

    def explain() -> Explanation:
        if is_indexed():
            return by_time(frame, "fetched", None, None, Asking(order=part.order)).explain()
        return Pass(frame, scope).explained(question, part.order)

    return part.of(question, run, place, explain, frame.damage, CRAWLS)


def _indexed(frame: Frame, order: str, behind: int | None, damage: Damage) -> Iterator[Capture]:
    """Yield the captures behind a moment as the time index has them."""
    places = KeyRange(_FETCHED, prefix_stop(_FETCHED))
    if behind is not None and order == "newest":
        places = KeyRange(_FETCHED, _FETCHED + time_text(possible_moment(behind)).encode())
    elif behind is not None:
        places = KeyRange(_FETCHED + time_text(possible_moment(behind + 1)).encode(), places.stop)
    table = frame.indexes.ready(TIME.name, "crawls").table
    lookup = Lookup(TIME, table, [places], reverse=order == "newest")
    return (_capture(page) for _, page in EntryReader(frame).pages(lookup, (), damage))


def _sorted(scratch: Scratch, pages: Iterator[Page], order: str, behind: int | None) -> Iterator[Capture]:
    """Yield the captures of *pages* behind a moment, in the order of their dates."""
    scratch.fill("captures", map(_capture, pages), 3)
    return scratch.rows(_SORTED[order], (behind, behind))


def _capture(page: Page) -> Capture:
    return milliseconds(page.fetched_at), host_and_rest(page.url)[0].encode(), min(page.size or 0, HIGHEST_SIZE)


def _bursts(captures: Iterator[Capture], gap: int, hosts: _Hosts, *, backwards: bool) -> Iterator[Crawl]:
    """Yield the bursts of *captures*, which come in the order of their dates, or *backwards*."""
    first = last = pages = total = 0

    def crawl() -> Crawl:
        begin, end = sorted((first, last))
        return Crawl(moment_of(begin), moment_of(end), pages, total, hosts.counted())

    for at, host, size in captures:
        pause = last - at if backwards else at - last
        if pages and pause < 0:
            continue  # it was fetched again meanwhile: an index gives it where it was, with its new date
        if pages and pause > gap:
            yield crawl()
            pages = total = 0
        if not pages:
            first = at
        last, pages, total = at, pages + 1, total + size
        hosts.add(host)
    if pages:
        yield crawl()


class _Hosts:
    """Counts different hosts: up to HOSTS_BYTES of their names in memory, the others in *scratch*."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._names: set[bytes] = set()
        self._bytes = 0
        self._is_spilled = False

    def add(self, host: bytes) -> None:
        """Take a host, which may have been taken before."""
        if host in self._names:
            return
        self._names.add(host)
        self._bytes += len(host) + _NAME_BYTES
        if self._bytes > HOSTS_BYTES:
            self._spill()

    def counted(self) -> int:
        """Return how many different hosts were taken, and forget them."""
        count = len(self._names)
        if self._is_spilled:
            self._spill()
            ((count,),) = self._scratch.rows("SELECT count(*) FROM hosts")
            self._scratch.run("DELETE FROM hosts")
        self._names, self._bytes, self._is_spilled = set(), 0, False
        return count

    def _spill(self) -> None:
        self._scratch.fill("hosts", ((name,) for name in sorted(self._names)), 1)
        self._names, self._bytes, self._is_spilled = set(), 0, True

"""A ring of pages, as HBase's own IntegrationTestBigLinkedList is one of rows: what is lost leaves a gap in it.

Each of several processes writes round after round. A page links to one of the round before, which was acknowledged by
then: a ledger outside of the process says so. In the end round 0 is put again, linked to the last round, with each
place moved on by one. So each page is linked to by one other, and all pages of a process are one ring.

    python tests/faults/ring_pages.py URL LEDGER WRITERS ROUNDS WIDTH WRITER     writes what is one process's part
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from load import BEGAN

import webtable
from webtable import Link, Page, WebTable, WebTableError
from webtable.writing import PageOutcome

HOSTS = 7
WRITERS = 4
WIDTH = 1_000
"""Most pages of a round."""
PAUSE = 0.5
"""How long a writer waits before it tries again what failed, in seconds."""


@dataclass(frozen=True)
class Ring:
    """Which pages there are, and where each links to: as many rings as there are processes that write."""

    writers: int
    rounds: int
    width: int

    @classmethod
    def of(cls, pages: int, writers: int = WRITERS) -> Ring:
        """Return a ring of about so many pages, in four rounds at least."""
        width = max(1, min(WIDTH, pages // writers // 4))
        return cls(writers, max(4, pages // writers // width), width)

    @property
    def pages(self) -> int:
        return self.writers * self.rounds * self.width

    @property
    def puts(self) -> int:
        """How many captures there are: round 0 has two."""
        return self.pages + self.writers * self.width

    def url(self, writer: int, turn: int, place: int) -> str:
        return f"https://h{place % HOSTS}.ring.example/{writer}/{turn % self.rounds}/{place % self.width}"

    def page(self, writer: int, turn: int, place: int) -> Page:
        """Return the capture that is put in a *turn*: the turn behind the last round is round 0 again, with links."""
        url, links = self.url(writer, turn, place), []
        if turn:
            links = [Link(self.target(writer, turn, place), f"from {turn} {place}")]
        return Page(
            url=url,
            body=f"<title>{writer} {turn} {place}</title><p>{'ring ' * (place % 40)}".encode(),
            fetched_at=BEGAN + timedelta(seconds=turn, milliseconds=place),
            status=(200, 200, 404)[place % 3],
            content_type="text/html",
            outlinks=links,
        )

    def target(self, writer: int, turn: int, place: int) -> str:
        """Return where the page that is put in a *turn* links to: to the round before, and the last of all moves on."""
        return self.url(writer, turn - 1, (place + (turn == self.rounds)) % self.width)

    def expected(self) -> dict[str, Page]:
        """Return all pages as they are in the end, by their URLs."""
        turns = range(1, self.rounds + 1)
        places = range(self.width)
        pages = (self.page(writer, turn, n) for writer in range(self.writers) for turn in turns for n in places)
        return {page.url: page for page in pages}


class RingLedger:
    """What one process has had acknowledged, and which errors it met, a line each, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def close(self) -> None:
        os.close(self._file)

    def tell(self, turn: int, place: int, outcome: PageOutcome) -> None:
        """Note what became of a page."""
        if outcome.error is None:
            os.write(self._file, b"stored %d %d\n" % (turn, place))
        else:
            self.failed(outcome.error)

    def failed(self, error: WebTableError) -> None:
        os.write(self._file, f"failed {type(error).__name__}\n".encode())

    def stored(self) -> dict[int, set[int]]:
        """Return the places that were acknowledged, by their turn."""
        found: dict[int, set[int]] = defaultdict(set)
        for kind, *place in map(str.split, self._path.read_text().splitlines()):
            if kind == "stored":
                found[int(place[0])].add(int(place[1]))
        return found

    def acknowledged(self) -> int:
        return self._path.read_bytes().count(b"stored")

    def errors(self) -> Counter[str]:
        """Return how often each error was met; those may happen."""
        lines = map(str.split, self._path.read_text().splitlines())
        return Counter(line[1] for line in lines if line[0] == "failed")


def write_on(url: str, path: Path, ring: Ring, writer: int) -> None:
    """Write the rounds of one process from where its ledger ends, until all of them are acknowledged."""
    ledger = RingLedger(path)
    stored = ledger.stored()
    while True:
        try:
            with webtable.open(url) as table:
                for turn in range(ring.rounds + 1):
                    _put_round(table, ledger, ring, writer, turn, stored[turn])
        except WebTableError as exc:
            ledger.failed(exc)
            time.sleep(PAUSE)
        else:
            return


def _put_round(table: WebTable, ledger: RingLedger, ring: Ring, writer: int, turn: int, stored: set[int]) -> None:
    """Put the pages of a round that are not *stored*, until they are: the next round links to them."""
    places = {ring.url(writer, turn, place): place for place in range(ring.width)}

    def outcome(of: PageOutcome) -> None:
        ledger.tell(turn, places[of.url], of)
        if of.error is None:
            stored.add(places[of.url])

    while left := [place for place in range(ring.width) if place not in stored]:
        with table.writer(on_outcome=outcome) as batch:
            for place in left:
                batch.put(ring.page(writer, turn, place))
        if len(stored) < ring.width:
            time.sleep(PAUSE)


if __name__ == "__main__":
    *shape, turn = map(int, sys.argv[3:])
    write_on(sys.argv[1], Path(sys.argv[2]), Ring(*shape), turn)

"""Pages that are made ahead of the caller, in a thread, while it works on those before."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from webtable._page.memory import LINK_BYTES
from webtable._page.page import Page
from webtable._threads import Threads
from webtable.errors import DamagedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from webtable.repository.scanning.damage import Damage
    from webtable.store import Row

READ_AHEAD_BYTES = 8 * 2**20
"""How many bytes of pages are read ahead of the caller."""
PIECE_ROWS = 1_024
"""How many rows are read ahead at most."""
FIRST_ROWS = 128
"""How many rows are made before a thread is started to read ahead: most questions have fewer answers."""


def read_ahead(rows: Iterator[Row], make: Callable[[Row], Page | None], damage: Damage) -> Generator[Page]:
    """Yield what *make* makes of each row (None: nothing), making the next piece while the caller works on this one.

    Where it raises `DamagedRow`, that is reported to *damage* when the caller comes there.
    """
    with closing(ahead(_pieces(rows, make))) as pieces:
        for piece in pieces:
            yield from piece.pages(damage)


class Piece(Protocol):
    """Some of an answer, which knows whether there may be more."""

    has_more: bool


P = TypeVar("P", bound=Piece)


def ahead(pieces: Iterator[P]) -> Generator[P]:
    """Yield *pieces*, of which there is one at least, taking the next one in a thread while the caller has this one."""
    piece = next(pieces)
    if piece.has_more:
        with closing(Threads(1, "webtable-read-ahead")) as threads:
            while True:
                coming = threads.submit(lambda: next(pieces))
                yield piece
                piece = coming.result()
                if not piece.has_more:
                    break
    yield piece


def _pieces(rows: Iterator[Row], make: Callable[[Row], Page | None]) -> Iterator[_PagePiece]:
    yield _PagePiece.of(rows, make, FIRST_ROWS)
    while True:
        yield _PagePiece.of(rows, make, PIECE_ROWS)


@dataclass(slots=True)
class _PagePiece:
    """The pages of some rows, and whether there may be more."""

    made: list[Page | DamagedRow]
    has_more: bool = False
    is_damaged: bool = False

    @classmethod
    def of(cls, rows: Iterator[Row], make: Callable[[Row], Page | None], most: int) -> _PagePiece:
        """Return the pages of the next rows, *most* of them or up to READ_AHEAD_BYTES."""
        made: list[Page | DamagedRow] = []
        is_damaged = False
        count = size = 0
        for count, row in enumerate(islice(rows, most), 1):  # noqa: B007 - how many there were is told at the end
            try:
                one = make(row)
            except DamagedRow as exc:
                made.append(exc)
                is_damaged = True
                continue
            if one is None:
                continue
            made.append(one)
            if one.body is not None or one.outlinks is not None:
                size += len(one.body or b"") + LINK_BYTES * len(one.outlinks or ())
                if size >= READ_AHEAD_BYTES:
                    return cls(made, True, is_damaged)
        return cls(made, count == most, is_damaged)

    def pages(self, damage: Damage) -> Iterable[Page]:
        """Return the pages; the damaged rows among them are reported to *damage* on the way."""
        return damage.sift(self.made) if self.is_damaged else self.made  # type: ignore[return-value]

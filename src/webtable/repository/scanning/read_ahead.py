"""Read-ahead: the next pages are made in a thread while the caller works on those before them."""

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
"""How many bytes of pages are read ahead."""
PIECE_ROWS = 1_024
"""How many rows are read ahead at most."""
FIRST_ROWS = 128
"""How many rows are read before a thread is started to read ahead: most answers have fewer."""


def read_ahead(rows: Iterator[Row], make: Callable[[Row], Page | None], damage: Damage) -> Generator[Page]:
    """Yield the page that *make* returns for each row, if any, and make the next piece while the caller has this one.

    If it raises `DamagedRow`, that is added to *damage* when the caller reaches the row.
    """
    with closing(ahead(_pieces(rows, make))) as pieces:
        for piece in pieces:
            yield from piece.pages(damage)


class Piece(Protocol):
    """A piece of an answer, and whether there may be more."""

    has_more: bool


P = TypeVar("P", bound=Piece)


def ahead(pieces: Iterator[P]) -> Generator[P]:
    """Yield *pieces*, at least one, and take the next one in a thread while the caller has this one."""
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
        for count, row in enumerate(islice(rows, most), 1):  # noqa: B007 - the count is used after the loop
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
        """Return the pages; damaged rows among them are added to *damage* as they are reached."""
        return damage.sift(self.made) if self.is_damaged else self.made  # type: ignore[return-value]

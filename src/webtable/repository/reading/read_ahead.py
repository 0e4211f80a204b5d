"""The damaged rows of an answer, and read-ahead: the next pages are made while the caller works on those before."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from webtable.errors import DamagedRow
from webtable.page.page import LINK_BYTES, Page

if TYPE_CHECKING:
    from webtable.store import Row
    from webtable.store.metrics import Counts


# --- Damage -----------------------------------------------------------------------------------------------------------


T = TypeVar("T")

MOST_KEPT = 100
"""How many damaged rows an answer keeps."""
_MOST_REMEMBERED = 10_000


# One damaged row is one `DamagedRow`; nothing else of an answer stops, and limits and tokens do not count it. Who wants
# to know of damage wants that everywhere, so `strict` belongs to the table and not to a question.
class Damage:
    """The damaged rows of one answer: each is counted once, in *counts*, and the first 100 are kept in *rows*.

    With *strict* the first one is raised instead.
    """

    def __init__(self, counts: Counts, rows: list[DamagedRow], *, strict: bool = False) -> None:
        self._counts = counts
        self._rows = rows
        self._strict = strict
        self._known: set[bytes] = set()
        self.count: int = 0

    @property
    def known(self) -> set[bytes]:
        """The keys of the rows that were counted, of the first 10,000."""
        return self._known

    def know(self, rows: set[bytes]) -> None:
        """Count these *rows* no more: others have counted them."""
        self._known |= rows

    def add(self, error: DamagedRow) -> None:
        """Count a damaged row; raises it with *strict*."""
        if self._strict:
            raise error
        # A row may be met at several entries of an index.
        if error.row in self._known:
            return
        if len(self._known) < _MOST_REMEMBERED:
            self._known.add(error.row)
        self.count += 1
        self._counts("damaged")
        if len(self._rows) < MOST_KEPT:
            self._rows.append(error)

    def sift(self, values: Iterable[T | DamagedRow]) -> Iterator[T]:
        """Yield the values that are not damaged rows, and count those that are."""
        for value in values:
            if isinstance(value, DamagedRow):
                self.add(value)
            else:
                yield value


# --- Read-ahead -------------------------------------------------------------------------------------------------------


READ_AHEAD_BYTES = 8 * 2**20
"""How many bytes of pages are read ahead."""
PIECE_ROWS = 1_024
"""How many rows are read ahead at most."""
FIRST_ROWS = 128
"""How many rows are read at first, before a thread is started to read ahead: most answers have fewer."""
FIRST_PIECES = 8
"""How often that many are read before a thread is started if the pages have no content, which takes as long."""
ROWS_AT_ONCE = 64
"""Of how many rows pages are made at once, if they have no content."""


Made = Sequence[Page | DamagedRow | None]
"""A page for each of some rows; an error in place of one that cannot be read, None for a row that is not a page."""


def read_ahead(
    rows: Iterator[Row], make: Callable[[Sequence[Row]], Made], damage: Damage, at_once: int = ROWS_AT_ONCE
) -> Generator[Page]:
    """Yield the pages that *make* returns for *at_once* rows, and make the next piece while the caller has this one.

    Damaged rows are added to *damage* when the caller reaches them. The size of pages is counted after each call of
    *make*: of pages with bodies one has to be made at once.
    """
    first = 1 if at_once == 1 else FIRST_PIECES
    with closing(ahead(_pieces(rows, make, at_once, first), first)) as pieces:
        for piece in pieces:
            yield from piece.pages(damage)


class HasMore(Protocol):
    """A piece of an answer, and whether there may be more."""

    has_more: bool


P = TypeVar("P", bound=HasMore)


def ahead(pieces: Iterator[P], first: int = 1) -> Generator[P]:
    """Yield *pieces*, at least one; after the *first* ones take the next in a thread while the caller has this one."""
    for _ in range(first - 1):
        piece = next(pieces)
        if not piece.has_more:
            break
        yield piece
    else:
        piece = next(pieces)
    if piece.has_more:
        from webtable._threads import Threads  # with concurrent.futures, which few answers are long enough for

        with closing(Threads(1, "webtable-read-ahead")) as threads:
            while True:
                coming = threads.submit(lambda: next(pieces))
                yield piece
                piece = coming.result()
                if not piece.has_more:
                    break
    yield piece


def _pieces(
    rows: Iterator[Row], make: Callable[[Sequence[Row]], Made], at_once: int, first: int
) -> Iterator[_MadePages]:
    for _ in range(first):
        yield _MadePages.of(rows, make, at_once, FIRST_ROWS)
    while True:
        yield _MadePages.of(rows, make, at_once, PIECE_ROWS)


_PAGES = frozenset({Page})


class _MadePages(msgspec.Struct):
    """What was made of some rows, and whether there may be more."""

    made: list[Page | DamagedRow | None]
    has_more: bool

    @classmethod
    def of(cls, rows: Iterator[Row], make: Callable[[Sequence[Row]], Made], at_once: int, limit: int) -> _MadePages:
        """Return the pages of the next rows, *limit* of them or up to READ_AHEAD_BYTES."""
        made: list[Page | DamagedRow | None] = []
        count = size = 0
        while count < limit and size < READ_AHEAD_BYTES:
            next_rows = list(islice(rows, min(at_once, limit - count)))
            if not next_rows:
                return cls(made, False)
            pages = make(next_rows)
            made += pages
            count += len(next_rows)
            if at_once == 1:
                size += sum(map(_weight, pages))
        return cls(made, True)

    def pages(self, damage: Damage) -> Iterable[Page]:
        """Return the pages; damaged rows among them are added to *damage* as they are reached."""
        if _PAGES.issuperset(map(type, self.made)):
            return self.made  # type: ignore[return-value]
        return damage.sift(page for page in self.made if page is not None)


def _weight(made: Page | DamagedRow | None) -> int:
    if not isinstance(made, Page):
        return 0
    return len(made.body or b"") + LINK_BYTES * len(made.outlinks or ())

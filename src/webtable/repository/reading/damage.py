"""The damaged rows that are found while a question is answered: they are skipped and counted; the first are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from webtable.errors import DamagedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.store.metrics import Tally

T = TypeVar("T")

MOST_KEPT = 100
"""How many damaged rows an answer keeps."""
_MOST_KNOWN = 10_000


class Damage:
    """The damaged rows of one answer: each is counted once, in *counts*, and the first 100 are kept in *rows*.

    With *strict* the first one is raised instead.
    """

    def __init__(self, counts: Tally, rows: list[DamagedRow], *, strict: bool = False) -> None:
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
        if error.row in self._known:
            return
        if len(self._known) < _MOST_KNOWN:
            self._known.add(error.row)
        self.count += 1
        self._counts("damaged")
        if len(self._rows) < MOST_KEPT:
            self._rows.append(error)

    def sift(self, found: Iterable[T | DamagedRow]) -> Iterator[T]:
        """Yield the values that are not damaged rows, and count those that are."""
        for one in found:
            if isinstance(one, DamagedRow):
                self.add(one)
            else:
                yield one

"""What every comparison of hints with their pages does: looks twice, counts, mends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from webtable.repository.codec import milliseconds
from webtable.store import Delete, NewCell, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.repository.questions.base import Asked

SETTLE_SECONDS = 1.0
"""How long a difference must stay to be one: a writer that has stored a page removes its old entries next."""
EXAMPLES = 20
"""How many differences a report shows."""
AT_ONCE = 10_000
"""How many differences are looked at once more together."""
PIECE = 500


@dataclass(slots=True)
class Drift:
    """How an index differs from its table, as of a moment.

    So many `pages` and `entries` were looked at. `missing` and `stale` are the differences, `repaired` tells how many
    of them are mended; `pending` are entries of captures that are not stored (yet). `examples` names some differences.
    """

    index: str
    as_of: datetime
    pages: int = 0
    entries: int = 0
    missing: int = 0
    stale: int = 0
    pending: int = 0
    repaired: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether there is no difference."""
        return not self.missing and not self.stale


class Place(NamedTuple):
    """A cell that is an entry or an inlink, and the row of the page that it comes from."""

    table: str
    row: bytes
    cell: NewCell
    source: bytes


class Comparison:
    """A comparison of hints with the pages that they come from."""

    def __init__(self, asked: Asked, drift: Drift, *, settle: float, apply: bool) -> None:
        self._store = asked.store
        self._table = asked.table
        self._key = asked.key
        self._reader = asked._reader
        self._codec = asked._codec
        self._drift = drift
        self._until = milliseconds(drift.as_of) + 1
        self._settle = settle
        self._apply = apply

    def mend(
        self,
        found: Iterator[list[Place]],
        still: Callable[[Sequence[Place]], list[Place]],
        kind: str,
    ) -> Iterator[None]:
        """Count what is *found* and *still* is so a moment later, and mend it; with a pause after each piece."""
        suspects: list[Place] = []
        for some in found:
            suspects += some
            if len(suspects) >= AT_ONCE:
                self._settled(suspects, still, kind)
                suspects = []
            yield
        self._settled(suspects, still, kind)

    def _settled(
        self, suspects: Sequence[Place], still: Callable[[Sequence[Place]], list[Place]], kind: str
    ) -> None:
        if not suspects:
            return
        time.sleep(self._settle)
        places = still(suspects)
        drift = self._drift
        setattr(drift, kind, getattr(drift, kind) + len(places))
        drift.examples += [f"{kind}: {_shown(place)}" for place in places[: EXAMPLES - len(drift.examples)]]
        if not self._apply:
            return
        for at in range(0, len(places), PIECE):
            self.write(places[at : at + PIECE], kind)
            drift.repaired += len(places[at : at + PIECE])

    def write(self, places: Sequence[Place], kind: str) -> None:
        """Mend differences of one kind."""
        for table in dict.fromkeys(place.table for place in places):
            changes: list[Put | Delete] = [
                Put(place.row, [place.cell]) if kind == "missing"
                else Delete(place.row, place.cell.timestamp, [place.cell.column])
                for place in places if place.table == table
            ]  # fmt: skip
            for error in self._store.write(table, changes):
                if error is not None:
                    raise error


def _shown(place: Place) -> str:
    return f"{place.table} {place.row.decode(errors='backslashreplace')} {place.cell.column.decode(errors='replace')}"

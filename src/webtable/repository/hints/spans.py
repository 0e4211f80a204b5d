"""The pages in many spans of keys, with their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.repository.frame import Frame
from webtable.repository.stored.damaged_rows import Damage
from webtable.rowkey import KeyRange, merged
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from webtable.store import Row

Sized = tuple[bytes, int]
"""The key of a page, and the bytes of its body."""
MOST_BETWEEN = 16
"""How many rows that nobody asked for a scan goes through to the next span; opening another one costs as much."""
MOST_ALONE = 4
"""After how many scans that came to no second span each span gets its own."""


@dataclass(frozen=True, slots=True)
class RowsOfSpans:
    """Reads the pages of one web table; rows that cannot be read are told to *damage*."""

    frame: Frame
    damage: Damage

    def read(self, spans: Sequence[KeyRange]) -> Iterator[Sized]:
        """Yield the pages in *spans*, in the order of their keys."""
        for row in self._rows(merged(spans)):
            try:
                page = self.frame.codec.page(row)
            except DamagedRow as exc:
                self.damage.add(exc)
                continue
            if page is not None:
                yield row.key, page.size or 0

    def _rows(self, spans: list[KeyRange]) -> Iterator[Row]:
        if self.frame.store.capabilities.scans_range_by_range:
            at = alone = 0
            while at < len(spans) and alone < MOST_ALONE:
                begun = at
                at = yield from self._near(spans, at)
                alone = alone + 1 if at == begun + 1 else 0
            spans = spans[at:]
        if spans:
            yield from self._scan(spans)

    def _near(self, spans: Sequence[KeyRange], at: int) -> Generator[Row, None, int]:
        """Yield the rows of the spans from the place *at* on that one scan comes to, and return the next place."""
        between = 0
        for row in self._scan([KeyRange(spans[at].start, spans[-1].stop)]):
            while at < len(spans) and spans[at].stop and row.key >= spans[at].stop:
                at += 1
                between = 0
            if at < len(spans) and row.key >= spans[at].start:
                yield row
            elif (between := between + 1) > MOST_BETWEEN:
                return at
        return len(spans)

    def _scan(self, spans: Sequence[KeyRange]) -> Iterator[Row]:
        return self.frame.store.scan(self.frame.table, spans, Wanted([self.frame.codec.columns.page]))

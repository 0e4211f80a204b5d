"""A pass over the pages of a scope: once each, in the order in which they are stored, without their bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webtable.repository.answers.page_rows import PageRows
from webtable.repository.questions.hosts import narrowed
from webtable.repository.scanning.scan import ScanSpec
from webtable.repository.scanning.scope import PLAIN_KEY
from webtable.rowkey import KeyRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._page.page import Page
    from webtable.repository.answers.results import Explanation
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope
    from webtable.repository.stored.damaged_rows import Damage
    from webtable.store import Row


class Pass:
    """What a question reads that cannot answer before it has seen all pages of its scope; `said` is what these are.

    Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`.
    """

    def __init__(self, frame: Frame, scope: Scope) -> None:
        self._frame = frame
        self._scope = scope
        self._rows = PageRows(frame)
        self.said, self._ranges = scope.ranges(frame)

    def pages(self, damage: Damage) -> Iterator[Page]:
        """Yield the pages."""
        return self._rows.pages(self._spec(), "storage", None, damage)

    def rows(self, wanted: Wanted) -> Iterator[Row]:
        """Yield the rows of the pages, with what is *wanted* of them."""
        spec = self._spec()
        return self._frame.store.scan(spec.table, spec.ranges, wanted)

    def place_of(self, url: str) -> bytes:
        """Return where *url* stands in the order of URLs; `url_at` makes the URL of it again."""
        return self._rows.place_of(url, "url")

    def explained(self, question: str, order: str, *notes: str) -> Explanation:
        """Return how the pages are read."""
        note = "all pages are read for any part of the answer, and what is found is sorted on disk"
        return replace(self._rows.explained(question, "storage", self._spec(), note, *notes), order=order)

    def _spec(self) -> ScanSpec:
        frame, scope = self._frame, self._scope
        ranges = [KeyRange()] if scope.domain is None else narrowed(frame, scope, self._ranges)
        return ScanSpec(frame.table, ranges, Wanted(frame.codec.select(None)))


def url_at(place: bytes) -> str:
    """Return the URL that stands at *place* in the order of URLs."""
    return PLAIN_KEY.url_of(place)

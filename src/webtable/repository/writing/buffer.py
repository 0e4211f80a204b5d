"""The pages that a writer holds until a batch of them goes out."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable.repository.stored.captures import follows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from webtable._page.page import Page
    from webtable.repository.writing.receipts import Receipt


class Buffer:
    """Pages, each with its row; full at *most_bytes* in all, as they are weighed, or at *most_pages*."""

    def __init__(self, most_bytes: float, most_pages: float, number: int = 0) -> None:
        self._limits = most_bytes, most_pages
        self.number = number
        """Which buffer of its writer it is: a batch of it has this number."""
        self.pages: list[tuple[bytes, Page]] = []
        self.receipts: list[weakref.ref[Receipt]] = []
        """Those of the pages, in their order."""
        self.rows: set[bytes] = set()
        """All rows whose stored state decides what becomes of the pages."""
        self._bytes = 0
        self._last: dict[bytes, datetime] = {}
        self._oldest = 0.0

    def take(self, row: bytes, page: Page, rows: Iterable[bytes], weight: int, receipt: Receipt) -> None:
        """Take *page*, which rests on what is stored in *rows* and takes *weight* bytes."""
        if not self.pages:
            self._oldest = clock.monotonic()
        self.pages.append((row, page))
        self.receipts.append(weakref.ref(receipt))
        self.rows.update(rows)
        self._last[row] = page.fetched_at
        self._bytes += weight

    def is_before(self, row: bytes, page: Page, rows: Iterable[bytes]) -> bool:
        """Whether what is here must be stored before it can be known what becomes of *page*.

        So it is where *page* rests on one of the same *rows*, unless the batch itself knows what it has to know.
        """
        last = self._last.get(row)
        return not self.rows.isdisjoint(rows) and (last is None or not follows(page, last))

    def following(self) -> Buffer:
        """Return the empty buffer that comes after this one."""
        return Buffer(*self._limits, self.number + 1)

    @property
    def bytes(self) -> int:
        """How many bytes the pages take, as they are weighed."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether a batch should go out now."""
        return self._bytes >= self._limits[0] or len(self.pages) >= self._limits[1]

    def is_older(self, seconds: float) -> bool:
        """Whether the first page, where there is one, has been here for so many *seconds*."""
        return bool(self.pages) and clock.monotonic() - self._oldest >= seconds

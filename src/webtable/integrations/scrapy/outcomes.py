"""What became of the pages of a crawler, counted for its statistics."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy.statscollectors import StatsCollector

    from webtable import PageOutcome

_log = logging.getLogger(__name__)

MOST_LOGGED = 100
"""How many pages that were not stored are named in the log; all are counted."""


class Outcomes:
    """Counts of pages that were put, and how long it took until they were stored. May be told by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stored = 0
        self._unchanged = 0
        self._dropped = 0
        self._failed: Counter[str] = Counter()
        self._seconds = 0.0
        self._longest = 0.0

    def told(self, began: float, receipt: Future[PageOutcome]) -> None:
        """Count the page of *receipt*, which was put at *began* (`time.monotonic`)."""
        error = receipt.exception()
        if error is not None:
            self.failed(getattr(receipt, "url", ""), error)
            return
        seconds, outcome = time.monotonic() - began, receipt.result()
        with self._lock:
            self._stored += 1
            self._unchanged += not outcome.is_new
            self._dropped += outcome.pushed_out + (not outcome.is_kept)
            self._seconds += seconds
            self._longest = max(self._longest, seconds)

    def failed(self, url: str, error: BaseException) -> None:
        """Count the page *url*, which is not stored because of *error*."""
        with self._lock:
            self._failed[type(error).__name__] += 1
            number = self._failed.total()
        if number <= MOST_LOGGED:
            _log.error("not stored: %s: %s", url[:200], error)

    def publish(self, stats: StatsCollector) -> None:
        """Write the counts into *stats*; to be called in the thread that these belong to."""
        with self._lock:
            found: dict[str, float] = {
                "webtable/stored": self._stored,
                "webtable/unchanged": self._unchanged,
                "webtable/dropped": self._dropped,
                "webtable/failed": self._failed.total(),
                "webtable/latency_mean": round(self._seconds / max(1, self._stored), 3),
                "webtable/latency_max": round(self._longest, 3),
                **{f"webtable/failed/{reason}": count for reason, count in self._failed.items()},
            }
        for name, value in found.items():
            stats.set_value(name, value)

"""How often things happened, by their names."""

from __future__ import annotations

import threading
from collections import Counter

from webtable._forks import renew_after_fork


class Tally:
    """Counts the names that it is called with, by any thread; they are in `counts`. A forked child begins at none."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew, and leave to the parent what it has done."""
        self._lock = threading.Lock()
        self.counts.clear()

    def __call__(self, name: str, many: int = 1) -> None:
        """Count *many* more of *name*."""
        with self._lock:
            self.counts[name] += many

    def taken(self) -> Counter[str]:
        """Return the counts of this moment."""
        with self._lock:
            return Counter(self.counts)

"""The metrics of a store (counts of events, calls and latencies, as values of one moment), and its log records.

An event is logged as one line, and as the fields of a record. It never contains data of a page, and texts from other
systems are escaped to one line.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from webtable._process_hooks import renew_after_fork

LOGGER: Final = logging.getLogger("webtable.store")
logging.getLogger("webtable").addHandler(logging.NullHandler())  # quiet if the program does not configure logging

BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
"""The bounds of latencies in milliseconds: each counts the calls up to it and above the one before."""
OPERATIONS: Final = ("write", "read", "read_cells", "first_rows", "scan")
"""The calls of the port that are measured: all that read and write rows."""


@dataclass(frozen=True, slots=True)
class OperationMetrics:
    """The calls of one operation, the rows and bytes of values that they returned or stored, and their latencies.

    If more than 128 rows came at once, `bytes` is estimated from 65 to 128 of them, evenly spread. `failed` counts
    calls that ended in an error, a write also if some rows failed. `seconds` is the total time in the store, and
    `latencies` has the number of calls for each bound of duration, and for those beyond the last. A scan is one call,
    and each of its pieces (the rows that came at once) is a latency.
    """

    calls: int
    failed: int
    rows: int
    bytes: int
    seconds: float
    latencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ServerMetrics:
    """The connections to one gateway or server of HBase: those in use and idle now, and how many were `opened`, and
    `dropped` because a call on them was lost, since the store was opened.
    """

    name: str
    in_use: int
    idle: int
    opened: int
    dropped: int
    is_down: bool


class Counts:
    """Counts the names with which it is called, in `counts`; thread-safe. A forked child begins at 0."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock and reset the counts, which are the parent's."""
        # Another thread may have held the lock when the parent forked; nobody would release it here.
        self._lock = threading.Lock()
        self.counts.clear()

    def __call__(self, name: str, many: int = 1) -> None:
        """Count *many* more of *name*."""
        with self._lock:
            self.counts[name] += many

    def snapshot(self) -> Counter[str]:
        """Return a snapshot of the counts."""
        with self._lock:
            return Counter(self.counts)


def subject_of(name: str, table: str | None) -> str:
    """Return the beginning of messages about *table* on the store *name*."""
    return f"{name}: table {table!r}" if table else name


def log_event(
    logger: logging.Logger,
    level: int,
    event: str,
    text: str,
    *,
    store: str,
    table: str | None,
    seconds: float,
    reason: str = "",
    server: str | None = None,
    exc_info: bool = False,
) -> None:
    """Log *event* of *store* at *level*, how many *seconds* it took or will take, and why.

    *event*, *store*, *table*, *seconds* and *server* are fields of the record too, and the traceback with *exc_info*.
    If nothing is logged at this level, nothing is done.
    """
    # Else the texts would be escaped for nobody.
    if not logger.isEnabledFor(level):
        return
    extra = {"event": event, "store": store, "table": table, "seconds": seconds, "server": server}
    parts = [one_line(part) for part in (subject_of(server or store, table), text)]
    logger.log(
        level, "%s: %s (%.3f s)%s", *parts, seconds, one_line(reason and f": {reason}"), extra=extra, exc_info=exc_info
    )


def one_line(text: str) -> str:
    r"""Return *text* with line ends and terminal control characters escaped.

    >>> one_line("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)

"""What a store reports of its work: how often things happened and its calls, as values of one moment, and log records.

An event is logged as one line, and as the fields of a record. Nothing of a page is ever in it, and texts from elsewhere
are one line, whatever is in them.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from webtable._forks import renew_after_fork

LOGGER: Final = logging.getLogger("webtable.store")
logging.getLogger("webtable").addHandler(logging.NullHandler())  # quiet where the program sets up no logging

BOUNDS_MS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
"""The bounds of latencies in milliseconds: each counts what took so long at most, and longer than the one before it."""
OPERATIONS: Final = ("write", "read", "read_cells", "first_rows", "scan")
"""The calls of the port that are measured: all that read and write rows."""


@dataclass(frozen=True, slots=True)
class OperationMetrics:
    """The calls of one operation, the rows and bytes of values that they gave or stored, and how long they took.

    Where more than 128 rows came at once, `bytes` is reckoned by 65 to 128 of them that are evenly among them. `failed`
    are the calls that ended in an error, a write also where single rows did. `seconds` is the time within the store,
    and `latencies` has how many calls took how long: a number for each bound, and one for those beyond the last. A scan
    is one call, and each of its pieces (the rows that came at once) is a latency.
    """

    calls: int
    failed: int
    rows: int
    bytes: int
    seconds: float
    latencies: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GatewayMetrics:
    """The connections to one gateway of HBase: those in use and those that lie idle now, and since the store was opened
    how many were `opened`, and how many `dropped` because a call on them was lost.

    `cool_down` is for how many seconds it will be left alone, 0 while it is not.
    """

    name: str
    in_use: int
    idle: int
    opened: int
    dropped: int
    is_down: bool
    cool_down: float


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


def subject_of(name: str, table: str | None) -> str:
    """Return what a message about *table* on the store *name* begins with."""
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
    fields: dict[str, object] | None = None,
) -> None:
    """Log *event* of *store* at *level*, how many *seconds* it took or will take, and why.

    *event*, *store*, *table* and *seconds* are fields of the record too, beside *fields*. Where nobody listens nothing
    is done.
    """
    if not logger.isEnabledFor(level):
        return
    extra = {"event": event, "store": store, "table": table, "seconds": seconds, **(fields or {})}
    parts = [one_line(part) for part in (subject_of(store, table), text)]
    logger.log(level, "%s: %s (%.3f s)%s", *parts, seconds, one_line(reason and f": {reason}"), extra=extra)


def one_line(text: str) -> str:
    r"""Return *text* with everything escaped that could end its line, or steer a terminal.

    >>> one_line("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)

"""The connections of a process to a file: one for writing, used in turns, and idle ones for reading."""

from __future__ import annotations

import sqlite3
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.store.deadline import of_call
from webtable.store.rows import MAX_ROW_KEY
from webtable.store.sqlite import forks
from webtable.store.sqlite.failures import DamagedCells
from webtable.store.sqlite.fair_lock import FairLock
from webtable.store.sqlite.read_only import FileState, is_read_only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDLE_READERS: Final = 8
SAFE_SETTINGS: Final = (
    "trusted_schema=OFF",  # a schema that is changed after it was checked runs no harmful function
    "cell_size_check=ON",
)
READER_SETTINGS: Final = ("cache_size=-16384", "query_only=ON")
WRITER_SETTINGS: Final = (
    # A killed process loses nothing with NORMAL either; FULL also keeps acknowledged data when the power fails. It
    # costs a batch of 500 pages about a seventh of its speed, a single put about a millisecond.
    "synchronous=FULL",
    "secure_delete=OFF",  # some builds overwrite deleted data with zeros
    "cache_size=-53248",  # KiB; a writer's process stays below 150 MB with it (benchmarks/memory.py)
    # A page that a transaction changes after it went to the log makes SQLite read and number all later ones again.
    "cache_spill=-81920",  # KiB
    # The journals of statements: each page of the file that a statement of many rows changes is copied there first.
    "temp_store=MEMORY",
    "wal_autocheckpoint=16000",  # 64 MB in a new file: a page that several batches touch is copied back once
    "journal_size_limit=67108864",
)
_BESIDE_CELL: Final = MAX_ROW_KEY + 2**20
"""How many bytes a row of the file may have beyond the largest cell, for rows of the catalogue."""


class Wait:
    """How long a call may wait in total, and has waited; as text the latter."""

    __slots__ = ("_began", "_deadline")

    def __init__(self, seconds: float) -> None:
        self._began = clock.monotonic()
        self._deadline = of_call(seconds)

    def left(self) -> float:
        """Return how many seconds are left; never below 0, and no more than the system can wait."""
        return min(self._deadline.left(), 1e6)

    def milliseconds(self, limit: float = 1e6) -> int:
        """Return the same in milliseconds, for SQLite, but at most *limit* seconds."""
        return int(min(self.left(), limit) * 1000)

    def seconds(self) -> float:
        """Return how long it has taken so far."""
        return clock.monotonic() - self._began

    def __str__(self) -> str:
        return f"{self.seconds():.1f} s"


class Connections:
    """The connections that this process has opened to the file at *path*; they do not read cells over *max_cell*."""

    def __init__(self, name: str, path: Path, max_cell: int | None) -> None:
        self._name = name
        self._path = path
        self._max_cell = max_cell
        self.turns: Final = FairLock()
        self.open: set[sqlite3.Connection] = set()
        self.writer: sqlite3.Connection | None = None
        self.is_writing = False
        self.readers: deque[sqlite3.Connection] = deque()
        self.is_read_only: Final = is_read_only(path)
        self._immutable: dict[sqlite3.Connection, FileState] = {}
        """What a file that is read without a log looked like when each of its connections was opened."""

    def reader(self, wait: Wait) -> sqlite3.Connection:
        """Return a connection for reading, to be returned by `give_back`."""
        with suppress(IndexError):
            while True:
                connection = self.readers.pop()
                if not self._is_outdated(connection):
                    return connection
                self.close(connection)
        return self.connect(wait)

    def check_unchanged(self, connection: sqlite3.Connection) -> None:
        """Raise `StoreUnavailable` if what was just read may be wrong, as another program has begun to write."""
        if self._is_outdated(connection):
            raise StoreUnavailable(f"{self._name}: another program has begun to write the file; read again")

    def _is_outdated(self, connection: sqlite3.Connection) -> bool:
        state = self._immutable.get(connection)
        return state is not None and FileState.of(self._path) != state

    def give_back(self, connection: sqlite3.Connection, *, keep: bool = True) -> None:
        """Return a connection that was lent for reading; unless *keep*, it is closed."""
        with suppress(sqlite3.Error):
            connection.rollback()
        if keep and len(self.readers) < IDLE_READERS:
            self.readers.append(connection)
        else:
            self.close(connection)

    def connect(self, wait: Wait, *, write: bool = False, mode: str = "rw") -> sqlite3.Connection:
        """Return a new connection."""
        state = None
        if self.is_read_only:
            if write:
                raise StoreRefused(f"{self._name}: the file, or its directory, is read-only for this user")
            state = FileState.of(self._path)
        with self.opening(wait):
            connection = sqlite3.connect(
                f"{self._path.as_uri()}?{state.mode if state else f'mode={mode}'}",
                uri=True,
                timeout=wait.left(),
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            self.open.add(connection)
            if state is not None and not state.has_log:
                self._immutable[connection] = state
            try:
                if self._max_cell is not None:
                    # SQLite lowers this to the limit of its build.
                    most = min(self._max_cell + _BESIDE_CELL, 2**31 - 1)
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
                for setting in (*SAFE_SETTINGS, *(WRITER_SETTINGS if write else READER_SETTINGS)):
                    connection.execute(f"PRAGMA {setting}")
                connection.execute("PRAGMA schema_version").fetchone()  # opens the log
            except UnicodeDecodeError as exc:  # raised by the driver for SQLite's message, which quotes the schema
                self.close(connection)
                raise DamagedCells(f"its schema cannot be read: {exc}") from exc
            except BaseException:
                self.close(connection)
                raise
            return connection

    @contextmanager
    def opening(self, wait: Wait) -> Iterator[None]:
        """Keep other threads from opening the file in the block."""
        lock = forks.opening(self._path)
        if not lock.acquire(timeout=wait.left()):
            raise StoreUnavailable(f"{self._name}: locked for over {wait} by a thread that is opening it")
        try:
            yield
        finally:
            lock.release()

    def close(self, connection: sqlite3.Connection) -> None:
        """Close *connection*, whatever state it is in."""
        with suppress(sqlite3.Error):
            connection.close()
        self.open.discard(connection)
        self._immutable.pop(connection, None)

    def close_writer(self) -> None:
        """Close the writing connection, unless it is in use."""
        connection = self.writer
        if connection is not None and not self.is_writing:
            self.writer = None
            self.close(connection)

    def close_readers(self) -> None:
        """Close the readers that are not in use."""
        with suppress(IndexError):
            while True:
                self.close(self.readers.pop())


def bytes_of(connection: sqlite3.Connection, pages: str = "page_count") -> int:
    """Return how many bytes the file of *connection* has; with "freelist_count" how many of them are free."""
    (count,) = connection.execute(f"PRAGMA {pages}").fetchone()
    (page_size,) = connection.execute("PRAGMA page_size").fetchone()
    return int(count) * int(page_size)


@contextmanager
def temporary_files(connection: sqlite3.Connection) -> Iterator[None]:
    """Let the statements of the block, outside of a transaction, keep in files what they would keep in memory."""
    connection.execute("PRAGMA temp_store=FILE")
    try:
        yield
    finally:
        connection.execute("PRAGMA temp_store=MEMORY")

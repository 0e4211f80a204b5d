"""The connections of a process to a file: one for writing, used in turns, and idle ones for reading."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable._clock import clock
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.store.deadline import of_call
from webtable.store.rows import MAX_ROW_KEY
from webtable.store.sqlite import forks
from webtable.store.sqlite.failures import DamagedCells

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- A fair lock for the threads of a process, and the processes that have locked the file, for messages --------------


@dataclass(frozen=True, slots=True)
class _Turn:
    """The thread whose turn it is, and its purpose."""

    purpose: str
    thread: threading.Thread = field(default_factory=threading.current_thread)
    since: float = field(default_factory=clock.monotonic)

    def __str__(self) -> str:
        return f"thread {self.thread.name!r}, which has been {self.purpose} for {clock.monotonic() - self.since:.1f} s"


class FairLock:
    """A lock that is passed on in the order of arrival."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False
        self._turn: _Turn | None = None

    @property
    def holder(self) -> str:
        """The thread that has the turn, its purpose and how long; empty if no thread has it."""
        return str(self._turn or "")

    def take(self, purpose: str, seconds: float) -> bool:
        """Return whether the turn came within *seconds*; `give_back` ends it. Others see *purpose* in errors."""
        with self._guard:
            if not self._taken:
                self._taken, self._turn = True, _Turn(purpose)
                return True
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        try:
            came = ticket.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
        except BaseException:
            if not self._left_queue(ticket):
                self.give_back()
            raise
        if not came and self._left_queue(ticket):
            return False
        self._turn = _Turn(purpose)
        return True

    def give_back(self) -> None:
        """Pass the turn on to the next thread."""
        with self._guard:
            self._turn = None
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    def _left_queue(self, ticket: threading.Lock) -> bool:
        """Leave the queue; return False if the turn has come in the meantime."""
        with self._guard:
            try:
                self._waiting.remove(ticket)
            except ValueError:
                return False
            return True


LOCKS = Path("/proc/locks")  # Linux has it

# The bytes that SQLite locks: in the -shm file those of the writer, of a checkpoint and of a recovery; in the file
# itself those of a writer without WAL (https://www.sqlite.org/walformat.html, section 2.3; os_unix.c).
_LOG_BYTES: Final = range(120, 123)
_FILE_BYTES: Final = range(0x40000000, 0x40000002)


def other_holder(path: Path) -> str:
    """Return the process, or the connection of this process, that has locked the file at *path* for writing.

    The files are only looked up, not opened: closing one of them would release the locks of this process.
    """
    for process in _lockers(path.with_name(path.name + "-shm"), _LOG_BYTES), _lockers(path, _FILE_BYTES):
        for number in process:
            if number == os.getpid():
                return "another connection of this process"
            return f"process {number}{_program(number)}"
    return "another process"


def _lockers(path: Path, wanted: range) -> Iterator[int]:
    """Yield the processes that have locked one of the *wanted* bytes of a file for writing."""
    with suppress(OSError, ValueError):
        inode = path.stat().st_ino
        for line in LOCKS.read_text().splitlines():
            # 12: POSIX  ADVISORY  WRITE 4711 fe:00:10961951 120 120
            fields = line.split()
            if fields[1] != "POSIX" or fields[3] != "WRITE" or fields[5].rpartition(":")[2] != str(inode):
                continue
            if int(fields[6]) in wanted:
                yield int(fields[4])


def _program(process: int) -> str:
    """Return the name of its program in brackets; empty if it is unknown."""
    try:
        return f" ({Path(f'/proc/{process}/comm').read_text().strip()})"
    except OSError:
        return ""


# --- Reading a file that this process may not write, or beside which it may not make files ----------------------------
#
# SQLite makes a -wal and a -shm beside a file even to read it. Where it may not, or where these would belong to
# another user than the file, it is told not to: if nobody has the file open, there is no -wal, and the file alone is
# everything (`immutable`). If somebody has, their -wal and -shm are read. That may begin at any time, so an immutable
# file is compared with what it was before and after each read (https://www.sqlite.org/wal.html#read_only_databases).


IMMUTABLE = "mode=ro&immutable=1"
SHARED = "mode=ro&readonly_shm=1"


class FileState(NamedTuple):
    """What a file looked like: whether there is a -wal beside it, and its inode, size in bytes and time in ns."""

    has_log: bool
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Return what the file looks like now; raises `OSError`."""
        status = path.stat()
        return cls(log_of(path).exists(), status.st_ino, status.st_size, status.st_mtime_ns)

    @property
    def mode(self) -> str:
        """The parameters of the URI by which the file is to be read."""
        return SHARED if self.has_log else IMMUTABLE


def is_read_only(path: Path) -> bool:
    """Whether this process may not write the file, or may neither make files beside it nor write those of its owner."""
    return may(path, os.F_OK) and not (
        may(path, os.W_OK)
        and (may(path.parent, os.W_OK) or all(may(one, os.W_OK) for one in (log_of(path), _shared_of(path))))
    )


def may(path: Path, mode: int) -> bool:
    """Whether this process may do with *path* what *mode* says, as for `os.access`."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def log_of(path: Path) -> Path:
    """Return the path of the -wal beside the file."""
    return path.with_name(f"{path.name}-wal")


def _shared_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-shm")


# ----------------------------------------------------------------------------------------------------------------------


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

"""The connections of a process to a file, with what they need: errors, forks, turns, locks and read-only files.

There is one connection for writing, used in turns, and idle ones for reading.
"""

from __future__ import annotations

import ctypes
import os
import re
import sqlite3
import threading
import time
import weakref
from collections import deque
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec

from webtable._clock import clock
from webtable._messages import Command
from webtable._process_hooks import renew_after_fork
from webtable.errors import NotAStore, StoreError, StoreFull, StoreRefused, StoreUnavailable
from webtable.store.deadline import of_call
from webtable.store.rows import MAX_ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


# --- Errors -----------------------------------------------------------------------------------------------------------
#
# SQLite's errors become errors of the store; a damaged file is examined by SQLite's own check.


CHECK_SECONDS: Final = 3.0
"""The time, in seconds, for SQLite's check of a file; a large file takes longer than a call may."""


_OF_FULL_TEXT: Final = re.compile("no such module: fts5|contentless_delete")


class DamagedCells(sqlite3.DatabaseError):
    """Data was read that no store writes."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def check_cell(key: object, qualifier: object, timestamp: object, value: object) -> None:
    """Raise `DamagedCells` if a part of a cell has a wrong type: SQLite stores any type in any column."""
    if not (type(key) is type(qualifier) is type(value) is bytes and type(timestamp) is int):
        raise DamagedCells("a cell has a key, a qualifier, a timestamp or a value of a wrong type")


def is_busy(exc: sqlite3.Error) -> bool:
    """Whether another connection holds the lock."""
    return _code(exc) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_too_big(exc: sqlite3.Error) -> bool:
    """Whether a value has more bytes than the connection accepts."""
    return _code(exc) == sqlite3.SQLITE_TOOBIG


def is_damage(exc: sqlite3.Error) -> bool:
    """Whether the error means damaged data, to SQLite or to this module."""
    match _code(exc):
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_FORMAT | sqlite3.SQLITE_MISMATCH:
            return True
        case sqlite3.SQLITE_TOOBIG:  # only of reads: writes are checked before
            return True
        case sqlite3.SQLITE_ERROR:
            # The schema differs from the catalogue, or has errors itself.
            return bool(re.match(r"no such (table|column)|malformed|table \S+ has \d+ columns|near ", str(exc)))
        case None:  # raised by the driver: "Could not decode to UTF-8 column 'name' with text …"
            return isinstance(exc, sqlite3.OperationalError | sqlite3.DataError)
        case _:
            return False


def meaning(name: str, exc: sqlite3.Error, *, closed: bool) -> StoreError:
    """Return *exc* as an error of the store, except for locked and damaged files."""
    match _code(exc):
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"{name}: the disk is full")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN if _is_of_the_directory(name, exc):
            return StoreRefused(
                f"{name}: the directory is read-only, and the -wal file beside the store cannot be read without a -shm "
                "file: copy both to a writable directory"
            )
        case sqlite3.SQLITE_READONLY:
            return StoreRefused(f"{name}: the file is read-only")
        case sqlite3.SQLITE_NOTADB:
            return NotAStore(f"{name}: not an SQLite database")
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_INTERRUPT | sqlite3.SQLITE_PROTOCOL:
            return StoreUnavailable(f"{name}: {exc}")
        case sqlite3.SQLITE_MISUSE | None if closed:
            return StoreError(f"{name}: the store is closed")
        case _ if _OF_FULL_TEXT.search(str(exc)):
            return StoreRefused(
                f"{name}: {exc}: full text needs SQLite's FTS5, and of SQLite 3.43 or newer where it was "
                f"created by such a one, but this Python has SQLite {sqlite3.sqlite_version}: use another "
                "Python, or drop the full text where it was created: ",
                Command("search-index drop", python="table.search_index.drop()"),
            )
        case _:
            return StoreRefused(f"{name}: {exc}")


def _is_of_the_directory(name: str, exc: sqlite3.Error) -> bool:
    """Whether the directory, or its disk, is not writable."""
    if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_DIRECTORY:
        return True
    path = Path(name)
    return _code(exc) == sqlite3.SQLITE_CANTOPEN and path.exists() and not os.access(path.parent, os.W_OK)


def damage_found(connect: Callable[[], sqlite3.Connection]) -> str | None:
    """Return the first problem that SQLite's check finds in the file of a new connection; None if it finds none.

    The result is empty if the check does not finish in time.
    """
    last = clock.monotonic() + CHECK_SECONDS
    connection = None
    try:
        connection = connect()
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.set_progress_handler(lambda: clock.monotonic() > last, 10_000)
        problems = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
        return None if problems == ["ok"] else without_heading(problems)
    except sqlite3.Error as exc:
        return "" if _code(exc) in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_BUSY) else str(exc)
    finally:
        if connection is not None:
            connection.close()


def without_heading(lines: Sequence[str]) -> str:
    r"""The *lines* of a check by SQLite as one line, without their heading.

    >>> without_heading(["*** in database main ***\nPage 139: free space corruption"])
    'Page 139: free space corruption'
    """
    return " ".join(" ".join(lines).split()).replace("*** in database main *** ", "")


def damaged(name: str, exc: sqlite3.Error, problem: str | None) -> StoreRefused:
    """Return the error for a file in which *exc* occurred; *problem* is the result of SQLite's check."""
    if problem is None:
        return StoreRefused(f"{name}: the file cannot be read: {exc}. SQLite's own check finds nothing wrong with it")
    finding = f"says: {problem}" if problem else "would take too long here"
    return StoreRefused(
        f"{name}: the file is damaged: {exc}. PRAGMA integrity_check {finding}. Keep a copy of it together with the "
        "-wal and -shm files beside it. ",
        Command("backup rescue FILE"),
        " writes all that can still be read into a new file",
    )


def _code(exc: sqlite3.Error) -> int | None:
    """Return SQLite's primary code; None for errors of the driver."""
    code = getattr(exc, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


# --- Forks ------------------------------------------------------------------------------------------------------------
#
# A fork waits until no thread is inside SQLite, and a child inherits no open connection.
#
# SQLite keeps the locks that a process has on a file in its memory, and a fork copies that memory but not the locks.
# A connection that the child opens would rely on locks of the parent: when the parent closes its last connection, it
# removes the -wal to which the child is writing, and acknowledged writes of the child are lost
# (https://www.sqlite.org/howtocorrupt.html, "carrying an open database connection across a fork"). So all idle
# connections are closed before a fork, and both processes open new ones when they need them.


PATIENCE: Final = 10.0
"""How many seconds a fork waits for calls in progress in other threads."""


class Forking(Protocol):
    """A file with connections."""

    def before_fork(self) -> None:
        """Close the idle connections."""


class _Gate:
    """Counts the threads that are inside SQLite, and blocks new ones while the process is being forked."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        # Reentrant, because garbage collection may close a store in the middle of this. Taken itself where that is
        # enough, as each call of a store comes here twice, and a condition is Python.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._inside: dict[int, int] = {}
        self._forking: int | None = None
        self.opening: weakref.WeakValueDictionary[Path, threading.Lock] = weakref.WeakValueDictionary()

    def enter(self) -> None:
        """Begin to use SQLite in this thread, as soon as no other thread is forking."""
        me = threading.get_ident()
        with self._lock:
            while self._forking is not None and me not in self._inside and self._forking != me:
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        """End the use of SQLite that `enter` began."""
        me = threading.get_ident()
        with self._lock:
            depth = self._inside.pop(me, 0) - 1
            if depth > 0:  # below 0 in a child that was forked from inside
                self._inside[me] = depth
            if self._forking is not None:
                self._changed.notify_all()

    def close(self) -> None:
        """Block other threads, and return when none of them is inside, or after a time limit."""
        me, last = threading.get_ident(), time.monotonic() + PATIENCE
        with self._changed:
            while self._forking is not None:
                self._changed.wait()
            self._forking = me
            while self._inside.keys() - {me} and (seconds := last - time.monotonic()) > 0:
                self._changed.wait(seconds)

    def open(self) -> None:
        with self._changed:
            self._forking = None
            self._changed.notify_all()


_gate = _Gate()
_files: weakref.WeakSet[Forking] = weakref.WeakSet()
_inherited: set[Path] = set()


enter: Callable[[], None] = _gate.enter
leave: Callable[[], None] = _gate.leave


@contextmanager
def inside() -> Iterator[None]:
    """Use SQLite in the block."""
    enter()
    try:
        yield
    finally:
        leave()


def opening(path: Path) -> threading.Lock:
    """Return the lock under which connections to *path* are opened; see `webtable.store.sqlite.opening`."""
    return _gate.opening.setdefault(path, threading.Lock())


def closed_before_fork(file: Forking) -> None:
    """Call `file.before_fork()` before each fork of this process, as long as *file* is in use."""
    _files.add(file)


def leave_to_parent(connection: object, path: Path) -> None:
    """Never close *connection* in this process, and mark the file at *path* as unusable: SQLite takes it for locked."""
    # An extra reference keeps it alive even when the interpreter shuts down.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _inherited.add(path)


def is_the_parents(path: Path) -> bool:
    """Whether the file at *path* cannot be used in this process, nor in those that are forked from it."""
    return bool(_inherited) and path in _inherited  # a path is hashed in Python


def _before() -> None:
    _gate.close()
    for file in list(_files):
        file.before_fork()


os.register_at_fork(before=_before, after_in_parent=_gate.open)


# --- Turns and locks --------------------------------------------------------------------------------------------------
#
# Threads of a process write in the order of arrival. Other processes that have locked the file are named in messages.


class _Turn(msgspec.Struct, frozen=True):
    """The thread whose turn it is, and its purpose."""

    purpose: str
    thread: threading.Thread = msgspec.field(default_factory=threading.current_thread)
    since: float = msgspec.field(default_factory=clock.monotonic)

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
            if not self._leave_queue(ticket):
                self.give_back()
            raise
        if not came and self._leave_queue(ticket):
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

    def _leave_queue(self, ticket: threading.Lock) -> bool:
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
    for process in _lockers(beside(path, "-shm"), _LOG_BYTES), _lockers(path, _FILE_BYTES):
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


# --- Files that cannot be written -------------------------------------------------------------------------------------
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
        """The state of the file now; raises `OSError`."""
        status = path.stat()
        return cls(beside(path).exists(), status.st_ino, status.st_size, status.st_mtime_ns)

    @property
    def mode(self) -> str:
        """The parameters of the URI by which the file is to be read."""
        return SHARED if self.has_log else IMMUTABLE


def is_read_only(path: Path) -> bool:
    """Whether this process may not write the file, or may neither make files beside it nor write those of its owner."""
    return may(path, os.F_OK) and not (
        may(path, os.W_OK)
        and (may(path.parent, os.W_OK) or all(may(file, os.W_OK) for file in (beside(path), beside(path, "-shm"))))
    )


def may(path: Path, mode: int) -> bool:
    """Whether this process may do with *path* what *mode* says, as for `os.access`."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def beside(path: Path, ending: str = "-wal") -> Path:
    """Return the path of a file that SQLite keeps beside the one at *path*: its log, or with "-shm" its index."""
    return path.with_name(path.name + ending)


# --- Connections ------------------------------------------------------------------------------------------------------


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


class ReadingConnection(sqlite3.Connection):
    """A connection for reading, with the tables that it has found as of a version of the file."""

    version: int | None = None
    tables: dict[str, Any] = {}


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
        self._waits: dict[sqlite3.Connection, int] = {}

    def reader(self, wait: Wait) -> sqlite3.Connection:
        """Return a connection for reading, to be returned by `give_back`."""
        while self.readers:
            try:
                connection = self.readers.pop()
            except IndexError:  # another thread has taken it
                break
            if not self._is_outdated(connection):
                return connection
            self.close(connection)
        return self.connect(wait)

    def limit(self, connection: sqlite3.Connection, wait: Wait) -> None:
        """Let a reader wait for others as long as *wait*."""
        milliseconds = wait.milliseconds()
        # SQLite prepares a PRAGMA each time anew, and nearly always the timeout is that of the call before.
        if self._waits.get(connection) != milliseconds:
            connection.execute(f"PRAGMA busy_timeout={milliseconds}")
            self._waits[connection] = milliseconds

    def check_unchanged(self, connection: sqlite3.Connection) -> None:
        """Raise `StoreUnavailable` if what was just read may be wrong, as another program has begun to write."""
        if self._is_outdated(connection):
            raise StoreUnavailable(f"{self._name}: another program has begun to write the file; read again")

    def _is_outdated(self, connection: sqlite3.Connection) -> bool:
        state = self._immutable.get(connection)
        return state is not None and FileState.of(self._path) != state

    def give_back(self, connection: sqlite3.Connection, *, keep: bool = True) -> None:
        """Return a connection that was lent for reading; unless *keep*, it is closed."""
        try:  # noqa: SIM105 - each read comes here, and `suppress` takes as long as the rollback
            connection.rollback()
        except sqlite3.Error:
            pass
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
                factory=sqlite3.Connection if write else ReadingConnection,
            )
            self.open.add(connection)
            if state is not None and not state.has_log:
                self._immutable[connection] = state
            try:
                if self._max_cell is not None:
                    # SQLite lowers this to the limit of its build.
                    limit = min(self._max_cell + _BESIDE_CELL, 2**31 - 1)
                    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
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
        lock = opening(self._path)
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
        self._waits.pop(connection, None)

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


class Database(Protocol):
    """A database of SQLite that threads share: a file, or one in memory."""

    name: str
    max_cell: int
    closed: bool

    def check_open(self) -> None:
        """Raise `StoreError` if it is closed."""

    def reader(self) -> AbstractContextManager[sqlite3.Connection]:
        """Lend a connection in a transaction that reads."""

    def writer(self, purpose: str = ..., table: str | None = ...) -> AbstractContextManager[sqlite3.Connection]:
        """Lend the connection in a transaction that writes."""

    def exclusive(self, purpose: str = ...) -> AbstractContextManager[sqlite3.Connection]:
        """Lend the connection that writes, without a transaction."""

    def close(self) -> None:
        """Close it."""


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

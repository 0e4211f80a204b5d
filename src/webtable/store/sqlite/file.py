"""The file: how it is made, found to be ours, shared by threads and processes, and what SQLite's errors mean."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable.errors import NotAStore, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.store.sqlite.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterator

APPLICATION_ID: Final = int.from_bytes(b"wbtb", "big")
LAYOUT: Final = 1
PAGE_SIZE: Final = 8192
IDLE_READERS: Final = 8
WRITER_SETTINGS: Final = (
    # A killed process loses nothing with NORMAL either; FULL keeps what is acknowledged also when the power fails. It
    # costs a batch of 500 pages about a seventh of its speed, a single put about a millisecond.
    "synchronous=FULL",
    "secure_delete=OFF",  # some builds fill what is deleted with zeros
    "cache_size=-65536",
    "wal_autocheckpoint=8000",  # 64 MB: a page that several batches touch is copied back once
    "journal_size_limit=67108864",
)

# Connections that a fork copied. Closing one in the child would release the parent's locks, so they stay referenced.
_inherited: list[object] = []


class _Connections:
    """The open connections of one process: one writer under a lock, and readers that wait to be used again."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.writing = threading.Lock()
        self.writer: sqlite3.Connection | None = None
        self.readers: deque[sqlite3.Connection] = deque()


class StoreFile:
    """One SQLite file. `reader()` and `writer()` lend a connection inside a transaction, and translate its errors."""

    def __init__(self, path: str | os.PathLike[str], *, create: bool, timeout: float) -> None:
        self.name = os.fspath(path)
        self.path = Path(path).absolute()
        self.timeout = timeout
        self.closed = False
        self._connections = _Connections()
        try:
            if not self._is_ours(create):
                self._create()
            connection = self._connect()
            self._use_wal(connection)
        except sqlite3.Error as exc:
            raise self._error(exc) from exc
        self._connections.readers.append(connection)

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection in a read transaction: all that is read in it is of one moment."""
        self.check_open()
        connections = self._of_this_process()
        connection = None
        try:
            try:
                connection = connections.readers.pop()
            except IndexError:
                connection = self._connect()
            connection.execute("BEGIN")
            yield connection
        except sqlite3.Error as exc:
            raise self._error(exc) from exc
        finally:
            if connection is not None:
                self._give_back(connections, connection)

    @contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection in a transaction that is committed at the end, or rolled back by an exception."""
        with self.exclusive() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite itself has rolled back where the disk was full, and then refuses to do it again.
                with suppress(sqlite3.OperationalError):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def exclusive(self) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection outside of a transaction."""
        self.check_open()
        connections = self._of_this_process()
        deadline = time.monotonic() + self.timeout
        if not connections.writing.acquire(timeout=self.timeout):
            raise StoreUnavailable(f"{self.name}: other threads were writing for {self.timeout:g} s")
        try:
            self.check_open()
            if connections.writer is None:
                connections.writer = self._connect(write=True)
            patience = max(0, int((deadline - time.monotonic()) * 1000))
            connections.writer.execute(f"PRAGMA busy_timeout={patience}")
            yield connections.writer
        except sqlite3.Error as exc:
            raise self._error(exc) from exc
        finally:
            connections.writing.release()

    def close(self) -> None:
        """Close every connection, those in use as soon as they are given back."""
        self.closed = True
        connections = self._of_this_process()
        with connections.writing:
            if connections.writer is not None:
                connections.writer.close()
                connections.writer = None
        with suppress(IndexError):
            while True:
                connections.readers.pop().close()

    def check_open(self) -> None:
        """Raise where the store is closed."""
        if self.closed:
            raise StoreError(f"{self.name}: the store is closed")

    def _of_this_process(self) -> _Connections:
        if self._connections.pid != os.getpid():
            _inherited.append(self._connections)
            self._connections = _Connections()
        return self._connections

    def _give_back(self, connections: _Connections, connection: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            connection.rollback()
        if self.closed or len(connections.readers) >= IDLE_READERS:
            connection.close()
        else:
            connections.readers.append(connection)

    def _connect(self, *, write: bool = False, mode: str = "rw") -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}", uri=True, timeout=self.timeout, isolation_level=None,
            check_same_thread=False, cached_statements=256,
        )
        if not write:
            connection.execute("PRAGMA cache_size=-16384")
            connection.execute("PRAGMA query_only=ON")
            return connection
        for setting in WRITER_SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        return connection

    def _is_ours(self, create: bool) -> bool:
        """Whether the file is a store already; raises where it is none and none may be made of it."""
        if self.path.is_dir():
            raise NotAStore(f"{self.name}: a directory, not a file")
        if not self.path.exists():
            if not create:
                raise TableNotFound(f"{self.name}: no such file; create it with create=True or `webtable create`")
            if not self.path.parent.is_dir():
                raise StoreRefused(f"{self.name}: there is no directory {self.path.parent}")
            return False
        if self.path.stat().st_size == 0:
            if not create:
                raise NotAStore(f"{self.name}: an empty file; create=True makes a store of it")
            return False
        self._check_header()
        return True

    def _check_header(self) -> None:
        application, layout = self._header()
        if application != APPLICATION_ID:
            raise NotAStore(f"{self.name}: an SQLite database of another program")
        if layout > LAYOUT:
            raise NotAStore(f"{self.name}: layout {layout} of a later webtable; this one reads up to {LAYOUT}")

    def _header(self) -> tuple[int, int]:
        # The probe takes no lock, so a file that somebody is just creating looks damaged to it, for a moment.
        deadline = time.monotonic() + min(self.timeout, 2.0)
        while True:
            try:
                return self._probed()
            except sqlite3.DatabaseError as exc:
                if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _probed(self) -> tuple[int, int]:
        # Read through SQLite: to open and close the file by other means would drop the locks that this process holds
        # on it. `immutable` keeps SQLite from leaving a -wal or -shm file beside a database that is not ours.
        probe = sqlite3.connect(f"{self.path.as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            (application,) = probe.execute("PRAGMA application_id").fetchone()
            (layout,) = probe.execute("PRAGMA user_version").fetchone()
        finally:
            probe.close()
        return application, layout

    def _create(self) -> None:
        connection = self._connect(write=True, mode="rwc")
        try:
            connection.execute(f"PRAGMA page_size={PAGE_SIZE}")
            # Not yet in WAL mode, so that the header with our id is in the file itself when this is committed.
            connection.execute("BEGIN EXCLUSIVE")
            if connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
                for statement in CATALOGUE:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={LAYOUT}")
            connection.execute("COMMIT")
            self._use_wal(connection)
        finally:
            connection.close()
        self._check_header()  # another process may have made something else of the file in the meantime

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        # The change needs the file for itself, and SQLite does not wait for that.
        deadline = time.monotonic() + self.timeout
        while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                connection.execute("PRAGMA query_only=OFF")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA query_only=ON")
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _error(self, exc: sqlite3.Error) -> StoreError:
        """Return *exc* as one of ours."""
        code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        match code:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return StoreUnavailable(f"{self.name}: locked by another writer for over {self.timeout:g} s")
            case sqlite3.SQLITE_FULL:
                return StoreRefused(f"{self.name}: disk full")
            case sqlite3.SQLITE_READONLY:
                return StoreRefused(f"{self.name}: the file is read-only")
            case sqlite3.SQLITE_NOTADB:
                return NotAStore(f"{self.name}: not an SQLite database")
            case sqlite3.SQLITE_CORRUPT:
                return StoreRefused(f"{self.name}: the file is damaged: {exc}")
            case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_INTERRUPT:
                return StoreUnavailable(f"{self.name}: {exc}")
            case sqlite3.SQLITE_MISUSE if self.closed:
                return StoreError(f"{self.name}: the store is closed")
            case _:
                return StoreRefused(f"{self.name}: {exc}")

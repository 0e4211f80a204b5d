"""Opening: a file becomes a store, or is recognised as one; files of other programs are left as they are.

Everything goes through SQLite, because opening and closing the file by other means would release the locks that this
process has on it. The file is never read without its log: with a -wal beside it the file itself may be inconsistent,
because a process that is killed while it copies the log back leaves some pages new and others old, without any loss.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._files import OWNER_ONLY, Folder
from webtable._limits import FILE_FORMAT, check_format
from webtable._messages import Command, Message
from webtable.errors import FormatError, NotAStore, StoreRefused, TableNotFound
from webtable.store.sqlite.catalogue import CATALOGUE, check_schema, format_of
from webtable.store.sqlite.connections import IMMUTABLE, SHARED, Connections, Wait, beside, is_busy, may

if TYPE_CHECKING:
    from pathlib import Path


APPLICATION_ID: Final = int.from_bytes(b"wbtb", "big")
PAGE_SIZE: Final = 4096
"""In bytes. An entry at a random place touches a page of the file, so larger ones write more; reading is as fast."""

_MAKING_SECONDS: Final = 2.0
"""How long, in seconds, a file may not look like a database, because another process is just making it."""


def opened(name: str, path: Path, connections: Connections, wait: Wait, *, create: bool) -> sqlite3.Connection:
    """Return a connection to the file, which must be a store, or with *create* becomes one."""
    if not _is_there(name, path, create):
        _make(path, connections, wait)
    _check_whose(name, path, connections, wait)
    connection = connections.connect(wait)
    try:
        check_format(name, "file", format_of(connection), FILE_FORMAT)
        check_schema(name, connection)
        if not connections.is_read_only:
            _use_wal(connection, wait)
    except BaseException:
        connections.close(connection)
        raise
    return connection


def _is_there(name: str, path: Path, create: bool) -> bool:
    """Whether there is a file that is not empty; raises if there is none and *create* is false."""
    if path.is_dir():
        raise NotAStore(f"{name}: a directory, not a file")
    check_files(name, path)
    # The log is looked for first: a file that is being made has its size before there is a log.
    log = beside(path)
    has_log = log.exists() and log.stat().st_size > 0
    exists = path.exists()
    if exists and not may(path, os.R_OK):
        raise StoreRefused(f"{name}: this user may not read it")
    if exists and path.stat().st_size:
        return True
    what = "an empty file" if exists else "no such file"
    if has_log:
        raise NotAStore(
            f"{name}: {what}, but beside it is {log.name} with the last writes: restore the file to which it "
            "belongs, or move it away"
        )
    if not create:
        if exists:
            raise NotAStore(f"{name}: an empty file; create=True makes a store of it")
        raise TableNotFound(
            f"{name}: no such file", Message("; create it with ", Command("create", python="create=True"))
        )
    if not path.parent.is_dir():
        raise StoreRefused(f"{name}: there is no directory {path.parent}")
    return False


def check_files(name: str, path: Path) -> None:
    """Raise `NotAStore` if *path*, or what SQLite opens beside it, is no file: it waits for a pipe for ever."""
    if path.exists() and not path.is_file():
        raise NotAStore(f"{name}: a device, a pipe or a socket, not a file")
    real = path.resolve()  # SQLite finds the others beside the file that a link leads to
    try:
        with Folder(real.parent) as folder:
            for ending in ("-wal", "-shm", "-journal"):
                folder.check_file(real.name + ending)
    except FormatError as exc:
        raise NotAStore(f"{name}: {exc}") from exc
    except FileNotFoundError:
        return


def _check_whose(name: str, path: Path, connections: Connections, wait: Wait) -> None:
    last = clock.monotonic() + min(wait.left(), _MAKING_SECONDS)
    while True:
        try:
            with connections.opening(wait):
                application = application_of(path)
            break
        except sqlite3.DatabaseError as exc:
            code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF
            if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
            if clock.monotonic() > last or code == sqlite3.SQLITE_NOTADB:
                raise NotAStore(f"{name}: not an SQLite database") from exc
            clock.sleep(0.01)
    if application != APPLICATION_ID:
        raise NotAStore(f"{name}: an SQLite database of another program")


def _make(path: Path, connections: Connections, wait: Wait) -> None:
    # SQLite would make it readable for everybody; the files beside it get the same mode.
    with suppress(FileExistsError), connections.opening(wait):
        # In turns, and only a new file: closing a file releases the locks that this process has on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    connection = connections.connect(wait, write=True, mode="rwc")
    try:
        connection.execute(f"PRAGMA page_size={PAGE_SIZE}")
        # Not yet in WAL mode, so that the commit writes the header with the application id into the file itself.
        connection.execute("BEGIN EXCLUSIVE")
        # Another process may have initialized the file in the meantime.
        if connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
            for statement in CATALOGUE:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={FILE_FORMAT}")
        connection.execute("COMMIT")
    finally:
        connections.close(connection)


def _use_wal(connection: sqlite3.Connection, wait: Wait) -> None:
    # The change needs exclusive access, for which SQLite does not wait.
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA query_only=OFF")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA query_only=ON")
        except sqlite3.OperationalError as exc:
            if not is_busy(exc) or not wait.left():
                raise
            clock.sleep(0.01)


_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_APPLICATION: Final = slice(68, 72)


class NoDatabase(sqlite3.DatabaseError):
    """SQLite's error for a file that does not begin as its files do."""

    sqlite_errorcode = sqlite3.SQLITE_NOTADB


# Descriptors are kept for as long as the process lives: to close one would give up its locks on the file.
_descriptors: dict[tuple[int, int], int] = {}


def application_of(path: Path) -> int:
    """Return the application id of the database at *path*; nothing is left beside it. Raises `sqlite3.DatabaseError`.

    Call it under `forks.opening(path)`: a -shm that it opens read-only is read-only for the whole process.
    """
    if not beside(path).exists():
        # `immutable` keeps SQLite from making a -wal and a -shm. It takes no lock, so it may find a file that is just
        # being made with fewer pages than its header says; reading the application id needs no page.
        return _application_by_sqlite(path, IMMUTABLE, "PRAGMA writable_schema=ON")
    if beside(path, "-shm").exists():
        # If that fails, the -shm is gone by now, or unusable without permission to write it.
        with suppress(sqlite3.DatabaseError):
            return _application_by_sqlite(path, SHARED)
    # SQLite would make a -shm, which must not happen beside a file of another program.
    return _application_in_header(path)


def _application_by_sqlite(path: Path, mode: str, *settings: str) -> int:
    probe = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=1.0, isolation_level=None)
    try:
        for setting in settings:
            probe.execute(setting)
        (application,) = probe.execute("PRAGMA application_id").fetchone()
    finally:
        probe.close()
    return int(application)


def _application_in_header(path: Path) -> int:
    """Return the application id from the header of the file itself, which a store has from the beginning."""
    status = path.stat()
    place = status.st_dev, status.st_ino
    if place not in _descriptors:
        _descriptors[place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    header = os.pread(_descriptors[place], _HEADER, 0)
    if not header.startswith(_MAGIC):
        raise NoDatabase("file is not a database")
    return int.from_bytes(header[_APPLICATION], "big", signed=True)

"""Whose file it is: found out before anything touches it.

Everything goes through SQLite: to open and close the file by other means would give up the locks that this process
has on it. And nothing is read past a log: beside a -wal the file itself may be anything, since a process that is
killed while it copies the log back leaves some pages new and others old, and loses nothing.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_APPLICATION: Final = slice(68, 72)


class NoDatabase(sqlite3.DatabaseError):
    """What SQLite says of a file that does not begin as its files do."""

    sqlite_errorcode = sqlite3.SQLITE_NOTADB


# Descriptors are kept for as long as the process lives: to close one would give up its locks on the file.
_kept: dict[tuple[int, int], int] = {}


def application_of(path: Path) -> int:
    """Return the application id of the database at *path*; nothing is left beside it. Raises `sqlite3.DatabaseError`.

    To be called under `forks.opening(path)`: a -shm that this opens for reading only is so for the whole process.
    """
    if not path.with_name(path.name + "-wal").exists():
        # `immutable` keeps SQLite from making a -wal and a -shm. It takes no lock, so that it may find a file with
        # fewer pages than its header says, where somebody is just making it; to be told the id no page is needed.
        return _asked(path, "mode=ro&immutable=1", "PRAGMA writable_schema=ON")
    if path.with_name(path.name + "-shm").exists():
        # Where that does not work, the -shm is gone by now, or of no use to somebody who may not write it.
        with suppress(sqlite3.DatabaseError):
            return _asked(path, "mode=ro&readonly_shm=1")
    # SQLite would make a -shm, which is not ours to make where the file is another program's.
    return _peeked(path)


def _asked(path: Path, mode: str, *settings: str) -> int:
    probe = sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=1.0, isolation_level=None)
    try:
        for setting in settings:
            probe.execute(setting)
        (application,) = probe.execute("PRAGMA application_id").fetchone()
    finally:
        probe.close()
    return int(application)


def _peeked(path: Path) -> int:
    """Return the application id from the header of the file itself, which a store has from its first moment on."""
    status = path.stat()
    place = status.st_dev, status.st_ino
    if place not in _kept:
        _kept[place] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    header = os.pread(_kept[place], _HEADER, 0)
    if not header.startswith(_MAGIC):
        raise NoDatabase("file is not a database")
    return int.from_bytes(header[_APPLICATION], "big", signed=True)

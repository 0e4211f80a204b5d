"""Translation of SQLite's errors to errors of the store, and the diagnosis of damaged files."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._messages import Command
from webtable.errors import NotAStore, StoreError, StoreFull, StoreRefused, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
                Command("search-index drop"),
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
        found = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
        return None if found == ["ok"] else without_heading(found)
    except sqlite3.Error as exc:
        return "" if _code(exc) in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_BUSY) else str(exc)
    finally:
        if connection is not None:
            connection.close()


def without_heading(found: Sequence[str]) -> str:
    r"""Return what a check of SQLite's has *found*, on one line.

    >>> without_heading(["*** in database main ***\nPage 139: free space corruption"])
    'Page 139: free space corruption'
    """
    return " ".join(" ".join(found).split()).replace("*** in database main *** ", "")


def damaged(name: str, exc: sqlite3.Error, found: str | None) -> StoreRefused:
    """Return the error for a file in which *exc* occurred; *found* is the result of SQLite's check."""
    if found is None:
        return StoreRefused(f"{name}: the file cannot be read: {exc}. SQLite's own check finds nothing wrong with it")
    finding = f"PRAGMA integrity_check says: {found}" if found else "PRAGMA integrity_check would take too long here"
    return StoreRefused(
        f"{name}: the file is damaged: {exc}. {finding}. Keep a copy of it together with the -wal and "
        "-shm files beside it. ",
        Command("backup rescue FILE"),
        " writes all that can still be read into a new file",
    )


def _code(exc: sqlite3.Error) -> int | None:
    """Return SQLite's primary code; None for errors of the driver."""
    code = getattr(exc, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF

"""A copy of the whole file as it is at one moment, made beside those who write to it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from webtable._whole_file import whole_file
from webtable.errors import InvalidArgument, StoreRefused, StoreUnavailable
from webtable.store.sqlite.connections import SAFE_SETTINGS
from webtable.store.sqlite.failures import is_damage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from webtable.store.sqlite.file import StoreFile

PAGES_AT_ONCE: Final = 1024
"""Pages of 8 KB that are copied before the caller is told, and may end it."""


def back_up(file: StoreFile, path: Path, on_progress: Callable[[int], object] | None) -> int:
    """Return what `Store.backup` does."""
    check_free(path)
    with whole_file(path) as part:
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                _fill(file, copy, path, on_progress)
                _check(copy, path)
        finally:
            with suppress(FileNotFoundError):
                part.with_name(f"{part.name}-journal").unlink()
        check_free(path)
        return part.stat().st_size


def check_free(path: Path) -> None:
    """Raise `InvalidArgument` where something is at *path*, or what SQLite would take for a part of what comes there.

    A log that an older file has left would be read into the new one.
    """
    for name in ("", "-wal", "-shm", "-journal"):
        other = path.with_name(path.name + name)
        if os.path.lexists(other):
            raise InvalidArgument(f"{other}: it is there already, and a backup overwrites nothing; name another file")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{path}: there is no directory {path.parent}")


def _fill(file: StoreFile, copy: sqlite3.Connection, path: Path, on_progress: Callable[[int], object] | None) -> None:
    def told(_: int, left: int, total: int) -> None:
        if on_progress is not None:
            on_progress((total - left) * page_size)

    with file.reader() as connection:
        # A transaction begins with the first read. Within it SQLite goes on where it was when others have written;
        # else it would begin anew each time, and beside a crawl it would never come to the end.
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        try:
            connection.backup(copy, pages=PAGES_AT_ONCE, progress=told)
        except sqlite3.Error as exc:
            if is_damage(exc):
                raise
            raise _not_written(path, exc) from exc


def _not_written(path: Path, exc: sqlite3.Error) -> StoreRefused | StoreUnavailable:
    if getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return StoreRefused(f"{path}: disk full; nothing is left of the backup")
    return StoreUnavailable(f"{path}: the backup cannot be written, and nothing is left of it: {exc}")


def _check(copy: sqlite3.Connection, path: Path) -> None:
    """Make one file of *copy*, and raise `StoreRefused` where SQLite finds it damaged."""
    for setting in SAFE_SETTINGS:
        copy.execute(f"PRAGMA {setting}")
    # The header says that there is a log beside it, as that of the store does; the next who opens it makes one again.
    copy.execute("PRAGMA journal_mode=DELETE")
    try:
        (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as exc:
        found = str(exc)
    if found != "ok":
        raise StoreRefused(
            f"{path}: the copy is damaged, and so is the store that it was made of; it was removed ({found}). "
            "webtable copy brings all that can be read into a new store"
        )

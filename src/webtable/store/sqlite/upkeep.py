"""Upkeep of the file: health checks of file and disk, and backups.

The file is only looked up, and read through SQLite: closing it by other means would release the locks of this process.
A backup does not block writers.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from webtable._files import atomic_file
from webtable._messages import Command, Message
from webtable.display.text import size_text
from webtable.errors import InvalidArgument, StoreFull, StoreRefused, StoreUnavailable
from webtable.store.deadline import of_call
from webtable.store.health import MORE_TIME, Check, failed, warned, well
from webtable.store.sqlite.connections import SAFE_SETTINGS, beside, is_damage, without_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.store.sqlite.file import StoreFile


# --- Health -----------------------------------------------------------------------------------------------------------


PAGES_AT_ONCE: Final = 2048
"""How many pages of 4 KB are copied between two reports to the caller, who may end the copy."""

LARGE_LOG: Final = 256 * 2**20
"""Writers copy the log back at a quarter of this size: a larger log means that something prevents it."""
LEAST_FREE: Final = 64 * 2**20
"""The size up to which the log may grow before it is copied back."""
LITTLE_FREE: Final = 2**30
_SHARE: Final = 1 / 2
"""The share of the remaining time that the check of the whole file may use."""
_STEPS: Final = 10_000
_PROCESSES = Path("/proc")  # Linux has it
_OVER_A_NETWORK: Final = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre")


def health(file: StoreFile) -> Iterator[Check]:
    """Yield the checks of the file and of its disk."""
    yield integrity(file)
    yield _log(file.path)
    yield _disk(file.path)
    yield _permissions(file.path)
    yield from _network(file.path)
    yield _others(file.path)


def integrity(file: StoreFile) -> Check:
    """Return the result of SQLite's check, within half of the remaining time.

    It uses integrity_check, because quick_check does not detect rows out of order, which make other rows vanish from
    answers. There are no indexes to compare with tables, so it takes about as long.
    """
    deadline = of_call(file.timeout)
    seconds = deadline.left() * _SHARE
    mine = deadline.within(seconds)
    with file.reader() as connection:
        connection.set_progress_handler(lambda: not mine.left(), _STEPS)
        try:
            problems = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_INTERRUPT:
                raise
            text = f"integrity_check found nothing wrong in {seconds:.0f} s, but did not finish"
            return warned("integrity", text, MORE_TIME)
        finally:
            connection.set_progress_handler(None, 0)
    if problems == ["ok"]:
        return well("integrity", "integrity_check finds nothing wrong with the file")
    fix = Message(
        "keep a copy of it with the -wal beside it; ",
        Command("backup rescue FILE"),
        " writes what can be read to a new file",
    )
    return failed("integrity", f"the file is damaged: integrity_check says: {without_heading(problems)}", fix)


def _log(path: Path) -> Check:
    log = beside(path)
    size = _size_of(log)
    text = f"{size_text(size)} in {log.name}"
    if size <= LARGE_LOG:
        return well("log", text)
    why = "a long read transaction prevents it from being copied back"
    return warned("log", f"{text}: {why}", "end readers that run for hours; the last to close the file copies it back")


def _size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it is missing."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _disk(path: Path) -> Check:
    size, free = _size_of(path), shutil.disk_usage(path.parent).free
    text = f"{size_text(free)} free, beside a file of {size_text(size)}"
    if free < LEAST_FREE:
        return failed("disk", text, "free some space: the next write may fail")
    if free < min(LITTLE_FREE, size):
        return warned(
            "disk",
            text,
            Message(
                "free some space; ",
                Command("compact", python="table.maintenance.compact()"),
                " takes as much again as the file",
            ),
        )
    return well("disk", text)


def _permissions(path: Path) -> Check:
    mode = path.stat().st_mode & 0o777
    text = f"{mode:03o}"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        text += ": this user may read it, but not write to it or to its directory"
        return warned("permissions", text, f"run as the user who owns {path}, or chmod it and its directory")
    if mode & 0o022:
        text += ": other users may write to it"
        return warned("permissions", text, f"chmod go-w {quote(str(path))}, unless that is intended")
    return well("permissions", text)


def _network(path: Path) -> Iterator[Check]:
    kind = _file_system(path)
    if kind.startswith(_OVER_A_NETWORK):
        text = f"the file is on {kind}: processes on different machines would not see each other's locks"
        yield warned("file-system", text, "move it to a disk of the machine that uses it")


def _file_system(path: Path) -> str:
    """Return the type of the file system that *path* is on; empty if it is unknown."""
    types: dict[int, str] = {}
    with suppress(OSError):
        for line in (_PROCESSES / "mounts").read_text().splitlines():
            _, place, kind, *_ = line.split()
            if path.is_relative_to(place):
                types[len(place)] = kind
    return types[max(types)] if types else ""


def _others(path: Path) -> Check:
    others = sorted(_holders(path))
    if not others:
        return well("processes", "no other process of this user has it open")
    named = ", ".join(f"{number} ({name})" for number, name in others[:5])
    return well("processes", f"open in {len(others):,} more: {named}{', …' if len(others) > 5 else ''}")


def _holders(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the other processes that have the file open, as far as this process may see them, with their programs."""
    wanted = str(path.resolve())
    for process in _PROCESSES.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        with suppress(OSError):
            if any(str(descriptor.readlink()) == wanted for descriptor in (process / "fd").iterdir()):
                yield int(process.name), (process / "comm").read_text().strip()


def back_up(file: StoreFile, path: Path, on_progress: Callable[[int], object] | None) -> int:
    """Implement `Store.backup`."""
    check_free(path)
    with atomic_file(path, is_private=True) as part:
        try:
            with closing(sqlite3.connect(part, isolation_level=None)) as copy:
                _fill(file, copy, path, on_progress)
                _check(copy, path)
        finally:
            with suppress(FileNotFoundError):
                beside(part, "-journal").unlink()
        check_free(path)
        return part.stat().st_size


def check_free(path: Path) -> None:
    """Raise `InvalidArgument` if *path* exists, or a file beside it that SQLite would take for a part of the backup.

    A log left by an older file would be read into the new one.
    """
    for other in (beside(path, ending) for ending in ("", "-wal", "-shm", "-journal")):
        if os.path.lexists(other):
            raise InvalidArgument(f"{other}: it exists already, and a backup overwrites nothing; name another file")
    if not path.parent.is_dir():
        raise InvalidArgument(f"{path}: there is no directory {path.parent}")


def _fill(file: StoreFile, copy: sqlite3.Connection, path: Path, on_progress: Callable[[int], object] | None) -> None:
    def report(_: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress((total - remaining) * page_size)

    with file.reader() as connection:
        # A transaction begins with the first read. Within it SQLite goes on where it was when others have written;
        # otherwise it would start again each time, and never finish while a crawl writes.
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        try:
            connection.backup(copy, pages=PAGES_AT_ONCE, progress=report)
        except sqlite3.Error as exc:
            if is_damage(exc):
                raise
            raise _not_written(path, exc) from exc


def _not_written(path: Path, exc: sqlite3.Error) -> StoreRefused | StoreUnavailable:
    if getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return StoreFull(f"{path}: the disk is full; the backup was removed")
    return StoreUnavailable(f"{path}: the backup cannot be written and was removed: {exc}")


def _check(copy: sqlite3.Connection, path: Path) -> None:
    """Make *copy* a single file, and raise `StoreRefused` if SQLite finds it damaged."""
    for setting in SAFE_SETTINGS:
        copy.execute(f"PRAGMA {setting}")
    # The header, like that of the store, says that there is a log; the next opening makes one again.
    copy.execute("PRAGMA journal_mode=DELETE")
    try:
        (result,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as exc:
        result = str(exc)
    if result != "ok":
        raise StoreRefused(
            f"{path}: the copy was damaged, as is the store, and was removed ({result}). ",
            Command("backup rescue FILE"),
            " writes all that can be read into a new file",
        )

"""The health of the file: what SQLite's check says of it, its log, its disk, who may write to it, and who has it open.

The file is only looked up, and read through SQLite: to close it by other means would give up the locks of this process.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from webtable._shown.sizes import size_text
from webtable.store.deadline import of_call
from webtable.store.health import Check, failed, warned, well
from webtable.store.sqlite.failures import without_heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.sqlite.file import StoreFile

LARGE_LOG: Final = 256 * 2**20
"""Writers copy the log back at a quarter of it: where it is larger, something keeps them from that."""
LEAST_FREE: Final = 64 * 2**20
"""As much as the log may take before it is copied back."""
LITTLE_FREE: Final = 2**30
_SHARE: Final = 1 / 2
"""The share of the time that is left which the check of the whole file may use."""
_STEPS: Final = 10_000
_PROCESSES = Path("/proc")  # Linux has it
_OVER_A_NETWORK: Final = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre")


def health(file: StoreFile) -> Iterator[Check]:
    """Yield what is found of the file and of its disk."""
    yield integrity(file)
    yield _log(file.path)
    yield _disk(file.path)
    yield _permissions(file.path)
    yield from _network(file.path)
    yield _others(file.path)


def integrity(file: StoreFile) -> Check:
    """Return what SQLite's check finds, within half of the time that is left.

    It is integrity_check, since quick_check does not see rows that are out of order, which make others vanish from
    answers. There are no indexes here that it would compare with tables, so it takes about as long.
    """
    deadline = of_call(file.timeout)
    seconds = deadline.left() * _SHARE
    mine = deadline.within(seconds)
    with file.reader() as connection:
        connection.set_progress_handler(lambda: not mine.left(), _STEPS)
        try:
            found = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(1)")]
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_INTERRUPT:
                raise
            told = f"integrity_check found nothing wrong in {seconds:.0f} s, in which it did not come to its end"
            return warned("integrity", told, "give it more time (timeout=)")
        finally:
            connection.set_progress_handler(None, 0)
    if found == ["ok"]:
        return well("integrity", "integrity_check finds nothing wrong with the file")
    copy = f"keep a copy of it with the -wal beside it; what can be read is printed by: sqlite3 {quote(file.name)}"
    return failed(
        "integrity", f"the file is damaged: integrity_check says: {without_heading(found)}", f"{copy} .recover"
    )


def _log(path: Path) -> Check:
    log = path.with_name(path.name + "-wal")
    size = _size_of(log)
    told = f"{size_text(size)} in {log.name}"
    if size <= LARGE_LOG:
        return well("log", told)
    why = "a reader that stays at an old moment keeps it from being copied back"
    return warned("log", f"{told}: {why}", "end readers that run for hours; the last to close the file copies it back")


def _size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _disk(path: Path) -> Check:
    size, free = _size_of(path), shutil.disk_usage(path.parent).free
    told = f"{size_text(free)} free, beside a file of {size_text(size)}"
    if free < LEAST_FREE:
        return failed("disk", told, "free some space: the next write may fail")
    if free < min(LITTLE_FREE, size):
        return warned("disk", told, "free some space; webtable compact takes as much again as the file")
    return well("disk", told)


def _permissions(path: Path) -> Check:
    mode = path.stat().st_mode & 0o777
    told = f"{mode:03o}"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        told += ": this user may read it, not write to it, or not to its directory"
        return warned("permissions", told, f"run as the user who owns {path}, or chmod it and its directory")
    if mode & 0o022:
        told += ": other users may write to it"
        return warned("permissions", told, f"chmod go-w {quote(str(path))}, unless they are meant to")
    return well("permissions", told)


def _network(path: Path) -> Iterator[Check]:
    kind = _file_system(path)
    if kind.startswith(_OVER_A_NETWORK):
        told = f"the file is on {kind}: processes on several machines would not see each other's locks"
        yield warned("file-system", told, "move it to a disk of the machine that uses it")


def _file_system(path: Path) -> str:
    """Return the type of the file system that *path* is on; empty where the system does not tell."""
    found: dict[int, str] = {}
    with suppress(OSError):
        for line in (_PROCESSES / "mounts").read_text().splitlines():
            _, place, kind, *_ = line.split()
            if path.is_relative_to(place):
                found[len(place)] = kind
    return found[max(found)] if found else ""


def _others(path: Path) -> Check:
    others = sorted(_holders(path))
    if not others:
        return well("processes", "no other process of this user has it open")
    named = ", ".join(f"{number} ({name})" for number, name in others[:5])
    return well("processes", f"open in {len(others):,} more: {named}{', …' if len(others) > 5 else ''}")


def _holders(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the other processes that have the file open, as far as this one may see that, with their programs."""
    wanted = str(path.resolve())
    for process in _PROCESSES.glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        with suppress(OSError):
            if any(str(one.readlink()) == wanted for one in (process / "fd").iterdir()):
                yield int(process.name), (process / "comm").read_text().strip()

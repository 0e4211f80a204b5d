"""Files that are there when they are whole, and that belong to who made them: nobody else may read them."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN: Final = 0o600
"""The mode of new files; a stricter umask takes away from it. What was crawled may be for nobody else."""
OWN_FOLDER: Final = 0o700


def own_file(path: str, flags: int) -> int:
    """Open a file, for the owner alone where that makes it; as the `opener` of the function `open`."""
    return os.open(path, flags, OWN)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path beside *path* to write to; at the end the file takes the place of what was at *path*.

    Only its owner may read it, unless more could read a file of the same owner that was there. Where something goes
    wrong it is removed, and what was there stays. What is no regular file (/dev/stdout, a pipe) is given as it is.
    Raises `OSError` with the name of the file, which the error of a full disk has not.
    """
    if path.exists() and not path.is_file():
        with named(path):
            yield path
        return
    part = part_of(path)
    try:
        with named(path):
            _make(part, like=path)
            yield part
            part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _make(part: Path, like: Path) -> None:
    """Make the empty file *part*, which may be read as the file *like* of the same owner may, if there is one."""
    part.unlink(missing_ok=True)  # of a process of that number that was killed, or a trap: a link to elsewhere
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWN)
    try:
        with suppress(FileNotFoundError):
            there = like.stat()
            if there.st_uid == os.geteuid():  # or who has put it there would say who reads this one
                os.fchmod(file, stat.S_IMODE(there.st_mode))
    finally:
        os.close(file)


def part_of(path: Path) -> Path:
    """Return the name of what will be *path*, while this process writes it."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Give the name *path* to an `OSError` that has none, as that of a full disk, or that of the unfinished file."""
    try:
        yield
    except OSError as exc:
        if exc.errno is None or exc.filename not in (None, str(part_of(path))):
            raise
        raise OSError(exc.errno, exc.strerror, str(path)) from exc

"""Files that appear under their name only when they are complete, and files that only their owner may read."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWNER_ONLY: Final = 0o600
"""The mode of new stores, journals and spools, less what the umask takes away: crawled pages may be confidential."""
OWNER_ONLY_FOLDER: Final = 0o700
FOR_OTHERS: Final = 0o666
"""The mode of files that are made for others, such as exports and audits, less what the umask takes away."""


def private_opener(path: str, flags: int) -> int:
    """Open a file, for the owner alone if it is new; for use as the `opener` of the function `open`."""
    return os.open(path, flags, OWNER_ONLY)


@contextmanager
def atomic_file(path: Path, *, is_private: bool = False) -> Iterator[Path]:
    """Give a path beside *path* to write to; at the end of the block that file replaces *path*.

    Its mode follows the umask, or only its owner may read it if it *is_private*; but it keeps the mode of an earlier
    file of the same owner. If the block fails,
    the new file is removed and the earlier one stays. A path that is not a regular file (/dev/stdout, a pipe) is given
    as it is. Raises `OSError` with the name of the file, which the error of a full disk lacks.
    """
    if path.exists() and not path.is_file():
        with naming_errors(path):
            yield path
        return
    part = partial_path(path)
    try:
        with naming_errors(path):
            os.close(make_part(part, OWNER_ONLY if is_private else FOR_OTHERS, like=path))
            yield part
            part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def make_part(part: str | Path, mode: int, like: str | Path, folder: int | None = None) -> int:
    """Make the empty file *part*, and return its descriptor, open for reading and writing.

    It has this *mode*, or that of the file *like* if it has the same owner. With *folder*, a descriptor, both are names
    in that one.
    """
    with suppress(FileNotFoundError):
        os.unlink(part, dir_fd=folder)  # left by a killed process of the same number, or a trap: a link to elsewhere
    file = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with suppress(FileNotFoundError):
            there = os.stat(like, dir_fd=folder)
            if there.st_uid == os.geteuid():  # otherwise its owner would decide who may read the new file
                os.fchmod(file, stat.S_IMODE(there.st_mode))
    except BaseException:
        os.close(file)
        raise
    return file


def partial_path(path: Path) -> Path:
    """Return the name under which this process writes what becomes *path*."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """Say in an `OSError` that *path* cannot be written: it has no name (a full disk), or the unfinished file's."""
    try:
        yield
    except OSError as exc:
        own = {name for one in (path, partial_path(path)) for name in (str(one), one.name)}
        if exc.errno is None or exc.filename not in (None, *own):
            raise
        why = "the disk is full; make space, and try again" if is_full(exc) else exc.strerror
        raise OSError(exc.errno, f"it cannot be written: {why}", str(path)) from exc


def is_full(error: OSError) -> bool:
    """Whether *error* is that of a full disk, or of a quota that is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)

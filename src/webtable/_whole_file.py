"""Files that are there when they are whole."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path beside *path* to write to; at the end the file takes the place of what was at *path*.

    Where something goes wrong it is removed, and what was there stays. What is no regular file (/dev/stdout, a pipe) is
    given as it is. Raises `OSError` with the name of the file, which the error of a full disk has not.
    """
    if path.exists() and not path.is_file():
        with named(path):
            yield path
        return
    part = part_of(path)
    try:
        with named(path):
            yield part
            part.replace(path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


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

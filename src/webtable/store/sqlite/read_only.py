"""Reading a file that this process may not write, or beside which it may not make files.

SQLite makes a -wal and a -shm beside a file even to read it. Where it may not, or where these would belong to another
user than the file, it is told not to: if nobody has the file open, there is no -wal, and the file alone is everything
(`immutable`). If somebody has, their -wal and -shm are read. That may begin at any time, so an immutable file is
compared with what it was before and after each read (https://www.sqlite.org/wal.html#read_only_databases).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

IMMUTABLE = "mode=ro&immutable=1"
SHARED = "mode=ro&readonly_shm=1"


class FileState(NamedTuple):
    """What a file looked like: whether there is a -wal beside it, and its inode, size in bytes and time in ns."""

    has_log: bool
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> FileState:
        """Return what the file looks like now; raises `OSError`."""
        status = path.stat()
        return cls(log_of(path).exists(), status.st_ino, status.st_size, status.st_mtime_ns)

    @property
    def mode(self) -> str:
        """The parameters of the URI by which the file is to be read."""
        return SHARED if self.has_log else IMMUTABLE


def is_read_only(path: Path) -> bool:
    """Whether this process may not write the file, or may neither make files beside it nor write those of its owner."""
    return may(path, os.F_OK) and not (
        may(path, os.W_OK)
        and (may(path.parent, os.W_OK) or all(may(one, os.W_OK) for one in (log_of(path), _shared_of(path))))
    )


def may(path: Path, mode: int) -> bool:
    """Whether this process may do with *path* what *mode* says, as for `os.access`."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def log_of(path: Path) -> Path:
    """Return the path of the -wal beside the file."""
    return path.with_name(f"{path.name}-wal")


def _shared_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-shm")

"""Who has locked the file: another process, as far as the system tells."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCKS = Path("/proc/locks")  # Linux has it

# The bytes that SQLite locks: in the -shm file those of the writer, of a checkpoint and of a recovery; in the file
# itself those of a writer without WAL (https://www.sqlite.org/walformat.html, section 2.3; os_unix.c).
_LOG_BYTES: Final = range(120, 123)
_FILE_BYTES: Final = range(0x40000000, 0x40000002)


def other_holder(path: Path) -> str:
    """Return which other process, or what else in this one, has locked the file at *path* for writing.

    The files are only looked up, not opened: to close one of them would give up the locks of this process.
    """
    for process in _lockers(path.with_name(path.name + "-shm"), _LOG_BYTES), _lockers(path, _FILE_BYTES):
        for number in process:
            if number == os.getpid():
                return "another connection of this process"
            return f"process {number}{_program(number)}"
    return "another process"


def _lockers(path: Path, wanted: range) -> Iterator[int]:
    """Yield the processes that have one of the *wanted* bytes of a file locked for writing."""
    with suppress(OSError, ValueError):
        inode = path.stat().st_ino
        for line in LOCKS.read_text().splitlines():
            # 12: POSIX  ADVISORY  WRITE 4711 fe:00:10961951 120 120
            fields = line.split()
            if fields[1] != "POSIX" or fields[3] != "WRITE" or fields[5].rpartition(":")[2] != str(inode):
                continue
            if int(fields[6]) in wanted:
                yield int(fields[4])


def _program(process: int) -> str:
    """Return the name of its program in brackets; nothing where it cannot be told."""
    try:
        return f" ({Path(f'/proc/{process}/comm').read_text().strip()})"
    except OSError:
        return ""

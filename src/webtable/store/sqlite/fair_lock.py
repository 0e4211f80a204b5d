"""A fair lock for the threads of a process, and the processes that have locked the file, for messages."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class _Turn:
    """The thread whose turn it is, and its purpose."""

    purpose: str
    thread: threading.Thread = field(default_factory=threading.current_thread)
    since: float = field(default_factory=clock.monotonic)

    def __str__(self) -> str:
        return f"thread {self.thread.name!r}, which has been {self.purpose} for {clock.monotonic() - self.since:.1f} s"


class FairLock:
    """A lock that is passed on in the order of arrival."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False
        self._turn: _Turn | None = None

    @property
    def holder(self) -> str:
        """The thread that has the turn, its purpose and how long; empty if no thread has it."""
        return str(self._turn or "")

    def take(self, purpose: str, seconds: float) -> bool:
        """Return whether the turn came within *seconds*; `give_back` ends it. Others see *purpose* in errors."""
        with self._guard:
            if not self._taken:
                self._taken, self._turn = True, _Turn(purpose)
                return True
            ticket = threading.Lock()
            ticket.acquire()
            self._waiting.append(ticket)
        try:
            came = ticket.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))
        except BaseException:
            if not self._left_queue(ticket):
                self.give_back()
            raise
        if not came and self._left_queue(ticket):
            return False
        self._turn = _Turn(purpose)
        return True

    def give_back(self) -> None:
        """Pass the turn on to the next thread."""
        with self._guard:
            self._turn = None
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    def _left_queue(self, ticket: threading.Lock) -> bool:
        """Leave the queue; return False if the turn has come in the meantime."""
        with self._guard:
            try:
                self._waiting.remove(ticket)
            except ValueError:
                return False
            return True


LOCKS = Path("/proc/locks")  # Linux has it

# The bytes that SQLite locks: in the -shm file those of the writer, of a checkpoint and of a recovery; in the file
# itself those of a writer without WAL (https://www.sqlite.org/walformat.html, section 2.3; os_unix.c).
_LOG_BYTES: Final = range(120, 123)
_FILE_BYTES: Final = range(0x40000000, 0x40000002)


def other_holder(path: Path) -> str:
    """Return the process, or the connection of this process, that has locked the file at *path* for writing.

    The files are only looked up, not opened: closing one of them would release the locks of this process.
    """
    for process in _lockers(path.with_name(path.name + "-shm"), _LOG_BYTES), _lockers(path, _FILE_BYTES):
        for number in process:
            if number == os.getpid():
                return "another connection of this process"
            return f"process {number}{_program(number)}"
    return "another process"


def _lockers(path: Path, wanted: range) -> Iterator[int]:
    """Yield the processes that have locked one of the *wanted* bytes of a file for writing."""
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
    """Return the name of its program in brackets; empty if it is unknown."""
    try:
        return f" ({Path(f'/proc/{process}/comm').read_text().strip()})"
    except OSError:
        return ""

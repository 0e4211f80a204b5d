"""Forks wait until no thread is inside SQLite, and a child inherits no open connection.

SQLite remembers in the memory of a process which locks it holds on a file, and a fork copies that memory but not the
locks. A connection that the child opens would believe to be protected by locks that are the parent's: when the parent
closes its last connection it removes the -wal that the child is writing to, and what the child was told is stored is
lost (https://www.sqlite.org/howtocorrupt.html, "carrying an open database connection across a fork"). So all
connections that are idle are closed before a fork, and both processes open new ones when they need them.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from webtable._forks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE: Final = 10.0
"""How many seconds a fork waits for the calls of other threads that are under way."""


class Forking(Protocol):
    """A file that has connections."""

    def before_fork(self) -> None:
        """Close the connections that are idle."""


class _Gate:
    """Counts the threads that are inside SQLite, and holds new ones back while the process is being forked."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        # Reentrant, because the garbage collector may close a store in the middle of this.
        self._changed = threading.Condition(threading.RLock())
        self._inside: Counter[int] = Counter()
        self._forking: int | None = None
        self.opening: weakref.WeakValueDictionary[Path, threading.Lock] = weakref.WeakValueDictionary()

    def enter(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while me not in self._inside and self._forking not in (None, me):
                self._changed.wait()
            self._inside[me] += 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if self._inside[me] <= 0:  # below it in a child that was forked from inside
                del self._inside[me]
            if self._forking is not None:
                self._changed.notify_all()

    def close(self) -> None:
        """Hold other threads back, and return when none of them is inside, or has been for too long."""
        me, last = threading.get_ident(), time.monotonic() + PATIENCE
        with self._changed:
            while self._forking is not None:
                self._changed.wait()
            self._forking = me
            while self._inside.keys() - {me} and (left := last - time.monotonic()) > 0:
                self._changed.wait(left)

    def open(self) -> None:
        with self._changed:
            self._forking = None
            self._changed.notify_all()


_gate = _Gate()
_files: weakref.WeakSet[Forking] = weakref.WeakSet()
_left: set[Path] = set()


def enter() -> None:
    """Begin to use SQLite in this thread, as soon as no other thread is forking; `leave` ends it."""
    _gate.enter()


def leave() -> None:
    """End what `enter` began."""
    _gate.leave()


@contextmanager
def inside() -> Iterator[None]:
    """Use SQLite in the block."""
    _gate.enter()
    try:
        yield
    finally:
        _gate.leave()


def opening(path: Path) -> threading.Lock:
    """Return the lock under which connections to *path* are opened; see `webtable.store.sqlite.first_connection`."""
    return _gate.opening.setdefault(path, threading.Lock())


def closed_before_fork(file: Forking) -> None:
    """Have `file.before_fork()` called before each fork of this process, as long as *file* is in use."""
    _files.add(file)


def leave_to_parent(connection: object, path: Path) -> None:
    """Never close *connection* in this process, and use the file at *path* no more: SQLite takes it for locked here."""
    # A reference that nobody gives back keeps it also when the interpreter ends.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _left.add(path)


def is_the_parents(path: Path) -> bool:
    """Whether the file at *path* cannot be used in this process, nor in those that are forked from it."""
    return path in _left


def _before() -> None:
    _gate.close()
    for file in list(_files):
        file.before_fork()


os.register_at_fork(before=_before, after_in_parent=_gate.open)

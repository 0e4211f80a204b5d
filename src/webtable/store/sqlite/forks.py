"""Forks wait until no thread is inside SQLite, and a child inherits no open connection.

SQLite keeps the locks that a process has on a file in its memory, and a fork copies that memory but not the locks. A
connection that the child opens would rely on locks of the parent: when the parent closes its last connection, it
removes the -wal to which the child is writing, and acknowledged writes of the child are lost
(https://www.sqlite.org/howtocorrupt.html, "carrying an open database connection across a fork"). So all idle
connections are closed before a fork, and both processes open new ones when they need them.
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

from webtable._process_hooks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE: Final = 10.0
"""How many seconds a fork waits for calls in progress in other threads."""


class Forking(Protocol):
    """A file with connections."""

    def before_fork(self) -> None:
        """Close the idle connections."""


class _Gate:
    """Counts the threads that are inside SQLite, and blocks new ones while the process is being forked."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        # Reentrant, because garbage collection may close a store in the middle of this.
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
            if self._inside[me] <= 0:  # below 0 in a child that was forked from inside
                del self._inside[me]
            if self._forking is not None:
                self._changed.notify_all()

    def close(self) -> None:
        """Block other threads, and return when none of them is inside, or after a time limit."""
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
    """Return the lock under which connections to *path* are opened; see `webtable.store.sqlite.opening`."""
    return _gate.opening.setdefault(path, threading.Lock())


def closed_before_fork(file: Forking) -> None:
    """Call `file.before_fork()` before each fork of this process, as long as *file* is in use."""
    _files.add(file)


def leave_to_parent(connection: object, path: Path) -> None:
    """Never close *connection* in this process, and mark the file at *path* as unusable: SQLite takes it for locked."""
    # An extra reference keeps it alive even when the interpreter shuts down.
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

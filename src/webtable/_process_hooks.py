"""Objects renewed after a fork: threads are gone in the child, locks may stay held, connections are the parent's."""

from __future__ import annotations

import _imp
import gc
import os
import signal
import threading
import time
import weakref
from contextlib import contextmanager
from importlib import _bootstrap
from typing import TYPE_CHECKING, Protocol

from webtable._clock import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Forked(Protocol):
    """An object that has something which does not outlive a fork."""

    def after_fork(self) -> None:
        """Make new locks, and drop threads and connections; called in the child, before anything else runs."""


_holders: weakref.WeakSet[Forked] = weakref.WeakSet()
_forks = 0


def generation() -> int:
    """Return a number that differs in each child from that of its parent, unlike a process id, which may be reused."""
    return _forks


def renew_after_fork(holder: Forked) -> None:
    """Have `holder.after_fork()` called in every process that is forked from this one, as long as *holder* is in use.

    A lock that another thread holds at the moment of the fork is never released in the child, where that thread does
    not exist, so the child needs new locks. The data that they guard may be half changed.
    """
    _holders.add(holder)


def _in_child() -> None:
    global _forks
    _forks += 1
    for holder in list(_holders):
        holder.after_fork()


os.register_at_fork(after_in_child=_in_child)


# --- Forks wait for imports -------------------------------------------------------------------------------------------
#
# Python has a lock for each module that is being imported. Where a thread holds one at the moment of a fork, nobody
# releases it in the child, and the first import of that module hangs there. webtable imports much only when it is used,
# in whatever thread that is, so a fork waits until no other thread imports anything, and begins no import meanwhile.

_LONGEST_IMPORT_SECONDS = 5.0


def _wait_for_imports() -> None:
    end = time.monotonic() + _LONGEST_IMPORT_SECONDS
    while True:
        # Who holds this lock lets no thread make the lock of a module. It stays held over the fork.
        _imp.acquire_lock()
        if not _others_import() or time.monotonic() > end:
            return
        _imp.release_lock()
        time.sleep(0.001)


def _others_import() -> bool:
    me = threading.get_ident()
    locks = (reference() for reference in list(_bootstrap._module_locks.values()))  # type: ignore[attr-defined]
    return any(getattr(lock, "owner", None) not in (None, me) for lock in locks)


os.register_at_fork(before=_wait_for_imports, after_in_parent=_imp.release_lock, after_in_child=_imp.release_lock)


# --- The signals that end a process, handled while a block runs -------------------------------------------------------


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a run gracefully."""
_ONE_PRESS = 1.0
"""Seconds in which signals count as one press: make, timeout and others forward it to a process that already got it."""


@contextmanager
def handling_signals(
    handler: Callable[[signal.Signals], None], signals: Sequence[signal.Signals] = ENDING
) -> Iterator[None]:
    """Pass *signals* to *handler* while the block runs, once per press.

    Nothing changes in any thread but the main one, nor for SIGHUP if it is ignored: a command started by nohup must
    survive a terminal that closes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = float("-inf")

    def interrupted(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of signal handlers
        nonlocal pressed
        now = clock.monotonic()
        if now - pressed >= _ONE_PRESS:
            pressed = now
            handler(signal.Signals(number))

    before = {number: signal.getsignal(number) for number in signals}
    for number, earlier in before.items():
        if number != signal.SIGHUP or earlier is not signal.SIG_IGN:
            signal.signal(number, interrupted)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def collect_rarely() -> None:
    """Let the garbage collector of a process of webtable's search for cycles after 20,000 new objects, not after 700.

    Pages and cells are no cycles, and searching takes a twentieth of an ingest.
    """
    gc.set_threshold(20_000)

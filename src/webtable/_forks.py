"""Objects renewed after a fork: threads are gone in the child, locks may stay held, connections are the parent's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """An object that has something which does not outlive a fork."""

    def after_fork(self) -> None:
        """Make new locks, and drop threads and connections; called in the child, before anything else runs."""


_known: weakref.WeakSet[Forked] = weakref.WeakSet()
_forks = 0


def generation() -> int:
    """Return a number that differs in each child from that of its parent, unlike a process id, which may be reused."""
    return _forks


def renew_after_fork(one: Forked) -> None:
    """Have `one.after_fork()` called in every process that is forked from this one, as long as *one* is in use.

    A lock that another thread holds at the moment of the fork is never released in the child, where that thread does
    not exist, so the child needs new locks. The data that they guard may be half changed.
    """
    _known.add(one)


def _in_child() -> None:
    global _forks
    _forks += 1
    for one in list(_known):
        one.after_fork()


os.register_at_fork(after_in_child=_in_child)

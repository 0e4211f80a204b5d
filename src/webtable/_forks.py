"""What a fork leaves behind: the threads are gone, locks may be held for ever, connections are another process's."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """An object that has something which does not outlive a fork."""

    def after_fork(self) -> None:
        """Make locks anew and let go of threads and connections; called in the child, before anything else runs."""


_known: weakref.WeakSet[Forked] = weakref.WeakSet()


def renew_after_fork(one: Forked) -> None:
    """Have `one.after_fork()` called in every process that is forked from this one, as long as *one* is in use.

    A lock that another thread holds at the moment of the fork is never given back in the child, where that thread is
    not: whoever has locks makes them anew there. What they guard was left between two instructions of Python.
    """
    _known.add(one)


def _in_child() -> None:
    for one in list(_known):
        one.after_fork()


os.register_at_fork(after_in_child=_in_child)

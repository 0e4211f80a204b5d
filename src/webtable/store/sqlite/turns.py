"""Turns: one thread at a time, in the order in which they came, and known by name to those that wait."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from webtable._clock import clock


@dataclass(frozen=True, slots=True)
class _Turn:
    """Whose turn it is, and what for."""

    purpose: str
    thread: threading.Thread = field(default_factory=threading.current_thread)
    since: float = field(default_factory=clock.monotonic)

    def __str__(self) -> str:
        return f"thread {self.thread.name!r}, which has been {self.purpose} for {clock.monotonic() - self.since:.1f} s"


class Turns:
    """A lock that is handed over in the order of the queue: no thread waits longer than those that came before it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._taken = False
        self._turn: _Turn | None = None

    @property
    def holder(self) -> str:
        """Who has the turn, what for and how long; empty where nobody has it."""
        return str(self._turn or "")

    def take(self, purpose: str, seconds: float) -> bool:
        """Return whether the turn came within *seconds*; `give_back` ends it. *purpose* is what others are told."""
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
        """Let the next one have its turn."""
        with self._guard:
            self._turn = None
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    def _left_queue(self, ticket: threading.Lock) -> bool:
        """Leave the queue; False where the turn has come in the meantime."""
        with self._guard:
            try:
                self._waiting.remove(ticket)
            except ValueError:
                return False
            return True

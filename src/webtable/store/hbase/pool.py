"""Connections that are used by one thread at a time and closed at the first sign of trouble."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.wire import Connection


class Pool:
    """At most *size* open connections to one gateway, made when they are needed.

    A connection that lay idle for *max_age* seconds is closed: a gateway closes it after 60 by itself, and a call on
    it would be lost. One that saw any exception is closed too, because what it would answer next is not known.
    """

    def __init__(self, connect: Callable[[Deadline], Connection], *, size: int, max_age: float, name: str,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.size = size
        self._connect = connect
        self._max_age = max_age
        self._clock = clock
        self._changed = threading.Condition()
        self._idle: list[tuple[float, Connection]] = []
        self._open = 0
        self._closed = False
        self._process = os.getpid()

    @contextmanager
    def connection(self, deadline: Deadline) -> Iterator[Connection]:
        """Lend a connection; waits for a free one until *deadline*, then raises `StoreUnavailable`."""
        connection = self._take(deadline)
        try:
            yield connection
        except BaseException:
            self._discard(connection)
            raise
        self._give_back(connection)

    def forget_idle(self) -> None:
        """Close the connections that nobody uses: after a lost one the others are probably lost as well."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._open -= len(idle)
            self._changed.notify_all()
        for _, connection in idle:
            connection.close()

    def close(self) -> None:
        """Close all connections; those in use when they come back."""
        self._closed = True
        self.forget_idle()

    def _take(self, deadline: Deadline) -> Connection:
        with self._changed:
            self._leave_parent()
            while not self._closed:
                while self._idle:
                    since, connection = self._idle.pop()
                    if self._clock() - since < self._max_age and connection.socket.is_quiet():
                        return connection
                    self._open -= 1
                    connection.close()
                if self._open < self.size:
                    self._open += 1
                    break
                if not self._changed.wait(deadline.left()) and not deadline.left():
                    raise StoreUnavailable(f"{self.name}: all {self.size} connections are in use")
            else:
                raise StoreError(f"{self.name}: the store is closed")
        try:
            return self._connect(deadline)
        except BaseException:
            with self._changed:
                self._open -= 1
                self._changed.notify()
            raise

    def _give_back(self, connection: Connection) -> None:
        with self._changed:
            if not self._closed:
                self._idle.append((self._clock(), connection))
                self._changed.notify()
                return
        self._discard(connection)

    def _discard(self, connection: Connection) -> None:
        connection.close()
        with self._changed:
            self._open -= 1
            self._changed.notify()

    def _leave_parent(self) -> None:
        """Drop the connections of the process that this one was forked from; they are its, not ours."""
        if os.getpid() != self._process:
            self._process, self._idle, self._open = os.getpid(), [], 0

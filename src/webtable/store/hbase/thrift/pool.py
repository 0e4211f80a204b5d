"""A pool of connections, each used by one thread at a time and closed after any error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.thrift.connection import Connection


OnCall = Callable[[str], object]


class Pool:
    """At most *size* open connections to one gateway, made when they are needed.

    A connection that was idle for *max_age* seconds is closed: a gateway closes it after 60, and a call on it would be
    lost. A connection on which an exception occurred is closed too, because its next answer is unpredictable.

    A scanner is bound to the connection on which it was opened: to another gateway its number means another scanner, or
    none, and nothing says to which gateway the next connection leads. So the owner of a scanner requests its connection
    explicitly, and others get a connection with scanners only if there is no other.

    `on_call` is called with the method of each call before it is sent, in its thread.
    """

    on_call: OnCall | None = None

    def __init__(
        self,
        connect: Callable[[Deadline], Connection],
        *,
        size: int,
        max_age: float,
        name: str,
    ) -> None:
        self.name = name
        self.size = size
        self._connect = connect
        self._max_age = max_age
        self._closed = False
        self._trouble: tuple[float, Exception] | None = None
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Drop the connections, which are the parent's."""
        self._changed = threading.Condition()
        self._idle: list[tuple[float, Connection]] = []
        self._lent: set[Connection] = set()
        self._connecting: list[float] = []
        self._opened = 0

    @contextmanager
    def connection(self, deadline: Deadline, preferred: Connection | None = None) -> Iterator[Connection]:
        """Lend a connection: *preferred* if it is free and usable.

        Waits for a free one until *deadline*, then raises `StoreUnavailable`.
        """
        with self._returned(self._take_back(preferred) or self._take(deadline)) as connection:
            yield connection

    @contextmanager
    def same_connection(self, wanted: Connection) -> Iterator[Connection]:
        """Lend *wanted*, or raise `StoreUnavailable` at once if it is in use or gone."""
        connection = self._take_back(wanted)
        if connection is None:
            raise StoreUnavailable(f"{self.name}: the connection is in use, or gone")
        with self._returned(connection):
            yield connection

    @property
    def opened(self) -> int:
        """How many connections were opened so far."""
        return self._opened

    @property
    def idle(self) -> int:
        """How many connections are idle."""
        return len(self._idle)

    def in_use(self) -> int:
        """Return how many connections are lent or being made."""
        return len(self._lent) + len(self._connecting)

    def failed(self, error: Exception, *, alone: bool = False) -> None:
        """Remember *error*, for the messages of waiting callers, and close the idle connections.

        After one is lost the others probably are as well, except with *alone*.
        """
        self._trouble = clock.monotonic(), error
        if not alone:
            self.forget_idle()

    def forget_idle(self) -> None:
        """Close the idle connections."""
        with self._changed:
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for _, connection in idle:
            connection.close()

    def close(self) -> None:
        """Close all connections; those in use when they are returned."""
        self._closed = True
        self.forget_idle()

    @contextmanager
    def _returned(self, connection: Connection) -> Iterator[Connection]:
        try:
            yield connection
        except BaseException:
            self._give_back(connection, fit=False)
            raise
        self._give_back(connection, fit=True)

    def _take_back(self, wanted: Connection | None) -> Connection | None:
        with self._changed:
            for entry in self._idle:
                if entry[1] is wanted:
                    return self._taken(entry)
        return None

    def _take(self, deadline: Deadline) -> Connection:
        with self._changed:
            while True:
                if self._closed:
                    raise StoreError(f"{self.name}: the store is closed")
                if (connection := self._free()) is not None:
                    return connection
                if self._open() < self.size:
                    began = clock.monotonic()
                    self._connecting.append(began)
                    break
                if not self._changed.wait(deadline.left()):
                    raise StoreUnavailable(f"{self.name}: all {self.size} connections are in use: {self._uses()}")
        try:
            connection = self._connect(deadline)
        except BaseException:
            with self._changed:
                self._connecting.remove(began)
                self._changed.notify()
            raise
        with self._changed:
            self._connecting.remove(began)
            self._lent.add(connection)
            self._opened += 1
        return connection

    def _free(self) -> Connection | None:
        """Return an idle connection: the latest without a scanner, or at the pool's size the one idle for longest."""
        while True:
            plain = [entry for entry in self._idle if not entry[1].scanners]
            if plain:
                entry = plain[-1]
            elif self._idle and self._open() >= self.size:
                entry = self._idle[0]
            else:
                return None
            if (connection := self._taken(entry)) is not None:
                return connection

    def _taken(self, entry: tuple[float, Connection]) -> Connection | None:
        """Return the idle connection, or close it and return None if it is too old, or received unexpected data."""
        self._idle.remove(entry)
        since, connection = entry
        if clock.monotonic() - since < self._max_age and connection.socket.is_quiet():
            self._lent.add(connection)
            return connection
        connection.close()
        self._changed.notify()  # there is room for another one
        return None

    def _give_back(self, connection: Connection, *, fit: bool) -> None:
        with self._changed:
            # A connection that was lent before a fork is unknown here.
            kept = connection in self._lent and fit and not self._closed
            self._lent.discard(connection)
            if kept:
                self._idle.append((clock.monotonic(), connection))
            self._changed.notify()
        if not kept:
            connection.close()

    def _open(self) -> int:
        return len(self._idle) + len(self._lent) + len(self._connecting)

    def _uses(self) -> str:
        """Return the uses of the connections, the longest first, and the latest error."""
        longest: dict[str, tuple[int, float]] = {}
        busy = [connection.busy for connection in self._lent]
        for call, since in [*busy, *(("connecting", since) for since in self._connecting)]:
            count, seconds = longest.get(call, (0, 0.0))
            longest[call] = count + 1, max(seconds, clock.monotonic() - since)
        uses = ", ".join(
            f"{count} {call} for up to {seconds:.1f} s"
            for call, (count, seconds) in sorted(longest.items(), key=lambda use: -use[1][1])
        )
        if self._trouble is None:
            return uses
        when, error = self._trouble
        return f"{uses}; {clock.monotonic() - when:.1f} s ago: {error}"

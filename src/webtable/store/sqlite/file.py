"""The SQLite file: its address in URLs, and its connections and transactions, shared by threads and processes."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
from contextlib import contextmanager, suppress
from logging import INFO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from webtable._limits import FILE_FORMAT, check_format
from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidArgument, StoreError, StoreRefused, StoreUnavailable, WebTableError
from webtable.store.metrics import Counts, log_event
from webtable.store.sqlite import connections as forks
from webtable.store.sqlite.catalogue import format_of
from webtable.store.sqlite.connections import (
    Connections,
    Wait,
    damage_found,
    damaged,
    is_busy,
    is_damage,
    is_too_big,
    meaning,
    other_holder,
)
from webtable.store.sqlite.opening import opened
from webtable.store.url import DEFAULT_TABLE, StoreURL, URLOptions

if TYPE_CHECKING:
    from collections.abc import Iterator


# --- Addresses --------------------------------------------------------------------------------------------------------
#
# URLs of the embedded store are `sqlite:path?table=NAME&timeout=SECONDS&max_cell=SIZE`, or a path.


OPTIONS: Final = frozenset({"table", "timeout", "max_cell"})
_MEMORY: Final = re.compile(r":memory:|[?&]mode=memory\b")


class FileAddress(NamedTuple):
    """A file, and a table in it, by default `pages`."""

    path: str
    table: str
    options: URLOptions


def address_of(url: StoreURL) -> FileAddress:
    """Return the address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    if url.is_path:
        check_path(url.text)
        return FileAddress(url.text, DEFAULT_TABLE, URLOptions())
    if url.scheme == "file":
        check_path(f"file:{url.rest}")
        raise InvalidArgument(f"store={url.text!r} must be a path, sqlite:PATH or hbase://HOST:PORT/TABLE")
    rest = url.rest.removeprefix("//")
    if rest.startswith("file:"):
        check_path(rest)
    quoted, _, query = rest.partition("?")
    path = unquote(quoted)
    check_path(path)
    options = url.options(query, OPTIONS)
    return FileAddress(path, options.get("table", DEFAULT_TABLE), options)


def check_path(path: str) -> None:
    """Raise `InvalidArgument` if *path* does not name a file, but means a database in memory to SQLite."""
    if not path:
        raise InvalidArgument("store='' must name a file, as in crawl.db")
    if path in (":memory:", "/:memory:") or (path.startswith("file:") and _MEMORY.search(path)):
        raise InvalidArgument(
            f"store={path!r}: SQLite has no store in memory; a store is a file, which threads and processes "
            "share: give one in a temporary directory (tempfile.TemporaryDirectory()), or ./:memory: for a file of "
            "that name; for tests there is memory:NAME, which is not persistent"
        )


# --- The file ---------------------------------------------------------------------------------------------------------


_TRY: Final = 0.25
"""How many seconds SQLite waits for another process at a time; a fork can happen in between."""

LEAST_MAX_CELL: Final = 2**20
"""The least `max_cell`: webtable's own cells (entries, links) have up to this many bytes."""
LONG_WAIT: Final = 0.1
"""The seconds from which on a wait for another thread or process is logged."""
LOGGER: Final = logging.getLogger("webtable.store.sqlite")


class _Block:
    """A block of reads and writes of one thread that is one transaction, and the error that has rolled it back."""

    def __init__(self, connection: sqlite3.Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.thread = threading.get_ident()
        self.error: StoreError | None = None


class StoreFile:
    """One SQLite file. `reader()` and `writer()` lend a connection in a transaction, and translate errors."""

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool, timeout: float, max_cell: int | None = None
    ) -> None:
        check_path(os.fspath(path))
        if max_cell is not None and max_cell < LEAST_MAX_CELL:
            raise InvalidArgument(f"max_cell={max_cell} must be at least {LEAST_MAX_CELL:,} bytes")
        self.name: str = os.fspath(path)
        self.path: Final = Path(path).absolute()
        self.timeout = timeout
        self.closed: bool = False
        self.inherited: bool = False
        """Whether this process was forked from the one that opened the file."""
        self._max_cell_option = max_cell
        self._connections = Connections(self.name, self.path, max_cell)
        self._block: _Block | None = None
        self._begun = 0
        self.ended: int = 0
        """The numbers of the transactions that have begun and ended last."""
        # Kept by connection, as a new one counts anew.
        self._seen: tuple[sqlite3.Connection, int] | None = None
        """The writing connection, and the version of the file that it has seen last."""
        self._damage: str | None = None
        self.events: Final = Counts()
        """How often each event was logged."""
        forks.closed_before_fork(self)
        renew_after_fork(self)
        self.check_open()
        wait = Wait(timeout)
        try:
            with forks.inside():
                try:
                    connection = opened(self.name, self.path, self._connections, wait, create=create)
                except sqlite3.Error as exc:
                    raise self._error(exc, wait) from exc
                limit = connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH)
                self.max_cell: int = limit if max_cell is None else min(max_cell, limit)
                """The largest cell in bytes: the limit of the SQLite build, or less."""
                self._connections.give_back(connection)
        except OSError as exc:
            raise StoreUnavailable(f"{self.name}: {exc.strerror or exc}") from exc

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection in a read transaction: all reads see one moment.

        In a block of this thread (`transaction`) it is the writing connection, which sees the writes of the block.
        """
        self.check_open()
        if (block := self._own_block()) is not None:
            with self._joining(block, writes=False):
                yield block.connection
            return
        wait, connections = Wait(self.timeout), self._connections
        connection = None
        forks.enter()
        try:
            connections = self._connections  # it may have been replaced while another thread forked
            connection = connections.reader(wait)
            connections.limit(connection, wait)
            connection.execute("BEGIN")
            yield connection
            connections.check_unchanged(connection)
        except sqlite3.Error as exc:
            raise self._error(exc, wait) from exc
        finally:
            if connection is not None and connections is self._connections:  # else it is the parent's
                connections.give_back(connection, keep=not self.closed)
            forks.leave()

    @contextmanager
    def writer(self, purpose: str = "writing", table: str | None = None) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection in a transaction that is committed at the end, or rolled back by an exception.

        In a block of this thread (`transaction`) it is the block's own transaction. Others that wait
        too long see *purpose* in their error.
        """
        self.check_open()
        if (block := self._own_block()) is not None:
            with self._joining(block, writes=True):
                yield block.connection
            return
        with self._writing(purpose, "BEGIN IMMEDIATE", table) as connection:
            self._number(connection)
            try:
                # A later webtable may have upgraded the file since it was opened.
                check_format(self.name, "file", format_of(connection), FILE_FORMAT)
                yield connection
                self.check_open()
                connection.execute("COMMIT")
            finally:
                self.ended = self._begun

    def _number(self, connection: sqlite3.Connection) -> None:
        """Number the transaction of *connection*; writes by other processes count as one more."""
        # It changes when another connection commits (https://sqlite.org/pragma.html#pragma_data_version).
        seen = connection, connection.execute("PRAGMA data_version").fetchone()[0]
        self._begun += 1 if seen == self._seen else 2
        self._seen = seen

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Make all reads and writes of this thread in the block one transaction, and give its number."""
        # A file has one lock, so there is one writer at a time by design: writers side by side only took it from each
        # other. One commit waits for the disk, where a dozen calls would wait a dozen times.
        if (joined := self._own_block()) is not None:
            yield joined.number
            return
        with self.writer("writing a batch") as connection:
            self._block = block = _Block(connection, self._begun)
            try:
                yield block.number
            finally:
                self._block = None
            if block.error is not None:
                raise block.error

    @contextmanager
    def exclusive(self, purpose: str = "at work") -> Iterator[sqlite3.Connection]:
        """Lend the writing connection without a transaction."""
        self.check_open()
        if self._own_block() is not None:
            raise StoreRefused(f"{self.name}: this cannot be part of a transaction")
        with self._writing(purpose) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection, those in use as soon as they are returned."""
        self.closed = True
        connections = self._connections
        if self._own_block() is None and connections.turns.take("closing the store", self.timeout):
            try:
                with forks.inside():
                    connections.close_writer()
            finally:
                connections.turns.give_back()
        with forks.inside():
            connections.close_readers()

    def check_open(self) -> None:
        """Raise if the store cannot be used: it is closed, or the process was forked at the wrong moment."""
        if self.closed:
            raise StoreError(f"{self.name}: the store is closed")
        if forks.is_the_parents(self.path):
            raise StoreRefused(
                f"{self.name}: this process was forked while a thread was in the middle of reading or writing this "
                "file, which therefore cannot be used here: fork outside of it, or start processes by spawn"
            )

    def before_fork(self) -> None:
        """Close the connections that are not in use, so that a child inherits none."""
        self._connections.close_readers()
        self._connections.close_writer()

    def after_fork(self) -> None:
        """Start without connections; if one was in use, the file cannot be used in the child."""
        # Those that are open now were in use: `before_fork` has closed the idle ones.
        for connection in self._connections.open:
            forks.leave_to_parent(connection, self.path)
        self.inherited = True
        self._block = None
        self._connections = Connections(self.name, self.path, self._max_cell_option)

    @contextmanager
    def _writing(self, purpose: str, begin: str = "", table: str | None = None) -> Iterator[sqlite3.Connection]:
        """Lend the writing connection when it is this thread's turn, and with *begin* that of this process."""
        wait, connections = Wait(self.timeout), self._connections
        if not connections.turns.take(purpose, wait.left()):
            holder = connections.turns.holder or "other threads"
            raise StoreUnavailable(f"{self.name}: locked for over {wait} by the {holder}")
        connection = None
        try:
            self.check_open()
            connection = self._entered(connections, wait, begin)
            if (seconds := wait.seconds()) >= LONG_WAIT:
                self.events("waited")
                text = f"waited with {purpose}"
                log_event(LOGGER, INFO, "waited", text, store=self.name, table=table, seconds=seconds)
            yield connection
        except sqlite3.Error as exc:
            raise self._error(exc, wait) from exc
        finally:
            if connections is self._connections:  # otherwise they are the parent's
                if connection is not None:
                    self._ended(connections, connection)
                connections.turns.give_back()
            if connection is not None:
                forks.leave()

    def _entered(self, connections: Connections, wait: Wait, begin: str) -> sqlite3.Connection:
        """Return the writing connection, inside SQLite (see `forks.enter`), after the statement *begin*."""
        while True:
            forks.enter()
            connections.is_writing = True
            try:
                writer = connections.writer = connections.writer or connections.connect(wait, write=True)
                writer.execute(f"PRAGMA busy_timeout={wait.milliseconds(_TRY) if begin else wait.milliseconds()}")
                if begin:
                    writer.execute(begin)
            except BaseException as exc:
                if connections.writer is not None:
                    self._ended(connections, connections.writer)
                connections.is_writing = False
                forks.leave()
                if not isinstance(exc, sqlite3.Error) or not is_busy(exc) or not wait.left():
                    raise
            else:
                return writer

    def _ended(self, connections: Connections, writer: sqlite3.Connection) -> None:
        """Roll back what was not committed. If the disk is full, SQLite has done it already."""
        with suppress(sqlite3.Error):
            writer.rollback()
        connections.is_writing = False
        if self.closed:
            connections.close_writer()

    def _own_block(self) -> _Block | None:
        block = self._block
        return block if block is not None and block.thread == threading.get_ident() else None

    @contextmanager
    def _joining(self, block: _Block, *, writes: bool) -> Iterator[None]:
        """Join *block*, which is rolled back as a whole if this fails in the middle."""
        if block.error is not None:
            raise block.error
        try:
            yield
        except sqlite3.Error as exc:
            error = self._error(exc, Wait(0))
            # SQLite may have rolled back everything, even for a read: later writes would be a new transaction.
            if writes or not block.connection.in_transaction:
                block.error = error
            raise error from exc
        except WebTableError:  # refused before anything was done
            raise
        except BaseException as exc:
            if writes:
                block.error = StoreError(f"{self.name}: a write was interrupted, so nothing is stored: {exc!r}")
            raise

    def _error(self, exc: sqlite3.Error, wait: Wait) -> StoreError:
        """Return *exc* as an error of the store."""
        if is_busy(exc):
            return StoreUnavailable(f"{self.name}: locked for over {wait} by {other_holder(self.path)}")
        if is_too_big(exc) and self._max_cell_option is not None:
            return StoreRefused(f"{self.name}: a cell is over max_cell={self._max_cell_option:,} of this store")
        if is_damage(exc) and not self.closed:
            if self._damage is None:
                self._damage = damage_found(lambda: self._connections.connect(Wait(1.0)))
            return damaged(self.name, exc, self._damage)
        return meaning(self.name, exc, closed=self.closed)

"""A store in the memory of one process, for tests: a database of SQLite without a file."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections import defaultdict
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote

from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidArgument, StoreError, StoreUnavailable
from webtable.store.capabilities import Capabilities
from webtable.store.rows import MAX_CELL
from webtable.store.sqlite import connections as forks
from webtable.store.sqlite.catalogue import CATALOGUE
from webtable.store.sqlite.store import SQLiteTables
from webtable.store.url import DEFAULT_TABLE, StoreURL

if TYPE_CHECKING:
    from collections.abc import Iterator


class _SharedDatabase:
    """What the stores of one name share: one connection, and the lock that every call holds.

    Connections of their own would not help: without a -wal, readers and writers of a database in memory lock each other
    out (https://sqlite.org/inmemorydb.html, shared cache and memdb alike).
    """

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self.connection.close)
        for statement in CATALOGUE:
            self.connection.execute(statement)
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock; the child has a copy of the database, which no lock of the system protects."""
        self.lock = threading.RLock()


class _MemoryDatabase:
    """A database in memory as one store has it: the store may be closed while others go on."""

    max_cell: int = MAX_CELL  # as on HBase

    def __init__(self, name: str, shared: _SharedDatabase, timeout: float) -> None:
        self.name = name
        self.closed = False
        self._shared = shared
        self._timeout = timeout

    def check_open(self) -> None:
        if self.closed:
            raise StoreError(f"{self.name}: the store is closed")

    def reader(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._lent("BEGIN")

    def writer(self, purpose: str = "", table: str | None = None) -> AbstractContextManager[sqlite3.Connection]:  # noqa: ARG002, nothing is logged
        return self._lent("BEGIN")

    def exclusive(self, purpose: str = "") -> AbstractContextManager[sqlite3.Connection]:  # noqa: ARG002, see above
        return self._lent()

    @contextmanager
    def _lent(self, begin: str = "") -> Iterator[sqlite3.Connection]:
        """Lend the connection, after the statement *begin*; what the block has done is undone if it raises."""
        self.check_open()
        lock, connection = self._shared.lock, self._shared.connection
        # Whatever time a call has left: others hold the lock for milliseconds, as in a dictionary.
        if not lock.acquire(timeout=self._timeout):
            raise StoreUnavailable(f"{self.name}: other threads have held the lock for too long")
        try:
            with forks.inside():  # a fork waits for the end of the call: the child's copy must be whole
                connection.execute(begin)
                try:
                    yield connection
                    connection.commit()
                finally:
                    connection.rollback()
        finally:
            lock.release()

    def close(self) -> None:
        self.closed = True


class MemoryStore(SQLiteTables):
    """Tables in the memory of this process, for tests; thread-safe.

    They are gone when the process ends, and no other process sees them (a fork has its own copy). Stores of one *name*,
    by the URL `memory:NAME`, have the same tables, also one after another; `forget` drops them. A store without a name
    has its own. *timeout* is in seconds, though no call takes that long.
    """

    # Without transactions of several calls, unlike a file: what is tested here meets what is different on HBase.
    capabilities: Capabilities = Capabilities(default_ttl=None, default_versions=None)

    def __init__(self, name: str = "", *, timeout: float = 30.0) -> None:
        shared = _named[name] if name else _SharedDatabase()
        super().__init__(_MemoryDatabase(f"memory:{name}", shared, timeout), timeout)

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """The table of `memory:NAME?table=TABLE`: by default `pages`."""
        return _address(url)[1]

    @classmethod
    def address_of(cls, url: StoreURL) -> None:
        """None: no other process has its tables."""

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store of that name; every name exists."""
        del create
        return cls(_address(url)[0])

    @staticmethod
    def forget(name: str) -> None:
        """Drop the tables of the stores of that *name*."""
        _named.pop(name, None)


_named: Final[defaultdict[str, _SharedDatabase]] = defaultdict(_SharedDatabase)


def _address(url: StoreURL) -> tuple[str, str]:
    """Return the name of the store and of the table."""
    name, _, query = url.rest.removeprefix("//").partition("?")
    options = url.options(query, {"table"})
    if not name:
        raise InvalidArgument(f"store={url.text!r} must have a name, as in memory:crawl")
    return unquote(name), options.get("table", DEFAULT_TABLE)

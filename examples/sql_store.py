"""A store of one's own, in a database with SQL: here that of the standard library, which stands for yours."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Self

import msgspec

from webtable import store as port
from webtable.errors import CapabilityError, NotAStore, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Cell, Mutation, Put, Row, StoreURL, TimeRange, Wanted

TABLES = (
    "tables (name TEXT PRIMARY KEY, schema BLOB)",
    "cells (name TEXT, row BLOB, col BLOB, at INTEGER, value BLOB, PRIMARY KEY (name, row, col, at DESC))",
    "deletes (name TEXT, row BLOB, scope BLOB, at INTEGER, exact INTEGER, PRIMARY KEY (name, row, scope, at, exact))",
)
PIECE = 100  # rows of a scan that are read at once
LAST = b"\xff" * (port.MAX_ROW_KEY + 1)  # after every row and every column
LOCK = threading.Lock()  # no connection is open during a fork, which SQLite does not allow
os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


class SQLStore(port.Store):
    """Tables in the file at *path*, which *create* makes. A call ends within *timeout* seconds."""

    capabilities = port.Capabilities(writes_concurrently=False, default_ttl=None, default_versions=None)

    def __init__(self, path: str | Path, *, create: bool = False, timeout: float = 30.0) -> None:
        self.name, self.timeout, self._path, self._closed = f"sql:{path}", timeout, Path(path), False
        if not create and not self._path.is_file():
            raise TableNotFound(f"{self.name}: there is no such file; webtable create makes it")
        with self._transaction("IMMEDIATE" if create else "") as database:
            for table in TABLES if create else ():
                database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
            database.execute("SELECT * FROM tables, cells, deletes LIMIT 0")

    @classmethod
    def table_of(cls, url: StoreURL) -> str:  # of sql:PATH?table=NAME&timeout=SECONDS
        return url.options(url.rest.partition("?")[2], {"table", "timeout"}).get("table", "pages")

    @classmethod
    def address_of(cls, url: StoreURL) -> str:  # for processes that start in another folder
        return f"sql:{Path(url.rest.partition('?')[0]).absolute()}?table={cls.table_of(url)}"

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        path, _, query = url.rest.partition("?")
        return cls(path, create=create, timeout=url.options(query, {"table", "timeout"}).number("timeout", 30.0))

    @contextmanager
    def _transaction(self, kind: str = "") -> Iterator[sqlite3.Connection]:
        """Lend a connection in a transaction; errors of the database become those of a store here alone."""
        deadline = port.of_call(self.timeout)
        if not LOCK.acquire(timeout=deadline.left()):
            raise StoreUnavailable(f"{self.name}: other threads have held the lock for {self.timeout:g} s")
        try:
            if self._closed:
                raise StoreError(f"{self.name}: the store is closed")
            with closing(sqlite3.connect(self._path, timeout=deadline.left(), isolation_level=None)) as database:
                database.execute(f"BEGIN {kind}")
                yield database
                database.execute("COMMIT")  # after an error it is rolled back, as the connection is closed
        except sqlite3.Error as exc:
            is_other_file = exc.sqlite_errorcode in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB)
            raise (NotAStore if is_other_file else StoreUnavailable)(f"{self.name}: {exc}") from exc
        finally:
            LOCK.release()

    def _schema(self, database: sqlite3.Connection, table: str, columns: Sequence[bytes] = ()) -> TableSchema:
        """Return the schema of a table that has the families of *columns*."""
        stored = database.execute("SELECT schema FROM tables WHERE name = ?", (table,)).fetchone()
        if stored is None:
            raise TableNotFound(f"{self.name}: no table {table!r}")
        schema = msgspec.json.decode(stored[0], type=TableSchema)
        self._check_families(schema, columns)
        return schema

    def _check_families(self, schema: TableSchema, columns: Iterable[bytes]) -> None:
        families = tuple(family.name.encode() + b":" for family in schema.families)
        for column in columns:
            if not column.startswith(families):
                raise StoreRefused(f"{self.name}: table {schema.name!r} has no family for {column[:80]!r}")

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        outcomes: list[StoreError | None] = []
        with self._transaction("IMMEDIATE") as database:
            schema = self._schema(database, table)
            for mutation in mutations:
                try:
                    self._check(schema, mutation)  # before the first statement: what is refused leaves nothing
                except StoreRefused as exc:
                    outcomes.append(exc)
                    continue
                if isinstance(mutation, Put):
                    cells = [(table, mutation.row, *cell) for cell in mutation.cells]
                    database.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)", cells)
                else:
                    scopes = [b""] if mutation.columns is None else mutation.columns
                    marks = [(table, mutation.row, scope, mutation.timestamp, mutation.exact) for scope in scopes]
                    database.executemany("INSERT OR IGNORE INTO deletes VALUES (?, ?, ?, ?, ?)", marks)
                outcomes.append(None)
        return outcomes

    def _check(self, schema: TableSchema, mutation: Mutation) -> None:
        """Raise `StoreRefused` for what HBase does not take."""
        row, most = mutation.row, self.capabilities.max_cell
        if isinstance(mutation, Put):
            columns, times = [cell.column for cell in mutation.cells], [cell.timestamp for cell in mutation.cells]
            # HBase's size: without the colon of the column, and with 24 bytes of its own.
            size = max((len(row) + len(column) + len(value) + 23 for column, _, value in mutation.cells), default=0)
            is_wrong_exact = False
        else:
            columns, times, size = list(mutation.columns or ()), [mutation.timestamp], 0
            is_wrong_exact = mutation.exact and not (columns and all(column.partition(b":")[2] for column in columns))
        for is_wrong, rule in (
            (not 0 < len(row) <= port.MAX_ROW_KEY, f"a row key has 1 to {port.MAX_ROW_KEY:,} bytes"),
            (size > most, f"a cell has at most {most:,} bytes, not {size:,}"),
            (not all(0 <= at < 2**63 - 1 for at in times), "a timestamp is from 0 to 2**63 - 2"),
            (is_wrong_exact, "an exact delete names columns with their qualifiers"),
        ):
            if is_wrong:
                raise StoreRefused(f"{self.name}: table {schema.name!r}, row {row[:80]!r}: {rule}")
        self._check_families(schema, columns)

    def _columns(
        self, database: sqlite3.Connection, schema: TableSchema, row: bytes, start: bytes = b"", stop: bytes = LAST
    ) -> Iterator[tuple[bytes, list[Cell]]]:
        """Yield the columns from *start* to *stop* that have visible cells, and these, the newest first."""
        marks = database.execute(
            "SELECT scope, at, exact FROM deletes WHERE name = ? AND row = ? ORDER BY at", (schema.name, row)
        ).fetchall()
        until = {scope: at for scope, at, is_exact in marks if not is_exact}  # the latest of each scope
        exactly = {(column, at) for column, at, is_exact in marks if is_exact}
        find = "SELECT col, at, value FROM cells WHERE name = ? AND row = ? AND col >= ? AND col < ?"
        cells = database.execute(f"{find} ORDER BY col, at DESC", (schema.name, row, start, stop))
        for column, versions in groupby(cells, key=itemgetter(0)):
            family = schema.family(column.partition(b":")[0].decode())
            hidden = max(until.get(scope, -1) for scope in (b"", family.name.encode() + b":", column))
            oldest = 0 if family.ttl is None else time.time_ns() // 1_000_000 - family.ttl * 1000
            kept = (Cell(at, value) for _, at, value in versions if at > hidden and (column, at) not in exactly)
            newest = enumerate(islice(kept, family.versions))
            if alive := [cell for place, cell in newest if cell.timestamp >= oldest or place < family.min_versions]:
                yield column, alive

    def _row(self, database: sqlite3.Connection, schema: TableSchema, key: bytes, wanted: Wanted) -> Row | None:
        """Return what is *wanted* of a row, None if nothing of it is visible."""
        times, words = wanted.time_range or TimeRange(), wanted.containing
        # After the limits of the family: a cell beyond these is not found by its timestamp either.
        within = {
            column: [cell for cell in versions if times.since <= cell.timestamp < times.until]
            for column, versions in self._columns(database, schema, key)
        }
        if words is not None and not words.holds(next((cell.value for cell in within.get(words.column, ())), None)):
            return None
        names = None if wanted.columns is None else {*wanted.columns}
        cells = {
            column: versions[: wanted.versions]
            for column, versions in within.items()
            if versions and (names is None or not names.isdisjoint((column, column[: column.index(b":") + 1])))
        }
        return Row(key, {} if wanted.keys_only else cells) if cells else None

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        with self._transaction() as database:
            schema = self._schema(database, table, wanted.columns or ())
            return [self._row(database, schema, key, wanted) for key in rows]

    def _read_cells(
        self, table: str, rows: Sequence[bytes], family: bytes, qualifiers: KeyRange, limit: int, *, keys_only: bool
    ) -> list[list[tuple[bytes, Cell]]]:
        start, stop = family + b":" + qualifiers.start, family + (b":" + qualifiers.stop if qualifiers.stop else b";")
        with self._transaction() as database:
            schema = self._schema(database, table, [family + b":"])
            columns = [islice(self._columns(database, schema, row, start, stop), limit) for row in rows]
            return [[(c, cells[0]._replace(value=b"") if keys_only else cells[0]) for c, cells in of] for of in columns]

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        # Nothing is open between two pieces: the next one goes on after the last row, whatever has changed.
        for keys in reversed(ranges) if reverse else ranges:
            size, rows = PIECE, [Row(b"", {})] * PIECE
            while len(rows) == size and limit != 0:
                size = PIECE if limit is None else min(PIECE, limit)
                [rows] = self._first_rows(table, [keys], size, wanted, reverse=reverse)
                yield rows
                limit = None if limit is None else limit - len(rows)
                keys = (keys.before if reverse else keys.after)(rows[-1].key) if rows else keys

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        find = "SELECT DISTINCT row FROM cells WHERE name = ? AND row >= ? AND row < ? ORDER BY row"
        columns = [*(wanted.columns or ()), *([wanted.containing.column] if wanted.containing else ())]
        found = []
        with self._transaction() as database:
            schema = self._schema(database, table, columns)
            for keys in ranges:
                stored = database.execute(find + " DESC" * reverse, (table, keys.start, keys.stop or LAST))
                rows = (self._row(database, schema, key, wanted) for (key,) in stored)
                found.append(list(islice(filter(None, rows), limit)))
        return found

    def tables(self) -> list[str]:
        with self._transaction() as database:
            return [name for (name,) in database.execute("SELECT name FROM tables ORDER BY name")]

    def describe(self, table: str) -> port.TableDescription:
        with self._transaction() as database:
            return port.TableDescription(self._schema(database, table))

    def create_table(self, schema: TableSchema) -> None:
        with self._transaction("IMMEDIATE") as database:
            if database.execute("SELECT 1 FROM tables WHERE name = ?", (schema.name,)).fetchone():
                raise StoreRefused(f"{self.name}: table {schema.name!r} exists already")
            database.execute("INSERT INTO tables VALUES (?, ?)", (schema.name, msgspec.json.encode(schema)))

    def set_family(self, table: str, family: FamilySchema) -> None:
        with self._transaction("IMMEDIATE") as database:
            schema = self._schema(database, table)
            others = (other for other in schema.families if other.name != family.name)
            changed = msgspec.json.encode(replace(schema, families=(*others, family)))
            database.execute("UPDATE tables SET schema = ? WHERE name = ?", (changed, table))

    def drop_table(self, table: str) -> None:
        with self._transaction("IMMEDIATE") as database:
            self._schema(database, table)
            for place in ("tables", "cells", "deletes"):
                database.execute(f"DELETE FROM {place} WHERE name = ?", (table,))

    def regions(self, table: str) -> list[port.Region]:
        splits = self.describe(table).schema.split_keys
        return [port.Region(KeyRange(*keys)) for keys in zip((b"", *splits), (*splits, b""), strict=True)]

    def compact(self, tables: Sequence[str]) -> int:
        raise CapabilityError(f"{self.name}: cells that are hidden are kept; webtable copy leaves them behind")

    def space(self) -> port.Space:
        return port.Space(self._path.stat().st_size, free=0)

    def close(self) -> None:
        self._closed = True

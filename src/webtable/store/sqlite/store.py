"""The store in one SQLite file, and what it has in common with the store in memory: tables in a database of SQLite."""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from webtable._clock import clock
from webtable.errors import StoreError, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.store.capabilities import Capabilities
from webtable.store.port import Store
from webtable.store.rows import Cell, Mutation, Put, Region, Row, TableDescription, Wanted
from webtable.store.sqlite import catalogue
from webtable.store.sqlite.connections import Database, bytes_of, temporary_files
from webtable.store.sqlite.file import StoreFile, address_of
from webtable.store.sqlite.full_text import FullText
from webtable.store.sqlite.reader import FIRST_PIECE, LARGEST_PIECE, Reader, cells_of, first_rows, next_piece, reader
from webtable.store.sqlite.sweeps import SLICE, sweep, sweep_all, sweep_deletes
from webtable.store.sqlite.writes import Mutations, rows_in

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from webtable.schema import FamilySchema, TableSchema
    from webtable.store.health import Check, Rescued, Space
    from webtable.store.sqlite.catalogue import StoredTable
    from webtable.store.url import StoreURL


class SQLiteTables(Store):
    """Tables in a *database* of SQLite, wherever that is."""

    def __init__(self, database: Database, timeout: float) -> None:
        self._database = database
        self.name: str = database.name
        self.timeout: float = timeout
        # A random start, so that processes that write less than a slice do their share of sweeping too.
        self._unswept: defaultdict[int, int] = defaultdict(lambda: random.randrange(SLICE // 2))  # noqa: S311

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations* in one transaction; a failure of the transaction is the outcome of every mutation."""
        self._database.check_open()
        batch = None
        try:
            with self._database.writer(f"writing to table {table!r}", table) as connection:
                batch = Mutations(self.name, self._table(connection, table), mutations, self._database.max_cell)
                batch.apply(connection, clock.milliseconds())
                self._sweep(connection, batch)
        except StoreError as exc:
            if self._database.closed:
                raise
            # Those that were refused before keep their own reasons.
            refused = [None] * len(mutations) if batch is None else batch.outcomes
            return [exc if error is None else error for error in refused]
        return batch.outcomes

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None) -> bool:
        """Compare and put in one transaction."""
        self._database.check_open()
        with self._database.writer(f"writing to table {table!r}", table) as connection:
            row = self._reader(connection, table, Wanted([column])).row(put.row)
            if (row and row.value(column)) != expected:
                return False
            batch = Mutations(self.name, self._table(connection, table), [put], self._database.max_cell)
            batch.apply(connection, clock.milliseconds())
            if (error := batch.outcomes[0]) is not None:
                raise error
            self._sweep(connection, batch)
        return True

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        """Return one entry for each of *rows*, all as of one moment."""
        with self._database.reader() as connection:
            reader = self._reader(connection, table, wanted)
            if len(rows) == 1:
                return [reader.row(rows[0])]
            row_of = {key: reader.row(key) for key in rows[:1]}
            stored = set(rows)
            if None in row_of.values():
                # Few of the others may be there either, as when new pages are stored: one statement finds them.
                stored = {row for source in reader.sources for row in rows_in(connection, source.cells, rows)}
            row_of |= {key: reader.row(key) if key in stored else None for key in dict.fromkeys(rows[1:])}
        return [row_of[key] for key in rows]

    def _read_cells(
        self, table: str, rows: Sequence[bytes], family: bytes, qualifiers: KeyRange, limit: int, *, keys_only: bool
    ) -> list[list[tuple[bytes, Cell]]]:
        """Return the cells of each of *rows*, all as of one moment."""
        with self._database.reader() as connection:
            stored = self._table(connection, table).families.get(family + b":")
            if stored is None:
                raise StoreRefused(f"{self.name}: table {table!r} has no family {family.decode(errors='replace')!r}")
            now = clock.milliseconds()
            return [cells_of(connection, stored, row, qualifiers, limit, keys_only=keys_only, now=now) for row in rows]

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        """Yield the rows of all *ranges*; missing tables and families are raised by the call itself.

        The rows are read in pieces of limited size. Each piece is a transaction, and nothing is open between pieces.
        """
        with self._database.reader() as connection:
            self._reader(connection, table, wanted)
        return self._pieces(table, wanted, ranges[::-1] if reverse else ranges, limit, reverse)

    def _pieces(
        self, table: str, wanted: Wanted, ranges: list[KeyRange], limit: int | None, reverse: bool
    ) -> Iterator[list[Row]]:
        # The first piece is small, since many callers want only a few rows; later ones are not.
        size = FIRST_PIECE
        while ranges and limit != 0:
            count = size if limit is None else min(size, limit)
            with self._database.reader() as connection:
                rows, ranges = next_piece(self._reader(connection, table, wanted), ranges, count, reverse)
            yield rows
            limit = None if limit is None else limit - len(rows)
            size = min(size * 4, LARGEST_PIECE)

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        """Return the rows of each range, all as of one moment."""
        with self._database.reader() as connection:
            reader = self._reader(connection, table, wanted)
            return [first_rows(reader, keys, limit, reverse) for keys in ranges]

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        with self._database.reader() as connection:
            return catalogue.table_names(connection)

    def describe(self, table: str) -> TableDescription:
        """Return the table as recorded, including options that have no effect in SQLite."""
        with self._database.reader() as connection:
            return TableDescription(self._table(connection, table).schema)

    def create_table(self, schema: TableSchema) -> None:
        """Create the table; its split keys are recorded but have no effect."""
        with self._database.writer() as connection:
            if catalogue.find_table(connection, schema.name) is not None:
                raise StoreRefused(f"{self.name}: table {schema.name!r} exists already")
            catalogue.add_table(connection, schema)

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add the family, or change an existing one. Cells beyond a lower number of versions are removed later."""
        with self._database.writer() as connection:
            catalogue.put_family(connection, self._table(connection, table), family)

    def drop_table(self, table: str) -> None:
        """Remove the table and all it holds; its space is reused by later writes."""
        with self._database.writer() as connection:
            catalogue.remove_table(connection, self._table(connection, table))

    def regions(self, table: str) -> list[Region]:
        """Return the key ranges between the recorded split keys."""
        splits = self.describe(table).schema.split_keys
        return [Region(KeyRange(start, stop)) for start, stop in zip((b"", *splits), (*splits, b""), strict=True)]

    def compact(self, tables: Sequence[str]) -> int:
        """Free the space of data in *tables* that is no longer visible, and return how many bytes that was.

        Writers wait while the file is rewritten at the end, which needs as much space again.
        """
        # Sweeping only frees pages inside of the database; VACUUM gives them back, and nobody else may write then.
        for table in tables:
            sweep_all(self._database, table, clock.milliseconds)
        with self._database.exclusive("compacting the file") as connection:
            before = bytes_of(connection)
            with temporary_files(connection):
                connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return max(0, before - bytes_of(connection))

    def space(self) -> Space:
        """Return the size of the file, and how much of it is free."""
        from webtable.store.health import Space

        with self._database.reader() as connection:
            return Space(bytes_of(connection), bytes_of(connection, "freelist_count"))

    def close(self) -> None:
        """Close the file, even if a scan is not at its end."""
        self._database.close()

    def _table(self, connection: sqlite3.Connection, name: str) -> StoredTable:
        table = catalogue.find_table(connection, name)
        if table is None:
            raise TableNotFound(f"{self.name}: no table {name!r}")
        return table

    def _reader(self, connection: sqlite3.Connection, table: str, wanted: Wanted) -> Reader:
        stored = self._table(connection, table)
        try:
            return reader(connection, stored, wanted, clock.milliseconds())
        except StoreRefused as exc:
            raise StoreRefused(f"{self.name}: {exc}") from None

    def _sweep(self, connection: sqlite3.Connection, batch: Mutations) -> None:
        """Sweep twice as many cells as were written, to catch up with a growing table."""
        for family in batch.table.families.values():
            written = len(batch.cells.get(family.id, ())) + len(batch.markers.get(family.id, ()))
            slices, self._unswept[family.id] = divmod(self._unswept[family.id] + written, SLICE // 2)
            for _ in range(slices):
                if family.schema.ttl is not None:
                    sweep(connection, family, clock.milliseconds())
                sweep_deletes(connection, family, clock.milliseconds())


class SQLiteStore(SQLiteTables):
    """Tables in one SQLite file, for many concurrent threads and processes.

    The file is in WAL mode: readers do not wait for the writer, and writers wait for each other, at most `timeout`
    seconds. Every write is one transaction, durable when it is acknowledged; with `transaction` several writes are one.
    A cell may have as many bytes as SQLite allows, 1,000,000,000 in most builds; *max_cell* is a lower limit, and
    larger cells are neither written nor read.
    Raises `TableNotFound` if there is no file, `NotAStore` if it is not a store; nothing is changed then.
    """

    capabilities: Capabilities = Capabilities(
        writes_concurrently=False,
        is_of_processes=True,
        default_ttl=None,  # nobody expects a file to lose data that was put into it
        default_versions=None,
        is_created_on_ingest=True,
        empty_hint="A file that was copied without the -wal file beside it looks like this; that file has the last "
        "writes: copy both, or close the store first",
    )

    def __init__(
        self, path: str | os.PathLike[str], *, create: bool = False, timeout: float = 30.0, max_cell: int | None = None
    ) -> None:
        self._file = StoreFile(path, create=create, timeout=timeout, max_cell=max_cell)
        super().__init__(self._file, timeout)
        self.capabilities = replace(self.capabilities, max_cell=self._file.max_cell)

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the table of `sqlite:path?table=NAME`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store in the file that *url* names; with *create* a missing file is made."""
        path, _, options = address_of(url)
        return cls(path, create=create, timeout=options.number("timeout", 30.0), max_cell=options.size("max_cell"))

    def __del__(self) -> None:
        file: StoreFile | None = getattr(self, "_file", None)
        if file is None or file.closed:
            return
        try:
            if not file.inherited:
                message = f"{self.name}: the store was left open; close() it, or open it in a with block"
                warnings.warn(message, ResourceWarning, source=self, stacklevel=2)
        finally:
            file.close()

    def transaction(self) -> AbstractContextManager[int]:
        """Make all writes of this thread in the block one transaction; other threads and processes wait to write.

        Inner blocks join it. Reads of this thread in the block see its writes, other threads the state before.
        Creating, changing and dropping tables is part of it; `compact` is refused. A write that fails as a whole rolls
        it back, and the block ends in a `StoreError`, whatever follows.
        """
        return self._file.transaction()

    def last_transaction(self) -> int:
        """Return the number of the last transaction of this store that has ended."""
        return self._file.ended

    def search_index(self, table: str) -> FullText:
        """Return the full text of *table*, in the same file."""
        return FullText(self._file, table)

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:
        """Copy the file with SQLite's backup, without blocking writers, and verify the copy."""
        from webtable.store.sqlite.upkeep import back_up

        return back_up(self._file, path, on_progress)

    @classmethod
    def rescue(cls, url: StoreURL, path: Path, on_progress: Callable[[int], object] | None = None) -> Rescued:
        """Write all that can be read of the file into a new one."""
        from webtable.store.sqlite.rescue import rescue

        return rescue(address_of(url).path, path, on_progress)

    def health(self, table: str) -> Iterator[Check]:  # noqa: ARG002, all tables are in one file
        """Yield the checks of the file and of its disk."""
        from webtable.store.sqlite.upkeep import health  # no other call needs its imports

        return health(self._file)

    def events(self) -> Counter[str]:
        """How often each event of the file has occurred."""
        return self._file.events.snapshot()

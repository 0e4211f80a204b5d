"""A store in the memory of one process, for tests: fast, without files, not persistent."""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote

from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidArgument, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import of_call
from webtable.store.health import Space
from webtable.store.memory_table import PIECE, TableInMemory
from webtable.store.port import Store
from webtable.store.rows import Cell, Put, Region, Row, TableDescription, Wanted
from webtable.store.url import DEFAULT_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.schema import FamilySchema, TableSchema
    from webtable.store.rows import Mutation
    from webtable.store.url import StoreURL


class _Shared:
    """The state that the stores of one name share: the tables, and the lock that every call holds."""

    def __init__(self) -> None:
        self.tables: dict[str, TableInMemory] = {}
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock."""
        self.lock = threading.RLock()


class MemoryStore(Store):
    """Tables in the memory of this process, for tests; thread-safe.

    They are gone when the process ends, and no other process sees them (a fork has its own copy). Stores of one *name*,
    by the URL `memory:NAME`, have the same tables, also one after another; `forget` drops them. A store without a name
    has its own. *timeout* is in seconds, though no call takes that long.
    """

    capabilities: Capabilities = Capabilities(default_ttl=None, default_versions=None)

    def __init__(self, name: str = "", *, timeout: float = 30.0) -> None:
        self.name: str = f"memory:{name}"
        self.timeout = timeout
        self._shared = _named[name] if name else _Shared()
        self._closed = False

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the table of `memory:NAME?table=TABLE`: by default `pages`."""
        return _address(url)[1]

    @classmethod
    def address_of(cls, url: StoreURL) -> None:
        """Return None: no other process has its tables."""

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store of that name; every name exists."""
        del create
        return cls(_address(url)[0])

    @staticmethod
    def forget(name: str) -> None:
        """Drop the tables of the stores of that *name*."""
        _named.pop(name, None)

    def space(self) -> Space:
        """Return the bytes of all values; none is free, as nothing is left of what was deleted."""
        with self._shared.lock:
            tables = self._shared.tables.values()
            return Space(sum(found.value_bytes() for found in tables), 0)

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        """Apply *mutations*, atomically for readers."""
        with self._open_table(table) as found:
            return [self._outcome(found, mutation) for mutation in mutations]

    def _outcome(self, found: TableInMemory, mutation: Mutation) -> StoreError | None:
        try:
            found.check(mutation)
        except StoreRefused as exc:
            return StoreRefused(f"{self.name}: table {found.schema.name!r}: {exc}")
        if isinstance(mutation, Put):
            found.put(mutation)
        else:
            found.delete(mutation)
        return None

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        with self._open_table(table, wanted) as found:
            return [found.row(row, wanted) for row in rows]

    def _read_cells(
        self,
        table: str,
        rows: Sequence[bytes],
        family: bytes,
        qualifiers: KeyRange,
        limit: int,
        *,
        keys_only: bool,
    ) -> list[list[tuple[bytes, Cell]]]:
        prefix = family + b":"
        with self._open_table(table, Wanted([prefix])) as found:
            cells: list[list[tuple[bytes, Cell]]] = []
            for row in rows:
                columns = (c for c in sorted(found.rows.get(row, ())) if c.startswith(prefix))
                newest = ((c, found.versions(row, c)) for c in columns if c.removeprefix(prefix) in qualifiers)
                some = ((c, Cell(v[0].timestamp, b"") if keys_only else v[0]) for c, v in newest if v)
                cells.append(list(islice(some, min(limit, sys.maxsize))))
            return cells

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        with self._open_table(table, wanted):
            pass  # the call itself reports what is missing
        return self._pieces(table, ranges[::-1] if reverse else ranges, wanted, limit, reverse=reverse)

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        with self._open_table(table, wanted):
            each = (self._pieces(table, [keys], wanted, limit, reverse=reverse) for keys in ranges)
            return [list(chain.from_iterable(pieces)) for pieces in each]

    def _pieces(
        self, table: str, ranges: Sequence[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[list[Row]]:
        left = sys.maxsize if limit is None else limit
        for keys in ranges:
            rest = keys
            while not rest.is_empty() and left > 0:
                with self._open_table(table) as found:
                    piece = found.keys_in(rest, reverse=reverse)
                    rows = list(islice(filter(None, (found.row(key, wanted) for key in piece)), min(left, PIECE)))
                yield rows
                left -= len(rows)
                if len(piece) < PIECE:
                    break
                rest = rest.before(piece[-1]) if reverse else rest.after(piece[-1])

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        with self._locked() as tables:
            return sorted(tables)

    def describe(self, table: str) -> TableDescription:
        """Return the table as it was created."""
        with self._open_table(table) as found:
            return TableDescription(found.schema)

    def create_table(self, schema: TableSchema) -> None:
        """Create the table; its split keys are kept but have no effect. Raises `StoreRefused` if it exists."""
        with self._locked() as tables:
            if schema.name in tables:
                raise StoreRefused(f"{self.name}: table {schema.name!r} exists already")
            tables[schema.name] = TableInMemory(schema)

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add the family, or change the one of that name."""
        with self._open_table(table) as found:
            families = {one.name: one for one in found.schema.families} | {family.name: family}
            found.schema = replace(found.schema, families=tuple(families.values()))

    def drop_table(self, table: str) -> None:
        """Remove the table and all it holds."""
        with self._open_table(table), self._locked() as tables:
            del tables[table]

    def regions(self, table: str) -> list[Region]:
        """Return the key ranges between the split keys."""
        splits = self.describe(table).schema.split_keys
        return [Region(KeyRange(start, stop)) for start, stop in zip((b"", *splits), (*splits, b""), strict=True)]

    def compact(self, tables: Sequence[str]) -> int:
        """Forget the deletes; the freed memory is not measured."""
        for table in tables:
            with self._open_table(table) as found:
                found.hidden.clear()
                found.exactly.clear()
        return 0

    def close(self) -> None:
        """Refuse further calls; the tables stay for other stores of this name."""
        self._closed = True

    @contextmanager
    def _locked(self) -> Iterator[dict[str, TableInMemory]]:
        if self._closed:
            raise StoreError(f"{self.name}: the store is closed")
        lock = self._shared.lock
        if not lock.acquire(timeout=of_call(self.timeout).left()):
            raise StoreUnavailable(f"{self.name}: other threads have held the lock for too long")
        try:
            yield self._shared.tables
        finally:
            lock.release()

    @contextmanager
    def _open_table(self, table: str, wanted: Wanted | None = None) -> Iterator[TableInMemory]:
        with self._locked() as tables:
            if table not in tables:
                raise TableNotFound(f"{self.name}: no table {table!r}")
            found = tables[table]
            containing = [wanted.containing.column] if wanted and wanted.containing else []
            try:
                for column in [*((wanted and wanted.columns) or ()), *containing]:
                    found.family(column)
            except StoreRefused as exc:
                raise StoreRefused(f"{self.name}: table {table!r}: {exc}") from None
            yield found


_named: Final[defaultdict[str, _Shared]] = defaultdict(_Shared)


def _address(url: StoreURL) -> tuple[str, str]:
    """Return the name of the store and of the table."""
    name, _, query = url.rest.removeprefix("//").partition("?")
    options = url.options(query, {"table"})
    if not name:
        raise InvalidArgument(f"store={url.text!r} must have a name, as in memory:crawl")
    return unquote(name), options.get("table", DEFAULT_TABLE)

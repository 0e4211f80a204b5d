"""A store in the memory of one process, for tests: fast, without files, not persistent."""

from __future__ import annotations

import bisect
import sys
import threading
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidArgument, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import TableSchema
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import of_call
from webtable.store.health import Space
from webtable.store.port import Store
from webtable.store.rows import (
    MAX_CELL,
    MAX_ROW_KEY,
    Cell,
    Delete,
    Put,
    Region,
    Row,
    TableDescription,
    TimeRange,
    Wanted,
)
from webtable.store.url import DEFAULT_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.schema import FamilySchema
    from webtable.store.rows import Mutation
    from webtable.store.url import StoreURL


# --- A table in memory: its cells, its deletes, and the cells that are visible ----------------------------------------


PIECE: Final = 256
"""How many rows are read at once."""
_CELL_OVERHEAD: Final = 23  # as HBase counts a cell; the colon, which it does not store, makes it 24
_LATEST: Final = 2**63 - 1  # to HBase this is "now"


@dataclass(slots=True)
class TableInMemory:
    """A table: `rows[key][column][timestamp]`, its keys in order, and what its deletes hide of each row.

    `hidden[key]` has timestamps by column, by family (`b"one:"`) and by `b""`, the whole row: cells at or below them
    are deleted. `exactly[key]` has the cells that were deleted at one timestamp alone.
    """

    schema: TableSchema
    rows: dict[bytes, dict[bytes, dict[int, bytes]]] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)
    hidden: defaultdict[bytes, dict[bytes, int]] = field(default_factory=lambda: defaultdict(dict))
    exactly: defaultdict[bytes, set[tuple[bytes, int]]] = field(default_factory=lambda: defaultdict(set))

    def family(self, column: bytes) -> FamilySchema:
        """Return the family of *column*; raises `StoreRefused` if it does not exist."""
        name, colon, _ = column.partition(b":")
        if colon:
            for family in self.schema.families:
                if family.name.encode() == name:
                    return family
        raise StoreRefused(f"has no family {name.decode(errors='replace')!r}")

    def check(self, mutation: Mutation) -> None:
        """Raise `StoreRefused` if HBase would not accept *mutation*."""
        row = mutation.row
        if not 0 < len(row) <= MAX_ROW_KEY:
            raise StoreRefused(f"a row key of {len(row):,} bytes; it must have 1 to {MAX_ROW_KEY:,}")
        if isinstance(mutation, Delete):
            places = [(column, mutation.timestamp, b"") for column in mutation.columns or ()]
            if mutation.exact and not (places and all(column.partition(b":")[2] for column, _, _ in places)):
                raise StoreRefused(f"row {row[:80]!r}: an exact delete needs columns, each with a qualifier")
            _check_timestamp(row, mutation.timestamp)
        else:
            places = list(mutation.cells)
        for column, timestamp, value in places:
            self.family(column)
            _check_timestamp(row, timestamp)
            if (size := len(row) + len(column) + len(value) + _CELL_OVERHEAD) > MAX_CELL:
                raise StoreRefused(f"row {row[:80]!r}: {column!r}: a cell of {size:,} bytes; at most {MAX_CELL:,}")

    def put(self, put: Put) -> None:
        """Store the cells that no delete hides; of each column as many as its family keeps."""
        for column, timestamp, value in put.cells:
            if self._is_hidden(put.row, column, timestamp):
                continue
            if put.row not in self.rows:
                self.rows[put.row] = {}
                bisect.insort(self.keys, put.row)
            versions = self.rows[put.row].setdefault(column, {})
            versions[timestamp] = value
            if len(versions) > self.family(column).versions:
                del versions[min(versions)]

    def delete(self, delete: Delete) -> None:
        """Record the delete, and remove the cells that it hides."""
        if delete.exact:
            self.exactly[delete.row].update((column, delete.timestamp) for column in delete.columns or ())
        else:
            hidden = self.hidden[delete.row]
            for scope in [b""] if delete.columns is None else delete.columns:
                hidden[scope] = max(hidden.get(scope, 0), delete.timestamp)
        columns = self.rows.get(delete.row, {})
        for column, versions in list(columns.items()):
            for timestamp in [at for at in versions if self._is_hidden(delete.row, column, at)]:
                del versions[timestamp]

    def _is_hidden(self, row: bytes, column: bytes, timestamp: int) -> bool:
        hidden = self.hidden.get(row, {})
        scopes = (b"", column[: column.index(b":") + 1], column)
        if any(timestamp <= hidden.get(scope, -1) for scope in scopes):
            return True
        return (column, timestamp) in self.exactly.get(row, ())

    def row(self, key: bytes, wanted: Wanted) -> Row | None:
        """Return the visible cells of the row; None if there are none, or if it lacks words that it must contain."""
        columns = wanted.columns
        cells: dict[bytes, Sequence[Cell]] = {}
        for column in self.rows.get(key, ()):
            is_wanted = columns is None or column in columns or column[: column.index(b":") + 1] in columns
            versions = self.versions(key, column, wanted.time_range)[: wanted.versions] if is_wanted else []
            if versions:
                cells[column] = versions
        if not cells:
            return None
        if words := wanted.containing:
            newest = self.versions(key, words.column, wanted.time_range)
            if not newest or not words.holds(newest[0].value):
                return None
        return Row(key, {} if wanted.keys_only else cells)

    def versions(self, key: bytes, column: bytes, times: TimeRange | None = None) -> list[Cell]:
        """Return the cells of a column that are visible, the newest first."""
        found = self.rows.get(key, {}).get(column, {})
        family, (since, until) = self.family(column), times or TimeRange()
        oldest = 0 if family.ttl is None else clock.milliseconds() - family.ttl * 1000
        newest = sorted(found, reverse=True)[: family.versions]
        alive = [at for place, at in enumerate(newest) if at >= oldest or place < family.min_versions]
        return [Cell(at, found[at]) for at in alive if since <= at < until]

    def value_bytes(self) -> int:
        """Return the bytes of all values."""
        return sum(len(one) for row in self.rows.values() for cells in row.values() for one in cells.values())

    def keys_in(self, keys: KeyRange, *, reverse: bool) -> list[bytes]:
        """Return the keys of the first rows of a range; fewer than fit into a piece are all there are."""
        first = bisect.bisect_left(self.keys, keys.start)
        stop = bisect.bisect_left(self.keys, keys.stop) if keys.stop else len(self.keys)
        if reverse:
            return self.keys[max(first, stop - PIECE) : stop][::-1]
        return self.keys[first : min(stop, first + PIECE)]


def _check_timestamp(row: bytes, timestamp: int) -> None:
    if not 0 <= timestamp < _LATEST:
        raise StoreRefused(f"row {row[:80]!r}: timestamp {timestamp} must be from 0 to 2**63 - 2")


# ----------------------------------------------------------------------------------------------------------------------


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

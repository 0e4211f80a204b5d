"""Records: the rows of a keyed table, as they are read; and how a column is named."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from webtable import errors
from webtable._checksums import UNREADABLE
from webtable._clock import moment_of
from webtable.repository.answers.columns import column, declared
from webtable.repository.keyed_table.columns import RecordColumns
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.reading.scan import in_key_order, in_storage_order, remaining
from webtable.rowkey import MAX_KEY, HashedKey, KeyRange, RowKey
from webtable.rowkey.fields.field import shown
from webtable.store.metrics import Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webtable.repository.reading.scan import ScanSpec
    from webtable.schema import FamilySchema, TypedColumn
    from webtable.store import Row, Store


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table: the newest value of each of its columns.

    `values` are the fields of its `key`, as `RowKey.decode` returns them. A `HashedKey` cannot be decoded: then they
    are the arguments of a `get`, and empty in a scan. `cells` has the values of typed columns by their names, in Python
    types, and the bytes of all others by `family:qualifier`. `timestamp` is that of the newest cell, in UTC. A
    qualifier that is not UTF-8 has surrogates in place of its bytes (`surrogateescape`), and can be requested by that
    name.
    """

    values: dict[str, Any]
    cells: dict[str, Any]
    key: bytes
    timestamp: datetime


RECORDS = declared(Record, "record", column("key", "body"), column("timestamp", "time"), column("cells", "cells"))


class RecordVersion(NamedTuple):
    """An older value of a column, or the newest: its timestamp, in UTC, and the value, which is bytes if untyped."""

    timestamp: datetime
    value: Any


# --- Names of columns -------------------------------------------------------------------------------------------------


def stored_column(
    column: str, families: Mapping[str, FamilySchema], columns: RecordColumns
) -> tuple[bytes, FamilySchema]:
    """Return a *column* as it is stored, with its family; raises `UnknownColumn` and `InvalidArgument`."""
    stored = column_bytes(column, columns)
    return stored, check_family(column, families)


def column_bytes(column: str, columns: RecordColumns) -> bytes:
    """Return a typed *column*, `family:qualifier` or `family:` as it is stored; the family may be missing."""
    if isinstance(column, str) and ":" not in column and columns.typed:
        return columns[column].cell
    return _cell_name(column)


def cell_name(column: str, families: Mapping[str, FamilySchema]) -> bytes:
    """Return the *column* `family:qualifier`, or `family:`, as it is stored in a table with these *families*.

    Raises `InvalidArgument` for another name, and `UnknownColumn` for a family that is not there.
    """
    stored = _cell_name(column)
    check_family(column, families)
    return stored


def _cell_name(column: str) -> bytes:
    name, colon, _ = column.partition(":") if isinstance(column, str) else ("", "", "")
    if not name or not colon:
        raise errors.InvalidArgument(f"column={column!r} must be named 'family:qualifier'")
    try:
        return column.encode(errors="surrogateescape")
    except UnicodeEncodeError as exc:
        raise errors.InvalidArgument(f"column={column!r} has half of a surrogate pair") from exc


def check_family(column: str, families: Mapping[str, FamilySchema]) -> FamilySchema:
    """Return the family of *column*; raises `UnknownColumn` if it is not one of *families*."""
    name = column.partition(":")[0]
    if name not in families:
        raise errors.UnknownColumn(
            f"column={column!r}: there is no family {name!r}; the table has {', '.join(families)}"
        )
    return families[name]


# --- Reading ----------------------------------------------------------------------------------------------------------


def named(fields: Mapping[str, Any]) -> str:
    """Return *fields* for a message."""
    return ", ".join(f"{name}={shown(value)}" for name, value in fields.items())


def newest(row: Row) -> int:
    """Return the timestamp of the newest cell of *row*."""
    return max(versions[0].timestamp for versions in row.cells.values())


# Other programs write such tables too: a row with another key is none of these, and no error.
class RecordReader:
    """Reads the rows of one table; damaged rows are skipped, or with *strict* the first one is raised."""

    def __init__(
        self, store: Store, table: str, key: RowKey, columns: Sequence[TypedColumn] = (), *, strict: bool
    ) -> None:
        self.strict = strict
        self.columns: Final = RecordColumns(key, columns)
        self.counts: Final = Counts()
        self.store: Final = store
        self.table: Final = table
        self.key: Final = key
        # A key of any bytes shows how many its salt takes.
        self._salt_width = MAX_KEY - len(key.unsalted(bytes(MAX_KEY)))

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    @cached_property
    def families(self) -> dict[str, FamilySchema]:
        """The families of the table, as they were when they were first needed."""
        return {family.name: family for family in self.store.describe(self.table).schema.families}

    def stored_column(self, name: str) -> bytes:
        """Return the column *name* as it is stored: a typed one, `family:qualifier` or `family:`.

        Raises `UnknownColumn` for another name, and for a family that the table does not have; `InvalidArgument`.
        """
        return self.columns.cell_of(name) or stored_column(name, self.families, self.columns)[0]

    def damage(self, rows: list[errors.DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, for one answer."""
        return Damage(self.counts, rows, strict=self.strict)

    def record(self, row: Row, requested: Mapping[str, Any]) -> Record:
        """Return *row* as a record; its values are those *requested* for if its key cannot be decoded.

        Raises `DamagedRow` if its key or a typed cell is invalid, or its date is after the year 9999.
        """
        try:
            values = dict(requested) if isinstance(self.key, HashedKey) else self.key.decode(row.key)
            return Record(values, self.columns.decoded(row.cells), row.key, moment_of(newest(row)))
        except UNREADABLE as exc:
            raise errors.DamagedRow(row.key, None, str(exc)) from exc

    def values(self, row: Row) -> dict[str, Any] | errors.DamagedRow:
        """Return the values of the key of *row*, or what is wrong with it; those of a hash are unknown."""
        try:
            return {} if isinstance(self.key, HashedKey) else self.key.decode(row.key)
        except UNREADABLE as exc:
            return errors.DamagedRow(row.key, None, str(exc))

    def scan(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[Record]:
        """Yield the rows of *spec* after the row key *after*; with a limit, that many readable ones."""
        remaining_limit = spec.limit
        while remaining_limit != 0:
            count = yielded = 0
            last = b""
            for row in self._rows(replace(spec, limit=remaining_limit), after):
                count, last = count + 1, row.key
                for record in damage.sift([self._each(row)]):
                    yielded += 1
                    yield record
            if remaining_limit is None or count < remaining_limit:
                return
            # The limit of the store counts unreadable rows as well.
            remaining_limit, after = remaining_limit - yielded, last

    def stored(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[Record]:
        """Yield the rows of *spec* after the row key *after*, in the order of their keys with their salts."""
        return damage.sift(map(self._each, in_storage_order(self.store, spec, after)))

    def heads(self, ranges: Sequence[KeyRange], *, backwards: bool) -> Iterator[tuple[KeyRange, Row]]:
        """Yield the first readable row of each range (the last, *backwards*), with its range."""
        damage = self.damage([])
        last = (list(self.store.scan(self.table, [keys], limit=1, reverse=True)) for keys in ranges)
        heads: Iterable[list[Row]] = last if backwards else self.store.first_rows(self.table, ranges, 1)
        for keys, rows in zip(ranges, heads, strict=True):
            for row in rows:
                if self._is_readable(row, damage):
                    yield keys, row
                    continue
                rest = keys.before(row.key) if backwards else keys.after(row.key)
                further = self.store.scan(self.table, [rest], reverse=backwards) if not rest.is_empty() else iter(())
                readable = next(
                    (further_row for further_row in further if self._is_readable(further_row, damage)), None
                )
                if readable is not None:
                    yield keys, readable

    def check_place(self, after: bytes) -> None:
        """Raise `InvalidToken` if *after* cannot be the key of a row, and `InvalidArgument` if it is not bytes."""
        if not isinstance(after, bytes) or not after:
            raise errors.InvalidArgument(f"after={after!r} must be the key of a record")
        if isinstance(self.key, HashedKey):
            return
        try:
            self.key.decode(after)
        except UNREADABLE as exc:
            raise errors.InvalidToken(f"after={after[:200]!r} is not the key of a row: {exc}") from exc

    def _rows(self, spec: ScanSpec, after: bytes | None) -> Iterator[Row]:
        unsalted, ranges = self.key.unsalted, spec.ranges
        if len(ranges) == 1 or any(len(keys.start) < self._salt_width for keys in ranges):
            return in_storage_order(self.store, spec, after)
        if after is not None:
            ranges = [remaining(keys, after, unsalted, reverse=spec.reverse) for keys in ranges]
        return in_key_order(self.store, replace(spec, ranges=ranges), unsalted, None, None)

    def _each(self, row: Row) -> Record | errors.DamagedRow:
        try:
            return self.record(row, {})
        except errors.DamagedRow as exc:
            return exc

    def _is_readable(self, row: Row, damage: Damage) -> bool:
        return any(True for _ in damage.sift([self._each(row)]))

"""Records: rows as they are read, and the reader of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from webtable._checksums import UNREADABLE
from webtable._clock import moment_of
from webtable.errors import (
    DamagedRow,
    InvalidArgument,
    InvalidToken,
    WebTableError,
    WriteFailed,
)
from webtable.repository.answers.columns import column, declared
from webtable.repository.reading.damage import Damage
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order, remaining
from webtable.rowkey import MAX_KEY, HashedKey, KeyRange, RowKey
from webtable.rowkey.fields.field import shown
from webtable.store.metrics import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webtable.repository.answers.results import Partition
    from webtable.store import Row, Store


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table: the newest value of each of its columns, which are named `family:qualifier`.

    `values` are the fields of its `key`, as `RowKey.decode` returns them. A `HashedKey` cannot be decoded: then they
    are the arguments of a `get`, and empty in a scan. `timestamp` is that of the newest cell, in UTC. A qualifier that
    is not UTF-8 has surrogates in place of its bytes (`surrogateescape`), and can be requested by that name.
    """

    values: dict[str, Any]
    cells: dict[str, bytes]
    key: bytes
    timestamp: datetime


RECORDS = declared(
    Record,
    "record",
    column("key", "body"),
    column("timestamp", "time"),
    column("cells", "cells"),
)


class RecordOutcome(NamedTuple):
    """The outcome of a row that was put: the values of its key, and the error if it was not stored."""

    values: Mapping[str, Any]
    error: WebTableError | None


def not_stored(table: str, failures: Sequence[RecordOutcome]) -> WriteFailed:
    """Return the error that names the rows that were not stored in *table*."""
    reasons = "; ".join(f"{named(failure.values)}: {failure.error}" for failure in failures[:3])
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    count = f"{len(failures):,} row{'s'[: len(failures) > 1]}"
    return WriteFailed(f"{table}: {count} not stored: {reasons}{more}", failures)


def named(fields: Mapping[str, Any]) -> str:
    """Return *fields* for a message."""
    return ", ".join(f"{name}={shown(value)}" for name, value in fields.items())


def record_of(row: Row, values: dict[str, Any]) -> Record:
    """Return *row* as a record with these *values*."""
    cells = {column.decode(errors="surrogateescape"): versions[0].value for column, versions in row.cells.items()}
    return Record(values, cells, row.key, moment_of(newest(row)))


def newest(row: Row) -> int:
    """Return the timestamp of the newest cell of *row*."""
    return max(versions[0].timestamp for versions in row.cells.values())


class Records(Iterator[Record]):
    """The rows of a scan; `damaged` has the first 100 that could not be read."""

    def __init__(
        self,
        records: Iterator[Record],
        damaged: list[DamagedRow],
        divided: Callable[[int], list[Partition[Record]]],
    ) -> None:
        self._records = records
        self.damaged = damaged
        self._divided = divided

    def partitions(self, n: int) -> list[Partition[Record]]:
        """Return the rows of the scan in *n* parts, as values that other processes can read.

        They are of about the same number of rows, and have all of them, whether some were taken here already. Each
        yields its records by `pages()`, in the order of the store, and has them in Arrow with the columns `key`,
        `timestamp` and `cells`. Up to some 50,000 row keys are read for this. Raises `InvalidArgument` for a scan with
        a limit, a place to begin after, or in reverse; also for a store that no other process can open.
        """
        return self._divided(n)

    def __next__(self) -> Record:
        return next(self._records)


class RecordReader:
    """Reads the rows of one table; damaged rows are skipped, or with *strict* the first one is raised."""

    def __init__(self, store: Store, table: str, key: RowKey, *, strict: bool) -> None:
        self.strict = strict
        self.counts: Final = Tally()
        self.store: Final = store
        self.table: Final = table
        self.key: Final = key
        self._salt_width = MAX_KEY - len(key.unsalted(bytes(MAX_KEY)))

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return f"{self.store.name}/{self.table}"

    def damage(self, rows: list[DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, for one answer."""
        return Damage(self.counts, rows, strict=self.strict)

    def record(self, row: Row, asked: Mapping[str, Any]) -> Record:
        """Return *row* as a record; its values are those *asked* for if its key cannot be decoded.

        Raises `DamagedRow` if its key is invalid, or its date is after the year 9999.
        """
        try:
            values = dict(asked) if isinstance(self.key, HashedKey) else self.key.decode(row.key)
            return record_of(row, values)
        except UNREADABLE as exc:
            raise DamagedRow(row.key, None, str(exc)) from exc

    def scan(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[Record]:
        """Yield the rows of *spec* after the row key *after*; with a limit, that many readable ones."""
        left = spec.limit
        while left != 0:
            count = given = 0
            last = b""
            for row in self._rows(replace(spec, limit=left), after):
                count, last = count + 1, row.key
                for record in damage.sift([self._each(row)]):
                    given += 1
                    yield record
            if left is None or count < left:
                return
            # The limit of the store counts unreadable rows as well.
            left, after = left - given, last

    def stored(self, spec: ScanSpec, after: bytes | None, damage: Damage) -> Iterator[Record]:
        """Yield the rows of *spec* after the row key *after*, in the order of their keys with their salts."""
        return damage.sift(map(self._each, in_storage_order(self.store, spec, after)))

    def heads(self, ranges: Sequence[KeyRange], *, backwards: bool) -> Iterator[tuple[KeyRange, Row]]:
        """Yield the first readable row of each range (the last, *backwards*), with its range."""
        damage = self.damage([])
        last = (list(self.store.scan(self.table, [keys], limit=1, reverse=True)) for keys in ranges)
        found: Iterable[list[Row]] = last if backwards else self.store.first_rows(self.table, ranges, 1)
        for keys, rows in zip(ranges, found, strict=True):
            for row in rows:
                if self._is_readable(row, damage):
                    yield keys, row
                    continue
                rest = keys.before(row.key) if backwards else keys.after(row.key)
                further = self.store.scan(self.table, [rest], reverse=backwards) if not rest.is_empty() else iter(())
                readable = next((one for one in further if self._is_readable(one, damage)), None)
                if readable is not None:
                    yield keys, readable

    def check_place(self, after: bytes) -> None:
        """Raise `InvalidToken` if *after* cannot be the key of a row, and `InvalidArgument` if it is not bytes."""
        if not isinstance(after, bytes) or not after:
            raise InvalidArgument(f"after={after!r} must be the key of a record")
        if isinstance(self.key, HashedKey):
            return
        try:
            self.key.decode(after)
        except UNREADABLE as exc:
            raise InvalidToken(f"after={after[:200]!r} is not the key of a row: {exc}") from exc

    def _rows(self, spec: ScanSpec, after: bytes | None) -> Iterator[Row]:
        unsalted, ranges = self.key.unsalted, spec.ranges
        if len(ranges) == 1 or any(len(keys.start) < self._salt_width for keys in ranges):
            return in_storage_order(self.store, spec, after)
        if after is not None:
            ranges = [remaining(keys, after, unsalted, reverse=spec.reverse) for keys in ranges]
        return in_key_order(self.store, replace(spec, ranges=ranges), unsalted, None, None)

    def _each(self, row: Row) -> Record | DamagedRow:
        try:
            return self.record(row, {})
        except DamagedRow as exc:
            return exc

    def _is_readable(self, row: Row, damage: Damage) -> bool:
        return any(True for _ in damage.sift([self._each(row)]))

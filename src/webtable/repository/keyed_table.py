"""KeyedTable: rows under any declared row key; values and cells in, records out, and scans in parts."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as replace_schema
from datetime import datetime
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from msgspec.structs import replace

from webtable import errors
from webtable._checksums import UNREADABLE
from webtable._clock import clock, milliseconds, moment_of, now_in_milliseconds
from webtable._process_hooks import renew_after_fork
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.results import Explanation, Partition, Question, Results, Window
from webtable.repository.answers.tokens import place_in
from webtable.repository.maintenance.create import (
    bring,
    create_with_layout,
    layout_cells,
    store_layout,
    stored_layout,
)
from webtable.repository.metrics import Metrics, metrics_of
from webtable.repository.page_storage.cells import later_removed
from webtable.repository.partitions.processes import address_of
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.reading.samples import all_keys, check_number, cut_at, mean_bytes, spaced
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order, remaining
from webtable.repository.reading.scope import AllPages, is_small
from webtable.repository.record_columns import RecordColumns, checked_columns
from webtable.rowkey import MAX_KEY, HashedKey, KeyRange, RowKey
from webtable.rowkey.fields.field import is_open, shown
from webtable.rowkey.ranges import clipped
from webtable.schema import ALL_VERSIONS, LAYOUT_COLUMN, FamilySchema, KeyLayout, TableSchema, TypedColumn, meta_table
from webtable.store import Delete, NewCell, Put, Row, Store, open_store, table_of
from webtable.store.metrics import Counts
from webtable.store.observed import observed
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from webtable.repository.answers.arrow_pages import ArrowStream


# --- Records ----------------------------------------------------------------------------------------------------------


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


class RecordOutcome(NamedTuple):
    """The outcome of a row that was put: the values of its key, and the error if it was not stored."""

    values: Mapping[str, Any]
    error: errors.WebTableError | None


def not_stored(table: str, failures: Sequence[RecordOutcome]) -> errors.WriteFailed:
    """Return the error that names the rows that were not stored in *table*."""
    reasons = "; ".join(f"{named(failure.values)}: {failure.error}" for failure in failures[:3])
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    count = f"{len(failures):,} row{'s'[: len(failures) > 1]}"
    return errors.WriteFailed(f"{table}: {count} not stored: {reasons}{more}", failures)


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
        return self.columns.cell_of(name) or _stored(name, self.families, self.columns)[0]

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


# --- Scans ------------------------------------------------------------------------------------------------------------
#
# A scan is a question; each of its parts is one too, which is read by another process.


class RequestedScan(NamedTuple):
    """A scan as it was asked for: conditions on fields, the columns as they are stored, and conditions on columns."""

    fields: Mapping[str, Any]
    columns: Sequence[bytes] | None = None
    where: Mapping[str, Any] = {}

    @property
    def title(self) -> str:
        """The question in words."""
        fields = f"records with {named(self.fields)}" if self.fields else "all records"
        return f"{fields} where {named(self.where)}" if self.where else fields

    def read(self, reader: RecordReader) -> Sequence[bytes] | None:
        """The columns that are read: those of conditions too."""
        if self.columns is None:
            return None
        return [*self.columns, *(reader.columns[name].cell for name in self.where)]

    def spec(self, reader: RecordReader) -> ScanSpec:
        """The scan of the rows in the table of *reader*; raises `NoRange`, `FieldError` and `UnknownField`."""
        ranges = reader.key.ranges(**self.fields) if self.fields else [KeyRange()]
        return ScanSpec(reader.table, ranges, Wanted(self.read(reader)))

    def is_filtered(self, key: RowKey) -> bool:
        """Whether the ranges can have rows that do not meet the conditions, so that the store cannot count."""
        return bool(self.where) or key.are_wide(self.fields)

    def meeting(self, key: RowKey, records: Iterator[Record]) -> Iterator[Record]:
        """Yield those of *records* that meet the conditions."""
        if not self.is_filtered(key):
            return records
        is_wide, meet = key.are_wide(self.fields), RecordColumns.meet
        return (
            record
            for record in records
            if meet(record.cells, self.where) and (not is_wide or key.meets(record.values, self.fields))
        )


class _ScanQuestion(Question[Record]):
    """Which records a scan has, in the order of their keys, or those of one *part* in the order of the store."""

    def __init__(
        self, reader: RecordReader, scan: RequestedScan, *, part: KeyRange | None = None, reverse: bool = False
    ) -> None:
        self.title = scan.title
        self.columns = reader.columns.in_frames(scan.read(reader))
        self.window = Window("storage" if part is not None else "reverse key" if reverse else "key")
        self._reader, self._scan, self._is_part = reader, scan, part is not None
        whole = replace(scan.spec(reader), reverse=reverse)
        self._spec = whole if part is None else replace(whole, ranges=clipped(whole.ranges, part))

    def damage(self, rows: list[errors.DamagedRow]) -> Damage:
        return self._reader.damage(rows)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Record]:
        reader, key = self._reader, self._reader.key
        for name in self._scan.columns or ():
            _check_family(name.decode(errors="replace"), reader.families)
        if self._is_part:
            return self._scan.meeting(key, reader.stored(self._spec, after, damage))
        limit = None if self._scan.is_filtered(key) else expected
        return self._scan.meeting(key, reader.scan(replace(self._spec, limit=limit), after, damage))

    def place(self, result: Record) -> bytes:
        return result.key

    def explain(self) -> Explanation:
        columns = tuple(column.decode(errors="replace") for column in self._scan.read(self._reader) or ())
        return Explanation(self.title, self.window.order, columns, tuple(self._spec.ranges))


class KeyedFingerprint(NamedTuple):
    """What a part of a scan expects of its table: key, stored layout, columns, and whether damage is an error."""

    key: RowKey
    layout: bytes | None
    columns: tuple[TypedColumn, ...]
    is_strict: bool

    @classmethod
    def of(cls, reader: RecordReader) -> Self:
        """The fingerprint of the table of *reader*."""
        return cls(reader.key, stored_layout(reader.store, reader.table), reader.columns.typed, reader.strict)


@dataclass(frozen=True, slots=True)
class _Divided:
    """How the *scan* of the rows of *reader* is divided."""

    reader: RecordReader
    scan: RequestedScan
    reverse: bool

    @property
    def takes_columns(self) -> bool:
        """No: what was not read is no column of the answer."""
        return False

    def again(self, **options: Any) -> Results[Record]:
        """Never called, as it takes no columns."""
        raise NotImplementedError(options)

    def partitions(self, n: int) -> list[Partition[Record]]:
        """Return the scan in *n* parts; raises `InvalidArgument` in reverse."""
        check_number(n)
        if self.reverse:
            raise errors.InvalidArgument("partitions: a scan with reverse= cannot be divided: ask without it")
        reader, store, spec = self.reader, self.reader.store, self.scan.spec(self.reader)
        keys = replace(spec, wanted=replace(spec.wanted, keys_only=True))
        sample = all_keys(store, keys) or spaced(store, keys, n)
        address, expected = address_of(store, reader.name), KeyedFingerprint.of(reader)
        row_bytes = mean_bytes(store.read(reader.table, sample.spread(), spec.wanted)) if sample.rows else 0
        return [
            Partition(
                question=self.scan.title,
                store=address,
                table=reader.table,
                keys=part.keys,
                rows=part.rows,
                bytes=part.bytes,
                ask=_records,
                arguments=(self.scan,),
                options={},
                fingerprint=expected,
                opened=_opened,
            )
            for part in cut_at(sample, n, row_bytes)
        ]


@contextmanager
def _opened(part: Partition[Record]) -> Iterator[Results[Record]]:
    # Another process: the declaration tells whether the table is still the one that was divided.
    key, layout, columns, is_strict = cast("KeyedFingerprint", part.fingerprint)
    store, table = open_store(part.store)
    with store:
        reader = RecordReader(observed(store), table, key, columns, strict=is_strict)
        stored = stored_layout(store, table)
        if stored is None and layout is not None:
            raise errors.TableNotFound(f"{reader.name} is no keyed table any more: ask for partitions again")
        if stored != layout:
            raise errors.LayoutMismatch(f"{reader.name} was created anew, with other keys: ask for partitions again")
        yield part.ask(reader, part, *part.arguments)


def _records(reader: RecordReader, part: Partition[Record], scan: RequestedScan) -> Results[Record]:
    return _ScanQuestion(reader, scan, part=part.keys).answer()


# --- Rows to be put ---------------------------------------------------------------------------------------------------


_CELL_OVERHEAD = 24
_OPTIONS_OF_SCAN = frozenset({"columns", "where", "limit", "reverse", "after"})


def check_key(key: object) -> None:
    """Raise `InvalidArgument` unless *key* is a row key whose fields can be asked for in a scan."""
    if not isinstance(key, RowKey):
        raise errors.InvalidArgument(
            f"key={key!r} must be a CompositeKey or a HashedKey (of a WebKey take its `parts`)"
        )
    if taken := _OPTIONS_OF_SCAN.intersection(key.names):
        raise errors.InvalidArgument(f"field {min(taken)!r} has the name of an option of KeyedTable.scan; rename it")


def families_of(families: Sequence[str | FamilySchema]) -> tuple[FamilySchema, ...]:
    """Return the families of a new table, given as schemas or names; raises `InvalidArgument` if not in a list."""
    if isinstance(families, str | FamilySchema):
        raise errors.InvalidArgument(f"families={families!r} must be a list, as in ['d']")
    return tuple(FamilySchema(family) if isinstance(family, str) else family for family in families)


NewRow = tuple[Mapping[str, Any], Mapping[str, Any]] | tuple[Mapping[str, Any], Mapping[str, Any], datetime | None]
"""The values of a row's key, its cells, and its timestamp if it has one of its own."""


def checked_row(row: object, columns: RecordColumns) -> tuple[Mapping[str, Any], Mapping[str, Any], datetime | None]:
    """Return the values of a row's key, its cells, and its timestamp if it has one of its own.

    Raises `InvalidArgument` for anything but such a tuple, or a mapping of names to the values of both.
    """
    # A mapping last: to find out whether something is one takes long.
    if isinstance(row, tuple | list) and len(row) in (2, 3):
        return row[0], row[1], row[2] if len(row) == 3 else None
    if isinstance(row, Mapping):
        return columns.row(row)
    raise errors.InvalidArgument(f"rows: {shown(row)} must be a pair of values and cells")


def new_cells(row: bytes, cells: Mapping[str, Any], timestamp: int, reader: RecordReader) -> list[NewCell]:
    """Return *cells* as they are to be written to *row*.

    Raises `InvalidArgument` for an empty mapping, a name that is no typed column nor `family:qualifier`, and a value of
    another type; `UnknownColumn` for a family that the table does not have, `CellTooLarge`, and `ExpiredCapture` for a
    *timestamp* that the family no longer keeps.
    """
    if not isinstance(cells, Mapping) or not cells:
        raise errors.InvalidArgument(f"cells={cells!r} must be one or more values by column, as in {{'d:value': b'1'}}")
    made = []
    max_cell = reader.store.capabilities.max_cell
    for name, value in reader.columns.encoded(cells).items():
        column, family = _stored(name, reader.families, reader.columns)
        if column.endswith(b":") and column.count(b":") == 1:
            raise errors.InvalidArgument(f"column={name!r} must have a qualifier after its family, as in '{name}value'")
        if not isinstance(value, bytes):
            raise errors.InvalidArgument(f"cells[{name!r}] is {type(value).__name__}; it must be bytes")
        size = len(row) + len(column) + len(value) + _CELL_OVERHEAD
        if size > max_cell:
            raise errors.CellTooLarge(
                f"cells[{name!r}] makes a cell of {size:,} bytes; at most {max_cell:,} are stored"
            )
        if family.ttl is not None and timestamp < now_in_milliseconds() - family.ttl * 1000:
            raise errors.ExpiredCapture(
                f"timestamp={moment_of(timestamp)}: family {family.name!r} keeps its cells for {family.ttl:,} seconds"
            )
        made.append(NewCell(column, timestamp, value))
    return made


def _stored(column: str, families: Mapping[str, FamilySchema], columns: RecordColumns) -> tuple[bytes, FamilySchema]:
    stored = _column_bytes(column, columns)
    return stored, _check_family(column, families)


def _column_bytes(column: str, columns: RecordColumns) -> bytes:
    """Return a typed *column*, `family:qualifier` or `family:` as it is stored; the family may be missing."""
    if isinstance(column, str) and ":" not in column and columns.typed:
        return columns[column].cell
    return _cell_name(column)


def cell_name(column: str, families: Mapping[str, FamilySchema]) -> bytes:
    """Return the *column* `family:qualifier`, or `family:`, as it is stored in a table with these *families*.

    Raises `InvalidArgument` for another name, and `UnknownColumn` for a family that is not there.
    """
    stored = _cell_name(column)
    _check_family(column, families)
    return stored


def _cell_name(column: str) -> bytes:
    name, colon, _ = column.partition(":") if isinstance(column, str) else ("", "", "")
    if not name or not colon:
        raise errors.InvalidArgument(f"column={column!r} must be named 'family:qualifier'")
    try:
        return column.encode(errors="surrogateescape")
    except UnicodeEncodeError as exc:
        raise errors.InvalidArgument(f"column={column!r} has half of a surrogate pair") from exc


def _check_family(column: str, families: Mapping[str, FamilySchema]) -> FamilySchema:
    name = column.partition(":")[0]
    if name not in families:
        raise errors.UnknownColumn(
            f"column={column!r}: there is no family {name!r}; the table has {', '.join(families)}"
        )
    return families[name]


def written(store: Store, table: str, puts: Sequence[Put], dated: Sequence[bool]) -> list[errors.WebTableError | None]:
    """Store *puts*, and return the outcome of each; `HiddenByDelete` for hidden ones of those that are *dated*.

    A store accepts what an earlier delete hides, and the newest cells of a column are older then. The time of the clock
    is later than that of deletes.
    """
    outcomes: list[errors.WebTableError | None] = [*store.write(table, puts)]
    places = [place for place, is_dated in enumerate(dated) if is_dated and outcomes[place] is None]
    if not places:
        return outcomes
    columns = sorted({cell.column for place in places for cell in puts[place].cells})
    earliest = min(puts[place].cells[0].timestamp for place in places)
    rows = store.read(table, [puts[place].row for place in places], Wanted(columns, time_range=TimeRange(earliest)))
    for place, row in zip(places, rows, strict=True):
        if row is None or any(_newest_of(row, cell.column) < cell.timestamp for cell in puts[place].cells):
            at = moment_of(puts[place].cells[0].timestamp)
            outcomes[place] = errors.HiddenByDelete(f"a delete hides cells of {at}; give a later timestamp")
    return outcomes


def _newest_of(row: Row, column: bytes) -> int:
    return row.cells[column][0].timestamp if column in row.cells else -1


MOST_REMEMBERED = 10_000
"""For how many rows a clock remembers the last timestamp."""


# With a random salt a row may be in several places, and its newest cells tell which holds: two puts in one millisecond
# must differ.
class Clock:
    """Returns timestamps that grow with every put of a row, however many puts there are in a millisecond.

    The timestamps of the last `MOST_REMEMBERED` rows are in memory. A row that was forgotten gets a later timestamp
    than all forgotten rows had, so that its timestamps grow even if the clock of the machine was set back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: dict[bytes, int] = {}
        self._forgotten = -1
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make a new lock."""
        self._lock = threading.Lock()

    def now(self, row: bytes) -> int:
        """Return the present moment in epoch milliseconds, or one more than the last timestamp of *row*."""
        with self._lock:
            if len(self._given) >= MOST_REMEMBERED:
                self._forget()
            moment = max(now_in_milliseconds(), self._forgotten + 1, self._given.get(row, -1) + 1)
            self._given[row] = moment
            return moment

    def _forget(self) -> None:
        """Forget the half of the rows with the lowest timestamps."""
        in_order = sorted(self._given.items(), key=itemgetter(1))
        half = len(in_order) // 2
        self._forgotten = max(self._forgotten, in_order[half - 1][1])
        self._given = dict(in_order[half:])


def timestamp_of(moment: datetime) -> int:
    """Return *moment* as epoch milliseconds; raises `InvalidArgument` without a timezone, and before 1970."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise errors.InvalidArgument(
            f"timestamp={moment!r} must be a datetime with a timezone, as in datetime.now(UTC)"
        )
    timestamp = milliseconds(moment)
    if timestamp < 0:
        raise errors.InvalidArgument(f"timestamp={moment} must be from 1970 on")
    return timestamp


# --- The table --------------------------------------------------------------------------------------------------------


BATCH_ROWS = 500
"""How many rows are written at once."""
BATCH_BYTES = 8 * 2**20
"""How many bytes of values are written at once; at least one row."""
RecordOutcomeCallback = Callable[[RecordOutcome], object]
"""Called with the outcome of each row, in the thread that sends it."""


class RecordWriter:
    """Stores rows in batches; made by `KeyedTable.writer`.

    `put` takes a row, and sends the batch that it fills: 500 rows, or 8 MiB of values. `flush` and the end of the block
    send the rest, also after an exception; rows of a writer that is left open are lost, with a `ResourceWarning`. A row
    is stored once *on_outcome* got its `RecordOutcome` without an error, or `flush` has returned. Threads may share a
    writer: their calls are made one after another.
    """

    def __init__(self, reader: RecordReader, clock: Clock, on_outcome: RecordOutcomeCallback | None = None) -> None:
        self._reader = reader
        self._clock = clock
        self._on_outcome = on_outcome
        self.after_fork()
        self.stored: int = 0
        """How many rows are stored, so far."""
        self.failed: int = 0
        """How many rows were not stored, so far."""
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the rows that are not sent to the parent process."""
        self._lock = threading.RLock()  # *on_outcome* may put rows
        self._batch: list[tuple[Mapping[str, Any], Put, bool]] = []
        self._bytes = 0

    def put(self, values: Mapping[str, Any], cells: Mapping[str, Any], *, timestamp: datetime | None = None) -> None:
        """Take *cells* for the row of these *values*, with this *timestamp*, as `KeyedTable.put` does.

        Raises what that does for a row that the table cannot keep, and `WriteFailed` for rows of the batch that it
        sends; with *on_outcome* neither.
        """
        with self._lock:
            try:
                self._take(values, cells, timestamp)
            except errors.WebTableError as exc:
                if self._on_outcome is None:
                    raise
                self._report([RecordOutcome(values, exc)])
            if len(self._batch) >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
                self.flush()

    def put_many(
        self, rows: Iterable[NewRow | Mapping[str, Any]] | ArrowStream, *, timestamp: datetime | None = None
    ) -> None:
        """Take many rows, those without a timestamp with *timestamp*, as `KeyedTable.put_many` does.

        Raises what `put` does.
        """
        columns = self._reader.columns
        for row in columns.rows(rows):
            try:
                values, cells, own = checked_row(row, columns)
            except errors.WebTableError as exc:
                if self._on_outcome is None:
                    raise
                self._report([RecordOutcome(row if isinstance(row, Mapping) else {}, exc)])
            else:
                self.put(values, cells, timestamp=own or timestamp)

    def flush(self) -> None:
        """Store everything that was put; raises `WriteFailed` for rows that are not stored, each with its reason."""
        with self._lock:
            batch, self._batch, self._bytes = self._batch, [], 0
            if not batch:
                return
            puts, dated = [put for _, put, _ in batch], [is_dated for *_, is_dated in batch]
            results: Sequence[errors.WebTableError | None]
            try:
                results = written(self._reader.store, self._reader.table, puts, dated)
            except errors.WebTableError as exc:
                if self._on_outcome is None:
                    raise
                results = [exc] * len(batch)
            self._report([RecordOutcome(row[0], error) for row, error in zip(batch, results, strict=True)])

    close = flush

    def __del__(self) -> None:
        if batch := getattr(self, "_batch", None):
            warnings.warn(
                f"{self._reader.name}: a writer was left open, and {len(batch):,} of its rows are not stored. "
                "Open it in a with block, or close() it",
                ResourceWarning,
                stacklevel=1,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, values: Mapping[str, Any], cells: Mapping[str, Any], timestamp: datetime | None) -> None:
        if not isinstance(values, Mapping):
            raise errors.InvalidArgument(f"values={values!r} must be the values of the key's fields, by name")
        key = self._reader.key
        row = key.encode(**values)
        if timestamp is not None:
            moment = timestamp_of(timestamp)
        else:
            # With one salt the store itself knows which of two puts in a millisecond is the later one.
            moment = self._clock.now(key.unsalted(row)) if key.is_random else now_in_milliseconds()
        put = Put(row, new_cells(row, cells, moment, self._reader))
        self._batch.append((values, put, timestamp is not None))
        self._bytes += sum(len(cell.value) for cell in put.cells)

    def _report(self, outcomes: Sequence[RecordOutcome]) -> None:
        failures = [outcome for outcome in outcomes if outcome.error is not None]
        self.stored += len(outcomes) - len(failures)
        self.failed += len(failures)
        if self._on_outcome is not None:
            for outcome in outcomes:
                self._on_outcome(outcome)
        elif failures:
            raise not_stored(self._reader.name, failures)


_REMEDY = "Change it in the HBase shell"
INCREMENT_TRIES = 100
"""How often `increment` tries again, after others have changed the counter."""
_SHOWN_VERSIONS = 100


class KeyedTable:
    """A table whose rows are found by the fields of their key; opened by `KeyedTable.open`.

    Many threads may use it at once. A table that other programs created is opened as `KeyedTable(store, table, key)`,
    without checking that its rows have such keys. Scans skip rows with other keys, or that cannot be read, and count
    them in `metrics.damaged`; with *strict* they raise `DamagedRow`. Raises `InvalidArgument` for a key with a field
    that has the name of an option of `scan`. *columns* are the typed columns of a table without a declaration.
    """

    def __init__(
        self, store: Store, table: str, key: RowKey, *, columns: Iterable[TypedColumn] = (), strict: bool = False
    ) -> None:
        check_key(key)
        self.store: Final = observed(store)
        self.table = table
        self.key = key
        self._clock = Clock()
        typed = checked_columns(columns)
        if unplaced := [column.name for column in typed if not column.family]:
            raise errors.InvalidArgument(f"column {unplaced[0]!r}: family= is needed for a table that is not declared")
        self._reader = RecordReader(self.store, table, key, typed, strict=strict)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        key: RowKey,
        *,
        families: Sequence[str | FamilySchema] = ("d",),
        columns: Iterable[TypedColumn] = (),
        create: bool = False,
        split_keys: Sequence[bytes] = (),
        strict: bool = False,
    ) -> Self:
        """Return the table at *url*, as `webtable.open` takes it, to be used in a `with` block.

        With *create* a missing table is created, with these *families* and *split_keys*, and the declaration of *key*
        and of the typed *columns* is stored with it; *columns* that an existing table lacks are added. So a process
        that opens it without them knows its columns. *strict* is that of `KeyedTable`. Raises `LayoutMismatch`, showing
        both, if it was created with another key, has another type for a column or is a web table, and
        `InvalidArgument` for a key with a lambda or a local function, which could not be compared.
        Raises `TableNotFound`, `NotAStore`, `StoreUnavailable`; with *create*, `SchemaDrift` for an existing table with
        other families.
        """
        check_key(key)
        # All before the store is opened, which may create a file.
        layout = KeyLayout.of(key)
        wanted = TableSchema(table_of(url), families_of(families), tuple(split_keys))
        requested = checked_columns(columns)
        typed = tuple(column.in_family(wanted.families[0].name) for column in requested)
        RecordColumns(key, typed)
        names = [family.name for family in wanted.families]
        if create and (elsewhere := [column for column in typed if column.family not in names]):
            raise errors.InvalidArgument(f"column {elsewhere[0]}: the families of the table are {', '.join(names)}")
        store, table = open_store(url, create=create)
        try:
            name = f"{store.name}/{table}"
            cells = layout_cells(store, table)
            was_there = LAYOUT_COLUMN in cells
            if create and not was_there:
                create_with_layout(store, wanted, layout.to_json(), apply=False, fix=_REMEDY, columns=typed)
                # Read again: another process may have created it meanwhile, and its declaration holds.
                cells = layout_cells(store, table)
            if LAYOUT_COLUMN not in cells:
                raise errors.TableNotFound(f"{name}: there is no such table; open(…, create=True) creates it")
            layout.check(name, cells[LAYOUT_COLUMN])
            if create and was_there:
                bring(store, wanted, apply=False, fix=_REMEDY)
            if create and (new := [cell for cell in (column.stored() for column in typed) if cell[0] not in cells]):
                store_layout(store, table, new)
                cells = layout_cells(store, table)
            stored = KeyLayout.columns_in(name, cells)
            _check_columns(name, stored, requested)
            opened = cls(store, table, key, columns=stored, strict=strict)
        except BaseException:
            store.close()
            raise
        return opened

    @property
    def columns(self) -> tuple[TypedColumn, ...]:
        """The typed columns of the table, by their names."""
        return self._reader.columns.typed

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._reader.name

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the metrics: the calls of the table, their errors, and the rows that scans have skipped."""
        return metrics_of(self.store, self._reader.counts.snapshot())

    def __repr__(self) -> str:
        return f"<KeyedTable {self.name} key={self.key.declaration}>"

    def writer(self, *, on_outcome: RecordOutcomeCallback | None = None) -> RecordWriter:
        """Return a writer of many rows, to be used in a `with` block.

        *on_outcome* is called with a `RecordOutcome` for every row, also for one that the table cannot keep, instead of
        the errors that the writer raises; those of a batch come in the order of their puts.
        """
        return RecordWriter(self._reader, self._clock, on_outcome)

    def put(self, values: Mapping[str, Any], cells: Mapping[str, Any], *, timestamp: datetime | None = None) -> None:
        """Store *cells* in the row of these *values*, and return when it is stored.

        They are given by the names of typed columns, with values of their types, or as bytes by `family:qualifier`. An
        existing cell is replaced, unless its timestamp is later; *timestamp* is by default the present moment. With
        a random salt the row may exist twice afterwards, and `get` finds the newer one (if two processes put it in the
        same millisecond, either). Raises, before anything is written, `InvalidArgument` for values that the key or a
        cell cannot hold (`FieldError`, `UnknownField`, `UnknownColumn`), `CellTooLarge`, `ExpiredCapture`; and
        `WriteFailed` for a row that could not be stored, or whose *timestamp* is before its delete (`HiddenByDelete`).
        """
        with self.writer() as writer:
            writer.put(values, cells, timestamp=timestamp)

    def put_many(
        self,
        rows: Iterable[NewRow | Mapping[str, Any]] | ArrowStream,
        *,
        timestamp: datetime | None = None,
        on_outcome: RecordOutcomeCallback | None = None,
    ) -> int:
        """Store rows in batches, and return the number of those that are stored, once all are.

        A row is a pair of values and cells, as `put` takes them, with its own timestamp as a third if it has one; or a
        mapping with the names of both, as `Results.to_dicts` returns it; or *rows* are a data frame with such columns.
        The other rows get the *timestamp*, which needs a time zone, or that of the store. For a row that the table
        cannot keep, raises what `put` does, once all rows before it are stored. Raises `WriteFailed` for the rows of a
        batch that could not be stored, each with its reason; the rows after that batch were not taken from *rows*.
        With *on_outcome* it raises neither, and all rows are taken: it is called for each, as by a `writer`.
        """
        with self.writer(on_outcome=on_outcome) as writer:
            writer.put_many(rows, timestamp=timestamp)
        return writer.stored

    def get(self, /, **fields: Any) -> Record | None:
        """Return the row with these values of all fields, or None; of several rows with random salts the newest.

        Raises `FieldError` for a missing or invalid value, `UnknownField`, and `DamagedRow` for a row that cannot be
        read.
        """
        candidates = self._candidates(fields)
        return self._reader.record(max(candidates, key=newest), fields) if candidates else None

    def delete(self, /, **fields: Any) -> bool:
        """Remove the row with these values of all fields, with any salt, and return whether there was one.

        Cells that are put later with a timestamp up to that of the removed row, or with that of one of its cells, stay
        hidden until the store's next major compaction, because a delete hides all older cells. Raises what `get` does.
        """
        candidates = self._candidates(fields)
        if not candidates:
            return False
        deletes = [Delete(row.key, self._hidden_until(row)) for row in candidates]
        for error in self.store.write(self.table, deletes):
            if error is not None:
                raise error
        if max(delete.timestamp for delete in deletes) == now_in_milliseconds():
            # The delete would hide a row that is put again in the same millisecond.
            clock.sleep(0.001)
        return True

    def _hidden_until(self, row: Row) -> int:
        """Remove the cells of *row* that are dated in the future, and return up to when a delete must hide the rest."""
        until = min(newest(row), now_in_milliseconds())
        if until < newest(row):
            _, until = later_removed(self.store, self.table, row, None, until)
        return until

    def scan(
        self,
        everything: AllPages | None = None,
        /,
        *,
        columns: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        reverse: bool = False,
        after: bytes | str | None = None,
        **fields: Any,
    ) -> Results[Record]:
        """Return the rows with these values of the leading fields, which meet a condition on the next, lazily.

        They come in the order of their keys without salts (`RowKey.unsalted`), in the opposite order with *reverse*, at
        most *limit* rows, and only those after the row with the key *after* in that order: with the `key` of the last
        record of a scan another one goes on, in another process too. *after* may be the token of a page of the same
        scan as well. *columns* (names of typed columns, `family:qualifier`, or `family:` for a whole family) are read;
        rows without any of them are skipped. If a field stores less than the given value (the date of a moment), it is
        compared with what it stores.

        *where* are values of typed columns, or the conditions `between` and `starting_with`, by their names: rows
        without such a value are read, and left out. These columns are read too.

        A scan without conditions on fields reads every row: on HBase, and of a file over 256 MiB, it needs a *limit*,
        which does not suffice with *where*, or `webtable.ALL` as *everything*, else it raises `FullScanNeeded`. The
        whole table comes in the order of its rows, salts included; with an open condition on a field after the salts
        (`time=between()`) it comes in the order without them. Rows with other keys, or that cannot be read, are
        skipped: the first 100 of them are in `damaged` of the result.

        Raises `NoRange`, with the reason, for conditions that the key cannot answer with ranges, `InvalidToken` if
        *after* cannot be the key of a row, and `FieldError`, `UnknownField`, `UnknownColumn`, `InvalidArgument`. Raises
        `UnknownColumn` for a family that the table does not have when it is read.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise errors.InvalidArgument(f"limit={limit!r} must be a number of rows from 0, or None for all")
        request = self._requested(fields, columns, where)
        # With conditions on columns a limit does not bound what is read.
        self._check_size(fields, is_permitted=everything is not None or (limit is not None and not where))
        question = _ScanQuestion(self._reader, request, reverse=reverse)
        is_token = isinstance(after, str) and after != ""
        place: Any = place_in(cast("str", after), question.title, question.window.order) if is_token else after
        if place is not None:
            self._reader.check_place(place)
        divided = _Divided(self._reader, request, reverse)
        return Results(question, question.window.order, limit, place, _again=divided)

    def count(
        self, everything: AllPages | None = None, /, *, where: Mapping[str, Any] | None = None, **fields: Any
    ) -> int:
        """Return how many rows a `scan` with the same arguments has, without reading values unless *where* needs them.

        *everything* is `webtable.ALL`, where a scan needs it too. Rows with other keys are not counted; those with a
        damaged value are, unless *where* reads it. Raises what `scan` does.
        """
        request = self._requested(fields, None, where)
        self._check_size(fields, is_permitted=everything is not None)
        reader, damage = self._reader, self._reader.damage([])
        if request.where:
            request = request._replace(columns=())
            return sum(1 for _ in _ScanQuestion(reader, request).rows(None, None, damage))
        spec = request.spec(reader)
        rows = in_storage_order(self.store, replace(spec, wanted=replace(spec.wanted, keys_only=True)), None)
        is_wide, meets = self.key.are_wide(fields), self.key.meets
        values = damage.sift(map(reader.values, rows))
        return sum(1 for row_values in values if not is_wide or meets(row_values, fields))

    def history(self, column: str, /, *, limit: int = _SHOWN_VERSIONS, **fields: Any) -> list[RecordVersion]:
        """Return the stored values of *column* in the row with these values of all fields, newest first.

        They are at most *limit* versions. How many are kept, and for how long, is up to the `versions` and `ttl` of its
        family. Raises what `get` does, `UnknownColumn`, `InvalidArgument`.
        """
        if type(limit) is not int or limit < 1:
            raise errors.InvalidArgument(f"limit={limit!r} must be a number of versions, 1 or more")
        stored = self._reader.stored_column(column)
        rows = self.store.read(self.table, self.key.candidates(**fields), Wanted([stored], versions=limit))
        versions = [
            RecordVersion(record.timestamp, *record.cells.values())
            for row in rows
            if row is not None
            for cell in row.cells[stored]
            for record in [self._reader.record(Row(row.key, {stored: [cell]}), fields)]
        ]
        return sorted(versions, key=attrgetter("timestamp"), reverse=True)[:limit]

    def check_and_put(self, values: Mapping[str, Any], cells: Mapping[str, Any], *, column: str, expected: Any) -> bool:
        """Store *cells* in the row of these *values*, as `put` does, if *column* has the value *expected* (None: none).

        Returns whether it had, and the cells are stored; nobody can write the column between the two. *column* is a
        typed one, whose value is given in its type, or `family:qualifier`. If the call fails, it may be stored or not:
        read the row. Raises what `put` does, `InvalidArgument` for a key with a random salt, under which a row is in
        several places, and `CapabilityError` for a store without such a call.
        """
        row = self._only_row(values)
        stored = self._reader.stored_column(column)
        wanted = None if expected is None else self._reader.columns.encoded({column: expected})[stored.decode()]
        if wanted is not None and not isinstance(wanted, bytes):
            raise errors.InvalidArgument(f"expected={shown(expected)} must be bytes, or None for no value")
        made = new_cells(row, cells, now_in_milliseconds(), self._reader)
        (before,) = self.store.read(self.table, [row], Wanted([cell.column for cell in made]))
        # A cell that is dated in the future would hide the new one.
        moment = max(made[0].timestamp, -1 if before is None else newest(before))
        put = Put(row, [cell._replace(timestamp=moment) for cell in made])
        return self.store.check_and_put(self.table, put, stored, wanted)

    def increment(self, values: Mapping[str, Any], column: str, amount: int = 1) -> int:
        """Add *amount* to an `int` column of the row with these *values*, and return the sum; a missing one is 0.

        It is atomic: of several at once each is added. It is made of `check_and_put`, tried up to 100 times while
        others change the column, then it raises `StoreUnavailable`, and nothing was added. After another error it may
        have been added or not: read the row. Raises what `check_and_put` does, and `InvalidArgument` for another type,
        or a sum out of range.
        """
        typed = self._reader.columns[column]
        if typed.type != "int":
            raise errors.InvalidArgument(f"column={column!r} is {typed.type}; only an int can be incremented")
        typed.encode(amount)
        row = self._only_row(values)
        for _ in range(INCREMENT_TRIES):
            (stored,) = self.store.read(self.table, [row], Wanted([typed.cell]))
            before = None if stored is None else self._reader.record(stored, values).cells[column]
            total: int = (before or 0) + amount
            if self.check_and_put(values, {column: total}, column=column, expected=before):
                return total
        raise errors.StoreUnavailable(
            f"{self.name}: {named(values)}: others have changed {column!r} {INCREMENT_TRIES} times meanwhile, and "
            "nothing was added: try again"
        )

    def copy(self, target: KeyedTable) -> int:
        """Copy all rows to *target*, with all their versions and timestamps, and return how many rows there were.

        The target may have other families or limits, and in it a cell with a later timestamp stays. It may be repeated:
        what is there already changes nothing. What was deleted here stays there. Raises `LayoutMismatch` for a target
        with another key or other columns, `WriteFailed` for rows that could not be stored.
        """
        if (self.key.declaration, self.columns) != (target.key.declaration, target.columns):
            raise errors.LayoutMismatch(
                f"{target.name} has another key, or other columns, than {self.name}: create it with those"
            )
        batch: list[tuple[Mapping[str, Any], Put]] = []
        rows = size = 0
        for row in self.store.scan(self.table, [KeyRange()], Wanted(versions=ALL_VERSIONS)):
            cells = [NewCell(name, *version) for name, versions in row.cells.items() for version in versions]
            batch.append(({"key": row.key}, Put(row.key, cells)))
            rows, size = rows + 1, size + sum(len(cell.value) for cell in cells)
            if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
                target._copied(batch)
                batch, size = [], 0
        target._copied(batch)
        return rows

    def set_family(self, family: FamilySchema) -> None:
        """Give a family of the table other options, such as `ttl` and `versions`, or add one.

        Raises `CapabilityError`, with what to run instead, where the store cannot do that.
        """
        schema = self.store.describe(self.table).schema
        others = tuple(other for other in schema.families if other.name != family.name)
        bring(self.store, replace_schema(schema, families=(*others, family)), apply=True, fix=_REMEDY)
        self._reader.__dict__.pop("families", None)

    def latest(self, /, **fields: Any) -> Record | None:
        """Return the newest row with these values of the leading fields, by the time after them in the key.

        It reads one row of each range; if the key begins with a time, no fields are needed. Raises `NoRange` if the
        next field is not a time; `FieldError`, `UnknownField`. Skips the same rows as `scan`.
        """
        ranges, backwards = self.key.latest(**fields)
        best: tuple[bytes, int, Row] | None = None
        for keys, row in self._reader.heads(ranges, backwards=backwards):
            # All ranges are prefixes of the same fields, and the rest begins with the time. If it is equal (the same
            # row with two random salts) the newer cells decide.
            place = row.key[len(keys.start) :]
            if best is None or (newest(row) > best[1] if place == best[0] else (place > best[0]) == backwards):
                best = (place, newest(row), row)
        return None if best is None else self._reader.record(best[2], {})

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _requested(
        self, fields: Mapping[str, Any], columns: Sequence[str] | None, where: Mapping[str, Any] | None
    ) -> RequestedScan:
        if isinstance(columns, str):
            raise errors.InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
        typed = self._reader.columns
        stored = None if columns is None else [typed.cell_of(name) or _column_bytes(name, typed) for name in columns]
        return RequestedScan(fields, stored, typed.checked(where or {}))

    def _only_row(self, values: Mapping[str, Any]) -> bytes:
        if not isinstance(values, Mapping):
            raise errors.InvalidArgument(f"values={values!r} must be the values of the key's fields, by name")
        if self.key.is_random:
            raise errors.InvalidArgument(
                f"{self.name}: a row of a key with a random salt is in several places, which cannot be compared at once"
            )
        return self.key.encode(**values)

    def _copied(self, batch: Sequence[tuple[Mapping[str, Any], Put]]) -> None:
        results = self.store.write(self.table, [put for _, put in batch])
        outcomes = [RecordOutcome(values, error) for (values, _), error in zip(batch, results, strict=True)]
        if failures := [outcome for outcome in outcomes if outcome.error is not None]:
            raise not_stored(self.name, failures)

    def _candidates(self, fields: Mapping[str, Any]) -> list[Row]:
        rows = self.store.read(self.table, self.key.candidates(**fields))
        return [row for row in rows if row is not None]

    def _check_size(self, fields: Mapping[str, Any], *, is_permitted: bool) -> None:
        if not is_permitted and all(map(is_open, fields.values())) and not is_small(self.store):
            request = f"{named(fields)} asks" if fields else "a scan without fields asks"
            raise errors.FullScanNeeded(
                f"{self.name}: {request} for the whole table: restrict one of {', '.join(self.key.names)}, "
                "or give ALL for every row"
            )


def layout_of(store: Store, table: str) -> KeyLayout | None:
    """The layout of the rows of *table* in *store* if they are under a declared key, else None."""
    cells = layout_cells(store, table)
    layout = KeyLayout.from_json(cells.get(LAYOUT_COLUMN, b""))
    return layout and replace(layout, columns=KeyLayout.columns_in(f"{store.name}/{table}", cells))


def _check_columns(table: str, stored: Sequence[TypedColumn], requested: Iterable[TypedColumn]) -> None:
    by_name = {typed.name: typed for typed in stored}
    for typed in requested:
        declared = by_name.get(typed.name)
        if declared is None:
            raise errors.LayoutMismatch(f"{table} has no column {typed}; open(…, create=True) adds it")
        if typed.in_family(declared.family or "") != declared:
            raise errors.LayoutMismatch(
                f"{table} was created with other columns: the table has {declared}, this call has {typed}"
            )


def compact(store: Store, table: str, *, dry_run: bool = False) -> int:
    """Free the space of what was deleted, or replaced, from a table of records, and return how many bytes that is.

    With *dry_run* nothing is done, and the number is that of what is free already, besides what would be freed. Raises
    `CapabilityError`, with what to run instead, where the store does that by itself.
    """
    if dry_run and (space := store.space()) is not None:
        return space.free
    return store.compact([table, meta_table(table).name])

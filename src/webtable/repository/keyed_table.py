"""KeyedTable: rows under any declared row key; values and cells in, records out, and scans in parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from msgspec.structs import replace

from webtable import errors
from webtable._checksums import UNREADABLE
from webtable._clock import clock, milliseconds, moment_of, now_in_milliseconds
from webtable._process_hooks import renew_after_fork
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.results import Explanation, Partition, Question, Results, Window
from webtable.repository.maintenance.create import bring, create_with_layout, stored_layout
from webtable.repository.metrics import Metrics, metrics_of
from webtable.repository.page_storage.cells import later_removed
from webtable.repository.partitions.processes import address_of
from webtable.repository.reading.read_ahead import Damage
from webtable.repository.reading.samples import all_keys, check_number, cut_at, mean_bytes, spaced
from webtable.repository.reading.scan import ScanSpec, in_key_order, in_storage_order, remaining
from webtable.repository.reading.scope import AllPages, is_small
from webtable.rowkey import MAX_KEY, HashedKey, KeyRange, RowKey
from webtable.rowkey.fields.field import is_open, shown
from webtable.rowkey.ranges import clipped
from webtable.schema import FamilySchema, KeyLayout, TableSchema, meta_table
from webtable.store import Delete, NewCell, Put, Row, Store, open_store, table_of
from webtable.store.metrics import Counts
from webtable.store.observed import observed
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    import os
    from types import TracebackType


# --- Records ----------------------------------------------------------------------------------------------------------


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


RECORDS = declared(Record, "record", column("key", "body"), column("timestamp", "time"), column("cells", "cells"))


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
        damaged: list[errors.DamagedRow],
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


# Other programs write such tables too: a row with another key is none of these, and no error.
class RecordReader:
    """Reads the rows of one table; damaged rows are skipped, or with *strict* the first one is raised."""

    def __init__(self, store: Store, table: str, key: RowKey, *, strict: bool) -> None:
        self.strict = strict
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

    def damage(self, rows: list[errors.DamagedRow]) -> Damage:
        """Return a new collection of damaged rows, for one answer."""
        return Damage(self.counts, rows, strict=self.strict)

    def record(self, row: Row, requested: Mapping[str, Any]) -> Record:
        """Return *row* as a record; its values are those *requested* for if its key cannot be decoded.

        Raises `DamagedRow` if its key is invalid, or its date is after the year 9999.
        """
        try:
            values = dict(requested) if isinstance(self.key, HashedKey) else self.key.decode(row.key)
            return record_of(row, values)
        except UNREADABLE as exc:
            raise errors.DamagedRow(row.key, None, str(exc)) from exc

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


# --- Scans in parts ---------------------------------------------------------------------------------------------------
#
# Each part is read by another process.


class RequestedScan(NamedTuple):
    """A scan as it was asked for: the values and conditions of fields, and the columns as they are stored."""

    fields: Mapping[str, Any]
    columns: Sequence[bytes] | None

    def spec(self, reader: RecordReader) -> ScanSpec:
        """The scan of the rows in the table of *reader*; raises `NoRange`, `FieldError` and `UnknownField`."""
        ranges = reader.key.ranges(**self.fields) if self.fields else [KeyRange()]
        return ScanSpec(reader.table, ranges, Wanted(self.columns))

    def meeting(self, key: RowKey, records: Iterator[Record]) -> Iterator[Record]:
        """Yield those of *records* that meet the conditions: the ranges may have others."""
        return (
            (record for record in records if key.meets(record.values, self.fields))
            if key.are_wide(self.fields)
            else records
        )


class KeyedFingerprint(NamedTuple):
    """What a part of a scan expects of its table: its key, the stored layout, and whether a damaged row is an error."""

    key: RowKey
    layout: bytes | None
    is_strict: bool

    @classmethod
    def of(cls, reader: RecordReader) -> Self:
        """The fingerprint of the table of *reader*."""
        return cls(reader.key, stored_layout(reader.store, reader.table), reader.strict)


def divided(reader: RecordReader, request: RequestedScan, n: int, *, is_whole: bool) -> list[Partition[Record]]:
    """Return the *request* scan in *n* parts; raises `InvalidArgument` unless it *is_whole*, as `Records` says."""
    check_number(n)
    if not is_whole:
        raise errors.InvalidArgument(
            "partitions: a scan with limit=, after= or reverse= cannot be divided: ask without them"
        )
    store, spec = reader.store, request.spec(reader)
    keys = replace(spec, wanted=replace(spec.wanted, keys_only=True))
    sample = all_keys(store, keys) or spaced(store, keys, n)
    address, expected = address_of(store, reader.name), KeyedFingerprint.of(reader)
    row_bytes = mean_bytes(store.read(reader.table, sample.spread(), spec.wanted)) if sample.rows else 0
    return [
        Partition(
            question=f"records with {named(request.fields)}" if request.fields else "all records",
            store=address,
            table=reader.table,
            keys=part.keys,
            rows=part.rows,
            bytes=part.bytes,
            ask=_records,
            arguments=(request,),
            options={},
            fingerprint=expected,
            opened=_opened,
        )
        for part in cut_at(sample, n, row_bytes)
    ]


@contextmanager
def _opened(part: Partition[Record]) -> Iterator[Results[Record]]:
    # Another process: the declaration tells whether the table is still the one that was divided.
    key, layout, is_strict = cast("KeyedFingerprint", part.fingerprint)
    store, table = open_store(part.store)
    with store:
        reader = RecordReader(observed(store), table, key, strict=is_strict)
        stored = stored_layout(store, table)
        if stored is None and layout is not None:
            raise errors.TableNotFound(f"{reader.name} is no keyed table any more: ask for partitions again")
        if stored != layout:
            raise errors.LayoutMismatch(f"{reader.name} was created anew, with other keys: ask for partitions again")
        yield part.ask(reader, part, *part.arguments)


class _PartQuestion(Question[Record]):
    """Which records are in a part of a scan."""

    columns = RECORDS
    window = Window("storage")

    def __init__(self, reader: RecordReader, part: Partition[Record], scan: RequestedScan) -> None:
        self.title = part.question
        self._reader, self._scan = reader, scan
        whole = scan.spec(reader)
        self._spec = replace(whole, ranges=clipped(whole.ranges, part.keys))

    def damage(self, rows: list[errors.DamagedRow]) -> Damage:
        return self._reader.damage(rows)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Record]:
        return self._scan.meeting(self._reader.key, self._reader.stored(self._spec, after, damage))

    def place(self, result: Record) -> bytes:
        return result.key

    def explain(self) -> Explanation:
        columns = tuple(column.decode(errors="replace") for column in self._scan.columns or ())
        return Explanation(self.title, self.window.order, columns, tuple(self._spec.ranges))


def _records(reader: RecordReader, part: Partition[Record], scan: RequestedScan) -> Results[Record]:
    return _PartQuestion(reader, part, scan).answer()


# --- Rows to be put ---------------------------------------------------------------------------------------------------


_CELL_OVERHEAD = 24
_OPTIONS_OF_SCAN = frozenset({"columns", "limit", "reverse", "after"})


def check_key(key: object) -> None:
    """Raise `InvalidArgument` unless *key* is a row key whose fields can be asked for in a scan."""
    if not isinstance(key, RowKey):
        raise errors.InvalidArgument(
            f"key={key!r} must be a CompositeKey or a HashedKey (of a WebKey take its `parts`)"
        )
    if taken := _OPTIONS_OF_SCAN.intersection(key.names):
        raise errors.InvalidArgument(f"field {min(taken)!r} has the name of an option of KeyedTable.scan; rename it")


def stored_columns(columns: Sequence[str], families: Mapping[str, FamilySchema]) -> list[bytes]:
    """Return *columns* as they are stored; `family:` stands for all columns of a family.

    Raises `InvalidArgument` for an invalid name, `UnknownColumn` for a family that the table does not have.
    """
    if isinstance(columns, str):
        raise errors.InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
    return [_stored(column, families)[0] for column in columns]


def families_of(families: Sequence[str | FamilySchema]) -> tuple[FamilySchema, ...]:
    """Return the families of a new table, given as schemas or names; raises `InvalidArgument` if not in a list."""
    if isinstance(families, str | FamilySchema):
        raise errors.InvalidArgument(f"families={families!r} must be a list, as in ['d']")
    return tuple(FamilySchema(family) if isinstance(family, str) else family for family in families)


def checked_row(row: object) -> tuple[Mapping[str, Any], Mapping[str, bytes]]:
    """Return the values of a row's key and its cells; raises `InvalidArgument` for anything but such a pair."""
    if not isinstance(row, tuple | list) or len(row) != 2:
        raise errors.InvalidArgument(f"rows: {shown(row)} must be a pair of values and cells")
    values, cells = row
    if not isinstance(values, Mapping):
        raise errors.InvalidArgument(f"values={values!r} must be the values of the key's fields, by name")
    return values, cells


def new_cells(
    row: bytes, cells: Mapping[str, bytes], timestamp: int, families: Mapping[str, FamilySchema], max_cell: int
) -> list[NewCell]:
    """Return *cells* as they are to be written to *row*.

    Raises `InvalidArgument` for an empty mapping, a name that is not `family:qualifier` and a value that is not bytes;
    `UnknownColumn` for a family that the table does not have, `CellTooLarge`, and `ExpiredCapture` for a *timestamp*
    that the family no longer keeps.
    """
    if not isinstance(cells, Mapping) or not cells:
        raise errors.InvalidArgument(f"cells={cells!r} must be one or more values by column, as in {{'d:value': b'1'}}")
    made = []
    for name, value in cells.items():
        column, family = _stored(name, families)
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


def _stored(column: str, families: Mapping[str, FamilySchema]) -> tuple[bytes, FamilySchema]:
    name, colon, _ = column.partition(":") if isinstance(column, str) else ("", "", "")
    if not name or not colon:
        raise errors.InvalidArgument(f"column={column!r} must be named 'family:qualifier'")
    family = families.get(name)
    if family is None:
        raise errors.UnknownColumn(
            f"column={column!r}: there is no family {name!r}; the table has {', '.join(families)}"
        )
    try:
        return column.encode(errors="surrogateescape"), family
    except UnicodeEncodeError as exc:
        raise errors.InvalidArgument(f"column={column!r} has half of a surrogate pair") from exc


def written(store: Store, table: str, puts: Sequence[Put], at: int | None) -> list[errors.WebTableError | None]:
    """Store *puts*, and return the outcome of each; if all have the timestamp *at*, `HiddenByDelete` for hidden ones.

    A store accepts what an earlier delete hides, and the newest cells of a column are older then than *at*. The time of
    the clock is later than that of deletes.
    """
    outcomes: list[errors.WebTableError | None] = [*store.write(table, puts)]
    if at is None:
        return outcomes
    columns = sorted({cell.column for put in puts for cell in put.cells})
    rows = store.read(table, [put.row for put in puts], Wanted(columns, time_range=TimeRange(at)))
    for place, (put, row) in enumerate(zip(puts, rows, strict=True)):
        if outcomes[place] is None and (row is None or any(cell.column not in row.cells for cell in put.cells)):
            outcomes[place] = errors.HiddenByDelete(f"a delete hides cells of {moment_of(at)}; give a later timestamp")
    return outcomes


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

_REMEDY = "Change it in the HBase shell"


class KeyedTable:
    """A table whose rows are found by the fields of their key; opened by `KeyedTable.open`.

    Many threads may use it at once. A table that other programs created is opened as `KeyedTable(store, table, key)`,
    without checking that its rows have such keys. Scans skip rows with other keys, or that cannot be read, and count
    them in `metrics.damaged`; with *strict* they raise `DamagedRow`. Raises `InvalidArgument` for a key with a field
    that has the name of an option of `scan`.
    """

    def __init__(self, store: Store, table: str, key: RowKey, *, strict: bool = False) -> None:
        check_key(key)
        self.store: Final = observed(store)
        self.table = table
        self.key = key
        self._clock = Clock()
        self._reader = RecordReader(self.store, table, key, strict=strict)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        key: RowKey,
        *,
        families: Sequence[str | FamilySchema] = ("d",),
        create: bool = False,
        split_keys: Sequence[bytes] = (),
        strict: bool = False,
    ) -> Self:
        """Return the table at *url*, as `webtable.open` takes it, to be used in a `with` block.

        With *create* a missing table is created, with these *families* and *split_keys*, and the declaration of *key*
        is stored with it. *strict* is that of `KeyedTable`. Raises `LayoutMismatch`, showing both, if it was created
        with another key or is a web table, and `InvalidArgument` for a key with a lambda or a local function, which
        could not be compared.
        Raises `TableNotFound`, `NotAStore`, `StoreUnavailable`; with *create*, `SchemaDrift` for an existing table with
        other families.
        """
        check_key(key)
        # Both before the store is opened, which may create a file.
        layout = KeyLayout.of(key)
        wanted = TableSchema(table_of(url), families_of(families), tuple(split_keys))
        store, table = open_store(url, create=create)
        try:
            opened = cls(store, table, key, strict=strict)
            stored = stored_layout(store, table)
            was_there = stored is not None
            if create and not was_there:
                create_with_layout(store, wanted, layout.to_json(), apply=False, fix=_REMEDY)
                # Read again: another process may have created it meanwhile, and its declaration holds.
                stored = stored_layout(store, table)
            if stored is None:
                raise errors.TableNotFound(f"{opened.name}: there is no such table; open(…, create=True) creates it")
            layout.check(opened.name, stored)
            if create and was_there:
                bring(store, wanted, apply=False, fix=_REMEDY)
        except BaseException:
            store.close()
            raise
        return opened

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

    def put(self, values: Mapping[str, Any], cells: Mapping[str, bytes], *, timestamp: datetime | None = None) -> None:
        """Store *cells*, by the names `family:qualifier`, in the row of these *values*, and return when it is stored.

        An existing cell is replaced, unless its timestamp is later; *timestamp* is by default the present moment. With
        a random salt the row may exist twice afterwards, and `get` finds the newer one (if two processes put it in the
        same millisecond, either). Raises, before anything is written, `InvalidArgument` for values that the key or a
        cell cannot hold (`FieldError`, `UnknownField`, `UnknownColumn`), `CellTooLarge`, `ExpiredCapture`; and
        `WriteFailed` for a row that could not be stored, or whose *timestamp* is before its delete (`HiddenByDelete`).
        """
        self.put_many([(values, cells)], timestamp=timestamp)

    def put_many(
        self, rows: Iterable[tuple[Mapping[str, Any], Mapping[str, bytes]]], *, timestamp: datetime | None = None
    ) -> int:
        """Store rows of values and cells, in batches, and return their number once all are stored.

        The cells get the *timestamp*, which needs a time zone, or that of the store. For a row that the table cannot
        keep, raises what `put` does, once all rows before it are stored. Raises `WriteFailed` for the rows of a batch
        that could not be stored, each with its reason; the rows after that batch were not taken from *rows*.
        """
        at = None if timestamp is None else timestamp_of(timestamp)
        batch: list[tuple[Mapping[str, Any], Put]] = []
        size = count = 0
        try:
            for pair in rows:
                values, cells = checked_row(pair)
                row = self.key.encode(**values)
                moment = self._now(row) if at is None else at
                put = Put(row, new_cells(row, cells, moment, self._families, self.store.capabilities.max_cell))
                batch.append((values, put))
                size += sum(len(cell.value) for cell in put.cells)
                if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
                    full, batch, size = batch, [], 0
                    self._write(full, at)
                    count += len(full)
        finally:
            self._write(batch, at)
        return count + len(batch)

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
        limit: int | None = None,
        reverse: bool = False,
        after: bytes | None = None,
        **fields: Any,
    ) -> Records:
        """Return the rows with these values of the leading fields, which meet a condition on the next, lazily.

        They come in the order of their keys without salts (`RowKey.unsalted`), in the opposite order with *reverse*, at
        most *limit* rows, and only those after the row with the key *after* in that order: with the `key` of the last
        record of a scan another one goes on, in another process too. *columns* (`family:qualifier`, or `family:` for
        a whole family) are read; rows without any of them are skipped. If a field stores less than the given value (the
        date of a moment), it is compared with what it stores.

        A scan without conditions reads every row: on HBase, and of a file over 256 MiB, it needs a *limit* or
        `webtable.ALL` as *everything*, else it raises `FullScanNeeded`. The whole table comes in the order of its rows,
        salts included; with an open condition on a field after the salts (`time=between()`) it comes in the order
        without them. Rows with other keys, or that cannot be read, are skipped: the first 100 of them are in `damaged`
        of the result.

        Raises `NoRange`, with the reason, for conditions that the key cannot answer with ranges, `InvalidToken` if
        *after* cannot be the key of a row, and `FieldError`, `UnknownField`, `UnknownColumn`, `InvalidArgument`.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise errors.InvalidArgument(f"limit={limit!r} must be a number of rows from 0, or None for all")
        if after is not None:
            self._reader.check_place(after)
        request = RequestedScan(fields, None if columns is None else stored_columns(columns, self._families))
        self._check_size(fields, is_permitted=everything is not None or limit is not None)
        damaged: list[errors.DamagedRow] = []
        # Wide ranges have rows that do not meet the conditions, so the store cannot count.
        spec = replace(request.spec(self._reader), limit=None if self.key.are_wide(fields) else limit, reverse=reverse)
        records = self._reader.scan(spec, after, self._reader.damage(damaged)) if limit != 0 else iter(())
        is_whole = limit is None and after is None and not reverse
        parts = partial(divided, self._reader, request, is_whole=is_whole)
        return Records(islice(request.meeting(self.key, records), limit), damaged, parts)

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

    @cached_property
    def _families(self) -> dict[str, FamilySchema]:
        return {family.name: family for family in self.store.describe(self.table).schema.families}

    def _write(self, batch: Sequence[tuple[Mapping[str, Any], Put]], at: int | None) -> None:
        if not batch:
            return
        results = written(self.store, self.table, [put for _, put in batch], at)
        outcomes = [RecordOutcome(values, error) for (values, _), error in zip(batch, results, strict=True)]
        if failures := [outcome for outcome in outcomes if outcome.error is not None]:
            raise not_stored(self.name, failures)

    def _now(self, row: bytes) -> int:
        # With one salt the store itself knows which of two puts in a millisecond is the later one.
        return self._clock.now(self.key.unsalted(row)) if self.key.is_random else now_in_milliseconds()

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
    return KeyLayout.from_json(stored_layout(store, table) or b"")


def compact(store: Store, table: str, *, dry_run: bool = False) -> int:
    """Free the space of what was deleted, or replaced, from a table of records, and return how many bytes that is.

    With *dry_run* nothing is done, and the number is that of what is free already, besides what would be freed. Raises
    `CapabilityError`, with what to run instead, where the store does that by itself.
    """
    if dry_run and (space := store.space()) is not None:
        return space.free
    return store.compact([table, meta_table(table).name])

"""KeyedTable: rows under any declared row key; values and cells in, records out, and scans in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as replace_schema
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Self, cast

from msgspec.structs import replace

from webtable import errors
from webtable._clock import clock, now_in_milliseconds
from webtable.repository.answers.results import Results
from webtable.repository.answers.tokens import place_in
from webtable.repository.keyed_table.columns import RecordColumns, checked_columns
from webtable.repository.keyed_table.records import (
    Record,
    RecordReader,
    RecordVersion,
    column_bytes,
    named,
    newest,
)
from webtable.repository.keyed_table.scans import DividedScan, RequestedScan, ScanQuestion
from webtable.repository.keyed_table.writer import (
    BATCH_BYTES,
    BATCH_ROWS,
    Clock,
    NewRow,
    RecordOutcome,
    RecordOutcomeCallback,
    RecordWriter,
    new_cells,
    not_stored,
)
from webtable.repository.maintenance.create import bring, create_with_layout, layout_cells, store_layout
from webtable.repository.metrics import Metrics, metrics_of
from webtable.repository.page_storage.cells import later_removed
from webtable.repository.reading.scan import in_storage_order
from webtable.repository.reading.scope import AllPages, is_small
from webtable.rowkey import KeyRange, RowKey
from webtable.rowkey.fields.field import is_open, shown
from webtable.schema import ALL_VERSIONS, LAYOUT_COLUMN, FamilySchema, KeyLayout, TableSchema, TypedColumn, meta_table
from webtable.store import Delete, NewCell, Put, Row, Store, open_store, table_of
from webtable.store.observed import observed
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    import os
    from datetime import datetime

    from webtable.repository.answers.arrow_pages import ArrowStream


_OPTIONS_OF_SCAN = frozenset({"columns", "where", "limit", "reverse", "after"})
_REMEDY = "Change it in the HBase shell"
INCREMENT_TRIES = 100
"""How often `increment` tries again, after others have changed the counter."""
_SHOWN_VERSIONS = 100


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
        question = ScanQuestion(self._reader, request, reverse=reverse)
        is_token = isinstance(after, str) and after != ""
        place: Any = place_in(cast("str", after), question.title, question.window.order) if is_token else after
        if place is not None:
            self._reader.check_place(place)
        divided = DividedScan(self._reader, request, reverse)
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
            return sum(1 for _ in ScanQuestion(reader, request).rows(None, None, damage))
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def _requested(
        self, fields: Mapping[str, Any], columns: Sequence[str] | None, where: Mapping[str, Any] | None
    ) -> RequestedScan:
        if isinstance(columns, str):
            raise errors.InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
        typed = self._reader.columns
        stored = None if columns is None else [typed.cell_of(name) or column_bytes(name, typed) for name in columns]
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

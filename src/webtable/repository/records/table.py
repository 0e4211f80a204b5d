"""KeyedTable: rows under any declared row key. Values and cells in, records out, on every store."""

from __future__ import annotations

from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec.structs import replace

from webtable._clock import clock, now_in_milliseconds
from webtable.errors import DamagedRow, FullScanNeeded, InvalidArgument, TableNotFound
from webtable.repository.maintenance.create import bring, create_with_layout, stored_layout
from webtable.repository.metrics import Metrics, metrics_of
from webtable.repository.page_storage.cells import later_removed
from webtable.repository.reading.scope import is_small
from webtable.repository.records.parts import AskedScan, divided
from webtable.repository.records.puts import (
    Clock,
    check_key,
    checked_row,
    families_of,
    new_cells,
    stored_columns,
    timestamp_of,
    written,
)
from webtable.repository.records.record import (
    Record,
    RecordOutcome,
    RecordReader,
    Records,
    named,
    newest,
    not_stored,
)
from webtable.rowkey.fields.field import is_open
from webtable.schema import FamilySchema, KeyLayout, TableSchema, meta_table
from webtable.store import Delete, Put, Row, Store, open_store, table_of
from webtable.store.observed import observed

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from types import TracebackType

    from webtable.repository.reading.site import AllPages
    from webtable.rowkey import RowKey

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
        layout = KeyLayout.of(key)
        wanted = TableSchema(table_of(url), families_of(families), tuple(split_keys))
        store, table = open_store(url, create=create)
        try:
            opened = cls(store, table, key, strict=strict)
            stored = stored_layout(store, table)
            was_there = stored is not None
            if create and not was_there:
                create_with_layout(store, wanted, layout.to_json(), apply=False, remedy=_REMEDY)
                stored = stored_layout(store, table)
            if stored is None:
                raise TableNotFound(f"{opened.name}: there is no such table; open(…, create=True) creates it")
            layout.check(opened.name, stored)
            if create and was_there:
                bring(store, wanted, apply=False, remedy=_REMEDY)
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
            for one in rows:
                values, cells = checked_row(one)
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
        found = self._candidates(fields)
        return self._reader.record(max(found, key=newest), fields) if found else None

    def delete(self, /, **fields: Any) -> bool:
        """Remove the row with these values of all fields, with any salt, and return whether there was one.

        Cells that are put later with a timestamp up to that of the removed row, or with that of one of its cells, stay
        hidden until the store's next major compaction, because a delete hides all older cells. Raises what `get` does.
        """
        found = self._candidates(fields)
        if not found:
            return False
        deletes = [Delete(row.key, self._hidden_until(row)) for row in found]
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
            raise InvalidArgument(f"limit={limit!r} must be a number of rows from 0, or None for all")
        if after is not None:
            self._reader.check_place(after)
        asked = AskedScan(fields, None if columns is None else stored_columns(columns, self._families))
        self._check_size(fields, is_permitted=everything is not None or limit is not None)
        damaged: list[DamagedRow] = []
        spec = replace(asked.spec(self._reader), limit=None if self.key.are_wide(fields) else limit, reverse=reverse)
        found = self._reader.scan(spec, after, self._reader.damage(damaged)) if limit != 0 else iter(())
        is_whole = limit is None and after is None and not reverse
        parts = partial(divided, self._reader, asked, is_whole=is_whole)
        return Records(islice(asked.meeting(self.key, found), limit), damaged, parts)

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
        errors = written(self.store, self.table, [put for _, put in batch], at)
        outcomes = [RecordOutcome(values, error) for (values, _), error in zip(batch, errors, strict=True)]
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
            asked = f"{named(fields)} asks" if fields else "a scan without fields asks"
            raise FullScanNeeded(
                f"{self.name}: {asked} for the whole table: restrict one of {', '.join(self.key.names)}, "
                "or give ALL for every row"
            )


def layout_of(store: Store, table: str) -> KeyLayout | None:
    """Return how the rows of *table* in *store* are laid out if they are under a declared key, else None."""
    return KeyLayout.from_json(stored_layout(store, table) or b"")


def compact(store: Store, table: str, *, dry_run: bool = False) -> int:
    """Free the space of what was deleted, or replaced, from a table of records, and return how many bytes that is.

    With *dry_run* nothing is done, and the number is that of what is free already, besides what would be freed. Raises
    `CapabilityError`, with what to run instead, where the store does that by itself.
    """
    if dry_run and (space := store.space()) is not None:
        return space.free
    return store.compact([table, meta_table(table).name])

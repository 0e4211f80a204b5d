"""The writer of rows: checks of what is put, timestamps, and batches with an outcome for each row."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from webtable import errors
from webtable._clock import milliseconds, moment_of, now_in_milliseconds
from webtable._process_hooks import renew_after_fork
from webtable.repository.keyed_table.records import RecordReader, named, stored_column
from webtable.rowkey.fields.field import shown
from webtable.store import NewCell, Put, Row, Store
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    from webtable.repository.answers.arrow_pages import ArrowStream
    from webtable.repository.keyed_table.columns import RecordColumns


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


# --- Rows to be put ---------------------------------------------------------------------------------------------------


_CELL_OVERHEAD = 24

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
        column, family = stored_column(name, reader.families, reader.columns)
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


# --- Timestamps -------------------------------------------------------------------------------------------------------


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


# --- The writer -------------------------------------------------------------------------------------------------------


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

    def __exit__(self, *_: object) -> None:
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

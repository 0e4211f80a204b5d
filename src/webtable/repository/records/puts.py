"""Rows to be put: checks of their key, columns and cells, and the clock of the cells."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from webtable._clock import milliseconds, moment_of, now_in_milliseconds
from webtable._process_hooks import renew_after_fork
from webtable.errors import CellTooLarge, ExpiredCapture, HiddenByDelete, InvalidArgument, UnknownColumn
from webtable.rowkey import RowKey
from webtable.rowkey.fields.field import shown
from webtable.schema import FamilySchema
from webtable.store import NewCell
from webtable.store.rows import TimeRange, Wanted

if TYPE_CHECKING:
    from webtable.errors import WebTableError
    from webtable.store import Put, Store

_CELL_OVERHEAD = 24
_OPTIONS_OF_SCAN = frozenset({"columns", "limit", "reverse", "after"})


def check_key(key: object) -> None:
    """Raise `InvalidArgument` unless *key* is a row key whose fields can be asked for in a scan."""
    if not isinstance(key, RowKey):
        raise InvalidArgument(f"key={key!r} must be a CompositeKey or a HashedKey (of a WebKey take its `parts`)")
    if taken := _OPTIONS_OF_SCAN.intersection(key.names):
        raise InvalidArgument(f"field {min(taken)!r} has the name of an option of KeyedTable.scan; rename it")


def stored_columns(columns: Sequence[str], families: Mapping[str, FamilySchema]) -> list[bytes]:
    """Return *columns* as they are stored; `family:` stands for all columns of a family.

    Raises `InvalidArgument` for an invalid name, `UnknownColumn` for a family that the table does not have.
    """
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
    return [_stored(column, families)[0] for column in columns]


def families_of(families: Sequence[str | FamilySchema]) -> tuple[FamilySchema, ...]:
    """Return the families of a new table, given as schemas or names; raises `InvalidArgument` if not in a list."""
    if isinstance(families, str | FamilySchema):
        raise InvalidArgument(f"families={families!r} must be a list, as in ['d']")
    return tuple(FamilySchema(family) if isinstance(family, str) else family for family in families)


def checked_row(row: object) -> tuple[Mapping[str, Any], Mapping[str, bytes]]:
    """Return the values of a row's key and its cells; raises `InvalidArgument` for anything but such a pair."""
    if not isinstance(row, tuple | list) or len(row) != 2:
        raise InvalidArgument(f"rows: {shown(row)} must be a pair of values and cells")
    values, cells = row
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"values={values!r} must be the values of the key's fields, by name")
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
        raise InvalidArgument(f"cells={cells!r} must be one or more values by column, as in {{'d:value': b'1'}}")
    made = []
    for name, value in cells.items():
        column, family = _stored(name, families)
        if column.endswith(b":") and column.count(b":") == 1:
            raise InvalidArgument(f"column={name!r} must have a qualifier after its family, as in '{name}value'")
        if not isinstance(value, bytes):
            raise InvalidArgument(f"cells[{name!r}] is {type(value).__name__}; it must be bytes")
        size = len(row) + len(column) + len(value) + _CELL_OVERHEAD
        if size > max_cell:
            raise CellTooLarge(f"cells[{name!r}] makes a cell of {size:,} bytes; at most {max_cell:,} are stored")
        if family.ttl is not None and timestamp < now_in_milliseconds() - family.ttl * 1000:
            raise ExpiredCapture(
                f"timestamp={moment_of(timestamp)}: family {family.name!r} keeps its cells for {family.ttl:,} seconds"
            )
        made.append(NewCell(column, timestamp, value))
    return made


def _stored(column: str, families: Mapping[str, FamilySchema]) -> tuple[bytes, FamilySchema]:
    name, colon, _ = column.partition(":") if isinstance(column, str) else ("", "", "")
    if not name or not colon:
        raise InvalidArgument(f"column={column!r} must be named 'family:qualifier'")
    family = families.get(name)
    if family is None:
        raise UnknownColumn(f"column={column!r}: there is no family {name!r}; the table has {', '.join(families)}")
    try:
        return column.encode(errors="surrogateescape"), family
    except UnicodeEncodeError as exc:
        raise InvalidArgument(f"column={column!r} has half of a surrogate pair") from exc


def written(store: Store, table: str, puts: Sequence[Put], at: int | None) -> list[WebTableError | None]:
    """Store *puts*, and return the outcome of each; if all have the timestamp *at*, `HiddenByDelete` for hidden ones.

    A store accepts what an earlier delete hides, and the newest cells of a column are older then than *at*. The time of
    the clock is later than that of deletes.
    """
    outcomes: list[WebTableError | None] = [*store.write(table, puts)]
    if at is None:
        return outcomes
    columns = sorted({cell.column for put in puts for cell in put.cells})
    rows = store.read(table, [put.row for put in puts], Wanted(columns, time_range=TimeRange(at)))
    for place, (put, row) in enumerate(zip(puts, rows, strict=True)):
        if outcomes[place] is None and (row is None or any(cell.column not in row.cells for cell in put.cells)):
            outcomes[place] = HiddenByDelete(f"a delete hides cells of {moment_of(at)}; give a later timestamp")
    return outcomes


MOST_REMEMBERED = 10_000
"""For how many rows a clock remembers the last timestamp."""


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
            given = max(now_in_milliseconds(), self._forgotten + 1, self._given.get(row, -1) + 1)
            self._given[row] = given
            return given

    def _forget(self) -> None:
        """Forget the half of the rows with the lowest timestamps."""
        in_order = sorted(self._given.items(), key=itemgetter(1))
        half = len(in_order) // 2
        self._forgotten = max(self._forgotten, in_order[half - 1][1])
        self._given = dict(in_order[half:])


def timestamp_of(moment: datetime) -> int:
    """Return *moment* as epoch milliseconds; raises `InvalidArgument` without a timezone, and before 1970."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidArgument(f"timestamp={moment!r} must be a datetime with a timezone, as in datetime.now(UTC)")
    timestamp = milliseconds(moment)
    if timestamp < 0:
        raise InvalidArgument(f"timestamp={moment} must be from 1970 on")
    return timestamp

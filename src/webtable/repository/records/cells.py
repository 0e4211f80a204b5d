"""Cells as callers name them (`family:qualifier`, values in bytes) and as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from webtable.errors import CellTooLarge, ExpiredCapture, InvalidArgument, UnknownColumn
from webtable.repository.stored.timestamps import moment_of, now_in_milliseconds
from webtable.store import NewCell

if TYPE_CHECKING:
    from webtable.schema import FamilySchema

_CELL_OVERHEAD = 24


def stored_columns(columns: Sequence[str], families: Mapping[str, FamilySchema]) -> list[bytes]:
    """Return *columns* as they are stored; `family:` is all columns of a family.

    Raises `InvalidArgument` for what is no such name, `UnknownColumn` for a family that the table does not have.
    """
    if isinstance(columns, str):
        raise InvalidArgument(f"columns={columns!r} must be a list of names, as in [{columns!r}]")
    return [_stored(column, families)[0] for column in columns]


def new_cells(
    row: bytes, cells: Mapping[str, bytes], timestamp: int, families: Mapping[str, FamilySchema], max_cell: int
) -> list[NewCell]:
    """Return *cells* as they are to be written to *row*.

    Raises `InvalidArgument` for no cells, a name that is not `family:qualifier` and a value that is not bytes;
    `UnknownColumn` for a family that the table does not have, `CellTooLarge`, and `ExpiredCapture` for a *timestamp*
    at which the family keeps nothing any more.
    """
    if not isinstance(cells, Mapping) or not cells:
        raise InvalidArgument(f"cells={cells!r} must be one or more values by their columns, as in {{'d:value': b'1'}}")
    made = []
    for name, value in cells.items():
        column, family = _stored(name, families)
        if column.endswith(b":") and column.count(b":") == 1:
            raise InvalidArgument(f"column={name!r} must have a qualifier behind its family, as in '{name}value'")
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

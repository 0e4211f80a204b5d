"""A record: a row as it is read, and what became of one that was put."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.errors import StoreError, WriteFailed
from webtable.repository.stored.timestamps import moment_of
from webtable.rowkey.fields.field import shown

if TYPE_CHECKING:
    from webtable.store import Row


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table: the newest value of each of its columns, which are named `family:qualifier`.

    `values` are the fields of its `key`, as `RowKey.decode` gives them. A `HashedKey` leads back to nothing: they are
    what a `get` has asked for, and empty in a scan. `timestamp` is that of the newest cell, in UTC. A qualifier that is
    no UTF-8 has surrogates in the place of its bytes (`surrogateescape`), and is found by that name too.
    """

    values: dict[str, Any]
    cells: dict[str, bytes]
    key: bytes
    timestamp: datetime


class RecordOutcome(NamedTuple):
    """What became of a row that was put: the values of its key, and the error where it is not stored."""

    values: Mapping[str, Any]
    error: StoreError | None


def not_stored(table: str, failures: Sequence[RecordOutcome]) -> WriteFailed:
    """Return the error that names rows which were not stored in *table*."""
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

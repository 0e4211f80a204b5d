"""Reads and writes on a Thrift1 gateway through HappyBase's client, with what it has no call for put together here.

Thrift1 has one timestamp a call, reads one version in a scan, knows an upper bound of the time and no lower one, and
scans by scanners that live in the gateway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webtable.errors import StoreError
from webtable.rowkey import KeyRange
from webtable.store.base import MAX_ROW_KEY, Cell, Delete, Put, Row
from webtable.store.hbase import filterstrings
from webtable.store.hbase.gateway import repeated
from webtable.store.hbase.selection import FEW_COLUMNS, Selection, distinct_columns, key_before
from webtable.store.hbase.wire import thrift1

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.gateway import Gateway

Each = Callable[[Iterable[Callable[[], None]]], None]
"""Runs jobs, some of them at once, and raises the first error of any."""

_Mutation, _BatchMutation = thrift1.Mutation, thrift1.BatchMutation
_column_of = itemgetter(0)
_FOREVER: Final = 2**63 - 1


class Thrift1:
    """Each method is one or more calls of the gateway; *each* spreads independent ones over the connections."""

    def __init__(self, gateway: Gateway, each: Each) -> None:
        self._gateway = gateway
        self._each = each

    def put(self, table: str, puts: Sequence[Put], deadline: Deadline) -> None:
        """Store *puts*, a call for each timestamp among them; not all may be stored when this raises."""
        batches: dict[int, dict[int, Any]] = defaultdict(dict)
        for place, put in enumerate(puts):
            for column, timestamp, value in put.cells:
                batch = batches[timestamp]
                if place not in batch:
                    batch[place] = _BatchMutation(put.row, [])
                batch[place].mutations.append(_Mutation(False, column, value))
        self._mutate(table, ((timestamp, list(batch.values())) for timestamp, batch in batches.items()), deadline)

    def delete(self, table: str, deletes: Sequence[Delete], deadline: Deadline) -> None:
        """Apply *deletes*, a call for each whole row and each timestamp; not all may be applied when this raises."""
        batches: dict[int, list[Any]] = defaultdict(list)
        whole = []
        for delete in deletes:
            if delete.columns is None:
                whole.append(delete)
            else:
                mutations = [_Mutation(True, _column(c)) for c in distinct_columns(delete.columns)]
                batches[delete.timestamp].append(_BatchMutation(delete.row, mutations))
        self._mutate(table, batches.items(), deadline)
        self._each(self._job(table, deadline, "deleteAllRowTs", delete.row, delete.timestamp) for delete in whole)

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """Return the rows, None where nothing is visible; a call for each column where more than one version is."""
        results = self._gateway.call("getRowsWithColumnsTs", table.encode(), list(dict.fromkeys(rows)), columns(wanted),
                                     _until(wanted), {}, deadline=deadline, table=table)
        found = {row.key: row for row in self.translated(table, results, wanted, deadline)}
        return [found.get(row) for row in rows]

    def open(self, table: str, keys: KeyRange, wanted: Selection, caching: int | None, deadline: Deadline) -> int:
        """Return the number of a new scanner over *keys*; the gateway forgets it some time after its last use."""
        start, stop = (keys.stop, keys.start) if wanted.reverse else keys
        scan = thrift1.TScan(
            startRow=start or None, stopRow=(key_before(stop) if wanted.reverse else stop) or None,
            timestamp=None if wanted.time_range is None else wanted.time_range.until, columns=columns(wanted),
            caching=caching, filterString=_filter(wanted), reversed=wanted.reverse)
        scanner: int = self._gateway.call_once("scannerOpenWithScan", table.encode(), scan, {},
                                               deadline=deadline, table=table)
        return scanner

    def cells(self, table: str, rows: Sequence[bytes], family: bytes, qualifiers: KeyRange, limit: int,
              deadline: Deadline, *, keys_only: bool) -> list[list[tuple[bytes, Cell]]]:
        """Return, for each of *rows*, the newest cells of the first *limit* columns of a family in *qualifiers*.

        Each row is a scanner of its own.
        """
        parts = [filterstrings.qualifiers(qualifiers)] if qualifiers != KeyRange() else []
        if keys_only:
            parts.append(filterstrings.KEYS_ONLY)
        found = []
        for row in rows:
            # A scan has no stop key that is longer than the longest row.
            stop = row + b"\x00" if len(row) < MAX_ROW_KEY else None
            scan = thrift1.TScan(startRow=row, stopRow=stop, columns=[family], caching=1, batchSize=limit,
                                 filterString=filterstrings.all_of(parts))
            results = self._first_result(table, scan, deadline)
            cells = [cell for result in results if result.row == row for cell in result.columns.items()]
            found.append([(column, Cell(cell.timestamp, cell.value)) for column, cell in sorted(cells, key=_column_of)])
        return found

    def _first_result(self, table: str, scan: Any, deadline: Deadline) -> list[Any]:
        def attempt() -> list[Any]:
            scanner: int = self._gateway.call_once("scannerOpenWithScan", table.encode(), scan, {},
                                                   deadline=deadline, table=table)
            found = self.next(table, scanner, 1, deadline)
            with suppress(StoreError):
                self.close(table, scanner, deadline.within(2.0))
            return found

        return repeated(attempt, deadline)

    def next(self, table: str, scanner: int, count: int, deadline: Deadline) -> list[Any]:
        """Return the next rows as they come; fewer than *count* are the last. Never repeated: the scanner moves on."""
        rows: list[Any] = self._gateway.call_once("scannerGetList", scanner, count, deadline=deadline, table=table)
        return rows

    def close(self, table: str, scanner: int, deadline: Deadline) -> None:
        """Have the gateway forget the scanner."""
        self._gateway.call_once("scannerClose", scanner, deadline=deadline, table=table)

    def translated(self, table: str, results: Sequence[Any], wanted: Selection, deadline: Deadline) -> list[Row]:
        """Return the rows of *results*, without those that have no cell in the wanted times."""
        since = wanted.time_range.since if wanted.time_range else 0
        if wanted.keys_only:
            return [Row(result.row, {}) for result in results
                    if not since or any(cell.timestamp >= since for cell in result.columns.values())]
        if wanted.versions > 1:
            rows = (self._versions(table, result, wanted, deadline) for result in results)
            return [row for row in rows if row.cells]
        if since:
            rows = (Row(result.row, {column: (Cell(cell.timestamp, cell.value),) for column, cell
                                     in result.columns.items() if cell.timestamp >= since}) for result in results)
            return [row for row in rows if row.cells]
        return [Row(result.row, {column: (Cell(cell.timestamp, cell.value),)
                                 for column, cell in result.columns.items()}) for result in results]

    def _versions(self, table: str, result: Any, wanted: Selection, deadline: Deadline) -> Row:
        since = wanted.time_range.since if wanted.time_range else 0
        cells = {}
        for column, newest in result.columns.items():
            if newest.timestamp >= since:
                found = self._gateway.call("getVerTs", table.encode(), result.row, column, _until(wanted),
                                           wanted.versions, {}, deadline=deadline, table=table)
                versions = [Cell(cell.timestamp, cell.value) for cell in found if cell.timestamp >= since]
                if versions:
                    cells[column] = versions
        return Row(result.row, cells)

    def _mutate(self, table: str, batches: Iterable[tuple[int, list[Any]]], deadline: Deadline) -> None:
        self._each(self._job(table, deadline, "mutateRowsTs", batch, timestamp) for timestamp, batch in batches)

    def _job(self, table: str, deadline: Deadline, method: str, *arguments: Any) -> Callable[[], None]:
        return lambda: self._gateway.call(method, table.encode(), *arguments, {}, deadline=deadline, table=table)


def columns(wanted: Selection) -> list[bytes] | None:
    """Return the columns as Thrift1 takes them; a family is its name without the colon."""
    return None if wanted.columns is None else [_column(column) for column in wanted.columns]


def _column(column: bytes) -> bytes:
    return column[:-1] if column.count(b":") == 1 and column.endswith(b":") else column


def _until(wanted: Selection) -> int:
    return wanted.time_range.until if wanted.time_range else _FOREVER


def _filter(wanted: Selection) -> bytes | None:
    parts = []
    # The first cells alone do not tell whether another one is in the wanted times.
    any_cell = not (wanted.time_range and wanted.time_range.since)
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        parts += [filterstrings.matching(family, qualifier, one, hidden=added) for one in expressions]
        if wanted.few_cells and any_cell:
            parts.append(filterstrings.first_columns_or(qualifier, FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families that no filter looks at on demand, and refuses to do so backwards.
            parts.append(filterstrings.qualifiers(KeyRange()))
    if wanted.one_cell and any_cell:
        parts.append(filterstrings.FIRST_KEY_ONLY)
    if wanted.keys_only:
        parts.append(filterstrings.KEYS_ONLY)
    return filterstrings.all_of(parts)

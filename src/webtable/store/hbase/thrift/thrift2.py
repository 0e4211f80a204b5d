"""The calls in which a Thrift2 gateway is faster than Thrift1 beside it: many ranges, columns of rows, versions, dates.

Measured (`benchmarks.hbase_thrift2`): first rows and scans of 256 ranges 5 to 14 times, columns of 100 rows 16 times,
versions 31 times, the few rows of one range 1.3 times, puts of pages with a date each 2.3 times. Gets, listings, bodies
and scans backwards gain nothing or lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.errors import StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.hbase.shared import filters
from webtable.store.hbase.shared.failures import WrongReply, unknown
from webtable.store.hbase.shared.scans import RANGES_A_CALL, Pieces
from webtable.store.hbase.thrift.connection import thrift2
from webtable.store.hbase.thrift.thrift1 import Thrift1
from webtable.store.rows import Cell, Put, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.shared.filters import ColumnPiece, Selection
    from webtable.store.hbase.shared.sockets import Workers
    from webtable.store.hbase.thrift.gateway import Gateway

_TColumn = thrift2.TColumn


class Thrift2(Thrift1):
    """The calls of `Thrift1`, of which some go to a Thrift2 gateway *beside* it, each one call."""

    def __init__(self, gateway: Gateway, beside: Gateway, workers: Workers) -> None:
        super().__init__(gateway, workers)
        self._beside = beside

    def _put(self, table: str, puts: Sequence[Put], deadline: Deadline) -> None:
        """Store *puts*, of which Thrift1 would make a call for each timestamp."""
        if len({cell.timestamp for put in puts for cell in put.cells}) == 1:
            super()._put(table, puts, deadline)
            return
        self._beside.call("putMultiple", table.encode(), list(map(_encoded, puts)), deadline=deadline, table=table)

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None, deadline: Deadline) -> bool:
        """Compare and put, by a single attempt."""
        family, _, qualifier = column.partition(b":")
        arguments = table.encode(), put.row, family, qualifier, expected, _encoded(put)
        try:
            return self._beside.call_once("checkAndPut", *arguments, deadline=deadline, table=table, read=bool)
        except StoreUnavailable as error:
            raise unknown(error) from error

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """The rows, None if nothing is visible."""
        if wanted.versions == 1:
            return super().get(table, rows, wanted, deadline)
        columns, times = _columns(wanted), _times(wanted)
        gets = [thrift2.TGet(row=row, columns=columns, timeRange=times, maxVersions=wanted.versions) for row in rows]

        def read(results: list[Any]) -> list[Row | None]:
            _check_got(results, rows)
            return [_row(result) if result.columnValues else None for result in results]

        return self._beside.call("getMultiple", table.encode(), gets, deadline=deadline, table=table, read=read)

    def cells(
        self, table: str, rows: Sequence[bytes], piece: ColumnPiece, deadline: Deadline
    ) -> list[list[tuple[bytes, Cell]]]:
        """*piece* of each of *rows*, with the newest cells."""
        columns, encoded = [_TColumn(family=piece.family)], filters.columns_filter(filters.MESSAGES, piece)
        gets = [thrift2.TGet(row=row, columns=columns, storeLimit=piece.limit, filterBytes=encoded) for row in rows]

        def read(results: list[Any]) -> list[list[tuple[bytes, Cell]]]:
            _check_got(results, rows)
            return [list(_cells(result)) for result in results]

        return self._beside.call("getMultiple", table.encode(), gets, deadline=deadline, table=table, read=read)

    def rows(
        self,
        table: str,
        ranges: Sequence[KeyRange],
        wanted: Selection,
        limit: int,
        deadline: Deadline,
        *,
        each: int | None = None,
        bounds: Sequence[bytes] = (),
    ) -> list[Row]:
        """The first *limit* rows of *ranges*, which are sorted and disjoint; fewer if there are no more.

        With *each* the first *limit* rows of each range are returned, and as many again for each further region of it.
        *bounds* are the known starts of regions: if they are wrong, some ranges may have one row more.
        """
        whole = KeyRange(ranges[0].start, ranges[-1].stop)
        scan = thrift2.TScan(
            startRow=whole.start,
            stopRow=whole.stop,
            columns=_columns(wanted),
            maxVersions=wanted.versions,
            timeRange=_times(wanted),
            limit=limit,
            filterBytes=filters.filter_of_scan(ranges, wanted, each, bounds),
        )

        def read(results: list[Any]) -> list[Row]:
            filters.check_scanned([result.row for result in results], whole, limit, reverse=False)
            if not all(result.columnValues for result in results):
                raise WrongReply("a row came without its cells")
            if wanted.keys_only:
                return [Row(result.row, {}) for result in results]
            return _rows(results) if wanted.versions == 1 else [_row(result) for result in results]

        args = table.encode(), scan, limit
        return self._beside.call("getScannerResults", *args, deadline=deadline, table=table, read=read)


class StatelessPieces(Pieces):
    """A scan by Thrift2: each piece is one call over all remaining ranges."""

    def __init__(self, client: Thrift2, *args: Any) -> None:
        super().__init__(*args)
        self._client = client

    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        ranges = self._rest[:RANGES_A_CALL]
        rows = self._client.rows(self._table, ranges, self._wanted, count, deadline)
        if len(rows) < count:
            del self._rest[: len(ranges)]
        else:
            self._drop_until(rows[-1].key)
        return _inside(rows, ranges)


def _inside(rows: list[Row], ranges: Sequence[KeyRange]) -> list[Row]:
    """The rows that are in *ranges*; a gateway that does not know the filter sends those between them too."""
    if len(ranges) == 1:
        return rows
    kept = []
    place = 0
    for row in rows:
        while place < len(ranges) and ranges[place].stop and row.key >= ranges[place].stop:
            place += 1
        if place < len(ranges) and row.key >= ranges[place].start:
            kept.append(row)
    return kept


def _encoded(put: Put) -> Any:
    values = []
    for column, timestamp, value in put.cells:
        family, _, qualifier = column.partition(b":")
        values.append(thrift2.TColumnValue(family, qualifier, value, timestamp))
    return thrift2.TPut(put.row, values)


def _columns(wanted: Selection) -> list[Any] | None:
    if wanted.columns is None:
        return None
    parts = (column.partition(b":") for column in wanted.columns)
    return [_TColumn(family=family, qualifier=qualifier or None) for family, _, qualifier in parts]


def _times(wanted: Selection) -> Any:
    times = wanted.time_range
    return None if times is None else thrift2.TTimeRange(minStamp=times.since, maxStamp=times.until)


def _check_got(results: Sequence[Any], rows: Sequence[bytes]) -> None:
    """Raise `WrongReply` unless there is a result for each of *rows*; that of a missing row is empty."""
    if len(results) != len(rows):
        raise WrongReply(f"{len(results)} rows came instead of {len(rows)}")
    for result, row in zip(results, rows, strict=True):
        if result.row is not None and result.row != row:
            raise WrongReply(f"the row {result.row!r:.100} came instead of {row[:100]!r}")
        if result.columnValues is None or bool(result.row) != bool(result.columnValues):
            raise WrongReply("a row came without its key or without its cells")


def _rows(results: Sequence[Any]) -> list[Row]:
    """*results* as rows; each of their columns has one cell."""
    rows = []
    new = tuple.__new__  # this and plain loops make listings a third faster
    for result in results:
        cells = {}
        for value in result.columnValues:
            cells[value.family + b":" + value.qualifier] = (filters.cell(value.timestamp, value.value),)
        rows.append(new(Row, (result.row, cells)))
    return rows


def _row(result: Any) -> Row:
    """*result* as a row, with the cells of each column in the order in which they come."""
    columns: dict[bytes, list[Cell]] = {}
    for column, version in _cells(result):
        columns.setdefault(column, []).append(version)
    return Row(result.row, columns)


def _cells(result: Any) -> Iterator[tuple[bytes, Cell]]:
    return ((c.family + b":" + c.qualifier, filters.cell(c.timestamp, c.value)) for c in result.columnValues)

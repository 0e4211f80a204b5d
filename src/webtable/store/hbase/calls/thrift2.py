"""Reads and writes on a Thrift2 gateway: conversion of rows and ranges to its structs, and of results to rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webtable.rowkey import KeyRange
from webtable.store.hbase.calls import filters
from webtable.store.hbase.calls.filter_bytes import filter_of
from webtable.store.hbase.calls.selection import Selection, cell, check_scanned, key_before
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.thrift.connection import thrift2
from webtable.store.hbase.write import GatewayWrites
from webtable.store.rows import Cell, Delete, Put, Row, distinct_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.gateways.gateway import Gateway

_TDelete, _TColumn = thrift2.TDelete, thrift2.TColumn
_TPut, _TColumnValue = thrift2.TPut, thrift2.TColumnValue
_COLUMNS: Final = thrift2.TDeleteType.DELETE_COLUMNS
_FAMILY: Final = thrift2.TDeleteType.DELETE_FAMILY
_EXACT: Final = thrift2.TDeleteType.DELETE_COLUMN


class Thrift2(GatewayWrites):
    """Each method is one call of the gateway (two for a delete of families and columns at once)."""

    deletes_exactly = True

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def put(self, table: str, puts: Sequence[Put], deadline: Deadline) -> None:
        """Store *puts*; if this raises, some may be stored."""
        self._gateway.call("putMultiple", table.encode(), [_put(put) for put in puts], deadline=deadline, table=table)

    def delete(self, table: str, deletes: Sequence[Delete], deadline: Deadline) -> None:
        """Apply *deletes*; if this raises, some may be applied."""
        simple: list[tuple[bytes, list[Any]]] = []
        mixed: list[tuple[bytes, list[Any]]] = []
        for delete in deletes:
            parts = _delete(delete)
            (simple if len(parts) == 1 else mixed).append((delete.row, parts))
        if simple:
            self._gateway.call(
                "deleteMultiple",
                table.encode(),
                [parts[0] for _, parts in simple],
                deadline=deadline,
                table=table,
                read=_check_deleted,
            )
        for row, parts in mixed:  # in one call, because a Delete is applied whole or not at all
            together = thrift2.TRowMutations(row=row, mutations=[thrift2.TMutation(deleteSingle=p) for p in parts])
            self._gateway.call("mutateRow", table.encode(), together, deadline=deadline, table=table)

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """Return the rows, None if nothing is visible."""
        columns, times = _columns(wanted), _times(wanted)
        gets = [thrift2.TGet(row=row, columns=columns, timeRange=times, maxVersions=wanted.versions) for row in rows]
        one = wanted.versions == 1

        def read(results: list[Any]) -> list[Row | None]:
            _check_got(results, rows)
            return [_rows([result], one)[0] if result.columnValues else None for result in results]

        found: list[Row | None] = self._gateway.call(
            "getMultiple", table.encode(), gets, deadline=deadline, table=table, read=read
        )
        return found

    def cells(
        self,
        table: str,
        rows: Sequence[bytes],
        family: bytes,
        qualifiers: KeyRange,
        limit: int,
        deadline: Deadline,
        *,
        keys_only: bool,
    ) -> list[list[tuple[bytes, Cell]]]:
        """Return, for each of *rows*, the newest cells of the first *limit* columns of a family in *qualifiers*."""
        parts = [filters.qualifiers(qualifiers)] if qualifiers != KeyRange() else []
        if keys_only:
            parts.append(filters.keys_only())
        gets = [
            thrift2.TGet(
                row=row, columns=[_TColumn(family=family)], storeLimit=limit, filterBytes=filters.all_of(parts)
            )
            for row in rows
        ]

        def read(results: list[Any]) -> list[list[tuple[bytes, Cell]]]:
            _check_got(results, rows)
            return [list(_cells(result)) for result in results]

        found: list[list[tuple[bytes, Cell]]] = self._gateway.call(
            "getMultiple", table.encode(), gets, deadline=deadline, table=table, read=read
        )
        return found

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
        """Return the first *limit* rows of *ranges*, which are sorted and disjoint; fewer if there are no more.

        With *each* the first *limit* rows of each range are returned, and as many again for each further region of it.
        *bounds* are the known starts of regions: if they are wrong, some ranges may have one row more.
        In reverse it takes one range: in HBase 2.6.1 a `MultiRowRangeFilter` loses rows of a reversed scan after the
        first region. A row next to the range may then be returned, because HBase's start is inclusive.
        """
        scan = thrift2.TScan(
            columns=_columns(wanted),
            maxVersions=wanted.versions,
            timeRange=_times(wanted),
            limit=limit,
            filterBytes=filter_of(ranges, wanted, each, bounds),
        )
        if wanted.reverse:
            scan.reversed, scan.startRow, scan.stopRow = True, ranges[0].stop, key_before(ranges[-1].start)
        else:
            scan.startRow, scan.stopRow = ranges[0].start, ranges[-1].stop
        whole, one = KeyRange(ranges[0].start, ranges[-1].stop), wanted.versions == 1

        def read(results: list[Any]) -> list[Row]:
            check_scanned([result.row for result in results], whole, limit, reverse=wanted.reverse)
            if not all(result.columnValues for result in results):
                raise WrongReply("a row came without its cells")
            if wanted.keys_only:
                return [Row(result.row, {}) for result in results]
            return _rows(results, one)

        found: list[Row] = self._gateway.call(
            "getScannerResults", table.encode(), scan, limit, deadline=deadline, table=table, read=read
        )
        return found


def _put(put: Put) -> Any:
    cells = []
    for column, timestamp, value in put.cells:
        family, _, qualifier = column.partition(b":")
        cells.append(_TColumnValue(family, qualifier, value, timestamp))
    return _TPut(put.row, cells)


def _delete(delete: Delete) -> list[Any]:
    """Return the Thrift2 deletes: each has either families or columns, with a timestamp for each."""
    if delete.columns is None:
        return [_TDelete(row=delete.row, timestamp=delete.timestamp)]
    one = _EXACT if delete.exact else _COLUMNS
    parts: dict[int, list[Any]] = {_FAMILY: [], one: []}
    for column in distinct_columns(delete.columns):
        family, _, qualifier = column.partition(b":")
        if qualifier:
            parts[one].append(_TColumn(family=family, qualifier=qualifier, timestamp=delete.timestamp))
        else:
            parts[_FAMILY].append(_TColumn(family=family, timestamp=delete.timestamp))
    return [_TDelete(row=delete.row, columns=columns, deleteType=kind) for kind, columns in parts.items() if columns]


def _columns(wanted: Selection) -> list[Any] | None:
    if wanted.columns is None:
        return None
    parts = (column.partition(b":") for column in wanted.columns)
    return [_TColumn(family=family, qualifier=qualifier or None) for family, _, qualifier in parts]


def _times(wanted: Selection) -> Any:
    times = wanted.time_range
    return None if times is None else thrift2.TTimeRange(minStamp=times.since, maxStamp=times.until)


def _check_deleted(left: list[Any]) -> None:
    if left:
        raise WrongReply(f"{len(left)} deletes came back")


def _check_got(results: Sequence[Any], asked: Sequence[bytes]) -> None:
    """Raise `WrongReply` unless there is a result for each requested row; that of a missing row is empty."""
    if len(results) != len(asked):
        raise WrongReply(f"{len(results)} rows came instead of {len(asked)}")
    for result, row in zip(results, asked, strict=True):
        if result.row is not None and result.row != row:
            raise WrongReply(f"the row {result.row!r:.100} came instead of {row[:100]!r}")
        if result.columnValues is None or bool(result.row) != bool(result.columnValues):
            raise WrongReply("a row came without its key or without its cells")


def _rows(results: Sequence[Any], one_version: bool) -> list[Row]:
    """Return *results* as rows; with *one_version* each of their columns has one cell."""
    if not one_version:
        return [Row(result.row, grouped(_cells(result))) for result in results]
    rows = []
    new = tuple.__new__  # this and plain loops make listings a third faster
    for result in results:
        cells = {}
        for found in result.columnValues:
            cells[found.family + b":" + found.qualifier] = (cell(found.timestamp, found.value),)
        rows.append(new(Row, (result.row, cells)))
    return rows


def _cells(result: Any) -> Iterator[tuple[bytes, Cell]]:
    return ((c.family + b":" + c.qualifier, cell(c.timestamp, c.value)) for c in result.columnValues)


def grouped(cells: Iterable[tuple[bytes, Cell]]) -> dict[bytes, list[Cell]]:
    """Return the cells by their column, in the order in which they come."""
    columns: dict[bytes, list[Cell]] = {}
    for column, one in cells:
        columns.setdefault(column, []).append(one)
    return columns

"""Reads, writes and scans on a Thrift1 gateway through HappyBase's client; calls that it lacks are composed here.

Thrift1 has one timestamp per call, reads one version in a scan, supports an upper bound of the time but no lower one,
and scans with scanners that live in the gateway.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from contextlib import suppress
from functools import partial
from itertools import groupby
from logging import INFO
from typing import TYPE_CHECKING, Any, Final, cast

from webtable._clock import clock
from webtable.errors import CapabilityError, StoreError, StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store.hbase.shared import filters
from webtable.store.hbase.shared.failures import TableDisabled, WrongReply, repeated
from webtable.store.hbase.shared.scans import Pieces
from webtable.store.hbase.shared.write import short
from webtable.store.hbase.thrift.connection import thrift1
from webtable.store.rows import MAX_ROW_KEY, Cell, Delete, Mutation, Put, Row, distinct_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.shared.filters import ColumnPiece, Selection
    from webtable.store.hbase.shared.sockets import Workers
    from webtable.store.hbase.thrift.connection import Connection
    from webtable.store.hbase.thrift.gateway import Gateway, Session

_Mutation, _BatchMutation = thrift1.Mutation, thrift1.BatchMutation
_FOREVER: Final = 2**63 - 1
_FIRST_NEIGHBOURS: Final = 2
_MOST_CELLS: Final = 10_000  # of rows that are read in one call
_IDLE_SECONDS: Final = 30.0  # below the lease of a scanner, 60 s
_CLOSE_SECONDS: Final = 2.0
_ROW_SHOWN: Final = 100


class Scanner:
    """The number of a scanner, and the connection to which it is bound."""

    __slots__ = ("__weakref__", "connection", "number")

    def __init__(self, number: int, connection: Connection) -> None:
        self.number: Final = number
        self.connection: Final = connection
        connection.scanners.add(self)


class Thrift1:
    """Each method is one or more calls of *gateway*; *workers* distribute independent ones over the connections."""

    deletes_exactly = names_families = False

    def __init__(self, gateway: Gateway, workers: Workers) -> None:
        self.gateway: Final = gateway
        self._workers = workers

    def apply(self, table: str, mutations: Sequence[Mutation], deadline: Deadline) -> list[StoreError | None]:
        """Apply a batch; a refused batch is halved until the refused rows are isolated and the others stored."""
        try:
            if isinstance(mutations[0], Put):
                self._put(table, cast("Sequence[Put]", mutations), deadline)
            else:
                self._delete(table, cast("Sequence[Delete]", mutations), deadline)
        except TableDisabled as error:
            return [error] * len(mutations)
        except StoreRefused as refusal:
            if len(mutations) == 1:
                return [StoreRefused(f"{refusal} (row {short(mutations[0].row)})")]
            middle = len(mutations) // 2
            before = self.apply(table, mutations[:middle], deadline)
            return before + self.apply(table, mutations[middle:], deadline)
        except StoreError as error:
            return [error] * len(mutations)
        return [None] * len(mutations)

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None, deadline: Deadline) -> bool:  # noqa: ARG002
        """Raise `CapabilityError`: the call of Thrift1 takes one cell, and no timestamp."""
        raise CapabilityError(
            f"{self.gateway.name}: a Thrift1 gateway cannot compare a cell and write a row; "
            "a Thrift2 gateway beside it can (thrift2=), and so can HBase's own protocol (hbase+native://)"
        )

    def _put(self, table: str, puts: Sequence[Put], deadline: Deadline) -> None:
        """Store *puts*, with a call for each timestamp; if this raises, some may be stored."""
        batches: dict[int, dict[int, Any]] = defaultdict(dict)
        for place, put in enumerate(puts):
            for column, timestamp, value in put.cells:
                batch = batches[timestamp]
                if place not in batch:
                    batch[place] = _BatchMutation(put.row, [])
                batch[place].mutations.append(_Mutation(False, column, value))
        calls = [("mutateRowsTs", list(batch.values()), timestamp) for timestamp, batch in batches.items()]
        self._change(table, calls, deadline)

    def _delete(self, table: str, deletes: Sequence[Delete], deadline: Deadline) -> None:
        """Apply *deletes*, with a call for each whole row and each timestamp; if this raises, some may be applied."""
        batches: dict[int, list[Any]] = defaultdict(list)
        rows: list[tuple[Any, ...]] = []
        for delete in deletes:
            if delete.columns is None:
                rows.append(("deleteAllRowTs", delete.row, delete.timestamp))
            else:
                mutations = [_Mutation(True, _column(c)) for c in distinct_columns(delete.columns)]
                batches[delete.timestamp].append(_BatchMutation(delete.row, mutations))
        # Of one row the deletes may come in any order: none hides less because of another.
        calls = [("mutateRowsTs", batch, timestamp) for timestamp, batch in batches.items()]
        self._change(table, [*calls, *rows], deadline)

    def _change(self, table: str, calls: Iterable[tuple[Any, ...]], deadline: Deadline) -> None:
        """Make *calls*, each a method and its arguments after the table."""
        call = partial(self.gateway.call, deadline=deadline, table=table)
        self._workers.each(partial(call, method, table.encode(), *args, {}) for method, *args in calls)

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """The rows, None if nothing is visible; several versions take a call for each column."""
        requested = list(dict.fromkeys(rows))

        def read(results: list[Any]) -> list[Any]:
            filters.check_read([result.row for result in results], requested)
            return _with_cells(results)

        columns, until = _columns(wanted), _until(wanted)
        results = self.gateway.call(
            "getRowsWithColumnsTs",
            table.encode(),
            requested,
            columns,
            until,
            {},
            deadline=deadline,
            table=table,
            read=read,
        )
        by_key = {row.key: row for row in self.translated(table, results, wanted, deadline)}
        return [by_key.get(row) for row in rows]

    def close(self, table: str, scanner: Scanner, deadline: Deadline) -> None:
        """Close the scanner if its connection is free; otherwise it expires after about a minute."""
        with self.gateway.session(deadline, table, preferred=scanner.connection, only=True) as session:
            scanner.connection.scanners.discard(scanner)
            session.call("scannerClose", scanner.number)

    def opened(self, session: Session, table: str, scan: Any) -> Scanner:
        """A new scanner of *scan*."""
        number: int = session.call("scannerOpenWithScan", table.encode(), scan, {})
        return Scanner(number, session.connection)

    def cells(
        self, table: str, rows: Sequence[bytes], piece: ColumnPiece, deadline: Deadline
    ) -> list[list[tuple[bytes, Cell]]]:
        """*piece* of each of *rows*, with the newest cells.

        Rows that are neighbours in the table share a scanner, and more of them each time that this was useful; others
        have one each.
        """
        string = filters.columns_filter(filters.STRINGS, piece)
        options = {"columns": [piece.family], "batchSize": piece.limit, "filterString": string}
        remaining = sorted(set(rows))
        cells_of: dict[bytes, list[tuple[bytes, Cell]]] = {}
        most_rows = max(1, _MOST_CELLS // piece.limit)
        neighbours = first = min(_FIRST_NEIGHBOURS, most_rows)
        while remaining:
            count = neighbours if len(remaining) > 1 else 1
            results = self._first(table, _from_to(remaining[0], remaining[-1]), count, options, deadline)
            requested, before = set(remaining), len(cells_of)
            for result in results:
                if (
                    result.row in requested and result.row not in cells_of
                ):  # the other pieces of a wide row are not wanted
                    cells_of[result.row] = [(column, newest) for column, (newest,) in sorted(result.columns.items())]
            if len(results) < count:
                break
            is_of_use = 2 * (len(cells_of) - before) > len(results)
            neighbours = min(neighbours * 4, most_rows) if is_of_use else first
            remaining = remaining[bisect_right(remaining, results[-1].row) :]
        return [cells_of.get(row, []) for row in rows]

    def _first(
        self, table: str, keys: KeyRange, count: int, options: Mapping[str, Any], deadline: Deadline
    ) -> list[Any]:
        """The first *count* pieces of rows in *keys*, of a scan with these *options*."""
        scan = thrift1.TScan(startRow=keys.start, stopRow=keys.stop or None, caching=count, **options)

        def read(results: list[Any]) -> list[Any]:
            if len(results) > count:
                raise WrongReply(f"{len(results)} pieces of rows came instead of up to {count}")
            rows = [row for row, _ in groupby(result.row for result in results)]
            filters.check_scanned(rows, keys, count, reverse=False)
            return _with_cells(results)

        def attempt() -> list[Any]:
            with self.gateway.session(deadline, table) as session:
                scanner = self.opened(session, table, scan)
                results = session.call("scannerGetList", scanner.number, count, read=read)
                session.call("scannerClose", scanner.number)
            return results

        return repeated(attempt, deadline, self.gateway.log, table)

    def translated(self, table: str, results: Sequence[Any], wanted: Selection, deadline: Deadline) -> list[Row]:
        """The rows of *results*, without those that have no cell in the time range."""
        since = wanted.time_range.since if wanted.time_range else 0
        if wanted.keys_only:
            return [
                Row(result.row, {})
                for result in results
                if not since or any(newest.timestamp >= since for (newest,) in result.columns.values())
            ]
        if since or wanted.versions > 1:
            rows = [self._versions(table, result, wanted, since, deadline) for result in results]
            return [row for row in rows if row.cells]
        new = tuple.__new__  # a third faster than calling the class
        return [new(Row, (result.row, result.columns)) for result in results]

    def _versions(self, table: str, result: Any, wanted: Selection, since: int, deadline: Deadline) -> Row:
        """The row of *result*, which has the newest cell of each column, with all versions from *since* on."""
        cells, call = {}, partial(self.gateway.call, deadline=deadline, table=table, read=_cells)
        for column, (newest,) in result.columns.items():
            if newest.timestamp >= since:
                until, count = _until(wanted), wanted.versions
                versions = call("getVerTs", table.encode(), result.row, column, until, count, {})
                versions = [version for version in versions if version.timestamp >= since]
                if versions:
                    cells[column] = versions
        return Row(result.row, cells)


class ScannerPieces(Pieces):
    """A scan by a scanner in the gateway, reopened after the last row if it is lost or was idle for long."""

    def __init__(self, client: Thrift1, *args: Any) -> None:
        super().__init__(*args)
        self._client = client
        self._scanner: Scanner | None = None
        self._is_lost = False
        self._used = 0.0
        self._pieces = 0

    def close(self, deadline: Deadline) -> None:
        """Close the scanner if its connection is free."""
        scanner, self._scanner = self._scanner, None
        if scanner is not None:
            with suppress(StoreError):  # the scanner is gone, or the gateway with it
                self._client.close(self._table, scanner, deadline.within(_CLOSE_SECONDS))

    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        began = clock.monotonic()
        if self._scanner is not None and began - self._used > _IDLE_SECONDS:
            self._is_lost = True  # treated as lost: its lease may end before the answer comes
            self.close(deadline)
        elif self._pieces == 1:
            self.close(deadline)  # the first scanner requests only the first piece from the region server
        keys = self._rest[0]
        results = repeated(
            lambda: self._attempt(keys, count, deadline), deadline, self._client.gateway.log, self._table
        )
        if self._is_lost:
            self._report_reopened(keys, clock.monotonic() - began)
        scanner, self._scanner = self._scanner, None
        rows = self._client.translated(self._table, results, self._wanted, deadline)
        self._scanner = scanner  # it has moved on, so it is useful only together with its rows
        self._pieces += 1
        self._used = clock.monotonic()
        if len(results) < count:
            self.close(deadline)
            del self._rest[0]
            self._pieces = 0
        else:
            self._drop_until(results[-1].row)
        # In reverse Thrift1 begins with the row at the stop key, which is not in the range.
        return [row for row in rows if row.key in keys] if self._wanted.reverse else rows

    def _attempt(self, keys: KeyRange, count: int, deadline: Deadline) -> list[Any]:
        """The next results of the scanner, in which fewer than *count* are the last.

        A new one over *keys* is opened if there is none, or if its connection is in use or gone. No call is repeated,
        because the scanner has moved on.
        """
        scanner, self._scanner = self._scanner, None
        before, wanted = scanner, self._wanted

        def read(results: list[Any]) -> list[Any]:
            filters.check_scanned([result.row for result in results], keys, count, reverse=wanted.reverse)
            return _with_cells(results)

        try:
            connection = None if scanner is None else scanner.connection
            with self._client.gateway.session(deadline, self._table, preferred=connection) as session:
                if scanner is None or scanner.connection is not session.connection:
                    caching = None if self._pieces else count
                    scanner = self._client.opened(session, self._table, _scan(keys, wanted, caching))
                results = session.call("scannerGetList", scanner.number, count, read=read)
        except StoreUnavailable:
            self._is_lost = True
            raise
        except StoreRefused as error:
            if before is None:
                raise
            self._is_lost = True
            raise StoreUnavailable(str(error)) from error  # an expired scanner: a new one may work
        self._is_lost = self._is_lost or before not in (None, scanner)
        self._scanner = scanner
        return results

    def _report_reopened(self, keys: KeyRange, seconds: float) -> None:
        self._is_lost = False
        row = keys.stop if self._wanted.reverse else keys.start
        self._client.gateway.log(INFO, "reopened", f"reopened scan at row {row[:_ROW_SHOWN]!r}", self._table, seconds)


def _from_to(first: bytes, last: bytes) -> KeyRange:
    # A scan cannot have a stop key longer than the longest row key.
    return KeyRange(first, last + b"\x00" if len(last) < MAX_ROW_KEY else b"")


def _with_cells(results: list[Any]) -> list[Any]:
    """*results*, with cells in place of Thrift's; raises errors of access if a part is missing."""
    for result in results:
        if not result.columns:
            raise WrongReply("a row came without its cells")
        cells = result.columns
        for column, newest in cells.items():  # the columns stay the same, so values may be replaced in the loop
            cells[column] = (filters.cell(newest.timestamp, newest.value),)
    return results


def _cells(versions: list[Any]) -> list[Cell]:
    return [filters.cell(version.timestamp, version.value) for version in versions]


def _scan(keys: KeyRange, wanted: Selection, caching: int | None) -> Any:
    start, stop = (keys.stop, keys.start) if wanted.reverse else keys
    return thrift1.TScan(
        startRow=start or None,
        stopRow=(filters.key_before(stop) if wanted.reverse else stop) or None,
        timestamp=None if wanted.time_range is None else wanted.time_range.until,
        columns=_columns(wanted),
        caching=caching,
        filterString=filters.filter_of(filters.STRINGS, wanted),
        reversed=wanted.reverse,
    )


def _columns(wanted: Selection) -> list[bytes] | None:
    return None if wanted.columns is None else [_column(column) for column in wanted.columns]


def _column(column: bytes) -> bytes:
    """*column* in the form of Thrift1, where a family is its name without the colon."""
    return column[:-1] if column.count(b":") == 1 and column.endswith(b":") else column


def _until(wanted: Selection) -> int:
    return wanted.time_range.until if wanted.time_range else _FOREVER

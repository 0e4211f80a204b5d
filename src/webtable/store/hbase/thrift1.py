"""Reads and writes on a Thrift1 gateway through HappyBase's client, with what it has no call for put together here.

Thrift1 has one timestamp a call, reads one version in a scan, knows an upper bound of the time and no lower one, and
scans by scanners that live in the gateway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webtable.rowkey import KeyRange
from webtable.store.base import MAX_ROW_KEY, Cell, Delete, Put, Row
from webtable.store.hbase import filterstrings
from webtable.store.hbase.answers import cell, check_read, check_scanned
from webtable.store.hbase.gateway import repeated
from webtable.store.hbase.selection import FEW_COLUMNS, Selection, key_before
from webtable.store.hbase.stream import WrongReply
from webtable.store.hbase.wire import thrift1
from webtable.store.wanted import distinct_columns

if TYPE_CHECKING:
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.gateway import Gateway, Session
    from webtable.store.hbase.wire import Connection

Each = Callable[[Iterable[Callable[[], None]]], None]
"""Runs jobs, some of them at once, and raises the first error of any."""

_Mutation, _BatchMutation = thrift1.Mutation, thrift1.BatchMutation
_column_of = itemgetter(0)
_FOREVER: Final = 2**63 - 1


class Scanner:
    """A scanner's number, and the connection that it lives and dies with."""

    __slots__ = ("__weakref__", "connection", "number")

    def __init__(self, number: int, connection: Connection) -> None:
        self.number = number
        self.connection = connection
        connection.scanners.add(self)


class Thrift1:
    """Each method is one or more calls of the gateway; *each* spreads independent ones over the connections."""

    deletes_exactly = False

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
        asked = list(dict.fromkeys(rows))

        def read(results: list[Any]) -> list[Any]:
            check_read([result.row for result in results], asked)
            return _whole(results)

        results = self._gateway.call(
            "getRowsWithColumnsTs",
            table.encode(),
            asked,
            columns(wanted),
            _until(wanted),
            {},
            deadline=deadline,
            table=table,
            read=read,
        )
        found = {row.key: row for row in self.translated(table, results, wanted, deadline)}
        return [found.get(row) for row in rows]

    def scanned(
        self,
        table: str,
        keys: KeyRange,
        wanted: Selection,
        count: int,
        caching: int | None,
        scanner: Scanner | None,
        deadline: Deadline,
    ) -> tuple[list[Any], Scanner]:
        """Return the next rows of *scanner* as they come, fewer than *count* are the last, and the scanner.

        That is another one, over *keys*, where there is none yet or its connection is in use or gone. Never repeated:
        the scanner moves on.
        """

        def read(results: list[Any]) -> list[Any]:
            check_scanned([result.row for result in results], keys, count, reverse=wanted.reverse)
            return _whole(results)

        preferred = None if scanner is None else scanner.connection
        with self._gateway.session(deadline, table, preferred=preferred) as session:
            if scanner is None or scanner.connection is not session.connection:
                scanner = self._open(session, table, _scan(keys, wanted, caching))
            return session.call("scannerGetList", scanner.number, count, read=read), scanner

    def close(self, table: str, scanner: Scanner, deadline: Deadline) -> None:
        """Have the gateway forget the scanner where its connection is free; else it does so after a minute or so."""
        with self._gateway.session(deadline, table, preferred=scanner.connection, only=True) as session:
            scanner.connection.scanners.discard(scanner)
            session.call("scannerClose", scanner.number)

    def _open(self, session: Session, table: str, scan: Any) -> Scanner:
        return Scanner(session.call("scannerOpenWithScan", table.encode(), scan, {}), session.connection)

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
            scan = thrift1.TScan(
                startRow=row,
                stopRow=stop,
                columns=[family],
                caching=1,
                batchSize=limit,
                filterString=filterstrings.all_of(parts),
            )
            results = self._first(table, scan, KeyRange(row, stop or b""), deadline)
            cells = chain.from_iterable(result.columns.items() for result in results if result.row == row)
            found.append([(column, newest) for column, (newest,) in sorted(cells, key=_column_of)])
        return found

    def _first(self, table: str, scan: Any, keys: KeyRange, deadline: Deadline) -> list[Any]:
        """Return the first row of *scan*, which is in *keys*, or none."""

        def read(results: list[Any]) -> list[Any]:
            check_scanned([result.row for result in results], keys, 1, reverse=False)
            return _whole(results)

        def attempt() -> list[Any]:
            with self._gateway.session(deadline, table) as session:
                scanner = self._open(session, table, scan)
                results: list[Any] = session.call("scannerGetList", scanner.number, 1, read=read)
                session.call("scannerClose", scanner.number)
            return results

        return repeated(attempt, deadline)

    def translated(self, table: str, results: Sequence[Any], wanted: Selection, deadline: Deadline) -> list[Row]:
        """Return the rows of *results*, without those that have no cell in the wanted times."""
        since = wanted.time_range.since if wanted.time_range else 0
        if wanted.keys_only:
            return [
                Row(result.row, {})
                for result in results
                if not since or any(one.timestamp >= since for (one,) in result.columns.values())
            ]
        if wanted.versions > 1:
            rows = (self._versions(table, result, wanted, deadline) for result in results)
            return [row for row in rows if row.cells]
        if since:
            rows = (
                Row(
                    result.row,
                    {column: cells for column, cells in result.columns.items() if cells[0].timestamp >= since},
                )
                for result in results
            )
            return [row for row in rows if row.cells]
        return [Row(result.row, result.columns) for result in results]

    def _versions(self, table: str, result: Any, wanted: Selection, deadline: Deadline) -> Row:
        since = wanted.time_range.since if wanted.time_range else 0
        cells = {}
        for column, (newest,) in result.columns.items():
            if newest.timestamp >= since:
                found = self._gateway.call(
                    "getVerTs",
                    table.encode(),
                    result.row,
                    column,
                    _until(wanted),
                    wanted.versions,
                    {},
                    deadline=deadline,
                    table=table,
                    read=_cells,
                )
                versions = [one for one in found if one.timestamp >= since]
                if versions:
                    cells[column] = versions
        return Row(result.row, cells)

    def _mutate(self, table: str, batches: Iterable[tuple[int, list[Any]]], deadline: Deadline) -> None:
        self._each(self._job(table, deadline, "mutateRowsTs", batch, timestamp) for timestamp, batch in batches)

    def _job(self, table: str, deadline: Deadline, method: str, *arguments: Any) -> Callable[[], None]:
        return lambda: self._gateway.call(method, table.encode(), *arguments, {}, deadline=deadline, table=table)


def _whole(results: list[Any]) -> list[Any]:
    """Return *results*, each with cells in place of Thrift's; raises what comes of reading a part that is missing."""
    for result in results:
        if not result.columns:
            raise WrongReply("a row came without its cells")
        result.columns = {column: (cell(one.timestamp, one.value),) for column, one in result.columns.items()}
    return results


def _cells(found: list[Any]) -> list[Cell]:
    return [cell(one.timestamp, one.value) for one in found]


def _scan(keys: KeyRange, wanted: Selection, caching: int | None) -> Any:
    start, stop = (keys.stop, keys.start) if wanted.reverse else keys
    return thrift1.TScan(
        startRow=start or None,
        stopRow=(key_before(stop) if wanted.reverse else stop) or None,
        timestamp=None if wanted.time_range is None else wanted.time_range.until,
        columns=columns(wanted),
        caching=caching,
        filterString=_filter(wanted),
        reversed=wanted.reverse,
    )


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

"""Scans in independent pieces: after any error the next one starts after the last row that was returned.

The descriptions of their calls for `describe_calls` are here too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from logging import INFO
from typing import TYPE_CHECKING, Any, Final

from webtable._clock import clock
from webtable.errors import StoreError, StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange, merged
from webtable.store.hbase.retries import repeated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey import KeyRange
    from webtable.rowkey.ranges import RangePart
    from webtable.store.deadline import Deadline
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.calls.thrift1 import Scanner, Thrift1
    from webtable.store.hbase.calls.thrift2 import Thrift2
    from webtable.store.rows import Row

RANGES_A_CALL: Final = 1000
FIRST_ROWS: Final = 32
_FIRST_KEYS: Final = 1000
_MOST_ROWS: Final = 5000
_TARGET_BYTES: Final = 2 * 1024 * 1024
_GROWTH: Final = 8
_SAMPLE: Final = 32
_IDLE_SECONDS: Final = 30.0  # below the lease of a scanner, 60 s
_CLOSE_SECONDS: Final = 2.0
_ROW_SHOWN: Final = 100


class PieceSize:
    """The number of rows to request next: about 2 MB, estimated from earlier rows, growing at most 8-fold."""

    def __init__(self, keys_only: bool) -> None:
        self.rows = _FIRST_KEYS if keys_only else FIRST_ROWS

    def learn(self, rows: Sequence[Row]) -> None:
        """Update the estimate with the sizes of *rows*."""
        sample = rows[:: max(1, len(rows) // _SAMPLE)]
        sizes = [
            sum(len(column) + 16 + sum(len(cell.value) for cell in cells) for column, cells in row.cells.items())
            + len(row.key)
            for row in sample
        ]
        average = max(sum(sizes) / len(sizes), max(sizes) / 16)
        self.rows = int(min(_TARGET_BYTES / average + 1, self.rows * _GROWTH, _MOST_ROWS))


class Pieces(ABC):
    """The state of one scan: the rest of its ranges and of its limit."""

    reads_ahead = False
    """Whether the next piece is already on its way while one is used, without a thread that waits for it."""

    def __init__(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> None:
        self._table = table
        self._wanted = wanted
        self._left = list(reversed(ranges)) if wanted.reverse else list(ranges)
        self._limit = limit
        self._size = PieceSize(wanted.keys_only)

    @property
    def done(self) -> bool:
        """Whether all rows have been returned."""
        return not self._left or self._limit == 0

    def next(self, deadline: Deadline) -> list[Row]:
        """Return the next rows, possibly none although there are more.

        After an error nothing is lost: the next call requests the same rows again.
        """
        ask = min(self._size.rows, self._limit) if self._limit is not None else self._size.rows
        # In reverse the first row may be the one at the stop key, which is not in the range.
        rows = self._found(ask + self._wanted.reverse, deadline)
        if self._limit is not None:
            rows = rows[: self._limit]
            self._limit -= len(rows)
        if rows:
            self._size.learn(rows)
        return rows

    def close(self, deadline: Deadline) -> None:  # noqa: B027, independent calls leave nothing open
        """Close what is open, without waiting."""

    def _found(self, count: int, deadline: Deadline) -> list[Row]:
        if self._wanted.plain is None:
            return self._fetch(count, deadline)
        try:
            return self._fetch(count, half_of(deadline))
        except StoreUnavailable:
            # The server may have found too little in that time; the caller checks the words anyway.
            self._wanted = self._wanted.plain
            return self._fetch(count, deadline)

    @abstractmethod
    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        """Return up to *count* rows, and remove them from the rest."""

    def _drop_until(self, key: bytes) -> None:
        """Remove everything up to *key* from the ranges."""
        reverse = self._wanted.reverse
        while self._left:
            first = self._left[0]
            rest = first.before(key) if reverse else first.after(key)
            if not rest.is_empty() and (not reverse or key > first.start):
                self._left[0] = rest
                return
            del self._left[0]


class StatelessPieces(Pieces):
    """A scan by Thrift2: each piece is one call over all remaining ranges (in reverse over one of them)."""

    def __init__(self, client: Thrift2, *args: Any) -> None:
        super().__init__(*args)
        self._client = client

    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        ranges = self._left[: 1 if self._wanted.reverse else RANGES_A_CALL]
        rows = self._client.rows(self._table, ranges, self._wanted, count, deadline)
        if len(rows) < count:
            del self._left[: len(ranges)]
        else:
            self._drop_until(rows[-1].key)
        return [row for row in rows if row.key in ranges[0]] if self._wanted.reverse else inside(rows, ranges)


class ScannerPieces(Pieces):
    """A scan by Thrift1: a scanner in the gateway, reopened after the last row if it is lost or was idle for long."""

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
        keys = self._left[0]
        results = repeated(lambda: self._attempt(keys, count, deadline), deadline, self._client.gateway, self._table)
        if self._is_lost:
            self._report_reopened(keys, clock.monotonic() - began)
        scanner, self._scanner = self._scanner, None
        rows = self._client.translated(self._table, results, self._wanted, deadline)
        self._scanner = scanner  # it has moved on, so it is useful only together with its rows
        self._pieces += 1
        self._used = clock.monotonic()
        if len(results) < count:
            self.close(deadline)
            del self._left[0]
            self._pieces = 0
        else:
            self._drop_until(results[-1].row)
        return [row for row in rows if row.key in keys] if self._wanted.reverse else rows

    def _attempt(self, keys: KeyRange, count: int, deadline: Deadline) -> list[Any]:
        scanner, self._scanner = self._scanner, None
        caching = None if self._pieces else count
        try:
            results, self._scanner = self._client.scanned(
                self._table, keys, self._wanted, count, caching, scanner, deadline
            )
        except StoreUnavailable:
            self._is_lost = True
            raise
        except StoreRefused as error:
            if scanner is None:
                raise
            self._is_lost = True
            raise StoreUnavailable(str(error)) from error  # an expired scanner: a new one may work
        if scanner is not None and scanner is not self._scanner:
            self._is_lost = True
        return results

    def _report_reopened(self, keys: KeyRange, seconds: float) -> None:
        self._is_lost = False
        row = keys.stop if self._wanted.reverse else keys.start
        name = None if self._scanner is None else self._scanner.gateway
        text = f"reopened scan at row {row[:_ROW_SHOWN]!r}"
        self._client.gateway.log(INFO, "reopened", text, self._table, seconds, name=name)


def half_of(deadline: Deadline) -> Deadline:
    """Return the deadline of a search, which leaves as much time to read without it."""
    return deadline.within(deadline.left() / 2)


def inside(rows: list[Row], ranges: Sequence[KeyRange]) -> list[Row]:
    """Return the rows that are in *ranges*; a gateway that does not know the filter sends those between them too."""
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


def scanner_calls(table: str, ranges: Sequence[KeyRange], *, each: bool, reverse: bool) -> list[str]:
    """Return the calls of Thrift1: one range after another, or with *each* for all of them concurrently."""
    count = "limit" if each else FIRST_ROWS
    backwards = ", reversed" if reverse else ""
    return [
        line
        for keys in _chosen(ranges, each, reverse, 1)
        for line in (
            f"Thrift1 scannerOpenWithScan({table!r}, {_shown(keys)}{backwards})",
            f"Thrift1 scannerGetList({count} rows)",
            "Thrift1 scannerClose()",
        )
    ]


def stateless_calls(table: str, ranges: Sequence[KeyRange], *, each: bool, reverse: bool) -> list[str]:
    """Return the calls of Thrift2: one for the ranges of a scan (in reverse the last one), or one for *each*."""
    if each:
        rows = "the last rows, reversed" if reverse else "the first rows"
        return [_line(table, [keys], rows) for keys in _chosen(ranges, each, reverse, 1)]
    chosen = _chosen(ranges, each, reverse, 1 if reverse else RANGES_A_CALL)
    rows = f"the last {FIRST_ROWS} rows, reversed" if reverse else f"the first {FIRST_ROWS} rows"
    return [_line(table, chosen, rows)] if chosen else []


def grouped_calls(table: str, calls: Iterable[Sequence[RangePart]]) -> list[str]:
    """Return the calls of Thrift2 for the first rows of each range, several ranges per call."""
    first = "the first rows of each"
    return [_line(table, [part.keys for part in parts], first, "with a PageFilter for each") for parts in calls]


def _chosen(ranges: Sequence[KeyRange], each: bool, reverse: bool, most: int) -> list[KeyRange]:
    if each:
        return [keys for keys in ranges if not keys.is_empty()]
    return merged(ranges)[-most:] if reverse else merged(ranges)[:most]


def _line(table: str, ranges: Sequence[KeyRange], rows: str, together: str = "in one MultiRowRangeFilter") -> str:
    what = _shown(ranges[0]) if len(ranges) == 1 else f"{len(ranges)} ranges {together}"
    return f"Thrift2 getScannerResults({table!r}, {what}, {rows})"


def _shown(keys: KeyRange) -> str:
    return f"{keys.start!r} to {keys.stop!r}" if keys.stop else f"{keys.start!r} to the end"

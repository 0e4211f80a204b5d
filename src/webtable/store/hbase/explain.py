"""What `describe_calls` says: a line for each call that the first piece of a scan, or of the first rows, takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.rowkey import KeyRange, merged
from webtable.store.hbase.scanning.pieces import FIRST_ROWS, RANGES_A_CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey.ranges import RangePart


def scanner_calls(table: str, ranges: Sequence[KeyRange], *, each: bool, reverse: bool) -> list[str]:
    """Return the calls of Thrift1: one range after another, or with *each* of all of them side by side."""
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
    """Return the calls of Thrift2: one for the ranges of a scan (backwards the last one), or one for *each*."""
    if each:
        rows = "the last rows, reversed" if reverse else "the first rows"
        return [_line(table, [keys], rows) for keys in _chosen(ranges, each, reverse, 1)]
    chosen = _chosen(ranges, each, reverse, 1 if reverse else RANGES_A_CALL)
    rows = f"the last {FIRST_ROWS} rows, reversed" if reverse else f"the first {FIRST_ROWS} rows"
    return [_line(table, chosen, rows)] if chosen else []


def grouped_calls(table: str, calls: Iterable[Sequence[RangePart]]) -> list[str]:
    """Return the calls of Thrift2 for the first rows of each range, some ranges a call."""
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

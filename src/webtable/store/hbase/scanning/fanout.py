"""The first rows of many ranges at once: calls side by side, each for some ranges in a group of regions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from webtable.errors import StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import RangePart, calls_of, groups_of
from webtable.store.hbase.scanning.pieces import Pieces, half_of
from webtable.store.hbase.scanning.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.calls.thrift2 import Thrift2
    from webtable.store.hbase.workers import Workers
    from webtable.store.rows import Row


def overlap(ranges: Sequence[KeyRange]) -> bool:
    """Whether a key is in two of *ranges*."""
    in_order = sorted(keys for keys in ranges if not keys.is_empty())
    return any(not a.stop or b.start < a.stop for a, b in pairwise(in_order))


class FirstRows:
    """One call of `first_rows` on a Thrift2 gateway."""

    def __init__(self, client: Thrift2, workers: Workers, table: str, limit: int) -> None:
        self._client = client
        self._workers = workers
        self._table = table
        self._limit = limit

    def of(
        self, ranges: Sequence[KeyRange], wanted: Selection, deadline: Deadline, bounds: Sequence[bytes], groups: int
    ) -> list[list[Row]]:
        """Return the first rows of each of *ranges*, which do not overlap; *bounds* as in `groups_of`."""
        found: list[list[Row]] = [[] for _ in ranges]
        calls = calls_of(groups_of(ranges, bounds, groups), self._limit)
        results = self._workers.map(lambda parts: self._searched(parts, wanted, deadline, bounds), calls)
        for parts, rows in zip(calls, results, strict=True):
            for part, some in zip(parts, rows, strict=True):
                found[part.owner] += some
        return [rows[: self._limit] for rows in found]

    def _searched(
        self, parts: list[RangePart], wanted: Selection, deadline: Deadline, bounds: Sequence[bytes]
    ) -> list[list[Row]]:
        if wanted.plain is None:
            return self._found(parts, wanted, deadline, bounds)
        try:
            return self._found(parts, wanted, half_of(deadline), bounds)
        except StoreUnavailable:
            return self._found(parts, wanted.plain, deadline, bounds)

    def _found(
        self, parts: list[RangePart], wanted: Selection, deadline: Deadline, bounds: Sequence[bytes]
    ) -> list[list[Row]]:
        """Return the first rows of each of *parts*, which are in key order."""
        found: list[list[Row]] = [[] for _ in parts]
        place = 0  # of the first part that is neither complete nor full
        start = parts[0].keys.start
        while place < len(parts):
            ranges = [KeyRange(start, parts[place].keys.stop), *(part.keys for part in parts[place + 1 :])]
            ask = self._limit * len(ranges)
            rows = self._client.rows(self._table, ranges, wanted, ask, deadline, each=self._limit, bounds=bounds)
            last = self._hand_out(rows, parts, place, found)
            if len(rows) < ask:
                break
            # All are full, or a part lies in more regions than were known, and brought more than its share.
            place, start = last, rows[-1].key + b"\x00"
            if len(found[place]) >= self._limit or KeyRange(start, parts[place].keys.stop).is_empty():
                place += 1
                start = parts[place].keys.start if place < len(parts) else start
        return found

    def _hand_out(self, rows: list[Row], parts: list[RangePart], place: int, found: list[list[Row]]) -> int:
        """Give *rows* to the parts that they are in, from *place* on, and return the part of the last one."""
        for row in rows:
            while place + 1 < len(parts) and parts[place].keys.stop and row.key >= parts[place].keys.stop:
                place += 1
            if len(found[place]) < self._limit and row.key in parts[place].keys:
                found[place].append(row)
        return place


def rows_of_each(
    pieces: Callable[[KeyRange], Pieces], ranges: Sequence[KeyRange], workers: Workers, deadline: Deadline
) -> list[list[Row]]:
    """Return the rows of *pieces* for each of *ranges*, side by side."""

    def rows(keys: KeyRange) -> list[Row]:
        return [] if keys.is_empty() else list(rows_of(pieces(keys), workers, lambda: deadline))

    return workers.map(rows, ranges)

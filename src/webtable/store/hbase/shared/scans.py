"""Scans in independent pieces, each within one deadline and read ahead, and the first rows of many ranges.

After any error the next piece starts after the last row that was returned.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, Protocol

from webtable.errors import OtherProcess, StoreError, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import RangePart, calls_of, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.shared.filters import Selection
    from webtable.store.hbase.shared.sockets import Workers
    from webtable.store.rows import Row

RANGES_A_CALL: Final = 1000
FIRST_ROWS: Final = 32
_FIRST_KEYS: Final = 1000
_MOST_ROWS: Final = 5000
_TARGET_BYTES: Final = 2 * 1024 * 1024
_GROWTH: Final = 8
_SAMPLE: Final = 32
_AHEAD_FROM: Final = 2


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


def half_of(deadline: Deadline) -> Deadline:
    """Return the deadline of a search, which leaves as much time to read without it."""
    return deadline.within(deadline.left() / 2)


def rows_of(pieces: Pieces, workers: Workers, deadline: Callable[[], Deadline]) -> Iterator[Row]:
    """Yield the rows of `pieces_of`."""
    return chain.from_iterable(pieces_of(pieces, workers, deadline))


def pieces_of(pieces: Pieces, workers: Workers, deadline: Callable[[], Deadline]) -> Iterator[list[Row]]:
    """Yield lists of the rows of *pieces*, also empty ones; from the third piece on, the next is read ahead.

    *deadline* returns that of a call. One applies from the request of a row until it is there, however many pieces
    without a row come before it. Raises `OtherProcess` if the next piece is requested in a forked child.
    """
    ahead, process = None, os.getpid()
    count = empty = 0
    try:
        until = deadline()
        while ahead is not None or not pieces.done:
            if os.getpid() != process:
                raise OtherProcess("this scan was begun by the parent process, before the fork: begin it again here")
            piece = pieces.next(until) if ahead is None else ahead.piece(until)
            ahead = None
            count += 1
            if count > _AHEAD_FROM and not pieces.done and not pieces.reads_ahead and not workers.is_worker():
                ahead = NextPiece(pieces, workers, deadline())
            empty += 1
            yield piece
            if piece:
                until, empty = deadline(), 0
    except StoreUnavailable as error:
        if not empty:
            raise
        raise StoreUnavailable(f"{error} (after {empty} pieces without a row)") from error
    finally:
        if os.getpid() == process:
            with suppress(StoreError):
                if ahead is None:
                    pieces.close(deadline())
                else:
                    ahead.leave(deadline())


class NextPiece:
    """The next of *pieces*, which *workers* fetch while the caller uses this one."""

    def __init__(self, pieces: Pieces, workers: Workers, deadline: Deadline) -> None:
        self._pieces = pieces
        self._workers = workers
        self._deadline = deadline
        self._first = [True]
        self._task = workers.submit(self._fetch)

    def piece(self, until: Deadline) -> list[Row]:
        """Return the piece; it is fetched in this thread if no other one has begun it, or could not."""
        if self._task.cancel():
            return self._pieces.next(until)
        self._deadline.limit_to(until)
        try:
            return self._workers.result(self._task, until)
        except StoreUnavailable:
            # That may be long ago: the deadline of the piece read ahead includes the time to use this one.
            if not self._task.done() or not until.left():
                raise
        return self._pieces.next(until)

    def leave(self, deadline: Deadline) -> None:
        """Close the pieces, now or when they are no longer in use, without waiting."""
        if self._task.cancel() or self._is_second():
            self._pieces.close(deadline)

    def _fetch(self) -> list[Row]:
        try:
            return self._pieces.next(self._deadline)
        finally:
            if self._is_second():
                self._pieces.close(self._deadline)

    def _is_second(self) -> bool:
        """Whether the other thread (of the fetching and the leaving one) was here already: the second one closes."""
        try:
            return not self._first.pop()  # without a lock, because garbage collection may close an iterator anywhere
        except IndexError:
            return True


def overlap(ranges: Sequence[KeyRange]) -> bool:
    """Whether any key is in two of *ranges*."""
    in_order = sorted(keys for keys in ranges if not keys.is_empty())
    return any(not a.stop or b.start < a.stop for a, b in pairwise(in_order))


class FirstRowsClient(Protocol):
    """The call of HBase that `first_rows` needs."""

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
        """Return the first *limit* rows of *ranges*, or with *each* of each range; see `Thrift2.rows`."""


class FirstRows:
    """One call of `first_rows`, by a client that takes several ranges in a call."""

    def __init__(self, client: FirstRowsClient, workers: Workers, table: str, limit: int) -> None:
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
        place = 0  # the first part that is neither complete nor full
        start = parts[0].keys.start
        while place < len(parts):
            ranges = [KeyRange(start, parts[place].keys.stop), *(part.keys for part in parts[place + 1 :])]
            ask = self._limit * len(ranges)
            rows = self._client.rows(self._table, ranges, wanted, ask, deadline, each=self._limit, bounds=bounds)
            last = self._hand_out(rows, parts, place, found)
            if len(rows) < ask:
                break
            # All are full, or a part lies in more regions than known, and returned more than its share.
            place, start = last, rows[-1].key + b"\x00"
            if len(found[place]) >= self._limit or KeyRange(start, parts[place].keys.stop).is_empty():
                place += 1
                start = parts[place].keys.start if place < len(parts) else start
        return found

    def _hand_out(self, rows: list[Row], parts: list[RangePart], place: int, found: list[list[Row]]) -> int:
        """Assign *rows* to their parts, from *place* on, and return the part of the last one."""
        for row in rows:
            while place + 1 < len(parts) and parts[place].keys.stop and row.key >= parts[place].keys.stop:
                place += 1
            if len(found[place]) < self._limit and row.key in parts[place].keys:
                found[place].append(row)
        return place


def rows_of_each(
    pieces: Callable[[KeyRange], Pieces], ranges: Sequence[KeyRange], workers: Workers, deadline: Deadline
) -> list[list[Row]]:
    """Return the rows of *pieces* for each of *ranges*, concurrently."""

    def rows(keys: KeyRange) -> list[Row]:
        return [] if keys.is_empty() else list(rows_of(pieces(keys), workers, lambda: deadline))

    return workers.map(rows, ranges)

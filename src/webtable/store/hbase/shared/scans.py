"""Scans in independent pieces, each within one deadline and read ahead, and the first rows of many ranges.

After any error the next piece starts after the last row that was returned.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from webtable.errors import OtherProcess, StoreError, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import RangePart, calls_of, groups_of
from webtable.store.deadline import Deadline
from webtable.store.hbase.shared.filters import Selection
from webtable.store.hbase.shared.sockets import Workers

if TYPE_CHECKING:
    from webtable.store.rows import Row

T = TypeVar("T")

RANGES_A_CALL: Final = 1000
FIRST_ROWS: Final = 32
_FIRST_KEYS: Final = 1000
_MOST_ROWS: Final = 5000
_TARGET_BYTES: Final = 2 * 1024 * 1024
_GROWTH: Final = 8
_SAMPLE: Final = 32
_AHEAD_FROM: Final = 2  # pieces: a caller who reads no further than the second has nothing fetched for him in vain


# --- The pieces of a scan ---------------------------------------------------------------------------------------------


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
        # A single large row in the sample counts too: the next piece may have many of its kind.
        average = max(sum(sizes) / len(sizes), max(sizes) / 16)
        self.rows = int(min(_TARGET_BYTES / average + 1, self.rows * _GROWTH, _MOST_ROWS))


def searched(read: Callable[[Selection, Deadline], T], wanted: Selection, deadline: Deadline) -> T:
    """The result of *read* for *wanted*; without its search if that takes over half of the time.

    A server that finds no match in that time has no row to give. The caller checks the words anyway.
    """
    if wanted.plain is None:
        return read(wanted, deadline)
    try:
        return read(wanted, deadline.within(deadline.left() / 2))
    except StoreUnavailable:
        return read(wanted.plain, deadline)


class Pieces(ABC):
    """The state of one scan: the rest of its ranges and of its limit."""

    reads_ahead = False
    """Whether the next piece is already on its way while one is used, without a thread that waits for it."""

    def __init__(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> None:
        self._table = table
        self._wanted = wanted
        self._rest = list(reversed(ranges)) if wanted.reverse else list(ranges)
        self._limit = limit
        self._size = PieceSize(wanted.keys_only)

    @property
    def done(self) -> bool:
        """Whether all rows have been returned."""
        return not self._rest or self._limit == 0

    def next(self, deadline: Deadline) -> list[Row]:
        """The next rows, possibly none although there are more.

        After an error nothing is lost: the next call requests the same rows again.
        """
        count = self._size.rows if self._limit is None else min(self._size.rows, self._limit)

        def fetch(wanted: Selection, until: Deadline) -> list[Row]:
            self._wanted = wanted  # a search that took too long is not tried again for the next piece
            # In reverse the first row may be the one at the stop key, which is not in the range.
            return self._fetch(count + wanted.reverse, until)

        rows = searched(fetch, self._wanted, deadline)
        if self._limit is not None:
            rows = rows[: self._limit]
            self._limit -= len(rows)
        if rows:
            self._size.learn(rows)
        return rows

    def close(self, deadline: Deadline) -> None:  # noqa: B027, independent calls leave nothing open
        """Close what is open, without waiting."""

    @abstractmethod
    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        """Fetch up to *count* rows, and remove them from the rest."""

    def _drop_until(self, key: bytes) -> None:
        """Remove everything up to *key* from the ranges."""
        reverse = self._wanted.reverse
        while self._rest:
            first = self._rest[0]
            rest = first.before(key) if reverse else first.after(key)
            if not rest.is_empty() and (not reverse or key > first.start):
                self._rest[0] = rest
                return
            del self._rest[0]


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
            # A worker reads its scan alone: reading ahead would take the thread of another scan.
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
        """The piece; it is fetched in this thread if no other one has begun it, or could not."""
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


# --- The first rows of many ranges ------------------------------------------------------------------------------------
#
# A call brings the first rows of up to 32 ranges of neighbouring regions, and several calls run side by side. A filter
# ends each range at its share and seeks to the next, so a full range costs no further call (`filters.first_of_each`).


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
        """The first *limit* rows of *ranges*, or with *each* of each range; see `Thrift2.rows`."""


@dataclass(frozen=True, slots=True)
class FirstRows:
    """One call of `first_rows`, by a client that takes several ranges in a call; `bounds` as in `groups_of`."""

    client: FirstRowsClient
    workers: Workers
    table: str
    wanted: Selection
    limit: int
    deadline: Deadline
    bounds: Sequence[bytes]

    def of(self, ranges: Sequence[KeyRange], groups: int) -> list[list[Row]]:
        """The first rows of each of *ranges*, which do not overlap, read in so many *groups* at once."""
        rows_of: list[list[Row]] = [[] for _ in ranges]
        calls = calls_of(groups_of(ranges, self.bounds, groups), self.limit)
        results = self.workers.map(
            lambda parts: searched(lambda wanted, until: self._read(parts, wanted, until), self.wanted, self.deadline),
            calls,
        )
        for part, rows in zip(chain.from_iterable(calls), chain.from_iterable(results), strict=True):
            rows_of[part.owner] += rows
        return [rows[: self.limit] for rows in rows_of]

    def _read(self, parts: list[RangePart], wanted: Selection, deadline: Deadline) -> list[list[Row]]:
        """The first rows of each of *parts*, which are in key order."""
        rows_of: list[list[Row]] = [[] for _ in parts]
        place = 0  # the first part that is neither complete nor full
        start = parts[0].keys.start
        while place < len(parts):
            ranges = [KeyRange(start, parts[place].keys.stop), *(part.keys for part in parts[place + 1 :])]
            count = self.limit * len(ranges)
            rows = self.client.rows(self.table, ranges, wanted, count, deadline, each=self.limit, bounds=self.bounds)
            last = self._hand_out(rows, parts, place, rows_of)
            if len(rows) < count:
                break
            # All are full, or a part lies in more regions than known, and returned more than its share.
            place, start = last, rows[-1].key + b"\x00"
            if len(rows_of[place]) >= self.limit or KeyRange(start, parts[place].keys.stop).is_empty():
                place += 1
                start = parts[place].keys.start if place < len(parts) else start
        return rows_of

    def _hand_out(self, rows: list[Row], parts: list[RangePart], place: int, rows_of: list[list[Row]]) -> int:
        """Add *rows* to those of their parts, from *place* on, and return the part of the last one."""
        for row in rows:
            while place + 1 < len(parts) and parts[place].keys.stop and row.key >= parts[place].keys.stop:
                place += 1
            if len(rows_of[place]) < self.limit and row.key in parts[place].keys:
                rows_of[place].append(row)
        return place


def rows_of_each(
    pieces: Callable[[KeyRange], Pieces], ranges: Sequence[KeyRange], workers: Workers, deadline: Deadline
) -> list[list[Row]]:
    """The rows of *pieces* for each of *ranges*, concurrently."""

    def rows(keys: KeyRange) -> list[Row]:
        return [] if keys.is_empty() else list(chain.from_iterable(pieces_of(pieces(keys), workers, lambda: deadline)))

    return workers.map(rows, ranges)

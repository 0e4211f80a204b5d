"""Scans on region servers: one region after another, each by a scanner that is opened again wherever it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.rowkey import KeyRange
from webtable.store.hbase.calls.filter_bytes import filter_of
from webtable.store.hbase.calls.selection import check_scanned
from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.calls import NativeCalls, add_columns, add_filter, add_times
from webtable.store.hbase.native.cells import decoded_rows, joined
from webtable.store.hbase.native.failures import CALL_ERRORS
from webtable.store.hbase.native.servers import CLIENT
from webtable.store.hbase.scan_pieces import RANGES_A_CALL, Pieces
from webtable.store.rows import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.native.cluster import Cluster, LocatedRegion
    from webtable.store.hbase.native.servers import Sent

PIECE_BYTES: Final = 2 * 1024 * 1024
"""The bytes of an answer, beyond which HBase gives it: as many as a call of a gateway has."""
_PREAD: Final = 2
"""The way to read a file for short scans, which lets others read it at the same time."""
_SHORT: Final = 1000  # rows
_CLOSE_SECONDS: Final = 2.0


class NativePieces(Pieces):
    """A scan by the region servers: each piece is an answer of about 2 MB, and the next one is already on its way.

    What a scanner had not given when its region moved or its lease ended is read by another one.
    """

    reads_ahead = True

    def __init__(
        self,
        cluster: Cluster,
        table: str,
        ranges: Sequence[KeyRange],
        wanted: Selection,
        limit: int | None,
        *,
        each: int | None = None,
        bounds: Sequence[bytes] = (),
    ) -> None:
        super().__init__(table, ranges, wanted, limit)
        self._cluster = cluster
        self._each, self._bounds = each, bounds
        self._scanner: _Scanner | None = None

    def ask_for(self, rows: int) -> None:
        """Ask for *rows* at once, instead of a few at first."""
        self._size.rows = rows

    def close(self, deadline: Deadline) -> None:
        """Close the scanner, without waiting for an answer."""
        scanner, self._scanner = self._scanner, None
        if scanner is not None:
            scanner.close(deadline.within(_CLOSE_SECONDS))

    def _fetch(self, count: int, deadline: Deadline) -> list[Row]:
        return self._cluster.retried(lambda soon: self._attempt(count, soon), self._table, "Scan", deadline)

    def _attempt(self, count: int, deadline: Deadline) -> list[Row]:
        scanner, self._scanner = self._scanner, None
        try:
            if scanner is None:
                scanner = self._opened(count, deadline)
            found = scanner.next(count, deadline)
        except CALL_ERRORS:
            if scanner is not None:
                scanner.close(deadline.within(_CLOSE_SECONDS))
            raise
        if found:
            keys = self._rest(scanner.keys)
            check_scanned([row.key for row in found], keys, len(found), reverse=self._wanted.reverse)
            self._drop_until(found[-1].key)
        if scanner.done:
            self._drop_scanned(scanner.keys)
        else:
            self._scanner = scanner
        return [Row(row.key, {}) for row in found] if self._wanted.keys_only else found

    def _rest(self, keys: KeyRange) -> KeyRange:
        """Return what was not read yet of *keys*, those of a scanner."""
        first = self._left[0]
        if self._wanted.reverse:
            return keys.before(first.stop) if first.stop else keys
        return KeyRange(max(keys.start, first.start), keys.stop)

    def _opened(self, count: int, deadline: Deadline) -> _Scanner:
        """Return a scanner of the next region that has some of the ranges."""
        regions = self._cluster.regions(self._table, deadline)
        first, reverse = self._left[0], self._wanted.reverse
        region = regions.before(first.stop) if reverse else regions.of(first.start)
        ranges = [_common(keys, region) for keys in self._left[: 1 if reverse else RANGES_A_CALL]]
        ranges = [keys for keys in ranges if not keys.is_empty()]
        if not ranges:  # a region that has changed between two looks
            raise WrongReply("the region does not hold the range")
        encoded = filter_of(ranges, self._wanted, self._each, self._bounds)
        is_all = self._limit is not None and self._limit <= count
        return _Scanner(self._cluster, region, ranges, self._wanted, encoded, count if is_all else None)

    def _drop_scanned(self, keys: KeyRange) -> None:
        """Remove *keys*, of which all was read, and what comes before them from the ranges."""
        if self._wanted.reverse:
            left = [one.before(keys.start) for one in self._left] if keys.start else []
        else:
            left = [KeyRange(max(one.start, keys.stop), one.stop) for one in self._left] if keys.stop else []
        self._left = [one for one in left if not one.is_empty()]


class _Scanner:
    """A scanner of the *ranges* within one *region*; with *limit* it ends after as many rows."""

    def __init__(
        self,
        cluster: Cluster,
        region: LocatedRegion,
        ranges: Sequence[KeyRange],
        wanted: Selection,
        encoded_filter: bytes | None,
        limit: int | None,
    ) -> None:
        self.region: Final = region
        self.keys: Final = KeyRange(ranges[0].start, ranges[-1].stop)
        self.done = False
        self._servers = cluster.servers
        self._server = region.on_server()
        self._scan = _scan(ranges, wanted, encoded_filter, limit)
        self._limit = limit
        self._one = wanted.versions == 1
        self._number: int | None = None
        self._calls = 0
        self._ahead: Sent | None = None
        self._part: Row | None = None

    def next(self, count: int, deadline: Deadline) -> list[Row]:
        """Return the next rows, about *count*, possibly none; after any error the scanner is of no use."""
        sent, self._ahead = self._ahead, None
        if sent is None:
            sent = self._send(count, deadline)
        message, data, start, end = sent.wait(deadline)
        if message.scanner_id:
            self._number = message.scanner_id
        found = self._whole(decoded_rows(data, start, end, message.cells_per_result, one_version=self._one), message)
        if self._limit is not None:
            self._limit -= len(found)
        if not message.more_results or not message.more_results_in_region:
            self.done, self._number = True, None  # HBase has closed it
        elif self._number is None:
            raise WrongReply("there are more rows, and no scanner that gives them")
        elif self._limit == 0:
            self.done = True
            self.close(deadline)
        elif self._calls > 1:
            self._ahead = self._send(count, deadline)
        if self.done and self._part is not None:
            found.append(self._part)
        return found

    def close(self, deadline: Deadline) -> None:
        """Have the scanner closed, and wait for no answer."""
        ahead, self._ahead = self._ahead, None
        number, self._number = self._number, None
        try:
            if ahead is not None:
                ahead.drop()
            if number is not None:
                request = pb.ScanRequest(scanner_id=number, number_of_rows=0, close_scanner=True)
                self._servers.send(self._server, CLIENT, "Scan", request, pb.ScanResponse, deadline).drop()
        except CALL_ERRORS:
            pass  # it expires by itself after a minute

    def _send(self, count: int, deadline: Deadline) -> Sent:
        request = pb.ScanRequest(number_of_rows=count, client_handles_partials=True, client_handles_heartbeats=True)
        if self._limit is not None:
            request.limit_of_rows = self._limit  # HBase counts again in each call
        if self._number is None:
            request.region.CopyFrom(self.region.specifier())
            request.scan.CopyFrom(self._scan)
        else:
            request.scanner_id = self._number
            request.next_call_seq = self._calls - 1  # that of the call after the one that opened it is 0
        self._calls += 1
        return self._servers.send(self._server, CLIENT, "Scan", request, pb.ScanResponse, deadline)

    def _whole(self, found: list[Row], message: pb.ScanResponse) -> list[Row]:
        """Return the rows that are complete; the beginning of one that is larger than an answer is kept."""
        partial = message.partial_flag_per_result
        if not any(partial) and self._part is None:
            return found
        if partial and len(partial) != len(found):
            raise WrongReply("an answer does not say which of its rows are complete")
        whole: list[Row] = []
        for place, row in enumerate(found):
            part, self._part = self._part, None
            if part is not None:
                if part.key == row.key:
                    if self._one and not part.cells.keys().isdisjoint(row.cells):
                        raise WrongReply("a part of a row came twice")
                    row = joined(part, row)
                else:
                    whole.append(part)
            if partial and partial[place]:
                self._part = row
            else:
                whole.append(row)
        return whole


def _scan(ranges: Sequence[KeyRange], wanted: Selection, encoded_filter: bytes | None, limit: int | None) -> pb.Scan:
    """Return the scan of *ranges*, which are sorted and disjoint (in reverse there is one)."""
    scan = pb.Scan(max_versions=wanted.versions, max_result_size=PIECE_BYTES)
    if wanted.reverse:
        scan.reversed = True
        # The stop of a range is not in it, and its start is.
        scan.start_row, scan.include_start_row = ranges[0].stop, not ranges[0].stop
        scan.stop_row, scan.include_stop_row = ranges[0].start, True
    else:
        scan.start_row, scan.stop_row = ranges[0].start, ranges[-1].stop
    if limit is not None and limit <= _SHORT:
        scan.readType = _PREAD
    add_columns(scan, wanted.columns)
    add_times(scan, wanted)
    add_filter(scan, encoded_filter)
    return scan


def _common(keys: KeyRange, region: LocatedRegion) -> KeyRange:
    stops = [stop for stop in (keys.stop, region.stop) if stop]
    return KeyRange(max(keys.start, region.start), min(stops) if stops else b"")


class NativeClient(NativeCalls):
    """All calls for rows: those of `NativeCalls`, and the first rows of ranges."""

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
        """Return the first *limit* rows of *ranges*, as `Thrift2.rows` does."""
        pieces = NativePieces(self._cluster, table, ranges, wanted, limit, each=each, bounds=bounds)
        pieces.ask_for(limit)
        rows: list[Row] = []
        try:
            while not pieces.done:
                rows += pieces.next(deadline)
        finally:
            pieces.close(deadline)
        return rows

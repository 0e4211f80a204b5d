"""Reads, writes and scans on region servers.

Calls for rows go to several regions at once, each with its own outcome. A scan reads one region after another, by a
scanner that is opened again wherever it is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from webtable.errors import StoreError, StoreRefused
from webtable.rowkey import KeyRange
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cluster import decoded_rows, encode_delete, encode_put, joined
from webtable.store.hbase.native.connection import CALL_ERRORS, ServerError, translated
from webtable.store.hbase.native.servers import CLIENT
from webtable.store.hbase.shared.failures import WrongReply, unknown
from webtable.store.hbase.shared.filters import MESSAGES, check_scanned, columns_filter, filter_of_scan
from webtable.store.hbase.shared.scans import RANGES_A_CALL, Pieces
from webtable.store.hbase.shared.write import short
from webtable.store.rows import Put, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.cluster import Cluster, LocatedRegion, TableRegions
    from webtable.store.hbase.native.connection import RpcAnswer, RpcCall
    from webtable.store.hbase.shared.filters import ColumnPiece, Selection
    from webtable.store.rows import Cell, Mutation
    from webtable.store.url import HostPort

PIECE_BYTES: Final = 2 * 1024 * 1024
"""The bytes of an answer, beyond which HBase gives it: as many as a call of a gateway has."""
_PREAD: Final = 2
"""The way to read a file for short scans, which lets others read it at the same time."""
_SHORT: Final = 1000  # rows
_CLOSE_SECONDS: Final = 2.0
_PUT, _DELETE = 2, 3  # of MutationProto
_EQUAL: Final = 2  # of CompareType
_BINARY: Final = "org.apache.hadoop.hbase.filter.BinaryComparator"

Places = list[int]
"""Places in the sequence of rows or mutations of a call."""
Parts: TypeAlias = "list[tuple[LocatedRegion, Places]]"
"""The part of a call that goes to a server, by region."""


class NativeClient:
    """Gets and mutations, by one `Multi` call for each region server that holds some of the rows, and first rows."""

    deletes_exactly = names_families = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def apply(self, table: str, mutations: Sequence[Mutation], deadline: Deadline) -> list[StoreError | None]:
        """Apply *mutations*, all puts or all deletes, and return the outcome of each."""
        outcomes: list[StoreError | None] = [None] * len(mutations)
        remaining = list(range(len(mutations)))
        rows = [mutation.row for mutation in mutations]
        names: dict[bytes, bytes] = {}

        def fill(action: pb.Action, place: int, block: list[bytes]) -> None:
            _encode(mutations[place], action.mutation, block, names)

        def attempt(soon: Deadline) -> None:
            nonlocal remaining
            results = self._multi(table, rows, remaining, fill, soon)
            failures = {place: exc for place, exc in results.items() if isinstance(exc, Exception)}
            remaining = [place for place, exc in failures.items() if _passes(exc)]
            for place, exc in failures.items():
                if not _passes(exc):
                    error = translated(exc, self._cluster.name, table, "Multi")
                    outcomes[place] = StoreRefused(f"{error} (row {short(rows[place])})")
            if remaining:
                raise failures[remaining[0]]

        try:
            self._cluster.retried(attempt, table, "Multi", deadline)
        except StoreError as error:
            for place in remaining:
                outcomes[place] = error
        return outcomes

    def check_and_put(self, table: str, put: Put, column: bytes, expected: bytes | None, deadline: Deadline) -> bool:
        """Compare and put; repeated only where HBase has answered that it did neither."""
        servers, block = self._cluster.servers, list[bytes]()
        family, _, qualifier = column.partition(b":")
        value = pb.BinaryComparator(comparable=pb.ByteArrayComparable(value=expected)).SerializeToString()
        condition = pb.Condition(row=put.row, family=family, qualifier=qualifier, compare_type=_EQUAL)
        condition.comparator.MergeFrom(pb.Comparator(name=_BINARY, serialized_comparator=value))
        request = pb.MutateRequest(condition=condition)
        _encode(put, request.mutation, block, {})

        def attempt(soon: Deadline) -> bool:
            region = self._cluster.regions(table, soon).of(put.row)
            request.region.CopyFrom(region.specifier())
            server = region.on_server()
            servers.touch(server, CLIENT, soon)  # an error of connecting may be followed by another attempt
            try:
                call = servers.send(server, CLIENT, "Mutate", request, pb.MutateResponse, soon, b"".join(block))
                answer = call.wait(soon).message
                if not answer.HasField("processed"):
                    raise WrongReply("an answer that does not tell whether the row was put")
            except OSError as exc:
                raise unknown(translated(exc, self._cluster.name, table, "Mutate")) from exc
            return bool(answer.processed)

        return self._cluster.retried(attempt, table, "Mutate", deadline)

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """The rows, None if nothing is visible."""
        get = pb.Get(row=b"", max_versions=wanted.versions)
        _add_columns(get, wanted.columns)
        _add_times(get, wanted)
        results = self._gets(table, rows, get, deadline, one_version=wanted.versions == 1)
        return [row if row.cells else None for row in results]

    def cells(
        self, table: str, rows: Sequence[bytes], piece: ColumnPiece, deadline: Deadline
    ) -> list[list[tuple[bytes, Cell]]]:
        """*piece* of each of *rows*, with the newest cells."""
        get = pb.Get(row=b"", max_versions=1, store_limit=piece.limit)
        get.column.add(family=piece.family)
        _add_filter(get, columns_filter(MESSAGES, piece))
        results = self._gets(table, rows, get, deadline)
        return [[(column, cell) for column, (cell,) in row.cells.items()] for row in results]

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
        """The first *limit* rows of *ranges*, as `FirstRowsClient.rows` says."""
        pieces = NativePieces(self._cluster, table, ranges, wanted, limit, each=each, bounds=bounds)
        rows: list[Row] = []
        try:
            while not pieces.done:
                rows += pieces.next(deadline)
        finally:
            pieces.close(deadline)
        return rows

    def _gets(
        self, table: str, rows: Sequence[bytes], get: pb.Get, deadline: Deadline, *, one_version: bool = True
    ) -> list[Row]:
        """Each of *rows*, without cells if nothing of it is visible."""
        results: list[Row | None] = [None] * len(rows)

        def fill(action: pb.Action, place: int, _: list[bytes]) -> None:
            action.get.CopyFrom(get)
            action.get.row = rows[place]

        def attempt(soon: Deadline) -> None:
            remaining = [place for place, row in enumerate(results) if row is None]
            failures: list[Exception] = []
            for place, outcome in self._multi(table, rows, remaining, fill, soon, one_version).items():
                if isinstance(outcome, Exception):
                    failures.append(outcome)
                elif outcome.cells and outcome.key != rows[place]:
                    raise WrongReply(f"the row {outcome.key[:100]!r} came instead of {rows[place][:100]!r}")
                else:
                    results[place] = outcome
            if failures:
                raise next((exc for exc in failures if not _passes(exc)), failures[0])

        self._cluster.retried(attempt, table, "Multi", deadline)
        return [row for row in results if row is not None]

    def _multi(
        self,
        table: str,
        rows: Sequence[bytes],
        places: Places,
        fill: Callable[[pb.Action, int, list[bytes]], None],
        deadline: Deadline,
        one_version: bool = True,
    ) -> dict[int, Row | Exception]:
        """Make a call for each server that holds some of the rows at *places*, all at once; what came for each place.

        *fill* makes the action of a place.
        """
        outcomes: dict[int, Row | Exception] = {}
        regions = self._cluster.regions(table, deadline)
        sent: list[tuple[RpcCall, Parts]] = []
        for server, parts in _by_server(regions, rows, places, outcomes).items():
            request, block = pb.MultiRequest(), list[bytes]()
            for region, mine in parts:
                part = request.regionAction.add(region=region.specifier())
                for index, place in enumerate(mine):
                    fill(part.action.add(index=index), place, block)
            try:
                call = self._cluster.servers.send(
                    server, CLIENT, "Multi", request, pb.MultiResponse, deadline, b"".join(block)
                )
            except CALL_ERRORS as exc:
                outcomes.update((place, exc) for _, mine in parts for place in mine)
            else:
                sent.append((call, parts))
        for call, parts in sent:
            try:
                outcomes.update(_outcomes(call.wait(deadline), parts, one_version))
            except CALL_ERRORS as exc:
                outcomes.update((place, exc) for _, mine in parts for place in mine)
        return outcomes


def _outcomes(answer: RpcAnswer, parts: Parts, one_version: bool) -> dict[int, Row | Exception]:
    """What *answer* has for each place of *parts*."""
    results = answer.message.regionActionResult
    if len(results) != len(parts):
        raise WrongReply(f"{len(results)} regions answered instead of {len(parts)}")
    outcomes: dict[int, Row | Exception] = {}
    counts: list[int] = []
    owners: Places = []
    for (_, places), of_region in zip(parts, results, strict=True):
        if of_region.HasField("exception"):
            outcomes.update(dict.fromkeys(places, _server_error(of_region.exception)))
            continue
        answered = of_region.resultOrException
        if sorted(result.index for result in answered) != list(range(len(places))):
            raise WrongReply(f"{len(answered)} results came that are not those of the {len(places)} rows")
        for result in answered:
            if result.HasField("exception"):
                outcomes[places[result.index]] = _server_error(result.exception)
            else:
                owners.append(places[result.index])
                counts.append(result.result.associated_cell_count)
    rows = decoded_rows(answer.data, answer.start, answer.end, counts, one_version=one_version)
    outcomes.update(zip(owners, rows, strict=True))
    return outcomes


def _encode(mutation: Mutation, proto: pb.MutationProto, block: list[bytes], names: dict[bytes, bytes]) -> None:
    """Fill *proto*; the cells follow the message, in *block*."""
    proto.row = mutation.row
    if isinstance(mutation, Put):
        proto.mutate_type = _PUT
        proto.associated_cell_count = encode_put(mutation, block, names)
    else:
        proto.mutate_type = _DELETE
        proto.associated_cell_count = encode_delete(mutation, block)
        if mutation.columns is None:
            proto.timestamp = mutation.timestamp


def _by_server(
    regions: TableRegions, rows: Sequence[bytes], places: Places, outcomes: dict[int, Row | Exception]
) -> dict[HostPort, Parts]:
    """The places by server and region; those on no server at the moment have an error in *outcomes*."""
    by_region: dict[bytes, tuple[LocatedRegion, Places]] = {}
    for place in places:
        try:
            region = regions.of(rows[place])
            region.on_server()
        except ServerError as exc:
            outcomes[place] = exc
            continue
        by_region.setdefault(region.name, (region, []))[1].append(place)
    by_server: dict[HostPort, Parts] = {}
    for region, mine in by_region.values():
        by_server.setdefault(region.on_server(), []).append((region, mine))
    return by_server


def _server_error(pair: pb.NameBytesPair) -> ServerError:
    return ServerError(pair.name, pair.value)


def _passes(exc: Exception) -> bool:
    return not isinstance(exc, ServerError) or exc.passes


def _add_columns(message: Any, columns: Sequence[bytes] | None) -> None:
    """Add *columns* to a `Get` or a `Scan`; None is all."""
    by_family: dict[bytes, Any] = {}
    for column in columns or ():
        family, _, qualifier = column.partition(b":")
        if family not in by_family:
            by_family[family] = message.column.add(family=family)
        if qualifier:
            by_family[family].qualifier.append(qualifier)


def _add_times(message: Any, wanted: Selection) -> None:
    """Add the time range to a `Get` or a `Scan`."""
    if wanted.time_range is not None:
        setattr(message.time_range, "from", wanted.time_range.since)
        message.time_range.to = wanted.time_range.until


def _add_filter(message: Any, encoded: bytes | None) -> None:
    """Add a filter of `webtable.store.hbase.shared.filters` to a `Get` or a `Scan`."""
    if encoded is not None:
        message.filter.MergeFromString(encoded)


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
        if each is not None and limit is not None:
            self._size.rows = limit  # all at once, instead of a few at first
        self._scanner: _Scanner | None = None

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
            rows = scanner.next(count, deadline)
        except CALL_ERRORS:
            if scanner is not None:
                scanner.close(deadline.within(_CLOSE_SECONDS))
            raise
        if rows:
            keys = self._unread(scanner.keys)
            check_scanned([row.key for row in rows], keys, len(rows), reverse=self._wanted.reverse)
            self._drop_until(rows[-1].key)
        if scanner.done:
            self._drop_scanned(scanner.keys)
        else:
            self._scanner = scanner
        return [Row(row.key, {}) for row in rows] if self._wanted.keys_only else rows

    def _unread(self, keys: KeyRange) -> KeyRange:
        """The rest of *keys*, those of a scanner."""
        first = self._rest[0]
        if self._wanted.reverse:
            return keys.before(first.stop) if first.stop else keys
        return KeyRange(max(keys.start, first.start), keys.stop)

    def _opened(self, count: int, deadline: Deadline) -> _Scanner:
        """A scanner of the next region that has some of the ranges."""
        regions = self._cluster.regions(self._table, deadline)
        first, reverse = self._rest[0], self._wanted.reverse
        region = regions.before(first.stop) if reverse else regions.of(first.start)
        ranges = [_common(keys, region) for keys in self._rest[: 1 if reverse else RANGES_A_CALL]]
        ranges = [keys for keys in ranges if not keys.is_empty()]
        if not ranges:  # a region that has changed between two looks
            raise WrongReply("the region does not hold the range")
        encoded = filter_of_scan(ranges, self._wanted, self._each, self._bounds)
        is_all = self._limit is not None and self._limit <= count
        return _Scanner(self._cluster, region, ranges, self._wanted, encoded, count if is_all else None)

    def _drop_scanned(self, keys: KeyRange) -> None:
        """Remove *keys*, of which all was read, and what comes before them from the ranges."""
        if self._wanted.reverse:
            rest = [part.before(keys.start) for part in self._rest] if keys.start else []
        else:
            rest = [KeyRange(max(part.start, keys.stop), part.stop) for part in self._rest] if keys.stop else []
        self._rest = [part for part in rest if not part.is_empty()]


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
        self._one_version = wanted.versions == 1
        self._number: int | None = None
        self._calls = 0
        self._ahead: RpcCall | None = None
        self._part: Row | None = None

    def next(self, count: int, deadline: Deadline) -> list[Row]:
        """The next rows, about *count*, possibly none; after any error the scanner is of no use."""
        sent, self._ahead = self._ahead, None
        if sent is None:
            sent = self._send(count, deadline)
        message, data, start, end = sent.wait(deadline)
        if message.scanner_id:
            self._number = message.scanner_id
        rows = self._whole(
            decoded_rows(data, start, end, message.cells_per_result, one_version=self._one_version), message
        )
        if self._limit is not None:
            self._limit -= len(rows)
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
            rows.append(self._part)
        return rows

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

    def _send(self, count: int, deadline: Deadline) -> RpcCall:
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

    def _whole(self, rows: list[Row], message: pb.ScanResponse) -> list[Row]:
        """The rows that are complete; the beginning of one that is larger than an answer is kept."""
        partial = message.partial_flag_per_result
        if not any(partial) and self._part is None:
            return rows
        if partial and len(partial) != len(rows):
            raise WrongReply("an answer does not say which of its rows are complete")
        whole: list[Row] = []
        for place, row in enumerate(rows):
            part, self._part = self._part, None
            if part is not None:
                if part.key == row.key:
                    if self._one_version and not part.cells.keys().isdisjoint(row.cells):
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
    """The scan of *ranges*, which are sorted and disjoint (in reverse there is one)."""
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
    _add_columns(scan, wanted.columns)
    _add_times(scan, wanted)
    _add_filter(scan, encoded_filter)
    return scan


def _common(keys: KeyRange, region: LocatedRegion) -> KeyRange:
    stops = [stop for stop in (keys.stop, region.stop) if stop]
    return KeyRange(max(keys.start, region.start), min(stops) if stops else b"")

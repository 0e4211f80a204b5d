"""Reads and writes on region servers: calls for the rows of several regions at once, each with its own outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.errors import StoreError, StoreRefused
from webtable.rowkey import KeyRange
from webtable.store.hbase.calls import filters
from webtable.store.hbase.failures import TableDisabled, WrongReply
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.cells import decoded_rows, encode_delete, encode_put
from webtable.store.hbase.native.failures import CALL_ERRORS, ServerError, translated
from webtable.store.hbase.native.servers import CLIENT
from webtable.store.rows import Put, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.native.cluster import Cluster, LocatedRegion, TableRegions
    from webtable.store.hbase.native.servers import Sent
    from webtable.store.rows import Cell, Mutation
    from webtable.store.url import HostPort

_PUT, _DELETE = 2, 3  # of MutationProto

Places = list[int]
"""Places in the sequence of rows or mutations of a call."""


class NativeCalls:
    """Gets and mutations, by one `Multi` call for each region server that holds some of the rows."""

    deletes_exactly = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def apply(self, table: str, mutations: Sequence[Mutation], deadline: Deadline) -> list[StoreError | None]:
        """Apply *mutations*, all puts or all deletes, and return the outcome of each."""
        outcomes: list[StoreError | None] = [None] * len(mutations)
        left = list(range(len(mutations)))
        rows, encoded = [mutation.row for mutation in mutations], _Mutations(mutations)

        def attempt(soon: Deadline) -> None:
            nonlocal left
            failures = self._multi(table, rows, left, encoded, soon, lambda *_: None, True)
            left = [place for place, exc in failures.items() if _passes(exc)]
            for place, exc in failures.items():
                if not _passes(exc):
                    error = translated(exc, self._cluster.name, table, "Multi")
                    row = mutations[place].row
                    outcomes[place] = StoreRefused(f"{error} (row {row[:100]!r})")
            if left:
                raise failures[left[0]]

        try:
            self._cluster.retried(attempt, table, "Multi", deadline)
        except TableDisabled as error:
            return [error if place in left else outcome for place, outcome in enumerate(outcomes)]
        except StoreError as error:
            for place in left:
                outcomes[place] = error
        return outcomes

    def get(self, table: str, rows: Sequence[bytes], wanted: Selection, deadline: Deadline) -> list[Row | None]:
        """Return the rows, None if nothing is visible."""
        get = pb.Get(row=b"", max_versions=wanted.versions)
        add_columns(get, wanted.columns)
        add_times(get, wanted)
        found = self._gets(table, rows, get, deadline, one_version=wanted.versions == 1)
        return [row if row.cells else None for row in found]

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
        get = pb.Get(row=b"", max_versions=1, store_limit=limit)
        get.column.add(family=family)
        add_filter(get, filters.all_of(parts))
        found = self._gets(table, rows, get, deadline)
        return [[(column, cell) for column, (cell,) in row.cells.items()] for row in found]

    def _gets(
        self, table: str, rows: Sequence[bytes], get: pb.Get, deadline: Deadline, *, one_version: bool = True
    ) -> list[Row]:
        """Return each of *rows*, without cells if nothing of it is visible."""
        found: list[Row | None] = [None] * len(rows)

        def fill(action: pb.Action, place: int, _: list[bytes]) -> None:
            action.get.CopyFrom(get)
            action.get.row = rows[place]

        def keep(place: int, row: Row) -> None:
            if row.cells and row.key != rows[place]:
                raise WrongReply(f"the row {row.key[:100]!r} came instead of {rows[place][:100]!r}")
            found[place] = row

        def attempt(soon: Deadline) -> None:
            left = [place for place, one in enumerate(found) if one is None]
            failures = self._multi(table, rows, left, fill, soon, keep, one_version)
            if failures:
                raise next((exc for exc in failures.values() if not _passes(exc)), next(iter(failures.values())))

        self._cluster.retried(attempt, table, "Multi", deadline)
        return [one for one in found if one is not None]

    def _multi(
        self,
        table: str,
        rows: Sequence[bytes],
        places: Places,
        fill: Callable[[pb.Action, int, list[bytes]], None],
        deadline: Deadline,
        keep: Callable[[int, Row], None],
        one_version: bool,
    ) -> dict[int, Exception]:
        """Make a call for each server that holds some of the rows at *places*, all at once, and return what failed.

        *fill* makes the action of a place, *keep* takes the cells that it found.
        """
        failures: dict[int, Exception] = {}
        regions = self._cluster.regions(table, deadline)
        sent: list[tuple[Sent, list[tuple[LocatedRegion, Places]]]] = []
        for server, asked in _by_server(regions, rows, places, failures).items():
            request, block = pb.MultiRequest(), list[bytes]()
            for region, mine in asked:
                part = request.regionAction.add(region=region.specifier())
                for index, place in enumerate(mine):
                    fill(part.action.add(index=index), place, block)
            try:
                call = self._cluster.servers.send(
                    server, CLIENT, "Multi", request, pb.MultiResponse, deadline, b"".join(block)
                )
            except CALL_ERRORS as exc:
                failures.update((place, exc) for _, mine in asked for place in mine)
            else:
                sent.append((call, asked))
        for call, asked in sent:
            try:
                self._answered(call, asked, failures, deadline, keep, one_version)
            except CALL_ERRORS as exc:
                failures.update((place, exc) for _, mine in asked for place in mine)
        return failures

    def _answered(
        self,
        call: Sent,
        asked: list[tuple[LocatedRegion, Places]],
        failures: dict[int, Exception],
        deadline: Deadline,
        keep: Callable[[int, Row], None],
        one_version: bool,
    ) -> None:
        message, data, start, end = call.wait(deadline)
        results = message.regionActionResult
        if len(results) != len(asked):
            raise WrongReply(f"{len(results)} regions answered instead of {len(asked)}")
        counts: list[int] = []
        owners: Places = []
        for (_, places), of_region in zip(asked, results, strict=True):
            if of_region.HasField("exception"):
                exc = _server_error(of_region.exception)
                failures.update((place, exc) for place in places)
                continue
            answered = of_region.resultOrException
            if sorted(one.index for one in answered) != list(range(len(places))):
                raise WrongReply(f"{len(answered)} results came that are not those of the {len(places)} rows")
            for one in answered:
                place = places[one.index]
                if one.HasField("exception"):
                    failures[place] = _server_error(one.exception)
                else:
                    owners.append(place)
                    counts.append(one.result.associated_cell_count)
        rows = decoded_rows(data, start, end, counts, one_version=one_version)
        for place, row in zip(owners, rows, strict=True):
            keep(place, row)


class _Mutations:
    """Makes the actions of mutations, whose cells follow the message."""

    def __init__(self, mutations: Sequence[Mutation]) -> None:
        self._mutations = mutations
        self._names: dict[bytes, bytes] = {}

    def __call__(self, action: pb.Action, place: int, block: list[bytes]) -> None:
        mutation = self._mutations[place]
        proto = action.mutation
        proto.row = mutation.row
        if isinstance(mutation, Put):
            proto.mutate_type = _PUT
            proto.associated_cell_count = encode_put(mutation, block, self._names)
        else:
            proto.mutate_type = _DELETE
            proto.associated_cell_count = encode_delete(mutation, block)
            if mutation.columns is None:
                proto.timestamp = mutation.timestamp


def _by_server(
    regions: TableRegions, rows: Sequence[bytes], places: Places, failures: dict[int, Exception]
) -> dict[HostPort, list[tuple[LocatedRegion, Places]]]:
    """Return the places by server and region; those on no server at the moment become *failures*."""
    by_region: dict[bytes, tuple[LocatedRegion, Places]] = {}
    for place in places:
        try:
            region = regions.of(rows[place])
            region.on_server()
        except ServerError as exc:
            failures[place] = exc
            continue
        known = by_region.get(region.name)
        if known is None:
            by_region[region.name] = (region, [place])
        else:
            known[1].append(place)
    by_server: dict[HostPort, list[tuple[LocatedRegion, Places]]] = {}
    for region, mine in by_region.values():
        by_server.setdefault(region.on_server(), []).append((region, mine))
    return by_server


def _server_error(found: pb.NameBytesPair) -> ServerError:
    return ServerError(found.name, found.value.decode(errors="replace"))


def _passes(exc: Exception) -> bool:
    return not isinstance(exc, ServerError) or exc.passes


def add_columns(message: Any, columns: Sequence[bytes] | None) -> None:
    """Add *columns* to a `Get` or a `Scan`; None is all."""
    by_family: dict[bytes, Any] = {}
    for column in columns or ():
        family, _, qualifier = column.partition(b":")
        if family not in by_family:
            by_family[family] = message.column.add(family=family)
        if qualifier:
            by_family[family].qualifier.append(qualifier)


def add_times(message: Any, wanted: Selection) -> None:
    """Add the time range to a `Get` or a `Scan`."""
    if wanted.time_range is not None:
        setattr(message.time_range, "from", wanted.time_range.since)
        message.time_range.to = wanted.time_range.until


def add_filter(message: Any, encoded: bytes | None) -> None:
    """Add a filter of `webtable.store.hbase.calls.filters` to a `Get` or a `Scan`."""
    if encoded is not None:
        message.filter.MergeFromString(encoded)

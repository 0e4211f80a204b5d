"""The table for rows under any key, for asyncio."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, Self

from webtable.aio.stream import THREADS, Calls, Opening, Stream, Wrapped, awaited, checked_threads, close_unasked
from webtable.repository.keyed_table import KeyedTable as SyncKeyedTable
from webtable.repository.keyed_table import Record
from webtable.repository.keyed_table import Records as SyncRecords

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from webtable.errors import DamagedRow
    from webtable.repository.answers.results import Partition
    from webtable.repository.metrics import Metrics
    from webtable.rowkey import RowKey
    from webtable.schema import FamilySchema

P = ParamSpec("P")


class Records(Stream[Record]):
    """The rows of a scan, for `async for`; its arguments are checked when the first row is read.

    `damaged` has the first 100 rows that could not be read.
    """

    def __init__(self, calls: Calls, ask: Callable[[], SyncRecords]) -> None:
        self.damaged: list[DamagedRow] = []
        self._scan = ask
        super().__init__(calls, partial(_scanned, ask, self.damaged))

    async def partitions(self, n: int) -> list[Partition[Record]]:
        """Return the rows in *n* parts, as `webtable.records.Records.partitions` does; raises what that raises."""
        return await self._calls.run(lambda: self._scan().partitions(n))


def _scanned(ask: Callable[[], SyncRecords], damaged: list[DamagedRow]) -> Iterator[Record]:
    records = ask()
    for record in records:
        damaged[:] = records.damaged
        yield record
    damaged[:] = records.damaged


def scanned(
    function: Callable[Concatenate[SyncKeyedTable, P], SyncRecords],
) -> Callable[Concatenate[Wrapped[SyncKeyedTable], P], Records]:
    """Return *function* as a method whose rows are read with `async for`."""

    @wraps(function)
    def method(self: Wrapped[SyncKeyedTable], /, *args: P.args, **kwargs: P.kwargs) -> Records:
        return Records(self._calls, partial(function, self._core, *args, **kwargs))

    return method


class KeyedTable(Wrapped[SyncKeyedTable]):
    """A table whose rows are found by the fields of their key, for asyncio; `KeyedTable.open` makes one.

    Its methods are those of `webtable.KeyedTable`; those that read or write are awaited, run in at most *threads*
    threads, and are cancelled like the calls of `WebTable`.
    """

    def __init__(self, table: SyncKeyedTable, *, threads: int = THREADS) -> None:
        super().__init__(table, Calls(checked_threads(threads), "webtable-aio"))

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        key: RowKey,
        *,
        families: Sequence[str | FamilySchema] = ("d",),
        create: bool = False,
        split_keys: Sequence[bytes] = (),
        strict: bool = False,
        threads: int = THREADS,
    ) -> Opening[Self]:
        """Return the table at *url*, to be used in an `async with` block, or awaited.

        The arguments and errors are those of `webtable.KeyedTable.open`.
        """
        make = partial(
            SyncKeyedTable.open,
            url,
            key,
            families=families,
            create=create,
            split_keys=split_keys,
            strict=strict,
        )

        async def opened() -> Self:
            calls = Calls(1, "webtable-aio-open")
            return cls(await calls.run(make, close_unasked), threads=threads)

        return Opening(opened)

    def __repr__(self) -> str:
        return f"<aio.KeyedTable {self.name} key={self.key.declaration}>"

    @property
    def synchronous(self) -> SyncKeyedTable:
        """The synchronous table, for functions that take one; use it in a thread (`asyncio.to_thread`)."""
        return self._core

    @property
    def table(self) -> str:
        """The name of the table in its store."""
        return self._core.table

    @property
    def key(self) -> RowKey:
        """How the keys of rows are made."""
        return self._core.key

    @property
    def name(self) -> str:
        """The store's URL and the table's name."""
        return self._core.name

    @property
    def metrics(self) -> Metrics:
        """A snapshot of the table's metrics: its calls, its errors, and the rows that scans skipped."""
        return self._core.metrics

    put: Final = awaited(SyncKeyedTable.put)
    put_many: Final = awaited(SyncKeyedTable.put_many)
    get: Final = awaited(SyncKeyedTable.get)
    delete: Final = awaited(SyncKeyedTable.delete)
    scan: Final = scanned(SyncKeyedTable.scan)
    latest: Final = awaited(SyncKeyedTable.latest)

    async def close(self) -> None:
        """Close the store."""
        await self._calls.run(self._core.close)
        self._calls.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

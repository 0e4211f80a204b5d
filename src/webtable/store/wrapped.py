"""A store that wraps another one and passes every call on, as a base class of wrappers that act on calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from webtable.store.port import Store

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from webtable.errors import StoreError
    from webtable.rowkey import KeyRange
    from webtable.schema import FamilySchema, ShellCommand, TableSchema
    from webtable.store.capabilities import Capabilities
    from webtable.store.health import Check, Space
    from webtable.store.metrics import ServerMetrics
    from webtable.store.rows import Cell, Mutation, Region, Row, TableDescription, Wanted
    from webtable.store.search import SearchIndex

T = TypeVar("T")


class Call(NamedTuple):
    """A call of the port: its name (`first_rows`), the table ("" if it concerns none), and the other arguments.

    `arguments` are named as in the port: `call.arguments["mutations"]` of a `write`.
    """

    name: str
    table: str
    arguments: Mapping[str, Any]


class WrappedStore(Store):
    """A wrapper of *store*; closing it closes *store*.

    Each call to the store passes through `around`, which a subclass overrides. Arguments have been checked by then,
    once, and a call with nothing to do is not passed. The name, timeout and capabilities of *store* are those at the
    time when it was wrapped.
    """

    def __init__(self, store: Store) -> None:
        self.wrapped = store
        self.name: str = store.name
        self.address: str | None = store.address
        self.timeout: float = store.timeout
        self.capabilities: Capabilities = store.capabilities

    def around(self, call: Call, do: Callable[[], T]) -> T:
        """Return the result of *call*, which `do()` makes; several threads may be here at once.

        The result of a `scan` is the iterator over pieces, lists of rows, which reads when it is advanced.
        """
        del call
        return do()

    def transaction(self) -> AbstractContextManager[int | None]:
        """Pass on to the store."""
        return self.around(Call("transaction", "", {}), self.wrapped.transaction)

    def last_transaction(self) -> int:
        """Return that of the store."""
        return self.wrapped.last_transaction()

    def _write(self, table: str, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        call = Call("write", table, {"mutations": mutations})
        return self.around(call, lambda: self.wrapped._write(table, mutations))

    def _read(self, table: str, rows: Sequence[bytes], wanted: Wanted) -> list[Row | None]:
        call = Call("read", table, {"rows": rows, "wanted": wanted})
        return self.around(call, lambda: self.wrapped._read(table, rows, wanted))

    def _read_cells(
        self,
        table: str,
        rows: Sequence[bytes],
        family: bytes,
        qualifiers: KeyRange,
        limit: int,
        *,
        keys_only: bool,
    ) -> list[list[tuple[bytes, Cell]]]:
        given = {"rows": rows, "family": family, "qualifiers": qualifiers, "limit": limit, "keys_only": keys_only}
        return self.around(
            Call("read_cells", table, given),
            lambda: self.wrapped._read_cells(table, rows, family, qualifiers, limit, keys_only=keys_only),
        )

    def _scan(
        self, table: str, ranges: list[KeyRange], wanted: Wanted, limit: int | None, *, reverse: bool
    ) -> Iterator[Sequence[Row]]:
        given = {"ranges": ranges, "wanted": wanted, "limit": limit, "reverse": reverse}
        return self.around(
            Call("scan", table, given), lambda: self.wrapped._scan(table, ranges, wanted, limit, reverse=reverse)
        )

    def _first_rows(
        self, table: str, ranges: Sequence[KeyRange], limit: int, wanted: Wanted, *, reverse: bool
    ) -> list[list[Row]]:
        given = {"ranges": ranges, "limit": limit, "wanted": wanted, "reverse": reverse}
        return self.around(
            Call("first_rows", table, given),
            lambda: self.wrapped._first_rows(table, ranges, limit, wanted, reverse=reverse),
        )

    def tables(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return self.around(Call("tables", "", {}), self.wrapped.tables)

    def describe(self, table: str) -> TableDescription:
        """Return the table as it is."""
        return self.around(Call("describe", table, {}), lambda: self.wrapped.describe(table))

    def create_table(self, schema: TableSchema) -> None:
        """Create the table."""
        call = Call("create_table", schema.name, {"schema": schema})
        self.around(call, lambda: self.wrapped.create_table(schema))

    def set_family(self, table: str, family: FamilySchema) -> None:
        """Add or change the family."""
        call = Call("set_family", table, {"family": family})
        self.around(call, lambda: self.wrapped.set_family(table, family))

    def drop_table(self, table: str) -> None:
        """Remove the table."""
        self.around(Call("drop_table", table, {}), lambda: self.wrapped.drop_table(table))

    def regions(self, table: str) -> list[Region]:
        """Return the table's regions."""
        return self.around(Call("regions", table, {}), lambda: self.wrapped.regions(table))

    def compact(self, tables: Sequence[str]) -> int:
        """Free space, and return how many bytes that was."""
        return self.around(Call("compact", "", {"tables": tables}), lambda: self.wrapped.compact(tables))

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:
        """Copy the store into a file, and return its bytes."""
        call = Call("backup", "", {"path": path, "on_progress": on_progress})
        return self.around(call, lambda: self.wrapped.backup(path, on_progress))

    def search_index(self, table: str) -> SearchIndex | None:
        """Return that of the store."""
        return self.wrapped.search_index(table)

    def run(self, command: ShellCommand) -> None:
        """Do what a command of the HBase shell does."""
        self.around(Call("run", "", {"command": command}), lambda: self.wrapped.run(command))

    def health(self, table: str) -> Iterator[Check]:
        """Yield the checks of the health of the store."""
        return self.wrapped.health(table)

    def space(self) -> Space | None:
        """Return the space that the store takes."""
        return self.wrapped.space()

    def events(self) -> Counter[str]:
        """Return those of the store."""
        return self.wrapped.events()

    def servers(self) -> list[ServerMetrics]:
        """Return those of the store."""
        return self.wrapped.servers()

    def close(self) -> None:
        """Close the store."""
        self.around(Call("close", "", {}), self.wrapped.close)

"""Table management, where what was created or dropped is read back, and a cache of what tables are like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from webtable._clock import Fresh
from webtable.errors import InvalidArgument, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema, create_statement, plan
from webtable.schema.table import check_table_name
from webtable.store.rows import Region, TableDescription

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.shared.filters import Selection


class Tables(ABC):
    """Table management of the store *name*. Changes are sent once: a retry would meet the result of the first one."""

    def __init__(self, name: str) -> None:
        self._name = name

    @abstractmethod
    def names(self, deadline: Deadline) -> list[str]:
        """Return the names of all tables, sorted."""

    @abstractmethod
    def describe(self, table: str, deadline: Deadline) -> TableDescription:
        """Return the table as it is."""

    @abstractmethod
    def families(self, table: str, deadline: Deadline) -> frozenset[bytes]:
        """Return the names of the table's families."""

    @abstractmethod
    def regions(self, table: str, deadline: Deadline) -> list[Region]:
        """Return the table's regions in key order."""

    @abstractmethod
    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:
        """Add the family, or change its options, except those that `FamilySchema` does not have."""

    @abstractmethod
    def _create(self, schema: TableSchema, deadline: Deadline) -> None: ...

    @abstractmethod
    def _disable(self, table: str, deadline: Deadline) -> None: ...

    @abstractmethod
    def _delete(self, table: str, deadline: Deadline) -> None: ...

    def create(self, schema: TableSchema, deadline: Deadline) -> None:
        """Create the table and check the result."""
        check_table_name(schema.name)
        if plain_name(schema.name) in self.names(deadline):
            raise StoreRefused(f"{self._name}: table {schema.name!r} exists already")
        self._create(schema, deadline)
        try:
            created = self.describe(schema.name, deadline)
        except TableNotFound:
            wrong = "is not there"
        else:
            splits = "" if created.schema.split_keys == schema.split_keys else "has other split keys"
            wrong = str(plan(schema, created.schema, created.unread)) or splits
        if wrong:
            raise StoreRefused(
                f"{self._name}: table {schema.name!r} was created, and {wrong}. In the HBase shell: "
                f"{create_statement(schema)}"
            )

    def drop(self, table: str, deadline: Deadline) -> None:
        """Remove the table and check that it is gone."""
        if plain_name(table) not in self.names(deadline):
            raise TableNotFound(f"{self._name}: table {table!r} does not exist")
        self._disable(table, deadline)
        self._delete(table, deadline)
        if plain_name(table) in self.names(deadline):
            raise StoreRefused(
                f"{self._name}: table {table!r} is still there after deleteTable. "
                f"In the HBase shell: disable '{table}'; drop '{table}'"
            )

    def _regions(self, table: str, found: Sequence[tuple[bytes, bytes, str]]) -> list[Region]:
        if not found:
            raise TableNotFound(f"{self._name}: table {table!r} does not exist; create it first")
        return [Region(KeyRange(start, stop), server) for start, stop, server in sorted(found)]

    def _splits(self, table: str, deadline: Deadline) -> tuple[bytes, ...]:
        return tuple(region.keys.start for region in self.regions(table, deadline) if region.keys.start)


FOREVER: Final = 2**31 - 1
"""The TTL of a family that keeps its cells for ever, in seconds."""


def ttl_of(seconds: int) -> int | None:
    """Return the TTL of a family of which HBase says that it is *seconds*."""
    return None if seconds >= FOREVER or seconds <= 0 else seconds


def known_family(**options: Any) -> FamilySchema:
    """Return the family; raises `StoreRefused` if `FamilySchema` cannot represent an option."""
    try:
        return FamilySchema(**options)
    except InvalidArgument as exc:
        raise StoreRefused(f"the table has an option that webtable does not know: {exc}") from exc


def plain_name(table: str) -> str:
    """Return the name without the default namespace."""
    return table.removeprefix("default:")


_REGIONS_SECONDS: Final = 60.0


class TableCache:
    """The families of tables and the starts of their regions, read from *tables* at first use and when out of date.

    *name* is the store's.
    """

    def __init__(self, tables: Tables, name: str) -> None:
        self._tables = tables
        self._name = name
        self._families: dict[str, Collection[bytes]] = {}
        self._bounds: dict[str, Fresh[list[bytes]]] = {}

    def families(self, table: str, deadline: Deadline, refresh: bool = False) -> Collection[bytes]:
        """Return the names of the table's families; with *refresh* they are read again."""
        found = None if refresh else self._families.get(table)
        if found is None:
            found = self._families[table] = self._tables.families(table, deadline)
        return found

    def check_searched(self, table: str, wanted: Selection, deadline: Deadline) -> None:
        """Raise if the searched family is missing and not in the columns: HBase would silently find no row."""
        if wanted.search is None or wanted.columns is not None:
            return
        family = wanted.search.family
        if not any(family in self.families(table, deadline, refresh) for refresh in (False, True)):
            raise StoreRefused(f"{self._name}: table {table!r} has no family {family.decode(errors='replace')!r}")

    def region_bounds(self, table: str, deadline: Deadline) -> list[bytes]:
        """Return the first keys of all regions except the first, at most a minute old."""
        bounds = self._bounds.setdefault(table, Fresh(_REGIONS_SECONDS))
        return bounds.recent(lambda: [region.keys.start for region in self._tables.regions(table, deadline)][1:])

    def forget(self, table: str) -> None:
        """Drop what is cached of *table*."""
        self._families.pop(table, None)
        self._bounds.pop(table, None)

    def clear(self) -> None:
        """Drop all that is cached."""
        self._families.clear()
        self._bounds.clear()

"""A cache of the families of tables and of the starts of their regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable._clock import Fresh
from webtable.errors import StoreRefused

if TYPE_CHECKING:
    from collections.abc import Collection

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.calls.selection import Selection
    from webtable.store.hbase.tables import Tables

_REGIONS_SECONDS: Final = 60.0


class TableCache:
    """The cache, read from *tables* at first use and again when it is out of date; *name* is the store's."""

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

"""Table management; changes are verified by reading them back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from webtable.errors import InvalidArgument, StoreRefused, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FAMILY_OPTIONS, FamilySchema, TableSchema, alter_statement, create_statement
from webtable.schema.table import check_table_name
from webtable.store.rows import Region, TableDescription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.deadline import Deadline


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
    def _set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> str:
        """Add the family, or change its options, except those that `FamilySchema` does not have; return the call."""

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
            different = differences(schema, self.describe(schema.name, deadline))
        except TableNotFound:
            different = ["it is not there"]
        if different:
            raise StoreRefused(
                f"{self._name}: table {schema.name!r} was created, but {'; '.join(different)}. "
                f"In the HBase shell: {create_statement(schema)}"
            )

    def set_family(self, table: str, family: FamilySchema, deadline: Deadline) -> None:
        """Add or change the family and check the result."""
        method = self._set_family(table, family, deadline)
        there = {one.name: one for one in self.describe(table, deadline).schema.families}.get(family.name)
        different = family_differences(family, there, frozenset())
        if different:
            raise StoreRefused(
                f"{self._name}: table {table!r}: after {method}, {'; '.join(different)}. "
                f"In the HBase shell: {alter_statement(table, family)}"
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


def differences(wanted: TableSchema, found: TableDescription) -> list[str]:
    """Return how *found* differs from *wanted*, option by option, as far as it can be read."""
    there = {family.name: family for family in found.schema.families}
    lines = [
        f"family {name!r} exists but is not wanted"
        for name in there
        if name not in {family.name for family in wanted.families}
    ]
    for family in wanted.families:
        lines += family_differences(family, there.get(family.name), found.unread)
    if wanted.split_keys != found.schema.split_keys:
        lines.append(f"split keys are {_keys(found.schema.split_keys)} instead of {_keys(wanted.split_keys)}")
    return lines


def family_differences(wanted: FamilySchema, found: FamilySchema | None, unread: frozenset[str]) -> list[str]:
    """Return how *found* differs from *wanted*."""
    if found is None:
        return [f"family {wanted.name!r} is missing"]
    return [
        f"{option} of family {wanted.name!r} is {getattr(found, option)!r} instead of {getattr(wanted, option)!r}"
        for option in FAMILY_OPTIONS
        if option not in unread and getattr(found, option) != getattr(wanted, option)
    ]


def _keys(keys: Sequence[bytes]) -> str:
    return "none" if not keys else f"{len(keys)} from {keys[0]!r} to {keys[-1]!r}"

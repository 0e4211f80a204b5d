"""Plans: the changes that turn a table into the one that is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.display import Shown, ShowsItself
from webtable.schema.layout import Layout
from webtable.schema.shell import alter_statement, create_statement, option_text
from webtable.schema.table import FAMILY_OPTIONS, FamilySchema, TableSchema, days_text, versions_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.schema.web import OptionValue


@dataclass(frozen=True, slots=True)
class FamilyChange:
    """A family to add (`found` is None), or to give other options; options that are not named stay as they are."""

    wanted: FamilySchema
    found: FamilySchema | None
    options: tuple[str, ...]
    """The names of the options that differ."""

    def __str__(self) -> str:
        if self.found is None:
            return f"add family {self.wanted.name!r}"
        differences = (
            f"{option} {_value_text(getattr(self.found, option), option)} -> "
            f"{_value_text(getattr(self.wanted, option), option)}"
            for option in self.options
        )
        return f"change family {self.wanted.name!r}: {', '.join(differences)}"

    def shell(self, table: str) -> str:
        """Return the change as a statement for the HBase shell."""
        # Only options that change are named: the values of options that could not be read are unknown.
        return alter_statement(table, self.wanted, FAMILY_OPTIONS if self.found is None else self.options)

    @property
    def losses(self) -> list[str]:
        """The data that the family will no longer keep, in words."""
        present, wanted = self.found, self.wanted
        if present is None:
            return []
        lost = []  # HBase removes it in the next major compaction, a file when it sweeps
        if wanted.ttl is not None and (present.ttl is None or wanted.ttl < present.ttl):
            lost.append(f"what is older than {days_text(wanted.ttl)}")
        if wanted.versions < present.versions:
            lost.append(f"of each column all but the newest {wanted.versions}")
        if wanted.min_versions < present.min_versions and wanted.ttl is not None:
            lost.append(f"what was kept beyond its time as one of the newest {present.min_versions}")
        return lost


@dataclass(frozen=True, slots=True)
class Plan(ShowsItself):
    """The steps from the table that was found to the schema that is wanted; no family or table is removed."""

    wanted: TableSchema
    create: bool = False
    changes: tuple[FamilyChange, ...] = ()
    regions: int | None = None
    """How many regions the table has, if another number was wanted, which only a new table gets."""
    beside: tuple[str, ...] = ()
    """The names of the tables that a new web table has besides: its metadata, its queue, and its indexes."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.create and not self.changes

    def __str__(self) -> str:
        """Return a line for each step; empty if there is nothing to do."""
        if self.create:
            regions = len(self.wanted.split_keys) + 1
            names = ", ".join(family.name for family in self.wanted.families)
            namespace, colon, _ = self.wanted.name.partition(":")  # gateways have no call to make one
            made = f"; and namespace {namespace!r}, if it is missing (not by a gateway)" if colon else ""
            return f"create table {self.wanted.name!r}: families {names}; {regions} region{'s'[: regions > 1]}{made}"
        return "\n".join(f"table {self.wanted.name!r}: {change}" for change in self.changes)

    def _shown(self) -> Shown:
        return _steps_shown(f"plan for table {self.wanted.name}", str(self).splitlines(), self.losses)

    def shell(self) -> str:
        """Return the steps as statements for the HBase shell, one on each line."""
        if self.create:
            return create_statement(self.wanted)
        return "\n".join(change.shell(self.wanted.name) for change in self.changes)

    @property
    def losses(self) -> tuple[str, ...]:
        """The data that the table will no longer keep, in lines of text; it cannot be recovered."""
        return tuple(
            f"removes from table {self.wanted.name!r}, family {change.wanted.name!r}: {lost}"
            for change in self.changes
            for lost in change.losses
        )


@dataclass(frozen=True, slots=True)
class LayoutPlan(ShowsItself):
    """The steps from the layout that a web table has to the one that is wanted, with the plans of its tables."""

    table: str
    found: Layout
    wanted: Layout
    tables: tuple[Plan, ...] = ()

    @property
    def options(self) -> dict[str, OptionValue]:
        """The options of the layout that change, with their new values."""
        present, other = self.found, self.wanted
        names = ["ttl", "versions", *dict.fromkeys([*present.family_options, *other.family_options])]
        return {name: other.option(name) for name in names if present.option(name) != other.option(name)}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.options and not self.tables

    @property
    def losses(self) -> tuple[str, ...]:
        """The data that the tables will no longer keep, in lines of text; it cannot be recovered."""
        return tuple(lost for steps in self.tables for lost in steps.losses)

    def __str__(self) -> str:
        """Return a line for each step, and for what it loses; empty if there is nothing to do."""
        changes = (
            f"{name} {_value_text(self.found.option(name), name)} -> {_value_text(value, name)}"
            for name, value in self.options.items()
        )
        layout = [f"layout of {self.table!r}: {', '.join(changes)}"] if self.options else []
        return "\n".join([*layout, *map(str, self.tables), *self.losses])

    def _shown(self) -> Shown:
        steps = str(self).splitlines()
        return _steps_shown(f"plan for {self.table}", steps[: len(steps) - len(self.losses)], self.losses)

    def shell(self) -> str:
        """Return the steps for the tables as statements for the HBase shell, one on each line."""
        return "\n".join(steps.shell() for steps in self.tables)


def _steps_shown(title: str, steps: Sequence[str], losses: Sequence[str]) -> Shown:
    rows = [("change", step) for step in steps] + [("loss", loss) for loss in losses]
    return Shown(title, ("what", "how"), rows, "" if rows else "nothing to do")


def _value_text(value: OptionValue, name: str) -> str:
    if name.rpartition(".")[2] == "ttl" and not isinstance(value, str):
        return "for ever" if value is None else days_text(value)
    if name == "versions" and isinstance(value, int):
        return versions_text(value)
    return "default" if value is None else option_text(value)


def plan(wanted: TableSchema, existing: TableSchema | None, unread: frozenset[str] = frozenset()) -> Plan:
    """Return the changes that turn the table *existing* (None if there is no table) into *wanted*.

    Options named in *unread* could not be read and are not compared. Families that only *existing* has stay as they
    are, and so do its regions, which HBase splits as the table grows.
    """
    # Nothing is removed: families that are not wanted may hold what somebody else has stored.
    if existing is None:
        return Plan(wanted, create=True)
    present = {family.name: family for family in existing.families}
    changes = []
    for family in wanted.families:
        there = present.get(family.name)
        options = tuple(
            option
            for option in FAMILY_OPTIONS
            if there and option not in unread and getattr(there, option) != getattr(family, option)
        )
        if there is None or options:
            changes.append(FamilyChange(family, there, options))
    # Split keys of an existing table are not compared: it has been split by its growth since.
    regions = len(existing.split_keys) + 1
    is_other = bool(wanted.split_keys) and regions != len(wanted.split_keys) + 1
    return Plan(wanted, changes=tuple(changes), regions=regions if is_other else None)

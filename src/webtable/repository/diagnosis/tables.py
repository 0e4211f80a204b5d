"""Whether a web table is whole, and its families are what its layout promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from webtable.repository.creation.tables import plan_of
from webtable.schema import check_suffix_list
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.diagnosis.patient import Patient
    from webtable.schema import Plan, TableSchema
    from webtable.store.health import Check


def layout(patient: Patient) -> Iterator[Check]:
    """Yield what the layout says; raises `LayoutMismatch` where its keys cannot be made here."""
    found = patient.stored.layout
    check_suffix_list(patient.stored.name, found)
    kept = "everything" if found.ttl is None else f"content for {found.ttl / 86_400:g} days"
    told = f"salt {found.salt}, names {found.names}, compression {found.compression}, {found.versions} versions"
    yield well("layout", f"{told}; keeps {kept}")


def missing(patient: Patient) -> Iterator[Check]:
    """Yield which tables are missing that belong to it."""
    if not patient.missing:
        yield well("tables", "all of them are there")
        return
    names = ", ".join(map(repr, sorted(patient.missing)))
    remedy = "bring back what is missing from a copy; or webtable create makes it anew, empty"
    if patient.table not in patient.missing:
        remedy += ", and webtable index rebuild fills that of an index"
    yield failed("tables", f"missing: {names}, while the layout is still stored", remedy)


def families(patient: Patient) -> Iterator[Check]:
    """Yield where families are otherwise than the layout has them: what is kept, and how it is stored."""
    drifted = [plan for schema in _there(patient) if (plan := _drift(patient, schema)).changes]
    if not drifted:
        yield well("families", "as the layout has them")
    for plan in drifted:
        remedy = "webtable create --apply" if plan.wanted.name == patient.table else "by the HBase shell"
        yield warned("families", "; ".join(str(plan).splitlines()), f"{remedy}: {'; '.join(plan.shell().splitlines())}")


def _there(patient: Patient) -> Iterator[TableSchema]:
    """Yield the tables that are there, as the layout has them."""
    stored, table = patient.stored, patient.table
    indexes = [name for name, state in stored.indexes.items() if state.phase in ("ready", "building")]
    entries = [stored.layout.index_schema(table, name) for name in indexes]
    for schema in (stored.layout.table_schema(table), *entries, stored.layout.queue_schema(table)):
        if schema.name not in patient.missing:
            yield schema


def _drift(patient: Patient, schema: TableSchema) -> Plan:
    steps = plan_of(patient.store, schema)
    if schema.name == patient.table:
        return steps
    # Where a gateway cannot encode the entries they are made plain, and hold the same.
    changes = (replace(one, options=tuple(o for o in one.options if o != "block_encoding")) for one in steps.changes)
    return replace(steps, changes=tuple(one for one in changes if one.options or one.found is None))

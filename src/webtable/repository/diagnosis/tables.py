"""Whether a web table is whole, and its families are what its layout promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.schema import check_suffix_list
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.diagnosis.checked_table import Patient
    from webtable.store.health import Check


def layout(patient: Patient) -> Iterator[Check]:
    """Yield what the layout says; raises `LayoutMismatch` where its keys cannot be made here."""
    found = patient.stored.layout
    check_suffix_list(patient.stored.name, found)
    told = f"salt {found.salt}, names {found.names}, compression {found.compression}"
    yield well("layout", f"{told}; keeps {found.limits}")


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
    drifted = patient.stored.drifted()
    if not drifted:
        yield well("families", "as the layout has them")
    for plan in drifted:
        remedy = "webtable create --apply" if plan.wanted.name == patient.table else "by the HBase shell"
        yield warned("families", "; ".join(str(plan).splitlines()), f"{remedy}: {'; '.join(plan.shell().splitlines())}")

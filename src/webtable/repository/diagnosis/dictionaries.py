"""The dictionaries of a table: whether they can be read, and whether those that writers use are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.schema import SITE_DICTIONARIES
from webtable.store.health import failed, warned, well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.diagnosis.patient import Patient
    from webtable.store.health import Check

_LEAST_LEFT: Final = 0.5
_REMEDY = (
    "bring the rows of the meta table back from a copy; else fetch the pages again that webtable verify --full-scan "
    "names"
)


def dictionaries(patient: Patient) -> Iterator[Check]:
    """Yield how many dictionaries there are, and how many of them are lost or damaged."""
    if patient.stored.layout.compression != SITE_DICTIONARIES:
        return
    kept = patient.frame.dictionaries
    numbers = {number for number, _ in kept.all()} | set(kept.announced())
    looked_at = 0
    bad: list[str] = []
    for number in sorted(numbers):
        if patient.time.left() < _LEAST_LEFT:
            break
        looked_at += 1
        try:
            if kept.stored(number) is None:
                bad.append(f"the dictionary {number:08x} is lost")
        except ValueError as exc:
            bad.append(str(exc))
    told = f"{len(bad):,} of {looked_at:,} dictionaries of sites cannot be read"
    if bad:
        yield failed("dictionaries", f"{told}: {bad[0]}", _REMEDY)
    elif looked_at < len(numbers):
        yield warned("dictionaries", f"{told}, when the time was over", "give it more time (timeout=)")
    else:
        yield well("dictionaries", told)

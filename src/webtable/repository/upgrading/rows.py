"""What is older of the pages themselves, by the first ones: they stay as they are until they are stored again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable._checksums import has_checksum
from webtable.repository.upgrading.old import Outdated
from webtable.rowkey import KeyRange
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.upgrading.old import Old

LOOKED_AT: Final = 100


def sample(old: Old) -> Iterator[Outdated]:
    """Yield how many of the first pages are without checksums, and without the date of their first capture."""
    if old.has_no_pages:
        return
    column = old.frame.codec.columns.page
    rows = old.store.scan(old.table, [KeyRange()], Wanted([column]), limit=LOOKED_AT)
    values = [row.cells[column][0].value for row in rows]
    if count := sum(not has_checksum(value) for value in values):
        remedy = "each gets one when it is fetched again; webtable copy SRC DST gives one to all"
        yield Outdated("pages", f"of the first {len(values):,}, {count:,} are without a checksum", remedy)
    if count := sum(b'"first_seen":' not in value for value in values):
        found = f"of the first {len(values):,}, {count:,} do not tell when they were first seen"
        yield Outdated("pages", found, "webtable export, and ingest into a new table, finds it among all captures")

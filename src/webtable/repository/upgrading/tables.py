"""What is older of the file, of the layout and of the tables that belong to a web table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from webtable._checksums import has_checksum, with_checksum
from webtable.errors import LayoutMismatch
from webtable.repository.creation.tables import bring
from webtable.repository.removals import written
from webtable.repository.upgrading.old import Outdated, Step
from webtable.schema import LAYOUT_COLUMN, LAYOUT_ROW, STATES_FAMILY, STATES_ROW, Layout, check_suffix_list, meta_table
from webtable.store import NewCell, Put
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.upgrading.old import Old
    from webtable.schema import Plan
    from webtable.store import Cell, Row, Store


def file(old: Old) -> Iterator[Step]:
    """Yield whether the store itself is of an earlier form, which any write takes away."""
    if found := old.store.outdated():
        yield Step(Outdated("file", found, "the next write brings it up to date"), lambda: _write_nothing(old.store))


def _write_nothing(store: Store) -> None:
    with store.together():
        pass


def keys(old: Old) -> Iterator[Outdated]:
    """Yield whether the row keys can only be made with another package than the one that is installed."""
    try:
        check_suffix_list(old.stored.name, old.stored.layout)
    except LayoutMismatch as exc:
        yield Outdated("keys", str(exc), "then webtable copy SRC DST --salt host frees the table of such lists")


def layout(old: Old) -> Iterator[Step]:
    """Yield whether the layout, or what is stored beside it, is without what a new one has."""
    meta = meta_table(old.table).name
    rows = old.store.read(meta, [LAYOUT_ROW, STATES_ROW], Wanted([STATES_FAMILY]))
    bare = [_unsealed_of(row) for row in rows if row is not None]
    if any(bare):
        names = ", ".join(column.decode() for cells in bare for column in cells)
        puts = [
            # Under the timestamps that they have: what somebody else stores in this moment is newer, and stays.
            Put(row.key, [NewCell(column, cell.timestamp, _sealed(old, column, cell.value)) for column, cell in some])
            for row, cells in zip(filter(None, rows), bare, strict=True)
            if (some := cells.items())
        ]
        told = Outdated("layout", f"without a checksum: {names}", "each gets one; what it says stays")
        yield Step(told, partial(written, old.store, meta, puts))


def _unsealed_of(row: Row) -> dict[bytes, Cell]:
    newest = {column: cells[0] for column, cells in row.cells.items()}
    return {column: cell for column, cell in newest.items() if not has_checksum(cell.value)}


def _sealed(old: Old, column: bytes, value: bytes) -> bytes:
    """Return the *value* of a cell beside the layout with its checksum; of the layout with all that it has by now."""
    return Layout.from_json(old.stored.name, value).to_json() if column == LAYOUT_COLUMN else with_checksum(value)


def families(old: Old) -> Iterator[Step | Outdated]:
    """Yield what families keep otherwise than those of a new table with the same layout."""
    for steps in old.stored.drifted():
        for lost in steps.losses:
            yield Outdated("families", lost, "webtable create --apply changes it, and loses that")
        if not steps.losses:
            yield _changed(old, steps)


def _changed(old: Old, steps: Plan) -> Step | Outdated:
    found = "; ".join(str(steps).splitlines())
    if not old.store.changes_families:
        told = "; ".join(steps.shell().splitlines())
        return Outdated("families", found, f"give a Thrift2 gateway (?thrift2=9091), or in the HBase shell: {told}")
    do = partial(bring, old.store, steps.wanted, apply=True, remedy="")
    return Step(Outdated("families", found, "it is changed, and loses nothing"), do)


def missing(old: Old) -> Iterator[Step | Outdated]:
    """Yield the tables that a new web table has besides; nothing is made in place of lost pages."""
    there_are = old.stored.missing()
    found = f"missing: {', '.join(repr(schema.name) for schema in there_are)}"
    if old.has_no_pages:
        yield Outdated("tables", found, "bring back the pages from a copy; or webtable create makes all anew, empty")
    elif there_are:
        do = partial(old.stored.complete, there_are, (), apply=False)
        yield Step(Outdated("tables", found, "they are made, empty; indexes are completed then"), do)


def digests(old: Old) -> Iterator[Outdated]:
    """Yield whether new content gets digests of the kind that is no longer chosen."""
    if old.stored.layout.digest == "sha256":
        remedy = "they stay, and are as good; webtable export, and ingest into a new table, makes all of them anew"
        yield Outdated("digests", "those of the table are SHA-256, those of a new one BLAKE3", remedy)

"""What is older of the indexes: those that are not there, that are not complete, or whose entries have no order."""

from __future__ import annotations

import time
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import LayoutMismatch
from webtable.repository.hints.maintenance import PIECE, Maintenance
from webtable.repository.indexes import WEB_INDEXES
from webtable.repository.indexes.index import ORDERED
from webtable.repository.layouts import FRESH_SECONDS
from webtable.repository.moments import now_in_milliseconds
from webtable.repository.removals import written
from webtable.repository.upgrading.old import Outdated, Step
from webtable.rowkey import KeyRange
from webtable.schema import INDEX_COLUMN, check_suffix_list
from webtable.store import Delete
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.indexes.states import Maintained
    from webtable.repository.upgrading.old import Old


def unordered(old: Old) -> Iterator[Step | Outdated]:
    """Yield the indexes of the user's own whose entries are not in the order of their terms."""
    for name, index in old.frame.indexes.read().items():
        if index.state.of and not index.state.is_ordered and index.state.phase != "retired":
            found = f"the entries of {name} are not in the order of its terms"
            remedy = "they are written anew; until then its questions raise IndexNeeded"
            yield _usable(old, index, Outdated("indexes", found, remedy), partial(_order, old, index))


def unfinished(old: Old) -> Iterator[Step | Outdated]:
    """Yield the indexes that are not complete, and those that were about to be dropped."""
    for name, index in old.frame.indexes.read().items():
        if index.state.phase == "building":
            outdated = Outdated("indexes", f"{name} is not complete", "it is completed, from where it was")
            yield _usable(old, index, outdated, partial(_complete, old, index))
        elif index.state.phase == "retired":
            yield Outdated("indexes", f"{name} was to be dropped, and is not gone", f"webtable index drop {name}")


def absent(old: Old) -> Iterator[Outdated]:
    """Yield the indexes that a new table has unless it is told otherwise."""
    found = old.frame.indexes.read()
    if lacking := [name for name in WEB_INDEXES if name not in found]:
        remedy = "webtable index add NAME, for each whose questions you want answered"
        yield Outdated("indexes", f"not there, and in a new table: {', '.join(lacking)}", remedy)


def _usable(old: Old, index: Maintained, outdated: Outdated, do: partial[None]) -> Step | Outdated:
    """Return the step, or why it cannot be done here."""
    try:
        check_suffix_list(old.stored.name, old.stored.layout)
        _ = index.index
    except LayoutMismatch as exc:
        return Outdated(outdated.what, outdated.found, str(exc))
    return Step(outdated, do)


def _order(old: Old, index: Maintained) -> None:
    # At once: who finds it cut short behind this finds an index that is not complete.
    state = replace(index.state, phase="building", position="", is_ordered=True, added=now_in_milliseconds())
    old.frame.indexes.set(index.name, state)
    time.sleep(FRESH_SECONDS * 1.5)  # what writers have under way is in the old order
    _complete(old, old.frame.indexes.named(index.name))


def _complete(old: Old, index: Maintained) -> None:
    if index.state.is_ordered:
        _remove_unordered(old, index)
    Maintenance(old.frame).rebuild(index.name, old.on_progress)


def _remove_unordered(old: Old, index: Maintained) -> None:
    """Remove the entries that have not the end of a term by which they are in order."""
    rows = old.store.scan(index.table, [KeyRange()], Wanted([INDEX_COLUMN]))
    while piece := list(islice(rows, PIECE)):
        gone = [
            Delete(row.key, row.cells[INDEX_COLUMN][0].timestamp, [INDEX_COLUMN])
            for row in piece
            if ORDERED not in row.key
        ]
        if gone:
            written(old.store, index.table, gone)

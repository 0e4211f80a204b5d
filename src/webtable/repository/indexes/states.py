"""The states of the indexes of a table, stored in its meta table, so that all processes agree on them.

A writer reads them before a batch, with the layout on which its decisions rest (another process may have made the time
to live shorter), and again when its pages are stored, so that an index that was added meanwhile gets their entries too.
What was read is parsed only where it has changed. A reader may use states that are up to `FRESH_SECONDS` old; therefore
an index that is dropped is retired first, and its entries are written for longer than that.

Indexes that users have defined are imported only if the user names them, never because a table does. A table stores the
importable name of an index. If that were imported, whoever made the file could choose which code is run. So a name from
a table is only looked up, among those that this process was given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING

from webtable._clock import CachedFor, clock
from webtable._importable import importable
from webtable._messages import Command
from webtable.errors import IndexNeeded, IndexNotNamed, InvalidArgument, LayoutMismatch, UnknownIndex
from webtable.repository.indexes.index import BUILT_IN, ORDERED, Index
from webtable.repository.page_storage.layouts import FRESH_SECONDS
from webtable.schema import (
    FAILED_ROW,
    LAYOUT_ROW,
    REVISITS_ROW,
    STATES_FAMILY,
    STATES_ROW,
    IndexState,
    index_of_column,
    index_table_name,
    meta_table,
    state_column,
)
from webtable.store import Cell, NewCell, Put, Store
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.repository.page_storage.layouts import Layouts

VARIABLE = "WEBTABLE_INDEXES"
"""The environment variable that names indexes, as in `package.module:attribute,other:attribute`."""
ENTRY_POINTS = "webtable.indexes"
"""The group of entry points with which installed packages name their indexes."""
_imported: dict[str, Index] = {}


def imported(name: str) -> Index:
    """Import and return the index with the name `package.module:attribute`, which the user has given.

    After that `known` returns it, too. Raises `InvalidArgument`.
    """
    if name not in _imported:
        value = importable(name, "index")
        if not isinstance(value, Index):
            raise InvalidArgument(f"index {name!r} is a {type(value).__name__}, not a webtable.indexes.Index")
        _imported[name] = value
    return _imported[name]


def known(name: str) -> Index | None:
    """Return the index with this importable name, which a table has, or None if it was not named in this process.

    An index is named by a call of `imported`, in `WEBTABLE_INDEXES`, as an entry point of an installed package, or by
    being in a module that is imported already. Raises `InvalidArgument` if a named index cannot be imported.
    """
    module, _, attribute = name.partition(":")
    # Not with getattr: a module may import others in its `__getattr__`.
    loaded = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    if name in _imported or not isinstance(loaded, Index):
        return imported(name) if name in _imported or name in _named() else None
    return loaded


def _named() -> set[str]:
    # Importing this takes as long as a small question, and most tables have only built-in indexes.
    from importlib.metadata import entry_points

    names = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    return names | {point.value for point in entry_points(group=ENTRY_POINTS)}


@dataclass(frozen=True, slots=True)
class Maintained:
    """An index of a table: the table with its entries, and its state.

    `index` raises `IndexNotNamed` for an index that a user has defined and that was not named in this process, and
    `LayoutMismatch` for one that cannot be imported.
    """

    name: str
    table: str
    state: IndexState
    _define: Callable[[str, IndexState], Index] = field(repr=False, compare=False)

    @property
    def index(self) -> Index:
        """The definition of the index."""
        return self._define(self.name, self.state)

    @property
    def keeps_inlinks(self) -> bool:
        """Whether writers store inlinks for it, as for the link index."""
        return self._is_own(lambda index: index.keeps_inlinks)

    @property
    def counts_pages(self) -> bool:
        """Whether pages are counted for it, as for the host index."""
        return self._is_own(lambda index: index.counts_pages)

    @property
    def signs_pages(self) -> bool:
        """Whether pages get a signature for it, as for the index of near duplicates."""
        return self._is_own(lambda index: index.signs_pages)

    def _is_own(self, does: Callable[[Index], bool]) -> bool:
        # An index that a user has defined does none of it, and need not be importable here.
        return not self.state.of and self.name in BUILT_IN and does(BUILT_IN[self.name])


# A state is `building` while entries are written for all pages, then ready. Every writer reads the states before a
# batch, and again before it acknowledges, and then writes the entries of an index that was added in between: so a
# rebuild reads each row once. A dropped index is `retired` first: readers stop using it before writers stop writing.


class Indexes:
    """The indexes of one web table. Thread-safe."""

    def __init__(self, store: Store, table: str, layouts: Layouts | None = None) -> None:
        self._store = store
        self._layouts = layouts
        self._table = table
        self._meta = meta_table(table).name
        self._recent: CachedFor[dict[str, Maintained]] = CachedFor(FRESH_SECONDS)
        # The cells that were read last, and what they say: a writer reads them for each batch, and they rarely change.
        self._parsed: tuple[Mapping[bytes, Sequence[Cell]], dict[str, Maintained]] = {}, {}
        self.may_have_revisits: bool = False
        """Whether a revisit was open at any time, as of the last `read`."""
        self.may_have_failed: bool = False
        """Whether a fetch has failed at any time, as of the last `read`."""

    def read(self) -> dict[str, Maintained]:
        """Return the current indexes, by name; this also reads the layout of the table."""
        return self._recent.read(self._read)

    def _read(self) -> dict[str, Maintained]:
        began = clock.monotonic()
        rows = [LAYOUT_ROW, STATES_ROW, REVISITS_ROW, FAILED_ROW]
        layout, row, revisits, failed = self._store.read(self._meta, rows, Wanted([STATES_FAMILY]))
        self.may_have_revisits, self.may_have_failed = revisits is not None, failed is not None
        if self._layouts is not None:
            self._layouts.learn(layout, began)
        cells = row.cells if row else {}
        parsed, indexes = self._parsed
        if cells == parsed:
            return indexes
        states = {
            (name := index_of_column(column)): IndexState.from_json(self._name, name, versions[0].value)
            for column, versions in cells.items()
        }
        indexes = {
            name: Maintained(name, index_table_name(self._table, name), state, self._defined)
            for name, state in states.items()
            if state.phase != "dropped"
        }
        self._parsed = cells, indexes
        return indexes

    def recent(self) -> dict[str, Maintained]:
        """Return the indexes as they were at most `FRESH_SECONDS` ago."""
        return self._recent.recent(self._read)

    def ready(self, name: str, question: str) -> Maintained:
        """Return the index *name*, to answer *question*; raises `IndexNeeded` if it is missing or not complete."""
        index = self.recent().get(name)
        if index is not None and index.state.phase == "retired":
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which is being dropped: once it is "
                "dropped, add it with ",
                Command(f"index add {name}", python=f"table.indexes.add({name!r})"),
            )
        if index is None:
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which the table does not have: add it with ",
                Command(f"index add {name}", python=f"table.indexes.add({name!r})"),
            )
        if index.state.phase == "building":
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which is not complete yet: complete it with ",
                Command(f"index rebuild {name}", python=f"table.indexes.rebuild({name!r})"),
            )
        return index

    def named(self, name: str) -> Maintained:
        """Return the index *name* in any phase; raises `UnknownIndex` if the table does not have it."""
        indexes = self.read()
        if name not in indexes:
            has = f"it has {', '.join(sorted(indexes))}" if indexes else "it has no indexes"
            raise UnknownIndex(f"{self._name} has no index {name!r}; {has}")
        return indexes[name]

    def set(self, name: str, state: IndexState) -> None:
        """Store the state of an index."""
        column = state_column(name)
        (row,) = self._store.read(self._meta, [STATES_ROW], Wanted([column]))
        before = row.cells[column][0].timestamp if row else 0
        # Later than the last one, even if the clock of another machine is ahead of this one's.
        cell = NewCell(column, max(clock.milliseconds(), before + 1), state.to_json())
        (error,) = self._store.write(self._meta, [Put(STATES_ROW, [cell])])
        self._recent.forget()
        if error is not None:
            raise error

    @property
    def _name(self) -> str:
        return f"{self._store.name}/{self._table}"

    def _defined(self, name: str, state: IndexState) -> Index:
        if not state.of:
            if name not in BUILT_IN:
                raise LayoutMismatch(f"{self._name}: this version of webtable does not know its index {name!r}")
            return BUILT_IN[name]
        try:
            index = known(state.of)
        except InvalidArgument as exc:
            raise LayoutMismatch(
                f"{self._name} has the index {name!r}, which every writer needs: {exc}. Make it importable, or "
                "drop it with ",
                Command(f"index drop {name}", python=f"table.indexes.drop({name!r})"),
            ) from exc
        if index is None:
            raise IndexNotNamed(
                f"{self._name} has the index {name!r}, which every writer needs. The table names {state.of!r} "
                "for it, which is not imported unless you name it too: if you trust it, use webtable "
                f"--index {state.of} …, or {VARIABLE}, or import its module; or drop the index with ",
                Command(f"index drop {name}", python=f"table.indexes.drop({name!r})"),
            )
        if index.name != name:
            raise LayoutMismatch(
                f"{self._name} has the index {name!r}, defined as {state.of!r}, whose name is {index.name!r}"
            )
        return replace(index, end=ORDERED)


def defined(names: Sequence[str]) -> dict[str, IndexState]:
    """Return the states of the new indexes *names*, built-in or importable ones, by name.

    Raises `UnknownIndex` for a name that is neither, `InvalidArgument` for one that cannot be imported, and
    `MissingExtra` for one whose signatures could not be made.
    """
    if isinstance(names, str):
        raise InvalidArgument(f"indexes={names!r} must be a list, as in ['time', 'package.module:index']")
    return dict(_defined(name) for name in names)


def _defined(name: str) -> tuple[str, IndexState]:
    if isinstance(name, str) and ":" in name:
        index = imported(name)
        if index.name in BUILT_IN:
            raise InvalidArgument(f"index {name!r}: {index.name!r} is the name of a built-in index")
        return index.name, IndexState(of=name)
    if name not in BUILT_IN:
        raise UnknownIndex(
            f"no index {name!r}: built-in are {', '.join(BUILT_IN)}; name your own as package.module:attribute"
        )
    if BUILT_IN[name].signs_pages:
        import_module("webtable.page.similarity")  # it needs numpy, and what has no such index does without
    return name, IndexState()

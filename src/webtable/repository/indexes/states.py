"""Which indexes a table has, and in which phase each is, as all processes agree on it: kept in its meta table.

A writer asks before a batch and once more when its pages are stored, so that an index which was added in between gets
their entries too. A reader may go by what it was told up to `FRESH_SECONDS` ago; therefore an index that is taken away
is retired first, and its entries are written for longer than that.

Indexes of the user's own are imported where the user has named them, and never because a table does. A table says by
which importable name an index is defined. Whoever made the file could so choose what is imported, which is to choose
what is run. So a name out of a table is only looked up: among those that this process was given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webtable._clock import Fresh, clock
from webtable._importable import importable
from webtable.errors import IndexNeeded, IndexNotNamed, InvalidArgument, LayoutMismatch, UnknownIndex
from webtable.repository.indexes.index import ORDERED, WEB_INDEXES, Index
from webtable.repository.stored.layouts import FRESH_SECONDS
from webtable.schema import (
    LAYOUT_ROW,
    STATES_FAMILY,
    STATES_ROW,
    IndexState,
    index_of_column,
    index_table,
    meta_table,
    state_column,
)
from webtable.store import NewCell, Put, Store
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.stored.layouts import Layouts

VARIABLE = "WEBTABLE_INDEXES"
"""The variable of the environment that names indexes, as in `package.module:attribute,other:attribute`."""
ENTRY_POINTS = "webtable.indexes"
"""The group of entry points by which installed packages name theirs."""
_given: dict[str, Index] = {}


def imported(name: str) -> Index:
    """Import the index with the importable name `package.module:attribute`, which the user has given, and return it.

    From now on `known` knows it. Raises `InvalidArgument`.
    """
    if name not in _given:
        found = importable(name, "index")
        if not isinstance(found, Index):
            raise InvalidArgument(f"index {name!r} is a {type(found).__name__}, no webtable.Index")
        _given[name] = found
    return _given[name]


def known(name: str) -> Index | None:
    """Return the index with this importable name, which a table has, or None where nobody has named it here.

    Named is what `imported` was called for, what is in `WEBTABLE_INDEXES`, what an installed package declares as an
    entry point, and what is in a module that this process has imported already. Raises `InvalidArgument` where it is
    named and cannot be imported.
    """
    module, _, attribute = name.partition(":")
    # Not by getattr: a module may import others when it is asked for a name.
    loaded = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
    if name in _given or not isinstance(loaded, Index):
        return imported(name) if name in _given or name in _named() else None
    return loaded


def _named() -> set[str]:
    # Its import takes as long as a small question does, and most tables have no index of the user's own.
    from importlib.metadata import entry_points

    given = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    return given | {point.value for point in entry_points(group=ENTRY_POINTS)}


@dataclass(frozen=True, slots=True)
class Maintained:
    """An index of a table: the table that holds its entries, and the phase that it is in.

    `index`, when it is asked for, raises `IndexNotNamed` where it is the user's own and nobody has named it here, and
    `LayoutMismatch` where it cannot be imported.
    """

    name: str
    table: str
    state: IndexState
    _define: Callable[[str, IndexState], Index] = field(repr=False, compare=False)

    @property
    def index(self) -> Index:
        """What the index is made of."""
        return self._define(self.name, self.state)

    @property
    def keeps_inlinks(self) -> bool:
        """Whether writers keep inlinks for it: of webtable's own indexes the one of links."""
        return self._is_own(lambda index: index.keeps_inlinks)

    @property
    def counts_pages(self) -> bool:
        """Whether pages are counted for it: of webtable's own indexes the one of hosts."""
        return self._is_own(lambda index: index.counts_pages)

    def _is_own(self, does: Callable[[Index], bool]) -> bool:
        # An index of the user's own need not be importable here, and has neither.
        return not self.state.of and self.name in WEB_INDEXES and does(WEB_INDEXES[self.name])


class Indexes:
    """The indexes of one web table. May be used by many threads."""

    def __init__(self, store: Store, table: str, layouts: Layouts | None = None) -> None:
        self._store = store
        self._layouts = layouts
        self._table = table
        self._meta = meta_table(table).name
        self._known: Fresh[dict[str, Maintained]] = Fresh(FRESH_SECONDS)

    def read(self) -> dict[str, Maintained]:
        """Return the indexes as they are now, by name; the layout of the table is read with them."""
        return self._known.read(self._read)

    def _read(self) -> dict[str, Maintained]:
        began = clock.monotonic()
        layout, row = self._store.read(self._meta, [LAYOUT_ROW, STATES_ROW], Wanted([STATES_FAMILY]))
        if self._layouts is not None:
            self._layouts.learn(layout, began)
        found: dict[str, Maintained] = {}
        for column, (cell, *_) in (row.cells if row else {}).items():
            name = index_of_column(column)
            state = IndexState.from_json(self._name, name, cell.value)
            if state.phase == "dropped":
                continue
            found[name] = Maintained(name, index_table(self._table, name).name, state, self._defined)
        return found

    def recent(self) -> dict[str, Maintained]:
        """Return the indexes as they were at most `FRESH_SECONDS` ago."""
        return self._known.recent(self._read)

    def ready(self, name: str, question: str) -> Maintained:
        """Return the index *name*, to answer *question*; raises `IndexNeeded` where it is not complete."""
        found = self.recent().get(name)
        if found is not None and found.state.phase == "retired":
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which is being dropped: when it is gone, add it "
                f"with webtable index add {name}"
            )
        if found is None:
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which the table does not have: add it with "
                f"webtable index add {name}"
            )
        if found.state.phase == "building":
            raise IndexNeeded(
                f"{self._name}: {question} needs the index {name!r}, which is not complete yet: complete it with "
                f"webtable index rebuild {name}"
            )
        return found

    def named(self, name: str) -> Maintained:
        """Return the index *name* in whatever phase it is; raises `UnknownIndex` where the table has none such."""
        found = self.read()
        if name not in found:
            has = f"it has {', '.join(sorted(found))}" if found else "it has none"
            raise UnknownIndex(f"{self._name} has no index {name!r}; {has}")
        return found[name]

    def set(self, name: str, state: IndexState) -> None:
        """Store the state of an index."""
        column = state_column(name)
        (row,) = self._store.read(self._meta, [STATES_ROW], Wanted([column]))
        before = row.cells[column][0].timestamp if row else 0
        # Above the last one also where another machine's clock is ahead of this one's.
        cell = NewCell(column, max(clock.milliseconds(), before + 1), state.to_json())
        (error,) = self._store.write(self._meta, [Put(STATES_ROW, [cell])])
        self._known.forget()
        if error is not None:
            raise error

    @property
    def _name(self) -> str:
        return f"{self._store.name}/{self._table}"

    def _defined(self, name: str, state: IndexState) -> Index:
        if not state.of:
            if name not in WEB_INDEXES:
                raise LayoutMismatch(f"{self._name}: this version of webtable does not know its index {name!r}")
            return WEB_INDEXES[name]
        try:
            index = known(state.of)
        except InvalidArgument as exc:
            raise LayoutMismatch(
                f"{self._name} has an index that every writer needs: {exc}. Make it importable, or drop it "
                f"with webtable index drop {name}"
            ) from exc
        if index is None:
            raise IndexNotNamed(
                f"{self._name} has the index {name!r}, which every writer needs, and says that it is {state.of!r}. "
                f"Nothing is imported because a table says so: name it yourself if you trust it (webtable --index "
                f"{state.of} …, or in {VARIABLE}, or import its module), or drop it with webtable index drop {name}"
            )
        if index.name != name:
            raise LayoutMismatch(f"{self._name} has the index {name!r} by {state.of!r}, which is named {index.name!r}")
        return replace(index, end=ORDERED)


def defined(names: Sequence[str]) -> dict[str, IndexState]:
    """Return, by their names, the states of the new indexes *names*: known ones, and importable ones.

    Raises `UnknownIndex` for a name that is neither, and `InvalidArgument` for one that cannot be imported.
    """
    if isinstance(names, str):
        raise InvalidArgument(f"indexes={names!r} must be a list, as in ['time', 'package.module:index']")
    return dict(_defined(name) for name in names)


def _defined(name: str) -> tuple[str, IndexState]:
    if isinstance(name, str) and ":" in name:
        index = imported(name)
        if index.name in WEB_INDEXES:
            raise InvalidArgument(f"index {name!r}: the name {index.name!r} is taken by one of webtable's own")
        return index.name, IndexState(of=name)
    if name not in WEB_INDEXES:
        raise UnknownIndex(
            f"no index {name!r}: there are {', '.join(WEB_INDEXES)}; one of your own is named package.module:attribute"
        )
    return name, IndexState()

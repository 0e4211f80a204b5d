"""Indexes of the user's own: imported where the user has named them, and never because a table does.

A table says by which importable name an index is defined. Whoever made the file could so choose what is imported, which
is to choose what is run. So a name out of a table is only looked up: among those that this process was given.
"""

from __future__ import annotations

import os
import sys

from webtable._importable import importable
from webtable.errors import InvalidArgument
from webtable.repository.indexes.index import Index

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

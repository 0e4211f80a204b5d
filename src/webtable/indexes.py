"""Indexes of your own, handles of URLs, and the state and drift of indexes."""

from typing import TYPE_CHECKING

from webtable._late import late

if TYPE_CHECKING:
    from webtable.repository.derived.drift import Drift
    from webtable.repository.indexes.index import BUILT_IN, WEB_INDEXES, Index, handle_of
    from webtable.repository.indexes.states import imported
    from webtable.schema import IndexState

__all__ = [
    "BUILT_IN",
    "WEB_INDEXES",
    "Drift",
    "Index",
    "IndexState",
    "handle_of",
    "imported",
]

if not TYPE_CHECKING:  # a type checker would assume that every name exists
    __getattr__, __dir__ = late(
        __name__,
        {
            "webtable.repository.derived.drift": ("Drift",),
            "webtable.repository.indexes.index": ("BUILT_IN", "Index", "WEB_INDEXES", "handle_of"),
            "webtable.repository.indexes.states": ("imported",),
            "webtable.schema": ("IndexState",),
        },
    )

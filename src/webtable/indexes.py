"""Indexes of your own, ids of pages, and the state and drift of indexes."""

from webtable.repository.indexes.index import BUILT_IN, WEB_INDEXES, Index, page_id
from webtable.repository.indexes.states import imported
from webtable.repository.upkeep.repair import Drift
from webtable.schema import IndexState

__all__ = [
    "BUILT_IN",
    "WEB_INDEXES",
    "Drift",
    "Index",
    "IndexState",
    "imported",
    "page_id",
]

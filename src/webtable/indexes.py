"""Indexes of your own, handles of URLs, and the state and drift of indexes."""

from webtable.repository.derived.drift import Drift
from webtable.repository.indexes.index import Index, handle_of
from webtable.schema import IndexState

__all__ = [
    "Drift",
    "Index",
    "IndexState",
    "handle_of",
]

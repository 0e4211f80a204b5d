"""Snapshots of the metrics of a table, its writers, indexes and store."""

from webtable.repository.metrics import IndexMetrics, Metrics, WriterMetrics
from webtable.store.metrics import OperationMetrics, ServerMetrics

__all__ = [
    "IndexMetrics",
    "Metrics",
    "OperationMetrics",
    "ServerMetrics",
    "WriterMetrics",
]

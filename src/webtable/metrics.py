"""Snapshots of the metrics of a table, its writers, indexes and store."""

from webtable.repository.metrics import Exposed, IndexMetrics, Metrics, WriterMetrics, gauge_families, prometheus
from webtable.store.metrics import OperationMetrics, ServerMetrics

__all__ = [
    "Exposed",
    "IndexMetrics",
    "Metrics",
    "OperationMetrics",
    "ServerMetrics",
    "WriterMetrics",
    "gauge_families",
    "prometheus",
]

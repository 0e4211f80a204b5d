"""A collector with the metrics of a table, for the Prometheus endpoint of a program (extra `[metrics]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._importable import needed

with needed("prometheus-client", "metrics"):
    from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from webtable import KeyedTable, WebTable

__all__ = ["TableCollector"]


class TableCollector(Collector):
    """Collects the metrics of *table* for Prometheus: `REGISTRY.register(TableCollector(table))`.

    They are those of `WebTable.metrics`, since the table was opened in this process, with names that begin with
    `webtable_`. Collecting makes no call to the store. To have several tables as labels of the same metrics in one
    registry, give all of them to one collector.
    """

    def __init__(self, *tables: WebTable | KeyedTable) -> None:
        self._tables = tables

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with the samples of all tables."""
        # The text format wants all samples of a metric together, below one line with its type.
        for same in zip(*(table.metrics.families(table.name) for table in self._tables), strict=True):
            first, *others = same
            for other in others:
                first.samples.extend(other.samples)
            yield first

    def describe(self) -> Iterator[Metric]:
        """Yield nothing, so that registering a collector does not collect."""
        yield from ()

"""The metrics of a table, for the endpoint that a program has for Prometheus (extra `[metrics]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.errors import MissingExtra

try:
    from prometheus_client.registry import Collector
except ImportError as exc:
    raise MissingExtra(f"this needs prometheus-client: pip install 'hbase-webtable[metrics]' ({exc})") from exc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from webtable import KeyedTable, WebTable

__all__ = ["TableCollector"]


class TableCollector(Collector):
    """Gives the metrics of *table* whenever they are asked for: `REGISTRY.register(TableCollector(table))`.

    They are those of `WebTable.metrics`, since the table was opened in this process, under names that begin with
    `webtable_`. Nothing is asked of the store for it. Several tables are labels of the same metrics where each is
    registered in a registry of its own; in one registry, give all of them to one collector.
    """

    def __init__(self, *tables: WebTable | KeyedTable) -> None:
        self._tables = tables

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with the samples of all tables."""
        for same in zip(*(table.metrics.families(table.name) for table in self._tables), strict=True):
            first, *others = same
            for other in others:
                first.samples.extend(other.samples)
            yield first

    def describe(self) -> Iterator[Metric]:
        """Yield nothing: to be registered a collector need not be asked."""
        yield from ()

"""Snapshots of the metrics of a table, also as metric families for Prometheus.

Only `prometheus_client` knows the format of Prometheus. Names begin with `webtable_`, times are in seconds, sizes in
bytes; each sample has the label `table`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable._importable import needed
from webtable.store.metrics import BOUNDS_MS, OperationMetrics, ServerMetrics

if TYPE_CHECKING:
    from prometheus_client.core import HistogramMetricFamily, Metric

    from webtable.store.observed import ObservedStore


_RETRIES = ("retry", "resent")


@dataclass(frozen=True, slots=True)
class IndexMetrics:
    """How many entries of an index were read, and how many of them were dropped because their pages have changed."""

    read: int
    dropped: int


@dataclass(frozen=True, slots=True)
class WriterMetrics:
    """The number of open writers, the pages and about how many bytes they hold, and how many batches are in flight.

    The pages and bytes include those of the batches in flight.
    """

    open: int
    pages: int
    bytes: int
    batches: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """A snapshot of the metrics of a table, counted since it was opened in this process; a forked child starts at zero.

    `operations` has the calls of its store, by their name in the port; the counts in `latencies` are for the bounds in
    `bounds_ms`. `events` counts the log events, whether they were written or not. `damaged` counts the rows that
    answers have skipped because they cannot be read.
    """

    operations: Mapping[str, OperationMetrics]
    bounds_ms: tuple[int, ...]
    events: Mapping[str, int]
    servers: tuple[ServerMetrics, ...]
    writers: WriterMetrics
    indexes: Mapping[str, IndexMetrics]
    damaged: int

    @property
    def retries(self) -> int:
        """How many retries there were, of calls of the store and of batches of writers."""
        return sum(self.events.get(event, 0) for event in _RETRIES)

    @property
    def failed(self) -> int:
        """How many calls have failed."""
        return sum(operation.failed for operation in self.operations.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the metrics as dictionaries, lists, texts and numbers, for JSON and the like."""
        return {**asdict(self), "retries": self.retries, "failed": self.failed}

    def families(self, table: str) -> Iterator[Metric]:
        """Yield the metrics as metric families of `prometheus_client`, each sample with the label *table*.

        Raises `MissingExtra` without that package.
        """
        core = prometheus().core
        counters, gauges = core.CounterMetricFamily, core.GaugeMetricFamily
        yield from (_family(counters, table, exposed) for exposed in _operation_counters(self))
        yield _latencies(core.HistogramMetricFamily, table, self)
        yield from (_family(counters, table, exposed) for exposed in _other_counters(self))
        yield from (_family(gauges, table, exposed) for exposed in _gauges(self))


def metrics_of(
    store: ObservedStore,
    counts: Counter[str],
    events: Mapping[str, int] | None = None,
    of_writers: Iterable[WriterMetrics] = (),
) -> Metrics:
    """Return the metrics of a table in *store*, from its *counts*, its *events* and the metrics *of_writers*."""
    each = list(of_writers)
    writers = WriterMetrics(*(sum(getattr(writer, name) for writer in each) for name in WriterMetrics.__slots__))
    return Metrics(
        store.measured(),
        BOUNDS_MS,
        dict(store.events() + Counter(events or {})),
        tuple(store.servers()),
        writers,
        _indexes(counts),
        counts["damaged"],
    )


def _indexes(counts: Counter[str]) -> dict[str, IndexMetrics]:
    counts_of: dict[str, dict[str, int]] = defaultdict(dict)
    for name, count in counts.items():
        index, dot, what = name.rpartition(".")
        if dot:
            counts_of[index][what] = count
    return {
        index: IndexMetrics(by_kind.get("read", 0), by_kind.get("dropped", 0)) for index, by_kind in counts_of.items()
    }


# Without the library: what is measured does not depend on who asks for it.
class Exposed(NamedTuple):
    """A metric: its name without the prefix, its help text, its labels, and a value for each combination of these."""

    name: str
    help: str
    labels: Sequence[str]
    values: Iterable[tuple[Sequence[str], float]]

    @classmethod
    def of(cls, name: str, about: str, value: float) -> Exposed:
        """Return a metric with one value and no labels."""
        return cls(name, about, (), [((), value)])


def prometheus() -> Any:
    """Return `prometheus_client`; raises `MissingExtra`."""
    with needed("prometheus-client", "metrics"):
        import prometheus_client.core
    return prometheus_client


def gauge_families(table: str, gauges: Iterable[Exposed]) -> Iterator[Metric]:
    """Yield *gauges* of the *table*; raises `MissingExtra`."""
    family = prometheus().core.GaugeMetricFamily
    return (_family(family, table, gauge) for gauge in gauges)


def _operation_counters(metrics: Metrics) -> Iterator[Exposed]:
    each = {
        "operations": ("Calls of the store.", "calls"),
        "operation_failures": ("Calls of the store that ended in an error.", "failed"),
        "operation_rows": ("Rows that were read or stored.", "rows"),
        "operation_bytes": ("Bytes of values that were read or stored.", "bytes"),
    }
    for name, (about, field) in each.items():
        yield _of_each(name, about, "operation", metrics.operations.items(), field)


def _other_counters(metrics: Metrics) -> Iterator[Exposed]:
    indexes, servers = metrics.indexes.items(), [(server.name, server) for server in metrics.servers]
    yield Exposed("events", "Log events.", ("event",), [((event,), n) for event, n in metrics.events.items()])
    yield _of_each("index_entries_read", "Index entries that were read.", "index", indexes, "read")
    yield _of_each("index_entries_dropped", "Index entries whose pages have changed.", "index", indexes, "dropped")
    yield Exposed.of("damaged_rows", "Damaged rows that answers have skipped.", metrics.damaged)
    yield _of_each("server_connections_opened", "Connections that were opened.", "server", servers, "opened")
    yield _of_each("server_connections_dropped", "Connections that failed.", "server", servers, "dropped")


def _gauges(metrics: Metrics) -> Iterator[Exposed]:
    """Yield the gauges of writers and servers."""
    writers = metrics.writers
    yield Exposed.of("writers", "Open writers.", writers.open)
    yield Exposed.of("writer_pages", "Pages that writers hold.", writers.pages)
    yield Exposed.of("writer_bytes", "Approximate size of the pages that writers hold.", writers.bytes)
    yield Exposed.of("writer_batches", "Batches in flight.", writers.batches)
    # One metric with a label, so that a graph can stack them.
    states = [((server.name, "in_use"), server.in_use) for server in metrics.servers]
    states += [((server.name, "idle"), server.idle) for server in metrics.servers]
    yield Exposed(
        "server_connections", "Connections to a gateway, or to a server of HBase.", ("server", "state"), states
    )
    up = [((server.name,), not server.is_down) for server in metrics.servers]
    yield Exposed("server_up", "Whether the last connection to it was answered.", ("server",), up)


def _of_each(name: str, about: str, label: str, each: Iterable[tuple[str, object]], field: str) -> Exposed:
    """Return a metric of the *field* of each named value; *label* names what they are."""
    return Exposed(name, about, (label,), [((named,), getattr(value, field)) for named, value in each])


def _family(family: Any, table: str, exposed: Exposed) -> Metric:
    made: Metric = family(f"webtable_{exposed.name}", exposed.help, labels=("table", *exposed.labels))
    for labels, value in exposed.values:
        made.add_metric((table, *labels), float(value))  # type: ignore[attr-defined]
    return made


def _latencies(family: Any, table: str, metrics: Metrics) -> Metric:
    about = "Duration of calls of the store, and of each piece of a scan."
    made: HistogramMetricFamily = family("webtable_operation_seconds", about, labels=("table", "operation"))
    bounds = [*(str(bound / 1000) for bound in metrics.bounds_ms), "+Inf"]
    for operation, measured in metrics.operations.items():
        made.add_metric(
            (table, operation), list(zip(bounds, accumulate(measured.latencies), strict=True)), measured.seconds
        )
    return made

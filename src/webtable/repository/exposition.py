"""Metrics as Prometheus takes them: families of `prometheus_client`, the one package that knows the format.

Names begin with `webtable_`, times are in seconds, sizes in bytes; each sample has the label `table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client.core import HistogramMetricFamily, Metric

    from webtable.repository.metrics import Metrics
    from webtable.store.observed.metrics import OperationMetrics

    Values = Iterable[tuple[Sequence[str], float]]


class Gauge(NamedTuple):
    """What is known of a table at a moment: a name without prefix, what it is, its labels, and a value for each."""

    name: str
    help: str
    labels: Sequence[str]
    values: Values

    @classmethod
    def of(cls, name: str, told: str, value: float) -> Gauge:
        """Return a gauge with one value."""
        return cls(name, told, (), [((), value)])


def families_of(table: str, metrics: Metrics) -> Iterator[Metric]:
    """Yield what *metrics* tells of the *table*, which its process has done; raises `MissingExtra`."""
    core = prometheus().core

    def counted(name: str, told: str, labels: Sequence[str], values: Values) -> Metric:
        return _filled(core.CounterMetricFamily, table, Gauge(name, told, labels, values))

    done = metrics.operations.items()
    each: dict[str, tuple[str, Callable[[OperationMetrics], int]]] = {
        "operations": ("Calls of the store.", lambda one: one.calls),
        "operation_failures": ("Calls of the store that ended in an error.", lambda one: one.failed),
        "operation_rows": ("Rows that were read or stored.", lambda one: one.rows),
        "operation_bytes": ("Bytes of values that were read or stored.", lambda one: one.bytes),
    }
    for name, (told, of) in each.items():
        yield counted(name, told, ("operation",), [((operation,), of(one)) for operation, one in done])
    yield _latencies(table, metrics, core)
    yield counted("events", "What was logged.", ("event",), [((event,), n) for event, n in metrics.events.items()])
    read = [((index,), one.read) for index, one in metrics.indexes.items()]
    dropped = [((index,), one.dropped) for index, one in metrics.indexes.items()]
    yield counted("index_entries_read", "Entries of indexes that were read.", ("index",), read)
    yield counted("index_entries_dropped", "Those whose pages were others by then.", ("index",), dropped)
    yield counted("damaged_rows", "Rows that answers have left out.", (), [((), metrics.damaged)])
    opened = [((one.name,), one.opened) for one in metrics.gateways]
    lost = [((one.name,), one.dropped) for one in metrics.gateways]
    yield counted("gateway_connections_opened", "Connections that were opened.", ("gateway",), opened)
    yield counted("gateway_connections_dropped", "Those on which a call was lost.", ("gateway",), lost)
    yield from gauge_families(table, _held(metrics))


def gauge_families(table: str, gauges: Iterable[Gauge]) -> Iterator[Metric]:
    """Yield *gauges* of the *table*; raises `MissingExtra`."""
    family = prometheus().core.GaugeMetricFamily
    return (_filled(family, table, gauge) for gauge in gauges)


def prometheus() -> Any:
    """Return `prometheus_client`; raises `MissingExtra`."""
    try:
        import prometheus_client.core
    except ImportError as exc:
        raise MissingExtra(f"this needs prometheus-client: pip install 'hbase-webtable[metrics]' ({exc})") from exc
    return prometheus_client


def _held(metrics: Metrics) -> Iterator[Gauge]:
    """Yield what writers hold, and how gateways are."""
    writers = metrics.writers
    yield Gauge.of("writers", "Writers that are open.", writers.open)
    yield Gauge.of("writer_pages", "Pages that writers hold.", writers.pages)
    yield Gauge.of("writer_bytes", "About how many bytes these have.", writers.bytes)
    yield Gauge.of("writer_batches", "Batches on their way.", writers.batches)
    states = [((one.name, "in_use"), one.in_use) for one in metrics.gateways]
    states += [((one.name, "idle"), one.idle) for one in metrics.gateways]
    yield Gauge("gateway_connections", "Connections to a gateway.", ("gateway", "state"), states)
    up = [((one.name,), not one.is_down) for one in metrics.gateways]
    yield Gauge("gateway_up", "Whether the last connection to a gateway was answered.", ("gateway",), up)


def _filled(family: Any, table: str, gauge: Gauge) -> Metric:
    made: Metric = family(f"webtable_{gauge.name}", gauge.help, labels=("table", *gauge.labels))
    for labels, value in gauge.values:
        made.add_metric((table, *labels), float(value))  # type: ignore[attr-defined]
    return made


def _latencies(table: str, metrics: Metrics, core: Any) -> Metric:
    told = "How long calls took, and each piece of a scan."
    made: HistogramMetricFamily = core.HistogramMetricFamily(
        "webtable_operation_seconds", told, labels=("table", "operation")
    )
    bounds = [*(str(bound / 1000) for bound in metrics.bounds_ms), "+Inf"]
    for operation, one in metrics.operations.items():
        buckets = list(zip(bounds, accumulate(one.latencies), strict=True))
        made.add_metric((table, operation), buckets, one.seconds)
    return made

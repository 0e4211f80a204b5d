"""What an operator asks a table: what it has done, what it holds, and what went wrong, as a value of one moment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from webtable.store.observed.metrics import BOUNDS_MS, GatewayMetrics, OperationMetrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from webtable.store import Store

_RETRIES = ("retry", "resent")


@dataclass(frozen=True, slots=True)
class IndexMetrics:
    """How many entries of an index were read, and how many of them dropped because their pages are others now."""

    read: int
    dropped: int


@dataclass(frozen=True, slots=True)
class WriterMetrics:
    """What the open writers hold now: their number, pages and about how many bytes; and the batches on their way.

    The pages and bytes of these batches are among those.
    """

    open: int
    pages: int
    bytes: int
    batches: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """What a table has done since it was opened, in this process: a forked child begins at nothing.

    `operations` has the calls of its store, by their name in the port; the counts of their `latencies` are for the
    bounds in `bounds_ms`. `events` counts what was logged, or would have been if anybody listened. `damaged` counts the
    rows that answers have left out because they cannot be read. Without gateways, indexes or writers there is nothing
    of them.
    """

    operations: Mapping[str, OperationMetrics]
    bounds_ms: tuple[int, ...]
    events: Mapping[str, int]
    gateways: tuple[GatewayMetrics, ...]
    writers: WriterMetrics
    indexes: Mapping[str, IndexMetrics]
    damaged: int

    @property
    def retries(self) -> int:
        """How often a call was made again, by the store or with pages of a writer."""
        return sum(self.events.get(event, 0) for event in _RETRIES)

    @property
    def failed(self) -> int:
        """How many calls have failed."""
        return sum(one.failed for one in self.operations.values())

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as dictionaries, lists, texts and numbers, for JSON and the like."""
        return {**asdict(self), "retries": self.retries, "failed": self.failed}

    def families(self, table: str) -> Iterator[Metric]:
        """Yield all of it as metric families of `prometheus_client`, each sample with the label *table*.

        Raises `MissingExtra` without that package.
        """
        from webtable.repository.exposition import families_of

        return families_of(table, self)


def metrics_of(
    store: Store, counts: Counter[str], events: Mapping[str, int] | None = None, held: Iterable[WriterMetrics] = ()
) -> Metrics:
    """Return the metrics of a table in *store*, by what it has counted and what its writers have *held*."""
    each = list(held)
    writers = WriterMetrics(*(sum(getattr(one, name) for one in each) for name in WriterMetrics.__slots__))
    return Metrics(
        store.meter.taken(),
        BOUNDS_MS,
        dict(store.events() + Counter(events or {})),
        tuple(store.gateways()),
        writers,
        _indexes(counts),
        counts["damaged"],
    )


def _indexes(counts: Counter[str]) -> dict[str, IndexMetrics]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for name, count in counts.items():
        index, dot, what = name.rpartition(".")
        if dot:
            found[index][what] = count
    return {index: IndexMetrics(some.get("read", 0), some.get("dropped", 0)) for index, some in found.items()}

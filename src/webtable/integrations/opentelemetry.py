"""Spans and metrics of OpenTelemetry for the calls and metrics of a table (extra `[otel]`)."""

from __future__ import annotations

import time
import weakref
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from webtable._importable import needed

with needed("opentelemetry-api", "otel"):
    from opentelemetry.metrics import CallbackOptions, Observation, get_meter_provider
    from opentelemetry.trace import SpanKind, StatusCode, get_tracer_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opentelemetry.metrics import Histogram, Meter, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from webtable import KeyedTable, WebTable

__all__ = ["instrument"]

_BOUNDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""The bounds that the conventions recommend for the duration of a database call, in seconds."""


def instrument(
    *tables: WebTable | KeyedTable,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> Callable[[], None]:
    """Make a span of each call of the stores of *tables*, and provide their metrics; the returned function ends it.

    The providers default to those that the program has set. Spans and `db.client.operation.duration` are named as in
    the semantic conventions for databases; the other metrics are those of `TableCollector`, with names that begin with
    `webtable.` here. They never contain keys, URLs or error messages. Give all tables in one call.
    """
    tracer = (tracer_provider or get_tracer_provider()).get_tracer("webtable")
    meter = (meter_provider or get_meter_provider()).get_meter("webtable")
    duration = meter.create_histogram(
        "db.client.operation.duration",
        unit="s",
        description="Duration of calls of the store.",
        explicit_bucket_boundaries_advisory=_BOUNDS,
    )
    _observe(meter, tables)
    stores = {id(table.store): table.store for table in tables}.values()
    ends = [store.listen(_Calls(tracer, duration, _attributes_of(store.name))) for store in stores]

    def end() -> None:
        for each in ends:
            each()

    return end


class _Calls:
    """Begins a span for each call of a store."""

    def __init__(self, tracer: Tracer, duration: Histogram, attributes: Mapping[str, str | int]) -> None:
        self._tracer = tracer
        self._duration = duration
        self._attributes = attributes

    def __call__(self, operation: str, table: str, requested: int | None, began: int) -> _Call:
        attributes = {**self._attributes, "db.operation.name": operation, "db.collection.name": table}
        size = {} if requested is None or requested < 2 else {"db.operation.batch.size": requested}
        span = self._tracer.start_span(
            f"{operation} {table}", kind=SpanKind.CLIENT, attributes={**attributes, **size}, start_time=began
        )
        return _Call(span, self._duration, attributes, began)


class _Call:
    """A call in progress."""

    def __init__(self, span: Span, duration: Histogram, attributes: dict[str, str | int], began: int) -> None:
        self._span = span
        self._duration = duration
        self._attributes = attributes
        self._began = began

    def ended(self, rows: int | None, error: BaseException | None) -> None:
        """End the span, and count the time."""
        now = time.time_ns()
        # What is written returns no rows; and an error is reported by its name only, because its text may quote keys.
        if rows is not None and self._attributes["db.operation.name"] != "write":
            self._span.set_attribute("db.response.returned_rows", rows)
        if error is not None:
            name = type(error).__name__
            self._attributes["error.type"] = name
            self._span.set_attribute("error.type", name)
            self._span.add_event("exception", {"exception.type": f"{type(error).__module__}.{name}"})
            self._span.set_status(StatusCode.ERROR, name)
        self._span.end(now)
        self._duration.record(max(0, now - self._began) / 1e9, self._attributes)


def _attributes_of(name: str) -> dict[str, str | int]:
    """Return the attributes of all calls of the store *name*; with the address if it has exactly one."""
    scheme, colon, _ = name.partition(":")
    # A path of a file has none, and one letter before the colon is a drive.
    if not colon or len(scheme) < 2 or "/" in scheme:
        return {"db.system.name": "sqlite"}
    attributes: dict[str, str | int] = {"db.system.name": scheme}
    address = urlsplit(name)
    if address.hostname and "," not in address.netloc:
        attributes["server.address"] = address.hostname
        if address.port is not None:
            attributes["server.port"] = address.port
    return attributes


def _observe(meter: Meter, tables: Iterable[WebTable | KeyedTable]) -> None:
    """Make an instrument for each family of metrics except histograms, as long as the table exists."""
    # A meter keeps its callbacks for ever, so they must not keep a closed table.
    held = [weakref.ref(table) for table in tables]
    create: dict[str, Callable[..., object]] = {
        "counter": meter.create_observable_counter,
        "gauge": meter.create_observable_gauge,
    }
    first = next((table for ref in held if (table := ref()) is not None), None)
    for family in () if first is None else first.metrics.families(first.name):
        if family.type in create:
            name = "webtable." + family.name.removeprefix("webtable_")
            create[family.type](name, callbacks=[_Observed(held, family.name)], description=family.documentation)


class _Observed:
    """Gives the values of one family of metrics for all tables at each collection."""

    def __init__(self, tables: Iterable[weakref.ref[Any]], family: str) -> None:
        self._tables = tables
        self._family = family

    def __call__(self, options: CallbackOptions) -> Iterator[Observation]:
        """Yield a value for each sample."""
        del options
        for table in filter(None, (ref() for ref in self._tables)):
            for family in table.metrics.families(table.name):
                if family.name == self._family:
                    yield from (Observation(sample.value, sample.labels) for sample in family.samples)

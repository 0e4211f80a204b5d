"""Spans and metrics of OpenTelemetry, as the SDK's exporters in memory get them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import webtable
from webtable.errors import StoreUnavailable, TableNotFound
from webtable.integrations.opentelemetry import instrument
from webtable.rowkey import CompositeKey, KeyRange, Text
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Store
from webtable.store.observed import ObservedStore
from webtable.store.rows import NewCell, Put
from webtable.store.sqlite import SQLiteStore
from webtable.testing import FailingStore

URLS = [f"https://secret-host.example/{n}" for n in range(30)]


@dataclass
class Telemetry:
    """What was exported."""

    tracers: TracerProvider
    meters: MeterProvider
    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    def spans(self, operation: str = "") -> list[ReadableSpan]:
        """The spans that have ended, those of *operation* alone if it is given."""
        ended = self.exporter.get_finished_spans()
        return [span for span in ended if operation in ("", span.attributes["db.operation.name"])]

    def points(self, name: str) -> list[object]:
        """The points of the metric *name*."""
        data = self.reader.get_metrics_data()
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return [
            point for scope in scopes for one in scope.metrics if one.name == name for point in one.data.data_points
        ]

    def instrument(self, *tables: webtable.WebTable) -> Callable[[], None]:
        """Instrument *tables* for this."""
        return instrument(*tables, tracer_provider=self.tracers, meter_provider=self.meters)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(shutdown_on_exit=False), MeterProvider([reader], shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    yield Telemetry(tracers, meters, exporter, reader)
    tracers.shutdown()
    meters.shutdown()


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[webtable.WebTable]:
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        with table.writer() as writer:
            for url in URLS:
                writer.put(webtable.Page(url=url, body=b"x"))
        yield table


def test_each_call_of_the_store_is_a_span(pages, telemetry):
    telemetry.instrument(pages)

    pages.get(URLS[0])
    pages.put(webtable.Page(url=URLS[1], body=b"y"))

    read = telemetry.spans("read")[0]
    write = next(span for span in telemetry.spans("write") if span.attributes["db.collection.name"] == "pages")
    assert read.name == "read pages"
    assert read.kind is SpanKind.CLIENT
    assert dict(read.attributes) == {
        "db.system.name": "sqlite",
        "db.operation.name": "read",
        "db.collection.name": "pages",
        "db.response.returned_rows": 1,
    }
    assert read.start_time <= read.end_time
    assert write.name == "write pages"
    assert write.status.status_code is StatusCode.UNSET


def test_no_key_and_no_url_gets_into_a_span(pages, telemetry):
    telemetry.instrument(pages)

    pages.get(URLS[0])
    list(pages.pages("secret-host.example"))
    pages.put(webtable.Page(url=URLS[1], body=b"y"))

    assert len(telemetry.spans()) > 2
    assert [span.to_json() for span in telemetry.spans() if "secret" in span.to_json()] == []


def test_a_call_belongs_to_the_span_of_whoever_makes_it_also_from_another_thread(pages, telemetry):
    telemetry.instrument(pages)

    with telemetry.tracers.get_tracer("test").start_as_current_span("crawl", attributes={"db.operation.name": ""}):
        pages.get(URLS[0])
        with pages.writer() as writer:
            writer.put(webtable.Page(url=URLS[1], body=b"y"))

    *calls, crawl = telemetry.spans()
    assert {span.attributes["db.operation.name"] for span in calls} >= {"read", "write"}
    assert {span.parent.span_id for span in calls} == {crawl.context.span_id}


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Store]:
    with ObservedStore(SQLiteStore(tmp_path / "rows.db", create=True)) as store:
        store.create_table(TableSchema("rows", (FamilySchema("f"),)))
        yield store


def heard(store: Store, telemetry: Telemetry) -> None:
    """Instrument a store without a table around it."""

    class Table:
        pass

    table = Table()
    table.store, table.name = store, store.name
    table.metrics = type("Nothing", (), {"families": lambda *_: ()})()
    telemetry.instrument(table)


def put_rows(store: Store, many: int = 20) -> None:
    assert store.write("rows", [Put(b"row%02d" % n, (NewCell(b"f:q", 1, b"x"),)) for n in range(many)]) == [None] * many


def test_the_span_of_a_scan_ends_when_its_rows_do(rows, telemetry):
    put_rows(rows)
    heard(rows, telemetry)

    scan = rows.scan("rows", [KeyRange()])
    first = next(scan)
    before = len(telemetry.spans())
    rest = list(scan)

    assert (first.key, len(rest), before) == (b"row00", 19, 0)
    assert [span.attributes["db.response.returned_rows"] for span in telemetry.spans()] == [20]


def test_the_span_of_a_scan_that_is_left_early_ends_without_an_error(rows, telemetry):
    put_rows(rows)
    heard(rows, telemetry)

    scan = rows.scan("rows", [KeyRange()])
    next(scan)
    scan.close()

    [span] = telemetry.spans()
    assert span.attributes["db.response.returned_rows"] == 20
    assert span.status.status_code is StatusCode.UNSET


def test_a_call_that_fails_has_its_error_without_what_it_says(rows, telemetry):
    failing = ObservedStore(FailingStore(rows, StoreUnavailable("secret row")))
    heard(failing, telemetry)

    with pytest.raises(StoreUnavailable):
        failing.read("rows", [b"key"])
    with pytest.raises(StoreUnavailable):
        list(failing.scan("rows", [KeyRange()]))

    assert [span.attributes["error.type"] for span in telemetry.spans()] == ["StoreUnavailable"] * 2
    assert {span.status.status_code for span in telemetry.spans()} == {StatusCode.ERROR}
    assert [event.name for span in telemetry.spans() for event in span.events] == ["exception"] * 2
    assert [span for span in telemetry.spans() if "secret" in span.to_json()] == []


def test_a_write_of_many_rows_tells_their_number(rows, telemetry):
    heard(rows, telemetry)

    put_rows(rows, 5)

    [span] = telemetry.spans()
    assert span.attributes["db.operation.batch.size"] == 5
    assert "db.response.returned_rows" not in span.attributes


def test_a_missing_table_is_an_error_of_the_call(rows, telemetry):
    heard(rows, telemetry)

    with pytest.raises(TableNotFound):
        rows.read("elsewhere", [b"key"])

    assert [span.attributes["error.type"] for span in telemetry.spans()] == ["TableNotFound"]


def test_the_metrics_are_those_of_the_table(pages, telemetry):
    pages.get(URLS[0])
    telemetry.instrument(pages)

    pages.get(URLS[0])

    calls = {point.attributes["operation"]: point.value for point in telemetry.points("webtable.operations")}
    assert calls == {name: one.calls for name, one in pages.metrics.operations.items()}
    assert calls["read"] >= 2
    assert [point.value for point in telemetry.points("webtable.writers")] == [0]
    durations = telemetry.points("db.client.operation.duration")
    took = {one.attributes["db.operation.name"]: one.count for one in durations}
    assert took == Counter(span.attributes["db.operation.name"] for span in telemetry.spans())


def test_several_tables_are_told_apart(pages, telemetry, tmp_path):
    with webtable.open(tmp_path / "other.db", create=True) as other:
        telemetry.instrument(pages, other)

        found = {point.attributes["table"] for point in telemetry.points("webtable.damaged_rows")}

    assert found == {pages.name, other.name}


def test_rows_under_a_declared_key_have_spans_and_metrics_too(telemetry, tmp_path):
    with webtable.KeyedTable.open(tmp_path / "rows.db", CompositeKey(Text("name")), create=True) as table:
        telemetry.instrument(table)
        list(table.scan(webtable.ALL))

        assert {point.attributes["table"] for point in telemetry.points("webtable.damaged_rows")} == {table.name}
    assert [span.name for span in telemetry.spans()] == [f"scan {table.table}"]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("hbase://one:9090", {"db.system.name": "hbase", "server.address": "one", "server.port": 9090}),
        ("hbase://one:9090,two:9090", {"db.system.name": "hbase"}),
        ("memory:crawl", {"db.system.name": "memory"}),
        ("/data/a:b.db", {"db.system.name": "sqlite"}),
        ("crawl.db", {"db.system.name": "sqlite"}),
    ],
)
def test_a_span_names_the_address_of_a_single_gateway(rows, telemetry, name, attributes):
    rows.name = name
    heard(rows, telemetry)

    rows.read("rows", [b"key"])

    [span] = telemetry.spans()
    told = {key: value for key, value in span.attributes.items() if key.startswith(("db.system", "server."))}
    assert told == attributes


def test_what_was_instrumented_can_be_as_before(pages, telemetry):
    end = telemetry.instrument(pages)
    pages.get(URLS[0])
    told = len(telemetry.spans())

    end()
    pages.get(URLS[0])

    assert told > 0
    assert len(telemetry.spans()) == told


def test_nobody_who_does_not_ask_imports_opentelemetry(tmp_path):
    script = (
        "import sys, webtable\n"
        f"with webtable.open({str(tmp_path / 'crawl.db')!r}, create=True) as table:\n"
        "    table.put(webtable.Page(url='https://example.com/', body=b'x'))\n"
        "print([name for name in sys.modules if 'opentelemetry' in name])\n"
    )

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


@pytest.mark.hbase
def test_calls_of_hbase_tell_its_address(hbase_url, hbase_table, telemetry):
    telemetry.instrument(hbase_table)

    hbase_table.get(URLS[0])

    address, [span, *_] = urlsplit(hbase_url), telemetry.spans()
    assert span.attributes["db.system.name"] == "hbase"
    assert span.attributes["server.address"] == address.hostname
    assert span.attributes["server.port"] == address.port

"""`webtable metrics` and the collector: what Prometheus reads of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from running import Run

import webtable
from webtable.integrations.prometheus import TableCollector

ROOT = Path(__file__).parents[2]
LINK = webtable.Link("https://example.com/other", "other")
DASHBOARD = json.loads((ROOT / "docs" / "grafana.json").read_text())


@pytest.fixture
def stored() -> str:
    with webtable.open("webtable.db", create=True, indexes=["link", "time"]) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"abc" * 100, outlinks=(LINK,)))
    return "webtable.db"


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Return the samples by name and the values of their labels but the table."""
    return {
        (sample.name, *(value for label, value in sorted(sample.labels.items()) if label != "table")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_state_of_a_table_can_be_read(run: Run, stored: str):
    done = run("metrics")

    found = samples(done.out)
    assert done.code == 0
    assert found["webtable_up",] == 1
    assert found["webtable_pages",] == 1
    assert found["webtable_unpacked_bytes",] == 300
    assert found["webtable_check_state", "rows"] == 0
    assert found["webtable_index_ready", "time"] == 1
    assert found["webtable_queue_batches",] == 1
    assert found["webtable_store_bytes",] > 8192
    assert all(name.startswith("webtable_") for name, *_ in found)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_a_full_disk_is_told_with_the_name_of_the_textfile(run: Run, stored: str):
    done = run("metrics", "--textfile", "/dev/full")

    assert done.code == 1
    assert done.err == "webtable: /dev/full: it cannot be written: the disk is full; make space, and try again\n"


def test_the_textfile_is_written_as_a_whole(run: Run, stored: str):
    done = run("metrics", "--textfile", "webtable.prom")

    assert (done.code, done.out) == (0, "")
    assert samples(Path("webtable.prom").read_text())["webtable_up",] == 1
    assert [path.name for path in Path().glob("*.prom*")] == ["webtable.prom"]


def test_a_table_is_named_alike_while_it_is_away(run: Run, stored: str):
    there = run("-s", stored, "metrics").out
    Path(stored).rename("elsewhere.db")

    done = run("-s", stored, "metrics")

    tables = [set(re.findall(r'table="([^"]*)"', text)) for text in (there, done.out)]
    assert tables == [{"webtable.db/pages"}] * 2
    assert (done.code, samples(done.out)["webtable_up",]) == (1, 0)
    assert samples(done.out)["webtable_check_state", "store"] == 2


def test_a_program_gives_what_it_has_done_with_a_table(stored: str):
    registry = CollectorRegistry()
    with webtable.open(stored) as table:
        registry.register(TableCollector(table))
        table.get("https://example.com/")
        with table.writer() as writer:
            writer.put(webtable.Page(url="https://example.com/2", body=b"x"))
            found = samples(generate_latest(registry).decode())
        metrics = table.metrics

    read = metrics.operations["read"]
    assert found["webtable_writer_pages",] == 1
    assert 0 < found["webtable_operations_total", "read"] <= read.calls
    found = samples(generate_latest(registry).decode())
    assert found["webtable_operations_total", "read"] == read.calls
    assert found["webtable_operation_rows_total", "write"] == metrics.operations["write"].rows
    assert found["webtable_operation_seconds_bucket", "+Inf", "read"] == sum(read.latencies)
    assert found["webtable_operation_seconds_sum", "read"] == pytest.approx(read.seconds)


def test_several_tables_are_samples_of_the_same_metrics(stored: str):
    registry = CollectorRegistry()
    with webtable.open(stored) as one, webtable.open("other.db", create=True) as other:
        registry.register(TableCollector(one, other))

        text = generate_latest(registry).decode()

    assert text.count("# TYPE webtable_writers gauge") == 1
    assert set(re.findall(r'webtable_writers\{table="([^"]*)"', text)) == {one.name, other.name}


def test_the_dashboard_asks_for_metrics_that_there_are(run: Run, stored: str):
    asked = {
        name
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
        for name in re.findall(r"webtable_\w+", target["expr"])
    }
    registry = CollectorRegistry()
    with webtable.open(stored) as table:
        registry.register(TableCollector(table))
        there = set(re.findall(r"^# TYPE (\w+)", run("metrics").out + generate_latest(registry).decode(), re.MULTILINE))

    assert len(asked) > 10
    assert {name.removesuffix("_bucket") for name in asked} <= there | {"webtable_queue_oldest_timestamp_seconds"}


def test_the_alerts_of_the_docs_ask_for_metrics_that_there_are(run: Run, stored: str):
    alerts = (ROOT / "docs" / "operating.md").read_text().partition("groups:")[2].partition("```")[0]
    asked = set(re.findall(r"webtable_\w+", alerts))
    registry = CollectorRegistry()
    with webtable.open(stored) as table:
        registry.register(TableCollector(table))
        there = set(re.findall(r"^# TYPE (\w+)", run("metrics").out + generate_latest(registry).decode(), re.MULTILINE))

    assert len(asked) > 5
    assert {name.removesuffix("_bucket") for name in asked} <= there

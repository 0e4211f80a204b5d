"""What an operator sees of a table: the metrics of one moment, and what is logged beside the answers."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import threading

import pytest

import webtable
from webtable import KeyedTable, Page, WebTable, WriteFailed
from webtable.errors import StoreRefused, StoreUnavailable
from webtable.rowkey import CompositeKey, KeyRange, UInt
from webtable.store import NewCell, Put
from webtable.store.memory import MemoryStore
from webtable.store.observed import ObservedStore
from webtable.testing import FailingStore, WrappedStore

USER_APP = CompositeKey(UInt("user", 4), UInt("app", 4))
GONE = StoreUnavailable("it is away")


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "pages.db", create=True, indexes=[]) as table:
        yield table


def page(number, html=b"hello"):
    return Page(url=f"https://a.example/{number}", body=html)


def around(table, store):
    """Return *table* once more, over *store*."""
    return WebTable(store, table.table, table.layout)


def rows_of(count, value=b"12345"):
    return [Put(b"%05d" % number, [NewCell(b"content:html", 1, value)]) for number in range(count)]


class LosingStore(WrappedStore):
    """A store that is not reached at the first *times* writes to the table."""

    def __init__(self, store, times):
        super().__init__(store)
        self.left = times

    def around(self, call, do):
        if call.name == "write" and self.left:
            self.left -= 1
            raise GONE
        return do()


def test_rows_and_bytes_are_counted_by_operation(table):
    before = table.metrics.operations

    table.store.write("pages", rows_of(10))
    table.store.read("pages", [b"00000", b"00001", b"none"])
    table.store.read_cells("pages", [b"00000"], b"content", limit=3)
    table.store.first_rows("pages", [KeyRange(b"00000"), KeyRange(b"00005")], 2)
    list(table.store.scan("pages", [KeyRange()]))

    after = table.metrics.operations
    grown = {
        name: (one.calls - before[name].calls, one.rows - before[name].rows, one.bytes - before[name].bytes)
        for name, one in after.items()
    }
    assert grown == {
        "write": (1, 10, 50),
        "read": (1, 2, 10),
        "read_cells": (1, 1, 5),
        "first_rows": (1, 4, 20),
        "scan": (1, 10, 50),
    }


def test_each_call_is_one_latency_and_each_piece_of_a_scan(table):
    table.store.write("pages", rows_of(100))
    before = table.metrics.operations["scan"]

    assert len(list(table.store.scan("pages", [KeyRange()]))) == 100

    metrics = table.metrics
    scan = metrics.operations["scan"]
    assert scan.calls == before.calls + 1
    assert sum(scan.latencies) == sum(before.latencies) + 2  # 64 rows, then the rest
    assert all(len(one.latencies) == len(metrics.bounds_ms) + 1 for one in metrics.operations.values())
    write = metrics.operations["write"]
    assert sum(write.latencies) == write.calls


def test_the_time_that_the_caller_of_a_scan_takes_does_not_count(table, manual_clock):
    table.store.write("pages", rows_of(3))
    before = table.metrics.operations["scan"].seconds

    for _ in table.store.scan("pages", [KeyRange()]):
        manual_clock.sleep(60)

    assert table.metrics.operations["scan"].seconds == before


def test_the_bytes_of_many_rows_are_reckoned(table):
    table.store.write("pages", rows_of(1000))

    list(table.store.scan("pages", [KeyRange()]))

    assert table.metrics.operations["scan"].bytes == 5000


def test_a_call_that_fails_is_counted_and_logged_without_what_its_error_says(table, caplog):
    failing = around(table, FailingStore(table.store, GONE, at=lambda call: call.name in ("read", "scan")))
    with caplog.at_level(logging.INFO, logger="webtable"), pytest.raises(StoreUnavailable):
        failing.get("https://a.example/")

    metrics = failing.metrics
    assert (metrics.failed, metrics.operations["read"].failed, metrics.events["failed"]) == (1, 1, 1)
    [record] = [one for one in caplog.records if one.event == "failed"]
    assert (record.name, record.levelname, record.table) == ("webtable.store", "INFO", "pages")
    assert record.getMessage().endswith(": StoreUnavailable")
    assert record.seconds >= 0


def test_a_write_of_which_one_row_is_refused_has_failed_and_the_other_rows_count():
    with MemoryStore() as store, KeyedTable(store, "apps", USER_APP) as table:
        store.create_table(webtable.schema.TableSchema("apps", (webtable.schema.FamilySchema("d"),)))

        outcomes = table.store.write(
            "apps", [Put(b"a", [NewCell(b"d:x", 1, b"1")]), Put(b"b", [NewCell(b"no:x", 1, b"1")])]
        )

        assert [type(one) for one in outcomes] == [type(None), StoreRefused]
        write = table.metrics.operations["write"]
        assert (write.calls, write.failed, write.rows, write.bytes) == (1, 1, 1, 1)


def test_a_missing_table_is_an_answer_and_no_failure():
    with MemoryStore() as store, KeyedTable(store, "apps", USER_APP) as table:
        with pytest.raises(webtable.errors.TableNotFound):
            table.get(user=1, app=2)

        assert table.metrics.failed == 0
        assert table.metrics.operations["read"].calls == 1


def test_a_slow_call_is_logged(table, caplog, manual_clock):
    class Slow(WrappedStore):
        def around(self, call, do):
            manual_clock.sleep(12 if call.name == "read" else 0)
            return do()

    slow = ObservedStore(Slow(table.store))
    slow.timeout = 30
    with caplog.at_level(logging.INFO, logger="webtable"):
        slow.read("pages", [b"x"])

    [record] = caplog.records
    assert (record.event, record.table, record.levelname) == ("slow-call", "pages", "INFO")
    assert slow.events()["slow-call"] == 1


def test_metrics_are_a_value_of_their_moment_and_plain_on_demand(table):
    table.put(page(1))
    metrics = table.metrics
    plain = metrics.as_dict()

    table.put(page(2))

    assert metrics.as_dict() == plain
    assert json.loads(json.dumps(plain))["operations"]["write"]["calls"] == metrics.operations["write"].calls
    assert table.metrics.operations["write"].calls > metrics.operations["write"].calls
    with pytest.raises(dataclasses.FrozenInstanceError):
        metrics.damaged = 3


def test_metrics_are_there_when_the_table_is_closed(tmp_path):
    with webtable.open(tmp_path / "closed.db", create=True) as table:
        table.put(page(1))

    assert table.metrics.operations["write"].rows > 0
    assert table.metrics.writers.open == 0


def test_what_the_writers_hold_is_told(table):
    with table.writer(max_age=60) as writer:
        for number in range(5):
            writer.put(page(number, b"x" * 1000))

        held = table.metrics.writers
        assert (held.open, held.pages, held.batches) == (1, 5, 0)
        assert held.bytes > 5000

    assert table.metrics.writers == webtable.metrics.WriterMetrics(0, 0, 0, 0)


def test_a_batch_on_its_way_is_told(table):
    goes, ends = threading.Event(), threading.Event()

    class Waiting(WrappedStore):
        def around(self, call, do):
            if call.name == "write":
                goes.set()
                ends.wait(30)
            return do()

    waiting = around(table, Waiting(table.store))
    with waiting.writer(buffer_pages=3, max_age=60) as writer:
        for number in range(4):
            writer.put(page(number))
        assert goes.wait(30)

        held = waiting.metrics.writers
        ends.set()

    assert (held.pages, held.batches) == (4, 1)


def test_pages_that_are_sent_again_are_logged_and_counted(table, caplog):
    losing = around(table, LosingStore(table.store, 2))
    with caplog.at_level(logging.INFO, logger="webtable.repository"), losing.writer(deadline=20) as writer:
        writer.put(page(1))

    records = [one for one in caplog.records if one.event == "resent"]
    assert [one.getMessage().split(" (")[0].partition("pages': ")[2] for one in records] == [
        "attempt 2 for 1 pages",
        "attempt 3 for 1 pages",
    ]
    assert {(one.name, one.table, one.store) for one in records} == {("webtable.repository", "pages", table.store.name)}
    assert losing.metrics.events["resent"] == losing.metrics.retries == 2


def test_pages_that_are_left_in_a_file_are_a_warning_that_names_it(table, tmp_path, caplog):
    losing = around(table, LosingStore(table.store, 99))
    with pytest.raises(WriteFailed), losing.writer(spool=tmp_path / "left.jsonl.zst") as writer:
        writer.put(page(1, b"the body"))

    [record] = [one for one in caplog.records if one.event == "spooled"]
    assert record.levelname == "WARNING"
    assert "wrote 1 pages to " in record.getMessage()
    assert "left.jsonl.zst" in record.getMessage()
    assert "the body" not in caplog.text
    assert losing.metrics.events["spooled"] == 1


def test_a_wait_for_another_writer_of_the_file_is_logged(table, caplog):
    held, release = threading.Event(), threading.Event()

    def hold():
        with table.store.transaction():
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    threading.Timer(0.3, release.set).start()
    with caplog.at_level(logging.INFO, logger="webtable.store.sqlite"):
        table.store.write("pages", rows_of(1))
    thread.join()

    [record] = [one for one in caplog.records if one.event == "waited"]
    assert (record.name, record.table) == ("webtable.store.sqlite", "pages")
    assert record.seconds >= 0.1
    assert table.metrics.events["waited"] == 1


def test_a_forked_child_begins_at_nothing(table):
    table.put(page(1))
    read, write = os.pipe()
    with table.writer(max_age=60) as writer:
        writer.put(page(2))
        child = os.fork()
        if child == 0:
            metrics = table.metrics
            total = sum(one.calls for one in metrics.operations.values()) + metrics.writers.pages
            table.get("https://a.example/1")
            again = table.metrics.operations["read"].calls
            os.write(write, b"%d %d" % (total, again))
            os._exit(0)
        os.waitpid(child, 0)

    assert os.read(read, 99) == b"0 1"
    assert table.metrics.operations["write"].calls > 1


def test_calls_of_many_threads_are_all_counted(table):
    table.store.write("pages", rows_of(1))
    before = table.metrics.operations["read"]

    def ask():
        for _ in range(200):
            table.store.read("pages", [b"00000"])

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    read = table.metrics.operations["read"]
    assert (read.calls - before.calls, read.rows - before.rows) == (1200, 1200)


def test_a_keyed_table_has_metrics_too():
    with MemoryStore() as store, KeyedTable(store, "apps", USER_APP) as table:
        store.create_table(webtable.schema.TableSchema("apps", (webtable.schema.FamilySchema("d"),)))
        table.put({"user": 1, "app": 2}, {"d:x": b"1"})

        assert table.metrics.operations["write"].rows == 1
        assert (table.metrics.servers, table.metrics.indexes) == ((), {})

"""What the doctor finds of a table, on every store: each trouble is a check of its own, with a fix."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from damaging import HTML, damage
from test_missing_tables import drop

import webtable
from store_differences import with_thrift1
from webtable.errors import InvalidArgument, StoreUnavailable
from webtable.records import TypedColumn
from webtable.repository.indexes.states import Indexes
from webtable.repository.upkeep.queue import DEAD_AFTER_SECONDS, RecountQueue
from webtable.rowkey import CompositeKey, Text
from webtable.schema import LAYOUT_ROW, IndexState, meta_table, option_column, option_json
from webtable.store import NewCell, Put, open_store
from webtable.store.port import Store


@pytest.fixture
def url(new_url, site):
    """A table with indexes and a few pages; its URL."""
    url = new_url()
    with webtable.open(url, create=True, indexes=["link", "time"]) as table, table.writer() as writer:
        for number in range(5):
            writer.put(site.page(f"/{number}", body=b"<p>x"))
    with webtable.open(url) as table:
        table.links.refresh()
    return url


def found(url, name, **options):
    """Return the checks of that name."""
    return [one for one in webtable.doctor(url, **options) if one.check == name]


@with_thrift1
def test_of_a_table_without_trouble_all_is_well(url):
    diagnosis = webtable.doctor(url, deep=True)

    # Of Thrift1 alone it is told that there is a Thrift2 gateway as well.
    assert [one for one in diagnosis if not one.is_ok and "no Thrift2" not in one.finding] == []
    assert {"store", "layout", "tables", "families", "indexes", "freshness", "rows", "digests"} <= {
        one.check for one in diagnosis
    }
    assert diagnosis.failed == ()


def test_a_damaged_row_fails_and_is_named(url, site):
    with webtable.open(url) as table:
        damage(table, site.url("/2"))

    (rows,) = found(url, "rows")

    assert rows.state == "failed"
    assert rows.finding.startswith("1 of 5 pages of a sample cannot be read")
    assert site.url("/2") in rows.finding
    assert "webtable verify" in rows.fix


def test_a_damaged_body_is_found_by_the_digests_alone(url, site):
    with webtable.open(url) as table:
        damage(table, site.url("/2"), HTML, b"another body")

    diagnosis = webtable.doctor(url, all_bodies=True)

    assert [one.check for one in diagnosis.failed] == ["digests"]
    assert "4 pages were read: 1 damaged" in diagnosis.failed[0].finding
    assert found(url, "rows")[0].is_ok


def test_a_table_that_was_dropped_is_named(url):
    name = drop(url, "_time_idx")

    (tables,) = found(url, "tables")

    assert tables.state == "failed"
    assert f"{name}_time_idx" in tables.finding
    assert "webtable create" in tables.fix


def test_without_a_layout_the_rest_of_the_store_is_looked_at(url):
    drop(url, "_meta")

    diagnosis = webtable.doctor(url)

    assert [one.check for one in diagnosis.failed] == ["layout"]
    assert "but not its layout" in diagnosis.failed[0].finding
    assert found(url, "store")[0].is_ok


@with_thrift1
def test_families_that_are_not_as_the_layout_says_are_a_warning_with_the_statement(url):
    store, table = open_store(url)
    with store:
        altered = NewCell(option_column("versions"), int(datetime.now(UTC).timestamp() * 1000), option_json(5))
        assert store.write(meta_table(table).name, [Put(LAYOUT_ROW, [altered])]) == [None]

    (families,) = found(url, "families")

    assert families.state == "warning"
    assert "family 'content': versions " in families.finding
    assert " -> 5" in families.finding
    assert "webtable create --alter-families: alter " in families.fix


def test_an_index_that_is_not_complete_is_a_warning(url):
    store, table = open_store(url)
    with store:
        Indexes(store, table).set("time", IndexState(phase="building"))

    (indexes,) = found(url, "indexes")

    assert (indexes.state, indexes.fix.split(",")[0]) == ("warning", "table.indexes.rebuild('time')")


def test_batches_of_writers_that_died_are_a_warning(url, monkeypatch):
    store, table = open_store(url)
    with store, monkeypatch.context() as patched:
        before = int((datetime.now(UTC) - timedelta(seconds=DEAD_AFTER_SECONDS + 60)).timestamp() * 1000)
        patched.setattr("webtable.repository.upkeep.queue.now_in_milliseconds", lambda: before)
        queue = RecountQueue(store, table)
        queue.write([queue.entered([b"a row"])])

    (freshness,) = found(url, "freshness")

    assert freshness.state == "warning"
    assert "1 of these were left by writers" in freshness.finding
    assert "webtable links refresh" in freshness.fix


def test_a_page_of_the_future_is_a_warning_about_clocks(url, site):
    with webtable.open(url) as table:
        table.put(site.page("/late", body=b"x", age=-7200))

    (dates,) = found(url, "dates")

    assert dates.state == "warning"
    assert "NTP" in dates.fix


def test_an_error_of_the_store_is_a_check_that_failed(url, monkeypatch):
    def fail(*_):
        raise StoreUnavailable("gone")

    monkeypatch.setattr(Store, "first_rows", fail)

    (rows,) = found(url, "rows")

    assert (rows.state, rows.finding) == ("failed", "gone")


def test_what_there_is_no_time_for_is_told(url):
    checks = list(webtable.doctor(url, timeout=1e-9))

    assert [one for one in checks if one.is_ok and one.check == "rows"] == []
    assert any("the time was over" in one.finding for one in checks)


def test_a_time_that_is_none_is_refused(url):
    with pytest.raises(InvalidArgument, match="timeout"):
        webtable.doctor(url, timeout=0)


def test_a_table_of_rows_is_no_failure(new_url):
    url = new_url()
    webtable.KeyedTable.open(url, CompositeKey(Text("name")), families=["d"], create=True).close()

    (layout,) = found(url, "layout")

    assert layout.is_ok
    assert "CompositeKey" in layout.finding


def test_a_typed_cell_that_is_no_value_of_its_type_is_a_failure_that_names_it(new_url):
    url, columns = new_url(), [TypedColumn("size", "int")]
    with webtable.KeyedTable.open(url, CompositeKey(Text("name")), columns=columns, create=True) as table:
        assert [check.finding for check in found(url, "rows")] == ["there are no rows"]
        table.put({"name": "a"}, {"size": 1})
        assert [check.finding for check in found(url, "rows")] == ["1 row of a sample can be read"]
        table.store.write(table.table, [Put(b"b", [NewCell(b"d:size", 1, b"12")])])

    (rows,) = found(url, "rows")

    assert not rows.is_ok
    assert "column 'size' is no int" in rows.finding


def test_a_diagnosis_is_told_in_lines(url):
    drop(url, "_time_idx")

    told = str(webtable.doctor(url))

    assert "failed: tables: missing: " in told
    assert "\n    restore what is missing" in told

"""Web tables of which something is missing: it is named, nothing is hidden, and what is made anew tells no lies."""

from __future__ import annotations

import shutil

import pytest

import webtable
from store_differences import with_thrift1
from webtable.errors import IndexNeeded, TableNotFound
from webtable.rowkey import Salt
from webtable.store import open_store
from webtable.testing.stores import counted_store

LAYOUT = {"salt": Salt.url(digits=1), "versions": 2, "ttl": None}


@pytest.fixture
def url(new_url, site):
    """A table with an index and a page; its URL."""
    url = new_url()
    with webtable.open(url, create=True, indexes=["time", "size"], **LAYOUT) as table:
        table.put(site.page(body=b"x"))
    return url


def drop(url, *suffixes):
    store, table = open_store(url)
    with store:
        for suffix in suffixes:
            store.drop_table(table + suffix)
    return table


@pytest.mark.parametrize("suffixes", [("",), ("_time_idx",), ("_queue",), ("", "_time_idx", "_queue")])
def test_what_is_missing_is_named_and_the_rest_is_left(url, suffixes):
    name = drop(url, *suffixes)

    with pytest.raises(TableNotFound) as raised:
        webtable.open(url)

    message = str(raised.value)
    assert ", ".join(repr(name + suffix) for suffix in suffixes) in message
    assert f"layout is still stored in '{name}_meta'" in message
    assert f"'{name}_size_idx'" not in message


@pytest.mark.parametrize(
    "make", [lambda url: webtable.open(url, create=True).close(), webtable.create], ids=["open", "create"]
)
@with_thrift1
def test_a_table_without_its_pages_is_made_anew_as_it_was(url, site, make):
    drop(url, "")

    make(url)

    with webtable.open(url, **LAYOUT) as table:
        assert table.get(site.url()) is None
        table.put(site.page(body=b"new"))
        assert table.get(site.url()).body == b"new"
        assert [page.url for page in table.fetched()] == [site.url()]


@pytest.mark.parametrize(
    "make", [lambda url: webtable.open(url, create=True).close(), webtable.create], ids=["open", "create"]
)
def test_an_index_that_is_made_anew_answers_when_it_is_complete(url, site, make):
    drop(url, "_time_idx", "_queue")

    make(url)

    with webtable.open(url) as table:
        assert {name: state.phase for name, state in table.indexes.states().items()} == {
            "time": "building",
            "size": "ready",
        }
        with pytest.raises(IndexNeeded, match="index rebuild time"):
            list(table.fetched())
        table.indexes.rebuild("time")
        assert [page.url for page in table.fetched()] == [site.url()]


def test_a_table_whose_layout_is_missing_is_not_to_be_created_over(url):
    name = drop(url, "_meta")

    with pytest.raises(TableNotFound, match=f"'{name}_meta'.*restore that table"):
        webtable.open(url)


@pytest.mark.usefixtures("manual_clock")
def test_a_dropped_index_is_not_missed(url):
    with webtable.open(url) as table:
        table.indexes.drop("time")

    webtable.open(url).close()


def test_to_open_a_whole_table_takes_two_calls(url, monkeypatch):
    found = []

    def open_counted(*given, **options):
        store, table = open_store(*given, **options)
        store, calls = counted_store(store)
        found.append(calls)
        return store, table

    monkeypatch.setattr("webtable.repository.table.opening.open_store", open_counted)
    webtable.open(url).close()

    [calls] = found
    assert 0 < calls.total() <= 4, calls


# ---- the embedded store alone --------------------------------------------------------------------------------------


def test_a_file_that_was_copied_without_its_log_is_said_to_look_so(tmp_path):
    origin, copied = tmp_path / "crawl.db", tmp_path / "copied.db"
    with webtable.open(origin, create=True):
        shutil.copy(origin, copied)

        with pytest.raises(TableNotFound, match=r"copied\.db has no tables.*without the -wal") as raised:
            webtable.open(copied)

    assert "create" not in str(raised.value)


def test_a_file_with_other_tables_says_which_one_it_has_not(tmp_path):
    webtable.create(tmp_path / "crawl.db", indexes=[])

    with pytest.raises(TableNotFound, match="no web table 'other': create it"):
        webtable.open(f"sqlite:{tmp_path}/crawl.db?table=other")

"""Stores as each earlier form of webtable has written them: they are read, named old, and brought up to date."""

from __future__ import annotations

import shutil
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import webtable
from webtable import Page
from webtable.errors import LayoutMismatch, TableNotFound
from webtable.repository.creation.tables import create_tables
from webtable.repository.indexes import user_indexes
from webtable.repository.upgrading import indexes
from webtable.rowkey import KeyRange
from webtable.rowkey.examples import LATEST_KEY
from webtable.store import NewCell, Put, Wanted, open_store
from webtable.store.sqlite import SQLiteStore

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(DATA))
import make_store  # noqa: E402 - the tables say that their index is in it

STORES = sorted((DATA / "stores").glob("*.sql.gz"))
FIRST, *WITH_INDEXES = STORES
LATEST = STORES[-1]
UNORDERED = STORES[3]
OWN = ("time", "size", "link", "url", "status", "host", "digest")
HOME, MOMENT = "https://example.com/", datetime(2026, 1, 4, tzinfo=UTC)


def named(path):
    return path.name.removesuffix(".sql.gz")


@pytest.fixture
def old_url(tmp_path):
    """Make the store of a dump, and return where it is."""

    def make(dump):
        path = tmp_path / f"{named(dump)}.db"
        make_store.load(dump, path)
        return path

    return make


@pytest.fixture
def at_once(monkeypatch):
    """Wait for no writers, where there are none."""
    monkeypatch.setattr(indexes, "FRESH_SECONDS", 0.0)


@pytest.fixture(scope="module")
def fresh_answers(tmp_path_factory):
    with webtable.open(tmp_path_factory.mktemp("fresh") / "crawl.db", create=True) as table:
        make_store.fill(table)
        table.refresh_links()
        return answers(table)


def plain(pages):
    return [(page.url, page.status_code, page.title, page.fetched_at, page.change_count, page.size) for page in pages]


def stored(table):
    """Return all that is stored of pages, with bodies and links, but for what the first versions did not look for."""
    found = list(table.pages(full_scan=True, columns=["html", "outlinks"]))
    versions = [table.history(page.url, columns=["html", "outlinks"]) for page in found]
    return [(plain(some), [(page.html, page.outlinks) for page in some]) for some in (found, *versions)]


def answers(table):
    """Return what is answered to the questions of a crawl."""
    return {
        "stored": stored(table),
        "resolve": table.resolve("https://example.com/old").hops,
        "hosts": [(host.name, host.pages, host.bytes) for host in table.hosts()],
        "fetched": plain(table.fetched()),
        "modified": plain(table.modified()),
        "largest": plain(table.largest()),
        "status": plain(table.with_status(404)),
        "errors": plain(table.errors()),
        "redirects": plain(table.redirects()),
        "duplicates": plain(table.duplicates("https://example.com/b")),
        "groups": [group.urls for group in table.duplicate_groups("example.com")],
        "handle": table.by_handle(webtable.handle_of("https://example.com/a")).url,
        "linking": [(one.source, one.anchor, one.rel, one.at) for one in table.linking_to("https://example.com/a")],
        "linked": plain(table.most_linked()),
        "ends": plain(table.dead_ends()),
        "broken": [str(one) for one in table.broken_links(domain="example.com")],
        "orphans": plain(table.orphans("example.com")),
        "discovered": list(table.discovered("example.com")),
        "changes": [(one.url, one.kind) for one in table.changes("example.com", since=MOMENT)],
        "words": plain(table.indexed("words")),
        "search": [hit.page.url for hit in table.search("word", domain="example.com")],
        "stats": str(table.stats("example.com", by="status")),
    }


def upgraded(url):
    """Bring a store up to date, with the indexes that a new one would have."""
    webtable.upgrade(url, apply=True)
    with webtable.open(url) as table:
        for name in (*OWN, "make_store:WORDS"):
            if name.removeprefix("make_store:").lower() not in table.index_states():
                table.add_index(name)
        table.refresh_links()
        return answers(table)


@pytest.mark.parametrize("dump", WITH_INDEXES, ids=named)
def test_what_earlier_versions_have_stored_is_read(old_url, dump, fresh_answers):
    with webtable.open(old_url(dump)) as table:
        found = stored(table)
        check = table.verify(full_scan=True)

    assert found == fresh_answers["stored"]
    assert (check.pages, check.damaged, check.lost) == (9, 0, 0)


def test_a_table_of_before_there_was_a_queue_says_what_is_missing(old_url):
    with pytest.raises(TableNotFound, match="no table 'pages_queue'"):
        webtable.open(old_url(FIRST))


@pytest.mark.parametrize("dump", STORES, ids=named)
def test_an_upgraded_store_answers_as_a_new_one(old_url, dump, fresh_answers, at_once):
    assert upgraded(old_url(dump)) == fresh_answers


@pytest.mark.parametrize("dump", STORES, ids=named)
def test_a_second_upgrade_has_nothing_to_do(old_url, dump, at_once):
    url = old_url(dump)
    planned = webtable.upgrade(url)

    done = webtable.upgrade(url, apply=True)

    again = webtable.upgrade(url)
    assert (done.steps, done.is_done) == (planned.steps, True)
    assert again.steps == ()
    assert again.left == planned.left


def test_the_plan_names_all_that_is_old(old_url):
    plans = {named(dump): [one.what for one in webtable.upgrade(old_url(dump))] for dump in STORES}

    assert plans == {
        "1_before_indexes": ["file", "layout", "families", "tables", "digests", "indexes", "pages", "pages"],
        "2_with_indexes": ["file", "layout", "families", "indexes", "digests", "pages", "pages"],
        "3_deletes_with_dates": ["layout", "families", "indexes", "digests", "pages", "pages"],
        "4_with_checksums": ["families", "indexes", "digests", "pages"],
        "5_in_order": ["digests", "pages"],
        "6_before_blake3": ["digests"],
        "7_blake3": [],
    }


def test_a_plan_changes_nothing(old_url):
    url = old_url(FIRST)
    make_store.dump(url, before := url.with_name("before"))

    webtable.upgrade(url)

    make_store.dump(url, after := url.with_name("after"))
    assert after.read_bytes() == before.read_bytes()


def test_what_was_cut_short_at_any_write_is_gone_on_with(old_url, tmp_path, monkeypatch, at_once):
    url = old_url(WITH_INDEXES[0])
    for writes in range(1, 100):
        path = tmp_path / f"{writes}.db"
        shutil.copy(url, path)
        with monkeypatch.context() as patch:
            is_whole = killed_at(patch, writes, path)
        webtable.upgrade(path, apply=True)

        assert webtable.upgrade(path).is_empty
        with webtable.open(path) as table:
            assert table.index_states()["words"].is_ordered
            assert table.verify_index("words").is_empty
            assert all(b"\0" in row.key for row in table.store.scan("pages_words_idx", [KeyRange()]))
        if is_whole:
            assert writes > 5
            return


def killed_at(patch, writes, path):
    """Upgrade the store, and be killed at so many writes; return whether it came to its end before."""
    left = [writes]

    def counted(method):
        def call(*args):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            return method(*args)

        return call

    for name in ("_write", "set_family", "create_table"):
        patch.setattr(SQLiteStore, name, counted(getattr(SQLiteStore, name)))
    try:
        webtable.upgrade(path, apply=True)
    except KeyboardInterrupt:
        return False
    return True


def test_pages_that_are_put_during_an_upgrade_are_in_the_index_that_gets_its_order(old_url):
    url, is_over = old_url(UNORDERED), threading.Event()
    with webtable.open(url) as table:
        put = []

        def write():
            while not is_over.is_set():
                put.append(f"https://new.example/{len(put)}")
                table.put(Page(url=put[-1], html=b"<title>New</title>"))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            webtable.upgrade(url, apply=True)
        finally:
            is_over.set()
            writer.join()

        assert sorted(page.url for page in table.indexed("words", "New")) == sorted(put)
        assert table.verify_index("words").is_empty


def test_a_family_that_would_lose_something_stays(tmp_path):
    url = tmp_path / "crawl.db"
    webtable.create(url, indexes=[])
    store, table = open_store(url)
    with store:
        (content, *_) = (one for one in store.describe(table).schema.families if one.name == "content")
        store.set_family(table, replace(content, versions=7))

    done = webtable.upgrade(url, apply=True)

    assert done.steps == ()
    assert "all but the newest 3" in done.left[0].found
    assert "webtable create --apply" in done.left[0].remedy


def test_an_index_that_nobody_has_named_is_left_with_the_way_to_name_it(old_url, monkeypatch):
    monkeypatch.delitem(sys.modules, "make_store")
    monkeypatch.setattr(user_indexes, "_given", {})

    done = webtable.upgrade(old_url(UNORDERED), apply=True)

    (words,) = (one for one in done.left if one.what == "indexes")
    assert "webtable --index make_store:WORDS" in words.remedy


def test_an_index_whose_table_is_gone_is_made_anew(old_url):
    url = old_url(LATEST)
    with SQLiteStore(url) as store:
        store.drop_table("pages_time_idx")

    done = webtable.upgrade(url, apply=True)

    assert [one.what for one in done.steps] == ["tables", "indexes"]
    with webtable.open(url) as table:
        assert len(list(table.fetched())) == 9


def test_nothing_is_made_in_place_of_pages_that_are_lost(old_url):
    url = old_url(LATEST)
    with SQLiteStore(url) as store:
        store.drop_table("pages")

    done = webtable.upgrade(url, apply=True)

    assert done.is_empty
    assert "bring back the pages" in done.left[0].remedy
    with pytest.raises(TableNotFound):
        webtable.open(url)


def test_another_list_of_public_suffixes_keeps_the_keys_as_they_are(new_url, monkeypatch):
    url = new_url()
    webtable.create(url, indexes=[], salt=webtable.Salt.domain())
    monkeypatch.setattr("webtable.schema.layout.suffix_list_version", lambda: "9.9.9")

    (keys, _) = webtable.upgrade(url).left

    assert keys.what == "keys"
    assert "--salt host" in keys.remedy


def test_a_table_of_records_is_none_to_upgrade(new_url):
    url = new_url()
    webtable.KeyedTable.open(url, LATEST_KEY, families=["d"], create=True).close()

    with pytest.raises(LayoutMismatch, match="no web table"):
        webtable.upgrade(url)


def test_old_rows_are_upgraded_in_any_store(old_url, new_url, fresh_answers, at_once):
    url = new_url()
    store, name = open_store(url, create=True)
    with store, SQLiteStore(old_url(UNORDERED)) as old:
        renamed = {table: table.replace("pages", name, 1) for table in old.tables()}
        create_tables(store, [replace(old.describe(table).schema, name=renamed[table]) for table in renamed], "")
        for table, new in renamed.items():
            store.write(new, [Put(row.key, cells_of(row)) for row in old.scan(table, [KeyRange()], Wanted(versions=9))])

    assert upgraded(url) == fresh_answers
    families = [one.remedy for one in webtable.upgrade(url).left if one.what == "families"]
    assert webtable.upgrade(url).is_empty
    assert all("VERSIONS => 3" in remedy for remedy in families)  # a Thrift1 gateway cannot change them


def cells_of(row):
    return [NewCell(column, cell.timestamp, cell.value) for column, cells in row.cells.items() for cell in cells]


def test_the_script_makes_the_latest_store(tmp_path):
    with webtable.open(tmp_path / "new.db", create=True, ttl=None) as table:
        make_store.fill(table)
    make_store.dump(tmp_path / "new.db", tmp_path / "new.sql.gz")
    make_store.load(tmp_path / "new.sql.gz", tmp_path / "again.db")
    make_store.load(LATEST, tmp_path / "latest.db")

    assert kinds_of(tmp_path / "latest.db") == kinds_of(tmp_path / "again.db")


def kinds_of(path):
    """Return which tables, columns and members are stored, and in how many cells: not what they say."""
    with SQLiteStore(path) as store:
        rows = [(name, row) for name in store.tables() for row in store.scan(name, [KeyRange()], Wanted(versions=9))]
    kinds = [
        (name, column, len(cells)) for name, row in rows for column, cells in row.cells.items() if "queue" not in name
    ]
    layout = [row.value(b"layout:json")[:-20] for name, row in rows if row.key == b"layout"]
    return sorted(kinds), layout

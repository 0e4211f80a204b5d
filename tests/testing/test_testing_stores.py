"""The stores for users' tests: around any store, to tell what it is asked, to count it or to fail; and in memory."""

from __future__ import annotations

import os
import threading
import warnings
from contextlib import suppress
from datetime import UTC, datetime

import pytest

import webtable
from webtable import Page, WebTable, WriteFailed
from webtable._threads import Threads
from webtable.errors import InvalidArgument, StoreUnavailable, TableNotFound
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Delete, NewCell, Put, Store, Wanted
from webtable.store.deadline import Deadline, of_call, until
from webtable.testing import CountingStore, FailingStore, ListeningStore, MemoryStore, WrappedStore

A = Put(b"a", [NewCell(b"f:a", 1000, b"x")])


@pytest.fixture
def rows(new_table):
    """A table with one family and the row `a`."""
    return new_table(FamilySchema("f"))


def test_a_listener_hears_of_each_call_with_its_table_and_its_arguments(store, rows):
    calls = []
    listening = ListeningStore(store, calls.append)

    listening.write(rows, [A])
    listening.read(rows, [b"a"], Wanted([b"f:a"]))
    found = list(listening.scan(rows, [KeyRange()], limit=5))

    assert [row.key for row in found] == [b"a"]
    assert [(call.name, call.table) for call in calls] == [("write", rows), ("read", rows), ("scan", rows)]
    assert calls[0].arguments == {"mutations": [A]}
    assert calls[1].arguments == {"rows": [b"a"], "wanted": Wanted([b"f:a"])}
    assert calls[2].arguments["limit"] == 5


def test_what_a_listener_raises_keeps_the_call_from_being_done(store, rows):
    def refuse(call):
        if call.name == "write":
            raise RuntimeError("not now")

    with pytest.raises(RuntimeError, match="not now"):
        ListeningStore(store, refuse).write(rows, [A])

    assert store.read(rows, [b"a"]) == [None]


def test_nobody_hears_of_a_call_that_asks_for_nothing_or_for_what_cannot_be(store, rows):
    calls = []
    listening = ListeningStore(store, calls.append)

    assert listening.read(rows, []) == []
    assert listening.first_rows(rows, [KeyRange()], 0) == [[]]
    with pytest.raises(InvalidArgument, match="limit"):
        listening.scan(rows, [KeyRange()], limit=-1)

    assert calls == []


def test_a_failing_store_fails_where_it_is_told_to_and_does_nothing_there(store, rows):
    failing = FailingStore(store, StoreUnavailable("gone"), at=lambda call: call.name == "write")

    with pytest.raises(StoreUnavailable, match="gone"):
        failing.write(rows, [A])

    assert failing.read(rows, [b"a"]) == [None]


def test_a_store_that_fails_afterwards_has_done_what_it_was_asked(store, rows):
    failing = FailingStore(store, StoreUnavailable, at=lambda call: call.name in ("write", "scan"), after=True)

    with pytest.raises(StoreUnavailable):
        failing.write(rows, [A])
    scan = failing.scan(rows, [KeyRange()])
    first = next(scan)
    with pytest.raises(StoreUnavailable):
        next(scan)

    assert first == store.read(rows, [b"a"])[0]


def test_calls_are_counted_by_their_names_whichever_thread_makes_them(store, rows):
    counting = CountingStore(store)

    threads = [threading.Thread(target=counting.read, args=(rows, [b"a"])) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counting.describe(rows)

    assert counting.calls == {"read": 20, "describe": 1}


def test_wrappers_go_around_each_other(store, rows):
    calls = []
    wrapped = ListeningStore(CountingStore(WrappedStore(store)), calls.append)

    wrapped.write(rows, [A, Delete(b"b", 1000)])

    assert wrapped.wrapped.calls == {"write": 1}
    assert [call.name for call in calls] == ["write"]
    assert [row.key for row in wrapped.scan(rows, [KeyRange()])] == [b"a"]


def test_a_wrapped_store_says_of_itself_what_the_store_says(store):
    said = [name for name in Store.__annotations__ if not name.startswith("_")]
    wrapped = WrappedStore(store)

    assert {"name", "timeout", "capabilities"} <= set(said)
    assert [getattr(wrapped, name) for name in said] == [getattr(store, name) for name in said]


def test_a_caller_s_deadline_holds_behind_a_wrapper_and_in_its_threads(store, rows):
    left = []
    listening = ListeningStore(store, lambda _: left.append(of_call(60.0).left()))

    with until(Deadline(5.0)):
        listening.read(rows, [b"a"])
        Threads(2, "test").submit(lambda: listening.read(rows, [b"a"])).result(60)

    assert len(left) == 2
    assert max(left) <= 5.0


def test_a_crawler_is_told_which_pages_a_failing_store_did_not_take(tmp_path):
    page = Page(url="https://example.com/", fetched_at=datetime.now(UTC), body=b"<p>hello")
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        failing = FailingStore(
            table.store, StoreUnavailable("gone"), at=lambda call: (call.name, call.table) == ("write", table.table)
        )

        with pytest.raises(WriteFailed, match="gone"):
            WebTable(failing, table.table, table.layout).put(page)

        assert table.get(page.url) is None


# ---- a store in memory ---------------------------------------------------------------------------------------------


def crawled(path, **fields):
    return Page(url=f"https://a.example{path}", fetched_at=datetime.now(UTC), **fields)


def test_a_web_table_in_memory_is_asked_as_any_other(memory_url):
    with webtable.open(memory_url, create=True) as table:
        table.put(crawled("/", body=b"<title>Home</title><a href='/b'>to b</a>"))
        table.put(crawled("/b", body=b"<title>B, of keys</title>", status=200))
        table.put(crawled("/gone", status=404))
        table.links.refresh()

        assert [page.url[len("https://a.example") :] for page in table.pages("a.example")] == ["/", "/b", "/gone"]
        assert [link.source for link in table.links.to("https://a.example/b")] == ["https://a.example/"]
        assert [hit.page.title for hit in table.search("keys", "a.example", in_="title")] == ["B, of keys"]
        assert [page.status for page in table.errors()] == [404]
        assert all(drift.is_empty for drift in (table.indexes.verify("time"), table.indexes.verify("link")))


def test_stores_of_one_name_have_the_same_tables_until_they_are_forgotten(memory_url):
    webtable.create(f"{memory_url}?table=crawl")
    with webtable.open(f"{memory_url}?table=crawl") as table, webtable.open(f"{memory_url}?table=crawl") as other:
        table.put(crawled("/", body=b"x"))

        assert other.get("https://a.example/").body == b"x"

    MemoryStore.forget(memory_url.partition(":")[2])
    with pytest.raises(TableNotFound, match="create=True"):
        webtable.open(f"{memory_url}?table=crawl")


def test_stores_without_a_name_have_nothing_in_common():
    with MemoryStore() as one, MemoryStore() as other:
        one.create_table(TableSchema("t", (FamilySchema("f"),)))

        assert (one.tables(), other.tables()) == (["t"], [])


def test_a_child_has_a_copy_of_what_was_in_memory(memory_url):
    with webtable.open(memory_url, create=True, indexes=[]) as table:
        table.put(crawled("/", body=b"x"))
        child = os.fork()
        if not child:
            with warnings.catch_warnings(), suppress(BaseException):
                table.store.drop_table(table.table)
                os._exit(0)
            os._exit(1)

        assert os.waitpid(child, 0)[1] == 0
        assert table.get("https://a.example/").body == b"x"


@pytest.mark.parametrize("url", ["memory:", "memory:?table=x", "memory:x?timeout=3"])
def test_a_store_in_memory_has_a_name_and_a_table(url):
    with pytest.raises(InvalidArgument, match="memory"):
        webtable.open(url, create=True)

"""The writer: no page is lost without a word, memory is bounded, and a crash costs what was not acknowledged."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from deaths import CALLS
from sites import with_limit

import webtable
from store_differences import on_every_store
from webtable.errors import CellTooLarge, InvalidArgument, InvalidURL, StoreRefused, StoreUnavailable, WriteFailed
from webtable.store import MAX_CELL
from webtable.testing import ListeningStore


def urls_of(site):
    return [page.url for page in site.table.pages(site.domain)]


def test_pages_are_stored_when_the_block_ends(site):
    with site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x"))
        writer.put(site.page("/b", body=b"x"))

    assert writer.stored == 2
    assert urls_of(site) == [site.url("/a"), site.url("/b")]


def test_pages_are_stored_when_flush_returns(site):
    with site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x"))
        writer.flush()

        assert urls_of(site) == [site.url("/a")]
        assert writer.stored == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_in_the_block_loses_no_page(site, error):
    with pytest.raises(error), site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x"))
        raise error

    assert urls_of(site) == [site.url("/a")]


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_the_store_is_slow_loses_no_page(spied, site):
    slow, first = threading.Event(), threading.Lock()

    def listener(call, *_):
        if call == "write" and first.acquire(blocking=False):
            # By then the caller waits, for two batches are on their way.
            threading.Timer(0.3, _thread.interrupt_main).start()
            threading.Timer(0.5, slow.set).start()
        return call == "write" and slow.wait(10)

    spied.listener = listener
    put = []

    with pytest.raises(KeyboardInterrupt), spied.site.table.writer(buffer_pages=5) as writer:
        for number in range(1_000):
            put.append(site.url(f"/{number:03}"))
            writer.put(site.page(f"/{number:03}", body=b"x"))

    assert 10 <= len(put) < 1_000
    assert urls_of(site) == put


def test_closing_the_table_flushes_its_writers(new_url, site):
    url = new_url()
    table = webtable.open(url, create=True, indexes=[])
    writer = table.writer()
    writer.put(site.page("/a", body=b"x"))
    table.close()

    with webtable.open(url) as again:
        assert again.get(site.url("/a")).body == b"x"
    with pytest.raises(WriteFailed, match="closed"):
        writer.put(site.page("/b"))


@pytest.mark.parametrize("limits", [{"buffer_pages": 3}, {"buffer_bytes": 3_500}, {"max_age": 0.2}])
def test_a_batch_goes_out_by_count_by_bytes_and_by_age(spied, site, limits):
    written = threading.Event()
    spied.listener = lambda call, *_: call == "write" and written.set()

    with spied.site.table.writer(**{"max_age": 60, **limits}) as writer:
        for number in range(3):
            writer.put(site.page(f"/{number}", body=b"0123456789" * 20))

        assert written.wait(10)


@on_every_store
def test_each_page_that_is_not_stored_is_reported_with_its_reason(spied, site):
    spied.site.table.store.write = lambda table, puts: [
        StoreRefused("no, not this one") if b"/bad" in put.row else None for put in puts
    ]

    with pytest.raises(WriteFailed) as raised, spied.site.table.writer() as writer:
        for path in ("/a", "/bad1", "/b", "/bad2"):
            writer.put(site.page(path, body=b"x"))

    assert [(failure.url, str(failure.error)) for failure in raised.value.failures] == [
        (site.url("/bad1"), "no, not this one"),
        (site.url("/bad2"), "no, not this one"),
    ]
    assert "2 pages not stored" in str(raised.value)
    assert writer.stored == 2


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), ValueError("a bug")])
def test_a_store_that_fails_fails_every_page_of_the_batch(spied, site, error):
    def fail(call, *_):
        raise error

    spied.listener = fail

    with pytest.raises(WriteFailed) as raised, spied.site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x"))
        writer.put(site.page("/b", body=b"x"))

    assert [failure.url for failure in raised.value.failures] == [site.url("/a"), site.url("/b")]


@on_every_store
def test_failures_are_raised_once_and_the_writer_goes_on(spied, site):
    with spied.site.table.writer() as writer:
        spied.listener = lambda *_: (_ for _ in ()).throw(StoreUnavailable("gone"))
        writer.put(site.page("/a", body=b"x"))
        with pytest.raises(WriteFailed):
            writer.flush()

        spied.listener = lambda *_: None
        writer.put(site.page("/b", body=b"x"))
        writer.flush()

    assert urls_of(site) == [site.url("/b")]


def test_every_page_has_an_outcome(spied, site):
    outcomes = []
    spied.site.table.store.write = lambda table, puts: [StoreRefused("no") if b"/3" in p.row else None for p in puts]

    with spied.site.table.writer(on_outcome=outcomes.append, buffer_pages=4) as writer:
        for number in range(10):
            writer.put(site.page(f"/{number}", body=b"x"))

    assert [(outcome.url, outcome.error is None) for outcome in outcomes] == [
        (site.url(f"/{number}"), number != 3) for number in range(10)
    ]


def test_captures_that_bring_nothing_new_are_told_apart(site):
    outcomes = []
    site.store(site.page("/a", body=b"x", age=900), site.page("/b", body=b"x", age=900))

    with site.table.writer(on_outcome=outcomes.append) as writer:
        for page in (
            site.page("/a", body=b"x", age=900),  # the very same
            site.page("/a", body=b"x", age=800),  # the same content again
            site.page("/b", body=b"y", age=800),  # other content
            site.page("/c", body=b"x", age=800),  # another page
        ):
            writer.put(page)

    assert [outcome.is_new for outcome in outcomes] == [False, False, True, True]
    assert (writer.stored, writer.unchanged) == (4, 2)


def test_a_capture_that_repeats_one_that_was_not_stored_is_stored_itself_or_reported(site):
    noise = os.urandom(11 * 2**20)
    outcomes = []

    with site.table.writer(on_outcome=outcomes.append, buffer_bytes=2**30) as writer:
        for age in (300, 300, 200):
            writer.put(site.page(body=noise, age=age))

    assert [type(outcome.error) for outcome in outcomes] == [CellTooLarge] * 3
    assert writer.stored == 0
    assert site.table.get(site.url()) is None


def test_a_body_that_no_reader_would_unpack_is_not_stored(site, monkeypatch):
    monkeypatch.setattr("webtable.repository.page_storage.codec.MOST_UNPACKED", 10**6)
    outcomes = []

    with site.table.writer(on_outcome=outcomes.append) as writer:
        writer.put(site.page("/long", body=bytes(MAX_CELL + 1)))
        writer.put(site.page("/short", body=bytes(MAX_CELL)))

    assert [type(outcome.error) for outcome in outcomes if outcome.error] == [CellTooLarge]
    assert (writer.stored, site.table.get(site.url("/long"))) == (1, None)


def test_an_outcome_may_lead_to_another_put(site):
    outcomes, again = [], set()

    def retry(outcome):
        outcomes.append(outcome.url)
        if "retry" not in outcome.url:
            again.add(outcome.url)
            writer.put(site.page(f"/retry{len(again):02}", body=b"x"))

    with site.table.writer(on_outcome=retry, buffer_pages=2) as writer:
        for number in range(40):
            writer.put(site.page(f"/{number}", body=b"x"))

    assert len(outcomes) == len(set(outcomes)) == 80
    assert writer.stored == len(urls_of(site)) == 80


def test_an_exception_of_the_callers_function_loses_no_page(site):
    outcomes = []

    def fail_once(outcome):
        outcomes.append(outcome.url)
        if len(outcomes) == 1:
            raise RuntimeError("the caller's own")

    writer = site.table.writer(on_outcome=fail_once, buffer_pages=100, max_age=0.1)
    for number in range(5):
        writer.put(site.page(f"/{number}", body=b"x"))
    with pytest.raises(RuntimeError):
        _until(lambda: writer.flush() or len(outcomes) == 5)
    writer.close()

    assert len(outcomes) == 5
    assert len(urls_of(site)) == 5


def _until(done):
    deadline = time.monotonic() + 10
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_a_close_that_was_interrupted_is_taken_up_by_the_next(spied, site):
    slow = threading.Event()
    spied.listener = lambda call, *_: call == "write" and slow.wait(0.1)  # at each of a dozen tables
    writer = spied.site.table.writer(buffer_pages=3)
    for number in range(8):
        writer.put(site.page(f"/{number}", body=b"x"))

    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        writer.close()
    slow.set()
    writer.close()

    assert writer.stored == len(urls_of(site)) == 8


def test_closing_the_table_closes_every_writer_and_reports_all_that_failed(new_url, site):
    url, noise = with_limit(new_url()), os.urandom(11 * 2**20)
    table = webtable.open(url, create=True, indexes=[])
    for name in ("a", "b"):
        writer = table.writer()
        writer.put(site.page(f"/{name}", body=b"x"))
        writer.put(site.page(f"/{name}/bad", body=noise))

    with pytest.raises(WriteFailed) as raised:
        table.close()

    assert len(raised.value.failures) == 2
    with webtable.open(url) as again:
        assert len(list(again.pages(site.domain))) == 2


def test_a_slow_store_holds_the_caller_back(spied, site):
    gate, under_way = threading.Event(), []
    spied.listener = lambda call, table, puts: call == "write" and (under_way.append(len(puts)), gate.wait(10))
    put = []

    def crawl():
        with spied.site.table.writer(buffer_pages=10) as writer:
            for number in range(100):
                writer.put(site.page(f"/{number}", body=b"x"))
                put.append(number)

    crawler = threading.Thread(target=crawl)
    crawler.start()
    deadline = time.monotonic() + 10
    while not under_way and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    held_at = len(put)
    gate.set()
    crawler.join(30)

    assert held_at < 40
    assert len(put) == 100
    assert len(urls_of(site)) == 100


@on_every_store
def test_many_threads_may_share_a_writer(site):
    with site.table.writer(buffer_pages=25) as writer:
        threads = [
            threading.Thread(target=lambda t=t: [writer.put(site.page(f"/{t}/{n}", body=b"x")) for n in range(50)])
            for t in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(urls_of(site)) == writer.stored == 300


def test_a_page_that_is_refused_does_not_stop_the_others(site):
    with site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x"))
        with pytest.raises(InvalidURL):
            writer.put(site.page("/b").__class__(url="ftp://example.com/"))
        with pytest.raises(InvalidArgument):
            writer.put("https://example.com/")
        writer.put(site.page("/c", body=b"x"))

    assert urls_of(site) == [site.url("/a"), site.url("/c")]


@pytest.mark.parametrize("option", ["buffer_bytes", "buffer_pages", "max_age", "max_body"])
def test_a_limit_below_one_is_refused(site, option):
    with pytest.raises(InvalidArgument, match=option):
        site.table.writer(**{option: 0})


def test_an_empty_writer_writes_nothing(spied):
    spied.listener = lambda *call: pytest.fail(f"asked {call}")

    with spied.site.table.writer() as writer:
        writer.flush()

    writer.close()


def test_a_batch_of_new_pages_costs_one_read_and_one_write_of_each_table(new_url, site):
    calls = []
    # A table of its own: in the shared one other tests leave open revisits, which each batch asks for.
    with webtable.open(new_url(), create=True) as table:

        def listen(call):
            if call.name in CALLS:
                calls.append((call.name, call.table.removeprefix(table.table)))

        store = ListeningStore(table.store, listen)
        with webtable.WebTable(store, table.table, table.layout).writer() as writer:
            for number in range(500):
                writer.put(site.page(f"/{number}", body=b"x"))

    entries = [("write", f"_{name}_idx") for name in ("time", "size", "link", "url", "status", "host", "digest")]
    # What there is to be maintained is asked before and after; the queue is entered, and left.
    around = [("read", "_meta")] * 2 + [("write", "_queue")] * 2
    assert Counter(calls) == Counter([("read", ""), ("write", ""), *entries, *around])


def test_a_queue_that_cannot_be_written_costs_no_other_page_its_entries(spied, site):
    site.store(site.page("/a", body=b"x", age=900))

    def fail(call, table, *_):
        if call == "write" and table.endswith("_queue"):
            raise StoreUnavailable("gone")

    spied.listener = fail
    with pytest.raises(WriteFailed) as raised, spied.site.table.writer() as writer:
        writer.put(site.page("/a", body=b"x", age=300))  # nothing to be counted
        writer.put(site.page("/b", body=b"x", age=300))

    assert [failure.url for failure in raised.value.failures] == [site.url("/b")]
    since = site.now - timedelta(seconds=400)
    assert [page.url for page in site.table.fetched(site.domain, since=since)] == [site.url("/a")]


def test_a_table_without_indexes_writes_pages_alone(new_url, site):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        table.put(site.page("/", body=b"x"))

        assert [page.url for page in table.pages(site.domain)] == [site.url("/")]
        assert [name for name in table.store.tables() if name.startswith(table.table) and name.endswith("_idx")] == []

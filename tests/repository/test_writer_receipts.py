"""Receipts: what became of one page, for whoever asks, and no cost to the writer whatever is done with them."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import as_completed, wait

import pytest

from webtable.errors import OtherProcess, StoreRefused, StoreUnavailable, WriteFailed
from webtable.writing import Receipt


def test_a_receipt_tells_the_outcome_of_its_page_without_waiting_for_the_batch(site):
    with site.table.writer(max_age=3_600) as writer:
        receipt = writer.put(site.page("/a", body=b"x"))
        began = time.monotonic()

        outcome = receipt.result(timeout=20)

        assert time.monotonic() - began < 10
        assert (outcome.url, outcome.error, outcome.is_new) == (site.url("/a"), None, True)
        assert site.table.get(site.url("/a")).body == b"x"


def test_a_receipt_tells_that_nothing_was_new(site):
    site.store(site.page("/a", body=b"x", age=900))

    with site.table.writer() as writer:
        assert writer.put(site.page("/a", body=b"x", age=800)).result(20).is_new is False


def test_a_receipt_raises_what_kept_its_page_from_being_stored(spied, site):
    spied.site.table.store.write = lambda table, puts: [
        StoreRefused("no, not this one") if b"/bad" in put.row else None for put in puts
    ]
    writer = spied.site.table.writer()
    good, bad = writer.put(site.page("/a", body=b"x")), writer.put(site.page("/bad", body=b"x"))

    with pytest.raises(StoreRefused, match="not this one"):
        bad.result(20)
    assert good.result(20).error is None
    assert isinstance(bad.exception(), StoreRefused)
    with pytest.raises(WriteFailed, match="/bad"):
        writer.close()


def test_to_ask_for_one_receipt_sends_the_buffer_once_and_a_sent_batch_sends_no_other(spied, site):
    gate, sizes = threading.Event(), []
    spied.listener = lambda call, table, puts: (
        call == "write" and table == site.table.table and (sizes.append(len(puts)), gate.wait(20))
    )
    with spied.site.table.writer(max_age=3_600, buffer_pages=3) as writer:
        first, *_ = [writer.put(site.page(f"/{number}", body=b"x")) for number in range(3)]
        writer.put(site.page("/later", body=b"x"))
        with pytest.raises(TimeoutError):
            first.result(0.3)
        gate.set()
        first.result(20)
        writer.put(site.page("/last", body=b"x"))

    assert sizes == [3, 2]


def test_receipts_are_futures_for_wait_and_as_completed(site):
    with site.table.writer(max_age=0.1) as writer:
        receipts = [writer.put(site.page(f"/{number}", body=b"x")) for number in range(5)]

        done, _ = wait(receipts, timeout=20)
        outcomes = [receipt.result() for receipt in as_completed(receipts, timeout=20)]

    assert len(done) == len(outcomes) == 5


@pytest.mark.slow
def test_a_receipt_can_be_awaited_also_where_nobody_else_holds_it(site):
    async def crawl(writer):
        one = asyncio.wrap_future(writer.put(site.page("/a", body=b"x")))
        gc.collect()
        return await asyncio.wait_for(one, 20)

    with site.table.writer(max_age=0.1) as writer:
        assert asyncio.run(crawl(writer)).url == site.url("/a")


def test_an_await_that_is_given_up_leaves_the_page_in_the_writer(site):
    async def crawl(writer):
        one = asyncio.wrap_future(writer.put(site.page("/a", body=b"x")))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one, 0.01)

    with site.table.writer(max_age=3_600) as writer:
        asyncio.run(crawl(writer))

    assert site.table.get(site.url("/a")).body == b"x"


def test_to_cancel_a_receipt_has_no_effect(site):
    with site.table.writer() as writer:
        receipt = writer.put(site.page("/a", body=b"x"))

        assert receipt.cancel() is False
        assert receipt.result(20).error is None


@pytest.mark.slow
def test_a_function_is_told_once_soon_also_of_a_receipt_that_nobody_holds(site):
    told, came = [], threading.Event()

    def note(receipt):
        told.append((receipt.url, receipt.result().error))
        came.set()

    with site.table.writer(buffer_pages=1, max_age=3_600) as writer:
        writer.put(site.page("/a", body=b"x")).add_done_callback(note)
        gc.collect()

        assert came.wait(20)

    assert told == [(site.url("/a"), None)]


def test_a_function_that_comes_too_late_is_called_at_once(site):
    told = []
    with site.table.writer() as writer:
        receipt = writer.put(site.page("/a", body=b"x"))

    receipt.add_done_callback(told.append)

    assert told == [receipt]


def test_a_function_that_raises_is_logged_and_hurts_nobody(site, caplog):
    told = []

    def fail(receipt):
        raise RuntimeError("the caller's own")

    with caplog.at_level(logging.ERROR), site.table.writer() as writer:
        receipt = writer.put(site.page("/a", body=b"x"))
        receipt.add_done_callback(fail)
        receipt.add_done_callback(told.append)

    assert told == [receipt]
    assert writer.stored == 1
    assert "the caller's own" in caplog.text
    assert site.url("/a") in caplog.text


def test_a_function_may_put_pages_and_wait_for_them(site):
    results = []

    def follow(receipt):
        depth = receipt.url.count("+")
        if depth < 4:
            following = writer.put(site.page(f"/{'+' * (depth + 1)}", body=b"x"))
            following.add_done_callback(follow)
            results.append(following.result(20).url)

    with site.table.writer(buffer_pages=2) as writer:
        writer.put(site.page("/", body=b"x")).add_done_callback(follow)

    assert len(results) == 4
    assert len(list(site.table.pages(site.domain))) == 5


@pytest.mark.slow
def test_many_threads_put_from_the_functions_of_receipts(site):
    def again(receipt):
        if "again" not in receipt.url:
            writer.put(site.page(receipt.url.removeprefix(site.url("/")).join(("/again/", "")), body=b"x"))

    with site.table.writer(buffer_pages=3) as writer:

        def crawl(name):
            for number in range(20):
                writer.put(site.page(f"/{name}/{number}", body=b"x")).add_done_callback(again)

        threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert writer.stored == len(list(site.table.pages(site.domain))) == 160


def test_a_writer_that_is_closed_has_settled_all_receipts(spied, site):
    writer = spied.site.table.writer()
    stored = writer.put(site.page("/a", body=b"x"))
    writer.flush()
    spied.listener = lambda *_: (_ for _ in ()).throw(StoreUnavailable("gone"))
    lost = writer.put(site.page("/b", body=b"x"))
    with pytest.raises(WriteFailed):
        writer.close()

    assert stored.done()
    assert isinstance(lost.exception(0), StoreUnavailable)


AT_THE_END = """
import atexit, sys, webtable
from webtable import Page
held = []
atexit.register(lambda: print([receipt.result(0).url for receipt in held]))
writer = webtable.open(sys.argv[1], create=True).writer()
held.append(writer.put(Page(url="https://left.example/a", body=b"x")))
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_process_that_ends_settles_its_receipts(new_url):
    ended = subprocess.run(
        [sys.executable, "-c", AT_THE_END, new_url()], capture_output=True, text=True, timeout=120, check=True
    )

    assert ended.stdout == "['https://left.example/a']\n"


def test_a_receipt_of_the_parent_is_refused_in_a_forked_child(site):
    with site.table.writer(max_age=3_600) as writer:
        receipt = writer.put(site.page("/a", body=b"x"))
        number = os.fork()
        if not number:
            refused = 0
            for use in (receipt.result, receipt.exception, receipt.done, lambda: receipt.add_done_callback(print)):
                try:
                    use()
                except OtherProcess:
                    refused += 1
            os._exit(refused)
        _, status = os.waitpid(number, 0)

        assert os.waitstatus_to_exitcode(status) == 4
        assert receipt.result(20).error is None


def test_a_receipt_that_is_ignored_is_gone_at_once(site):
    with site.table.writer() as writer:
        receipt = weakref.ref(writer.put(site.page("/a", body=b"x")))

        assert receipt() is None
        assert isinstance(writer.put(site.page("/b", body=b"x")), Receipt)


def test_a_page_that_a_callback_puts_while_the_writer_is_being_closed_is_stored(site):
    called, released = threading.Event(), threading.Event()

    def again(_):
        called.set()
        released.wait(10)
        writer.put(site.page("/again", body=b"x"))

    writer = site.table.writer(buffer_pages=1)
    writer.put(site.page("/first", body=b"x")).add_done_callback(again)
    assert called.wait(10)  # in a thread of the writer
    threading.Timer(0.2, released.set).start()
    writer.close()

    assert writer.stored == len(list(site.table.pages(site.domain))) == 2

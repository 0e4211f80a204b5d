"""A writer with a deadline: what fails for a passing reason is tried again, in order, and not for ever."""

from __future__ import annotations

import time

import pytest

from store_differences import on_every_store
from webtable import WebTable
from webtable.errors import InvalidArgument, StoreRefused, StoreUnavailable, WriteFailed
from webtable.testing import FailingStore

GONE = StoreUnavailable("the gateway is restarted")


def over(site, store):
    """The table of *site* again, over another store."""
    return WebTable(store, site.table.table, site.table.layout)


@pytest.mark.slow
def test_pages_are_stored_when_a_store_comes_back_before_the_deadline(site, manual_clock):
    store = FailingStore(site.table.store, GONE, at=lambda _: manual_clock.passed < 15)

    with over(site, store).writer(deadline=30, buffer_pages=3) as writer:
        for number in range(10):
            writer.put(site.page(f"/{number}", body=b"x"))

    assert writer.stored == len(list(site.table.pages(site.domain))) == 10


def test_without_a_deadline_nothing_is_tried_again(site):
    attempts = []
    store = FailingStore(site.table.store, GONE, at=lambda call: attempts.append(call.name) is None)

    with pytest.raises(WriteFailed), over(site, store).writer() as writer:
        writer.put(site.page("/a", body=b"x"))

    assert len(attempts) == 1


@on_every_store
def test_only_the_pages_that_failed_are_tried_again_and_what_is_refused_is_not(spied, site):
    written, write = [], site.table.store.write

    def some_fail(table, puts):
        if table != site.table.table:
            return write(table, puts)
        paths = [site.table.key.url_of(put.row).removeprefix(site.url("")) for put in puts]
        first, errors = not written, []
        written.append(paths)
        for put, path in zip(puts, paths, strict=True):
            if "refused" in path:
                errors.append(StoreRefused("no"))
            elif "late" in path and first:
                errors.append(GONE)
            else:
                errors += write(table, [put])
        return errors

    spied.site.table.store.write = some_fail
    outcomes = []
    with spied.site.table.writer(deadline=30, on_outcome=outcomes.append) as writer:
        for path in ("/a", "/late1", "/refused", "/late2"):
            writer.put(site.page(path, body=b"x"))

    assert [[path.strip("/") for path in paths] for paths in written] == [
        ["a", "late1", "refused", "late2"],
        ["late1", "late2"],
    ]
    assert [(type(outcome.error), outcome.is_new) for outcome in outcomes if "refused" not in outcome.url] == [
        (type(None), True)
    ] * 3
    assert [type(outcome.error) for outcome in outcomes if "refused" in outcome.url] == [StoreRefused]


def test_a_later_capture_does_not_overtake_one_that_is_tried_again(site):
    failures, outcomes = [1] * 4, []

    def at(call):
        return call.name == "write" and call.table == site.table.table and bool(failures) and bool(failures.pop())

    with over(site, FailingStore(site.table.store, GONE, at)).writer(
        deadline=30, buffer_pages=1, on_outcome=outcomes.append
    ) as writer:
        first, second = site.page("/a", body=b"first", age=300), site.page("/a", body=b"second", age=200)
        writer.put(first)
        writer.put(second)

    assert [(outcome.fetched_at, outcome.error) for outcome in outcomes] == [
        (first.fetched_at, None),
        (second.fetched_at, None),
    ]
    assert [page.body for page in site.table.history(site.url("/a"), columns=["body"])] == [b"second", b"first"]


def test_a_page_whose_acknowledgement_was_lost_is_new_all_the_same(site):
    lost = [1]

    def at(call):
        return call.name == "write" and call.table == site.table.table and bool(lost) and bool(lost.pop())

    with over(site, FailingStore(site.table.store, GONE, at, after=True)).writer(deadline=30) as writer:
        outcome = writer.put(site.page("/a", body=b"x")).result(30)

    assert outcome.is_new
    assert (writer.stored, writer.unchanged) == (1, 0)


@pytest.mark.slow
def test_flush_and_close_give_up_at_the_deadline_and_the_receipt_tells_why(site):
    calls = []
    store = FailingStore(site.table.store, GONE, at=lambda call: calls.append(call.name) is None)
    writer = over(site, store).writer(deadline=0.4, buffer_pages=2)
    began = time.monotonic()
    receipts = [writer.put(site.page(f"/{number}", body=b"x")) for number in range(3)]

    with pytest.raises(WriteFailed, match="3 pages not stored"):
        writer.flush()
    flushed = time.monotonic() - began
    writer.put(site.page("/last", body=b"x"))
    with pytest.raises(WriteFailed, match="1 page not stored"):
        writer.close()

    assert len(calls) > 2  # how many more depends on the pauses, which are of random lengths
    assert flushed < 3
    assert time.monotonic() - began < 6
    assert [type(receipt.exception(0)) for receipt in receipts] == [StoreUnavailable] * 3


@pytest.mark.slow
def test_a_put_waits_no_longer_than_the_deadline(site):
    waits = []
    store = FailingStore(site.table.store, GONE)
    with pytest.raises(WriteFailed), over(site, store).writer(deadline=0.5, buffer_pages=1) as writer:
        for number in range(5):
            began = time.monotonic()
            writer.put(site.page(f"/{number}", body=b"x"))
            waits.append(time.monotonic() - began)

    assert max(waits) < 2


def test_a_deadline_that_is_none_is_refused(site):
    with pytest.raises(InvalidArgument, match="deadline"):
        site.table.writer(deadline=0)


@pytest.mark.slow
def test_each_retry_is_reported_with_its_error(site, manual_clock):
    retries = []
    store = FailingStore(site.table.store, GONE, at=lambda _: manual_clock.passed < 15)

    def report(retry):
        retries.append(retry)
        raise RuntimeError("a report that fails keeps no page from being stored")

    with over(site, store).writer(deadline=60, on_retry=report) as writer:
        writer.put(site.page("/a", body=b"x"))

    assert writer.stored == 1
    assert {(retry.pages, retry.error) for retry in retries} == {(1, GONE)}
    assert sorted(retry.seconds for retry in retries) == [retry.seconds for retry in retries]


def test_a_writer_that_is_told_to_give_up_waits_no_longer_than_that(site, manual_clock):
    store = FailingStore(site.table.store, GONE)
    writer = over(site, store).writer(deadline=3600, on_retry=lambda _: writer.give_up_after(5))

    with pytest.raises(WriteFailed), writer:
        writer.put(site.page("/a", body=b"x"))

    # Some attempts come before the batch counts as sent, which takes the clock of the test far.
    assert manual_clock.passed < 3000

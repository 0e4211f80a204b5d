"""Batches on their way at once: as many as the caller allows, and none that has a page in common with another."""

from __future__ import annotations

import threading

import pytest

from webtable.errors import InvalidArgument


class Gate:
    """Holds every write of the pages themselves until it is opened, and counts how many wait at it."""

    def __init__(self, spied) -> None:
        self.open = threading.Event()
        self.changed = threading.Condition()
        self.waiting = self.most = 0
        own = spied.site.table.table

        def hold(call, table, *_):
            if call != "transaction" and table == own and call == "write":
                with self.changed:
                    self.waiting += 1
                    self.most = max(self.most, self.waiting)
                    self.changed.notify_all()
                self.open.wait(20)
                with self.changed:
                    self.waiting -= 1

        spied.listener = hold

    def has(self, count: int, timeout: float = 20) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.waiting >= count, timeout)


@pytest.mark.parametrize(("in_flight", "stored_at_once"), [(1, 1), (2, 1), (4, 3)])
def test_as_many_batches_are_stored_side_by_side_as_are_allowed(spied, site, in_flight, stored_at_once):
    gate = Gate(spied)
    if not site.table.store.capabilities.writes_concurrently:
        stored_at_once = 1  # a file has one lock for all who write
    with spied.site.table.writer(in_flight=in_flight, buffer_pages=2) as writer:
        crawler = threading.Thread(
            target=lambda: [writer.put(site.page(f"/{number}", body=b"x")) for number in range(20)]
        )
        crawler.start()
        assert gate.has(stored_at_once)
        assert not gate.has(stored_at_once + 1, 0.3)
        gate.open.set()
        crawler.join(30)

    assert gate.most == stored_at_once
    assert len(list(site.table.pages(site.domain))) == 20


def test_two_captures_of_a_page_are_never_under_way_in_two_batches(spied, site):
    gate = Gate(spied)
    with spied.site.table.writer(in_flight=8, buffer_pages=1) as writer:
        crawler = threading.Thread(
            target=lambda: [writer.put(site.page("/a", body=b"%d" % age, age=age)) for age in (300, 200, 100)]
        )
        crawler.start()
        assert gate.has(1)
        assert not gate.has(2, 0.3)
        gate.open.set()
        crawler.join(30)

    assert gate.most == 1
    assert [page.body for page in site.table.history(site.url("/a"), columns=["body"])] == [b"100", b"200", b"300"]


@pytest.mark.parametrize("in_flight", [1, 8])
def test_outcomes_are_told_in_the_order_of_the_pages(site, in_flight):
    outcomes = []

    with site.table.writer(in_flight=in_flight, buffer_pages=3, on_outcome=outcomes.append) as writer:
        for number in range(100):
            writer.put(site.page(f"/{number % 40}", body=b"%d" % number, age=2_000 - number))

    assert [outcome.error for outcome in outcomes] == [None] * 100
    assert [outcome.url for outcome in outcomes] == [site.url(f"/{number % 40}") for number in range(100)]


@pytest.mark.slow
def test_a_slow_store_holds_the_caller_back_at_one_batch_more_than_are_in_flight(spied, site):
    gate, put = Gate(spied), []

    def crawl():
        with spied.site.table.writer(in_flight=3, buffer_pages=10) as writer:
            for number in range(100):
                writer.put(site.page(f"/{number}", body=b"x"))
                put.append(number)

    crawler = threading.Thread(target=crawl)
    crawler.start()
    assert gate.has(1)
    crawler.join(0.5)
    held_at = len(put)
    gate.open.set()
    crawler.join(30)

    assert held_at < 40
    assert len(put) == 100


@pytest.mark.parametrize("in_flight", [0, 9, 1.5])
def test_another_number_of_batches_is_refused(site, in_flight):
    with pytest.raises(InvalidArgument, match="in_flight"):
        site.table.writer(in_flight=in_flight)

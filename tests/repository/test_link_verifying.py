"""Comparing inlinks with the pages that make them: what differs is found, and what it costs grows as the links do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import Link, Page, WebTable
from webtable.store import NewCell, Put
from webtable.testing import CountingStore, WrappedStore

NOW = datetime.now(UTC).replace(microsecond=0)


class Counting(CountingStore):
    """A store that counts its calls, and how often the links of a page were read."""

    def __init__(self, store):
        super().__init__(store)
        self.links_read = 0

    def _links(self, row):
        self.links_read += row is not None and any(column.endswith((b"o:u", b":urls")) for column in row.cells)
        return row

    def _read(self, *given, **options):
        return list(map(self._links, super()._read(*given, **options)))

    def _scan(self, *given, **options):
        return ([*map(self._links, piece)] for piece in super()._scan(*given, **options))


@pytest.fixture
def table(new_url):
    with webtable.open(new_url(), create=True, indexes=["link"]) as table:
        yield table


@pytest.fixture
def few_at_once(monkeypatch):
    monkeypatch.setattr("webtable.repository.upkeep.repair.AT_ONCE", 7)
    monkeypatch.setattr("webtable.repository.upkeep.repair.AT_ONCE", 7)


def url(number):
    return f"https://a.example/{number:05}"


def linking(number, targets, *, age=3600):
    links = tuple(Link(url(target), f"to {target}") for target in targets)
    return Page(url=url(number), fetched_at=NOW - timedelta(seconds=age), outlinks=links)


class Forgetful(WrappedStore):
    """A store that does not write these cells, as (row, column), and says that it did."""

    def __init__(self, store, forgotten):
        super().__init__(store)
        self._forgotten = set(forgotten)

    def _write(self, table, mutations):
        kept = [one for one in map(self._kept, mutations) if not isinstance(one, Put) or one.cells]
        return (super()._write(table, kept) if kept else []) + [None] * (len(mutations) - len(kept))

    def _kept(self, one):
        if not isinstance(one, Put):
            return one
        return Put(one.row, [cell for cell in one.cells if (one.row, cell.column) not in self._forgotten])


def store(table, *pages, without=()):
    """Store *pages*, but not the inlinks between some pairs of target and source."""
    forgotten = [(row, cell.column) for row, cell in (inlink(table, *pair) for pair in without)]
    forgetful = WebTable(Forgetful(table.store, forgotten), table.table, table.layout)
    with forgetful.writer() as writer:
        for page in pages:
            writer.put(page)


def inlink(table, target, source, timestamp=0):
    column = f"{table._context.codec.columns.inlinks}:{url(source)}".encode()
    return table.key.encode(url(target)), NewCell(column, timestamp, b"")


def leave_behind(table, *links, age=7200):
    """Write inlinks that no page makes, as a writer does that is killed before it removes them."""
    at = int((NOW - timedelta(seconds=age)).timestamp() * 1000)
    places = [inlink(table, *link, at) for link in links]
    assert not any(table.store.write(table.table, [Put(row, [cell]) for row, cell in places]))


def counted(table, act=lambda table: table.indexes.verify("link", settle=0)):
    counting = Counting(table.store)
    drift = act(WebTable(counting, table.table, table.layout))
    return drift, counting


def test_the_links_of_a_page_are_read_once_however_many_it_has(table):
    store(table, linking(0, range(1, 401)))
    table.links.refresh()

    drift, counting = counted(table)

    assert drift.is_empty
    assert drift.entries == 400 + 401  # entries of counts, one of which is the page's own, and the inlinks
    assert counting.links_read == 1


def test_pages_are_compared_in_batches(table):
    store(table, *(linking(number, range(number, number + 10)) for number in range(200)))

    drift, counting = counted(table)

    assert drift.is_empty
    assert counting.links_read == 200
    assert counting.calls.total() < 20


def test_the_inlinks_of_a_page_are_read_in_pieces_with_few_calls(table):
    store(table, *(linking(number, [9_999]) for number in range(350)))

    drift, counting = counted(table)

    assert (drift.is_empty, drift.entries) == (True, 350 + 350)
    assert counting.calls["read_cells"] == 2
    assert counting.links_read == 350


def test_each_missing_inlink_of_a_page_is_counted_once_and_written(table, few_at_once):
    store(table, linking(0, range(1, 41)), without=[(number, 0) for number in range(1, 31)])

    found = table.indexes.verify("link", settle=0)
    repaired = table.indexes.repair("link", settle=0)

    assert (found.missing, found.stale) == (30, 0)
    assert (repaired.missing, repaired.repaired) == (30, 30)
    assert table.indexes.verify("link", settle=0).is_empty
    assert [link.source for link in table.links.to(url(17))] == [url(0)]


def test_each_stale_inlink_of_a_page_is_counted_once_and_removed(table, few_at_once):
    store(table, linking(0, range(1, 41)))
    leave_behind(table, *((number, 0) for number in range(50, 80)))

    found = table.indexes.verify("link", settle=0)
    repaired = table.indexes.repair("link", settle=0)

    assert (found.missing, found.stale) == (0, 30)
    assert (repaired.stale, repaired.repaired) == (30, 30)
    assert table.indexes.verify("link", settle=0).is_empty


def test_a_difference_is_found_among_many_inlinks_of_one_page(table):
    store(table, *(linking(number, [9_999, 5]) for number in range(250)), without=[(9_999, 130), (9_999, 240)])
    leave_behind(table, (9_999, 4_000), (9_999, 4_001), (7, 249))

    drift, counting = counted(table)

    # What no stored page makes may still come: only the inlink of a page that is there is stale.
    assert (drift.missing, drift.stale, drift.pending) == (2, 1, 2)
    # All pages are read twice, to find that there are differences and to find them; the few of these once more.
    assert counting.links_read < 510


def test_what_all_is_missing_is_looked_for_in_batches(table):
    targets = {number: range(number, number + 10) for number in range(200)}
    links = [(target, number) for number in targets for target in targets[number]]
    store(table, *(linking(number, targets[number]) for number in targets), without=links)

    drift, counting = counted(table)

    assert (drift.missing, drift.stale) == (2_000, 0)
    assert counting.calls.total() < 60


def test_what_all_is_stale_is_looked_at_in_batches(table):
    store(table, *(linking(number, [number]) for number in range(200)))
    leave_behind(table, *((target, number) for number in range(200) for target in range(number + 1, number + 10)))

    drift, counting = counted(table)

    assert (drift.missing, drift.stale) == (0, 1_800)
    assert counting.calls.total() < 60
    assert counting.links_read < 1_000


def test_a_target_that_a_page_writes_in_three_ways_has_one_inlink(table, few_at_once):
    links = tuple(map(Link, ["https://a.example/00001", "https://a.example/00001#top", "HTTPS://A.example/00001"]))
    odd = tuple(map(Link, ["https://a.example/00001#top", "HTTPS://A.example/00001"]))
    when = NOW - timedelta(hours=1)

    store(table, Page(url=url(0), fetched_at=when, outlinks=links), Page(url=url(2), fetched_at=when, outlinks=links))
    store(table, Page(url=url(3), fetched_at=when, outlinks=odd), without=[(1, 3)])

    assert table.indexes.verify("link", settle=0).missing == 1
    assert table.indexes.repair("link", settle=0).repaired == 1
    assert [link.source for link in table.links.to(url(1))] == [url(0)] * 3 + [url(2)] * 3 + [url(3)] * 2


def test_captures_that_are_later_than_the_moment_are_left_out(table):
    store(table, linking(0, [1, 2], age=7200), without=[(2, 0)])
    store(table, linking(3, [1, 2], age=600), without=[(1, 3)])

    early = table.indexes.verify("link", as_of=NOW - timedelta(hours=1), settle=0)
    now = table.indexes.verify("link", settle=0)

    assert (early.missing, early.stale, early.pending) == (1, 0, 0)
    assert (now.missing, now.stale, now.pending) == (2, 0, 0)

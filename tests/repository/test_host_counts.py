"""The counts of hosts: right after a crash and whoever counts beside, made from the rows near what has changed."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from itertools import chain, count

import pytest
from answers import check_counts
from deaths import Killed, Town, is_through, listening

import webtable
from nightly import some
from store_differences import with_thrift1
from webtable.repository.hosts import counts
from webtable.repository.page_storage import cells as stored_cells
from webtable.repository.upkeep import recounts
from webtable.repository.upkeep.queue import RecountQueue
from webtable.rowkey import Salt
from webtable.store.sqlite import SQLiteStore
from webtable.testing import WrappedStore
from webtable.testing.stores import counted_store

SECONDS = count(60)
SALTS = [Salt.host(), Salt.url(), Salt.none()]


@pytest.fixture
def short_parts(monkeypatch):
    """Let a new part begin at every third row or so, so that few pages have many."""
    monkeypatch.setattr(counts, "_CUTS", 90)


@pytest.fixture(params=["at once", "at the end"])
def little_memory(request, monkeypatch):
    """Let what is to be counted of hosts be joined after a few rows; joined rows are counted at once, or are kept."""
    monkeypatch.setattr(recounts, "ROWS_A_ROUND", 1)
    monkeypatch.setattr(recounts, "MOST_BYTES", 2_000)
    monkeypatch.setattr(recounts, "MOST_JOINED", 1_000 if request.param == "at once" else 10**9)


@pytest.fixture(params=some(SALTS, 2), ids=lambda salt: salt.source)
def table(request, tmp_path, short_parts):
    with webtable.open(tmp_path / "own.db", create=True, salt=request.param, indexes=["host"]) as table:
        yield table


class Counting(WrappedStore):
    """A store that counts the rows of the web table that a scan gives."""

    def __init__(self, store):
        super().__init__(store)
        self.rows, self.scans = 0, 0

    def _scan(self, table, *given, **options):
        is_web = not table.endswith(("_idx", "_queue"))
        self.scans += is_web
        for row in chain.from_iterable(super()._scan(table, *given, **options)):
            self.rows += is_web
            yield [row]


def counted(table, domain):
    return {host.name: (host.pages, host.bytes) for host in table.hosts(domain)}


def actual(table, domain):
    found = {}
    for page in table.pages(domain):
        host = page.url.split("/")[2]
        pages, size = found.get(host, (0, 0))
        found[host] = pages + 1, size + (page.size or 0)
    return found


def check(table, domain):
    assert table.links.freshness().waiting == 0
    assert counted(table, domain) == actual(table, domain)


def url(town, number):
    return town.url(f"/{number:03}", ("", "www")[number % 2])


def sized(town, number, size, host=None, **fields):
    """Return a page with a body of this size; each is dated behind all others, and behind the deletes before it."""
    ahead = (time.time() - town.now.timestamp() + next(SECONDS)) / 86_400
    return town.page(f"/{number:03}", host=host or ("", "www")[number % 2], body=b"x" * size, days=-ahead, **fields)


@pytest.mark.slow
def test_a_run_reads_the_rows_near_those_that_changed(site):
    site.store(*(site.page(f"/a/{number:04}", body=b"x") for number in range(3_000)))
    site.table.links.refresh()
    read = []

    for run in range(3):
        site.store(*(site.page(f"/b/{run}/{number:03}", body=b"xy") for number in range(100)))
        counting = Counting(site.table.store)
        webtable.WebTable(counting, site.table.table, site.table.layout).links.refresh()
        read.append(counting.rows)

    # Parts have 64 rows in the mean; none of a thousand is as long as a host of 3,000.
    assert max(read) < 1_500
    assert counted(site.table, site.domain) == {site.domain: (3_300, 3_600)}


@pytest.mark.slow
def test_a_run_of_many_rounds_reads_each_page_once(site, monkeypatch):
    monkeypatch.setattr(recounts, "ROWS_A_ROUND", 100)
    draw = random.Random(20261123)
    pages = [site.page(f"/{number:04}", host=f"h{number % 3}", body=b"x") for number in range(2_000)]
    draw.shuffle(pages)
    site.table.links.refresh(also_unfinished=True)
    for at in range(0, len(pages), 100):
        site.store(*pages[at : at + 100])
    counting, told = Counting(site.table.store), []

    webtable.WebTable(counting, site.table.table, site.table.layout).links.refresh(on_progress=told.append)

    # What writers that other tests have killed left in the table waits on.
    assert counted(site.table, site.domain) == actual(site.table, site.domain)
    assert counting.rows <= 2_100
    assert told == sorted(told)
    assert told[-1] >= 2_000


@pytest.mark.slow
def test_what_has_changed_of_hosts_is_counted_right_in_little_memory(table, little_memory):
    town, draw = Town(table), random.Random(20261123)

    for most in (90, 5, 60, 1):
        for _ in range(4):
            numbers = draw.sample(range(300), most)
            town.store(*(sized(town, number, draw.randrange(40), f"h{number % 3}") for number in numbers))
        for page in draw.sample(list(table.pages(town.domain)), most // 3):
            table.delete(page.url)
        table.links.refresh()

        check(table, town.domain)


@pytest.mark.slow
def test_the_memory_for_what_is_to_be_counted_does_not_grow_with_it():
    key, weights = webtable.rowkey.WebKey(), []
    changes = counts.HostChanges(key, None)

    for start in range(0, 60_000, 20_000):
        changes.add(key.encode(f"https://www.example.com/{number:06}") for number in range(start, start + 20_000))
        weights.append(changes.weight)
        changes.join()

    assert changes.weight < weights[0] / 6
    assert max(weights) < weights[0] * 1.3
    (change,) = changes.of_hosts()
    assert change.host == "www.example.com"
    assert change.spans[0][0].endswith(b"/000000")
    assert change.spans[-1][1].endswith(b"/059999")


@with_thrift1
def test_hosts_of_which_little_has_changed_are_read_together(new_url, adapter):
    with webtable.open(new_url(), create=True, salt=Salt.url(), indexes=["host"]) as table:
        town = Town(table)
        pages = [town.page(f"/{number}", host=f"h{number % 40}", body=b"x" * number) for number in range(400)]
        town.store(*pages[:300])
        table.links.refresh()
        town.store(*pages[300:])
        store, calls = counted_store(table.store)
        counting = Counting(store)

        webtable.WebTable(counting, table.table, table.layout).links.refresh()
        opened = calls["scannerOpenWithScan"]

        check(table, town.domain)
    # Neighbouring rows are read by one scan also where each range is a scan of its own: a hundred pages have changed.
    assert counting.scans <= 20 if adapter == "hbase-thrift1" else counting.scans == 1
    assert opened < 100


@pytest.mark.slow
@pytest.mark.parametrize("is_range_by_range", [False, True])
def test_hosts_are_counted_right_however_their_pages_are_read(tmp_path, monkeypatch, short_parts, is_range_by_range):
    monkeypatch.setattr(counts, "MOST_BETWEEN", 3)
    monkeypatch.setattr(counts, "MOST_PAGES", 40)
    able = replace(SQLiteStore.capabilities, scans_ranges_separately=is_range_by_range)
    monkeypatch.setattr(SQLiteStore, "capabilities", able)
    draw = random.Random(20261122)

    with webtable.open(tmp_path / "own.db", create=True, salt=Salt.url(), indexes=["host"]) as table:
        town = Town(table)
        for most in (90, 5, 30, 1):
            numbers = draw.sample(range(300), most)
            town.store(*(sized(town, number, draw.randrange(40), f"h{number % 7}") for number in numbers))
            for page in draw.sample(list(table.pages(town.domain)), most // 3):
                table.delete(page.url)
            table.links.refresh()

            check(table, town.domain)


@pytest.mark.slow
def test_counts_follow_pages_that_come_and_go_and_change_their_size(site, short_parts):
    town = Town(site.table, now=site.now)
    draw = random.Random(20260301)

    for _ in range(6):
        town.store(*(sized(town, number, draw.randrange(40)) for number in draw.sample(range(60), 25)))
        for page in draw.sample(list(site.table.pages(town.domain)), 12):
            site.table.delete(page.url)
        site.table.links.refresh()

        assert counted(site.table, town.domain) == actual(site.table, town.domain)


def test_a_batch_that_is_counted_twice_is_counted_once(table):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(40)))
    queue = f"{table.table}_queue"
    batches = list(table.store.scan(queue, [webtable.rowkey.KeyRange()]))
    table.links.refresh()

    again = [
        webtable.store.Put(
            row.key + b"again",
            [
                webtable.store.NewCell(column, cell.timestamp + 60_000, cell.value)
                for column, (cell, *_) in row.cells.items()
            ],
        )
        for row in batches
    ]
    assert table.store.write(queue, again) == [None] * len(again)
    assert table.links.refresh().batches == len(again)

    check(table, town.domain)


def test_a_run_that_is_killed_at_any_call_is_made_right_by_the_next(table):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(0, 60, 2)))
    table.links.refresh()

    for calls in some(range(100), 2):
        town.store(sized(town, calls % 60, calls))
        table.delete(url(town, (calls * 7) % 60))
        is_done = is_through(table, lambda table: table.links.refresh(), calls)
        table.links.refresh()

        check(table, town.domain)
        if is_done:
            assert calls > 6
            return
    raise AssertionError("it never comes to its end")


def test_a_run_of_many_rounds_that_is_killed_at_any_call_is_made_right_by_the_next(table, little_memory):
    table.indexes.add("link")
    town = Town(table)

    for calls in some(range(200), 8):
        for number in range(3):
            town.store(sized(town, (calls + number) % 60, calls, outlinks=town.links(f"/{(calls * 7) % 60:03}")))
        table.delete(url(town, (calls * 11) % 60))
        is_done = is_through(table, lambda table: table.links.refresh(), calls)
        table.links.refresh()

        check(table, town.domain)
        check_counts(table, town.domain)
        if is_done:
            assert calls > 20
            return
    raise AssertionError("it never comes to its end")


def test_an_older_run_that_ends_later_leaves_no_part_that_is_no_more(table, monkeypatch):
    monkeypatch.setattr(recounts, "ROWS_A_ROUND", 1)
    town, crossed = Town(table), []
    town.store(*(sized(town, number, 1) for number in range(60)))

    def crossing(call, name, *_):
        if call != "write" or not name.endswith("_idx") or crossed:
            return
        crossed.append(True)  # it has read parts that are not stored yet, and whose first pages go now
        cuts = [number for number in range(1, 60) if counts.is_cut(table.key.encode(url(town, number)))]
        for number in cuts[::2]:
            table.delete(url(town, number))
        with monkeypatch.context() as patch:
            patch.setattr(recounts, "MOST_BYTES", 1_000)
            patch.setattr(recounts, "MOST_JOINED", 10**9)
            table.links.refresh()

    listening(table, crossing).links.refresh()

    assert crossed
    check(table, town.domain)


def test_the_same_rows_take_no_more_memory_when_they_change_again():
    key, weights = webtable.rowkey.WebKey(), []
    changes = counts.HostChanges(key, None)

    for _ in range(4):
        changes.add(key.encode(f"https://www.example.com/{number:06}") for number in range(5_000))
        changes.join()
        weights.append(changes.weight)

    assert len(set(weights)) == 1


def test_rows_that_are_no_rows_of_their_host_are_damage_and_change_nothing(table):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(40)))
    table.links.refresh()
    salt = len(table.key.encode(url(town, 0))) - len(table.key.unsalted(table.key.encode(url(town, 0))))
    if salt:
        queue = RecountQueue(table.store, table.table)
        wrong = b"!" * (salt - 1) + b":" + table.key.unsalted(table.key.encode(url(town, 7)))
        entered = queue.entered([], pages=[wrong])
        queue.write([entered, queue.done(entered)])

        assert table.links.refresh().damaged == 1

    check(table, town.domain)


def test_an_index_that_is_added_while_a_run_begins_is_counted(tmp_path, monkeypatch):
    with webtable.open(tmp_path / "own.db", create=True, indexes=["link"]) as table:
        town = Town(table)
        town.store(*(sized(town, number, number) for number in range(10)))
        scans = []

        def adding(call, name, *_):
            if call == "scan" and name.endswith("_queue") and not scans:
                scans.append(True)
                table.indexes.add("host")

        listening(table, adding).links.refresh()
        table.links.refresh()

        assert scans
        check(table, town.domain)


def test_of_two_runs_at_once_neither_spoils_the_counts_of_the_other(table, little_memory):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(0, 60, 2)))
    table.links.refresh()
    draw = random.Random(20260301)

    def change():
        town.store(*(sized(town, number, draw.randrange(40)) for number in draw.sample(range(60), 9)))
        for number in draw.sample(range(60), 9):
            table.delete(url(town, number))

    for calls in some(range(100), 6):
        left, crossed = iter(range(calls)), []
        change()

        def crossing(*_, left=left, crossed=crossed):
            if next(left, "through") == "through" and not crossed:
                crossed.append(True)
                change()
                table.links.refresh()

        listening(table, crossing).links.refresh()

        check(table, town.domain)
        if not crossed:
            assert calls > 6
            return
    raise AssertionError("it never comes to its end")


def test_a_run_that_knows_parts_which_are_no_more_counts_what_is_there(table, monkeypatch):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(60)))
    table.links.refresh()
    over = counts._over

    for left in some(range(0, 58, 2), 3):
        town.store(sized(town, left, 99))
        crossed = []

        def crossing(newest, left=left, crossed=crossed):
            if not crossed:  # the parts are read, their pages are not
                crossed.append(True)
                for number in (left + 1, left + 2):
                    table.delete(url(town, number))
                table.links.refresh()
            return over(newest)

        monkeypatch.setattr(counts, "_over", crossing)
        table.links.refresh()
        monkeypatch.setattr(counts, "_over", over)

        check(table, town.domain)


def test_a_rebuild_of_the_index_counts_all_pages_anew(table):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(40)))
    table.links.refresh()
    index = table._context.indexes.read()["host"].table
    wrong = [
        webtable.store.Put(
            row.key,
            [
                webtable.store.NewCell(
                    column, cells[0].timestamp + 1, b"[7,7]" if b"part-" in column else cells[0].value
                )
                for column, cells in row.cells.items()
            ],
        )
        for row in table.store.scan(index, [webtable.rowkey.KeyRange()])
    ]
    table.store.write(index, wrong)

    table.indexes.rebuild("host")
    table.links.refresh()

    check(table, town.domain)


def test_a_host_with_more_parts_than_are_read_at_once_is_counted_whole(table, monkeypatch):
    for limit in ("NARROW", "PIECE"):
        monkeypatch.setattr(stored_cells, limit, 3)
    town = Town(table)

    for start in (0, 1):
        town.store(*(sized(town, number, number) for number in range(start, 120, 2)))
        table.links.refresh()

    check(table, town.domain)


def test_a_killed_writer_leaves_the_counts_right_once_its_batch_is_counted(table):
    town = Town(table)
    town.store(*(sized(town, number, number) for number in range(20)))
    for calls in range(100):
        page = sized(town, calls, 9)
        try:
            is_done = is_through(table, lambda table, page=page: table.put(page), calls)
        except (webtable.WebTableError, Killed):
            is_done = False
        table.links.refresh(also_unfinished=True)

        assert counted(table, town.domain) == actual(table, town.domain)
        if is_done:
            return
    raise AssertionError("it never comes to its end")

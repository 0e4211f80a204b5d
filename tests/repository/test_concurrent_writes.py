"""Several who store captures of one page at once leave what one writer would have left, in some order."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from itertools import combinations, product

import pytest
from crossings import Crossing, crossed, serial
from deaths import EachAlone, killed_after, listening

import webtable
from nightly import examples
from store_differences import with_thrift1
from webtable import WebTable
from webtable.errors import StoreUnavailable, WriteFailed
from webtable.store.memory import MemoryStore
from webtable.testing import FailingStore, ListeningStore

BEFORE = [[(0, "X", "ab")], [(0, "X", "ab"), (9, "X", "ab")], [(9, "X", "ab")], [(0, "X", "ab"), (2, "502")]]
CONTENTS = [("X", "ab"), ("Y", "b"), ("Z", "bc"), ("502",), ("304",), ("301", "a")]
DAYS = (1, 5, 12)
ORDERLY = ("page", "history", "as_of", "diff", "inlinks", "counts")
"""What is of one order: counters and dates of changes may be those of another one."""


@pytest.fixture
def tables(new_url) -> Iterator[list[WebTable]]:
    """The same table, opened twice."""
    url = new_url()
    with webtable.open(url, create=True) as one, webtable.open(url) as other:
        yield [one, other]


@pytest.fixture
def each_alone() -> Iterator[list[WebTable]]:
    """The same table, opened twice, in a store where each call stands for itself."""
    name = uuid.uuid4().hex
    with webtable.open(f"memory:{name}", create=True) as one, webtable.open(f"memory:{name}") as other:
        yield [one, other]
    MemoryStore.forget(name)


@pytest.fixture
def in_a_file(tmp_path) -> Iterator[list[WebTable]]:
    """The same table, opened by two stores on one file, one of which has two writers."""
    with webtable.open(tmp_path / "a.db", create=True) as one, webtable.open(tmp_path / "a.db") as other:
        yield [one, other, one]


def crossing(tables, before=()):
    made = Crossing(tables, f"https://h{uuid.uuid4().hex[:10]}.example")
    for one in before:
        made.play([[made.page(*one)]], [("prepare", 0), ("store", 0)])
    return made


def seen(tables, before, captures, steps):
    made = crossing(tables, before)
    made.play([[made.page(*one)] for one in captures], steps)
    return made.seen()


def drawn(writers, count):
    """Draw what is there before, and captures of different days that come at once."""
    pool = [(day, *content) for day in DAYS for content in CONTENTS]
    every = [some for some in combinations(pool, writers) if len({one[0] for one in some}) == writers]
    return random.Random(writers).sample(list(product(BEFORE, every)), count)


@pytest.mark.parametrize("last", [0, 1])
def test_a_late_error_and_the_same_content_again_that_cross_are_both_in_the_history(tables, last):
    made = crossing(tables, [(1, "X", "ab")])

    steps = [("prepare", 0), ("prepare", 1), ("store", 1 - last), ("store", last)]
    made.play([[made.page(9, "X", "ab")], [made.page(5, "502")]], steps)

    found = made.seen()
    assert found["page"] == (9, 200, b"X", ["/a", "/b"])
    assert found["history"] == [(9, 200, b"X"), (5, 502, b"bad gateway"), (1, 200, b"X")]
    assert found["diff"] == (5, (502, b"bad gateway"), 9, (200, b"X"))
    assert (found["changed"], found["count"]) == (9, 2)
    assert (found["inlinks"], found["counts"]) == (["/a", "/b"], {"/a": 1, "/b": 1})


@pytest.mark.parametrize(("before", "captures"), drawn(2, examples(by_day=6, by_night=24)))
def test_what_two_writers_leave_on_a_store_without_transactions_is_of_one_order(each_alone, before, captures):
    orders = [seen(each_alone, before, captures, steps) for steps in serial(2)]

    for steps in crossed(2):
        found = seen(each_alone, before, captures, steps)

        assert {name: found[name] for name in ORDERLY} in [{name: one[name] for name in ORDERLY} for one in orders]
        assert all(any(found[name] == one[name] for one in orders) for name in ("changed", "count"))
        if ("304",) not in [one[1:] for one in captures]:
            assert found["first_seen"] in [one["first_seen"] for one in orders]


@pytest.mark.parametrize(("before", "captures"), drawn(3, examples(by_day=2, by_night=6)))
def test_what_three_writers_leave_on_a_store_without_transactions_is_of_one_order(each_alone, before, captures):
    orders = [seen(each_alone, before, captures, steps) for steps in serial(3)]

    for steps in random.Random(1).sample(list(crossed(3)), 20):
        found = seen(each_alone, before, captures, steps)

        assert {name: found[name] for name in ORDERLY} in [{name: one[name] for name in ORDERLY} for one in orders]


@pytest.mark.parametrize(
    ("before", "captures"), [*drawn(2, examples(by_day=6, by_night=12)), ([], [(1, "Y", "b"), (5, "X", "ab")])]
)
def test_what_two_writers_leave_in_a_file_is_all_of_one_order(in_a_file, before, captures):
    orders = [seen(in_a_file, before, captures, steps) for steps in serial(2)]

    for steps in crossed(2):
        assert seen(in_a_file, before, captures, steps) in orders


@pytest.mark.parametrize(("before", "captures"), drawn(3, examples(by_day=2, by_night=4)))
def test_what_three_writers_leave_in_a_file_is_all_of_one_order(in_a_file, before, captures):
    orders = [seen(in_a_file, before, captures, steps) for steps in serial(3)]

    for steps in random.Random(1).sample(list(crossed(3)), 10):
        assert seen(in_a_file, before, captures, steps) in orders


def test_a_file_has_no_stale_entries_after_writers_have_crossed(in_a_file):
    made = crossing(in_a_file, [(1, "X", "ab")])

    batches = [[made.page(9, "X", "ab")], [made.page(5, "502")], [made.page(12, "Y", "c")]]
    made.play(batches, [("prepare", 0), ("prepare", 1), ("prepare", 2), ("store", 2), ("store", 0), ("store", 1)])

    table = in_a_file[0]
    assert {name: table.indexes.verify(name, settle=0).stale for name in table.indexes.states()} == dict.fromkeys(
        table.indexes.states(), 0
    )


def test_a_writer_that_is_alone_reads_its_rows_once_in_a_file(tmp_path):
    with webtable.open(tmp_path / "a.db", create=True) as table:
        calls, made = [], Crossing([table], "https://example.com")
        store = ListeningStore(table.store, lambda call: calls.append((call.name, call.table)))

        with WebTable(store, table.table, table.layout).writer(buffer_pages=5) as writer:
            writer.put_many([made.page(1, "X", url=f"https://example.com/{n}") for n in range(50)])

    assert calls.count(("read", table.table)) == 10


def crossed_and_killed(table):
    """Store a page whose newest capture disagrees with its history: the writer is killed before it reads again."""
    made = crossing([WebTable(EachAlone(table.store), table.table, table.layout)], [(1, "X", "ab")])
    other = Crossing([WebTable(EachAlone(table.store), table.table, table.layout)], made.site)
    is_stored = []

    def store_between(call, where, *given):
        if call == "write" and where == table.table and not is_stored:
            is_stored.append(True)
            other.play([[other.page(5, "502")]], [("prepare", 0), ("store", 0)])

    def is_behind(call, where, *_):
        return call == "read" and where == table.table and bool(is_stored) and is_stored.append(True) is None

    with killed_after(listening(table, store_between), is_behind) as dying:
        dead = Crossing([dying], made.site)
        dead.play([[dead.page(9, "X", "ab")]], [("prepare", 0), ("store", 0)])
    return made


@with_thrift1
def test_a_page_whose_writer_was_killed_before_it_read_again_is_found_and_repaired(tables):
    table = tables[0]
    made = crossed_and_killed(table)
    wrong = made.seen()["history"]

    found, drift = table.maintenance.verify(webtable.ALL), table.indexes.verify("link", settle=0)
    repaired = table.indexes.repair("link", settle=0)

    assert wrong[0][1] == 502
    assert (found.inconsistent, found.is_sound, drift.inconsistent, drift.is_empty) == (1, False, 1, False)
    assert repaired.inconsistent == 1
    assert [status for _, status, _ in made.seen()["history"]] == [200, 502, 200]
    assert table.maintenance.verify(webtable.ALL).is_sound
    assert table.indexes.verify("link", settle=0).is_empty


def test_a_page_whose_writer_was_killed_before_it_read_again_is_mended_when_the_capture_is_put_again(tables):
    made = crossed_and_killed(tables[0])

    made.play([[made.page(9, "X", "ab")]], [("prepare", 0), ("store", 0)])

    assert [status for _, status, _ in made.seen()["history"]] == [200, 502, 200]


def failing_to_read_again(table, before_write=lambda: None):
    """Return *table* over a store that fails once to read pages after it has written pages, *before_write* before."""
    calls = []

    def is_first_read_after_a_write(call):
        if call.table == table.table and call.name in ("read", "write"):
            calls.append(call.name)
            if calls == ["read", "write"]:
                before_write()
        return calls == ["read", "write", "read"]

    store = FailingStore(EachAlone(table.store), StoreUnavailable("gone"), at=is_first_read_after_a_write)
    return WebTable(store, table.table, table.layout)


def test_a_capture_is_not_acknowledged_before_its_row_was_read_again(each_alone):
    made = crossing(each_alone, [(1, "X")])

    with pytest.raises(WriteFailed), failing_to_read_again(each_alone[0]).writer() as writer:
        receipt = writer.put(made.page(9, "X"))

    assert isinstance(receipt.exception(), StoreUnavailable)


def test_a_writer_that_tries_again_writes_what_it_could_not_know_was_missing(each_alone):
    made = crossing(each_alone, [(1, "X")])
    failing = failing_to_read_again(
        each_alone[0], lambda: made.play([[made.page(9, "X")]], [("prepare", 0), ("store", 0)])
    )

    with failing.writer(deadline=30) as writer:
        writer.put(made.page(5, "Y", "a"))

    found = made.seen()
    assert [html for _, _, html in found["history"]] == [b"X", b"Y", b"X"]
    assert (found["inlinks"], found["counts"]) == ([], {})

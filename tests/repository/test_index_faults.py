"""Writers that are killed, and stores that fail: no question misses an acknowledged page or gives a wrong one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from answers import INDEXES, Expected, check_counts, check_questions, drifts, missing
from deaths import CALLS, EachAlone, Town, is_through, killed_after, listening

import webtable
from nightly import NIGHTLY, examples, some
from webtable import Page, WebTable
from webtable.errors import StoreUnavailable, WriteFailed
from webtable.store import Delete
from webtable.testing import FailingStore, WrappedStore


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "own.db", create=True) as table:
        yield table


def first_put(town):
    new = town.page("/new", body=b"new", days=2, outlinks=town.links("/a", "/never", "/new"))
    return lambda table: table.put(new)


def another_host(town):
    new = town.page("/new", host="blog", body=b"b" * 20, days=2, status=503, outlinks=town.links("/a", "/gone"))
    return lambda table: table.put(new)


def recrawl_with_all_changed(town):
    other = town.page(
        "/a",
        body=b"other",
        days=1,
        status=500,
        outlinks=town.links("/gone", "/twin", "/"),
        last_modified=town.now - timedelta(days=30),
    )
    return lambda table: table.put(other)


def recrawl_without_links(town):
    return lambda table: table.put(town.page("/a", body=b"other", days=1))


def recrawl_unchanged(town):
    same = town.page("/a", body=b"a" * 1_000, days=1, outlinks=town.links("/", "/b", "/never"))
    return lambda table: table.put(same)


def recrawl_as_redirect(town):
    moved = town.page("/b", days=1, status=302, redirect_to=town.url("/a"), outlinks=None)
    return lambda table: table.put(moved)


def redirect_elsewhere(town):
    moved = town.page("/old", days=1, status=308, redirect_to=town.url("/new"), outlinks=None)
    return lambda table: table.put(moved)


def not_modified(town):
    return lambda table: table.put_not_modified(town.url("/a"), town.now - timedelta(days=1))


def late_capture(town):
    return lambda table: table.put(town.page("/a", body=b"before", days=7, outlinks=town.links("/gone", "/b")))


def late_capture_in_between(town):
    town.store(town.page("/a", body=b"a" * 1_000, days=1, outlinks=town.links("/", "/b", "/never")))
    return lambda table: table.put(town.page("/a", body=b"between", days=3, outlinks=town.links("/gone", "/b")))


def deletion(town):
    return lambda table: table.delete(town.url("/a"))


def batch_of_all(town):
    pages = [
        town.page("/", body=b"home", days=1, outlinks=town.links("/a", "/b", "/gone", "/")),
        town.page("/a", body=b"other", days=1, status=410, outlinks=town.links("/twin")),
        town.page("/b", body=b"b" * 21, days=1, outlinks=town.links("/new", "/gone")),
        town.page("/gone", days=1, body=b"back", outlinks=()),
        town.page("/new", body=b"b" * 20, days=1),
        Page(url=town.url("/twin"), status=304, same_as=town.url("/twin"), fetched_at=town.now - timedelta(days=1)),
        town.page("/new", host="blog", body=b"b" * 20, days=1, outlinks=town.links("/gone")),
    ]

    def act(table):
        with table.writer(max_age=3_600) as writer:
            for page in pages:
                writer.put(page)

    return act


ACTS = [
    first_put,
    another_host,
    recrawl_with_all_changed,
    recrawl_without_links,
    recrawl_unchanged,
    recrawl_as_redirect,
    redirect_elsewhere,
    not_modified,
    late_capture,
    late_capture_in_between,
    deletion,
    batch_of_all,
]


def killed_at_every_call(table, act, check, *, every=6):
    """Do *act* in one town after another, killed one call later each time, and *check* each of them.

    By day it is killed at one call of *every* so many; as they begin at another one for each act, each has its turn.
    """
    first = 0 if NIGHTLY else ACTS.index(act) % every
    for calls in some(range(first, 100), every):
        town = Town(table).build()
        done = is_through(table, act_of := act(town), calls)
        check(town, act_of)
        if done:
            return calls
    raise AssertionError("it never comes to its end")


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS)
def test_a_writer_killed_at_any_call_leaves_every_question_right(table, act):
    def check(town, act):
        check_questions(table, town.domain)
        act(table)
        check_questions(table, town.domain)
        check_counts(table, town.domain)

    calls = killed_at_every_call(table, act, check)

    assert calls > 2
    assert missing(table) == {}


@pytest.mark.parametrize("act", ACTS)
def test_what_killed_writers_have_left_is_counted_and_repaired(table, act):
    towns = []

    def check(town, act):
        towns.append(town)
        table.links.refresh(also_unfinished=True)
        counted = {page.url: page.link_counts.inlinks for page in table.links.most_linked(town.domain)}
        expected = Expected(table, town.domain).counts()
        assert {url for url, count in expected.items() if counted.get(url, 0) < count} == set()
        act(table)

    killed_at_every_call(table, act, check, every=12)
    drifts(table, repair=True)

    assert [drift for drift in drifts(table).values() if not drift.is_empty] == []
    for town in towns:
        check_counts(table, town.domain)


def crawl_again(town, **fields):
    """Return the act that stores the page /a once more as it is now, fetched just now."""
    fields = {"body": b"a" * 1_000, "outlinks": town.links("/", "/b", "/never"), **fields}
    return lambda table: table.put(town.page("/a", days=0, **fields))


@pytest.mark.slow
def test_a_killed_batch_leaves_every_question_right_on_every_store(site):
    for calls in some(range(1, 100), 8):
        town = Town(site.table, now=site.now).build()
        act = batch_of_all(town)

        is_done = is_through(site.table, act, calls)
        check_questions(site.table, town.domain)
        act(site.table)
        check_questions(site.table, town.domain)

        if is_done:
            return
    raise AssertionError("it never comes to its end")


def before_removals(call, table, changes=(), *_):
    return call == "write" and table.endswith("_idx") and any(isinstance(change, Delete) for change in changes)


@pytest.mark.parametrize(
    "question",
    [
        lambda table, **asking: table.largest(**asking),
        lambda table, **asking: table.fetched(order="oldest", **asking),
        lambda table, **asking: table.modified(order="oldest", **asking),
    ],
)
def test_a_token_misses_no_page_beside_an_entry_of_a_page_that_moved(table, question):
    town = Town(table).build()
    with killed_after(table, before_removals) as dying:
        crawl_again(town, body=b"s")(dying)
    wanted = {page.url for page in question(table, site=town.domain)}

    token, found = None, []
    while token or not found:
        batch = question(table, site=town.domain, after=token).page(1)
        found += [page.url for page in batch]
        token = batch.next_token

    assert set(found) == wanted


def test_a_token_gives_no_page_twice_beside_an_entry_of_a_page_that_moved(table):
    town = Town(table).build()
    with killed_after(table, before_removals) as dying:
        crawl_again(town, body=b"a" * 10_000)(dying)

    first = table.largest(town.domain).page(1)
    rest = list(table.largest(town.domain, after=first.next_token))

    assert [page.url for page in first] == [town.url("/a")]
    assert town.url("/a") not in {page.url for page in rest}


def test_a_page_that_moved_is_given_once(table):
    town = Town(table).build()
    with killed_after(table, before_removals) as dying:
        crawl_again(town, body=b"s")(dying)

    check_questions(table, town.domain, without=("fetched oldest", "outdated", "largest"))

    assert [page.url for page in table.largest(town.domain)].count(town.url("/a")) == 1


def writes_to(name):
    return lambda call, table, *_: call == "write" and table.endswith(name)


def failing(wanted):
    """Return a listener that lets no call through that is *wanted*."""

    def listen(*call):
        if wanted(*call):
            raise StoreUnavailable("the store is not there")

    return listen


@pytest.mark.parametrize("index", INDEXES)
def test_a_page_without_its_entries_is_not_stored_and_reported(table, index):
    town = Town(table).build()
    before = table.get(town.url("/a"))

    with pytest.raises(WriteFailed, match="not there") as failed:
        crawl_again(town, body=b"s")(listening(table, failing(writes_to(f"{index}_idx"))))

    assert [outcome.url for outcome in failed.value.failures] == [town.url("/a")]
    assert table.get(town.url("/a")) == before
    check_questions(table, town.domain)


@pytest.mark.parametrize("name", ["pages", "queue"])
def test_a_page_that_the_store_does_not_take_is_reported(table, name):
    town = Town(table).build()
    before = table.get(town.url("/a"))

    with pytest.raises(WriteFailed, match="not there"):
        recrawl_with_all_changed(town)(listening(table, failing(writes_to(name))))

    assert table.get(town.url("/a")) == before
    check_questions(table, town.domain)


def test_only_the_pages_whose_entries_fail_are_not_stored(table):
    town = Town(table).build()
    store = OneRowFails(table.store, lambda name, row: name.endswith("status_idx") and b"418_" in row)
    outcomes = []

    with WebTable(store, table.table, table.layout).writer(on_outcome=outcomes.append) as writer:
        writer.put(town.page("/teapot", days=1, status=418))
        writer.put(town.page("/b", body=b"new", days=1))

    assert {outcome.url for outcome in outcomes if outcome.error} == {town.url("/teapot")}
    assert table.get(town.url("/teapot")) is None
    assert table.get(town.url("/b")).body == b"new"
    check_questions(table, town.domain)


class OneRowFails(EachAlone):
    """A store that does not take certain rows."""

    def __init__(self, store, fails):
        super().__init__(store)
        self._fails = fails

    def _write(self, table, mutations):
        taken = [one for one in mutations if not self._fails(table, one.row)]
        errors = iter(super()._write(table, taken) if taken else [])
        return [StoreUnavailable("not now") if self._fails(table, one.row) else next(errors) for one in mutations]


def test_removals_that_fail_leave_the_questions_right(table):
    town = Town(table).build()

    recrawl_with_all_changed(town)(listening(table, failing(before_removals)))

    check_questions(table, town.domain)
    assert drifts(table, repair=True)["size"].repaired == 1
    assert drifts(table)["size"].is_empty


def counted_and_changed(town):
    """Store more links, whose counts are not made yet."""
    town.table.links.refresh()
    town.store(*(town.page(f"/more/{n}", body=b"x", outlinks=town.links("/a", "/b", "/never")[n:]) for n in range(3)))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("calls", range(1, 12))
def test_a_run_that_counts_links_and_is_cut_short_leaves_nothing_that_the_next_one_does_not_remove(
    table, calls, together
):
    town = Town(table).build()
    counted_and_changed(town)
    store = table.store if together else EachAlone(table.store)
    made = []

    def is_over(call):
        made.append(call.name in CALLS)
        return sum(made) > calls

    with suppress(StoreUnavailable):
        WebTable(FailingStore(store, StoreUnavailable("full"), at=is_over), table.table, table.layout).links.refresh()
    town.store(town.page("/more/9", body=b"x", outlinks=town.links("/a", "/b", "/never")))
    table.links.refresh()

    drift = table.indexes.verify("link", settle=0)
    assert (drift.missing, drift.stale, drift.pending) == (0, 0, 0)
    assert table.links.freshness().waiting == 0


LOOP = """
import sys
from datetime import UTC, datetime, timedelta
import webtable
from webtable import Link, Page

url, domain, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = datetime.now(UTC) - timedelta(days=3)

def tell(outcome):
    print(outcome.url, outcome.fetched_at.isoformat(), outcome.error, flush=True)

with webtable.open(url) as table, table.writer(buffer_pages=3, on_outcome=tell) as writer:
    for number in range(first, first + 100_000):
        links = tuple(Link(f"https://{domain}/{other % 40}") for other in range(number, number + 5))
        writer.put(Page(url=f"https://{domain}/{number % 40}", body=b"x" * (number % 700), outlinks=links,
                        status=(200, 404, 200, 301)[number % 4], fetched_at=start + timedelta(seconds=number)))
"""


@pytest.mark.slow
def test_processes_that_are_killed_at_any_moment_lose_no_acknowledged_page(table):
    town = Town(table)
    path = table.store.name
    acknowledged = {}
    for number in range(3, examples(by_day=6, by_night=13)):
        child = subprocess.Popen(
            [sys.executable, "-c", LOOP, path, town.domain, str(number * 1_000)], stdout=subprocess.PIPE, text=True
        )
        lines = [child.stdout.readline() for _ in range(4 + number * 7)]
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read()
        child.wait()
        child.stdout.close()
        # The last line may be cut.
        for line in [*lines, *rest.splitlines(keepends=True)]:
            url, fetched_at, error = line.split() if line.endswith("\n") else (None, None, None)
            if url is not None:
                assert error == "None"
                acknowledged[url] = datetime.fromisoformat(fetched_at)

        expected = check_questions(table, town.domain)
        assert {url for url, when in acknowledged.items() if expected.by_url[url].fetched_at < when} == set()

    assert len(acknowledged) > 30
    assert missing(table) == {}


def test_a_repeat_is_not_stored_without_the_capture_of_its_batch_that_brings_the_content(tmp_path):
    class FirstPutFails(WrappedStore):
        def _write(self, table, mutations):
            if table != "pages":
                return super()._write(table, mutations)
            error, rest = StoreUnavailable("the first row only"), mutations[1:]
            return [error, *(super()._write(table, rest) if rest else [])]

    with webtable.open(tmp_path / "web.db", create=True) as table:
        town = Town(table)
        failing = webtable.WebTable(FirstPutFails(table.store), table.table, table.layout)
        with pytest.raises(WriteFailed), failing.writer() as writer:
            for days in (3, 2):
                writer.put(town.page("/", days=days, body=b"the same"))

        assert table.get(town.url()) is None

"""Clocks that differ, captures that come late, content that expires, pages that are deleted and come again."""

from __future__ import annotations

import time
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from itertools import permutations
from types import SimpleNamespace
from uuid import uuid4

import pytest
from answers import check_counts, check_questions, drifts, missing
from deaths import Town, killed_after
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import webtable
from nightly import examples, some
from store_differences import on_every_store
from webtable import Page
from webtable._clock import clock as system_clock
from webtable.errors import WriteFailed
from webtable.repository.upkeep import queue, recounts
from webtable.rowkey import KeyRange
from webtable.rowkey.fields.domain import reversed_host
from webtable.store import Delete


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    with webtable.open(tmp_path_factory.mktemp("times") / "own.db", create=True) as table:
        yield table


@pytest.fixture
def town(table):
    return Town(table).build()


def captures(town):
    """Five captures of one page, no two of which are found by the same entries."""
    return [
        town.page("/a", days=9, body=b"1", outlinks=town.links("/b")),
        town.page("/a", days=8, body=b"22", outlinks=town.links("/b", "/gone"), status=500),
        town.page("/a", days=7, body=b"1", outlinks=town.links("/")),
        town.page("/a", days=6, status=302, redirect_to=town.url("/b"), outlinks=None),
        Page(url=town.url("/a"), status=304, same_as=town.url("/a"), fetched_at=town.now - timedelta(days=5)),
    ]


@pytest.mark.parametrize("order", some([*permutations(range(5))], 7), ids=lambda order: "".join(map(str, order)))
def test_captures_that_come_in_any_order_leave_the_questions_right(table, order):
    town = Town(table)
    found = captures(town)

    for number in order:
        table.put(found[number])

    expected = check_questions(table, town.domain)
    assert len(expected.pages) == 1
    assert missing(table) == {}


@pytest.mark.slow
def test_the_counts_are_right_whatever_the_order_of_captures(table):
    towns = []
    for order in some([*permutations(range(5))], 5):
        towns.append(Town(table))
        found = captures(towns[-1])
        for number in order:
            table.put(found[number])

    table.links.refresh(also_unfinished=True)

    for town in towns:
        check_counts(table, town.domain)


def test_captures_dated_ahead_leave_the_questions_right(table, town):
    town.store(town.page("/a", days=-0.9, body=b"tomorrow", outlinks=town.links("/b")))
    town.store(town.page("/a", days=0, body=b"today", outlinks=town.links("/gone")))
    town.store(town.page("/b", days=-0.5, body=b"tonight", status=500))

    check_questions(table, town.domain)
    assert table.get(town.url("/a")).body == b"tomorrow"
    assert missing(table) == {}


def test_a_writer_whose_clock_is_behind_leaves_the_questions_right(table, town, monkeypatch):
    town.store(town.page("/a", days=0, body=b"now", outlinks=town.links("/gone")))

    monkeypatch.setattr(system_clock, "nanoseconds", lambda: time.time_ns() - 600 * 10**9)
    town.store(town.page("/a", days=600 / 86_400, body=b"earlier", outlinks=town.links("/twin", "/b")))
    town.store(town.page("/b", days=600 / 86_400, body=b"new", outlinks=town.links("/a")))
    monkeypatch.undo()

    check_questions(table, town.domain)
    assert table.get(town.url("/a")).body == b"now"
    check_counts(table, town.domain)


MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is wrong by `ahead`."""
    wrong = SimpleNamespace(ahead=timedelta())
    monkeypatch.setattr(system_clock, "nanoseconds", lambda: time.time_ns() + wrong.ahead // MILLISECOND * 1_000_000)
    return wrong


def test_links_are_counted_although_another_clock_was_ahead_when_they_were_counted_last(table, town, clock):
    clock.ahead = timedelta(minutes=10)
    table.links.refresh()
    town.store(town.page("/new", outlinks=town.links("/twin", "/a")))

    clock.ahead = timedelta()

    check_counts(table, town.domain)


def test_hosts_are_counted_although_another_clock_was_ahead_when_they_were_counted_last(table, town, clock):
    clock.ahead = timedelta(minutes=10)
    table.links.refresh()
    town.store(town.page("/new", body=b"x"))

    clock.ahead = timedelta()
    table.links.refresh()

    assert [host.pages for host in table.hosts(town.domain)] == [1, 7]


@pytest.mark.slow
def test_a_batch_that_comes_in_while_links_are_counted_is_counted(table, town, monkeypatch):
    table.links.refresh(also_unfinished=True)
    added = []
    shard = lambda: "f" if added else "0"  # noqa: E731 - so that the late batch is behind the others
    monkeypatch.setattr(queue, "uuid", SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=shard() + uuid4().hex)))
    monkeypatch.setattr(recounts, "ROWS_A_ROUND", 1)
    for number in range(80):
        town.store(town.page(f"/{number}", outlinks=town.links("/twin")))

    def add_one(_):
        if not added:
            added.append("/late")
            town.store(town.page("/late", outlinks=town.links("/twin")))

    table.links.refresh(on_progress=add_one)

    check_counts(table, town.domain)


def test_a_page_that_was_deleted_and_is_crawled_again_is_found(table, town):
    table.delete(town.url("/a"))
    check_questions(table, town.domain)

    town.store(town.page("/a", days=-0.001, body=b"again", outlinks=town.links("/gone")))

    check_questions(table, town.domain)
    assert table.get(town.url("/a")).body == b"again"
    check_counts(table, town.domain)
    assert missing(table) == {}


def test_a_page_that_was_deleted_and_comes_again_with_an_older_date_stays_away(table, town):
    table.delete(town.url("/a"))

    with pytest.raises(WriteFailed, match=r"a delete of .* hides this capture"):
        town.store(town.page("/a", days=1, body=b"old", outlinks=town.links("/gone")))

    check_questions(table, town.domain)
    assert table.get(town.url("/a")) is None
    assert missing(table) == {}


def test_a_page_dated_ahead_can_be_deleted_and_crawled_again(table, town):
    town.store(town.page("/a", days=-0.5, body=b"tonight"))
    table.delete(town.url("/a"))
    town.store(town.page("/a", days=-0.6, body=b"later", outlinks=town.links("/gone")))

    check_questions(table, town.domain)
    assert table.get(town.url("/a")).body == b"later"


def same_moment(town):
    """Three captures of one page and one millisecond."""
    return [
        town.page("/a", days=1, body=b"one", outlinks=town.links("/b")),
        town.page("/a", days=1, body=b"second", outlinks=town.links("/gone"), status=404),
        town.page("/a", days=1, body=None, outlinks=None, status=302, redirect_to=town.url("/b")),
    ]


@pytest.mark.parametrize("order", [*permutations(range(3)), (0, 1, 0), (0, 1, 1), (1, 2, 1)])
def test_captures_of_one_millisecond_leave_the_questions_right(table, town, order):
    for number in order:
        table.put(same_moment(town)[number])

    check_questions(table, town.domain)
    assert missing(table) == {}


@pytest.mark.slow
def test_a_repair_between_captures_of_one_millisecond_hides_no_page(table, town):
    first, second, _ = same_moment(town)
    table.put(first)
    table.put(second)

    drifts(table, repair=True)
    table.put(first)

    check_questions(table, town.domain)
    assert missing(table) == {}


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 2), (0, 1, 2), (0, 1, 0), (0, 1, 0, 1, 2)])
def test_of_captures_of_one_millisecond_the_later_put_wins_everywhere(tmp_path, order):
    with webtable.open(tmp_path / "own.db", create=True) as table:
        town = Town(table).build()
        for number in order:
            table.put(same_moment(town)[number])

        check_the_last_alone_is_there(table, town, same_moment(town)[order[-1]])
        town.store(town.page("/a", days=0.5, body=b"later", outlinks=town.links("/never")))
        check_the_last_alone_is_there(table, town, town.page("/a", days=0.5, body=b"later"))


@pytest.fixture
def fresh(new_url):
    """A town in a table of its own, on every store."""
    with webtable.open(new_url(), create=True) as table:
        yield Town(table).build()


@on_every_store
def test_of_captures_of_one_millisecond_the_later_put_wins_on_every_store(fresh):
    for number in (0, 1, 0, 2, 1):
        fresh.table.put(same_moment(fresh)[number])

    check_the_last_alone_is_there(fresh.table, fresh, same_moment(fresh)[1])
    drifts(fresh.table, repair=True)
    fresh.table.put(same_moment(fresh)[0])
    check_the_last_alone_is_there(fresh.table, fresh, same_moment(fresh)[0])


def check_the_last_alone_is_there(table, town, last):
    """Ask for everything of the town: what *last* brought is there, and nothing of other captures."""
    check_questions(table, town.domain)
    check_counts(table, town.domain)
    page = table.get(last.url)
    assert (page.body, page.status, page.fetched_at) == (last.body, last.status, last.fetched_at)
    version = table.history(last.url, columns=["body"])[0]
    assert (version.body, version.status) == (last.body, last.status)
    found = drifts(table).values()
    assert [(drift.missing, drift.stale, drift.pending, drift.examples) for drift in found] == [(0, 0, 0, [])] * 7


def test_a_late_capture_leaves_no_entry_that_does_not_hold(table):
    town = Town(table)
    town.store(town.page("/a", days=9, body=b"a", outlinks=town.links("/b")))
    town.store(town.page("/a", days=5, body=b"a", outlinks=town.links("/b")))

    town.store(town.page("/a", days=7, body=b"late", outlinks=town.links("/c")))

    check_questions(table, town.domain)
    entries = table.store.scan("pages_time_idx", [KeyRange()])
    dates = [entry.key.split(b"_")[0][2:] for entry in entries if reversed_host(town.domain).encode() in entry.key]
    assert sorted(dates) == [b"fetched", b"modified"]


@pytest.mark.slow
def test_a_removal_that_was_cut_short_between_captures_of_one_millisecond_is_repaired(table):
    town = Town(table).build()
    first, second, _ = same_moment(town)
    table.put(first)
    with killed_after(table, lambda call, _, *given: call == "write" and isinstance(given[0][0], Delete)) as dying:
        dying.put(second)

    before, after = drifts(table, repair=True), drifts(table)

    assert sum(drift.stale for drift in before.values()) > 3
    assert {drift.stale for drift in after.values()} == {0}
    table.put(first)
    check_questions(table, town.domain)
    check_counts(table, town.domain)
    assert missing(table) == {}


def test_content_that_expires_takes_no_page_out_of_an_answer(tmp_path, manual_clock):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=1) as table:
        town = Town(table, now=manual_clock.now + timedelta(days=4)).build(days=4)

        manual_clock.passed += 2.5

        expected = check_questions(table, town.domain, without=("discovered", "linking_to", "broken_links"))
        assert len(expected.pages) == 7
        assert {page.outlinks for page in expected.pages} == {None}
        assert table.get(town.url("/a")).body is None
        assert list(table.links.to(town.url("/a"))) == []
        assert list(table.links.broken(town.domain)) == []
        assert missing(table) == {}


def test_a_page_whose_content_has_expired_is_crawled_again(tmp_path, manual_clock):
    with webtable.open(tmp_path / "ttl.db", create=True, ttl=1) as table:
        town = Town(table, now=manual_clock.now + timedelta(days=4)).build(days=4)
        manual_clock.passed += 2.5

        town.now = manual_clock.now
        town.store(town.page("/a", days=0, body=b"a" * 1_000, outlinks=town.links("/", "/b", "/never")))
        town.store(town.page("/b", days=0, body=b"other", outlinks=town.links("/a")))

        check_questions(table, town.domain)
        assert [link.source for link in table.links.to(town.url("/b"))] == [town.url("/a")]
        assert missing(table) == {}


def everything(table, town):
    """What is known of the pages that the captures are of, and of the links that they have."""
    urls = [town.url(path) for path in ("/", "/a", "/b", "/c")]
    columns = ["body", "outlinks", "link_counts"]
    table.links.refresh(also_unfinished=True)
    return [
        (
            table.get(url),
            table.history(url, columns=columns),
            [(link.source, link.anchor, link.at) for link in table.links.to(url)],
            [(link.source, link.anchor, link.at) for link in table.links.to(url, past=True)],
            [page.link_counts.inlinks for page in table.get_many([url], columns=columns) if page and page.link_counts],
        )
        for url in urls
    ]


@st.composite
def of_a_few_pages(draw):
    return [
        {
            "path": draw(st.sampled_from(["/a", "/a", "/b"])),
            "body": draw(st.sampled_from([None, b"x", b"x", b"yy", b"zzz"])),
            "links": draw(st.lists(st.sampled_from(["/", "/a", "/b", "/c"]), unique=True)),
            "status": draw(st.sampled_from([200, 200, 200, 404])),
            "last_modified": draw(st.sampled_from([None, None, datetime(2020, 1, 1, tzinfo=UTC)])),
            "is_late": draw(st.sampled_from([False] * 6 + [True])),
            "is_304": draw(st.sampled_from([False] * 6 + [True])),
            "truncated": draw(st.sampled_from([False] * 6 + [True])),
        }
        for _ in range(draw(st.integers(2, 9)))
    ]


@pytest.mark.slow
@given(of_a_few_pages())
@settings(
    max_examples=examples(by_day=5, by_night=50),
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_captures_of_a_page_in_one_batch_leave_what_they_leave_one_by_one(tmp_path_factory, captures):
    folder, now = tmp_path_factory.mktemp("batches"), datetime.now(UTC).replace(microsecond=0)
    options = {"create": True, "versions": 20, "ttl": 10 * 86_400}
    with webtable.open(folder / "1.db", **options) as one, webtable.open(folder / "2.db", **options) as other:
        together, alone = Town(one, "town.example", now), Town(other, "town.example", now)

        pages = [made(together, number, one) for number, one in enumerate(captures)]
        together.store(*pages)
        for page in pages:
            alone.store(page)

        assert everything(one, together) == everything(other, alone)
        check_questions(one, together.domain)
        check_counts(one, together.domain)
        assert {(drift.missing, drift.stale, drift.pending) for drift in drifts(one).values()} == {(0, 0, 0)}


def made(town, number, fields):
    """Return the capture that comes in as the one of that *number*."""
    days = 8.5 - number / 2 + fields["is_late"] * 1.3
    if fields["is_304"]:
        return Page(url=town.url(fields["path"]), status=304, fetched_at=town.now - timedelta(days=days))
    given = {name: fields[name] for name in ("body", "status", "last_modified", "truncated")}
    return town.page(fields["path"], days=days, outlinks=town.links(*fields["links"]), **given)


@pytest.mark.slow
@given(st.data())
@settings(
    max_examples=examples(by_day=10, by_night=60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
def test_captures_of_any_kind_in_any_order_leave_the_questions_right(table, data):
    town = Town(table)
    known, deleted = set(), set()
    for _ in range(data.draw(st.integers(1, 8))):
        path = data.draw(st.sampled_from(["/", "/a", "/b"]))
        kind = data.draw(st.sampled_from(["page", "page", "page", "304", "delete"]))
        days = data.draw(st.sampled_from([-0.5, 0, 1, 1, 2, 3, 4]))
        if kind == "page":
            body = data.draw(st.sampled_from([None, b"x", b"yy", b"zzz"]))
            links = data.draw(st.lists(st.sampled_from(["/", "/a", "/b", "/c"]), unique=True))
            page = town.page(
                path,
                days=days,
                body=body,
                outlinks=town.links(*links),
                status=data.draw(st.sampled_from([200, 301, 404])),
            )
            with suppress(WriteFailed) if path in deleted else nullcontext():
                town.store(page)
                known.add(path)
        elif kind == "304" and path in known and table.get(town.url(path)):
            with suppress(WriteFailed) if path in deleted else nullcontext():
                table.put_not_modified(town.url(path), town.now - timedelta(days=days))
        elif kind == "delete":
            table.delete(town.url(path))
            deleted.add(path)

    check_questions(table, town.domain)

"""Deletes: what they hide, what they must not hide, and that nobody is told of a hidden page that it is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from answers import check_counts, check_questions, drifts, missing
from deaths import Deadly, Town, is_through, listening

import webtable
from store_differences import with_thrift1
from webtable import Page, WriteFailed
from webtable.errors import CapabilityError, HiddenByDelete


@pytest.fixture(scope="module")
def table(new_url):
    with webtable.open(new_url(), create=True) as table:
        yield table


@pytest.fixture
def town(table):
    return Town(table)


def outcomes(table, *pages):
    told = []
    with table.writer(on_outcome=told.append) as writer:
        for page in pages:
            writer.put(page)
    return told


def test_a_capture_that_a_delete_hides_is_refused_with_the_moment_of_the_delete(table, town):
    town.store(town.page("/a", days=2, body=b"x"))
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    table.delete(town.url("/a"))

    (old, new) = outcomes(table, town.page("/a", days=3, body=b"old"), town.page("/b", days=3, body=b"new"))

    assert isinstance(old.error, HiddenByDelete)
    assert before <= old.error.deleted_at <= datetime.now(UTC)
    assert not old.is_new
    assert new.error is None
    assert table.get(town.url("/a")) is None
    check_questions(table, town.domain)


def test_a_page_that_is_fetched_after_its_delete_is_stored(table, town):
    town.store(town.page("/a", days=2, body=b"x"))
    table.delete(town.url("/a"))
    again = Page(url=town.url("/a"), body=b"again", fetched_at=datetime.now(UTC) + timedelta(seconds=1))

    (outcome,) = outcomes(table, again)

    assert outcome.error is None
    assert table.get(town.url("/a")).body == b"again"
    check_questions(table, town.domain)


def test_captures_older_than_a_delete_stay_refused_when_the_page_is_there_again(table, town):
    town.store(town.page("/a", days=2, body=b"x"))
    table.delete(town.url("/a"))
    outcomes(table, Page(url=town.url("/a"), body=b"again", fetched_at=datetime.now(UTC) + timedelta(seconds=1)))

    (late,) = outcomes(table, town.page("/a", days=1, body=b"late"))

    assert isinstance(late.error, HiddenByDelete)
    assert [page.body for page in table.history(town.url("/a"), columns=["body"])] == [b"again"]


def test_a_304_of_a_deleted_page_is_refused(table, town):
    town.store(town.page("/a", days=2, body=b"x"))
    table.delete(town.url("/a"))

    with pytest.raises(WriteFailed, match="a delete of"):
        table.put(Page(url=town.url("/a"), status=304, same_as=town.url("/a"), fetched_at=town.now))


@with_thrift1
def test_a_page_dated_ahead_of_the_clock_that_is_deleted_can_be_fetched_now(table, town, adapter):
    ahead = town.page("/a", days=-0.9, body=b"ahead", outlinks=town.links("/b", "/c"))
    town.store(town.page("/a", days=2, body=b"old"), ahead, town.page("/b"))
    table.delete(town.url("/a"))
    (outcome,) = outcomes(
        table,
        Page(
            url=town.url("/a"),
            body=b"now",
            fetched_at=datetime.now(UTC) + timedelta(seconds=1),
            outlinks=town.links("/b"),
            title="now",
        ),
    )

    found = table.get(town.url("/a"))

    # A gateway that cannot remove a single cell refuses what the delete would hide.
    if isinstance(outcome.error, HiddenByDelete):
        assert adapter == "hbase-thrift1"
        assert found is None
        assert outcome.error.deleted_at >= ahead.fetched_at
    else:
        assert outcome.error is None
        assert found.body == b"now"
        assert [link.source for link in table.links.to(town.url("/b"))] == [town.url("/a")]
    check_questions(table, town.domain)
    table.links.refresh()
    check_counts(table, town.domain)


@with_thrift1
def test_a_page_dated_ahead_hides_no_entry_and_no_link_of_what_is_fetched_after_its_delete(table, town, adapter):
    town.store(town.page("/a", days=2, body=b"old", outlinks=town.links("/b")), town.page("/b"))
    town.store(town.page("/a", days=-0.9, body=b"ahead", status=404, outlinks=town.links("/c")))
    table.delete(town.url("/a"))
    again = Page(
        url=town.url("/a"), body=b"now", fetched_at=datetime.now(UTC) + timedelta(seconds=1), outlinks=town.links("/b")
    )
    (outcome,) = outcomes(table, again)

    assert (outcome.error is None) == (adapter != "hbase-thrift1")
    check_questions(table, town.domain)
    assert missing(table) == {}


@with_thrift1
def test_the_very_capture_that_was_dated_ahead_and_deleted_is_refused(table, town):
    ahead = town.page("/a", days=-0.9, body=b"ahead")
    town.store(ahead)
    table.delete(town.url("/a"))

    (outcome,) = outcomes(table, ahead)

    assert isinstance(outcome.error, HiddenByDelete)
    assert table.get(town.url("/a")) is None


@with_thrift1
def test_several_captures_dated_ahead_are_all_removed(table, town):
    town.store(*(town.page("/a", days=days, body=b"%f" % days) for days in (-0.1, -0.2, -0.3, -0.4, -0.5)))

    table.delete(town.url("/a"))

    assert table.get(town.url("/a")) is None
    assert table.history(town.url("/a")) == []
    assert table.delete(town.url("/a")) is False
    check_questions(table, town.domain)


def test_a_second_delete_keeps_in_mind_what_the_first_has_hidden(table, town):
    ahead = town.page("/a", days=-0.9, body=b"ahead")
    town.store(ahead)
    table.delete(town.url("/a"))
    outcomes(table, Page(url=town.url("/a"), body=b"now", fetched_at=datetime.now(UTC) + timedelta(seconds=1)))
    table.delete(town.url("/a"))

    (outcome,) = outcomes(table, ahead)

    assert isinstance(outcome.error, HiddenByDelete)


def test_a_deleted_row_is_no_page_to_any_question(table, town):
    town.build()
    for path in ("/", "/a", "/twin"):
        assert table.delete(town.url(path))

    check_questions(table, town.domain)
    assert missing(table) == {}
    drifts(table, repair=True)
    check_questions(table, town.domain)


@pytest.mark.slow
def test_a_delete_that_is_killed_at_any_call_is_done_by_the_next(table):
    calls = 0
    while True:
        town = Town(table).build()
        url = town.url("/a")
        is_done = is_through(table, lambda other, url=url: other.delete(url), calls)
        table.delete(url)

        assert table.get(url) is None
        check_questions(table, town.domain)
        if is_done:
            break
        calls += 1
    assert calls > 3


def test_what_a_delete_that_is_killed_has_hidden_is_not_acknowledged(table):
    calls = 0
    while True:
        town = Town(table)
        ahead = town.page("/a", days=-0.9, body=b"ahead")
        town.store(ahead)

        is_done = is_through(table, lambda table, url=ahead.url: table.delete(url), calls)
        (outcome,) = outcomes(table, ahead)

        assert table.get(ahead.url) is not None or isinstance(outcome.error, HiddenByDelete), calls
        if is_done:
            break
        calls += 1


@pytest.mark.slow
def test_the_pages_of_a_host_are_counted_again_however_early_a_delete_is_killed(table):
    calls = 0
    while True:
        town = Town(table)
        ahead = town.page("/a", days=-0.9, body=b"ahead", outlinks=None)
        town.store(ahead, town.page("/b"))
        table.links.refresh(also_unfinished=True)

        is_done = is_through(table, lambda table, url=ahead.url: table.delete(url), calls)
        table.links.refresh(also_unfinished=True)

        assert [host.pages for host in table.hosts(town.domain)] == [len(list(table.pages(town.domain)))], calls
        if is_done:
            break
        calls += 1


def test_a_batch_asks_for_deletes_with_the_read_that_it_makes_anyway(table, town):
    town.store(town.page("/a"))
    deadly = Deadly()
    with listening(table, deadly).writer() as writer:
        writer.put(town.page("/a", days=1))

    # And it reads its rows again after it has written, where others may have written meanwhile.
    assert [call for call in deadly.calls if call == f"read {table.table}"] == [f"read {table.table}"] * 2


def test_captures_older_than_a_delete_are_taken_again_when_the_deletes_are_forgotten(new_url, adapter):
    with webtable.open(new_url(), create=True) as table:
        town = Town(table)
        page = town.page("/a", days=2, body=b"x", outlinks=town.links("/b"))
        town.store(page, town.page("/b", days=2, body=b"y"))
        table.delete(page.url)
        if adapter != "sqlite":
            with pytest.raises(CapabilityError, match=f"major_compact '{table.table}'"):
                table.maintenance.compact()
            assert isinstance(outcomes(table, page)[0].error, HiddenByDelete)
            assert table.maintenance.forget_deletes() == 1
            return

        table.maintenance.compact()

        assert outcomes(table, page)[0].error is None
        assert table.get(page.url).body == b"x"
        check_questions(table, town.domain)

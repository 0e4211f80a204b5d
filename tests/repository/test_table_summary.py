"""How much a table holds: counted, or known without reading it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import webtable
from webtable import Page
from webtable.maintenance import TableSummary
from webtable.repository.maintenance import summary

NOW = datetime.now(UTC).replace(microsecond=0)


def body(number: int, version: int = 0) -> bytes:
    return b"<p>%d, %d</p>" % (number, version) * 40


def filled(url, count, **layout):
    """Return a table of *count* pages on ten hosts, every fourth with a second version."""
    table = webtable.open(url, create=True, ttl=None, **layout)
    with table.writer() as writer:
        for number in range(count):
            at = NOW - timedelta(hours=2, seconds=number)
            url = f"https://host{number % 10}.example/{number}"
            writer.put(Page(url=url, body=body(number), fetched_at=at))
    with table.writer() as writer:
        for number in range(0, count, 4):
            url = f"https://host{number % 10}.example/{number}"
            writer.put(Page(url=url, body=body(number, 1), fetched_at=NOW - timedelta(seconds=number)))
    return table


def test_what_is_counted_is_all_there_is(new_url):
    with filled(new_url(), 60, indexes=[]) as table:
        table.put(Page(url="https://other.example/", status=404, fetched_at=NOW))

        found = summary.table_summary(table, count=True)

    assert (found.pages, found.captures, found.hosts) == (61, 76, 11)
    assert found.unpacked == sum(len(body(n, n % 4 == 0)) for n in range(60))
    assert 0 < found.stored < found.unpacked
    assert (found.oldest, found.newest) == (NOW - timedelta(hours=2, seconds=59), NOW)


def test_a_small_table_is_counted(new_url):
    with filled(new_url(), 60, indexes=[]) as table:
        assert summary.table_summary(table) == summary.table_summary(table, count=True)


def test_an_empty_table_holds_nothing(new_url):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        found = summary.table_summary(table)

    assert (found.pages, found.captures, found.oldest, found.newest) == (0, 0, None, None)


def test_without_counts_of_hosts_and_an_index_of_times_nothing_is_known(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 59)
    with filled(new_url(), 60, indexes=[]) as table:
        found = summary.table_summary(table)

    assert found == TableSummary(None, None, None, None, None, None, None)


def test_the_counts_of_hosts_and_the_dates_of_the_index_of_times_are_known(new_url, monkeypatch):
    monkeypatch.setattr(summary, "FEW", 59)
    with filled(new_url(), 60, indexes=["host", "time"]) as table:
        table.links.refresh()

        found, exact = summary.table_summary(table), summary.table_summary(table, count=True)

    assert found.as_of is not None
    assert found.waiting == 0
    assert found == replace(exact, captures=None, stored=None, as_of=found.as_of, pending=found.pending)

"""How much a table holds: counted exactly, and estimated with what the estimate goes by."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

import webtable
from webtable import Page
from webtable.repository.questions import holdings
from webtable.repository.questions.holdings import counted, estimated
from webtable.rowkey import Salt

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

        found = counted(table)

    assert (found.pages, found.captures, found.hosts) == (61, 76, 11)
    assert found.unpacked == sum(len(body(n, n % 4 == 0)) for n in range(60))
    assert 0 < found.stored < found.unpacked
    assert (found.oldest, found.newest) == (NOW - timedelta(hours=2, seconds=59), NOW)
    assert not found.is_estimate


def test_a_small_table_is_counted_instead_of_estimated(new_url):
    with filled(new_url(), 60, indexes=[]) as table:
        assert estimated(table) == counted(table)


def test_an_empty_table_holds_nothing(new_url):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        found = estimated(table)

    assert (found.pages, found.captures, found.oldest, found.basis) == (0, 0, None, "")


@pytest.mark.parametrize(
    ("layout", "basis", "tolerated"),
    [
        ({"salt": Salt.url(digits=2), "indexes": []}, "salts", 0.35),
        ({"salt": Salt.none(), "indexes": []}, "pages counted", 0.0),
        ({"indexes": ["host", "time"]}, "the last refresh of links", 0.0),
    ],
    ids=["salts", "no salt", "hosts"],
)
def test_an_estimate_is_near_and_says_what_it_goes_by(new_url, monkeypatch, layout, basis, tolerated):
    monkeypatch.setattr(holdings, "SAMPLE", 100)
    monkeypatch.setattr(holdings, "_LEAST_PAGES", 150)
    with filled(new_url(), 600, **layout) as table:
        table.links.refresh()

        found, exact = estimated(table), counted(table)

    assert basis in found.basis
    assert "by a sample of" in found.basis
    assert found.pages == pytest.approx(exact.pages, rel=tolerated)
    assert found.captures == pytest.approx(exact.captures, rel=tolerated + 0.1)
    assert found.unpacked == pytest.approx(exact.unpacked, rel=tolerated + 0.1)
    assert found.hosts == 10 or (found.hosts > 4 and "hosts, of which there may be more" in found.basis)


def test_stored_bytes_are_estimated_by_the_bytes_of_pages_and_not_by_their_number(new_url, monkeypatch):
    monkeypatch.setattr(holdings, "SAMPLE", 40)
    with webtable.open(new_url(), create=True, indexes=["host"]) as table:
        with table.writer() as writer:
            for number in range(400):
                host, times = ("large.example", 400) if number < 20 else ("small.example", 1)
                url = f"https://{host}/{number}"
                writer.put(Page(url=url, body=random.Random(number).randbytes(50 * times), fetched_at=NOW))
        table.links.refresh()
        # As many of the few large pages as of the many small ones are in the sample.
        urls = [f"https://large.example/{n}" for n in range(20)] + [f"https://small.example/{n}" for n in range(20, 40)]
        monkeypatch.setattr(holdings, "sample_urls", lambda *_, **__: urls)

        found, exact = estimated(table), counted(table)

    assert "the last refresh of links" in found.basis
    assert found.stored == pytest.approx(exact.stored, rel=0.1)


@pytest.fixture
def few_hosts(new_url):
    """A table of 600 pages of one host, which all have one of 256 salts."""
    with webtable.open(new_url(), create=True, indexes=[], salt=Salt.domain(digits=2)) as table:
        with table.writer() as writer:
            for number in range(600):
                writer.put(Page(url=f"https://host.example/{number}", body=body(number), fetched_at=NOW))
        yield table


def test_the_pages_of_one_salt_are_not_taken_for_those_of_all(few_hosts, monkeypatch):
    monkeypatch.setattr(holdings, "SAMPLE", 100)
    monkeypatch.setattr(holdings, "_LEAST_PAGES", 150)

    found = estimated(few_hosts)

    assert found.pages == 600
    assert "pages counted" in found.basis


def test_without_the_time_to_count_all_salts_the_pages_of_one_are_a_lower_bound(few_hosts, monkeypatch):
    monkeypatch.setattr(holdings, "SAMPLE", 100)
    monkeypatch.setattr(holdings, "_SECONDS", 0)

    found = estimated(few_hosts)

    assert 0 < found.pages <= 600
    assert "at least as many pages" in found.basis


def test_without_salts_and_time_an_estimate_says_at_least(new_url, monkeypatch):
    monkeypatch.setattr(holdings, "SAMPLE", 100)
    monkeypatch.setattr(holdings, "_SECONDS", 0)
    with filled(new_url(), 600, salt=Salt.none(), indexes=[]) as table:
        found = estimated(table)

    assert found.basis.startswith("estimated: at least as many pages")
    assert 0 < found.pages < 600

"""When was crawled: bursts of captures with pauses in between."""

from __future__ import annotations

from datetime import timedelta

import pytest
from damaging import damage
from sites import Site

import webtable
from webtable import WebTable
from webtable.answers import Crawl
from webtable.errors import DamagedRow, FullScanNeeded, InvalidArgument
from webtable.reports import compare
from webtable.repository.questions import captures

HOUR = 3_600


@pytest.fixture
def own(new_url, site):
    """A site in a table of its own, so that all pages can be asked for."""
    with webtable.open(new_url(), create=True, indexes=["time"]) as table:
        yield Site(table, site.domain, site.now)


@pytest.fixture
def crawled(own):
    """Three crawls of two, one and three pages: 30 hours, 20 hours and 1 hour ago."""
    own.store(own.page("/a", age=31 * HOUR, body=b"12"), own.page("/b", age=30 * HOUR, body=b"345"))
    own.store(own.page("/c", age=20 * HOUR))
    own.store(*(own.page(f"/{n}", host=f"h{n % 2}", age=HOUR + n, body=b"x") for n in range(3)))
    return own


def expected(site):
    def ago(**time):
        return site.now - timedelta(**time)

    return [
        Crawl(ago(seconds=HOUR + 2), ago(hours=1), 3, 3, 2),
        Crawl(ago(hours=20), ago(hours=20), 1, 0, 1),
        Crawl(ago(hours=31), ago(hours=30), 2, 5, 1),
    ]


def test_crawls_are_parted_by_pauses_of_over_six_hours(crawled):
    assert list(crawled.table.crawls("example")) == expected(crawled)
    assert list(crawled.table.crawls("example", order="oldest")) == expected(crawled)[::-1]


def test_a_pause_as_long_as_the_gap_is_still_part_of_a_crawl(crawled):
    assert [crawl.captures for crawl in crawled.table.crawls("example", gap=timedelta(hours=10))] == [3, 3]
    assert [crawl.captures for crawl in crawled.table.crawls("example", gap="9.9h")] == [3, 1, 2]
    assert [crawl.captures for crawl in crawled.table.crawls("example", gap="1w")] == [6]
    assert [crawl.captures for crawl in crawled.table.crawls("example", gap=timedelta(milliseconds=999))] == [1] * 6


def test_all_pages_are_read_when_told_so(crawled, large_store):
    with pytest.raises(FullScanNeeded, match=r"or webtable\.ALL for every page"):
        crawled.table.crawls()

    assert list(crawled.table.crawls(webtable.ALL)) == expected(crawled)


def test_a_page_counts_in_each_crawl_of_which_a_capture_is_stored(crawled):
    crawled.store(crawled.page("/a", age=20 * HOUR, body=b"changed"), crawled.page("/b", age=20 * HOUR, body=b"345"))
    crawled.store(crawled.page("/a", age=10, body=b"changed"))

    found = list(crawled.table.crawls("example"))

    # Of /b the repeat 20 hours ago is its newest capture, and the first has its content; of /a the newest one too.
    assert [(crawl.captures, crawl.bytes) for crawl in found] == [(4, 10), (3, 10), (2, 5)]


def test_the_crawls_of_the_demo_can_be_compared(sample_web):
    with webtable.open(sample_web.store) as table:
        newest, middle, oldest = table.crawls("example.com")
        found = compare(table, "example.com", since=middle, until=newest)
        as_printed = compare(table, "example.com", since=str(middle.end), until=newest.end)

    assert (newest.end - oldest.end).days in (13, 14)
    assert found.counts == as_printed.counts
    assert min(found.counts["new"], found.counts["changed"]) > 0


def test_hosts_are_counted_beyond_what_is_kept_in_memory(crawled, monkeypatch):
    monkeypatch.setattr(captures, "HOSTS_BYTES", 300)
    hosts = [*range(12), *range(7)]
    crawled.store(*(crawled.page(f"/many/{n}", host=f"m{host}", age=HOUR) for n, host in enumerate(hosts)))
    crawled.store(*(crawled.page(f"/older/{n}", host=f"o{n}", age=30 * HOUR) for n in range(8)))

    found = list(crawled.table.crawls("example"))

    assert [(crawl.captures, crawl.hosts) for crawl in found] == [(3 + 19, 2 + 12), (1, 1), (2 + 8, 1 + 8)]


def test_a_token_goes_on_behind_a_crawl_whatever_came_since(crawled):
    first = crawled.table.crawls("example").page(1)

    crawled.store(crawled.page("/new", age=5), crawled.page("/new/2", age=10 * HOUR))

    assert list(crawled.table.crawls("example", after=first.next_token))[-2:] == expected(crawled)[1:]


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_behind_a_token_come_the_crawls_that_are_left(crawled, order):
    first = crawled.table.crawls("example", order=order).page(1)

    rest = list(crawled.table.crawls("example", order=order, after=first.next_token))

    assert [*first, *rest] == (expected(crawled) if order == "newest" else expected(crawled)[::-1])


def test_a_page_that_cannot_be_read_is_left_out_and_told(crawled):
    damage(crawled.table, crawled.url("/c"))
    answer = crawled.table.crawls("example")

    assert [crawl.captures for crawl in answer] == [3, 2]
    assert [one.row for one in answer.damaged] == [crawled.table.key.encode(crawled.url("/c"))]
    strict = WebTable(crawled.table.store, crawled.table.table, crawled.table.layout, strict=True)
    with pytest.raises(DamagedRow):
        list(strict.crawls("example"))


@pytest.mark.parametrize("gap", ["soon", "", "0h", "6", 6, None, timedelta(), timedelta(-1), "9e9w", "9999999999w"])
def test_a_gap_is_a_time_above_none(site, gap):
    with pytest.raises(InvalidArgument, match="gap="):
        site.table.crawls(site.domain, gap=gap)

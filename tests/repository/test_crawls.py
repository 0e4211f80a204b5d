"""When was crawled: bursts of captures with pauses in between."""

from __future__ import annotations

from datetime import timedelta

import pytest
from damaging import damage
from sites import Site

import webtable
from webtable import Crawl, WebTable
from webtable.errors import DamagedRow, FullScanNeeded, InvalidArgument
from webtable.repository.questions import crawls

HOUR = 3_600


@pytest.fixture
def own(new_url, site):
    """A site in a table of its own, so that all pages can be asked for."""
    with webtable.open(new_url(), create=True) as table:
        yield Site(table, site.domain, site.now)


@pytest.fixture
def crawled(own):
    """Three crawls of two, one and three pages: 30 hours, 20 hours and 1 hour ago."""
    own.store(own.page("/a", age=31 * HOUR, html=b"12"), own.page("/b", age=30 * HOUR, html=b"345"))
    own.store(own.page("/c", age=20 * HOUR))
    own.store(*(own.page(f"/{n}", host=f"h{n % 2}", age=HOUR + n, html=b"x") for n in range(3)))
    return own


def expected(site):
    def ago(**time):
        return site.now - timedelta(**time)

    return [
        Crawl(ago(seconds=HOUR + 2), ago(hours=1), 3, 3, 2),
        Crawl(ago(hours=20), ago(hours=20), 1, 0, 1),
        Crawl(ago(hours=31), ago(hours=30), 2, 5, 1),
    ]


@pytest.mark.parametrize("scope", [(), ("example",)], ids=["by the index", "by a pass"])
def test_crawls_are_parted_by_pauses_of_over_six_hours(crawled, scope):
    assert list(crawled.table.crawls(*scope)) == expected(crawled)
    assert list(crawled.table.crawls(*scope, order="oldest")) == expected(crawled)[::-1]


@pytest.mark.parametrize("scope", [(), ("example",)], ids=["by the index", "by a pass"])
def test_a_pause_as_long_as_the_gap_is_still_part_of_a_crawl(crawled, scope):
    assert [crawl.pages for crawl in crawled.table.crawls(*scope, gap=timedelta(hours=10))] == [3, 3]
    assert [crawl.pages for crawl in crawled.table.crawls(*scope, gap="9.9h")] == [3, 1, 2]
    assert [crawl.pages for crawl in crawled.table.crawls(*scope, gap="1w")] == [6]
    assert [crawl.pages for crawl in crawled.table.crawls(*scope, gap=timedelta(milliseconds=999))] == [1] * 6


def test_all_pages_are_answered_by_the_index_and_those_of_a_domain_by_their_rows(crawled):
    by_index, by_rows = (crawled.table.crawls(*scope).explain() for scope in ((), ("example",)))

    assert by_index.index == "time"
    assert (by_rows.index, by_rows.order) == (None, "newest")


def test_the_newest_crawls_are_read_without_the_older_ones(own):
    own.store(*(own.page(f"/{n}", age=n * 24 * HOUR) for n in range(1, 3)))
    own.store(*(own.page(f"/old/{n}", age=80 * 24 * HOUR) for n in range(1_000)))
    before = own.table.metrics.indexes["time"].read if "time" in own.table.metrics.indexes else 0

    found = list(own.table.crawls(limit=1))

    assert found[0].pages == 1
    assert own.table.metrics.indexes["time"].read - before <= 300


def test_without_the_index_all_pages_are_read_when_told_so(new_url, site):
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        bare = Site(table, site.domain, site.now)
        bare.store(bare.page("/a", age=HOUR), bare.page("/b", age=9 * HOUR))

        with pytest.raises(FullScanNeeded, match="full_scan=True"):
            list(table.crawls())
        assert [crawl.pages for crawl in table.crawls(full_scan=True)] == [1, 1]


def test_a_page_counts_in_the_crawl_that_fetched_it_last(crawled):
    crawled.store(crawled.page("/a", age=10, html=b"12"))

    assert [crawl.pages for crawl in crawled.table.crawls()] == [4, 1, 1]
    assert list(crawled.table.crawls()) == list(crawled.table.crawls("example"))


def test_a_page_that_is_fetched_again_meanwhile_is_in_no_crawl_of_before(crawled, monkeypatch):
    read = crawls.EntryReader.pages

    def pages(*given, **options):
        for number, one in enumerate(read(*given, **options)):
            if number == 0:
                crawled.store(crawled.page("/b", age=10, html=b"345"))
            yield one

    monkeypatch.setattr(crawls.EntryReader, "pages", pages)
    monkeypatch.setattr("webtable.repository.indexes.lookup.BATCH", 1)

    assert [crawl.pages for crawl in crawled.table.crawls()] == [3, 1, 1]


def test_hosts_are_counted_beyond_what_is_kept_in_memory(crawled, monkeypatch):
    monkeypatch.setattr(crawls, "HOSTS_BYTES", 300)
    hosts = [*range(12), *range(7)]
    crawled.store(*(crawled.page(f"/many/{n}", host=f"m{host}", age=HOUR) for n, host in enumerate(hosts)))
    crawled.store(*(crawled.page(f"/older/{n}", host=f"o{n}", age=30 * HOUR) for n in range(8)))

    found = list(crawled.table.crawls())

    assert [(crawl.pages, crawl.hosts) for crawl in found] == [(3 + 19, 2 + 12), (1, 1), (2 + 8, 1 + 8)]


def test_a_token_goes_on_behind_a_crawl_whatever_came_since(crawled):
    first = crawled.table.crawls().page(1)

    crawled.store(crawled.page("/new", age=5), crawled.page("/new/2", age=10 * HOUR))

    assert list(crawled.table.crawls(after=first.next_token))[-2:] == expected(crawled)[1:]


@pytest.mark.parametrize("scope", [(), ("example",)], ids=["by the index", "by a pass"])
@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_behind_a_token_come_the_crawls_that_are_left(crawled, scope, order):
    first = crawled.table.crawls(*scope, order=order).page(1)

    rest = list(crawled.table.crawls(*scope, order=order, after=first.next_token))

    assert [*first, *rest] == (expected(crawled) if order == "newest" else expected(crawled)[::-1])


@pytest.mark.parametrize("scope", [(), ("example",)], ids=["by the index", "by a pass"])
def test_a_page_that_cannot_be_read_is_left_out_and_told(crawled, scope):
    damage(crawled.table, crawled.url("/c"))
    answer = crawled.table.crawls(*scope)

    assert [crawl.pages for crawl in answer] == [3, 2]
    assert [one.row for one in answer.damaged] == [crawled.table.key.encode(crawled.url("/c"))]
    strict = WebTable(crawled.table.store, crawled.table.table, crawled.table.layout, strict=True)
    with pytest.raises(DamagedRow):
        list(strict.crawls(*scope))


@pytest.mark.parametrize("gap", ["soon", "", "0h", "6", 6, None, timedelta(), timedelta(-1), "9e9w", "9999999999w"])
def test_a_gap_is_a_time_above_none(site, gap):
    with pytest.raises(InvalidArgument, match="gap="):
        site.table.crawls(site.domain, gap=gap)

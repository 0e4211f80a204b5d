"""Several processes write captures of the same pages into one table, in any order and without knowing of each other."""

from __future__ import annotations

import multiprocessing
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from many_writers import captures, crawl

import webtable
from webtable import Page, WebTable

PROCESSES = 4


@pytest.fixture(scope="module")
def begin() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)


@pytest.fixture(scope="module")
def crawled(new_url, begin):
    """The table behind the crawl; its links are counted."""
    store = new_url()
    webtable.create(store)
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        done = list(
            pool.map(crawl, [store] * PROCESSES, range(PROCESSES), [PROCESSES] * PROCESSES, [begin] * PROCESSES)
        )
    assert sum(done) == len(list(captures(begin)))
    with webtable.open(store) as table:
        table.links.refresh()
        yield table


@pytest.fixture(scope="module")
def expected(begin) -> dict[str, list[Page]]:
    """All captures of each page, the newest first."""
    found = defaultdict(list)
    for page in captures(begin):
        found[page.url].append(page)
    return {url: sorted(pages, key=lambda page: page.fetched_at, reverse=True) for url, pages in found.items()}


def test_the_last_capture_by_date_wins(crawled: WebTable, expected):
    pages = {page.url: page for page in crawled.pages(webtable.ALL, columns=["body", "outlinks"])}

    def what(page: Page):
        return page.fetched_at, page.body, page.title, [link.url for link in page.outlinks]

    assert {url: what(page) for url, page in pages.items()} == {url: what(of[0]) for url, of in expected.items()}


def test_the_versions_that_are_kept_are_the_newest(crawled: WebTable, expected):
    kept = crawled.layout.versions

    for url, pages in expected.items():
        history = [(version.fetched_at, version.body) for version in crawled.history(url, columns=["body"])]

        assert history == [(page.fetched_at, page.body) for page in pages[:kept]]


def test_no_page_is_missing_in_an_index(crawled: WebTable):
    drifts = {name: crawled.indexes.verify(name) for name in crawled.indexes.states()}

    assert {name: drift.missing for name, drift in drifts.items()} == dict.fromkeys(drifts, 0)


def test_links_are_those_of_the_last_captures(crawled: WebTable, expected):
    inlinks = inlinks_of(expected)

    assert {url: crawled.links.to(url).count() for url in expected} == {url: inlinks[url] for url in expected}


def test_a_count_of_links_is_too_high_at_most(crawled: WebTable, expected):
    found = counts_of(crawled)

    assert all(found[url] >= count for url, count in inlinks_of(expected).items())
    assert {host.name: host.pages for host in crawled.hosts()} == Counter(url.split("/")[2] for url in expected)


def test_a_repair_makes_indexes_and_counts_exact(crawled: WebTable, expected):
    for name in crawled.indexes.states():
        crawled.indexes.repair(name)
    crawled.links.refresh()

    assert counts_of(crawled) == inlinks_of(expected)
    assert all(crawled.indexes.verify(name).is_empty for name in crawled.indexes.states())


@pytest.mark.slow
def test_counts_are_exact_where_no_two_store_a_page_at_once(new_url, begin, expected):
    store = new_url()
    webtable.create(store)
    for process in (2, 0, 3, 1):
        crawl(store, process, PROCESSES, begin)

    with webtable.open(store) as table:
        table.links.refresh()

        assert counts_of(table) == inlinks_of(expected)
        assert all(table.indexes.verify(name).is_empty for name in table.indexes.states())


def counts_of(table: WebTable) -> dict[str, int]:
    return {page.url: page.link_counts.inlinks for page in table.links.most_linked()}


def inlinks_of(expected: dict[str, list[Page]]) -> Counter[str]:
    return Counter(link.url for pages in expected.values() for link in pages[0].outlinks)

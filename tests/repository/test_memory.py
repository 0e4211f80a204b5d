"""Memory is counted in bytes: of pages in a writer's buffer, and of bodies that are read at once."""

from __future__ import annotations

import os
import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

import webtable
from webtable import Link, Page, WebTable
from webtable.repository.links import inlink_cells as counts
from webtable.repository.page_storage.cells import BODY_BYTES
from webtable.repository.writing import batch
from webtable.testing import WrappedStore

MEBIBYTE = 2**20


class Weighing(WrappedStore):
    """A store that notes how many bytes of values each of its answers has."""

    def __init__(self, store):
        super().__init__(store)
        self.weights = []

    def _read(self, *given, **options):
        found = super()._read(*given, **options)
        self.weights.append(
            sum(len(cell.value) for row in found if row for cells in row.cells.values() for cell in cells)
        )
        return found


@pytest.fixture
def weighed(site):
    """A site with twelve bodies of 2 MiB that cannot be compressed, on hosts of different salts."""
    site.store(
        *(
            site.page(f"/{number}", host=f"h{number % 3}", body=os.urandom(2 * MEBIBYTE), age=900)
            for number in range(12)
        ),
        site.page("/small", body=b"x"),
    )
    store = Weighing(site.table.store)
    return replace_table(site, WebTable(store, site.table.table, site.table.layout)), store


def replace_table(site, table):
    return type(site)(table, site.domain, site.now)


def urls(site):
    return [page.url for page in site.table.pages(site.domain)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda site: site.table.pages(site.domain, columns=["body"]),
        lambda site: site.table.largest(site.domain, columns=["body"]),
        lambda site: site.table.get_many(urls(site)),
    ],
)
def test_bodies_are_read_by_their_bytes(weighed, ask):
    site, store = weighed

    found = list(ask(site))

    assert len(found) == 13
    assert sum(len(page.body) for page in found) > 24 * MEBIBYTE
    assert max(store.weights) <= BODY_BYTES + MEBIBYTE


@pytest.mark.slow
def test_bodies_that_are_stored_anew_are_prepared_by_their_bytes(new_url, site, monkeypatch):
    monkeypatch.setattr(batch, "CONTENT_BYTES", 5 * MEBIBYTE)
    with webtable.open(new_url(), create=True, ttl=10_000, indexes=[]) as table:
        pages = [site.page(f"/{number}", body=os.urandom(2 * MEBIBYTE), age=8_000) for number in range(6)]
        site = replace_table(site, table)
        site.store(*pages)
        store = Weighing(table.store)
        told = []

        with WebTable(store, table.table, table.layout).writer(on_outcome=told.append) as writer:
            for page in pages:
                writer.put(Page(url=page.url, status=304, same_as=page.url, fetched_at=site.now))

        assert [(outcome.url, outcome.error, outcome.is_new) for outcome in told] == [
            (page.url, None, False) for page in pages
        ]
        assert max(store.weights) <= 5 * MEBIBYTE
        assert [page.stored.content_at for page in table.pages(site.domain)] == [site.now] * 6
        assert list(table.pages(site.domain, columns=["body"]))[5].body == pages[5].body


def test_contents_of_other_pages_that_are_repeated_are_read_by_their_bytes(new_url, site, monkeypatch):
    monkeypatch.setattr(batch, "CONTENT_BYTES", 5 * MEBIBYTE)
    with webtable.open(new_url(), create=True, indexes=[]) as table:
        pages = [site.page(f"/{number}", body=os.urandom(2 * MEBIBYTE), age=800) for number in range(6)]
        replace_table(site, table).store(*pages)
        store = Weighing(table.store)

        with WebTable(store, table.table, table.layout).writer() as writer:
            for page in pages:
                writer.put(Page(url=page.url + "/again", same_as=page.url, fetched_at=site.now - timedelta(seconds=5)))

        assert max(store.weights) <= 5 * MEBIBYTE
        assert [table.get(page.url + "/again").body for page in pages] == [page.body for page in pages]


def test_a_buffer_counts_what_links_take(spied, site):
    batches = []
    spied.listener = lambda call, table, *given: (
        call == "write" and table == site.table.table and batches.append(len(given[0]))
    )
    links = tuple(Link(f"https://{site.domain}/{number}", "an anchor text") for number in range(300))

    with spied.site.table.writer(buffer_bytes=2 * MEBIBYTE, max_age=3_600) as writer:
        for number in range(30):
            writer.put(replace(site.page(f"/{number}", body=b"x"), outlinks=links))

    # 300 links of some 700 bytes are 200 KB a page.
    stored = [size for size in batches if size < 300]
    assert sum(stored) == 30
    assert max(stored) <= 12


def test_an_estimate_of_a_page_is_near_what_python_takes():
    import tracemalloc

    from webtable.page.page import memory_of

    def page(number: int) -> Page:
        links = tuple(Link(f"https://h{number % 7}.example.com/{number}/{one}", f"anchor {one}") for one in range(60))
        headers = {f"header-{one}": f"value {one} {number}" for one in range(10)}
        return Page(url=f"https://example.com/{number}", outlinks=links, headers=headers, body=bytes(number))

    tracemalloc.start()
    try:
        pages = [page(number) for number in range(500)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 0.7 < sum(map(memory_of, pages)) / taken < 1.4


@pytest.mark.slow
def test_overly_long_hosts_of_links_are_not_remembered():
    sources = [f"https://{number:03}.{'long.' * 3_000}example/".encode() for number in range(200)]
    tally = counts.SourceCounts("https://a.example/")
    tracemalloc.start()
    try:
        tally.add(sources)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert tally.counts(datetime.now(UTC)).external == 200
    assert kept < MEBIBYTE

"""URLs that pages link to and that are no pages: what is read for them, and which of their inlinks count."""

from __future__ import annotations

from collections import Counter

import pytest

from webtable import Link, Page
from webtable.repository.links.unlinked import FIRST_SOURCES
from webtable.repository.questions.pages import PageRows
from webtable.store import NewCell, Put


def hint(site, target, *sources):
    """Write inlinks of *target* that no page has."""
    family = site.table._context.codec.columns.inlinks.encode()
    cells = [NewCell(family + b":" + source.encode(), 1_000, b"") for source in sources]
    site.table.store.write(site.table.table, [Put(site.table.key.encode(target), cells)])


def test_a_linking_page_is_read_once_for_all_the_urls_that_it_links_to(spied):
    site, calls = spied.site, Counter()
    links = tuple(Link(site.url(f"/new/{number:03d}")) for number in range(300))
    site.store(*(site.page(f"/{number}", outlinks=links) for number in range(50)))
    spied.listener = lambda call, *_: calls.update([call])

    found = list(site.table.links.discovered(site.domain))

    assert found == [link.url for link in links]
    # Two pieces of URLs, and in each one page and its links; the states of the indexes.
    assert calls["read_cells"] == 2
    assert calls["read"] <= 6


@pytest.mark.parametrize("order", ["url", "storage"])
def test_pages_are_left_out_wherever_they_stand_among_the_urls(site, order):
    paths = [f"/{number:02d}" for number in range(40)]
    links = tuple(Link(site.url(path)) for path in paths)
    site.store(*(site.page(path, outlinks=links) for path in ["/", *paths[1:30:3], *paths[35:]]))

    found = list(site.table.links.discovered(site.domain, order=order))

    wanted = [site.url(path) for path in paths[:35] if path not in paths[1:30:3]]
    assert found == sorted(wanted, key=lambda url: PageRows(site.table._context).place_of(url, order))
    for at, url in enumerate(found):
        token = site.table.links.discovered(site.domain, order=order).token_after(url)
        assert (
            list(site.table.links.discovered(site.domain, order=order, after=token, limit=2)) == found[at + 1 : at + 3]
        )


@pytest.mark.parametrize("stale", [1, FIRST_SOURCES - 1, FIRST_SOURCES, 3 * FIRST_SOURCES])
def test_one_page_that_links_is_enough_among_many_that_do_no_more(site, stale):
    hint(site, site.url("/linked"), *(site.url(f"/0{number:02d}") for number in range(stale)))
    hint(site, site.url("/stale"), *(site.url(f"/0{number:02d}") for number in range(stale)))
    site.store(site.page("/9", outlinks=(Link(site.url("/linked")),)), site.page("/000"))

    found = list(site.table.links.discovered(site.domain))

    assert found == [site.url("/linked")]


def test_a_link_counts_however_its_url_is_spelled(site):
    spelled = site.url("/new/../a b").replace("https://", "HTTPS://")
    site.table.put(Page(url=site.url(), outlinks=(Link(spelled), Link("no url"))))

    assert list(site.table.links.discovered(site.domain)) == [site.url("/a%20b")]

"""URLs that pages link to and that are no pages: what is read for them, and which of their inlinks count."""

from __future__ import annotations

from collections import Counter

import pytest

from webtable import Link, Page, URLFilter
from webtable.errors import InvalidArgument
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


@pytest.fixture
def ranked(site):
    """Pages of a crawl that know how far they are from its start, one that does not, and one with a stale inlink."""

    def links(*paths):
        return tuple(Link(site.url(path)) for path in paths)

    site.store(
        site.page("/", outlinks=links("/1a", "/1b", "/both"), depth=0, priority=1.0),
        site.page("/p", outlinks=links("/2a", "/both"), depth=1, priority=9.5),
        site.page("/q", outlinks=links("/3a", "/2a"), depth=2, priority=-3.0),
        site.page("/r", outlinks=links("/unknown", "/3a")),
        site.page("/s", outlinks=(Link(site.url("/style.css"), kind="style"),), depth=0, priority=99.0),
    )
    hint(site, site.url("/3a"), site.url("/"))
    hint(site, site.url("/stale"), site.url("/"))
    return site


def paths_of(site, urls):
    return [url.removeprefix(site.url()) for url in urls]


@pytest.mark.parametrize(
    ("max_depth", "paths"),
    [(0, []), (1, ["1a", "1b", "both"]), (2, ["1a", "1b", "2a", "both"]), (3, ["1a", "1b", "2a", "3a", "both"])],
)
def test_with_a_depth_only_links_of_pages_count_that_are_nearer_to_the_start(ranked, max_depth, paths):
    def ask(order):
        return paths_of(ranked, ranked.table.links.discovered(ranked.domain, max_depth=max_depth, order=order))

    assert ask("url") == paths
    assert sorted(ask("depth")) == paths


def test_the_depth_of_a_page_counts_among_many_that_are_far_away(site):
    link = (Link(site.url("/new")),)
    site.store(*(site.page(f"/{number:03d}", outlinks=link, depth=7) for number in range(3 * FIRST_SOURCES)))
    site.store(site.page("/near", outlinks=link, depth=1))

    assert list(site.table.links.discovered(site.domain, max_depth=2)) == [site.url("/new")]
    assert list(site.table.links.discovered(site.domain, max_depth=1)) == []


@pytest.mark.parametrize(
    ("order", "paths"),
    [
        ("depth", ["1a", "1b", "both", "2a", "3a", "unknown"]),
        ("priority", ["2a", "both", "1a", "1b", "3a", "unknown"]),
    ],
)
def test_urls_come_in_the_order_of_what_the_linking_pages_know_and_go_on_after_each(ranked, order, paths):
    def ask(**options):
        return ranked.table.links.discovered(ranked.domain, order=order, **options)

    urls = list(ask())

    assert paths_of(ranked, urls) == paths
    for at, url in enumerate(urls):
        assert list(ask(after=ask().token_after(url), limit=2)) == urls[at + 1 : at + 3]


def test_an_order_goes_on_after_a_url_that_was_fetched_meanwhile(ranked):
    batch = ranked.table.links.discovered(ranked.domain, order="depth").page(size=2)
    ranked.store(*(ranked.page(f"/{path}", depth=1) for path in ("1a", "1b")))

    rest = ranked.table.links.discovered(ranked.domain, order="depth", after=batch.next_token)

    assert paths_of(ranked, [*batch, *rest]) == ["1a", "1b", "both", "2a", "3a", "unknown"]


def test_urls_that_are_cleaned_keep_the_order(ranked):
    ranked.store(ranked.page("/t", outlinks=(Link(ranked.url("/x?utm=1")),), depth=0))

    def ask(after=None):
        urls = URLFilter(drop_params=["utm"])
        return ranked.table.links.discovered(ranked.domain, order="depth", urls=urls, after=after)

    first = ask().page(size=4)

    assert paths_of(ranked, first) == ["1a", "1b", "both", "x"]
    assert paths_of(ranked, ask(first.next_token)) == ["2a", "3a", "unknown"]


@pytest.mark.parametrize("max_depth", [-1, 1.5, "3", True])
def test_a_depth_that_is_no_whole_number_is_refused(site, max_depth):
    with pytest.raises(InvalidArgument, match="max_depth="):
        site.table.links.discovered(site.domain, max_depth=max_depth)

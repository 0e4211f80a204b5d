"""How many clicks lead to the pages of a site, on every store."""

from __future__ import annotations

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable import HostOnly
from webtable.errors import InvalidArgument, InvalidURL
from webtable.page import Link


@pytest.fixture
def crawl(site):
    """A site with a way of each kind."""

    def page(path, *targets, host="", **fields):
        links = [target if isinstance(target, Link) else Link(target) for target in targets]
        links = [link if "://" in link.url else link._replace(url=site.url(link.url)) for link in links]
        return site.page(path, host=host, outlinks=tuple(links), **fields)

    site.store(
        page("/", "/a", "/old", Link("/paid", rel="sponsored nofollow"), Link("/frame", kind="iframe"), "/error"),
        page("/a", "/", "/b", "/missing", Link("/picture.png", kind="image")),
        page("/b", "/c", "/a"),
        page("/c", "/closed"),
        page("/old", status=301, redirect_to=site.url("/new")),
        page("/new", "/c", Link("/soon", kind="refresh")),
        page("/soon"),
        page("/frame", "/in-frame"),
        page("/in-frame"),
        page("/paid", "/behind-paid"),
        page("/behind-paid"),
        page("/closed", "/behind-closed", robots="noindex, nofollow"),
        page("/behind-closed"),
        page("/error", "/behind-error", status=404),
        page("/behind-error"),
        page("/picture.png", content_type="image/png"),
        page("/alone", "/beside"),
        page("/beside"),
        page("/", "/only", host="www"),
        page("/only", host="www"),
        page("/docs/", "/docs/far"),
        page("/docs/far"),
    )
    return site


TRUTH = {
    "/": (0, None),
    "/a": (1, "/"),
    "/b": (2, "/a"),
    "/c": (2, "/new"),
    "/old": (1, "/"),
    "/new": (1, "/old"),
    "/soon": (1, "/new"),
    "/frame": (0, "/"),
    "/in-frame": (1, "/frame"),
    "/paid": (None, None),
    "/behind-paid": (None, None),
    "/closed": (3, "/c"),
    "/behind-closed": (None, None),
    "/error": (1, "/"),
    "/behind-error": (None, None),
    "/picture.png": (None, None),
    "/alone": (None, None),
    "/beside": (None, None),
    "/docs/": (None, None),
    "/docs/far": (None, None),
}


def depths(site, scope=None, **options):
    answer = site.table.depths(HostOnly(site.domain) if scope is None else scope, **options)
    start = site.url("")
    return {d.url.removeprefix(start): (d.clicks, d.via and d.via.removeprefix(start)) for d in answer}


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_each_page_has_the_clicks_from_the_root_of_its_host(crawl, order):
    assert depths(crawl, order=order) == TRUTH


def test_each_host_of_a_site_begins_at_its_own_root(crawl):
    hosts = depths(crawl, crawl.domain)

    assert hosts.pop(f"https://www.{crawl.domain}/") == (0, None)
    assert hosts.pop(f"https://www.{crawl.domain}/only") == (None, None)  # the link leads to the other host
    assert hosts == TRUTH


@on_every_store
def test_clicks_are_counted_from_the_pages_that_are_named(crawl):
    reached = {
        path: clicks for path, (clicks, _) in depths(crawl, start=crawl.url("/alone")).items() if clicks is not None
    }
    several = depths(crawl, start=[crawl.url("/alone"), crawl.url("/b")])

    assert reached == {"/alone": 0, "/beside": 1}
    assert (several["/alone"], several["/b"], several["/a"]) == ((0, None), (0, None), (1, "/b"))
    assert depths(crawl, start=crawl.url("/missing"))["/"] == (None, None)


def test_of_a_directory_the_ways_of_its_host_count(crawl):
    crawl.store(crawl.page("/to-docs", outlinks=(Link(crawl.url("/docs/")),)))
    crawl.store(crawl.page("/soon", outlinks=(Link(crawl.url("/to-docs")),)))

    assert depths(crawl, crawl.url("/docs/")) == {"/docs/": (3, "/to-docs"), "/docs/far": (4, "/docs/")}


def test_columns_are_those_of_the_page_as_well(crawl):
    rows = crawl.table.depths(crawl.url("/docs/"), columns=["index_status"]).to_dicts()

    assert rows[0] == {"url": crawl.url("/docs/"), "index_status": "indexable"}


def test_an_answer_goes_on_after_each_token(crawl):
    pieces, token = [], None
    while True:
        batch = crawl.table.depths(crawl.domain, after=token).page(7)
        pieces += batch
        if not (token := batch.next_token):
            break

    assert pieces == list(crawl.table.depths(crawl.domain))


def test_what_lies_behind_a_damaged_page_is_not_reached(crawl):
    damage(crawl.table, crawl.url("/b"))
    answer = crawl.table.depths(crawl.domain)

    assert crawl.url("/b") not in {d.url for d in answer}
    assert len(answer.damaged) == 1


def test_what_is_no_url_is_refused(crawl):
    with pytest.raises(InvalidArgument, match="start=7 must be the URL of a page"):
        crawl.table.depths(crawl.domain, start=7)
    with pytest.raises(InvalidURL):
        crawl.table.depths(crawl.domain, start="mailto:x")

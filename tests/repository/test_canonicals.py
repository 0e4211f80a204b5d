"""Where the canonical URLs of a site lead, on every store."""

from __future__ import annotations

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable import URLFilter
from webtable.errors import InvalidArgument


@pytest.fixture
def crawl(site):
    """A site in which each path has a canonical URL with another fate."""

    def page(path, canonical=None, **fields):
        named = canonical and (canonical if "://" in canonical else site.url(canonical))
        return site.page(path, content_type="text/html", canonical=named, **fields)

    site.store(
        page("/", "/"),
        page("/to-good", "/good"),
        page("/good"),
        page("/a", "/b"),
        page("/b", "/c"),
        page("/c"),
        page("/x", "/y"),
        page("/y", "/x"),
        page("/to-moved", "/moved"),
        page("/moved", status=301, redirect_to=site.url("/gone")),
        page("/gone", status=410),
        page("/to-hidden", "/hidden"),
        page("/hidden", robots="noindex"),
        page("/to-google", "/for-google"),
        page("/for-google", robots_by_bot="googlebot: noindex"),
        page("/to-nothing", "/nothing"),
        page("/to-file", "/file.pdf"),
        site.page("/file.pdf", content_type="application/pdf"),
        page("/abroad", f"https://other.{site.domain}/"),
        site.page("/", host="other", content_type="text/html"),
        page("/two", "/good", other_canonical=site.url("/c")),
        page("/error", "/good", status=404),
    )
    return site


TRUTH = {
    "/to-good": "",
    "/a": "chain",
    "/b": "",
    "/x": "chain loop",
    "/y": "chain loop",
    "/to-moved": "redirect error",
    "/to-hidden": "noindex",
    "/to-google": "noindex",
    "/to-nothing": "missing",
    "/to-file": "not-html",
    "/abroad": "other-host",
    "/two": "conflict",
}


def problems(site, **options):
    answer = site.table.canonicals(site.domain, **options)
    return {canonical.url.removeprefix(site.url("")): " ".join(canonical.problems) for canonical in answer}


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_each_page_that_names_another_url_is_listed_with_what_is_wrong_on_the_way(crawl, order):
    assert problems(crawl, order=order) == TRUTH


def test_the_way_goes_on_by_canonical_urls_and_by_redirects_to_its_end(crawl):
    ways = {canonical.url: canonical for canonical in crawl.table.canonicals(crawl.domain)}

    def way(path):
        canonical = ways[crawl.url(path)]
        return [url.removeprefix(crawl.url("")) for url in canonical.urls], canonical.status

    assert way("/a") == (["/a", "/b", "/c"], 200)
    assert way("/x") == (["/x", "/y", "/x"], 200)
    assert way("/to-moved") == (["/to-moved", "/moved", "/gone"], 301)
    assert way("/to-nothing") == (["/to-nothing", "/nothing"], None)
    assert way("/two") == (["/two", "/good", "/c"], 200)


def test_a_problem_chooses_the_pages_that_have_it(crawl):
    assert problems(crawl, problem="loop") == {path: TRUTH[path] for path in ("/x", "/y")}
    assert problems(crawl, problem=["error", "missing"]).keys() == {"/to-moved", "/to-nothing"}
    assert problems(crawl, urls=URLFilter(include=["/a", "/b"])).keys() == {"/a", "/b"}
    with pytest.raises(InvalidArgument, match="problem='long' must be one of chain, loop"):
        crawl.table.canonicals(crawl.domain, problem="long")


@on_every_store
@pytest.mark.parametrize("order", ["url", "storage"])
def test_an_answer_goes_on_after_each_token(crawl, order):
    whole = list(crawl.table.canonicals(crawl.domain, order=order))

    pieces, token = [], None
    while True:
        batch = crawl.table.canonicals(crawl.domain, order=order, after=token).page(5)
        pieces += batch
        if not (token := batch.next_token):
            break

    assert pieces == whole


def test_parts_of_an_answer_are_the_answer(crawl):
    answer = crawl.table.canonicals(crawl.domain)

    parts = [canonical for part in answer.partitions(3) for canonical in part.pages()]

    assert sorted(parts, key=lambda canonical: canonical.url) == list(answer)


def test_what_pages_name_may_be_anything(site):
    odd = "x\ud800\0y"
    site.store(site.page("/a", canonical=odd), site.page("/b", canonical=site.url("/a"), other_canonical=odd))

    assert problems(site) == {"/b": "conflict"}


def test_a_target_that_cannot_be_read_is_counted(crawl):
    damage(crawl.table, crawl.url("/good"))
    answer = crawl.table.canonicals(crawl.domain)

    assert {c.url: c.problems for c in answer}[crawl.url("/to-good")] == ("missing",)
    assert [row.row for row in answer.damaged] == [crawl.table.key.encode(crawl.url("/good"))]

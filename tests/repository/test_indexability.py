"""Whether bots may index the pages of a site, by what pages say and by robots.txt as it was then, on every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from damaging import HTML, damage
from sites import Site

import webtable
from store_differences import on_every_store
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.reports import audit

DAY = 86_400


@pytest.fixture
def fresh(new_url):
    """A site in a table of its own."""
    with webtable.open(new_url(), create=True) as table:
        yield Site(table, "example.com", datetime.now(UTC).replace(microsecond=0))


def robots(site, age, text=b"User-agent: *\nDisallow: /private", **fields):
    fields = {"content_type": "text/plain", "title": None, **fields}
    return site.page("/robots.txt", age=age * DAY, body=text, **fields)


def verdicts(site, **options):
    """Return the verdict and the reason of each page but robots.txt, by path."""
    results = site.table.indexability(site.domain, **options)
    found = {result.url.partition(site.domain)[2]: (result.verdict, result.reason) for result in results}
    return {path: verdict for path, verdict in found.items() if path != "/robots.txt"}


def html(site, path, age=1, **fields):
    return site.page(path, age=age * DAY, **{"content_type": "text/html", **fields})


@on_every_store
def test_each_page_has_its_status_and_its_reason_by_every_question(site):
    site.store(
        html(site, "/"),
        html(site, "/canonical", canonical=site.url()),
        html(site, "/gone", status=404),
        html(site, "/moved", status=301, redirect_to=site.url()),
        html(site, "/noindex", robots="noindex"),
        html(site, "/paper", content_type="application/pdf"),
    )
    expected = {
        "/": ("indexable", None),
        "/canonical": ("canonicalised", site.url()),
        "/gone": ("error", "status 404"),
        "/moved": ("redirect", site.url()),
        "/noindex": ("noindex", "noindex"),
        "/paper": ("not html", "application/pdf"),
    }

    table, columns = site.table, ["index_status", "index_reason"]
    rows = table.pages(site.domain, columns=columns).to_dicts()
    section = next(one for one in audit(table, site.domain).sections if one.name == "not-indexable")

    assert {row["url"]: tuple(row.values())[1:] for row in rows} == {
        site.url(path): status for path, status in expected.items()
    }
    assert table.pages(site.domain).to_arrow(["url", *columns]).read_all().to_pylist() == rows
    assert verdicts(site) == expected
    counts = table.stats(site.domain, by="index_status").by["index_status"]
    assert {name: group.pages for name, group in counts.items()} == dict.fromkeys(
        ["canonicalised", "error", "indexable", "noindex", "not html", "redirect"], 1
    )
    listed = table.pages(site.domain, finding="not-indexable")
    assert [row[0] for row in section.rows] == [page.url for page in listed]
    assert section.count == 4
    assert "1 canonicalised, 1 error, 1 noindex, 1 redirect" in section.about


@on_every_store
def test_pages_are_found_by_their_status_in_the_index_that_was_added(fresh):
    fresh.store(html(fresh, "/a"), html(fresh, "/b", robots="noindex"))
    fresh.table.indexes.add("indexstatus")
    fresh.store(html(fresh, "/c", robots="noindex"), html(fresh, "/b", age=0.5))

    found = [page.url for page in fresh.table.indexed("indexstatus", term="noindex")]

    assert found == [fresh.url("/c")]
    assert fresh.table.indexes.verify("indexstatus", settle=0).is_empty


@on_every_store
def test_a_page_is_blocked_by_the_robots_txt_that_held_when_it_was_fetched(site):
    site.store(
        robots(site, 9),
        robots(site, 5, b"User-agent: *\nDisallow: /other"),
        robots(site, 3),
        html(site, "/private/before", age=10),
        html(site, "/private/first", age=8),
        html(site, "/private/second", age=4),
        html(site, "/private/third", age=1),
    )

    found = verdicts(site)

    blocked, free = ("blocked", "Disallow: /private"), ("indexable", None)
    assert found == {
        "/private/before": free,
        "/private/first": blocked,
        "/private/second": free,
        "/private/third": blocked,
    }
    assert [path for path, _ in verdicts(site, verdict="blocked").items()] == ["/private/first", "/private/third"]
    assert site.table.get(site.url("/private/third")).index_status == "indexable"
    then = site.table.robots_txt(site.url(), as_of=site.now - timedelta(days=4))
    assert (then.allows(site.url("/private")), then.rule(site.url("/other"))) == (True, "Disallow: /other")
    assert site.table.robots_txt(site.url(), as_of=site.now - timedelta(days=10)) is None


@on_every_store
def test_a_robots_txt_that_was_met_again_holds_since_it_came_first(site):
    site.store(robots(site, 9), html(site, "/private", age=5), robots(site, 1))

    (result,) = site.table.indexability(site.domain, verdict="blocked")

    assert (result.url, result.robots_at) == (site.url("/private"), site.now - timedelta(days=9))


@on_every_store
@pytest.mark.parametrize(
    ("status", "verdict"),
    [(404, ("indexable", None)), (429, ("indexable", None)), (503, ("blocked", "status 503"))],
)
def test_an_error_in_place_of_robots_txt_allows_all_or_nothing(site, status, verdict):
    site.store(robots(site, 2, b"User-agent: *\nDisallow: /", status=status), html(site, "/a"))

    assert verdicts(site)["/a"] == verdict


@on_every_store
@pytest.mark.parametrize(("redirects", "is_blocked"), [(1, True), (5, True), (6, False)])
def test_five_redirects_of_robots_txt_are_followed(site, redirects, is_blocked):
    places = ["/robots.txt", *(f"/robots-{number}" for number in range(redirects))]
    hops = [
        site.page(place, age=2 * DAY, status=301, redirect_to=site.url(target)) for place, target in pairwise(places)
    ]
    last = site.page(places[-1], age=2 * DAY, body=b"User-agent: *\nDisallow: /a", content_type="text/plain")
    site.store(*hops, last, html(site, "/a"))

    assert (verdicts(site)["/a"][0] == "blocked") is is_blocked


@on_every_store
def test_each_origin_has_its_own_robots_txt_and_each_bot_its_rules(site):
    site.store(robots(site, 2, b"User-agent: bingbot\nDisallow: /"), html(site, "/a"), html(site, "/a", host="www"))

    found = {result.url: result.verdict for result in site.table.indexability(site.domain, bot="Bingbot/2.0")}

    assert found[site.url("/a")] == "blocked"
    assert found[f"https://www.{site.domain}/a"] == "indexable"
    assert verdicts(site)["/a"] == ("indexable", None)


@on_every_store
def test_an_answer_goes_on_after_each_of_its_results(site):
    site.store(robots(site, 3), *(html(site, f"/{name}", robots=name) for name in ("index", "noindex", "none")))
    whole = list(site.table.indexability(site.domain))

    batch = site.table.indexability(site.domain).page(1)
    pieces = list(batch)
    while batch.next_token:
        batch = site.table.indexability(site.domain, after=batch.next_token).page(1)
        pieces += batch

    assert pieces == whole
    stored = site.table.indexability(site.domain, order="storage")
    assert sorted(stored, key=lambda one: one.url) == sorted(whole, key=lambda one: one.url)


def test_a_robots_txt_that_cannot_be_read_leaves_its_pages_out_and_is_counted(site):
    site.store(robots(site, 3), html(site, "/a"))
    damage(site.table, site.url("/robots.txt"), HTML)

    site.store(html(site, "/b", host="www"))

    answer = site.table.indexability(site.domain)

    assert [result.url for result in answer] == [f"https://www.{site.domain}/b"]
    assert {damaged.url for damaged in answer.damaged} == {site.url("/robots.txt")}


def test_what_is_asked_wrongly_is_refused(site):
    with pytest.raises(InvalidArgument, match="bot=''"):
        site.table.indexability(site.domain, bot="")
    with pytest.raises(InvalidArgument, match="verdict='gone' must be one of indexable, noindex"):
        site.table.indexability(site.domain, verdict=["blocked", "gone"])
    with pytest.raises(UnknownColumn):
        site.table.indexability(site.domain, columns=["verdit"])

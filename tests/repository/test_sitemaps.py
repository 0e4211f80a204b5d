"""What sitemaps name and is not stored, what is stored and no sitemap names, and what is at odds."""

from __future__ import annotations

import gzip
from datetime import timedelta
from itertools import count

import pytest
from damaging import damage

import webtable
from store_differences import on_every_store
from webtable import Page
from webtable.answers import SitemapURL
from webtable.errors import InvalidArgument, InvalidURL

DAY = 86_400


def urlset(*entries):
    """Return a sitemap of these URLs, or pairs of a URL and its lastmod."""
    pairs = [(entry, None) if isinstance(entry, str) else entry for entry in entries]
    lines = (f"<url><loc>{url}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</url>" for url, date in pairs)
    return f"<urlset>{''.join(lines)}</urlset>".encode()


def index(*urls):
    return f"<sitemapindex>{''.join(f'<sitemap><loc>{url}</loc></sitemap>' for url in urls)}</sitemapindex>".encode()


def xml(site, path, body, **fields):
    return site.page(path, body=body, **{"content_type": "application/xml", "title": None, **fields})


def robots(site, *lines, **fields):
    body = "\n".join(["User-agent: *", "Disallow:", *lines]).encode()
    return site.page("/robots.txt", body=body, content_type="text/plain", title=None, **fields)


def html(site, path, **fields):
    return site.page(path, **{"content_type": "text/html", "body": path.encode(), **fields})


def problems(site, *args, **options):
    """Return the problems by the path of the URL."""
    start = site.url("")
    return {
        entry.url.removeprefix(start): " ".join(entry.problems)
        for entry in site.table.sitemaps(*(args or (site.domain,)), **options)
    }


@on_every_store
def test_each_url_is_listed_with_what_is_at_odds(site):
    other = site.url("/other")
    site.store(
        robots(site, f"Sitemap: {site.url('/map.xml')}"),
        xml(
            site,
            "/map.xml",
            urlset(*map(site.url, ["/fine", "/new", "/no", "/old", "/gone", "/copy", "/copy-no", "/file.pdf"])),
        ),
        html(site, "/fine"),
        html(site, "/no", robots="noindex"),
        html(site, "/old", status=301, redirect_to=other),
        html(site, "/gone", status=410),
        html(site, "/copy", canonical=other),
        html(site, "/copy-no", canonical=other, robots_by_bot="googlebot: noindex"),
        html(site, "/two", canonical=other, other_canonical=site.url("/two")),
        html(site, "/other", canonical=other),
        html(site, "/hidden", robots="noindex"),
        html(site, "/lost", status=404),
        site.page("/file.pdf", content_type="application/pdf", body=b"%PDF"),
        site.page("/more.pdf", content_type="application/pdf", body=b"%PDF-"),
    )

    assert problems(site) == {
        "/copy": "canonicalised",
        "/copy-no": "noindex",
        "/file.pdf": "",
        "/fine": "",
        "/gone": "error",
        "/new": "missing",
        "/no": "noindex",
        "/old": "redirect",
        "/other": "unlisted",
        "/two": "unlisted",
    }
    entries = {entry.url: entry for entry in site.table.sitemaps(site.domain)}
    sitemap = site.url("/map.xml")
    assert entries[site.url("/old")] == SitemapURL(site.url("/old"), ("redirect",), 301, None, sitemap, 0, detail=other)
    assert entries[other] == SitemapURL(other, ("unlisted",), 200)
    assert problems(site, problem=["error", "missing"]) == {"/gone": "error", "/new": "missing"}


@on_every_store
def test_sitemaps_are_found_by_robots_txt_by_indexes_by_redirects_by_their_look_and_by_name(site):
    site.store(
        robots(site, "sitemap:/from-robots", f"SITEMAP : {site.url('/moved')}  # all", "Sitemap: mailto:x"),
        xml(site, "/from-robots", index(site.url("/child?page=1&amp;x=2"), site.url("/deep"))),
        xml(site, "/child?page=1&x=2", gzip.compress(urlset(site.url("/a"))), content_type="application/gzip"),
        xml(site, "/deep", index(site.url("/deepest"), site.url("/from-robots"))),
        xml(site, "/deepest", urlset(site.url("/b")), content_type=None),
        xml(site, "/moved", b"", status=301, redirect_to=site.url("/target")),
        xml(site, "/target", site.url("/c").encode(), content_type="text/plain"),
        xml(site, "/by-look", urlset(site.url("/d"))),
        xml(site, "/sitemap-news.xml.gz", gzip.compress(urlset(site.url("/e"))), content_type="application/x-gzip"),
        xml(site, "/feed", f"<rss><channel><item><link>{site.url('/f')}</link></item></channel></rss>".encode()),
        xml(site, "/sitemap.xml", b"", status=404),
    )

    assert problems(site) == {f"/{name}": "missing" for name in "abcde"}
    assert problems(site, sitemap=site.url("/feed"))["/f"] == "missing"
    sitemaps = {entry.url: entry.sitemap for entry in site.table.sitemaps(site.domain)}
    assert sitemaps[site.url("/a")] == site.url("/child?page=1&x=2")
    assert sitemaps[site.url("/c")] == site.url("/target")


@on_every_store
def test_a_lastmod_is_compared_with_what_was_captured(site):
    def day(age):
        return (site.now - timedelta(seconds=age)).isoformat()

    def captures(path, *ages):
        """Captures of these ages, the oldest first; those with one content are in a row."""
        for number, group in enumerate(ages):
            for age in group:
                site.store(html(site, path, age=age * DAY, body=f"{path} {number}".encode()))

    captures("/same", [30, 20, 10])
    captures("/changed", [30, 20], [10])
    captures("/often", [30], [20], [10])
    lastmods = {
        "/same": [(25, True), (31, False), (30, False), (9, False)],
        "/changed": [(25, True), (15, False), (10, False), (5, False)],
        "/often": [(25, True), (15, False)],
    }
    number = count()
    for path, judged in lastmods.items():
        for age, is_wrong in judged:
            name = f"/sitemap{next(number)}.xml"
            site.store(xml(site, name, urlset((site.url(path), day(age * DAY)))))
            entry = next(entry for entry in site.table.sitemaps(site.domain) if entry.url == site.url(path))
            site.table.delete(site.url(name))
            assert ("lastmod" in entry.problems) == is_wrong, (path, age, entry.detail)
            assert entry.lastmod == site.now - timedelta(days=age)


@pytest.mark.parametrize(
    ("lastmod", "detail"),
    [
        ("2999-01-01", "later than the capture of its sitemap"),
        ("0000-00-00", "no date"),
        ("20 November 2026", "no date"),
        (None, None),
    ],
)
def test_a_lastmod_in_the_future_or_that_is_no_date_is_wrong(site, lastmod, detail):
    site.store(html(site, "/a"), xml(site, "/sitemap.xml", urlset((site.url("/a"), lastmod))))

    (entry,) = site.table.sitemaps(site.domain)

    assert entry.detail == (detail and f"lastmod {lastmod}: {detail}")
    assert entry.problems == (("lastmod",) if detail else ())


def test_a_day_is_wrong_only_if_it_is_wrong_in_every_time_zone(site):
    fetched = site.now.replace(hour=23, minute=0)
    tomorrow, day_after = (f"{fetched + timedelta(days=days):%Y-%m-%d}" for days in (1, 2))
    body = urlset((site.url("/a"), tomorrow), (site.url("/b"), day_after))
    site.table.put(Page(url=site.url("/sitemap.xml"), body=body, fetched_at=fetched, content_type="text/xml"))

    assert problems(site) == {"/a": "missing", "/b": "missing lastmod"}


@on_every_store
def test_urls_of_other_hosts_and_schemes_are_foreign_unless_their_robots_txt_names_the_sitemap(site):
    friend, stranger = f"https://friend.{site.domain}", f"https://stranger.{site.domain}"
    sitemap = site.url("/sitemap.xml")
    site.store(
        xml(site, "/sitemap.xml", urlset(f"{friend}/", f"{stranger}/", site.url("/").replace("https", "http"), "/rel")),
        html(site, "/rel"),
        site.page("/robots.txt", host="friend", body=f"Sitemap: {sitemap}".encode(), content_type="text/plain"),
        site.page("/", host="stranger", status=404),
    )

    assert problems(site) == {
        "/rel": "relative",
        f"{friend}/": "missing",
        f"http://{site.domain}/": "foreign missing",
        f"{stranger}/": "foreign error",
    }


@on_every_store
def test_pages_of_other_sites_are_looked_up(site):
    stored, missing = site.url("/").replace("//", "//a."), site.url("/").replace("//", "//b.")
    site.store(
        site.page("/", host="a", status=404),
        site.page("/sitemap.xml", host="www", body=urlset(stored, missing), content_type="text/xml", title=None),
    )

    assert problems(site, webtable.HostOnly(f"www.{site.domain}")) == {
        stored: "foreign error",
        missing: "foreign missing",
    }


@on_every_store
def test_of_a_directory_the_sitemaps_of_its_host_are_read(site):
    site.store(
        xml(site, "/sitemap.xml", urlset(*map(site.url, ["/docs/a", "/b"]))),
        html(site, "/docs/c"),
        html(site, "/d"),
    )

    assert problems(site, site.url("/docs/")) == {"/docs/a": "missing", "/docs/c": "unlisted"}


@on_every_store
def test_a_sitemap_that_cannot_be_read_is_listed_with_the_reason(site):
    site.store(
        robots(site, *(f"Sitemap: {site.url(path)}" for path in ["/none", "/gone", "/html", "/half", "/index"])),
        site.page("/gone", status=404, title=None),
        html(site, "/html", body=b"<html><p>nothing here"),
        xml(site, "/half", urlset(site.url("/a"), "mailto:a@example.com", "")[:-3]),
        xml(site, "/index", index(site.url("/child"))),
        xml(site, "/feed.xml", b"<rss/>"),
    )

    unreadable = {
        entry.url.removeprefix(site.url("")): (entry.sitemap, entry.detail)
        for entry in site.table.sitemaps(site.domain, problem="unreadable")
    }
    by = site.url("/robots.txt")
    half = "no well-formed XML: unclosed token: line 1, column "
    assert unreadable.pop("/half")[1].startswith(half)
    assert unreadable == {
        "/none": (by, "its capture is not stored"),
        "/gone": (by, "status 404"),
        "/html": (by, "an HTML page: its root is <html>, not <urlset> or <sitemapindex>"),
        "/child": (site.url("/index"), "its capture is not stored"),
    }
    assert problems(site)["/a"] == "missing"
    half = next(entry for entry in site.table.sitemaps(site.domain) if entry.url == site.url("/half"))
    assert half.detail.endswith("; 2 invalid URLs")


def test_without_a_sitemap_no_page_is_unlisted(site):
    site.store(html(site, "/a"))

    assert problems(site) == {}
    assert site.table.sitemaps(site.domain).why_empty().endswith("; crawl --sitemaps stores the sitemaps of a site")
    site.store(robots(site, f"Sitemap: {site.url('/map')}"))
    assert problems(site) == {"/map": "unreadable"}
    site.store(xml(site, "/map", urlset()))
    assert problems(site) == {"/a": "unlisted"}


def test_indexes_and_redirects_that_lead_in_circles_end(site):
    site.store(
        xml(site, "/sitemap.xml", index(site.url("/i"), site.url("/r"))),
        xml(site, "/i", index(site.url("/sitemap.xml"), site.url("/i"))),
        xml(site, "/r", b"", status=302, redirect_to=site.url("/s")),
        xml(site, "/s", b"", status=302, redirect_to=site.url("/r")),
    )

    assert problems(site) == {}


def test_indexes_are_followed_five_deep(site):
    site.store(robots(site, f"Sitemap: {site.url('/0')}"))
    site.store(*(xml(site, f"/{n}", index(site.url(f"/{n + 1}")), content_type="text/plain") for n in range(9)))

    assert problems(site) == {"/6": "unreadable"}


def test_a_url_in_several_sitemaps_comes_once_with_what_is_wrong_in_one_of_them(site):
    url = site.url("/a")
    site.store(
        html(site, "/a"),
        xml(site, "/sitemap1.xml", urlset(url, url)),
        xml(site, "/sitemap2.xml", urlset((url, "tomorrow"))),
        xml(site, "/sitemap3.xml", urlset(url)),
    )

    (entry,) = site.table.sitemaps(site.domain)

    assert (entry.problems, entry.sitemap, entry.others) == (("lastmod",), site.url("/sitemap2.xml"), 2)


@on_every_store
def test_an_answer_goes_on_after_a_token(site):
    site.store(html(site, "/c"), xml(site, "/sitemap.xml", urlset(*map(site.url, ["/a", "/b", "/d"])) + b"<"))
    whole = list(site.table.sitemaps(site.domain))
    parts, token = [], None

    while len(parts) < 9:
        batch = site.table.sitemaps(site.domain, after=token).page(1)
        parts += batch
        token = batch.next_token
        if token is None:
            break

    assert parts == whole
    assert len(whole) == 5


def test_a_url_that_robots_txt_kept_from_being_fetched_is_missing_and_blocked(site):
    site.store(
        robots(site, "User-agent: *", "Disallow: /private/", f"Sitemap: {site.url('/sitemap.xml')}"),
        xml(site, "/sitemap.xml", urlset(site.url("/private/1"), site.url("/public"))),
    )

    entries = {entry.url: (entry.problems, entry.detail) for entry in site.table.sitemaps(site.domain)}
    assert entries == {
        site.url("/private/1"): (("missing", "blocked"), "Disallow: /private/"),
        site.url("/public"): (("missing",), None),
    }
    (blocked,) = site.table.sitemaps(site.domain, problem="blocked")
    assert blocked.url == site.url("/private/1")


def test_a_sitemap_in_a_damaged_row_is_unreadable_and_told(site):
    site.store(xml(site, "/sitemap.xml", urlset()), robots(site, f"Sitemap: {site.url('/sitemap.xml')}"))
    damage(site.table, site.url("/sitemap.xml"))
    answer = site.table.sitemaps(site.domain)

    assert [(entry.problems, entry.detail) for entry in answer] == [(("unreadable",), "its row is damaged")]
    assert [row.url for row in answer.damaged] == [site.url("/sitemap.xml")]


def test_what_pages_say_may_be_anything(site):
    odd = "x\ud800\0y"
    site.store(
        html(site, "/canonical", canonical=odd),
        html(site, "/redirect", status=301, redirect_to=odd),
        xml(site, "/sitemap.xml", urlset(site.url("/canonical"), (site.url("/redirect"), "x" * 9_000))),
    )

    assert problems(site) == {"/canonical": "", "/redirect": "redirect lastmod"}


def test_urls_that_are_too_long_are_counted(site):
    site.store(xml(site, "/sitemap.xml", urlset(site.url("/" + "x" * 40_000), site.url("/" + "x" * 8_500))))

    (entry,) = site.table.sitemaps(site.domain)

    assert (entry.problems, entry.detail) == (("unreadable",), "2 invalid URLs")


def test_wrong_arguments_are_refused(site):
    with pytest.raises(InvalidArgument, match="problem="):
        site.table.sitemaps(site.domain, problem="gone")
    with pytest.raises(InvalidArgument, match="sitemap="):
        site.table.sitemaps(site.domain, sitemap=3)
    with pytest.raises(InvalidURL):
        site.table.sitemaps(site.domain, sitemap="sitemap.xml")

"""Frames, a meta refresh and redirects lead to pages; images, scripts and styles are none. Links keep their kinds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

import webtable
from store_differences import on_every_store
from webtable import Link, Page
from webtable.errors import InvalidArgument, InvalidCapture
from webtable.formats import read_pages
from webtable.formats import write as write_pages

HTML = {"Content-Type": "text/html"}


def html(site, path, body="", age=100, **fields):
    fields = {"content_type": "text/html", "title": None, "outlinks": None, "age": age} | fields
    return site.page(path, body=body.encode(), **fields)


def moved(site, path, to, age=100, status=301):
    return site.page(path, body=None, title=None, outlinks=None, status=status, redirect_to=site.url(to), age=age)


def paths(answer):
    return ["/" + (result if isinstance(result, str) else result.url).split("/", 3)[3] for result in answer]


@on_every_store
def test_frames_a_refresh_and_redirects_lead_to_pages(site):
    site.store(
        html(site, "/", "<a href=/old>x</a><a href=/go>x</a><a href=/set>x</a>"),
        moved(site, "/old", "/older"),
        moved(site, "/older", "/new", status=308),
        html(site, "/new", "<a href=/>home</a>"),
        html(site, "/go", "<meta http-equiv=Refresh content=\"0; URL='/target'\">"),
        html(site, "/target"),
        html(site, "/header", headers={"Refresh": "3;url=/by-header"}),
        html(site, "/by-header"),
        html(site, "/set", "<frameset><frame src=/menu title=Menu><frame src=/unstored></frameset>"),
        html(site, "/menu"),
        html(site, "/inner", "<iframe src=/>"),
        moved(site, "/self", "/self"),
    )

    links = site.table.links
    assert paths(links.orphans(site.domain)) == ["/header", "/inner", "/self"]
    assert paths(links.orphans(site.domain, within_host=True)) == ["/header", "/inner", "/self"]
    assert paths(links.discovered(site.domain)) == ["/unstored"]
    assert [(link.anchor, link.kind) for link in links.to(site.url("/menu"))] == [("Menu", "frame")]
    assert [link.kind for link in links.of(site.url("/go"))] == ["refresh"]
    assert list(links.of(site.url("/old"))) == [Link(site.url("/older"), kind="redirect")]
    assert {edge.kind for edge in site.table.edges(site.domain)} == {"a", "frame", "iframe", "refresh", "redirect"}
    assert paths(links.dead_ends(site.domain)) == ["/by-header", "/menu", "/target"]
    assert set(paths(links.orphans(site.domain, kinds="a"))) >= {"/new", "/older", "/target", "/menu"}
    assert paths(links.dead_ends(site.domain, kinds="redirect"))[:2] == ["/", "/by-header"]


@on_every_store
def test_a_redirect_that_changes_leads_no_longer_where_it_led(site):
    site.store(moved(site, "/old", "/first", age=900), html(site, "/first"), html(site, "/second"))
    site.store(moved(site, "/old", "/second", age=500))

    links = site.table.links
    assert paths(links.orphans(site.domain)) == ["/first", "/old"]
    assert [link.kind for link in links.to(site.url("/first"), past=True)] == ["redirect"]
    site.store(html(site, "/old", "here now"))
    assert paths(links.orphans(site.domain)) == ["/first", "/old", "/second"]
    assert list(links.to(site.url("/second"))) == []
    site.store(moved(site, "/old", "/first", age=-5))
    site.table.delete(site.url("/old"))
    assert paths(links.orphans(site.domain)) == ["/first", "/second"]


@on_every_store
def test_a_redirect_that_changes_leaves_nothing_wrong_in_the_index_of_links(new_url):
    now = datetime.now(UTC)
    old = Page(url="https://example.com/old", status=301)
    with webtable.open(new_url(), create=True) as table:
        for target, days in (("/first", 3), ("/second", 2)):
            url = f"https://example.com{target}"
            table.put(Page(url=url, body=b"x", content_type="text/html", fetched_at=now - timedelta(days=4)))
            table.put(replace(old, redirect_to=url, fetched_at=now - timedelta(days=days)))
        table.put(Page(url=old.url, body=b"here", content_type="text/html", fetched_at=now - timedelta(days=1)))

        drift = table.indexes.verify("link")

    assert (drift.pages, drift.missing, drift.stale) == (3, 0, 0)


def test_a_link_of_the_host_counts_over_redirects_of_another_one(site):
    def on(host, path):
        return f"https://{host}{site.domain}{path}"

    site.store(
        html(site, "/", f"<a href={on('www.', '/moved')}>x</a>"),
        site.page("/moved", host="www", body=None, outlinks=None, status=301, redirect_to=on("old.", "/moved")),
        site.page("/moved", host="old", body=None, outlinks=None, status=301, redirect_to=on("", "/there")),
        html(site, "/there"),
        site.page("/loop", host="www", body=None, outlinks=None, status=301, redirect_to=on("", "/looped")),
        moved(site, "/looped", "/elsewhere"),
        site.page("/from", host="www", body=None, outlinks=None, status=301, redirect_to=on("", "/unlinked")),
        html(site, "/unlinked"),
    )

    found = site.table.links.orphans(f"https://{site.domain}/", within_host=True)
    assert paths(found) == ["/", "/looped", "/unlinked"]


@on_every_store
def test_links_that_show_or_run_something_lead_to_no_page(site):
    kinds = ("image", "script", "style", "media", "font")
    shown = tuple(Link(site.url(f"/{kind}"), kind=kind) for kind in kinds)
    site.store(
        html(site, "/", "x", outlinks=(*shown, Link(site.url("/doc.pdf")), Link(site.url("/gone.png"), kind="image"))),
        html(site, "/only", "x", outlinks=shown),
        site.page("/gone.png", body=b"no", status=404, content_type="text/html", outlinks=None),
        site.page("/stored.svg", body=b"<svg/>", content_type="image/svg+xml", outlinks=None),
        site.page("/app.js", body=b"1", content_type="text/javascript", outlinks=None),
        site.page("/print.css", body=b"a{}", content_type="text/css", outlinks=None),
        site.page("/font.woff2", body=b"f", content_type="font/woff2", outlinks=None),
        site.page("/data.json", body=b"{}", content_type="application/json", outlinks=None),
        site.page("/sheet.pdf", body=b"%PDF", content_type="application/pdf", outlinks=None),
    )

    links = site.table.links
    assert paths(links.discovered(site.domain)) == ["/doc.pdf"]
    assert paths(links.discovered(site.domain, kinds=["image", "font"])) == ["/font", "/image"]
    assert paths(links.orphans(site.domain)) == ["/", "/data.json", "/gone.png", "/only", "/sheet.pdf"]
    assert "/stored.svg" in paths(links.orphans(site.domain, kinds=["a", "image"]))
    assert paths(links.dead_ends(site.domain)) == ["/gone.png", "/only"]
    assert paths(links.dead_ends(site.domain, kinds=["a", "image"])) == ["/gone.png"]
    assert list(links.broken(site.domain)) == []
    assert [(link.target, link.kind) for link in links.broken(site.domain, kinds="image")] == [
        (site.url("/gone.png"), "image")
    ]


def test_a_link_counts_beside_what_only_shows_its_target(site):
    links = (Link(site.url("/big.png"), kind="image"), Link(site.url("/big.png"), "larger"))
    site.store(html(site, "/", "x", outlinks=links))

    assert paths(site.table.links.discovered(site.domain)) == ["/big.png"]
    assert [link.anchor for link in site.table.links.of(site.url("/"))] == ["", "larger"]


@on_every_store
def test_files_for_crawlers_are_no_orphans(site):
    urlset = b"<?xml version='1.0'?>\n<!-- x --><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>"
    files = {
        "/robots.txt": ("text/plain", b"User-agent: *"),
        "/sitemap.xml": ("application/xml", b"<urlset/>"),
        "/sitemap_index.xml.gz": ("application/gzip", b"\x1f\x8b"),
        "/post-sitemap2.xml": ("text/xml", b""),
        "/news/feed": ("application/xml", urlset),
        "/maps/1.xml": ("text/xml", b"<s:sitemapindex xmlns:s='x'>"),
        "/rss.xml": ("text/xml", b"<rss><title>urlset</title></rss>"),
        "/sitemap": ("text/html", b"<p>for people"),
        "/docs/robots.txt": ("text/plain", b""),
    }
    site.store(
        *(
            site.page(path, body=body, content_type=media, title=None, outlinks=())
            for path, (media, body) in files.items()
        )
    )

    assert paths(site.table.links.orphans(site.domain)) == ["/docs/robots.txt", "/rss.xml", "/sitemap"]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_kinds_survive_files(site, format, tmp_path):
    links = (
        Link(site.url("/a"), "A", "nofollow"),
        Link(site.url("/b"), kind="iframe"),
        Link(site.url("/c"), kind="font"),
    )
    site.store(html(site, "/", "x", outlinks=links))
    file = tmp_path / f"pages.{format}"
    answer = site.table.pages(site.domain, columns=["body", "outlinks"])

    with file.open("wb") as out:
        write_pages(answer, out, format=format)

    (page,) = read_pages(file)
    assert page.outlinks == links
    assert site.table.get(site.url("/"), columns=["outlinks"]).outlinks == links


def test_a_304_and_a_repeated_page_keep_the_kinds(site):
    site.store(html(site, "/", "<iframe src=/a></iframe>", age=900))
    site.table.put_not_modified(site.url("/"), site.now)
    site.store(html(site, "/", "<iframe src=/a></iframe>", age=-5))

    assert [link.kind for link in site.table.links.to(site.url("/a"))] == ["iframe"]


def test_what_is_no_kind_is_refused(site):
    with pytest.raises(InvalidArgument, match="kinds='picture' must be one of a, frame"):
        site.table.links.orphans(site.domain, kinds="picture")
    with pytest.raises(InvalidCapture, match="of the kind 'picture'"):
        site.table.put(html(site, "/", "x", outlinks=(Link(site.url("/a"), kind="picture"),)))

"""Versions in other languages that pages and sitemaps name, and where they disagree, on every store."""

from __future__ import annotations

import pytest
from damaging import damage

from store_differences import on_every_store
from webtable.errors import InvalidArgument


def page(site, path, versions=(), *, head="", host="", **fields):
    """Return a page that names *versions*, each a language and a path or URL."""
    links = "".join(
        f"<link rel=alternate hreflang='{language}' href={target if '://' in target else site.url(target)}>"
        for language, target in versions
    )
    body = f"<head>{links}{head}<title>{path}</title></head><p>{path}".encode()
    return site.page(path, host=host, **{"body": body, "content_type": "text/html", **fields})


def versions(site, *args, **options):
    """Return the problems by path, language and path of the target."""
    start = site.url("")
    return {
        (version.url.removeprefix(start), version.language, version.target.removeprefix(start)): " ".join(
            version.problems
        )
        for version in site.table.hreflang(*(args or (site.domain,)), **options)
    }


@on_every_store
def test_pages_that_name_each_other_and_themselves_have_no_problem(site):
    both = [("de", "/de"), ("en-gb", "/en"), ("x-default", "/en")]
    site.store(page(site, "/de", both), page(site, "/en", both), page(site, "/other"))

    assert versions(site) == {(path, language, target): "" for path in ("/de", "/en") for language, target in both}
    assert versions(site, problem=["no-return", "no-self", "code"]) == {}


@on_every_store
def test_each_version_is_listed_with_what_does_not_agree(site):
    own = ("en", "/")
    targets = {
        "no-return": "de", "missing": "fr", "moved": "es", "gone": "it", "hidden": "pt", "copy": "nl",
        "wrong-return": "pl",
    }  # fmt: skip
    site.store(
        page(site, "/", [own, *((language, f"/{name}") for name, language in targets.items())]),
        page(site, "/no-return"),
        page(site, "/moved", status=301, redirect_to=site.url("/no-return")),
        page(site, "/gone", status=404),
        page(site, "/hidden", [own, ("pt", "/hidden")], robots="noindex"),
        page(site, "/copy", [own, ("nl", "/copy")], canonical=site.url("/no-return")),
        page(site, "/wrong-return", [("fr", "/"), ("pl", "/wrong-return")]),
    )

    assert versions(site) == {
        ("/", "en", "/"): "",
        ("/", "de", "/no-return"): "no-return",
        ("/", "fr", "/missing"): "missing",
        ("/", "es", "/moved"): "redirect",
        ("/", "it", "/gone"): "error",
        ("/", "pt", "/hidden"): "noindex",
        ("/", "nl", "/copy"): "canonicalised",
        ("/", "pl", "/wrong-return"): "inconsistent",
        ("/hidden", "en", "/"): "",
        ("/hidden", "pt", "/hidden"): "noindex",
        ("/copy", "en", "/"): "not-canonical",
        ("/copy", "nl", "/copy"): "not-canonical",
        ("/wrong-return", "fr", "/"): "",
        ("/wrong-return", "pl", "/wrong-return"): "",
    }
    assert versions(site, problem="noindex").keys() == {("/", "pt", "/hidden"), ("/hidden", "pt", "/hidden")}


def test_codes_must_be_those_of_the_standards(site):
    site.store(page(site, "/", [("en-UK", "/"), ("zh-hant-tw", "/"), ("de_AT", "/"), ("X-Default", "/")]))

    assert versions(site, problem="code") == {("/", "en-uk", "/"): "code", ("/", "de_at", "/"): "code"}
    details = {version.language: version.detail for version in site.table.hreflang(site.domain)}
    assert details == {
        "de_at": "de_at is no language of ISO 639-1",
        "en-uk": "uk is no region of ISO 3166-1 (gb is the United Kingdom)",
        "x-default": None,
        "zh-hant-tw": None,
    }


def test_a_page_names_itself_and_one_url_for_each_language(site):
    site.store(page(site, "/", [("de", "/a"), ("de", "/b")]), page(site, "/a"), page(site, "/b"))

    assert versions(site) == {
        ("/", None, "/"): "no-self",
        ("/", "de", "/a"): "no-return several",
        ("/", "de", "/b"): "no-return several",
    }


@on_every_store
def test_versions_are_read_from_markup_header_and_sitemap(site):
    sitemap = (
        '<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>{0}</loc>'
        '<xhtml:link rel="alternate" hreflang="en" href="{0}"/><xhtml:link rel="alternate" hreflang="de" href="{1}"/>'
        "</url></urlset>"
    ).format(site.url("/en.pdf"), site.url("/de"))
    header = f'<{site.url("/en.pdf")}>; rel="alternate"; hreflang="EN"'
    site.store(
        page(site, "/de", [("de", "/de")], headers={"Link": header}),
        site.page("/en.pdf", content_type="application/pdf", body=b"%PDF"),
        site.page("/sitemap.xml", content_type="application/xml", body=sitemap.encode()),
    )

    found = {
        (version.url, version.language): (version.sources, version.problems)
        for version in site.table.hreflang(site.domain)
    }

    assert found == {
        (site.url("/de"), "de"): (("link",), ()),
        (site.url("/de"), "en"): (("header",), ()),
        (site.url("/en.pdf"), "en"): (("sitemap",), ()),
        (site.url("/en.pdf"), "de"): (("sitemap",), ()),
    }


@on_every_store
def test_targets_on_other_sites_are_read_and_not_listed(site):
    other = f"other.{site.domain}"
    own, there = f"https://www.{site.domain}/", f"https://{other}/"
    both = [("de", there), ("en", own)]
    site.store(page(site, "/", both, host="www"), page(site, "/", both, host="other"))

    listed = list(site.table.hreflang(own))

    assert [(version.url, version.target, version.problems) for version in listed] == [(own, there, ()), (own, own, ())]


def test_a_target_without_a_stored_body_is_not_judged(site):
    site.store(page(site, "/", [("en", "/"), ("de", "/de")]), page(site, "/de", body=None))

    assert versions(site)["/", "de", "/de"] == ""


def test_of_a_directory_only_its_pages_are_listed(site):
    both = [("de", "/de/a"), ("en", "/en/a")]
    site.store(page(site, "/de/a", both), page(site, "/en/a", both))

    assert versions(site, site.url("/de/")) == {("/de/a", "de", "/de/a"): "", ("/de/a", "en", "/en/a"): ""}


def test_an_answer_goes_on_after_each_token(site):
    site.store(*(page(site, f"/{n}", [("de", "/0"), ("fr", "/1"), ("fr", "/2"), ("", "/x")]) for n in range(4)))
    whole = list(site.table.hreflang(site.domain))

    pieces, token = [], None
    while True:
        batch = site.table.hreflang(site.domain, after=token).page(1)
        pieces += batch
        if not (token := batch.next_token):
            break

    assert pieces == whole
    assert len(whole) == 17


def test_what_pages_name_may_be_anything(site):
    head = "".join(f"<link rel=alternate hreflang='{n}\0x' href='/{n}'>" for n in range(2_000))
    site.store(page(site, "/", [("de", "http://[x"), ("d\0e\ud800".encode(errors="replace").decode(), "/")], head=head))

    assert len(list(site.table.hreflang(site.domain))) <= 1_000


def test_a_damaged_page_is_left_out_and_counted(site):
    both = [("de", "/de"), ("en", "/en")]
    site.store(page(site, "/de", both), page(site, "/en", both))
    damage(site.table, site.url("/de"))

    answer = site.table.hreflang(site.domain)

    assert [version.problems for version in answer] == [("missing",), ()]
    assert [row.row for row in answer.damaged] == [site.table.key.encode(site.url("/de"))]


def test_wrong_arguments_are_refused(site):
    with pytest.raises(InvalidArgument, match="problem="):
        site.table.hreflang(site.domain, problem="gone")
    with pytest.raises(InvalidArgument, match="sitemap="):
        site.table.hreflang(site.domain, sitemap=3)


@on_every_store
def test_robots_txt_hides_no_problem_of_a_version_that_it_blocks(site):
    named = [("en", "/en"), *((code, f"/no/{code}") for code in ("de", "fr", "it"))]
    site.store(
        site.page("/robots.txt", body=b"User-agent: *\nDisallow: /no/", content_type="text/plain", title=None),
        page(site, "/en", named),
        page(site, "/no/de", named, status=404),
        page(site, "/no/fr", status=301, redirect_to=site.url("/en")),
        page(site, "/no/it", named, head="<meta name=robots content=noindex>"),
    )

    problems = {target: problem for (path, _, target), problem in versions(site).items() if path == "/en"}
    assert problems == {"/en": "", "/no/de": "error", "/no/fr": "redirect", "/no/it": "noindex"}

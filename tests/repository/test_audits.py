"""An audit of a site says what the questions say, on every store."""

from __future__ import annotations

from store_differences import on_every_store
from webtable import Link
from webtable.reports import audit


def languages_of(site, languages, **options):
    """Store a page in each of *languages*, and return what an audit finds of them."""
    site.store(*(site.page(f"/{n:02}", language=language) for n, language in enumerate(languages)))
    return next(one for one in audit(site.table, site.domain, **options).sections if one.name == "other-language")


@on_every_store
def test_an_audit_names_pages_in_another_language_than_their_site(site):
    site.store(site.page("/99", language="fr", language_detected=True, title="Une page"))
    site.store(site.page("/gone", status=404, language="es"))

    found = languages_of(site, ["de", "de-at", "DE", None, "en-us", *["de"] * 11])

    assert "(de)" in found.about
    assert [row[:3] for row in found.rows] == [
        (site.url("/04"), "en-us", "the page"),
        (site.url("/99"), "fr", "the text"),
    ]


def test_a_site_in_several_languages_has_none_that_others_differ_from(site):
    found = languages_of(site, ["de"] * 3 + ["en"])

    assert (found.count, found.left_out) == (0, "")
    assert "none" in found.about


def test_an_audit_counts_all_pages_in_other_languages_and_lists_the_first(site):
    found = languages_of(site, ["de"] * 40 + ["en"] * 5 + ["fr"] * 2, most=3)

    assert (found.count, [row[1] for row in found.rows]) == (7, ["en", "en", "en"])


@on_every_store
def test_an_audit_finds_on_every_store_what_the_questions_find(site):
    home, moved, gone = site.url(), site.url("/moved"), site.url("/gone")
    site.store(
        site.page("/", outlinks=(Link(gone), Link(moved))),
        site.page("/gone", status=404),
        site.page("/moved", status=301, redirect_to=site.url("/on")),
        site.page("/on", status=302, redirect_to=home),
        site.page("/copy", body=b"<title>Same</title>same", title="Same"),
        site.page("/copy", host="www", body=b"<title>Same</title>same", title="Same"),
        site.page("/untitled", body=b"<p>none", title=None, content_type="text/html"),
    )

    found = audit(site.table, site.domain)

    rows = {section.name: section.rows for section in found.sections}
    copies = (f"https://www.{site.domain}/copy", site.url("/copy"))
    assert (found.pages, found.hosts, found.damaged) == (7, 2, 0)
    assert rows["broken-links"] == ((404, gone, 1, (home,)),)
    assert [row[:2] for row in rows["errors"]] == [(404, gone)]
    assert rows["redirect-chains"] == ((2, "200", (moved, site.url("/on"), home)),)
    assert [row[0] for row in rows["orphans"]] == [page.url for page in site.table.links.orphans(site.domain)]
    assert [row[2] for row in rows["same-content"]] == [copies]
    assert [row[1:] for row in rows["same-title"]] == [("Same", copies)]
    assert rows["titles"] == (("missing", site.url("/untitled"), None),)
    assert [row[0] for row in rows["no-description"]] == [*copies, site.url("/untitled")]

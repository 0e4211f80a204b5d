"""An audit of a site says what the questions say, on every store."""

from __future__ import annotations

from store_differences import on_every_store
from webtable import Link
from webtable.reports import audit


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

"""A site with something wrong of each kind, and what the sections of its audit name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import webtable
from webtable import Page

SITE = "https://audited.example"
FETCHED = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
WORDS = " ".join(f"word{number}" for number in range(200))
HEAD = "<html lang=de><title>{0}</title><meta name=description content=d><h1>{0}</h1>"


def _page(path: str, html: str = "", **fields: Any) -> Page:
    fields.setdefault("content_type", "text/html")
    return Page(url=f"{SITE}{path}", body=html.encode(), fetched_at=FETCHED, **fields)


PAGES = (
    _page("/", HEAD.format("Home") + "<a href=/gone>G</a><a href=/chain>C</a><a href=/well>W</a>"),
    *(_page(f"/well{number}", HEAD.format(f"Well {number}")) for number in range(20)),
    _page("/well", status=301, redirect_to=f"{SITE}/"),
    _page("/chain", status=301, redirect_to=f"{SITE}/well"),
    _page("/loop", status=302, redirect_to=f"{SITE}/loop"),
    _page("/to-error", status=302, redirect_to=f"{SITE}/gone"),
    _page("/to-nothing", status=302, redirect_to=f"{SITE}/nothing"),
    _page("/no-location", status=302),
    _page("/gone", HEAD.format("Gone"), status=404),
    _page("/gone2", HEAD.format("Gone"), status=404),
    _page("/nothing-to-say", status=204),
    _page("/copy1", HEAD.format("Copy")),
    _page("/copy2", HEAD.format("Copy")),
    _page("/near1", HEAD.format("Near 1") + f"<p>{WORDS}"),
    _page("/near2", HEAD.format("Near 2") + f"<p>{WORDS} and more"),
    _page("/long", HEAD.format("x" * 61)),
    _page("/bare", "<html lang=de><p>bare"),
    _page("/elsewhere", HEAD.format("Elsewhere") + "<link rel=canonical href=/>".join(("<head>", "</head>"))),
    _page("/conflict", "<head><link rel=canonical href=/><link rel=canonical href=/bare></head>" + HEAD.format("C")),
    _page("/noindex", HEAD.format("Noindex"), headers={"X-Robots-Tag": "noindex"}),
    _page("/for-google", HEAD.format("Google"), headers={"X-Robots-Tag": "googlebot: noindex"}),
    _page("/for-badbot", HEAD.format("Badbot"), headers={"X-Robots-Tag": "badbot: noindex"}),
    _page("/english", HEAD.format("English").replace("=de", "=en")),
    _page("/file", "%PDF-1.7", content_type="application/pdf"),
    _page(
        "/sitemap.xml",
        f"<urlset><url><loc>{SITE}/</loc></url><url><loc>{SITE}/gone</loc></url><url><loc>{SITE}/new</loc></url></urlset>",
        content_type="application/xml",
    ),
    Page(url=f"{SITE}/unread", content_type="text/html", fetched_at=FETCHED, digest="sha256:" + "0" * 64),
)


def stored(table: webtable.WebTable) -> None:
    """Store the site in *table*, which gets the index for near duplicates."""
    table.indexes.add("similarity")
    with table.writer() as writer:
        writer.put_many(PAGES)
        writer.put_failed("https://audited.example/slow", "timeout")


def named(rows: list[dict[str, Any]]) -> set[object]:
    """Return what the *rows* of a section, or of the answer to its command, are about: a URL, or those of a group."""
    return {
        tuple(row["urls"][:3]) if "urls" in row else row["target"] if "target" in row else row["url"] for row in rows
    }

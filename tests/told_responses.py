"""Responses whose headers and HTML say the same of a page, or differ, and what the page is to be stored as."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import webtable

SITE = "http://told.example/"
FETCHED = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
CONFIRMED = FETCHED + timedelta(days=1)
MODIFIED = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
NAMES = (
    *("canonical", "robots", "language", "title", "h1", "description"),
    *("content_type", "charset", "etag", "last_modified", "robots_by_bot", "other_canonical"),
)

Lines = list[tuple[str, str]]


class Told(NamedTuple):
    """A response, what its page is told to be, the headers of a later 304, and what differs in the page after that."""

    headers: Lines
    body: bytes
    facts: dict[str, object]
    newer: Lines
    after: dict[str, object]


def facts(canonical=None, robots=None, language=None, **others):
    """Return all facts of a page, those that are not named as most of these pages have them."""
    usual = {"title": "T", "h1": "H", "description": "D", "content_type": "text/html", "charset": "utf-8"}
    named = {"canonical": canonical and SITE + canonical, "robots": robots, "language": language}
    return dict.fromkeys(NAMES) | usual | named | others


def html(head="", lang=""):
    return (
        f"<html{lang}><head><title>T</title><meta name=description content=D>{head}</head>"
        "<body><h1>H</h1><a href='/next'>next</a></body></html>"
    ).encode()


ALL = html("<meta name=robots content='NoIndex, nofollow'><link rel=canonical href='/of-html'>", " lang=de")
TYPE = ("Content-Type", "text/html")
ROBOTS, OTHER = ("X-Robots-Tag", "noarchive"), ("X-Robots-Tag", "nosnippet")
LANGUAGE = ("Content-Language", "en")
LINK = ("Link", "</style.css>; rel=preload, </of-headers>; rel=canonical")
DISAGREEING = {"other_canonical": SITE + "of-headers"}
VERSION = [("ETag", '"1"'), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")]
VERSIONS = {"etag": '"1"', "last_modified": MODIFIED}

RESPONSES = {
    "headers alone": Told(
        [TYPE, ROBOTS, LANGUAGE, LINK, *VERSION],
        html(),
        facts("of-headers", "noarchive", "en", **VERSIONS),
        [OTHER, ("Content-Language", "fr"), ("Link", "</later>; rel=canonical"), ("ETag", '"2"')],
        {"canonical": SITE + "later", "robots": "nosnippet", "language": "fr", "etag": '"2"'},
    ),
    "markup alone": Told(
        [TYPE],
        ALL,
        facts("of-html", "noindex, nofollow", "de"),
        [ROBOTS, LANGUAGE, LINK],
        {"robots": "noindex, nofollow, noarchive", **DISAGREEING},
    ),
    "markup alone, and a 304 without headers": Told([TYPE], ALL, facts("of-html", "noindex, nofollow", "de"), [], {}),
    "both, agreeing": Told(
        [TYPE, ("X-Robots-Tag", "noindex, nofollow"), ("Content-Language", "de"), ("Link", "</of-html>;rel=canonical")],
        ALL,
        facts("of-html", "noindex, nofollow", "de"),
        [("X-Robots-Tag", "all"), LANGUAGE, LINK],
        {"robots": "noindex, nofollow, all", **DISAGREEING},
    ),
    "both, conflicting": Told(
        [TYPE, ROBOTS, LANGUAGE, LINK],
        ALL,
        facts("of-html", "noindex, nofollow, noarchive", "de", **DISAGREEING),
        [TYPE, ROBOTS, LANGUAGE, LINK],
        {},
    ),
    "each something": Told(
        [TYPE, ROBOTS, LINK],
        html("<meta name=robots content=noindex>", " lang=pt-BR"),
        facts("of-headers", "noindex, noarchive", "pt-br"),
        [("X-Robots-Tag", "")],
        {"robots": "noindex"},
    ),
    "a charset in the header": Told(
        [("Content-Type", "text/html; charset=koi8-r"), ROBOTS],
        ALL.decode().replace("<title>T", "<title>Привет").encode("koi8-r"),
        facts("of-html", "noindex, nofollow, noarchive", "de", title="Привет", charset="koi8-r"),
        [OTHER],
        {"robots": "noindex, nofollow, nosnippet"},
    ),
    "several lines for robots": Told(
        [TYPE, ("X-Robots-Tag", "noarchive"), ("X-Robots-Tag", "NoSnippet"), *VERSION],
        html("<meta name=robots content=noindex>"),
        facts(robots="noindex, noarchive, nosnippet", **VERSIONS),
        [("X-Robots-Tag", "noimageindex"), ("X-Robots-Tag", "notranslate")],
        {"robots": "noindex, noimageindex, notranslate"},
    ),
    "rules for single robots": Told(
        # The rules are Google's: the name of a robot holds for its line, and "none" of another rule is not "none".
        [
            TYPE,
            ("X-Robots-Tag", "GoogleBot: noindex"),
            ("X-Robots-Tag", "NoArchive"),
            ("X-Robots-Tag", "otherbot: none, max-image-preview: none"),
            ("X-Robots-Tag", "unavailable_after: Sat, 25 Jun 2010 15:00:00 GMT"),
        ],
        html("<meta name=robots content='max-image-preview : none'><meta name=GOOGLEBOT content=' NoSnippet , index'>"),
        facts(
            robots="max-image-preview:none, noarchive, unavailable_after: sat, 25 jun 2010 15:00:00 gmt",
            robots_by_bot="googlebot: nosnippet, index, noindex, otherbot: none, max-image-preview:none",
        ),
        [("X-Robots-Tag", "bingbot: noindex"), ("X-Robots-Tag", "nofollow")],
        {
            "robots": "max-image-preview:none, nofollow",
            "robots_by_bot": "googlebot: nosnippet, index, bingbot: noindex",
        },
    ),
    "canonical URLs that disagree": Told(
        [TYPE, ("Link", "</of-headers>; rel=canonical")],
        html("<link rel=canonical href='/of-html'>"),
        facts("of-html", **DISAGREEING),
        [("Link", "</of-html>; rel=canonical")],
        {"other_canonical": None},
    ),
    "canonical URLs of the markup that disagree": Told(
        [TYPE],
        html("<link rel=canonical href='/of-html'><link rel=canonical href='/second'>"),
        facts("of-html", other_canonical=SITE + "second"),
        [LINK],
        {},
    ),
    "names in odd case": Told(
        [("CONTENT-TYPE", "Text/HTML"), ("x-ROBOTS-tag", "NOARCHIVE"), ("content-LANGUAGE", "EN"), ("LINK", LINK[1])],
        html(),
        facts("of-headers", "noarchive", "en"),
        [("x-robots-TAG", "nosnippet")],
        {"robots": "nosnippet"},
    ),
    "several languages": Told(
        [TYPE, ("Content-Language", "de, en")], html(), facts(), [LANGUAGE], {"language": "en"}
    ),
    "no headers at all": Told(
        [], ALL, facts("of-html", "noindex, nofollow", "de"), [ROBOTS], {"robots": "noindex, nofollow, noarchive"}
    ),
    "no html": Told(
        [("Content-Type", "application/pdf"), ROBOTS, LANGUAGE, LINK],
        b"%PDF-1.7\n\xff",
        facts(
            "of-headers", "noarchive", "en",
            title=None, h1=None, description=None, content_type="application/pdf", charset=None,
        ),
        [OTHER],
        {"robots": "nosnippet"},
    ),
}  # fmt: skip


def url_of(name: str) -> str:
    return SITE + name.replace(" ", "-").replace(",", "")


def facts_in(table: webtable.WebTable) -> dict[str, dict[str, object]]:
    """Return the facts that *table* has of all these pages."""
    pages = {name: table.get(url_of(name)) for name in RESPONSES}
    return {name: {one: getattr(page, one) for one in NAMES} for name, page in pages.items() if page is not None}


def put_confirmed(table: webtable.WebTable) -> None:
    """Store the later 304 of all these pages."""
    for name, told in RESPONSES.items():
        table.put_not_modified(url_of(name), CONFIRMED, told.newer)


TOLD = {name: told.facts for name, told in RESPONSES.items()}
TOLD_AFTER = {name: told.facts | told.after for name, told in RESPONSES.items()}

"""A page for every kind of capture that a table holds, each with versions around it, and all that is asked of a page.

`KINDS` has the captures of each kind in the order in which they are stored; `stored_kinds` stores them, with the
deletes that some of them need. What is asked is asked before, at and after the date of every capture.
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from operator import attrgetter

from msgspec.structs import replace

import webtable
from webtable import Link, Page
from webtable.page.json_lines import ATTRIBUTES, values_of

DELETION_CLOCK = "webtable.repository.maintenance.delete.now_in_milliseconds"
START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
MINUTE, MILLISECOND = timedelta(minutes=1), timedelta(milliseconds=1)
HOST = "https://kinds.example"
LINKS = (Link("https://kinds.example/linked", "a link", "nofollow"), Link("https://elsewhere.example/", "", ""))
HTML = b'<html lang="en"><title>T</title><h1>H</h1><a href=/linked rel=nofollow>a link</a>'
EVERYTHING = (
    b'<html lang="pt-BR"><head><title>Everything &amp; more</title><link rel=canonical href=/canonical>'
    b'<meta name=description content="what it is"><meta name=robots content="noarchive"></head>'
    b"<h1>A heading</h1><a href=/linked>one</a> <a href=https://elsewhere.example/ rel=nofollow>two</a>"
)
UNKNOWN = "blake3:" + "ab" * 32
"""The digest of a body that nobody has."""

# What becomes of a page in its table alone, as docs/backup.md says: counted as captures come in, or a matter of where
# content lies.
COUNTED = {"first_seen", "change_count", "changed_at", "inlinks_at", "hints_at", "link_counts"}


def url_of(kind: str) -> str:
    return f"{HOST}/{kind.replace(' ', '-')}"


def _at(minutes: float) -> datetime:
    return START + minutes * MINUTE


def _page(minutes: float, html: bytes | None = None, **fields) -> Page:
    return Page(url="", body=html, fetched_at=_at(minutes), **fields)


_FIRST, _LAST = b"<title>first</title>", b"<title>last</title>"


def _first() -> Page:
    return _page(0, _FIRST, content_type="text/html")


def _last() -> Page:
    return _page(20, _LAST, content_type="text/html")


def _between(*captures: Page) -> list[Page]:
    """Return *captures* of ten minutes later, with another version before and behind them."""
    return [_first(), *captures, _last()]


_TYPED = {"content_type": "text/html", "headers": {"Content-Type": "text/html; charset=utf-8", "ETag": '"1"'}}
_STATUSES = (100, 199, 204, 206, 299, 300, 305, 399, 418, 499, 511, 599, 600, 999)

KINDS: dict[str, list[Page]] = {
    "html": _between(_page(10, HTML, headers={"Content-Type": "text/html; charset=utf-8"})),
    "html with every field": _between(
        _page(
            10,
            EVERYTHING,
            headers={
                "Content-Type": "text/html; charset=iso-8859-1",
                "ETag": 'W/"7"',
                "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
                "X-Robots-Tag": "noindex",
            },
        )
    ),
    "html with fields that are not in it": _between(
        _page(
            10,
            HTML,
            title="Given",
            canonical="https://elsewhere.example/c",
            description="given too",
            robots="none",
            h1="Given heading",
            language="de",
            charset="windows-1252",
            etag='"given"',
            last_modified=datetime(1999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC),
            content_type="text/html",
            outlinks=(Link("https://elsewhere.example/given", "given", "ugc"),),
        )
    ),
    "html without the links in it": _between(_page(10, HTML, title="T", charset="utf-8", outlinks=())),
    "without a type": _between(_page(10, b"<p>text")),
    "an empty body": _between(_page(10, b"", headers={"Content-Type": "text/html"})),
    "an empty body without a type": _between(_page(10, b"")),
    "an error without a body": _between(_page(10, status=404)),
    "an error with an empty body": _between(_page(10, b"", status=503)),
    "an error without a body, twice": _between(_page(10, status=404), _page(11, status=404)),
    "an error without a body, last and twice": [_first(), _page(10, status=410), _page(11, status=410)],
    "a redirect without a body": _between(_page(10, status=301, redirect_to="https://kinds.example/html")),
    "a redirect with an empty body": _between(_page(10, b"", status=302, redirect_to="https://elsewhere.example/x")),
    "a redirect to a relative place": _between(_page(10, status=307, headers={"Location": "../else?where=1"})),
    "a redirect that its header does not name": _between(
        _page(10, b"x", status=200, redirect_to="https://elsewhere.example/refreshed")
    ),
    "headers alone": _between(_page(10, **_TYPED)),
    "headers alone, last": [_first(), _page(10, **_TYPED)],
    "a title alone": _between(_page(10, title="Only a title")),
    "links without a body": _between(_page(10, outlinks=LINKS, headers={"X-A": "1"})),
    "other links without a body": _between(_page(10, outlinks=LINKS), _page(11, outlinks=LINKS[:1])),
    "a size alone": _between(_page(10, size=123_456)),
    "a digest alone": _between(_page(10, digest=UNKNOWN, size=99, content_type="text/html")),
    "a digest alone, of sha256": _between(_page(10, digest="12" * 32, headers={"Content-Length": "77"})),
    "a digest alone, last": [_first(), _page(10, digest=UNKNOWN, size=99)],
    "a digest alone, first": [_page(10, digest=UNKNOWN, size=99), _last()],
    "pdf": _between(_page(10, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\x00\xff", headers={"Content-Type": "application/pdf"})),
    "pdf with links and a title": _between(
        _page(
            10,
            b"%PDF-1.7",
            content_type="application/pdf",
            title="A paper",
            language="fr",
            language_detected=True,
            outlinks=LINKS,
        )
    ),
    "image": _between(_page(10, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), headers={"Content-Type": "image/png"})),
    "json": _between(_page(10, b'{"a": "\xc3\xa9"}', headers={"Content-Type": "application/json"})),
    "text": _between(_page(10, b"a < b", headers={"Content-Type": "text/plain"})),
    "a body like gzip": _between(_page(10, gzip.compress(b"x", mtime=0), content_type="application/gzip")),
    "a body like a response": _between(
        _page(10, b"HTTP/1.1 404 No\r\n\r\nWARC/1.1\r\n\r\n", content_type="text/plain")
    ),
    "a body that was cut": _between(_page(10, b"<title>whole</title>" + b"x" * 3_000, content_type="text/html")),
    "a body that was cut, last and repeated": [
        _first(),
        _page(10, b"<title>whole</title>" + b"y" * 3_000, content_type="text/html"),
        _page(11, b"<title>whole</title>" + b"y" * 3_000, content_type="text/html"),
    ],
    "a body that came cut": _between(_page(10, b"<title>c", content_type="text/html", truncated=True)),
    "a 304": [_first(), _page(10, status=304, headers={"ETag": '"2"'})],
    "a 304 and more": _between(_page(10, status=304)),
    "a 304 after an error": _between(_page(5, b"no", status=500), _page(10, status=304)),
    "a 304 after an error, last": [_first(), _page(5, b"no", status=500), _page(10, status=304)],
    "a 304 after an error alone": [_page(0, b"no", status=500), _page(10, status=304), _last()],
    "a 304 after an error alone, last": [_page(0, b"no", status=500), _page(10, status=304)],
    "a 304 after an error alone, twice": [
        _page(0, b"no", status=500),
        _page(10, status=304),
        _page(11, status=304),
    ],
    "a 304 of what is not stored": [_page(10, status=304, headers={"ETag": '"3"'})],
    "a 304 of what is not stored, and more": [_page(10, status=304), _last()],
    "a 304 before its page": [_page(10, status=304), _first()],
    "a 304 with a body": _between(_page(10, b"<p>odd", status=304, content_type="text/html")),
    "a 304 with an empty body": _between(_page(10, b"", status=304)),
    "a repeat": [_first(), _page(10, same_as="self", headers={"X-Again": "1"})],
    "a repeat with headers of its own": [_first(), _page(10, same_as="self", content_type="text/plain", etag='"r"')],
    "a repeat of what is not stored": [_page(10, same_as="self", headers={"X-A": "1"}), _last()],
    "a repeat of what is not stored, last": [_page(10, same_as="self", headers={"X-A": "1"})],
    "a repeat of a page without a body": [_page(0, status=404), _page(10, same_as="self", status=404)],
    "a repeat with another status": _between(_page(10, same_as="self", status=203)),
    "a repeat of another page": _between(_page(10, same_as=url_of("html"), headers={"X-A": "1"})),
    "a repeat of another page that is not stored": _between(
        _page(10, same_as="https://nowhere.example/", headers={"X-A": "1"})
    ),
    "a repeat of another page that is not stored, last": [
        _first(),
        _page(10, same_as="https://nowhere.example/", content_type="text/html"),
    ],
    "a repeat of another page that is not stored, with its digest": _between(
        _page(10, same_as="https://nowhere.example/", digest=UNKNOWN, size=5)
    ),
    "the same again": [_first(), replace(_first(), fetched_at=_at(10)), replace(_first(), fetched_at=_at(20))],
    "the same again with other headers": [_first(), replace(_first(), fetched_at=_at(10), headers={"X-Now": "2"})],
    "back to what it was": [_first(), _last(), replace(_first(), fetched_at=_at(30))],
    "a late one": [_first(), _last(), _page(10, b"<title>late</title>", content_type="text/html")],
    "a late one between repeats": [_first(), replace(_first(), fetched_at=_at(20)), _page(10, b"late")],
    "a late one without a body": [_first(), _last(), _page(10, status=404)],
    "a late one before all": [_page(10, b"ten"), _last(), _page(-5, b"early")],
    "several of one millisecond": _between(_page(10, b"one"), _page(10, b"two"), _page(10, status=404)),
    "a millisecond apart": [
        replace(_page(10, b"%d" % number), fetched_at=_at(10) + number * MILLISECOND) for number in range(3)
    ],
    "stripped encodings": _between(
        _page(10, HTML, headers={"Content-Encoding": "br", "Transfer-Encoding": "chunked", "Content-Length": "17"})
    ),
    "the length of another body": _between(_page(10, status=200, headers={"Content-Length": "17"})),
    "repeated headers": _between(
        _page(10, HTML, headers=[("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("Vary", "x"), ("VARY", "y")])
    ),
    "odd headers": _between(
        _page(
            10,
            HTML,
            headers={
                "X-Lines": "a\r\nX-Injected: b\n c",
                "X-Spaces": "  around\t ",
                "X-Empty": "",
                "X-Bytes": b"caf\xe9",
                "X-UTF-8": "café ☕",
                "X-Long": "v" * 20_000,
                "X-Colon: in it": "odd",
                "": "nameless",
                "X-Archive-Orig-Own": "1",
                "X-Comma": "a, b,,c",
                "X-Control": "a\x00b\x7f\x85\u2028c",
            },
        )
    ),
    "a header that is no text": _between(_page(10, HTML, headers={"X-Surrogate": "a\udc80b"})),
    **{f"status {status}": _between(_page(10, b"s%d" % status, status=status)) for status in _STATUSES},
    **{f"status {status} without a body": _between(_page(10, status=status)) for status in _STATUSES},
    "before 1990": [
        replace(_page(0, b"a"), fetched_at=datetime(1970, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC)),
        replace(_page(0, status=404), fetched_at=datetime(1989, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        replace(_page(0, b"b"), fetched_at=datetime(1996, 2, 29, 1, 2, 3, 45_000, tzinfo=UTC)),
    ],
    "a date in another zone": _between(
        replace(_page(10, b"z"), fetched_at=_at(10).astimezone(tz=None).replace(microsecond=999_999))
    ),
    "deleted and fetched again": [_first(), _page(10, b"deleted"), _last(), _page(30, status=404)],
    "deleted": [_first(), _page(10, b"gone")],
    **{
        f"at {url}": [replace(one, url=url) for one in _between(_page(10, HTML), _page(15, status=404))]
        for url in (
            "https://kinds.example:8443/port",
            "http://kinds.example/plain",
            "https://bücher.example/straße?q=ü",
            "http://[2001:db8::1]:8080/v6",
            "http://192.0.2.7/v4",
            "https://kinds.example/" + "long/" * 300 + "?" + "q=1&" * 200,
            "https://kinds.example/a%20b/%E2%98%95;p=1?x=%26&y=%00",
        )
    },
}
DELETED = {"deleted and fetched again": 2, "deleted": 2}
"""Behind how many of the captures a page of that kind is deleted, at the date of the last of them."""
FIRST_SEEN_IS_GONE = {url_of("a 304 of what is not stored, and more")}
"""Pages whose first capture is not kept by any table, so that only theirs knows its date."""
CUT = {"a body that was cut", "a body that was cut, last and repeated"}
MAX_BODY = 1_000
_CHANGES = [_at(minutes) for minutes in (-5, 0, 10, 11, 20, 30)]
_CHANGE_KINDS = ("new", "gone", "changed", "unchanged")


def captures_of(kind: str) -> list[Page]:
    """Return the captures of a page of that *kind*, in the order in which they are stored."""
    url = KINDS[kind][0].url or url_of(kind)
    # Else all pages would be duplicates of one another.
    named = {body: body + url.encode() for body in (_FIRST, _LAST)}
    own = [replace(one, url=url, body=named.get(one.body, one.body)) for one in KINDS[kind]]
    return [replace(one, same_as=url) if one.same_as == "self" else one for one in own]


def stored_kinds(table: webtable.WebTable, monkeypatch) -> webtable.WebTable:
    """Store the captures of all kinds in *table*, one by one, and return it."""
    from webtable._clock import milliseconds

    for kind in KINDS:
        with table.writer(max_body=MAX_BODY if kind in CUT else None) as writer:
            for number, page in enumerate(captures_of(kind), 1):
                writer.put(page).result()
                if DELETED.get(kind) == number:
                    writer.flush()
                    now = milliseconds(page.fetched_at)
                    monkeypatch.setattr(DELETION_CLOCK, lambda now=now: now)
                    table.delete(page.url)
                    monkeypatch.undo()
    return table


def moments_of(captures: list[Page]) -> list[datetime]:
    """Return the moments before, at and after each of *captures*."""
    dates = {one.fetched_at for one in captures}
    around = {date + by for date in dates for by in (-MILLISECOND, timedelta(), MILLISECOND)}
    return sorted(around | {max(dates) + timedelta(days=1)})


def fields_of(page: Page | None, without: set[str] = frozenset()) -> dict[str, object] | None:
    """Return all that is told of *page* but for what its table counts, and the fields *without*."""
    if page is None:
        return None
    left_out = COUNTED | without
    return values_of(page, [name for name in ATTRIBUTES if name not in left_out])


def _content_of(page: Page | None) -> tuple[object, ...] | None:
    # Which capture stands for a content is a matter of where that lies.
    return None if page is None else (page.digest, page.size, page.status, page.redirect_to, page.title)


def answers(
    table: webtable.WebTable, url: str, moments: list[datetime], without: set[str] = frozenset()
) -> dict[str, object]:
    """Return what *table* answers about the page at *url*, at all *moments*."""
    columns = ["body", "outlinks"]
    told: dict[str, object] = {
        f"as of {moment}": fields_of(table.get(url, as_of=moment, columns=columns), without) for moment in moments
    }
    told["now"] = fields_of(table.get(url, columns=columns), without)
    page = table.get(url)
    told["first seen"] = None if page is None or url in FIRST_SEEN_IS_GONE else page.first_seen
    told["history"] = [fields_of(one, without) for one in table.history(url, columns=columns)]
    told["validators"] = table.validators(url)
    told["links"] = list(table.links.of(url))
    told["duplicates"] = None if page is None else sorted(one.url for one in table.duplicates(url))
    return told


def indexed(table: webtable.WebTable, without: set[str] = frozenset()) -> dict[str, object]:
    """Return what the indexes of *table* answer, and who links where."""
    table.links.refresh()
    told: dict[str, object] = {
        name: [fields_of(one, without) for one in attrgetter(name)(table)()]
        for name in ("fetched", "largest", "errors", "redirects", "links.most_linked", "links.dead_ends")
    }
    told["linking"] = [(one.source, one.anchor, one.rel) for one in table.links.to(LINKS[0].url)]
    told["changes"] = [
        (one.kind, one.url, _content_of(one.before), _content_of(one.after))
        for since, until in pairwise(_CHANGES)
        for one in table.changes(webtable.ALL, since=since, until=until, kind=_CHANGE_KINDS)
        if one.url not in FIRST_SEEN_IS_GONE
    ]
    told["hosts"] = [(host.name, host.pages, host.bytes) for host in table.hosts()]
    told["groups"] = [(one.urls, one.pages) for one in table.duplicate_groups(webtable.ALL)]
    return told

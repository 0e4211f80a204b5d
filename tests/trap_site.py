"""A small site with the traps that stop crawlers, which all examples of crawlers are run against.

It is served by `benchmarks.crawl_site`, so a crawler has to be told of its proxy.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import brotli
from benchmarks.crawl_site import Answer, CrawlSite, serving

HOST = "traps.example"
HOME = f"http://{HOST}/"

HTML = {"Content-Type": "text/html; charset=utf-8"}
TAGGED = HTML | {"ETag": '"1"'}
REFRESH = "<meta http-equiv=refresh content='0; url=/refreshed'>"
_WITHOUT_SPACES = """
mailto:a@example.com MAILTO:a@example.com?subject=x tel:+49 sms:1 javascript:void(0) data:text/html,x about:blank # #p
ftp://traps.example/file // http:// http:///x https:traps http://[::1 http://[v9.x]/ http://%zz/ /% /%zz \\\\x
http://traps.example:port/ http://traps.example:99999/ http://traps.example@:80/ http://user:word@traps.example/gone
"""
_HOSTS = ("a b", "a.", "", "-", "_a", "xn--a", "\N{SOFT HYPHEN}", "a" * 70)
LINKS_TO_NOTHING = [
    *_WITHOUT_SPACES.split(),
    *("", " ", "/\N{LINE SEPARATOR}", "/" + "x" * 3_000),
    *(f"http://{host}.traps.example/" for host in _HOSTS),
]
"""What stands in `href` and is no page of the site, or none that exists."""


def _html(text: str, *, title: str = "A page", **more: str) -> Answer:
    return Answer(200, HTML | more, f"<title>{title}</title>{text}".encode())


def _encoded(answer: Answer, name: str) -> Answer:
    body = gzip.compress(answer.body, mtime=0) if name == "gzip" else brotli.compress(answer.body)
    return replace(answer, headers=dict(answer.headers) | {"Content-Encoding": name}, body=body)


def _moved(status: int, target: str) -> Answer:
    return Answer(status, HTML | {"Location": target}, b"<title>Moved</title>")


STORED = {
    "image.png": Answer(200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n" + bytes(100)),
    "image-as-html": Answer(200, HTML, b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
    "report.pdf": Answer(200, {"Content-Type": "application/pdf"}, b"%PDF-1.7\n\xff"),
    "data.json": Answer(200, {"Content-Type": "application/json"}, b'{"href": "/nowhere"}'),
    "list.json": Answer(200, {"Content-Type": "application/json"}, b"[broken"),
    "feed.xml": Answer(200, {"Content-Type": "application/xml"}, b"<a href='/nowhere'"),
    "plain": Answer(200, {"Content-Type": "text/plain"}, b"<a href=/nowhere>"),
    "no-type": Answer(200, {}, b"<!doctype html><html><title>No type</title><a href=/behind-no-type>x</a>"),
    "behind-no-type": _html(""),
    "odd-type": Answer(200, {"Content-Type": "text/html;;charset=nonsense; ="}, b"<title>Odd</title>"),
    "empty": Answer(200, HTML),
    "nothing": Answer(204),
    "gzip": _encoded(_html("<a href=/behind-gzip>x</a>", title="Gzip"), "gzip"),
    "behind-gzip": _html(""),
    "brotli": _encoded(_html("<a href=/behind-brotli>x</a>", title="Brotli"), "br"),
    "behind-brotli": _html(""),
    "recovers": replace(_html("<a href=/behind-recovers>x</a>", title="Recovered"), busy=1, busy_status=500),
    "behind-recovers": _html(""),
    "error": Answer(500, HTML, b"<title>Error</title>"),
    "gone": Answer(404, HTML, b"<title>Gone</title>"),
    "forbidden": Answer(403, HTML, b"<title>Forbidden</title>"),
    "moved": _moved(301, "/target"),
    "target": _html("<a href=/behind-moved>x</a>", title="Target"),
    "behind-moved": _html(""),
    "loop-a": _moved(302, "/loop-b"),
    "loop-b": _moved(302, "/loop-a"),
    "to-itself": _moved(301, "/to-itself"),
    "to-mail": _moved(302, "mailto:a@example.com"),
    "to-nonsense": _moved(302, "http://[::1"),
    "no-location": Answer(302, HTML),
    "same": Answer(200, TAGGED, b"<title>Same</title><a href=/behind-same>x</a>"),
    "behind-same": Answer(200, TAGGED, b"<title>Behind</title>"),
    "old": _html(REFRESH, title="Old"),
    "old-with-a-tag": Answer(200, TAGGED, f"<title>Old</title>{REFRESH}".encode()),
    "refreshed": _html("", title="Refreshed"),
    "slow": replace(_html("", title="Slow"), seconds=0.3),
    "after": _html("", title="After all"),
}
"""What is stored by a crawler that follows links and redirects, by its path."""
NOT_BY_HTTPX = {"to-mail", "to-nonsense"}
"""Redirects that httpx raises for, instead of giving them to a crawler."""
NOT_STORED = {
    "not-modified": Answer(304, {"ETag": '"1"'}),  # nobody has asked whether it is
    "cut": replace(_html("x" * 1_000), is_cut=True),
    "dropped": Answer(0),
    "not-gzip": Answer(200, HTML | {"Content-Encoding": "gzip"}, b"\x1f\x8bno gzip"),
}
"""What need not be stored: nothing whole comes, or nothing that can be decoded."""
CALENDAR = re.compile(r"http://traps\.example/calendar/(\d+)")


class TrapSite(CrawlSite):
    """The site, with a calendar that never ends."""

    def _found(self, url: str) -> Answer:
        if day := CALENDAR.fullmatch(url):
            return _html(f"<a href=/calendar/{int(day[1]) + 1}>tomorrow</a>")
        return super()._found(url)

    def days_asked(self) -> int:
        """How far a crawler went into the calendar."""
        return sum(CALENDAR.fullmatch(asked.url) is not None for asked in self.asked)


@contextmanager
def trap_site() -> Iterator[TrapSite]:
    """Lend the site, whose home page links to all traps, and last to what must be reached all the same."""
    paths = [f"/{path}" for path in (*NOT_STORED, *STORED) if not path.startswith(("behind", "after", "refreshed"))]
    links = [*LINKS_TO_NOTHING, *paths, "/calendar/1", "  /after\n"]
    home = "<a>no href</a>" + "".join(f'<a href="{link}">x</a>' for link in links)
    answers = {HOME: _html(home, title="Home"), f"{HOME}robots.txt": Answer(404)}
    answers |= {f"{HOME}{path}": answer for path, answer in (STORED | NOT_STORED).items()}
    with serving(TrapSite(answers)) as site:
        yield site

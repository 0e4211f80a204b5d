"""A few pages of many kinds, as a crawler gets them from one site."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from webtable._page.page import Page, with_facts

_HOME = b"""<!doctype html><html lang=en><title>Welcome</title><h1>Welcome</h1>
<a href=/new>New</a> <a href=/old>Old</a> <a href=/gone rel=nofollow>Gone</a> <a href=/report.pdf>Report</a>
<a href=https://example.org/>Elsewhere</a>"""
_NEW = b"<!doctype html><title>New</title><h1>What is new</h1><a href=/>Home</a> <a href=/privet>In Russian</a>"
_RUSSIAN = "<!doctype html><html lang=ru><title>Привет</title><h1>Привет, мир</h1><a href=/>Домой</a>".encode("cp1251")
_GONE = b"<!doctype html><title>Not found</title><h1>Not found</h1>"
_LONG = b"<!doctype html><title>Long</title><a href=/>Home</a><p>" + b"and so on " * 100
_PDF = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj
trailer<</Root 1 0 R>>
%%EOF
"""
_HTML = {"Content-Type": "text/html; charset=utf-8"}
_VERSION = {"ETag": '"1"', "Last-Modified": "Sun, 01 Mar 2026 12:00:00 GMT"}


def sample_pages(until: datetime | None = None) -> list[Page]:
    """Return a few pages of example.com in the order of their dates, a second apart, the last at *until*.

    These are HTML with links, within the site and out of it; a redirect and the page that it leads to; a 404; a PDF;
    a page in windows-1251; one that was cut; and last a 304, which repeats the first. *until* is now by default.

    >>> [(page.status_code, page.url) for page in sample_pages()]
    ... # doctest: +NORMALIZE_WHITESPACE
    [(200, 'https://example.com/'), (301, 'https://example.com/old'), (200, 'https://example.com/new'),
     (404, 'https://example.com/gone'), (200, 'https://example.com/report.pdf'), (200, 'https://example.com/privet'),
     (200, 'https://example.com/long'), (304, 'https://example.com/')]
    """
    newest = (until or datetime.now(UTC)).astimezone(UTC)
    newest = newest.replace(microsecond=newest.microsecond // 1_000 * 1_000)  # to the millisecond, as pages are stored
    pages = [
        Page(url="https://example.com/", headers=_HTML | _VERSION, html=_HOME),
        Page(url="https://example.com/old", status_code=301, headers=_HTML | {"Location": "/new"}, html=b""),
        Page(url="https://example.com/new", headers=_HTML, html=_NEW),
        Page(url="https://example.com/gone", status_code=404, headers=_HTML, html=_GONE),
        Page(url="https://example.com/report.pdf", headers={"Content-Type": "application/pdf"}, html=_PDF),
        Page(url="https://example.com/privet", headers={"Content-Type": "text/html; charset=cp1251"}, html=_RUSSIAN),
        Page(url="https://example.com/long", headers=_HTML, html=_LONG, truncated=True),
        Page(url="https://example.com/", status_code=304, headers=_VERSION),
    ]
    return [
        with_facts(msgspec.structs.replace(page, fetched_at=newest - timedelta(seconds=age)))
        for age, page in zip(reversed(range(len(pages))), pages, strict=True)
    ]

"""Sample pages of many kinds, as a crawler gets them from one site, and WARC files made of pages."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from webtable._clock import clock
from webtable.errors import InvalidArgument
from webtable.formats.warc_out import REVISIT, new_record, sha256
from webtable.page.headers import Headers
from webtable.page.page import Page, with_header_fields

if TYPE_CHECKING:
    from os import PathLike

RawResponse: TypeAlias = tuple[str, int, Mapping[str, str] | Iterable[tuple[str, str]], bytes]
"""A response as received: its URL, its status, its headers, and its body with all encodings."""

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
# The body of a page is decoded, so these headers do not apply to it.
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_VERSION = {"ETag": '"1"', "Last-Modified": "Sun, 01 Mar 2026 12:00:00 GMT"}


def sample_pages(until: datetime | None = None) -> list[Page]:
    """A few pages of example.com in the order of their dates, a second apart, the last at *until*.

    These are HTML with links, within the site and out of it; a redirect and its target; a 404; a PDF; a page in
    windows-1251; one that was truncated; and last a 304, which repeats the first. *until* is now by default.

    >>> [(page.status, page.url) for page in sample_pages()]
    ... # doctest: +NORMALIZE_WHITESPACE
    [(200, 'https://example.com/'), (301, 'https://example.com/old'), (200, 'https://example.com/new'),
     (404, 'https://example.com/gone'), (200, 'https://example.com/report.pdf'), (200, 'https://example.com/privet'),
     (200, 'https://example.com/long'), (304, 'https://example.com/')]
    """
    newest = (until or clock.now()).astimezone(UTC)
    newest = newest.replace(microsecond=newest.microsecond // 1_000 * 1_000)  # to the millisecond, as pages are stored
    pages = [
        Page(url="https://example.com/", headers=_HTML | _VERSION, body=_HOME),
        Page(url="https://example.com/old", status=301, headers=_HTML | {"Location": "/new"}, body=b""),
        Page(url="https://example.com/new", headers=_HTML, body=_NEW),
        Page(url="https://example.com/gone", status=404, headers=_HTML, body=_GONE),
        Page(url="https://example.com/report.pdf", headers={"Content-Type": "application/pdf"}, body=_PDF),
        Page(url="https://example.com/privet", headers={"Content-Type": "text/html; charset=cp1251"}, body=_RUSSIAN),
        Page(url="https://example.com/long", headers=_HTML, body=_LONG, truncated=True),
        Page(url="https://example.com/", status=304, headers=_VERSION),
    ]
    return [
        with_header_fields(msgspec.structs.replace(page, fetched_at=newest - timedelta(seconds=age)))
        for age, page in zip(reversed(range(len(pages))), pages, strict=True)
    ]


class MakeWarc(Protocol):
    """The type of the fixture `make_warc`: a function that writes a WARC file into the folder of the test."""

    def __call__(self, pages: Iterable[Page | RawResponse], name: str = "crawl.warc.gz") -> Path:
        """Write *pages* into the file *name*, and return its path."""
        ...


def write_warc(path: str | PathLike[str], pages: Iterable[Page | RawResponse]) -> Path:
    r"""Write *pages* into a new WARC file, each as a record in a separate gzip member, and return its path.

    A page gets its own headers, and those that follow from its fields; a page that repeats another capture (`same_as`)
    becomes a revisit record, a truncated page a truncated record. A tuple (URL, status, headers, body) is written as it
    is, with the current date, so a response can be compressed, or damaged. Raises `InvalidArgument` for a page whose
    body is in a store but was not read.

    >>> from webtable.formats import read_pages
    >>> path = getfixture("tmp_path") / "crawl.warc.gz"
    >>> hello = ("https://example.com/", 200, {"Content-Type": "text/html"}, b"<title>Hello</title>")
    >>> [page.title for page in read_pages(write_warc(path, [hello]))]
    ['Hello']
    """
    path = Path(path)
    members = [gzip.compress(_record(page), mtime=0) for page in pages]
    path.write_bytes(b"".join(members))
    return path


def _record(page: Page | RawResponse) -> bytes:
    if not isinstance(page, Page):
        url, status, headers, body = page
        return _written(url, clock.now(), {}, _head(status, headers), body)
    if page.body is None and page.has_body:
        raise InvalidArgument(f"page={page.url!r} has a body that was not asked for: name the column html as well")
    head = _head(page.status, _headers(page))
    return _written(page.url, page.fetched_at, _fields(page), head, page.body or b"")


def _fields(page: Page) -> dict[str, str]:
    """The fields of the record of *page* besides its response (sections 5.13 and 6.7 of WARC 1.1)."""
    fields = {"WARC-Truncated": "length"} if page.truncated else {}
    if page.same_as is not None:
        profile = "server-not-modified" if page.status == 304 else "identical-payload-digest"
        fields |= {"WARC-Profile": REVISIT + profile, "WARC-Refers-To-Target-URI": page.same_as}
    return fields


def _headers(page: Page) -> list[tuple[str, str]]:
    """The headers of *page*, and those that follow from its fields if it has none of that name."""
    dated = page.last_modified
    modified = None if dated is None else format_datetime(dated.astimezone(UTC), usegmt=True)
    media = page.content_type and (
        f"{page.content_type}; charset={page.charset}" if page.charset else page.content_type
    )
    derived = {"Content-Type": media, "Location": page.redirect_to, "ETag": page.etag, "Last-Modified": modified}
    had = Headers(page.headers)
    own = [(name, value) for name, value in had.items() if name.lower() not in _OF_THE_TRANSFER]
    return own + [(name, value) for name, value in derived.items() if value is not None and name not in had]


def _head(status: int, headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> bytes:
    named = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"HTTP/1.1 {status} {responses.get(status, '')}", *(f"{name}: {value}" for name, value in named)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _written(url: str, when: datetime, fields: Mapping[str, str], head: bytes, body: bytes) -> bytes:
    named = [("WARC-Target-URI", url), *fields.items()]
    if "WARC-Profile" in fields:
        return b"".join(new_record("revisit", when, named, (head, body)).parts)
    return b"".join(new_record("response", when, [*named, ("WARC-Payload-Digest", sha256(body))], (head, body)).parts)

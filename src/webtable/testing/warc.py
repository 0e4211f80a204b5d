"""WARC files made of a few pages, for the tests of those who read such files."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from webtable._page.headers import Headers
from webtable._page.page import Page
from webtable.errors import InvalidArgument
from webtable.formats.archives.warc_records import REVISIT, record, sha256

if TYPE_CHECKING:
    from os import PathLike

RawResponse: TypeAlias = tuple[str, int, Mapping[str, str] | Iterable[tuple[str, str]], bytes]
"""A response as it came: its URL, its status, its headers, and its body with all encodings."""

# A page has its body without these, and with another length.
_OF_THE_TRANSFER = frozenset({"content-encoding", "transfer-encoding", "content-length"})


class MakeWarc(Protocol):
    """What the fixture `make_warc` gives: a function that writes a WARC file into the test's own folder."""

    def __call__(self, pages: Iterable[Page | RawResponse], name: str = "crawl.warc.gz") -> Path:
        """Write *pages* into the file *name*, and return its path."""
        ...


def write_warc(path: str | PathLike[str], pages: Iterable[Page | RawResponse]) -> Path:
    r"""Write *pages* into a new WARC file, each as a record in a gzip member of its own, and return its path.

    A page gets the headers that its fields tell, and those that it has; a page that repeats another capture (`same_as`)
    becomes a revisit record, one that was cut a truncated one. A tuple (URL, status, headers, body) is written as it
    is, with the date of now: so a response can be compressed, or damaged. Raises `InvalidArgument` for a page whose
    body is in a store, but was not asked for.

    >>> from webtable.formats import read_pages
    >>> path = getfixture("tmp_path") / "crawl.warc.gz"
    >>> file = write_warc(path, [("https://example.com/", 200, {"Content-Type": "text/html"}, b"<title>Hello</title>")])
    >>> [page.title for page in read_pages(file)]
    ['Hello']
    """
    path = Path(path)
    members = [gzip.compress(_record(page), mtime=0) for page in pages]
    path.write_bytes(b"".join(members))
    return path


def _record(page: Page | RawResponse) -> bytes:
    if not isinstance(page, Page):
        url, status, headers, body = page
        return _written(url, datetime.now(UTC), {}, _head(status, headers), body)
    if page.html is None and page.has_body:
        raise InvalidArgument(f"page={page.url!r} has a body that was not asked for: name the column html as well")
    head = _head(page.status_code, _headers(page))
    return _written(page.url, page.fetched_at, _fields(page), head, page.html or b"")


def _fields(page: Page) -> dict[str, str]:
    """Return what the record says of *page* beside its response (sections 5.13 and 6.7 of WARC 1.1)."""
    fields = {"WARC-Truncated": "length"} if page.truncated else {}
    if page.same_as is not None:
        profile = "server-not-modified" if page.status_code == 304 else "identical-payload-digest"
        fields |= {"WARC-Profile": REVISIT + profile, "WARC-Refers-To-Target-URI": page.same_as}
    return fields


def _headers(page: Page) -> list[tuple[str, str]]:
    """Return the headers of *page*, and those that its fields tell where it has none of that name."""
    dated = page.last_modified
    modified = None if dated is None else format_datetime(dated.astimezone(UTC), usegmt=True)
    media = page.content_type and (
        f"{page.content_type}; charset={page.charset}" if page.charset else page.content_type
    )
    told = {"Content-Type": media, "Location": page.redirect_to, "ETag": page.etag, "Last-Modified": modified}
    had = Headers(page.headers)
    own = [(name, value) for name, value in had.items() if name.lower() not in _OF_THE_TRANSFER]
    return own + [(name, value) for name, value in told.items() if value is not None and name not in had]


def _head(status: int, headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> bytes:
    named = headers.items() if isinstance(headers, Mapping) else headers
    lines = [f"HTTP/1.1 {status} {responses.get(status, '')}", *(f"{name}: {value}" for name, value in named)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def _written(url: str, when: datetime, fields: Mapping[str, str], head: bytes, body: bytes) -> bytes:
    told = [("WARC-Target-URI", url), *fields.items()]
    if "WARC-Profile" in fields:
        return b"".join(record("revisit", when, told, (head, body)).parts)
    return b"".join(record("response", when, [*told, ("WARC-Payload-Digest", sha256(body))], (head, body)).parts)

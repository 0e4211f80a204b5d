"""A page as a frozen value: one capture (one fetch) of one URL."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from webtable.encodings import codec_name, decoded, encoding_of
from webtable.errors import WebTableError
from webtable.headers import REDIRECTS, Headers, http_date, media_type, redirect_target
from webtable.responses import body_of, headers_of, status_of, url_of


class Link(NamedTuple):
    """A link of a page: the absolute URL it leads to, its anchor text and its `rel` ("" where it has none)."""

    url: str
    anchor: str = ""
    rel: str = ""


class LinkCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many pages link to a page, as they were counted last (`WebTable.refresh_links`).

    `inlinks` is all of them but the page itself: those of its registered domain are `internal`, the others `external`.
    """

    inlinks: int = 0
    internal: int = 0
    external: int = 0
    self_links: int = 0
    """1 where the page links to itself."""
    counted_at: datetime | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """A capture of a page.

    A caller gives `url`, `html` and `fetched_at`, and what else it knows, best of all the headers of the response:
    what these say is found in them when the page is put (`with_facts`). A page that was read carries the rest. `html`
    and `outlinks` are None where they were not asked for (or the page has none).
    """

    url: str
    """The URL; canonical (`webtable.rowkey.canonical_url`) once stored."""
    html: bytes | None = None
    """The body as it was sent, transfer and content encodings removed; HTML or any other type."""
    title: str | None = None
    status_code: int = 200
    content_type: str | None = None
    """The media type, as in `text/html`. Given as in a header, it is stored in lower case without its parameters."""
    charset: str | None = None
    headers: Mapping[str, str] = {}
    """The response's headers, as `Headers`: found in any case, repeated ones joined by ", ".

    They can be given as any mapping or list of pairs, of text or bytes.
    """
    fetched_at: datetime = msgspec.field(default_factory=_now)
    """When it was fetched (timezone-aware, kept to the millisecond): the timestamp of its cells."""
    last_modified: datetime | None = None
    etag: str | None = None
    digest: str | None = None
    """The SHA-256 of the whole body, in hex."""
    size: int | None = None
    """The length of the whole body in bytes, also of one that was cut."""
    truncated: bool = False
    """Whether the stored body was cut (`max_body`)."""
    redirect_to: str | None = None
    """Where a redirect leads. Given as it stands in a Location, it is stored as an absolute URL."""
    changed_at: datetime | None = None
    """When a capture first brought the content that the page has now."""
    change_count: int = 0
    """How many times a capture brought other content than what was stored, counted as they came in."""
    content_at: datetime | None = None
    """The capture under which body and links are stored; before `fetched_at` where the content did not change."""
    has_body: bool = False
    """Whether a body is stored with it, to be asked for as `html`."""
    outlink_count: int | None = None
    only_self_links: bool = False
    """Whether it has links, and all of them lead to itself."""
    outlinks: tuple[Link, ...] | None = None
    """The links of this capture in document order, one for each URL."""
    links_digest: str | None = None
    """Of a page with links and without a body: the SHA-256 of its links, in hex."""
    inlinks_at: datetime | None = None
    """The capture under which all its links were last written to the pages that they lead to."""
    hints_at: datetime | None = None
    """The date of its index entries and inlinks, where that is not `fetched_at`: another capture had the same date."""
    link_counts: LinkCounts | None = None
    """How many pages link to it, where that was asked for and has been counted."""
    same_as: str | None = None
    """Given with a capture that has no body of its own: the URL whose stored content it repeats.

    A 304 and most WARC revisit records repeat their own URL. It is not stored.
    """

    def __post_init__(self) -> None:
        headers = self.headers
        if headers and type(headers) is not Headers:
            # Of any other class they may be no headers at all: then they stay what they are, and `put` says so.
            with suppress(TypeError, ValueError):
                made = Headers.as_stored(headers) if type(headers) is dict else Headers(headers)
                msgspec.structs.force_setattr(self, "headers", made)

    @classmethod
    def from_response(cls, response: object, *, body: bytes | None = None, fetched_at: datetime | None = None) -> Page:
        """Return the page that an HTTP client's *response* is: its URL, status, headers and body, and what they say.

        Takes what has the shape of a response of httpx, requests, Scrapy or aiohttp; that of aiohttp, and any other
        that reads its body later, is given with its *body* (of aiohttp, `await response.read()`). A client that has
        followed redirects has the URL of the last; those before it are in its `response.history`, and are pages of
        their own. `fetched_at` is now, unless it is given. Raises `InvalidArgument` for what is no such response.
        """
        status = status_of(response)
        page = cls(
            url=url_of(response),
            html=None if status == 304 else body_of(response, body),
            status_code=status,
            headers=headers_of(response),
            fetched_at=fetched_at or _now(),
        )
        return with_facts(page)

    @property
    def text(self) -> str | None:
        """The body as text, in the charset that a browser would take; None where there is no body here.

        What that charset cannot read is U+FFFD, the replacement character.
        """
        return None if self.html is None else decoded(self.html, encoding_of(self.html, charset_of(self)))

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Page {self.url} {self.status_code}{title} fetched {self.fetched_at:%Y-%m-%d %H:%M:%S}>"


def charset_of(page: Page) -> str | None:
    """Return the charset that *page* brings, or else the one that its header announces.

    A version from the history does not bring its own.
    """
    return page.charset or media_type(page.headers.get("content-type"))[1]


def with_facts(page: Page) -> Page:
    """Return *page* with what its headers say, where it is not given.

    That is its media type and charset (Content-Type), ETag, date of modification (Last-Modified) and, of a redirect,
    where it leads (Location, which may be relative to the URL). A media type that is given as in a header is taken
    apart, a relative `redirect_to` resolved. A 304 without a body repeats what is stored of its URL (`same_as`).

    >>> page = Page(url="https://example.com/a", status_code=301, headers={"Location": "../b", "ETag": "1"})
    >>> with_facts(page).redirect_to, with_facts(page).etag
    ('https://example.com/b', '1')
    """
    headers = page.headers if isinstance(page.headers, Headers) else Headers(page.headers)
    named = headers.folded()
    if len(named) < len(headers):
        headers = Headers(headers.items())
        named = headers.folded()
    announced, charset = media_type(named.get("content-type"))
    media, own_charset = media_type(page.content_type)
    leads_to = page.redirect_to or (named.get("location") if page.status_code in REDIRECTS else None)
    repeats = page.status_code == 304 and page.html is None
    return msgspec.structs.replace(
        page,
        headers=headers or {},
        content_type=media or page.content_type or announced,
        charset=codec_name(own_charset or charset) if page.charset is None else page.charset,
        etag=named.get("etag") if page.etag is None else page.etag,
        last_modified=http_date(named.get("last-modified")) if page.last_modified is None else page.last_modified,
        redirect_to=redirect_target(page.url, leads_to) or page.redirect_to,
        same_as=page.url if repeats and page.same_as is None else page.same_as,
    )


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """What became of a page that was handed to a writer: stored where `error` is None.

    `is_new` tells whether it brought content that was not stored as the page's newest before.
    """

    url: str
    fetched_at: datetime
    error: WebTableError | None = None
    is_new: bool = True


LINK_BYTES = 250
"""About how many bytes of memory a link takes, with its URL and its anchor text."""
_PAGE_BYTES = 800
_LINK_BYTES = 160
_HEADER_BYTES = 130


def memory_of(page: Page) -> int:
    """Return about how many bytes of memory *page* takes, with its body, its links and its headers.

    The constants are what Python 3.11 takes for the objects, measured with tracemalloc; a character is taken for one
    byte.
    """
    links = page.outlinks or ()
    return (
        _PAGE_BYTES
        + len(page.url)
        + len(page.html or b"")
        + len(page.title or "")
        + sum(_LINK_BYTES + len(url) + len(anchor) for url, anchor, _ in links)
        + sum(_HEADER_BYTES + len(name) + len(value) for name, value in page.headers.items())
    )

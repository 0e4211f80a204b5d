"""A page as a frozen value: one capture (one fetch) of one URL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec

from webtable._clock import clock
from webtable._page.body import codec_name, decoded, encoding_of
from webtable._page.headers import (
    REDIRECTS,
    Headers,
    body_of,
    canonical_link,
    headers_of,
    http_date,
    media_type,
    redirect_target,
    said_once,
    status_of,
    url_of,
)
from webtable._shown import Shown, shown_text

_set = msgspec.structs.force_setattr


class Link(NamedTuple):
    """A link on a page: the absolute URL that it leads to, its anchor text, and its `rel` ("" if it has none)."""

    url: str
    anchor: str = ""
    rel: str = ""


class Facts(NamedTuple):
    """What a page says of itself, each None where it does not; the fields of `Page` tell more of each."""

    title: str | None = None
    canonical: str | None = None
    description: str | None = None
    robots: str | None = None
    h1: str | None = None
    language: str | None = None


# Bounds of what is decoded: another program may have stored anything. A value out of them makes its row, and no other,
# a damaged one; columns of 64 bits could not hold it, nor a WARC file a status of four digits.
Status = Annotated[int, msgspec.Meta(ge=100, le=999)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class LinkCounts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many pages link to a page, as of the last count (`WebTable.refresh_links`).

    `inlinks` counts all of them except the page itself. Those of the same registered domain are `internal`, the others
    `external`. `counted_at` is the time of the count.
    """

    inlinks: int = 0
    internal: int = 0
    external: int = 0
    self_links: int = 0
    """1 if the page links to itself, else 0."""
    counted_at: datetime | None = None


STORED_NAMES = {"status": "status_code"}
"""What fields are called in stored JSON, where that is something else."""


# No page leads back to itself, and the garbage collector would look through all that a listing has given.
class Page(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    gc=False,
    rename=STORED_NAMES,
):
    """A capture: one URL, fetched once.

    Give `url`, `body` and `fetched_at`, and what else you know, if possible the headers of the response: `put` finds in
    them what you leave out. Pages that come from the store have the other fields too; `body` and `outlinks` are None
    where you did not ask for them, or the page has none.
    """

    url: str
    """The URL; canonical (`webtable.rowkey.canonical_url`) once stored."""
    body: bytes | None = None
    """The body as it was sent, without transfer and content encodings; HTML or any other type."""
    title: str | None = None
    status: Status = 200
    """The status of the response, from 100 to 999."""
    content_type: str | None = None
    """The media type, as in `text/html`. What is given as in a header is stored in lower case, without parameters."""
    charset: str | None = None
    headers: Mapping[str, str] = {}
    """The headers of the response, as `Headers`: names in any case, repeated headers joined by ", ".

    Can be given as any mapping or list of pairs, of text or bytes.
    """
    fetched_at: datetime = msgspec.field(default_factory=clock.now)
    """When it was fetched: with a timezone, kept to the millisecond. The default is now."""
    last_modified: datetime | None = None
    etag: str | None = None
    digest: str | None = None
    """The digest of the whole body, as in `blake3:` and 64 hexadecimal digits; one without a name is SHA-256."""
    size: Size | None = None
    """The length of the whole body in bytes, even if the stored body was cut."""
    truncated: bool = False
    """Whether the stored body was cut (`max_body`)."""
    redirect_to: str | None = None
    """Where a redirect leads. What is given as in the header Location is stored as an absolute URL."""
    canonical: str | None = None
    """The URL that the page names as the one for its content (`rel=canonical`, in its head or in the header Link)."""
    description: str | None = None
    """The description in its head, at most 1,000 characters."""
    robots: str | None = None
    """What it tells crawlers, in lower case, as in `noindex, nofollow`: in its head and in the header X-Robots-Tag."""
    h1: str | None = None
    """Its first heading of the first level, at most 1,000 characters."""
    language: str | None = None
    """The language that it says it is in, in lower case, as in `pt-br`: of `<html>`, or the header Content-Language."""
    first_seen: datetime | None = None
    """The date of the oldest capture that was ever stored of it.

    None where that is not known: it was stored first when this was not kept yet.
    """
    changed_at: datetime | None = None
    """The date of the first capture with the content that the page has now."""
    change_count: Size = 0
    """How many times a capture had other content than was stored, in the order in which they were stored."""
    content_at: datetime | None = None
    """The date of the capture with which body and links are stored: before `fetched_at` if they did not change.

    Of a capture that is put, as exports write it: where it is the date of the capture, that is a version of its own,
    also a 304 or one with the content that is stored already. With `same_as` its own URL, and an older date, it says of
    which capture it repeats the content.
    """
    has_body: bool = False
    """Whether a body is stored, which you get when you ask for the column `body`."""
    outlink_count: Size | None = None
    only_self_links: bool = False
    """Whether the page has links, all of them to itself."""
    outlinks: tuple[Link, ...] | None = None
    """The links of this capture in the order of the document, one for each URL."""
    links_digest: str | None = None
    """For a page with links and without a body, the SHA-256 of its links, in hex."""
    inlinks_at: datetime | None = None
    """The date of the capture with which all its links were last written to the pages that they lead to."""
    hints_at: datetime | None = None
    """The date of its index entries and inlinks, if another capture had the same date as this one."""
    link_counts: LinkCounts | None = None
    """How many pages link to it, if you asked for that and it has been counted."""
    same_as: str | None = None
    """For a capture without a body of its own, the URL whose stored content it repeats. It is not stored.

    A response with status 304 repeats its own URL, and so do most WARC revisit records.
    """

    def __post_init__(self) -> None:
        headers = self.headers
        if headers and type(headers) is not Headers:
            # Each page of a listing comes here: `try` costs nothing where nothing is raised, `suppress` a tenth of it.
            try:
                made = Headers.as_stored(headers) if type(headers) is dict else Headers(headers)
            except (TypeError, ValueError):
                return  # of another class they may be no headers at all: they stay what they are, and `put` says so
            _set(self, "headers", made)

    @classmethod
    def from_response(cls, response: object, *, body: bytes | None = None, fetched_at: datetime | None = None) -> Page:
        """Return the page for the *response* of an HTTP client: URL, status, headers and body, and what these say.

        Takes responses of httpx, requests, Scrapy and aiohttp, and objects with the same attributes. Give the *body* of
        clients that read it later (aiohttp: `await response.read()`). If the client has followed redirects, the URL is
        the last one; the responses before it are in `response.history`, and are pages of their own. `fetched_at` is now
        unless you give it. Raises `InvalidArgument` for an object that is no such response.
        """
        status = status_of(response)
        page = cls(
            url=url_of(response),
            body=None if status == 304 else body_of(response, body),
            status=status,
            headers=headers_of(response),
            fetched_at=fetched_at or clock.now(),
        )
        return with_facts(page)

    @property
    def text(self) -> str | None:
        """The body as text, in the charset that a browser would choose; None if the page has no body here.

        Bytes that cannot be read in that charset become U+FFFD, the replacement character.
        """
        return None if self.body is None else decoded(self.body, encoding_of(self.body, charset_of(self)))

    def _repr_html_(self) -> str:
        return self._shown().html()

    def __rich__(self) -> object:
        return self._shown().rich()

    def _shown(self) -> Shown:
        """Return the fields that differ from their defaults; of body and links how much there is."""
        known = [(name, getattr(self, name), _DEFAULTS[name]) for name in self.__struct_fields__ if name != "url"]
        rows = [(name, _extent(value)) for name, value, default in known if value != default]
        return Shown(self.url, ("field", "value"), rows)

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Page {self.url} {self.status}{title} fetched {self.fetched_at:%Y-%m-%d %H:%M:%S}>"


_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Page)} | {"headers": {}}


def _extent(value: object) -> object:
    match value:
        case bytes():
            return f"{len(value):,} bytes: {shown_text(value)}"
        case tuple():
            return f"{len(value):,} links"
        case Mapping():
            return ", ".join(f"{name}: {text}" for name, text in value.items())
    return value


SAID = Facts._fields
"""The fields of what a page says of itself, in its HTML or its headers."""


def said(page: object) -> dict[str, Any]:
    """Return what *page*, or what is stored of it, says of itself."""
    return {name: getattr(page, name) for name in SAID}


def charset_of(page: Page) -> str | None:
    """Return the `charset` of *page*, or else the one that its header names.

    Versions from the history have no `charset` of their own.
    """
    return page.charset or media_type(page.headers.get("content-type"))[1]


def with_facts(page: Page) -> Page:
    """Return *page* with the fields filled in that are not given and that its headers tell.

    These are the media type and the charset (Content-Type), the ETag, the date of modification (Last-Modified), the
    language (Content-Language, where it names one), the canonical URL (Link), what crawlers are to do (X-Robots-Tag)
    and, for a redirect, where it leads (Location, which may be relative to the URL). A `content_type` that is given as
    in a header is split, and a relative `redirect_to` becomes absolute. A 304 without a body gets its own URL as
    `same_as`, unless its `content_at` says that it is a version of its own.

    >>> page = Page(url="https://example.com/a", status=301, headers={"Location": "../b", "ETag": "1"})
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
    leads_to = page.redirect_to or (named.get("location") if page.status in REDIRECTS else None)
    repeats = page.status == 304 and page.body is None and page.content_at != page.fetched_at
    return msgspec.structs.replace(
        page,
        headers=headers or {},
        content_type=media or page.content_type or announced,
        charset=codec_name(own_charset or charset) if page.charset is None else page.charset,
        etag=named.get("etag") if page.etag is None else page.etag,
        last_modified=http_date(named.get("last-modified")) if page.last_modified is None else page.last_modified,
        redirect_to=redirect_target(page.url, leads_to) or page.redirect_to,
        canonical=redirect_target(page.url, page.canonical) or canonical_link(page.url, named.get("link")),
        robots=page.robots or named.get("x-robots-tag", "").lower() or None,
        language=page.language or said_once(named.get("content-language")),
        same_as=page.url if repeats and page.same_as is None else page.same_as,
    )

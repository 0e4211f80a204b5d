"""A page as a frozen value: one capture (one fetch) of one URL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from webtable.errors import WebTableError


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

    A caller gives `url`, `html` and `fetched_at`, and what else it knows; a page that was read carries the rest.
    `html` and `outlinks` are None where they were not asked for (or the page has none).
    """

    url: str
    """The URL; canonical (`webtable.rowkey.canonical_url`) once stored."""
    html: bytes | None = None
    """The body as it was sent, transfer and content encodings removed; HTML or any other type."""
    title: str | None = None
    status_code: int = 200
    content_type: str | None = None
    """The media type in lower case without parameters, as in `text/html`."""
    charset: str | None = None
    headers: dict[str, str] = {}
    """The response's headers: names in lower case, repeated ones joined by ", "."""
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
    """Where a redirect leads, as an absolute URL."""
    changed_at: datetime | None = None
    """When a capture first brought the content that the page has now."""
    change_count: int = 0
    """How many times a capture brought other content than what was stored, counted as they came in."""
    content_at: datetime | None = None
    """The capture under which body and links are stored; before `fetched_at` where the content did not change."""
    has_body: bool = False
    """Whether a body is stored with it, to be asked for as `html`."""
    outlink_count: int | None = None
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

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Page {self.url} {self.status_code}{title} fetched {self.fetched_at:%Y-%m-%d %H:%M:%S}>"


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

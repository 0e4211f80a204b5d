"""A page as a frozen value, one capture (one fetch) of one URL; what a repeat of it inherits; its size in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from webtable._charsets import charset_name, decoded
from webtable._clock import clock
from webtable.display import Shown, shown_text
from webtable.errors import InvalidArgument
from webtable.page.body import encoding_of, is_html, is_text
from webtable.page.headers import (
    REDIRECTS,
    Headers,
    HeadersJSON,
    HeadersOnDemand,
    body_of,
    fetch_of,
    headers_of,
    http_date,
    media_type,
    redirect_target,
    status_of,
    url_of,
)
from webtable.page.methods import DEFAULT_METHODS, GET, request_of_response, stored_url
from webtable.page.parts import (
    SAID,
    SHARED,
    Bookkeeping,
    HTMLFacts,
    IndexStatus,
    Link,
    LinkCounts,
    NamedFields,
    Size,
    Status,
    Time,
    WrongName,
)
from webtable.page.pixels import DESCRIPTION_SIZE, TITLE_SIZE, pixels
from webtable.page.robots import GOOGLEBOT, is_noindex, rules_for
from webtable.rowkey.urls import canonical_or_none, split_url

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from webtable.page.elements import Elements

STORED_NAMES = {"status": "status_code", **{f"_{name}": name for name in Bookkeeping.__struct_fields__}}
"""The names that fields have in stored JSON, where these are other ones."""


# No page leads back to itself, and the garbage collector would look through all that a listing has given.
class Page(
    msgspec.Struct,
    metaclass=NamedFields,
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
    where you did not ask for them, or the page has none. The bookkeeping of the store is in `stored`.
    """

    # What a crawler sets. The order of all fields is that of the members of stored JSON.
    url: str
    """The URL; canonical (`webtable.rowkey.canonical_url`) once stored."""
    body: bytes | None = None
    """The body as it was sent, without transfer and content encodings; HTML or any other type."""
    title: str | None = None
    status: Status = 200
    """The status of the response, from 100 to 999; 0 if it has none, as of a request that never left a browser."""
    content_type: str | None = None
    """The media type, as in `text/html`. What is given as in a header is stored in lower case, without parameters."""
    charset: str | None = None
    headers: HeadersJSON = {}
    """The headers of the response, as `Headers`: names in any case, repeated headers joined by ", ".

    Can be given as any mapping or list of pairs, of text or bytes.
    """
    fetched_at: Time = msgspec.field(default_factory=clock.now)
    """When it was fetched: with a timezone, kept to the millisecond. The default is now."""
    last_modified: Time | None = None
    etag: str | None = None
    digest: str | None = None
    """The digest of the whole body, as in `blake3:` and 64 hexadecimal digits; one without a name is SHA-256."""
    size: Size | None = None
    """The length of the whole body in bytes, even if the stored body was cut."""
    truncated: bool = False
    """Whether the stored body is not what the server sent: cut (`max_body`), incomplete, or not as its headers say."""
    redirect_to: str | None = None
    """Where a redirect leads. What is given as in the header Location is stored as an absolute URL."""
    canonical: str | None = None
    """The URL that the page names as the one for its content (`rel=canonical`, in its head or in the header Link)."""
    description: str | None = None
    """The description in its head, at most 1,000 characters."""
    robots: str | None = None
    """What it tells all crawlers, in lower case, as in `noindex, nofollow`: in its head and in the header X-Robots-Tag.

    What it tells a single one is in `robots_by_bot`; `robots_for` has both.
    """
    h1: str | None = None
    """Its first heading of the first level, at most 1,000 characters."""
    language: str | None = None
    """The language that it says it is in, in lower case, as in `pt-br`: of `<html>`, or the header Content-Language."""
    language_detected: bool = False
    """Whether it does not say so, and `language` was found in its text (`detect_language` of a writer)."""
    other_canonical: str | None = None
    """Another URL than `canonical` that it names as the one for its content too; search engines then obey neither."""
    robots_by_bot: str | None = None
    """What it tells single crawlers, in lower case, as in `googlebot: noindex, bingbot: noarchive, nosnippet`."""
    outlinks: tuple[Link, ...] | None = None
    """The links of this capture in the order of the document, one for each URL; frames are of a `kind` of their own."""
    same_as: str | None = None
    """For a capture without a body of its own, the URL whose content it repeats; `stored` may say which capture.

    A response with status 304 repeats its own URL, and so do most WARC revisit records. It is stored only as long as
    that content is not (`WebTable.unresolved`).
    """
    # What a crawler knows of the fetch; each None where it does not say it. `Capture` keeps them of a version.
    depth: Size | None = None
    """How many links lead to it from where the crawl began, of which the pages have 0."""
    priority: float | None = None
    """What the crawler gave it in its queue: of two URLs that with the higher one was to come first."""
    referrer: str | None = None
    """The URL of the page on which it was found, as in the request header Referer, and in `via` of WARC files."""
    duration: Size | None = None
    """How long the fetch took, in milliseconds."""
    attempts: Size | None = None
    """How many requests it took, the last one included: 1 if the first one brought it."""
    server_address: str | None = None
    """The IP address of the server, as in `192.0.2.1` or `2001:db8::1`."""
    protocol: str | None = None
    """The protocol of the response by its ALPN ID, as in `http/1.1`, `h2` or `h3`."""

    # What a reader gets beside that. The fields with an underscore are read by `stored`.
    first_seen: Time | None = None
    """The date of the oldest capture ever stored of it; None where it was stored before this was kept."""
    changed_at: Time | None = None
    """The date of the first capture with the content that the page has now."""
    change_count: Size = 0
    """How many times a capture had other content than the one before it, in the order of their dates."""
    _content_at: Time | None = None
    has_body: bool = False
    """Whether a body is stored, which you get when you ask for the column `body`."""
    outlink_count: Size | None = None
    _only_self_links: bool = False
    _links_digest: str | None = None
    _inlinks_at: Time | None = None
    _hints_at: Time | None = None
    _similarity: str | None = None
    _html_facts: HTMLFacts | None = None
    _payload_digest: str | None = None
    _repeats_at: Time | None = None
    _unchanged: str | None = None
    _has_late: bool = False
    link_counts: LinkCounts | None = None
    """How many pages link to it, if you asked for that and it has been counted."""

    if not TYPE_CHECKING:  # a checker would take them for attributes
        status_code = WrongName("status")
        content_at = WrongName("stored.content_at")
        only_self_links = WrongName("stored.only_self_links")
        links_digest = WrongName("stored.links_digest")
        inlinks_at = WrongName("stored.inlinks_at")
        hints_at = WrongName("stored.hints_at")
        similarity = WrongName("stored.similarity")
        html_facts = WrongName("stored.html_facts")
        payload_digest = WrongName("stored.payload_digest")
        repeats_at = WrongName("stored.repeats_at")
        unchanged = WrongName("stored.unchanged")
        has_late = WrongName("stored.has_late")

    def __post_init__(self) -> None:
        # Each page of a listing comes here, and its headers are still JSON.
        if type(_headers_of(self)) is not msgspec.Raw:
            _headers.keep(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        # Both are made, as headers in JSON and others are not equal.
        return self.headers == other.headers and msgspec.Struct.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    @classmethod
    def from_response(
        cls,
        response: object,
        *,
        body: bytes | None = None,
        fetched_at: datetime | None = None,
        methods: Collection[str] | None = DEFAULT_METHODS,
        request_body: bytes | None = None,
    ) -> Page:
        """Return the page for the *response* of an HTTP client: URL, status, headers and body.

        It also has what a header alone says: media type, charset, ETag, date of modification, and where a redirect
        leads. What the HTML may say as well (robots, language, canonical URL) `put` finds in both. Where the client has
        it, it also has the `referrer`, the `duration` (its `elapsed`), the `protocol` and the `server_address`.

        Takes responses of httpx, requests, Scrapy and aiohttp, and objects with the same attributes. Give the *body* of
        clients that read it later (aiohttp: `await response.read()`). If the client has followed redirects, the URL is
        the last one; the responses before it are in `response.history`, and are pages of their own. `fetched_at` is now
        unless you give it.

        The response to a POST, a HEAD or another method than GET is not the page, and would replace it. With that
        method among *methods* (None: all), it has a URL of its own, with the method and what was sent in its query, as
        in `__wb_method=POST&name=value`; *request_body* is what was sent, for clients that do not keep it (aiohttp).
        Raises `InvalidArgument` for a method that is not among them, and for an object that is no such response.
        """
        status = status_of(response)
        request = request_of_response(response, methods, request_body)
        url = url_of(response)
        page = msgspec.structs.replace(
            BLANK,
            url=url if request.method == GET else stored_url(url, request),
            body=None if status == 304 else body_of(response, body),
            status=status,
            headers=headers_of(response),
            fetched_at=fetched_at or clock.now(),
            **fetch_of(response),
        )
        return with_header_fields(page)

    @property
    def stored(self) -> Bookkeeping:
        """The bookkeeping of the store about the page."""
        # Made when it is asked for: each page of a listing would pay for it.
        own, links, inlinks_at, hints_at = self._only_self_links, self._links_digest, self._inlinks_at, self._hints_at
        digest, repeats_at = self._payload_digest, self._repeats_at
        noted = self._content_at, own, links, inlinks_at, hints_at, self._similarity, self._html_facts
        return Bookkeeping(*noted, digest, repeats_at, self._unchanged, self._has_late)

    def with_stored(self, stored: Bookkeeping) -> Page:
        """Return the page with this bookkeeping, as an importer of captures may know it."""
        return msgspec.structs.replace(
            self, **{f"_{name}": value for name, value in msgspec.structs.asdict(stored).items()}
        )

    def robots_for(self, bot: str) -> str | None:
        """Return the rules that hold for a *bot*, as in "googlebot", like `robots`: those for all, and those for it.

        Of rules that disagree the more restrictive one stays, as Google publishes it: of `index` and `noindex` the
        latter, of `max-snippet:50` and `max-snippet:20` the latter. The name is taken in any case, and as a whole: what
        holds for "googlebot" is not looked up for "googlebot-news". None if there are no rules. Raises
        `InvalidArgument` for a *bot* that is no text.

        >>> page = Page(url="https://example.com/", robots="nofollow", robots_by_bot="googlebot: noindex")
        >>> page.robots_for("Googlebot"), page.robots_for("bingbot")
        ('nofollow, noindex', 'nofollow')
        """
        return ", ".join(rules_for(self.robots, self.robots_by_bot, _bot_name(bot))) or None

    @property
    def index_status(self) -> IndexStatus | None:
        """Whether search engines may list the page, and if not, why, by what it says of itself to all and to Google.

        The first of these that holds: "error" (a status of 400 or above, or none), "redirect", "noindex" (by its rules
        for robots, as of `fetched_at`), "canonicalised" (it names one other URL as the one for its content; of two that
        disagree search engines obey neither), "not html", "indexable". None where nothing of its HTML is known. It is
        never "blocked": robots.txt is asked by `webtable.WebTable.indexability`.
        """
        return self.index_status_for(GOOGLEBOT)[0]

    @property
    def index_reason(self) -> str | None:
        """What decides its `index_status`: the status, the target, the rules, the canonical URL or the media type.

        None where it is indexable, or not known.
        """
        return self.index_status_for(GOOGLEBOT)[1]

    def index_status_for(self, bot: str) -> tuple[IndexStatus | None, str | None]:
        """Return the `index_status` by the rules for a *bot*, as in "bingbot", and its reason.

        Raises `InvalidArgument` for a *bot* that is no text.

        >>> page = Page(url="https://example.com/", title="Home", robots_by_bot="googlebot: noindex")
        >>> page.index_status_for("googlebot"), page.index_status_for("bingbot")
        (('noindex', 'noindex'), ('indexable', None))
        """
        status, name = self.status, _bot_name(bot)
        if status >= 400 or status < 200:
            return "error", f"status {status}"
        if self.redirect_to is not None or (300 <= status < 400 and status != 304):
            return "redirect", self.redirect_to or f"status {status}, without a target"
        # Most pages have no rules, and a listing asks each of them.
        rules = rules_for(self.robots, self.robots_by_bot, name) if self.robots or self.robots_by_bot else []
        if is_noindex(rules, self.fetched_at):
            return "noindex", ", ".join(rules)
        if self.canonical is not None and (target := canonicalised_to(self)) is not None:
            return "canonicalised", target
        media, body = media_of(self), self.body
        if media and not is_html(media):
            return "not html", media
        if self.outlink_count is not None or self.outlinks or self.title or self.description or self.h1:
            return "indexable", None
        if body is None and not self.has_body:
            return None, None
        if media or (body is not None and is_text(body, charset_of(self), None)):
            return "indexable", None
        return "not html", None  # its type is found when it is stored, if it may be HTML

    @property
    def from_headers(self) -> tuple[str, ...]:
        """Which of its facts its HTML does not say, but its headers (or whoever stored it), as in `("robots",)`."""
        html = self._html_facts
        if html is None:  # the fields are what the HTML says
            return ()
        others = (name for name in SHARED if getattr(self, name) not in (None, html.get(name)))
        return tuple(name for name in others if not (name == "language" and self.language_detected))

    @property
    def title_pixels(self) -> int | None:
        """About how wide the title is where Google shows it, in Arial of 20 pixels; about 600 are shown."""
        return None if self.title is None else pixels(self.title, TITLE_SIZE)

    @property
    def description_pixels(self) -> int | None:
        """About how wide the description is there, in Arial of 14 pixels."""
        return None if self.description is None else pixels(self.description, DESCRIPTION_SIZE)

    @property
    def host(self) -> str:
        """The host of the URL, as the column `host` has it."""
        return split_url(self.url).host

    @property
    def html(self) -> str | None:
        """The markup of an HTML or XHTML page, for a parser; None for another type, and without a body.

        It is `body` decoded by the charset that a browser would choose; what cannot be read is U+FFFD. A body without a
        type is HTML unless it is binary. For the words that people see there is `text`.
        """
        body = self._markup()
        return None if body is None else decoded(body, encoding_of(body, charset_of(self)))

    def _markup(self) -> bytes | None:
        """Return the body of an HTML page, None for another type."""
        body, media = self.body, media_of(self)
        is_markup = body is not None and (is_html(media) or (not media and is_text(body, charset_of(self), None)))
        return body if is_markup else None

    @property
    def text(self) -> str | None:
        """The readable text, as `search` and `diff` have it; None for a binary type, and without a body.

        HTML gives a line for each block, without scripts, styles and form fields; it is parsed each time, and is None
        where it is over 16 MiB or takes too long. Other text, also JSON and XML, is `body` decoded.
        """
        from webtable.page.extract import plain_text  # it imports parsers, which whoever reads no text does without

        return None if self.body is None else plain_text(self.body, charset_of(self), media_of(self))

    @property
    def main_text(self) -> str | None:
        """The text without what surrounds it on the pages of a site, as navigation and footers; None where `text` is.

        It is what full text and near duplicates go by. All of the text where no main content is found.
        """
        from webtable.page.extract import main_content

        content = None if self.body is None else main_content(self.body, charset_of(self), media_of(self))
        return None if content is None else content.text

    @property
    def text_length(self) -> int | None:
        """How many characters its `text` has; None where that is None."""
        text = self.text
        return None if text is None else len(text)

    @property
    def text_ratio(self) -> float | None:
        """Which share of its markup is text: the characters of `text` by those of `html`; None where either is."""
        html = self.html
        length = self.text_length if html else None
        return None if length is None or not html else length / len(html)

    @property
    def elements(self) -> Elements | None:
        """Its headings, images, structured data and related pages; None for another type, and without a body.

        The body is parsed each time, with the limits of `text`; `over` names the one that it is over.
        """
        from webtable.page.elements import elements_of  # it imports parsers

        body = self._markup()
        return None if body is None else elements_of(body, self.url, charset_of(self), media_of(self))

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if not isinstance(vars(Page).get(name), WrongName)]

    def _repr_html_(self) -> str:
        return self._shown().html()

    def __rich__(self) -> object:
        return self._shown().rich()

    def _shown(self) -> Shown:
        """Return the status, and the fields that differ from their defaults; of body and links how much there is."""
        fields = [(name.removeprefix("_"), getattr(self, name), default) for name, default in _DEFAULTS.items()]
        rows = [(name, _extent(value)) for name, value, default in fields if value != default or name == "status"]
        return Shown(self.url, ("field", "value"), rows)

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Page {self.url} {self.status}{title} fetched {self.fetched_at:%Y-%m-%d %H:%M:%S}>"


# What a capture that repeats another one (a 304, a revisit) has of that one, beside the headers and what these and the
# HTML say (`repeated_facts`). Every other field is its own, or is computed when it is stored.
INHERITED_FROM_BODY = ("title", "description", "h1", "content_type", "charset")
"""The fields that come with a body, from whatever URL; they are inherited where the capture does not have its own."""
INHERITED_FROM_RESPONSE = (*INHERITED_FROM_BODY, "etag", "last_modified", "redirect_to")
"""The same of a repeat of its own URL: the validators of another URL, and where that leads, are not its own."""


def inherited(page: Page, source: Any, names: Sequence[str] = INHERITED_FROM_RESPONSE) -> dict[str, Any]:
    """The fields *names* of *page*, which repeats *source* (a page or a stored capture): its own, else those."""
    return {name: getattr(page, name) or getattr(source, name) for name in names}


def repeated_content(page: Page, source: Any) -> dict[str, Any]:
    """What identifies the content of *source* as fields of *page*, which repeats it; a 304 also has its status."""
    status = source.status if page.status == 304 else page.status
    return {"digest": source.digest, "size": source.size, "status": status}


_headers = HeadersOnDemand(vars(Page)["headers"])
_headers_of = vars(Page)["headers"].__get__
type.__setattr__(Page, "headers", _headers)

BLANK = Page(url="", fetched_at=datetime.fromtimestamp(0, UTC))
"""Pages are made fastest by `replace` of this one, with a URL and a date: `Page(…)` looks at names as well."""
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Page) if field.name != "url"} | {
    "headers": {}
}


def _extent(value: object) -> object:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes: {shown_text(value)}"
    return f"{len(value):,} links" if isinstance(value, tuple) else value


def _bot_name(bot: str) -> str:
    if not isinstance(bot, str) or not bot.strip():
        raise InvalidArgument(f"bot={bot!r} must be the name of a bot, as in 'googlebot'")
    return bot


def canonicalised_to(page: Page) -> str | None:
    """Return the one other URL that *page* names as the one for its content, canonical; None if it names none.

    Of two that disagree search engines obey neither.
    """
    if page.canonical is None or page.canonical == page.url or page.other_canonical is not None:
        return None
    target = canonical_or_none(page.canonical)
    return None if target in (page.url, canonical_or_none(page.url)) else target


def charset_of(page: Page) -> str | None:
    """Return the `charset` of *page*, or else the one that its header names."""
    return page.charset or media_type(page.headers.get("content-type"))[1]


def media_of(page: Page) -> str | None:
    """Return the `content_type` of *page*, or else the one that its header names."""
    return page.content_type or media_type(page.headers.get("content-type"))[0]


def with_header_fields(page: Page) -> Page:
    """Return *page* with the fields filled in that are not given and that its headers alone tell.

    These are the media type and the charset (Content-Type), the ETag, the date of modification (Last-Modified) and, for
    a redirect, where it leads (Location, which may be relative to the URL). A `content_type` that is given as in a
    header is split, and a relative `redirect_to` becomes absolute. A 304 without a body gets its own URL as `same_as`,
    unless its `content_at` says that it is a version of its own.

    >>> page = Page(url="https://example.com/a", status=301, headers={"Location": "../b", "ETag": "1"})
    >>> with_header_fields(page).redirect_to, with_header_fields(page).etag
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
    repeats = page.status == 304 and page.body is None and page._content_at != page.fetched_at
    return msgspec.structs.replace(
        page,
        headers=headers or {},
        content_type=media or page.content_type or announced,
        charset=charset_name(own_charset or charset) if page.charset is None else page.charset,
        etag=named.get("etag") if page.etag is None else page.etag,
        last_modified=http_date(named.get("last-modified")) if page.last_modified is None else page.last_modified,
        redirect_to=redirect_target(page.url, leads_to) or page.redirect_to,
        same_as=page.url if repeats and page.same_as is None else page.same_as,
    )


# --- Memory -----------------------------------------------------------------------------------------------------------


LINK_BYTES = 250
"""About how many bytes of memory a link takes, with its URL and its anchor text."""
_PAGE_BYTES = 800
_LINK_BYTES = 160
_HEADER_BYTES = 130


def memory_of(page: Page) -> int:
    """Return about how many bytes of memory *page* takes, with its body, its links and its headers.

    The constants were measured with tracemalloc on Python 3.11; a character counts as one byte.
    """
    links, headers = page.outlinks, page.headers
    size = _PAGE_BYTES + len(page.url) + len(page.referrer or "") + len(page.body or b"") + _HEADER_BYTES * len(headers)
    # In lists and by `map`: this is done for every page, and generators take twice as long.
    size += sum(map(len, headers)) + sum(map(len, headers.values()))
    size += sum([len(text) for name in SAID if (text := getattr(page, name))])
    return size + sum([_LINK_BYTES + len(url) + len(anchor) for url, anchor, _, _, _, _ in links]) if links else size

"""What an HTML page says: its title, its links, its charset and its text.

A small page is parsed right here. A larger one is parsed in a process of its own, which has so much memory and so much
time (`webtable.parser_process`): the parser takes quadratic time for elements in elements and for attributes of one,
and 20 KB of `<font>` in a paragraph become a tree of 750 MB.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLParserException, HTMLTree

from webtable.encodings import decoded, encoding_of
from webtable.limits import DEFAULT_LIMITS, ReadLimits
from webtable.outlinks import Outlinks, shortened
from webtable.page import Link, Page, with_facts
from webtable.parser_process import ParserProcess, TooMuch, Unavailable

MAX_TITLE = 1_000
"""Characters of a title that are kept."""

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# What the MIME Sniffing standard takes for HTML (section 7.1), after white space, and the declaration of XHTML. A
# comment is matched as a whole, once: tried in all ways in which comments can be parted, 40 of them would take days.
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style"
    rb"|title|b|body|br|p)[\t\n\x0c\r />]|\?xml[^>]*\?>\s*(?:(?><!--.*?-->)\s*+)*+<(?:!doctype html|html)\b)",
    re.IGNORECASE | re.DOTALL,
)
_TEXT_TYPE = re.compile(r"text/|application/(?:json|xml|(?:x-)?javascript|ecmascript)$|[^/]+/[^/]+\+(?:json|xml)$")
# The "binary data bytes" of the MIME Sniffing standard (section 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# Soft hyphen, zero width space, word joiner and byte order mark: nobody sees them, and they part words.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]+")


# Up to here the worst that is known takes a second and 300 MB. Of real pages 86 in 100 are smaller, and those that are
# not take a fifth longer in the other process; one of several megabytes, which then needs a new process, twice as long.
_SMALL = 48 * 1024
# What the parser makes anew in every paragraph behind one in which it was not closed, and how often it may.
_FORMATTING = re.compile(r"<(?=[bcefinstuBCEFINSTU])(?i:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/>]")
_MAX_COPIES = 300_000

Over = Literal["parsed", "memory", "seconds", "links", "link_text"]
"""The names of the limits that a page can be over."""


class Extract(NamedTuple):
    """What `extract` found in a page."""

    title: str | None
    outlinks: tuple[Link, ...]
    charset: str
    """The encoding that the page was read in, by the name of Python's codec."""
    over: Over | None = None
    """The limit that the page is over, if it is: "parsed", "memory" or "seconds" where it was not parsed, "links" or
    "link_text" where the links are only the first ones."""

    @property
    def is_parsed(self) -> bool:
        """Whether there is a title, and links, if the page has any."""
        return self.over in {None, "links", "link_text"}


def extract(body: bytes, url: str, charset: str | None = None, limits: ReadLimits = DEFAULT_LIMITS) -> Extract:
    """Return the title, the links and the charset of the HTML page *body* at *url*.

    `charset` is the one that the response announced. The links are in document order, one for each canonical http or
    https URL, with the first anchor text that is not empty (or the text in place of its image) and the `rel` of the
    first. No bytes are bad enough for an error: what cannot be read is left out. A page that is over one of *limits*
    has no title and no links, or only the first links; `over` says so.

    >>> extract(b"<a href='/b#top' rel=Nofollow> the <i>next</i></a>", "https://example.com/a").outlinks
    (Link(url='https://example.com/b', anchor='the next', rel='nofollow'),)
    """
    over: Over = "parsed"
    if len(body) <= limits.parsed:
        page = _Page(body, charset, url, limits.links, limits.link_text)
        if light := _light(page):
            return _found(page, *light)
        try:
            return _extract_decoder.decode(_apart(page, limits))
        except TooMuch as exc:
            over = exc.limit
    return Extract(None, (), encoding_of(body, charset), over)


def plain_text(
    body: bytes, charset: str | None = None, content_type: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> str | None:
    r"""Return the text of *body* that can be read, None where it is neither HTML nor text, or over one of *limits*.

    `charset` is the one that the response announced, `content_type` its media type. Of HTML, and of what came without
    a type, that is one line for each block, white space collapsed, with the text in place of images but without
    scripts, styles and form fields; what only a script would show is in. Other text (also JSON and XML) comes as it is.

    >>> plain_text(b"<style>p {}</style><p>A <b>b</b>old\n word<ul><li>one<li>two", "utf-8", "text/html")
    'A bold word\none\ntwo'
    >>> plain_text(b"a < b\n", "utf-8", "text/plain"), plain_text(b"%PDF-1.7", None, "application/pdf")
    ('a < b\n', None)
    """
    if not _is_text(body, charset, content_type):
        return None
    if content_type and not is_html(content_type):
        return decoded(body, encoding_of(body, charset))
    if len(body) > limits.parsed:
        return None
    page = _Page(body, charset)
    if light := _light(page):
        return _readable(light[0])
    try:
        return _apart(page, limits).decode()
    except TooMuch:
        return None


class _Page(msgspec.Struct, array_like=True):
    """A page that is to be parsed: for its title and links, or where it has no URL for its text."""

    body: bytes
    charset: str | None
    url: str | None = None
    links: int = 0
    link_text: int = 0


_process = ParserProcess("webtable.extract:answered")
_page_decoder = msgspec.msgpack.Decoder(_Page)
_extract_decoder = msgspec.msgpack.Decoder(Extract)


def _apart(page: _Page, limits: ReadLimits) -> bytes:
    """Return what `answered` does; from another process, unless it can be done here or there can be none."""
    try:
        return _process.call(msgspec.msgpack.encode(page), memory=limits.memory, seconds=limits.seconds)
    except Unavailable:
        pass
    try:
        return answered(msgspec.msgpack.encode(page))
    except MemoryError as exc:
        raise TooMuch("memory") from exc


def answered(work: bytes) -> bytes:
    """Parse, in the process that is for it, the page that *work* is; raises `MemoryError`."""
    page = _page_decoder.decode(work)
    encoding = encoding_of(page.body, page.charset)
    text = decoded(page.body, encoding)
    try:
        return _readable(text).encode() if page.url is None else msgspec.msgpack.encode(_found(page, text, encoding))
    except HTMLParserException as exc:
        raise MemoryError from exc


def _light(page: _Page) -> tuple[str, str] | None:
    """Return *page* as text, and its encoding, if the worst that can be in it takes a second and 300 MB."""
    if len(page.body) > _SMALL:
        return None
    encoding = encoding_of(page.body, page.charset)
    text = decoded(page.body, encoding)
    tags = text.count("<")
    if tags * tags > 4 * _MAX_COPIES and tags * len(_FORMATTING.findall(text)) > _MAX_COPIES:
        return None
    return text, encoding


def _found(page: _Page, text: str, encoding: str) -> Extract:
    tree = HTMLTree.parse(text)
    links = Outlinks(page.url or "", page.links, min(page.link_text, 65_536 + 4 * len(page.body)))
    links.add_all(tree)
    return Extract(shortened(tree.title, MAX_TITLE) or None, tuple(links.found.values()), encoding, links.over)


def _readable(text: str) -> str:
    lines = _INVISIBLE.sub("", extract_plain_text(text, list_bullets=False)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line and not line.isspace())


def _is_text(body: bytes, charset: str | None, content_type: str | None) -> bool:
    if is_html(content_type) or (not content_type and looks_like_html(body)):
        return True
    if content_type and not _TEXT_TYPE.match(content_type.partition(";")[0].strip().lower()):
        return False
    start = body[:2_048]
    return not _BINARY.search(start) or encoding_of(start, charset).startswith("utf-16")


def is_html(content_type: str | None) -> bool:
    """Whether the media type *content_type*, with parameters or without, is that of HTML or XHTML."""
    return content_type is not None and content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def looks_like_html(body: bytes) -> bool:
    """Whether *body* begins as a browser expects of HTML that came without a type."""
    return _HTML_START.match(body[:2_048] + b" ") is not None


def filled(page: Page, limits: ReadLimits = DEFAULT_LIMITS) -> tuple[Page, Extract | None]:
    """Return *page* with what its headers and its HTML say, where it is not given.

    That is all of `with_facts`, the title, the links and the charset. What came without a type is taken for HTML
    unless it is binary. Beside the page comes what was found in its HTML, None where that was not parsed.
    """
    page = with_facts(page)
    # Whoever has parsed a page knows its links and its charset, also where it has no title.
    known = page.outlinks is not None and (page.title is not None or page.charset is not None)
    if page.html is None or known or not _may_be_html(page.html, page.charset, page.content_type):
        return page, None
    found = extract(page.html, page.url, page.charset, limits)
    page = msgspec.structs.replace(
        page,
        title=found.title if page.title is None else page.title,
        outlinks=found.outlinks if page.outlinks is None else page.outlinks,
        charset=page.charset or found.charset,
    )
    return page, found


def _may_be_html(body: bytes, charset: str | None, content_type: str | None) -> bool:
    return is_html(content_type) or (content_type is None and _is_text(body, charset, None))

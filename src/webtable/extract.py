"""What an HTML page says: its title, its links, its charset and its text. Pure: no I/O."""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5
from resiliparse.parse.html import HTMLTree

from webtable.errors import InvalidURL
from webtable.page import Link
from webtable.rowkey import MAX_WEB_KEY, join_url

if TYPE_CHECKING:
    from resiliparse.parse.html import ElementNode

MAX_TITLE = 1_000
"""Characters of a title that are kept."""
MAX_ANCHOR = 500
"""Characters of an anchor text that are kept."""

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# What the MIME Sniffing standard takes for HTML (section 7.1), after white space, and the declaration of XHTML. A comment
# is matched as a whole, once: tried in all ways in which comments can be parted, 40 of them would take days.
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
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_DECLARED_CHARSET = re.compile(
    rb"""<(?:meta\s[^>]*?\bcharset|\?xml\s[^>]*?\bencoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)""", re.IGNORECASE
)
# A jump inside the page is no link, and it is cheaper to leave it to the selector than to look at it.
_LINKS = 'a[href]:not([href^="#"]), area[href]'
_STRIPPED = "".join(map(chr, range(0x21)))
_NO_PAGE = re.compile(r"(?:javascript|mailto|data|tel|blob|about):", re.IGNORECASE)


class Extract(NamedTuple):
    """What `extract` found in a page."""

    title: str | None
    outlinks: tuple[Link, ...]
    charset: str
    """The encoding that the page was read in, by the name of Python's codec."""


def extract(body: bytes, url: str, charset: str | None = None) -> Extract:
    """Return the title, the links and the charset of the HTML page *body* at *url*.

    `charset` is the one that the response announced. The links are in document order, one for each canonical http or
    https URL, with the first anchor text that is not empty (or the text in place of its image) and the `rel` of the
    first. No bytes are bad enough for an error: what cannot be read is left out.

    >>> extract(b"<a href='/b#top' rel=Nofollow> the <i>next</i></a>", "https://example.com/a").outlinks
    (Link(url='https://example.com/b', anchor='the next', rel='nofollow'),)
    """
    encoding = _encoding(body, charset)
    tree = HTMLTree.parse(body.decode(encoding, "replace").removeprefix("\ufeff"))
    return Extract(_shortened(tree.title, MAX_TITLE) or None, _outlinks(tree, url), encoding)


def plain_text(body: bytes, charset: str | None = None, content_type: str | None = None) -> str | None:
    r"""Return the text of *body* that can be read, None where it is neither HTML nor text.

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
    text = body.decode(_encoding(body, charset), "replace").removeprefix("\ufeff")
    if content_type and not is_html(content_type):
        return text
    lines = _INVISIBLE.sub("", extract_plain_text(text, list_bullets=False)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line and not line.isspace())


def _is_text(body: bytes, charset: str | None, content_type: str | None) -> bool:
    if is_html(content_type) or (not content_type and looks_like_html(body)):
        return True
    if content_type and not _TEXT_TYPE.match(content_type.partition(";")[0].strip().lower()):
        return False
    start = body[:2_048]
    return not _BINARY.search(start) or _encoding(start, charset).startswith("utf-16")


def is_html(content_type: str | None) -> bool:
    """Whether the media type *content_type*, with parameters or without, is that of HTML or XHTML."""
    return content_type is not None and content_type.partition(";")[0].strip().lower() in _HTML_TYPES


def looks_like_html(body: bytes) -> bool:
    """Whether *body* begins as a browser expects of HTML that came without a type."""
    return _HTML_START.match(body[:2_048] + b" ") is not None


@lru_cache(maxsize=256)
def codec_name(charset: str | None) -> str | None:
    """Return Python's name of the codec that a browser takes *charset* for, or None where it knows none.

    >>> codec_name("ISO-8859-1"), codec_name("klingon")
    ('cp1252', None)
    """
    found = map_encoding_to_html5(charset.strip(" \t\"'"), fallback_utf8=False) if charset else None
    return str(found) if found else None


def _encoding(body: bytes, announced: str | None) -> str:
    """Return the codec of *body* as a browser picks it (HTML standard, "determining the character encoding")."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return encoding
    if found := codec_name(announced):
        return found
    declared = _DECLARED_CHARSET.search(_COMMENT.sub(b"", body[:4_096]))
    if declared and (found := codec_name(declared[1].decode("ascii"))):
        # A declaration that can be read byte by byte is not in UTF-16, whatever it says.
        return "utf-8" if found.startswith("utf-16") else found
    try:
        body.decode()
    except UnicodeDecodeError:
        return codec_name(detect_encoding(body)) or "utf-8"
    return "utf-8"


def _outlinks(tree: HTMLTree, url: str) -> tuple[Link, ...]:
    document = tree.document
    if document is None:
        return ()
    element = document.query_selector("base[href]")
    base = (_target(url, element.get_attribute("href") or "") if element is not None else "") or url
    directory = base.partition("?")[0].rpartition("/")[0] + "/"
    targets: dict[str, str] = {}
    found: dict[str, Link] = {}
    # `values()`, because iterating over the collection looks each element up again from its beginning: a page of
    # 4,000 links took 49 seconds.
    for element in document.query_selector_all(_LINKS).values():
        reference, jump, _ = (element.get_attribute("href") or "").partition("#")
        target = targets.get(reference)
        if target is None:
            relative = reference.strip(_STRIPPED)
            if relative and relative[0] != "?":
                # The pages of a directory have most of their links in common.
                target = (_cached_target if len(relative) < 500 else _target)(directory, relative)
            else:
                target = "" if jump else _target(base, relative)
            targets[reference] = target
        if not target:
            continue
        link = found.get(target)
        if link is None:
            rel = element.get_attribute("rel")
            found[target] = Link(target, _anchor(element), _shortened(rel, MAX_ANCHOR).lower() if rel else "")
        elif not link.anchor and (anchor := _anchor(element)):
            found[target] = link._replace(anchor=anchor)
    return tuple(found.values())


def _target(base: str, reference: str) -> str:
    """Return the URL that *reference* leads to, or "" where that can be no page."""
    if _NO_PAGE.match(reference):
        return ""
    try:
        target = join_url(base, reference)
    except InvalidURL:
        return ""
    return target if len(target) <= MAX_WEB_KEY else ""


_cached_target = lru_cache(maxsize=1 << 14)(_target)


def _anchor(element: ElementNode) -> str:
    text = _shortened(element.text, MAX_ANCHOR)
    if text:
        return text
    if element.tag == "area":
        return _shortened(element.get_attribute("alt"), MAX_ANCHOR)
    image = element.query_selector('img[alt]:not([alt=""])')
    return _shortened(image.get_attribute("alt"), MAX_ANCHOR) if image is not None else ""


def _shortened(text: str | None, limit: int) -> str:
    """Return *text* with its white space collapsed and cut to *limit* characters."""
    # An unclosed <a> holds the rest of its page, of which only the beginning is looked at.
    return " ".join(text.lstrip()[: 8 * limit].split())[:limit].rstrip() if text else ""

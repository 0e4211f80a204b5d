"""The URLs in a sitemap: XML, RSS, Atom or a list, as https://www.sitemaps.org/protocol.html has them. Pure: no I/O.

A sitemap is of a stranger. It is decompressed, decoded and parsed in pieces, and refused where it would take more
memory than a long sitemap does; entities are never expanded.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.parsers import expat

from webtable.errors import FormatError
from webtable.page.body import encoding_of
from webtable.page.headers import http_date

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES: Final = 52_428_800
"""The most bytes of a sitemap without its compression, by the protocol."""
MAX_URLS: Final = 50_000
"""The most URLs of a sitemap, by the protocol."""
_PIECE = 1 << 18
_MAX_TEXT = 8_192
MAX_ALTERNATES: Final = 1_000
"""How many versions in other languages are read of one page."""
_MAX_NAMES = 1_000
_MAX_DEPTH = 32
_BLANK = "\ufeff \t\r\n"


class SitemapEntry(NamedTuple):
    """A URL as it stands in a sitemap, "" where there is none, and when it was modified last, as that stands there."""

    url: str
    lastmod: str | None = None
    is_sitemap: bool = False
    """Whether it is that of a further sitemap."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Its first 1,000 versions in other languages (`<xhtml:link rel="alternate">`): `hreflang` and `href` of each."""


_FIELDS: Final = {
    "urlset/url/loc": "url",
    "urlset/url/lastmod": "lastmod",
    "sitemapindex/sitemap/loc": "url",
    "rss/channel/item/link": "url",
    "rss/channel/item/pubDate": "lastmod",
    "feed/entry/updated": "lastmod",
    "feed/entry/modified": "lastmod",  # Atom 0.3
}
_ENTRIES: Final = {"urlset/url", "sitemapindex/sitemap", "rss/channel/item", "feed/entry"}
_ROOTS: Final = {entry.partition("/")[0] for entry in _ENTRIES}


def sitemap_entries(body: bytes, charset: str | None = None) -> Iterator[SitemapEntry]:
    """Yield the entries of the sitemap *body*, which may be compressed by gzip; *charset* is what its response named.

    Raises `FormatError`, after the entries before, where it cannot be read on, and where it ends at a limit.

    >>> list(sitemap_entries(b"<urlset><url><loc>https://example.com/</loc></url></urlset>"))
    [SitemapEntry(url='https://example.com/', lastmod=None, is_sitemap=False, alternates=())]
    """
    texts = _decoded(_inflated(body), charset)
    first = next(texts, "").lstrip(_BLANK)  # before an XML declaration there must be nothing, and often is
    entries = (_in_xml if first.startswith("<") else _in_lines)(chain([first], texts))
    for count, entry in enumerate(entries):
        if count == MAX_URLS:
            raise FormatError(f"over {MAX_URLS:,} URLs")
        yield entry


def _inflated(body: bytes) -> Iterator[bytes]:
    """Yield the pieces of *body* without its compression, as far as the protocol allows."""
    file = gzip.GzipFile(fileobj=BytesIO(body)) if body.startswith(b"\x1f\x8b") else BytesIO(body)
    size = 0
    try:
        while piece := file.read1(_PIECE):  # `read` loses what is before the end of a cut file
            size += len(piece)
            if size > MAX_BYTES:
                raise FormatError(f"over {MAX_BYTES:,} bytes")
            yield piece
    except (OSError, EOFError, zlib.error) as exc:
        raise FormatError(f"damaged gzip: {exc}") from exc


def _decoded(pieces: Iterator[bytes], charset: str | None) -> Iterator[str]:
    first = next(pieces, b"")
    # Up to a character that is whole in every encoding: one that is cut would not look like UTF-8.
    encoding = encoding_of(first[: first.rfind(b">") + 1] or first, charset)
    if first[:2] in (b"<\0", b"\0<"):  # UTF-16 without a mark (XML, appendix F)
        encoding = "utf-16le" if first[0] else "utf-16be"
    try:
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
    except LookupError:  # browsers know names that Python does not
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    yield from map(decode, chain([first], pieces))


def _in_lines(texts: Iterator[str]) -> Iterator[SitemapEntry]:
    rest, is_first = "", True
    for text in chain(texts, ["\n"]):
        urls = (rest + text).split()
        # The last one may go on in the next piece.
        rest = "" if not urls or text[-1:].isspace() else urls.pop()[: _MAX_TEXT + 1]
        for url in urls:
            if is_first and not url.lower().startswith(("http://", "https://")):
                raise FormatError("neither XML nor a list of URLs")
            is_first = False
            yield SitemapEntry(url if len(url) <= _MAX_TEXT else "")
    if is_first:
        raise FormatError("empty")


def _in_xml(texts: Iterator[str]) -> Iterator[SitemapEntry]:
    reader, size = _Reader(), 0
    for text in chain(texts, [None]):
        data = b"" if text is None else text.encode("utf-8", "replace")
        size, error = size + len(data), None
        try:
            reader.parser.Parse(data, text is None)
            # What has not ended yet is kept, and scanned again with each piece.
            if size - reader.parser.CurrentByteIndex > 2 * _PIECE:
                error = FormatError(f"a tag or comment of over {_PIECE:,} bytes")
        except expat.ExpatError as exc:
            error = FormatError(f"no well-formed XML: {exc}")
        except FormatError as exc:
            error = exc
        yield from reader.entries
        reader.entries.clear()
        if error is not None:
            raise error


class _Reader:
    """Finds the entries of an XML document by the paths of names that lead to their elements.

    Elements of extensions (images, videos, news) have other paths. Namespaces are not looked up: a prefix
    that nobody declared is common, and harmless here.
    """

    def __init__(self) -> None:
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._add
        # None is expanded, whether it is declared or not, and so no URL is cut where one stands.
        parser.EntityDeclHandler = parser.SkippedEntityHandler = _refuse_entity
        self.entries: list[SitemapEntry] = []
        self._names: list[str] = []
        self._prefix = ""
        self._fields: dict[str, str] = {}
        self._alternates: list[tuple[str, str]] = []
        self._text = ""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        names = self._names
        if not names:
            prefix, colon, root = name.rpartition(":")
            self._prefix = prefix + colon
            if root not in _ROOTS:
                raise FormatError(f"its root is <{name[:50]}>, not <urlset> or <sitemapindex>")
        if len(names) == _MAX_DEPTH or len(self.parser.intern) > _MAX_NAMES:
            raise FormatError("more elements within others, or more names of them, than a sitemap has")
        names.append(name.removeprefix(self._prefix))
        path, self._text = "/".join(names), ""
        if path in _ENTRIES:
            self._fields, self._alternates = {}, []
        elif len(names) == 3 and path.startswith("urlset/url/") and name.rpartition(":")[2] == "link":
            language, rels = attributes.get("hreflang"), attributes.get("rel", "").lower().split()
            if language is not None and "alternate" in rels and len(self._alternates) < MAX_ALTERNATES:
                self._alternates.append((language[:100], attributes.get("href", "")[: _MAX_TEXT + 1]))
        elif path == "feed/entry/link" and attributes.get("rel", "alternate") == "alternate":
            self._fields["url"] = attributes.get("href", "")[:_MAX_TEXT]

    def _add(self, text: str) -> None:
        if len(self._text) <= _MAX_TEXT:
            self._text += text

    def _end(self, name: str) -> None:  # noqa: ARG002 - the parser gives it
        path = "/".join(self._names)
        self._names.pop()
        if path in _ENTRIES:
            fields, is_sitemap = self._fields, path == "sitemapindex/sitemap"
            lastmod, alternates = fields.get("lastmod") or None, tuple(self._alternates)
            self.entries.append(SitemapEntry(fields.get("url", ""), lastmod, is_sitemap, alternates))
        elif path in _FIELDS:
            text = self._text.strip()
            if _FIELDS[path] == "url":
                self._fields["url"] = text if len(text) <= _MAX_TEXT else ""
            else:
                date = http_date(text) if path.endswith("pubDate") else None
                self._fields["lastmod"] = text[:100] if date is None else date.isoformat()


def _refuse_entity(*_: object) -> None:
    raise FormatError("it has entities of its own, which are not expanded")


# --- Dates ------------------------------------------------------------------------------------------------------------


class Period(NamedTuple):
    """A moment, in UTC, as exact as its text is: it is not before `start`, and not after `end`."""

    start: datetime
    end: datetime
    moment: datetime
    """What stands there, in UTC where no zone does."""


_W3C = re.compile(
    r"\d{4}(?P<month>-\d\d(?P<day>-\d\d(?P<time>[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)


def period_of(lastmod: str) -> Period | None:
    """Return when that is, None unless it is a date as https://www.w3.org/TR/NOTE-datetime has it.

    A day without a zone begins where it begins first, and ends where it ends last; a month may have 31 days.

    >>> period_of("2026-11").moment, period_of("2026-11-31"), period_of("yesterday")
    (datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc), None, None)
    """
    match = _W3C.fullmatch(lastmod)
    if match is None:
        return None
    whole = lastmod if match["day"] else f"{lastmod}-01" if match["month"] else f"{lastmod}-01-01"
    days = 0 if match["time"] else 1 if match["day"] else 31 if match["month"] else 366
    with suppress(ValueError, OverflowError):  # no such day; the first and the last ones of the calendar
        moment = datetime.fromisoformat(whole)
        if match["zone"]:
            return Period(moment.astimezone(UTC), moment.astimezone(UTC), moment.astimezone(UTC))
        moment = moment.replace(tzinfo=UTC)
        return Period(moment - timedelta(hours=14), moment + timedelta(days, hours=12), moment)
    return None

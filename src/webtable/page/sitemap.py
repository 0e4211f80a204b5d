"""The URLs in a sitemap: XML, RSS, Atom or a list, as https://www.sitemaps.org/protocol.html has them. Pure: no I/O.

A sitemap is of a stranger. It is decompressed, decoded and parsed in pieces, and refused where it would take more
memory than a long sitemap does; entities are never expanded.
"""

from __future__ import annotations

import codecs
import re
import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.parsers import expat

from webtable._limits import DEFAULT_LIMITS
from webtable.errors import FormatError
from webtable.page.body import encoding_of
from webtable.page.headers import http_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES: Final = 52_428_800
"""The most bytes of a sitemap without its compression, by the protocol."""
MAX_URLS: Final = 50_000
"""The most URLs of a sitemap, by the protocol."""
_PIECE = 1 << 18
_MAX_TEXT = 8_192
_MAX_NAMES = 1_000
_MAX_DEPTH = 32
_BLANK = "\ufeff \t\r\n"


class SitemapEntry(NamedTuple):
    """A URL as it stands in a sitemap, "" where there is none, and when it was modified last, as that stands there."""

    url: str
    lastmod: str | None = None
    is_sitemap: bool = False
    """Whether it is that of a further sitemap."""


class _Kind(NamedTuple):
    """Where the entries of a kind of sitemap are: the path of their element, and the names of the two within."""

    entry: tuple[str, ...]
    url: str
    dates: frozenset[str]


_KINDS: Final[Mapping[str, _Kind]] = {
    "urlset": _Kind(("urlset", "url"), "loc", frozenset({"lastmod"})),
    "sitemapindex": _Kind(("sitemapindex", "sitemap"), "loc", frozenset({"lastmod"})),
    "rss": _Kind(("rss", "channel", "item"), "link", frozenset({"pubDate"})),
    "feed": _Kind(("feed", "entry"), "link", frozenset({"updated", "modified"})),  # Atom 1.0 and 0.3
}


def sitemap_entries(body: bytes, charset: str | None = None) -> Iterator[SitemapEntry]:
    """Yield the entries of the sitemap *body*, which may be compressed by gzip; *charset* is what its response named.

    Raises `FormatError`, after the entries before, where it cannot be read on, and where it ends at a limit.

    >>> list(sitemap_entries(b"<urlset><url><loc>https://example.com/</loc></url></urlset>"))
    [SitemapEntry(url='https://example.com/', lastmod=None, is_sitemap=False)]
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
    is_gzip = body.startswith(b"\x1f\x8b")
    size = 0
    for piece in _gunzipped(body) if is_gzip else (body[at : at + _PIECE] for at in range(0, len(body), _PIECE)):
        size += len(piece)
        if size > MAX_BYTES:
            raise FormatError(f"over {MAX_BYTES:,} bytes")
        yield piece


def _gunzipped(body: bytes) -> Iterator[bytes]:
    at = 0
    for _ in range(DEFAULT_LIMITS.members):
        inflater = zlib.decompressobj(31)
        while not inflater.eof:
            data = body[at : at + (_PIECE >> 2)]
            try:
                piece = inflater.decompress(data, _PIECE)
            except zlib.error as exc:
                raise FormatError(f"damaged gzip: {exc}") from exc
            at += len(data) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
            if not data and not piece and not inflater.eof:
                raise FormatError("damaged gzip: its end is missing")
            yield piece
        if at == len(body):
            return
    raise FormatError(f"over {DEFAULT_LIMITS.members:,} members of gzip")


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
    reader = _Reader()
    for text in texts:
        yield from reader.entries_in(text.encode("utf-8", "replace"))
    yield from reader.entries_in(b"", is_end=True)


class _Reader:
    """Finds the entries in the pieces of an XML document, by the names of elements and where they are.

    Elements of extensions (images, videos, news, alternates) are other names, or are elsewhere, so their URLs are none.
    Namespaces are not looked up: a prefix that nobody declared is common, and harmless here.
    """

    def __init__(self) -> None:
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add
        # None is expanded, whether it is declared or not, and so no URL is cut where one stands.
        parser.EntityDeclHandler = parser.SkippedEntityHandler = _refuse_entity
        self._bytes = 0
        self._entries: list[SitemapEntry] = []
        self._path: list[str] = []
        self._prefix = ""
        self._kind = _KINDS["urlset"]
        self._url = ""
        self._lastmod: str | None = None
        self._text: list[str] | None = None
        self._length = 0

    def entries_in(self, data: bytes, *, is_end: bool = False) -> Iterator[SitemapEntry]:
        """Yield the entries that end in *data*, the next piece; raises `FormatError` after them."""
        error: FormatError | None = None
        try:
            self._parser.Parse(data, is_end)
            self._bytes += len(data)
            # What has not ended yet is kept, and scanned again with each piece.
            if self._bytes - self._parser.CurrentByteIndex > 2 * _PIECE:
                error = FormatError(f"a tag or comment of over {_PIECE:,} bytes")
        except expat.ExpatError as exc:
            error = FormatError(f"no well-formed XML: {exc}")
        except FormatError as exc:
            error = exc
        yield from self._entries
        self._entries.clear()
        if error is not None:
            raise error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path = self._path
        if not path:
            prefix, colon, root = name.rpartition(":")
            self._prefix = prefix + colon
            if root not in _KINDS:
                raise FormatError(f"its root is <{name[:50]}>, not <urlset> or <sitemapindex>")
            self._kind = _KINDS[root]
        if len(path) == _MAX_DEPTH or len(self._parser.intern) > _MAX_NAMES:
            raise FormatError("more elements within others, or more names of them, than a sitemap has")
        path.append(name.removeprefix(self._prefix))
        entry = self._kind.entry
        if len(path) == len(entry) and tuple(path) == entry:
            self._url, self._lastmod = "", None
        elif len(path) == len(entry) + 1 and tuple(path[:-1]) == entry:
            self._text, self._length = [], 0
            if entry[0] == "feed" and path[-1] == "link" and attributes.get("rel", "alternate") == "alternate":
                self._url = attributes.get("href", "")[:_MAX_TEXT]

    def _add(self, text: str) -> None:
        if self._text is not None and self._length <= _MAX_TEXT:
            self._length += len(text)
            self._text.append(text)

    def _end(self, name: str) -> None:  # noqa: ARG002 - the parser gives it
        path, (entry, url, dates) = self._path, self._kind
        if len(path) == len(entry) and tuple(path) == entry:
            self._entries.append(SitemapEntry(self._url, self._lastmod, is_sitemap=entry[0] == "sitemapindex"))
        elif self._text is not None and len(path) == len(entry) + 1:
            text = "".join(self._text).strip() if self._length <= _MAX_TEXT else ""
            self._text = None
            if path[-1] == url and entry[0] != "feed":
                self._url = text
            elif path[-1] in dates:
                date = http_date(text) if entry[0] == "rss" else None
                self._lastmod = (date.isoformat() if date else text[:100]) or None
        path.pop()


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
_EAST, _WEST = timedelta(hours=14), timedelta(hours=12)


def period_of(lastmod: str) -> Period | None:
    """Return when that is, None unless it is a date as https://www.w3.org/TR/NOTE-datetime has it.

    A day without a zone begins where it begins first, and ends where it ends last.

    >>> period_of("2026-11").moment, period_of("2026-11-31"), period_of("yesterday")
    (datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc), None, None)
    """
    match = _W3C.fullmatch(lastmod)
    if match is None:
        return None
    with suppress(ValueError, OverflowError):  # no such day; the first and the last ones of the calendar
        if match["zone"]:
            moment = datetime.fromisoformat(lastmod).astimezone(UTC)
            return Period(moment, moment, moment)
        whole = lastmod if match["day"] else f"{lastmod}-01" if match["month"] else f"{lastmod}-01-01"
        moment = end = datetime.fromisoformat(whole).replace(tzinfo=UTC)
        if not match["time"]:
            days = 1 if match["day"] else 31 if match["month"] else 366
            end = moment + timedelta(days=days)
            if days > 1:  # the next month, the next year
                end = end.replace(day=1) if days == 31 else end.replace(month=1, day=1)
        return Period(moment - _EAST, end + _WEST, moment)
    return None

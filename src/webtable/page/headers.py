"""The headers of a response and what they say; and the responses of HTTP clients, read by their attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from webtable._checksums import UNREADABLE
from webtable.errors import InvalidArgument, InvalidURL, StoreError
from webtable.page.robots import header_line
from webtable.rowkey import join_url

DEFAULT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""The media types of pages that are read from files by default."""
ROBOTS = "x-robots-tag"
REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
"""The status codes with which the header Location leads somewhere else."""

_MAX_DATE = 100
# What servers send in place of no date at all: the year 1 of .NET, which the package email takes for 2001, or 1601 of
# Windows.
_FIRST_YEAR = 1970
_YEAR_ONE = re.compile(r"[a-z]{3} 0\d\d\d?\b|-[a-z]{3}-0\d\d\d?\b|:\d\d +0\d\d\d\s*$", re.IGNORECASE)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# As servers write it (RFC 9110, section 5.6.7), in a tenth of the time that any form takes.
_USUAL_DATE = re.compile(
    rf"[A-Z][a-z][a-z], ([0-9]{{2}}) ({'|'.join(_MONTHS)}) (19[7-9][0-9]|2[0-9]{{3}})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)
_MOST_KNOWN = 100
"""Characters of a Content-Type that is remembered."""
_MEDIA_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)\s*(?:[;,]|$)", re.ASCII)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';,]+)""", re.IGNORECASE)
# A link of the header Link and its parameters (RFC 8288, section 3), and the value of one parameter.
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_CLIENTS = "give a response of httpx, requests, aiohttp or Scrapy"
_HREFLANG = re.compile(r""";\s*hreflang\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)
_REL = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


class Headers(dict[str, str]):
    r"""The headers of a response. Names are kept as given and found in any case.

    Made from any mapping or list of pairs, of text or bytes, each with one value or a list of values; repeated headers
    are joined by ", ", those of X-Robots-Tag so that the name of a bot stands before its own rules alone. Bytes are
    read as UTF-8, and a value that is no UTF-8 as Latin-1; a URL in such a value keeps
    its bytes, percent-encoded, as browsers send them. Headers cannot be changed: trying to raises `TypeError`, and `|`
    makes new ones. Anything that is not names and values raises `TypeError` as well.

    >>> Headers([("ETag", '"1"'), (b"Vary", b"a"), (b"vary", [b"b", b"c"])])
    Headers({'ETag': '"1"', 'Vary': 'a, b, c'})
    >>> Headers({"Content-Type": "text/html"})["content-type"]
    'text/html'
    """

    __slots__ = ()

    def __init__(self, headers: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        super().__init__(headers if isinstance(headers, Headers) else _joined(headers))

    @classmethod
    def as_stored(cls, headers: Mapping[str, str]) -> Headers:
        """Return *headers* without checking them, as is done for stored pages: there are many of them."""
        made = cls.__new__(cls)
        dict.update(made, headers)
        return made

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of the header *name*, in upper or lower case, or *default*."""
        exact = super().get(name)
        if exact is not None:
            return exact
        lower, length = name.lower(), len(name)
        for own_name, value in self.items():
            if len(own_name) == length and own_name.lower() == lower:
                return value
        return default

    def __getitem__(self, name: str) -> str:
        value: str | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def folded(self) -> dict[str, str]:
        """Return the headers with their names in lower case."""
        return {name.lower(): value for name, value in self.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return dict.__eq__(self, other) or self.folded() == {str(name).lower(): other[name] for name in other}

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Mapping[str, str]) -> Headers:  # type: ignore[override]
        """Return these headers, with those of *other* added or in place of those with the same name."""
        newer = other if isinstance(other, Headers) else Headers(other)
        kept = {name: value for name, value in self.items() if name not in newer}
        return Headers.as_stored({**kept, **newer})

    def __repr__(self) -> str:
        return f"Headers({dict.__repr__(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Headers.as_stored, (dict(self),)

    def _refused(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the headers of a page do not change; make others of them, as in headers | {'etag': '\"1\"'}")

    if not TYPE_CHECKING:  # checkers compare overrides with those of a dict
        __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refused


if TYPE_CHECKING:
    HeadersJSON = Mapping[str, str]
else:
    HeadersJSON = msgspec.Raw  # what `HeadersOnDemand` makes headers of

_decode = msgspec.json.Decoder(dict[str, str]).decode


class HeadersOnDemand:
    """The attribute `headers` of a struct: made of the JSON of a stored page when it is first asked for."""

    # Most pages of a listing are not asked for theirs, and reading them took a sixth of its time, a quarter with eight
    # headers a page. *field* is the attribute that msgspec has made; msgspec itself reads and writes the field in C.

    def __init__(self, field: Any) -> None:
        self._field = field

    def __get__(self, page: Any, owner: type | None = None) -> Any:
        if page is None:
            return self
        headers = self._field.__get__(page)
        if type(headers) is msgspec.Raw:
            try:
                headers = Headers.as_stored(_decode(headers))
            except UNREADABLE as exc:
                raise StoreError(f"{page.url}: its stored headers are damaged: {exc}; store a newer capture") from exc
            self._field.__set__(page, headers)
        return headers

    def keep(self, page: Any) -> None:
        """Keep the headers that *page* was given, as `Headers`.

        Those of another class may be no headers at all: they stay what they are, and `put` says so.
        """
        headers = self._field.__get__(page)
        kind = type(headers)
        if kind is not Headers and kind is not msgspec.Raw and (headers or kind is not dict):
            with suppress(TypeError, ValueError):
                self._field.__set__(page, (Headers.as_stored if kind is dict else Headers)(headers))


def _joined(headers: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Return the headers *headers*, with repeated ones joined under the first spelling of their name."""
    names: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for pair in headers.items() if hasattr(headers, "items") else headers:
        if isinstance(pair, str | bytes | Mapping):  # two letters or names would be taken for a pair
            raise TypeError(f"a header is a name and a value, not {str(pair)[:100]!r}")
        name, value = pair
        text = _text(name)
        several = value if isinstance(value, list | tuple) else (value,)
        key = text.lower()
        names.setdefault(key, text)
        values.setdefault(key, []).extend([_text(value, key) for value in several])
    return {names[key]: joined_lines(key, lines) for key, lines in values.items()}


def joined_lines(name: str, lines: list[str]) -> str:
    """Return the *lines* of the header *name*, in lower case, as one value."""
    return header_line(lines) if name == ROBOTS and len(lines) > 1 else ", ".join(lines)


def _text(value: object, name: str = "") -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise TypeError(f"a header is text or bytes, not {type(value).__name__}")
    return header_text(name, value)


_URLS = {"location": re.compile(rb".+", re.DOTALL), "content-location": re.compile(rb".+", re.DOTALL)}
_URLS["link"] = re.compile(rb"<[^<>]*>")
"""Where the URLs are in the values of headers that have some, by their names in lower case."""


def header_text(name: str, value: bytes) -> str:
    """Return the *value* of the header *name*, in lower case, as `Headers` has it.

    >>> header_text("x-city", "Malmö".encode("latin-1")), header_text("location", "/josé".encode("latin-1"))
    ('Malmö', '/jos%E9')
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        if name in _URLS:
            value = _URLS[name].sub(lambda url: _NOT_ASCII.sub(_escaped, url[0]), value)
        return value.decode("latin-1")


_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def _escaped(byte: re.Match[bytes]) -> bytes:
    return b"%%%02X" % byte[0][0]


# RFC 9111, section 3.2, leaves out the first; the next three, because the stored body is the decoded whole; and the
# others, which section 3.1 says are not stored.
_NOT_FRESHENED = frozenset(
    {"content-length", "content-encoding", "content-range", "transfer-encoding", "connection", "keep-alive", "te"}
    | {"trailer", "upgrade", "proxy-connection", "proxy-authenticate", "proxy-authentication-info"}
    | {"proxy-authorization"}
)


def freshened(stored: Mapping[str, str], newer: Headers) -> Headers:
    """Return the headers *stored* with a page, with those of a 304 added, or in place of those with the same name.

    Headers of the 304 that are of its own message, and not of the page, are left out (RFC 9111, section 3.2).

    >>> freshened({"ETag": '"1"', "Vary": "a", "Content-Length": "9"}, Headers({"etag": '"2"', "Content-Length": "0"}))
    Headers({'Vary': 'a', 'Content-Length': '9', 'etag': '"2"'})
    """
    nominated = {name.strip().lower() for name in newer.get("connection", "").split(",")}
    kept = {name: value for name, value in newer.items() if name.lower() not in _NOT_FRESHENED | nominated}
    return Headers(stored) | Headers.as_stored(kept)


def media_type(content_type: str | None) -> tuple[str | None, str | None]:
    """Return the media type, in lower case, and the charset of a Content-Type; None for what it does not name.

    >>> media_type('Text/HTML; Charset="UTF-8"')
    ('text/html', 'UTF-8')
    """
    if not content_type:
        return None, None
    return (_known_media_type if len(content_type) <= _MOST_KNOWN else _media_type)(content_type)


def _media_type(content_type: str) -> tuple[str | None, str | None]:
    media, charset = _MEDIA_TYPE.match(content_type), _CHARSET.search(content_type)
    return media[1].lower() if media else None, charset[1] if charset else None


# A crawl has few of them and many pages.
_known_media_type = functools.lru_cache(maxsize=4_096)(_media_type)


def http_date(value: str | None) -> datetime | None:
    """Return the time in a header such as Last-Modified, in UTC; None if there is none that can be read.

    >>> http_date("Sun, 06 Nov 1994 08:49:37 GMT")
    datetime.datetime(1994, 11, 6, 8, 49, 37, tzinfo=datetime.timezone.utc)
    """
    if not value:
        return None
    if usual := _USUAL_DATE.fullmatch(value):
        day, month, year, hour, minute, second = usual.groups()
        number = _MONTHS.index(month) + 1
        try:
            return datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
        except ValueError:
            return None
    # The package email takes longer to import than a page to be shown, and most headers are as above.
    from email.utils import parsedate_to_datetime

    try:
        parsed = parsedate_to_datetime(value[:_MAX_DATE])
        parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        return None if parsed.year < _FIRST_YEAR or _YEAR_ONE.search(value) else parsed
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def redirect_target(url: str, location: str | None) -> str | None:
    """Return *location*, which may be relative to *url*, as an absolute URL; None if it is not an http or https URL.

    >>> redirect_target("https://example.com/a/b", "../c")
    'https://example.com/c'
    """
    try:
        return join_url(url, location) if location else None
    except InvalidURL:
        return None


def header_links(links: str | None) -> Iterator[tuple[str, list[str], str | None]]:
    """Yield reference, relations and `hreflang` of each link in the value *links* of the header Link.

    >>> list(header_links('</de>; rel="alternate"; hreflang=de-AT, </style.css>; rel=preload'))
    [('/de', ['alternate'], 'de-AT'), ('/style.css', ['preload'], None)]
    """
    for reference, parameters in _LINK.findall(links or ""):
        if rel := _REL.search(parameters):
            language = _HREFLANG.search(parameters)
            rels = (rel[1] or rel[2]).lower().split()
            yield reference.strip(), rels, language and (language[1] or language[2] or "")


def canonical_links(url: str, links: str | None) -> Iterator[str]:
    """Yield where the header Link says that the content of *url* has its own place.

    >>> [*canonical_links("https://example.com/a.pdf?v=1", '</style.css>; rel=preload, </a.pdf>; rel="canonical"')]
    ['https://example.com/a.pdf']
    """
    for reference, rels, _ in header_links(links):
        if "canonical" in rels and (target := redirect_target(url, reference)):
            yield target


def main_and_other(canonicals: Iterable[str | None]) -> tuple[str | None, str | None]:
    """Return the first of *canonicals*, and the first that is another URL; None where there is none.

    >>> main_and_other(["https://example.com/a", "https://example.com/a", "https://example.com/b"])
    ('https://example.com/a', 'https://example.com/b')
    """
    urls = filter(None, canonicals)
    first = next(urls, None)
    return first, next((url for url in urls if url != first), None)


def single_value(value: str | None) -> str | None:
    """Return the *value* of a header in lower case, as it is where it names one thing; None for a list of several.

    >>> single_value("pt-BR"), single_value("de, en")
    ('pt-br', None)
    """
    return None if not value or "," in value else value.strip().lower() or None


_PROTOCOLS = {name: name for name in ("http/0.9", "http/1.0", "http/1.1", "h2", "h2c", "h3")}
_PROTOCOLS |= {"http/2": "h2", "http/2.0": "h2", "http/3": "h3", "http/3.0": "h3"}
_ADDRESS = re.compile(r"[0-9A-Fa-f.:]{2,45}")


def protocol_of(version: str | None) -> str | None:
    """Return the ALPN ID of the first version of HTTP in a list; None if it names none.

    >>> protocol_of("HTTP/1.1"), protocol_of("tls/1.3, HTTP/2"), protocol_of("dns")
    ('http/1.1', 'h2', None)
    """
    if not version:
        return None
    names = version[:_MOST_KNOWN].lower().split(",")
    return next((_PROTOCOLS[name] for name in map(str.strip, names) if name in _PROTOCOLS), None)


def address_of(text: str | None) -> str | None:
    """Return the IP address *text*, which may be in brackets; None if it does not look like one.

    >>> address_of("[2001:db8::1]"), address_of("example.com")
    ('2001:db8::1', None)
    """
    address = text and text.strip(" []")
    return address if address and _ADDRESS.fullmatch(address) else None


def fetch_of(response: object) -> dict[str, Any]:
    """What an HTTP client says of the fetch of *response*, as fields of a page; None for what it does not say."""
    request = attribute_of(response, "request") or attribute_of(response, "request_info")
    sent: Any = attribute_of(request, "headers")
    referrer = sent.get("referer") if hasattr(sent, "get") else None
    if isinstance(referrer, bytes):
        referrer = header_text("referer", referrer)
    elapsed, address = attribute_of(response, "elapsed"), attribute_of(response, "ip_address")
    return {
        "referrer": referrer if isinstance(referrer, str) and referrer else None,
        "duration": max(0, round(elapsed / timedelta(milliseconds=1))) if isinstance(elapsed, timedelta) else None,
        "server_address": address_of(str(address)) if address else None,
        "protocol": protocol_of(_version_of(response)),
    }


def _version_of(response: object) -> str | None:
    for name in ("http_version", "protocol"):  # of httpx, and of Scrapy
        if isinstance(version := attribute_of(response, name), str):
            return version
    raw = attribute_of(response, "raw")  # of requests, which has 11 for 1.1; aiohttp has a tuple
    version = attribute_of(response, "version") if raw is None else attribute_of(raw, "version")
    numbers = divmod(version, 10) if isinstance(version, int) else version
    return "http/{}.{}".format(*numbers) if isinstance(numbers, tuple) and len(numbers) == 2 else None


def status_of(response: object) -> int:
    """Return the status code of *response*; raises `InvalidArgument` if it has none."""
    for name in ("status_code", "status"):
        status = getattr(response, name, None)
        if isinstance(status, int):
            return int(status)
    raise InvalidArgument(f"response={_shown(response)} has no status: {_CLIENTS}")


def url_of(response: object) -> str:
    """Return the URL of *response* as text; raises `InvalidArgument` if it has none."""
    url = getattr(response, "url", None)
    if not url or callable(url):
        raise InvalidArgument(f"response={_shown(response)} has no URL: {_CLIENTS}")
    return str(url)


def headers_of(response: object) -> Headers:
    """Return the headers of *response*; raises `InvalidArgument` if they are not names and values."""
    headers: Any = getattr(response, "headers", None)
    # What was sent, where the client has it: httpx reads all headers as Latin-1 if one of them is no UTF-8.
    sent = getattr(response, "raw_headers", None) or getattr(headers, "raw", None)
    if not isinstance(sent, list | tuple):
        sent = () if headers is None else headers
    try:
        named = sent.items() if hasattr(sent, "items") else sent
        return Headers([(name, _lines_of(response, name, _as_sent(value))) for name, value in named])
    except (TypeError, ValueError) as exc:
        raise InvalidArgument(f"response={_shown(response)} has headers that are none ({exc}): {_CLIENTS}") from exc


def _lines_of(response: object, name: Any, value: Any) -> Any:
    """Return the lines of X-Robots-Tag, which requests has joined to *value*: urllib3 has them below; else *value*."""
    if isinstance(name, str) and name.lower() == ROBOTS and isinstance(value, str):
        lines_of = getattr(getattr(getattr(response, "raw", None), "headers", None), "getlist", None)
        lines = lines_of(name) if callable(lines_of) else ()
        if isinstance(lines, list) and ", ".join(map(str, lines)) == value:  # a caller may have changed it
            return lines
    return value


def _as_sent(value: Any) -> Any:
    """Return the bytes of a header that a client has read as Latin-1, as http.client does, and with it requests."""
    if isinstance(value, str) and not value.isascii():
        with suppress(UnicodeEncodeError):
            return value.encode("latin-1")
    return value


def body_of(response: object, body: bytes | None) -> bytes:
    """Return *body* if it is given, else the body that *response* has already read.

    Raises `InvalidArgument` if it has read none, or if *body* is not bytes.
    """
    if body is not None:
        if not isinstance(body, bytes | bytearray | memoryview):
            raise InvalidArgument(f"body is {type(body).__name__}; it must be bytes")
        return bytes(body)
    for name in ("content", "body"):
        content = attribute_of(response, name)
        if isinstance(content, bytes):
            return content
    raise InvalidArgument(
        f"response={_shown(response)} has no body that is read already: give it, "
        "as in Page.from_response(response, body=await response.read())"
    )


def attribute_of(response: object, name: str) -> object:
    """Return the attribute *name* of *response*, None where it has none or has not read it."""
    try:
        return getattr(response, name, None)
    except Exception:  # noqa: BLE001 - httpx and others raise an error of their own for a body that was not read
        return None


def _shown(response: object) -> str:
    return repr(response)[:200]

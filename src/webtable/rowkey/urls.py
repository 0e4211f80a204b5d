"""Canonical URLs (as parsed by the WHATWG standard, without fragment and credentials) and their parts."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import ada_url

from webtable.errors import InvalidURL

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# URLs that the parser would return unchanged, except for a fragment: no character that it would encode, and (checked
# after the match) a plain host and no dot segments. Nine out of ten URLs of a crawl are of this kind, and this is four
# times as fast as a parse. A property test compares the result with the parser's.
_PLAIN_URL = re.compile(
    r"(https?)://([a-z0-9._-]+)(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)(\?[A-Za-z0-9._~!$&()*+,;=:@%/?-]*)?"
    r"(?:#[!-~]*)?"
)
# Not an IPv4 address (its last label is a number) or punycode (which must be checked).
_PLAIN_HOST = re.compile(r"(?!(?:.*\.)?xn--)(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*")
MAX_HOST = 255
"""The most characters of a host name that is cached. Names in DNS are never longer; those in URLs may be, and 65,536 of
them would fill the memory."""
# A parsed URL. Credentials and fragment are left out, so that a secret never becomes part of a key.
_PARTS = re.compile(
    r"(?P<scheme>https?)://(?:[^/@]*@)?(?P<host>\[[^]]*\]|[^/:]+)(?::(?P<port>\d+))?"
    r"(?P<path>/[^?#]*)(?P<query>\?[^#]*)?(?:#.*)?"
)
# What RFC 3986 allows in no path or query, and the URL standard leaves raw or escaped as it was: browsers and crawlers
# escape different ones. Servers read both forms alike, unless they refuse the raw one, as Tomcat does.
_ESCAPES = str.maketrans({character: f"%{ord(character):02X}" for character in "[]|{}^`\\"})
_IN_LOWER_CASE = re.compile(r"%(?:5[b-e]|7[b-d])")


class URLParts(NamedTuple):
    """The parts of a canonical URL; `port` is None if it is the scheme's default."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str
    """With its `?`, or empty; a bare `?` is not the same as none."""

    def __str__(self) -> str:
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}{self.query}"


def cached_by_host(function: Callable[[str], T]) -> Callable[[str], T]:
    """Return *function*, which takes a host name, with a cache for names of normal length."""
    # A crawl has few hosts and many pages; hosts of any length would let strangers fill the memory.
    cached = functools.lru_cache(maxsize=65_536)(function)

    @functools.wraps(function)
    def by_host(host: str) -> T:
        return cached(host) if len(host) <= MAX_HOST else function(host)

    return by_host


def split_url(url: str) -> URLParts:
    """Return the parts of the canonical form of *url*; raises `InvalidURL` as `canonical_url` does."""
    return URLParts._make(parts_of(url))


def parts_of(url: str) -> _Parts:
    """Return the parts as a plain tuple, which is faster: every link becomes a row key."""
    return _plain_parts(url) or _parsed_parts(url)


def canonical_url(url: str) -> str:
    r"""Return the canonical form of *url*, which a browser would request.

    That is the URL as the WHATWG URL standard parses and serialises it (lower-case host, punycode, no default port,
    no dot segments, percent-encoding), without fragment and credentials, and with the characters ``[]|{}^`\`` always
    escaped in path and query. Raises `InvalidURL` unless it is an http or https URL that the standard accepts.

    >>> canonical_url("HTTP://user:secret@Example.COM:80/a/../b c?tags[]=1#top")
    'http://example.com/b%20c?tags%5B%5D=1'
    """
    return url if _is_canonical(url) else str(split_url(url))


def canonical_or_none(url: str) -> str | None:
    """The canonical form of *url*, None if it is not a URL of a page: links and redirects may be anything.

    >>> canonical_or_none("HTTPS://Example.com"), canonical_or_none("mailto:a@example.com")
    ('https://example.com/', None)
    """
    try:
        return canonical_url(url)
    except InvalidURL:
        return None


def join_url(base: str, reference: str) -> str:
    """Return the canonical URL of *reference* on the page at *base*.

    Raises `InvalidURL` if that is not an http or https URL.

    >>> join_url("https://example.com/docs/intro", "../about#team")
    'https://example.com/about'
    """
    if _is_canonical(reference):
        return reference
    try:
        joined = ada_url.join_url(base, reference)
    except ValueError as exc:
        raise InvalidURL(f"{quoted(reference)} is not a link from {quoted(base)}") from exc
    return canonical_url(joined)


def is_ip_address(host: str) -> bool:
    """Whether *host*, as in a canonical URL, is an IPv4 or an IPv6 address.

    No domain looks like either: the standard reads every host whose last label is a number as an IPv4 address.
    """
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def canonical_host(host: str) -> str:
    """Return *host* in the form of canonical URLs; raises `InvalidURL` if it is not a host.

    >>> canonical_host("Bücher.example")
    'xn--bcher-kva.example'
    """
    if not isinstance(host, str):
        raise InvalidURL(f"{host!r} is not a host name: it is {type(host).__name__}, not str")
    # An IPv6 address may come without brackets; any other part of a URL around the host is a mistake.
    literal = f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
    is_address = literal.startswith("[") and literal.endswith("]")
    if not literal or any(character in literal for character in "/?#@\\") or (":" in literal and not is_address):
        raise InvalidURL(f"{quoted(host)} is not a host name: give the host only, as in 'example.com'")
    return split_url(f"https://{literal}/").host


def without_port(authority: bytes) -> bytes:
    """Return the host in the part between `//` and the path of a URL without credentials.

    >>> without_port(b"example.com:8080"), without_port(b"[::1]")
    (b'example.com', b'[::1]')
    """
    host, _, port = authority.rpartition(b":")
    return host if host and port.isdigit() else authority


_Parts = tuple[str, str, int | None, str, str]


def _plain_parts(url: str) -> _Parts | None:
    match = _PLAIN_URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        return None
    scheme, host, path, query = match.groups("")
    if "/." in path or "/%2" in path or len(host) > MAX_HOST or not _is_plain_host(host):
        return None
    if ("%5" in url or "%7" in url) and _IN_LOWER_CASE.search(url):
        return None
    return scheme, host, None, path, query


def _is_canonical(url: str) -> bool:
    return _plain_parts(url) is not None and "#" not in url


@functools.lru_cache(maxsize=65_536)
def _is_plain_host(host: str) -> bool:
    return _PLAIN_HOST.fullmatch(host) is not None


_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")


def _parsed_parts(url: str) -> _Parts:
    if not isinstance(url, str):
        raise InvalidURL(f"{url!r} is not a URL: it is {type(url).__name__}, not str")
    try:
        parts = _PARTS.fullmatch(ada_url.normalize_url(url))
    except ValueError as exc:
        error = InvalidURL(f"{quoted(url)} is not a URL: {_reason(url)}")
        error.without_scheme = "" if _SCHEME.match(url) else url.strip()
        raise error from exc
    if parts is None:
        raise InvalidURL(f"{quoted(url)} is not an http or https URL: its scheme is {url.partition(':')[0].strip()!r}")
    scheme, host, port, path, query = parts.groups("")
    return scheme, host, int(port) if port else None, _spelled(path), _spelled(query)


def _spelled(text: str) -> str:
    if "%5" in text or "%7" in text:
        text = _IN_LOWER_CASE.sub(lambda match: match[0].upper(), text)
    return text.translate(_ESCAPES)


def _reason(url: str) -> str:
    if not url.strip():
        return "it is empty"
    if not _SCHEME.match(url):
        return "it has no scheme; it should begin with https:// or http://"
    if not url.isprintable() and any("\ud800" <= character <= "\udfff" for character in url):
        return "it has half of a surrogate pair"
    return "its host or port is not valid"


def quoted(url: str) -> str:
    """Return *url* for a message: short, printable and without credentials."""
    shown = re.sub(r"^([^/?#]*//)[^/?#]*@", r"\1…@", url)
    return ascii(shown) if len(shown) <= 200 else f"{shown[:150]!a}… ({len(shown):,} characters)"

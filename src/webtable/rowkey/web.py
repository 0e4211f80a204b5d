"""The web key: a URL as a row key, and back.

    {salt}:{reversed host}{path}[?query][#scheme[:port]]
    5a:com.example/products                    https://example.com/products
    5a:com.example/products?id=7#http:8080     http://example.com:8080/products?id=7

Below one salt the pages of a host are contiguous, and so are its subtree (the host and all below it) and each of its
directories, because `.` (2e), `/` (2f) and `0` (30) are neighbours. Scheme and port come last, behind a `#`, which no
canonical URL contains, so the http and https forms of a page stand side by side. IP addresses are not reversed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError, KeyTooLong
from webtable.rowkey.ranges import KeyRange
from webtable.rowkey.salt import Salt, has_one_owner
from webtable.rowkey.urls import canonical_host, is_ip_address, quoted, split_url

MAX_WEB_KEY = 16_384
"""The longest web key in bytes. HBase's limit is 32,767, and its region lookup fails close to it."""

_SUFFIX = re.compile(r"#(?P<scheme>https?)(?::(?P<port>[1-9]\d{0,4}))?")


@dataclass(frozen=True, slots=True)
class WebKey:
    """The row keys of a web table with a given salt.

    >>> key = WebKey().encode("https://example.com/products")
    >>> key
    b'5a:com.example/products'
    >>> WebKey().decode(key)
    'https://example.com/products'
    """

    salt: Salt = field(default_factory=Salt.host)
    _host_prefix: Callable[[str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A crawl has few hosts and many pages, so the salt and the reversal of a host are worth remembering.
        salt = self.salt

        @functools.lru_cache(maxsize=65_536)
        def host_prefix(host: str) -> bytes:
            return _salted(salt.of(host, ""), _reversed_host(host).encode("ascii"))

        object.__setattr__(self, "_host_prefix", host_prefix)

    def encode(self, url: str) -> bytes:
        """Return the row key of *url*, at most 16,384 bytes long.

        Raises `InvalidURL` for what is no http or https URL, `KeyTooLong` for a longer key.
        """
        scheme, host, port, path, query = parts = split_url(url)
        suffix = "" if scheme == "https" and port is None else _suffix(scheme, port)
        if self.salt.source == "url":
            prefix = _salted(self.salt.of(host, str(parts)), _reversed_host(host).encode("ascii"))
        else:
            prefix = self._host_prefix(host)
        key = prefix + f"{path}{query}{suffix}".encode("ascii")
        if len(key) > MAX_WEB_KEY:
            raise KeyTooLong(f"{quoted(url)} makes a row key of {len(key):,} bytes; the limit is {MAX_WEB_KEY:,}")
        return key

    def decode(self, key: bytes) -> str:
        """Return the canonical URL whose key is *key*; raises `KeyFormatError` for any other bytes."""
        url = self.url_of(key)
        try:
            if self.encode(url) == key:
                return url
        except InvalidURL:
            pass
        raise KeyFormatError(f"{key[:200]!r} is no web key with salt {self.salt.source!r}")

    def url_of(self, key: bytes) -> str:
        """Return the URL of a key that `encode` made, without checking that it did: a quarter of `decode`'s time."""
        try:
            text = self.unsalted(key).decode("ascii")
        except UnicodeDecodeError as exc:
            raise KeyFormatError(f"{key[:200]!r} is no web key: it is not ASCII") from exc
        body, mark, _ = text.partition("#")
        suffix = _SUFFIX.fullmatch(text, len(body)) if mark else None
        slash = body.find("/")
        if slash < 0 or (mark and suffix is None):
            raise KeyFormatError(f"{key[:200]!r} is no web key")
        scheme, port = (suffix["scheme"], suffix["port"]) if suffix else ("https", None)
        at = f":{port}" if port else ""
        return f"{scheme}://{_host_of(body[:slash])}{at}{body[slash:]}"

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* without its salt: what results are ordered by. Raises `KeyFormatError` where it has none."""
        digits = self.salt.digits
        if not digits:
            return key
        if key[digits : digits + 1] != b":":
            raise KeyFormatError(f"{key[:200]!r} is no web key: it has no salt of {digits} digits in front")
        return key[digits + 1 :]

    def host_ranges(self, host: str) -> list[KeyRange]:
        """Return the ranges of all pages of *host*, on every scheme and port, below every salt that they can have.

        Raises `InvalidURL` for what is no host.
        """
        host = canonical_host(host)
        return _below(self._salts(host), f"{_reversed_host(host)}/", f"{_reversed_host(host)}0")

    def subtree_ranges(self, domain: str) -> list[KeyRange]:
        """Return the ranges of all pages of *domain* and of the hosts below it; an IP address is one host.

        >>> WebKey(Salt.none()).subtree_ranges("example.com")
        [KeyRange(start=b'com.example.', stop=b'com.example0')]
        """
        domain = canonical_host(domain)
        if is_ip_address(domain):
            return self.host_ranges(domain)
        one_salt = self.salt.source == "none" or (self.salt.source == "domain" and has_one_owner(domain))
        salts = [self.salt.of(domain, "")] if one_salt else self.salt.all()
        return _below(salts, f"{_reversed_host(domain)}.", f"{_reversed_host(domain)}0")

    def directory_ranges(self, url: str) -> list[KeyRange]:
        """Return the ranges of all pages of a host below the directory of *url*: its path up to the last `/`.

        The scheme and port of *url* do not matter. Raises `InvalidURL`, and `InvalidArgument` for a URL with a query.

        >>> WebKey(Salt.none()).directory_ranges("https://example.com/docs/")
        [KeyRange(start=b'com.example/docs/', stop=b'com.example/docs0')]
        """
        parts = split_url(url)
        if parts.query:
            raise InvalidArgument(f"url={url!r} must name a directory, without a query")
        directory = _reversed_host(parts.host) + parts.path.rpartition("/")[0]
        return _below(self._salts(parts.host), f"{directory}/", f"{directory}0")

    def _salts(self, host: str) -> Sequence[bytes]:
        return self.salt.all() if self.salt.source == "url" else [self.salt.of(host, "")]


def _below(salts: Sequence[bytes], start: str, stop: str) -> list[KeyRange]:
    first, last = start.encode("ascii"), stop.encode("ascii")
    return [KeyRange(_salted(salt, first), _salted(salt, last)) for salt in salts]


def _salted(salt: bytes, rest: bytes) -> bytes:
    return salt + b":" + rest if salt else rest


def _reversed_host(host: str) -> str:
    return host if is_ip_address(host) else ".".join(reversed(host.split(".")))


def _host_of(reversed_host: str) -> str:
    # An address begins with a bracket or a number; a reversed domain with its top-level label, which is neither.
    is_address = reversed_host.startswith("[") or reversed_host.partition(".")[0].isdigit()
    return reversed_host if is_address else ".".join(reversed(reversed_host.split(".")))


def _suffix(scheme: str, port: int | None) -> str:
    return f"#{scheme}" if port is None else f"#{scheme}:{port}"

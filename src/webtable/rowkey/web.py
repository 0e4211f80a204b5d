"""The web key: a URL as a row key, and back.

    {salt}:{reversed host}{path}[?query][#scheme[:port]]
    5a:com.example/products                    https://example.com/products
    5a:com.example/products?id=7#http:8080     http://example.com:8080/products?id=7

Below one salt the pages of a host are contiguous, and so are its subtree (the host and all below it) and each of its
directories, because `.` (2e), `/` (2f) and `0` (30) are neighbours. Scheme and port come last, after a `#`, which no
canonical URL contains, so the http and https forms of a page are neighbours. IP addresses are not reversed.

It is a composite key of two values, `host` and `rest` (what is after the first `/` of the path, `#scheme` included),
with the same parts as every other key.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from webtable.errors import InvalidArgument, InvalidURL, KeyFormatError, KeyTooLong
from webtable.rowkey.composite import CompositeKey
from webtable.rowkey.fields.domain import ReversedDomain, host_of
from webtable.rowkey.fields.field import Below, Condition, Constant, Part, below, starting_with
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.fields.text import Text
from webtable.rowkey.key import MAX_KEY
from webtable.rowkey.ranges import KeyRange, prefix_range
from webtable.rowkey.urls import MAX_HOST, cached_by_host, canonical_host, is_ip_address, parts_of, quoted, split_url

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


# --- Salts ------------------------------------------------------------------------------------------------------------
#
# Hex digits before a web key distribute hosts over the regions of a table.


SaltSource = Literal["host", "domain", "url", "none"]


@dataclass(frozen=True, slots=True)
class Salt:
    """The source of the salt of web keys, and the number of hex digits of its MD5.

    Make one with `Salt.host()`, `.domain()`, `.url()` or `.none()`. Raises `InvalidArgument` for a number of digits
    that is not from 1 to 4 (0 for `none`): two digits are 256 salts.
    """

    source: SaltSource = "host"
    digits: int = 2

    def __post_init__(self) -> None:
        if self.source not in ("host", "domain", "url", "none"):
            raise InvalidArgument(f"salt={self.source!r} must be one of host, domain, url, none")
        wanted = range(1) if self.source == "none" else range(1, 5)
        if self.digits not in wanted:
            limits = f"from {wanted[0]} to {wanted[-1]} for salt={self.source!r}"
            raise InvalidArgument(f"digits={self.digits!r} must be {limits}")

    @classmethod
    def host(cls, digits: int = 2) -> Salt:
        """Take the salt from the host: a host is one range, a subtree one range for each salt."""
        return cls("host", digits)

    @classmethod
    def domain(cls, digits: int = 2) -> Salt:
        """Take the salt from the registered domain: a host and a domain's subtree are one range each.

        The Public Suffix List says which part of a host is its registered domain, so the version of the list
        (`suffix_list_version`) is part of a table's layout.
        """
        return cls("domain", digits)

    @classmethod
    def url(cls, digits: int = 2) -> Salt:
        """Take the salt from the whole URL: a host is distributed over all salts, so a hot host is not a hot region."""
        return cls("url", digits)

    @classmethod
    def none(cls) -> Salt:
        """No salt: keys begin with the reversed host."""
        return cls("none", 0)

    def parts(self, url_of: Callable[[str, str], str]) -> tuple[Part, ...]:
        """Return the parts of a key for the salt, with the `:` after it; empty for `Salt.none()`.

        They are made from the value `host` or, with `Salt.url()`, from the result of *url_of* for `host` and `rest`.
        """
        match self.source:
            case "host":
                made = Hash("host", first=self.digits)
            case "domain":
                made = Hash("host", first=self.digits, through=REGISTERED_DOMAIN)
            case "url":
                made = Hash(("host", "rest"), first=self.digits, through=url_of)
            case "none":
                return ()
        return made, Constant(b":")


class RegisteredDomain:
    """The registered domain of a host, as a function for `Hash(through=…)`."""

    def __repr__(self) -> str:
        return "registered_domain"

    def __call__(self, host: str, /) -> str:
        """Return the registered domain."""
        return registered_domain(host)

    def of_all(self, condition: Condition, /) -> str | None:
        """Return the registered domain of a domain and all hosts below it; None if they have several."""
        try:
            domain = canonical_host(condition.domain) if isinstance(condition, Below) else None
        except InvalidURL:
            return None  # the field reports what is wrong with it
        return registered_domain(domain) if domain is not None and has_one_owner(domain) else None


REGISTERED_DOMAIN = RegisteredDomain()


@cached_by_host
def registered_domain(host: str) -> str:
    """Return the registered domain of *host*: its public suffix and one more label.

    A host without one (an IP address, or a public suffix itself) is returned unchanged.

    >>> registered_domain("docs.example.co.uk")
    'example.co.uk'
    """
    if is_ip_address(host):
        return host
    # The URL standard allows empty labels (`example.com.`, `a..example.com`), the list does not: look after them.
    name = host.rstrip(".").rpartition("..")[2]
    return _suffix_list().privatesuffix(name) or host


def has_one_owner(domain: str) -> bool:
    """Whether all hosts at and below *domain* have the same registered domain, and so the same salt.

    >>> has_one_owner("example.co.uk"), has_one_owner("co.uk")
    (True, False)
    """
    inside = registered_domain(f"a.{domain}") == registered_domain(domain)
    return inside and domain.rstrip(".").rpartition("..")[2] not in _domains_above_suffixes()


def suffix_list_version() -> str:
    """Return the version of the Public Suffix List in use: that of its package."""
    import importlib.metadata

    return importlib.metadata.version("publicsuffixlist")


@functools.cache
def _suffix_list() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


@functools.cache
def _domains_above_suffixes() -> frozenset[str]:
    # amazonaws.com is a registered domain, but hosts below it belong to others: s3.amazonaws.com is a suffix.
    from publicsuffixlist import PSLFILE

    above: set[str] = set()
    for line in Path(PSLFILE).read_text(encoding="utf-8").splitlines():
        rule = line.partition(" ")[0]
        if rule and not rule.startswith("//"):
            labels = canonical_host(rule.lstrip("!*.")).split(".")
            wildcard = rule.startswith("*.")
            above.update(".".join(labels[start:]) for start in range(0 if wildcard else 1, len(labels)))
    return frozenset(above)


# --- Web keys ---------------------------------------------------------------------------------------------------------


MAX_WEB_KEY = MAX_KEY
"""The longest web key in bytes. HBase's limit is 32,767, and its region lookup fails close to it."""

_SUFFIX = re.compile(r"#(?P<scheme>https?)(?::(?P<port>0|[1-9]\d{0,4}))?")


@dataclass(frozen=True, slots=True)
class WebKey:
    """The row keys of a web table with a given salt; `parts` is their composite key.

    >>> key = WebKey().encode("https://example.com/products")
    >>> key
    b'5a:com.example/products'
    >>> WebKey().decode(key)
    'https://example.com/products'
    """

    salt: Salt = field(default_factory=Salt.host)
    parts: CompositeKey = field(init=False, repr=False, compare=False)
    _salt_of_url: Hash | None = field(init=False, repr=False, compare=False, default=None)
    _host_prefix: Callable[[str], bytes] = field(init=False, repr=False, compare=False)
    _known_prefix: Callable[[str], bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        salt, host = self.salt.parts(url_of), ReversedDomain("host", terminator=b"/")
        set_ = object.__setattr__
        set_(self, "parts", CompositeKey(*salt, host, Text("rest")))
        by_url = self.salt.source == "url"
        if by_url:
            set_(self, "_salt_of_url", salt[0])
        # A crawl has few hosts and many pages, so the prefixes of hosts are cached.
        encode = CompositeKey(*(() if by_url else salt), host).encode
        set_(self, "_host_prefix", lambda name: encode(host=name))
        set_(self, "_known_prefix", functools.lru_cache(maxsize=65_536)(self._host_prefix))

    def encode(self, url: str) -> bytes:
        """Return the row key of *url*, at most 16,384 bytes long.

        Raises `InvalidURL` unless it is an http or https URL, `KeyTooLong` for a longer key.
        """
        host, rest = host_and_rest(url)
        # No name in DNS is as long; such hosts are not cached, as 65,536 of them would fill the memory.
        if len(host) > MAX_HOST:
            key = self._long_prefix(host, url) + rest.encode("ascii")
        else:
            key = self._known_prefix(host) + rest.encode("ascii")
        if self._salt_of_url is not None:
            key = self._salt_of_url.encode(host, rest) + b":" + key
        if len(key) > MAX_WEB_KEY:
            raise KeyTooLong(f"{quoted(url)} makes a row key of {len(key):,} bytes; the limit is {MAX_WEB_KEY:,}")
        return key

    def _long_prefix(self, host: str, url: str) -> bytes:
        if len(host) >= MAX_WEB_KEY:
            raise KeyTooLong(f"{quoted(url)} has a host of {len(host):,} bytes; a row key has at most {MAX_WEB_KEY:,}")
        return self._host_prefix(host)

    def decode(self, key: bytes) -> str:
        """Return the canonical URL whose key is *key*; raises `KeyFormatError` for any other bytes."""
        url = self.url_of(key)
        # The values must make the same key again: a key has one spelling, and no two URLs share one.
        try:
            if self.encode(url) == key:
                return url
        except InvalidURL:
            pass
        raise KeyFormatError(f"{key[:200]!r} is not a web key with salt {self.salt.source!r}")

    def url_of(self, key: bytes) -> str:
        """Return the URL of a key that `encode` made, without checking that, in half the time of `decode`."""
        return self._url_of(self.unsalted(key))

    def _url_of(self, key: bytes) -> str:
        try:
            reversed_name, slash, rest = key.decode("ascii").partition("/")
        except UnicodeDecodeError as exc:
            raise KeyFormatError(f"{key[:200]!r} is not a web key: it is not ASCII") from exc
        if not slash:
            raise KeyFormatError(f"{key[:200]!r} is not a web key")
        return url_of(host_of(reversed_name), rest)

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* without its salt, by which results are ordered. Raises `KeyFormatError` if it has no salt."""
        digits = self.salt.digits
        if digits and key[digits : digits + 1] != b":":
            raise KeyFormatError(f"{key[:200]!r} is not a web key: it does not begin with a salt of {digits} digits")
        return self.parts.unsalted(key)

    def salted(self, key: bytes) -> bytes:
        """Return the row key for *key*, which lacks its salt: the salt is computed from the URL.

        Raises `KeyFormatError` if it is no key.

        >>> WebKey().salted(b"com.example/products")
        b'5a:com.example/products'
        """
        reversed_name, _, rest = key.partition(b"/")
        if self._salt_of_url is not None:
            return self.encode(self._url_of(key))
        if not reversed_name.isascii():
            raise KeyFormatError(f"{key[:200]!r} is not a web key: its host is not ASCII")
        host = host_of(reversed_name.decode("ascii"))
        return (self._known_prefix if len(host) <= MAX_HOST else self._host_prefix)(host) + rest

    def host_ranges(self, host: str) -> list[KeyRange]:
        """Return the ranges of all pages of *host*, on all schemes and ports, below all salts that they can have.

        Raises `InvalidURL` if it is not a host.
        """
        host = canonical_host(host)
        if self._salt_of_url is None:
            return [prefix_range(self._host_prefix(host))]  # as below, five times as fast
        return self.parts.ranges(host=host)

    def host_range_of(self, key: bytes, host: str) -> KeyRange | None:
        """Return the range of *host* that contains *key*, None if there is none: this is faster than `host_ranges`.

        Raises `InvalidURL` if it is not a host.
        """
        prefix = self._host_prefix(canonical_host(host))
        if self._salt_of_url is not None:
            salt = key[: self.salt.digits]
            if not self._salt_of_url.has_form(salt):
                return None
            prefix = salt + b":" + prefix
        return prefix_range(prefix) if key.startswith(prefix) else None

    def subtree_ranges(self, domain: str) -> list[KeyRange]:
        """Return the ranges of all pages of *domain* and of the hosts below it; an IP address is one host.

        >>> WebKey(Salt.none()).subtree_ranges("example.com")
        [KeyRange(start=b'com.example.', stop=b'com.example0')]
        """
        return self.parts.ranges(host=below(canonical_host(domain)))

    def directory_ranges(self, url: str) -> list[KeyRange]:
        """Return the ranges of all pages of a host below the directory of *url*: its path up to the last `/`.

        The scheme and port of *url* do not matter. Raises `InvalidURL`, and `InvalidArgument` for a URL with a query.

        >>> WebKey(Salt.none()).directory_ranges("https://example.com/docs/")
        [KeyRange(start=b'com.example/docs/', stop=b'com.example/docs0')]
        """
        parts = split_url(url)
        if parts.query:
            raise InvalidArgument(f"url={url!r} must name a directory, without a query")
        directory = parts.path[1 : parts.path.rindex("/") + 1]
        inside = {"rest": starting_with(directory)} if directory else {}
        return self.parts.ranges(host=parts.host, **inside)


def host_and_rest(url: str) -> tuple[str, str]:
    """Return the two values of a web key: the canonical host of *url*, and the rest after the first `/` of its path.

    Raises `InvalidURL`.

    >>> host_and_rest("http://example.com:8080/products?id=7")
    ('example.com', 'products?id=7#http:8080')
    """
    scheme, host, port, path, query = parts_of(url)
    return host, f"{path[1:]}{query}{'' if scheme == 'https' and port is None else _suffix(scheme, port)}"


def url_of(host: str, rest: str) -> str:
    """Return the canonical URL of a host and of the rest after the first `/` of its path."""
    body, mark, _ = rest.partition("#")
    suffix = _SUFFIX.fullmatch(rest, len(body)) if mark else None
    if mark and suffix is None:
        raise KeyFormatError(f"{rest[:200]!r} has no valid scheme after the '#'")
    scheme, port = (suffix["scheme"], suffix["port"]) if suffix else ("https", None)
    return f"{scheme}://{host}{f':{port}' if port else ''}/{body}"


def _suffix(scheme: str, port: int | None) -> str:
    return f"#{scheme}" if port is None else f"#{scheme}:{port}"

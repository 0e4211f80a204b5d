"""Salts: the hex digits before a web key that distribute hosts over the regions of a table."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from webtable.errors import InvalidArgument, InvalidURL
from webtable.rowkey.fields.field import Below, Constant
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.urls import MAX_HOST, canonical_host, is_ip_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from publicsuffixlist import PublicSuffixList

    from webtable.rowkey.fields.field import Condition, Part

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


def registered_domain(host: str) -> str:
    """Return the registered domain of *host*: its public suffix and one more label.

    A host without one (an IP address, or a public suffix itself) is returned unchanged.

    >>> registered_domain("docs.example.co.uk")
    'example.co.uk'
    """
    return (_known_owner if len(host) <= MAX_HOST else _owner)(host)


def _owner(host: str) -> str:
    if is_ip_address(host):
        return host
    # The URL standard allows empty labels (`example.com.`, `a..example.com`), the list does not: look after them.
    name = host.rstrip(".").rpartition("..")[2]
    return _suffix_list().privatesuffix(name) or host


_known_owner = functools.lru_cache(maxsize=65_536)(_owner)


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

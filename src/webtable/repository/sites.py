"""The sites that a page belongs to: its host, and the registered domain of that with all hosts below it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from webtable.rowkey import canonical_host, registered_domain
from webtable.rowkey.urls import is_ip_address, without_port

if TYPE_CHECKING:
    from webtable.rowkey import KeyRange, WebKey

_BELOW = "*."
_MOST_KNOWN = 50_000


class Sites(NamedTuple):
    """The sites that a page belongs to, each as `site:` rows name it: its host, and the registered domain of that."""

    host: str
    domain: str | None


def sites_of(url: str) -> Sites:
    """Return the sites of the page with this canonical URL.

    >>> sites_of("https://www.example.com/a"), sites_of("http://127.0.0.1:8080/")
    (Sites(host='www.example.com', domain='*.example.com'), Sites(host='127.0.0.1', domain=None))
    """
    return _sites_of_authority(url.split("/", 3)[2])


@lru_cache(maxsize=_MOST_KNOWN)
def _sites_of_authority(authority: str) -> Sites:
    host = canonical_host(without_port(authority.encode()).decode())
    return Sites(host, None if is_ip_address(host) else f"{_BELOW}{registered_domain(host)}")


def ranges_of(site: str, key: WebKey) -> list[KeyRange]:
    """Return the ranges of the pages of *site* among the rows of *key*."""
    return key.subtree_ranges(site.removeprefix(_BELOW)) if site.startswith(_BELOW) else key.host_ranges(site)

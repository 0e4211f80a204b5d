"""The sites that people name: a domain, a host, a directory, one port, or everything."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from webtable.errors import InvalidArgument, InvalidURL
from webtable.rowkey import canonical_host
from webtable.rowkey.urls import is_ip_address, quoted, split_url


class HostOnly(NamedTuple):
    """The pages of one host, without those of the hosts below it: `HostOnly("example.com")`."""

    host: str


class AllPages(Enum):
    """The class of `webtable.ALL`."""

    ALL = "all"

    def __repr__(self) -> str:
        return "webtable.ALL"


ALL: Final = AllPages.ALL
"""Every page or row of a table, named on purpose, so that a question may read all of a large one."""

Site = str | HostOnly | AllPages
"""Which pages a question is about.

A text is a domain with all hosts below it (`"example.com"`), a directory of one host (`"https://example.com/docs/"`;
its scheme makes no difference), or one port of one host (`"localhost:3000"`). `HostOnly` is one host alone, and `ALL`
every page.
"""
FORMS: Final = "'example.com', 'https://example.com/docs/' or 'localhost:3000'"


class SiteParts(NamedTuple):
    """The parts of a site: a canonical `host`, and a `directory` or a `port` of it if it names one."""

    host: str
    is_subtree: bool = False
    """Whether the hosts below are included."""
    directory: str = "/"
    port: int | None = None

    @property
    def is_whole_host(self) -> bool:
        """Whether it is a whole host or domain, not a directory or a port."""
        return self.directory == "/" and self.port is None

    def __str__(self) -> str:
        """Return the text that names it."""
        if self.is_subtree:
            return self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.host}{port}" if port and self.directory == "/" else f"https://{self.host}{port}{self.directory}"


def parts_of_site(site: str | HostOnly) -> SiteParts:
    """Return the parts of *site*; raises `InvalidURL` and `InvalidArgument`.

    >>> parts_of_site("docs.example.com"), str(parts_of_site("example.com/docs"))
    (SiteParts(host='docs.example.com', is_subtree=True, directory='/', port=None), 'https://example.com/docs/')
    """
    if isinstance(site, HostOnly):
        return SiteParts(canonical_host(site.host))
    if not isinstance(site, str):
        raise InvalidArgument(f"site={site!r} must be a text, as in {FORMS}, or HostOnly(host), or webtable.ALL")
    if "*" in site:
        raise InvalidArgument(
            f"site={quoted(site)} has a *: a domain, as in 'example.com', has all hosts below it anyway"
        )
    has_scheme = "://" in site
    url = site if has_scheme else f"https://{site}"
    port = _port_of(site, url)
    if not has_scheme and port is None and "/" not in site:
        host = canonical_host(site)
        return SiteParts(host, is_subtree=not is_ip_address(host))
    if "?" in site or "#" in site or "@" in site:
        raise InvalidArgument(f"site={quoted(site)} must be a host or a directory, as in {FORMS}: without ?, # and @")
    parts = split_url(url)
    return SiteParts(parts.host, False, parts.path if parts.path.endswith("/") else f"{parts.path}/", port)


def _port_of(site: str, url: str) -> int | None:
    """Return the port that *url* names, including its scheme's default one, which a canonical URL leaves out."""
    try:
        parts = urlsplit(url)
        # An IPv6 address may come without its brackets: its colons are no ports.
        return None if parts.netloc.count(":") > 1 and "[" not in parts.netloc else parts.port
    except ValueError as exc:
        raise InvalidURL(f"site={quoted(site)} has no port from 0 to 65535") from exc


def named_site(text: str) -> Site:
    """Return the site that *text* names on the command line or in other texts: "all" is every page.

    A host of that name is `https://all/`.
    """
    return ALL if text.lower() == ALL.value else text


def site_text(site: Site) -> str:
    """Return the text that names *site* on the command line; raises `InvalidURL` and `InvalidArgument`."""
    return ALL.value if isinstance(site, AllPages) else str(parts_of_site(site))

"""The sites that people name, and their rows: key ranges, one per salt, and a test for a single port."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import urlsplit

from webtable._messages import Argument, Words
from webtable.display.text import size_text
from webtable.errors import FullScanNeeded, InvalidArgument, InvalidURL
from webtable.repository.arguments import is_ago
from webtable.rowkey import KeyRange, Salt, WebKey, canonical_host
from webtable.rowkey.ranges import clipped
from webtable.rowkey.urls import is_ip_address, quoted, split_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.repository.context import TableContext
    from webtable.store import Store


# --- Sites ------------------------------------------------------------------------------------------------------------


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
    name = site.partition("://")[2] or site
    if "*" in name.partition("/")[0] or site.endswith("*"):  # a directory may have one in its name, and an @
        raise InvalidArgument(
            f"site={quoted(site)} has a *: a domain, as in 'example.com', has all hosts below it anyway"
        )
    if is_ago(site):
        raise InvalidArgument(f"site={quoted(site)} is a time: name it, as in ", Argument("since", repr(site)))
    has_scheme = "://" in site
    url = site if has_scheme else f"https://{site}"
    port = _port_of(site, url)
    if not has_scheme and port is None and "/" not in site:
        host = canonical_host(site)
        return SiteParts(host, is_subtree=not is_ip_address(host))
    if "?" in site or "#" in site or "@" in name.partition("/")[0]:
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


# --- Scopes -----------------------------------------------------------------------------------------------------------


PLAIN_KEY = WebKey(Salt.none())
"""Row keys without a salt, by which the pages of an index are ordered."""
# Without permission, since reading all of a large table takes hours, and is mostly a mistake.
SMALL_BYTES = 256 * 2**20
"""A store of at most this many bytes is read in full without permission: some 30,000 pages, in seconds."""
_PORT = re.compile(rb"#(https?)(?::(\d+))?\Z")
_DEFAULT_PORTS = {b"http": 80, b"https": 443}


class Scope(NamedTuple):
    """The pages of a `place`, or of the whole table.

    Unless the whole table is named explicitly (`is_permitted`), it is read only if its store is small.
    """

    place: SiteParts | None = None
    is_permitted: bool = False

    @classmethod
    def of(cls, site: Site | None, *, limit: int | None = None) -> Self:
        """Return the scope of a *site*; with a *limit* of results any table may be read.

        Raises `InvalidURL` and `InvalidArgument`.
        """
        if site is None or isinstance(site, AllPages):
            return cls(None, is_permitted=site is not None or limit is not None)
        return cls(parts_of_site(site))

    def __str__(self) -> str:
        """Return the pages in words."""
        match self.place:
            case None:
                return "all pages"
            case SiteParts(host, is_subtree=True):
                return f"pages of {host} and below"
            case SiteParts(host, directory="/", port=None):
                return f"pages of {host}"
            case SiteParts(directory="/"):
                return f"pages of {self.place}"
        return f"pages below {self.place}"

    @property
    def keeps(self) -> Callable[[bytes], bool] | None:
        """A test by key whether a row of its ranges belongs to it; None if all do. Ports are at the end of keys."""
        return None if self.place is None or self.place.port is None else _has_port(self.place.port)

    def of_host(self) -> Self:
        """Return the same scope, or that of its whole host if it is a directory."""
        return self if self.place is None else self._replace(place=self.place._replace(directory="/"))

    def check_permitted(self, context: TableContext, *, takes_limit: bool = False) -> None:
        """Raise `FullScanNeeded` for all pages of a large store, unless the whole table is named.

        The error names a limit if the question *takes_limit*.
        """
        if self.place is None and not self.is_permitted and context.part is None and not is_small(context.store):
            raise FullScanNeeded(
                f"{context.name}: this reads every row of a table{_why_large(context.store)}: name a site, ",
                *(("give a ", Argument("limit"), ", ") if takes_limit else ()),
                "or ",
                Words("webtable.ALL", "all"),
                " for every page",
            )

    def ranges(self, context: TableContext) -> list[KeyRange]:
        """Return the ranges of its rows in the part of *context*, one per salt; raises `FullScanNeeded`."""
        self.check_permitted(context)
        ranges = _whole(context) if self.place is None else _ranges(self.place, context.key)
        return clipped(ranges, context.keys_of(context.table))

    def unsalted(self) -> KeyRange:
        """Return the range of the pages among unsalted keys."""
        return KeyRange() if self.place is None else _ranges(self.place, PLAIN_KEY)[0]

    def contains(self) -> Callable[[bytes], bool] | None:
        """Return a test by unsalted key whether a page belongs to it; None if all do."""
        if self.place is None:
            return None
        keys, keeps = self.unsalted(), self.keeps
        return keys.__contains__ if keeps is None else lambda key: key in keys and keeps(key)


def _whole(context: TableContext) -> list[KeyRange]:
    """Return the ranges of all rows, one per salt, so that they can be merged."""
    digits = context.layout.digits if context.layout.salt != "none" else 0
    salts = [f"{number:0{digits}x}:".encode() for number in range(16**digits)] if digits else [b""]
    return [KeyRange(salt, salt[:-1] + b";" if salt else b"") for salt in salts]


def _ranges(place: SiteParts, key: WebKey) -> list[KeyRange]:
    if place.is_subtree:
        return key.subtree_ranges(place.host)
    if place.directory == "/":
        return key.host_ranges(place.host)
    return key.directory_ranges(f"https://{place.host}{place.directory}")


def is_small(store: Store) -> bool:
    """Whether *store* may be read as a whole without permission; HBase does not say how large it is."""
    space = store.space()
    return space is not None and space.bytes <= SMALL_BYTES


def _why_large(store: Store) -> str:
    """Return in words why *store* is not small."""
    space = store.space()
    if space is None:
        return " whose size the store does not tell"
    return f" of {size_text(space.bytes)}, and those over {size_text(SMALL_BYTES)} are read only on purpose"


def _has_port(port: int) -> Callable[[bytes], bool]:
    def keeps(key: bytes) -> bool:
        match = _PORT.search(key)
        # The key of an https page on its usual port ends without a scheme.
        scheme, number = (b"https", None) if match is None else match.groups()
        return port == (_DEFAULT_PORTS[scheme] if number is None else int(number))

    return keeps

"""The rows of the pages that a question is about: key ranges, one per salt, and a test for a single port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self

from webtable._messages import Words
from webtable.display.text import size_text
from webtable.errors import FullScanNeeded
from webtable.repository.reading.site import AllPages, Site, SiteParts, parts_of_site
from webtable.rowkey import KeyRange, Salt, WebKey
from webtable.rowkey.ranges import clipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.repository.context import Frame
    from webtable.store import Store

PLAIN_KEY = WebKey(Salt.none())
"""Row keys without a salt, by which the pages of an index are ordered."""
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

    def check_permitted(self, frame: Frame, *, takes_limit: bool = False) -> None:
        """Raise `FullScanNeeded` for all pages of a large store, unless the whole table is named.

        The error names a limit if the question *takes_limit*.
        """
        if self.place is None and not self.is_permitted and frame.part is None and not is_small(frame.store):
            raise FullScanNeeded(
                f"{frame.name}: this reads every row of a table{_why_large(frame.store)}: name a site, "
                f"{'give a limit=, ' if takes_limit else ''}or ",
                Words("webtable.ALL", "all"),
                " for every page",
            )

    def ranges(self, frame: Frame) -> list[KeyRange]:
        """Return the ranges of its rows in the part of *frame*, one per salt; raises `FullScanNeeded`."""
        self.check_permitted(frame)
        ranges = _whole(frame) if self.place is None else _ranges(self.place, frame.key)
        return clipped(ranges, frame.keys_of(frame.table))

    def unsalted(self) -> KeyRange:
        """Return the range of the pages among unsalted keys."""
        return KeyRange() if self.place is None else _ranges(self.place, PLAIN_KEY)[0]

    def contains(self) -> Callable[[bytes], bool] | None:
        """Return a test by unsalted key whether a page belongs to it; None if all do."""
        if self.place is None:
            return None
        keys, keeps = self.unsalted(), self.keeps
        return keys.__contains__ if keeps is None else lambda key: key in keys and keeps(key)


def _whole(frame: Frame) -> list[KeyRange]:
    """Return the ranges of all rows, one per salt, so that they can be merged."""
    digits = frame.layout.digits if frame.layout.salt != "none" else 0
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
        found = _PORT.search(key)
        # The key of an https page on its usual port ends without a scheme.
        scheme, number = (b"https", None) if found is None else found.groups()
        return port == (_DEFAULT_PORTS[scheme] if number is None else int(number))

    return keeps

"""Which pages of a table a question is about: those of a domain, of a host, of a directory, or all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import FullScanNeeded, InvalidArgument
from webtable.rowkey import KeyRange, Salt, WebKey, canonical_host, canonical_url

if TYPE_CHECKING:
    from webtable.repository.frame import Frame

PLAIN_KEY = WebKey(Salt.none())
"""The row keys without a salt: what the pages of an index are ordered by."""


class Scope(NamedTuple):
    """The pages of `domain` and of all hosts below it; of the host alone, or of a directory of it (`path`).

    Without a domain it is the whole table, which takes `full_scan`.
    """

    domain: str | None = None
    host_only: bool = False
    path: str | None = None
    full_scan: bool = False

    @property
    def is_subtree(self) -> bool:
        """Whether the hosts below the domain belong to it."""
        return self.domain is not None and not self.host_only and self.path is None

    def ranges(self, frame: Frame) -> tuple[str, list[KeyRange]]:
        """Return how a question says it, and the ranges of its rows, one a salt.

        Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`.
        """
        if self.domain is None:
            return "all pages", self._whole(frame)
        return self._inside(self.domain, frame.key)

    def place(self) -> KeyRange:
        """Return where the pages are among keys without a salt; raises as `ranges` does."""
        return KeyRange() if self.domain is None else self._inside(self.domain, PLAIN_KEY)[1][0]

    def _inside(self, domain: str, key: WebKey) -> tuple[str, list[KeyRange]]:
        host = canonical_host(domain)
        if self.path is not None:
            if not isinstance(self.path, str) or not self.path.startswith("/") or "?" in self.path or "#" in self.path:
                raise InvalidArgument(f"path={self.path!r} must be a directory of the host, as in '/docs/'")
            directory = canonical_url(f"https://{host}{self.path if self.path.endswith('/') else self.path + '/'}")
            return f"pages below {directory}", key.directory_ranges(directory)
        if self.host_only:
            return f"pages of {host}", key.host_ranges(host)
        return f"pages of {host} and below", key.subtree_ranges(host)

    def _whole(self, frame: Frame) -> list[KeyRange]:
        """Return the ranges of all rows, one a salt, so that they can be merged."""
        if self.host_only or self.path is not None:
            raise InvalidArgument("host_only= and path= choose among the pages of a domain: name the domain")
        if not self.full_scan:
            raise FullScanNeeded(
                f"{frame.name}: a question without a domain reads the whole table: name a domain, or say full_scan=True"
            )
        digits = frame.layout.digits if frame.layout.salt != "none" else 0
        salts = [f"{number:0{digits}x}:".encode() for number in range(16**digits)] if digits else [b""]
        return [KeyRange(salt, salt[:-1] + b";" if salt else b"") for salt in salts]


def places_of(domain: str) -> KeyRange:
    """Return where the pages of *domain* and of all hosts below it are among keys without a salt; `InvalidURL`."""
    (inside,) = PLAIN_KEY.subtree_ranges(canonical_host(domain))
    return inside

"""Where the links of one page lead, asked for many targets."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from webtable.rowkey.urls import canonical_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable._page.page import Link


class Targets:
    """The links of a page by the canonical URLs that they lead to."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links

    def link_to(self, url: str) -> Link | None:
        """Return the first of the links that leads to the canonical *url*; one that is written so comes first."""
        return self._as_written.get(url) or self._others.get(url)

    @cached_property
    def _as_written(self) -> dict[str, Link]:
        return _first((link.url, link) for link in self._links)

    @cached_property
    def _others(self) -> dict[str, Link]:
        # Nearly all links are written as their targets are called, so that most pages are not asked for these.
        return _first((canonical_or_none(link.url) or "", link) for link in self._links)


def _first(links: Iterable[tuple[str, Link]]) -> dict[str, Link]:
    found: dict[str, Link] = {}
    for url, link in links:
        found.setdefault(url, link)
    return found

"""The stored host that was probably meant by a site that has no pages."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable.errors import IndexNeeded
from webtable.repository.questions.host_entries import HostEntries, with_pages
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.site import SiteParts
from webtable.rowkey import registered_domain
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from webtable.repository.context import Frame

_MOST_COMPARED: Final = 10_000
"""At most this many hosts are compared, which takes a second."""
_ALIKE: Final = 0.75


def site_meant(frame: Frame, scope: Scope) -> str:
    """Return "; did you mean …?" with the stored host, or its registered domain, that is most like that of *scope*.

    It is empty if that host, or a host of that domain, has pages, if no host is alike, and without the host index.
    """
    if scope.place is None:
        return ""
    host = scope.place.host
    try:
        if _stored(frame, SiteParts(host, scope.place.is_subtree), 1):
            return ""
        known = _stored(frame, None, _MOST_COMPARED)
    except IndexNeeded:
        return ""
    if scope.place.is_subtree:  # a domain may have pages only below it
        known = list(dict.fromkeys([*known, *map(registered_domain, known)]))
    alike = get_close_matches(host, known, 1, _ALIKE)
    return f"; did you mean {alike[0]}?" if alike else ""


def nothing_of(frame: Frame, scope: Scope) -> str:
    """Return that there are no pages of *scope*, with what `site_meant` suggests."""
    return f"no {str(scope).removeprefix('all ')}{site_meant(frame, scope)}"


def host_meant(frame: Frame, url: str) -> str:
    """Return what `site_meant` does, for the host of *url* and the hosts below it."""
    return site_meant(frame, Scope(SiteParts(split_url(url).host, is_subtree=True)))


def _stored(frame: Frame, place: SiteParts | None, most: int) -> list[str]:
    """Return the first hosts of *place* that have pages, as many as are compared; raises `IndexNeeded`."""
    entries = HostEntries(frame, place, "hosts").rows(None, most)
    return [name for name, _ in islice(with_pages(frame, entries, frame.damage()), most)]

"""The stored host that was probably meant by a site that has no pages."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from webtable.errors import IndexNeeded
from webtable.repository.answers.results import Slice
from webtable.repository.questions.hosts import hosts
from webtable.repository.scanning.scope import Scope
from webtable.repository.scanning.site import SiteParts

if TYPE_CHECKING:
    from webtable.repository.frame import Frame

_MOST_COMPARED: Final = 10_000
"""At most this many hosts are compared, which takes a second."""
_ALIKE: Final = 0.75


def site_meant(frame: Frame, scope: Scope) -> str:
    """Return "; did you mean …?" with the stored host that is most like that of *scope*.

    It is empty if that host, or a host of that domain, has pages, if no host is alike, and without the host index.
    """
    if scope.place is None:
        return ""
    host = scope.place.host
    whole = Scope(SiteParts(host, scope.place.is_subtree))
    try:
        if hosts(frame, whole, Slice("url", 1)).first() is not None:
            return ""
        known = [one.name for one in hosts(frame, Scope(), Slice("url", _MOST_COMPARED))]
    except IndexNeeded:
        return ""
    alike = get_close_matches(host, known, 1, _ALIKE)
    return f"; did you mean {alike[0]}?" if alike else ""

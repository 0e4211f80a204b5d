"""The stored host that was probably meant by one that has no pages."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from webtable.errors import IndexNeeded
from webtable.repository.answers.results import Slice
from webtable.repository.questions.hosts import hosts
from webtable.repository.scanning.scope import Scope

if TYPE_CHECKING:
    from webtable.repository.frame import Frame

MOST_COMPARED = 10_000
"""How many hosts are compared at most; with so many it takes a second."""
_ALIKE = 0.75


def closest_host(frame: Frame, scope: Scope) -> str | None:
    """Return the stored host whose name is most like that of *scope*; None if its own host has pages, or none is alike.

    None as well without an index of hosts.
    """
    place = scope.place
    if place is None:
        return None
    try:
        own = hosts(frame, Scope(place._replace(directory="/", port=None)), Slice("url", 1, None))
        if next(iter(own), None) is not None:
            return None
        known = [host.name for host in hosts(frame, Scope(), Slice("url", MOST_COMPARED, None))]
    except IndexNeeded:
        return None
    return next(iter(get_close_matches(place.host, known, 1, _ALIKE)), None)

"""The links to pages in a copy, beside those of what it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.copying.links import BothInlinks
from webtable.repository.copying.rate_limit import Pace
from webtable.repository.hints.inlinks import PAST
from webtable.repository.stored.timestamps import now_in_milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from webtable.repository.copying.links import Inlinks
    from webtable.repository.copying.tables import Sides
    from webtable.store import Cell


def differing_rows(sides: Sides) -> Iterator[tuple[bytes, int, bool]]:
    """Yield rows of the source, some of their links each time, with how many were looked for, and whether one differs.

    A link of the target that is newer is its own. Links that the target keeps no longer are not looked for.
    """
    both, oldest = BothInlinks(sides, with_values=True), _oldest_kept(sides)
    for _, pieces in both.pieces(b"", Pace(None)):
        for some in pieces:
            for one in some:
                kept = {name: cell for name, cell in one.there.items() if cell.timestamp > oldest}
                yield one.row, len(kept), _differs(both, one, kept)


def _oldest_kept(sides: Sides) -> int:
    """Return the date of the oldest links, in epoch milliseconds, that the target has let go by now."""
    ttl = sides.target.layouts.known.ttl
    return -1 if ttl is None else now_in_milliseconds() - 2 * ttl * 1000


def _differs(both: BothInlinks, one: Inlinks, kept: Mapping[bytes, Cell]) -> bool:
    suspects = [name for name, cell in kept.items() if not _is_there(name, cell, one.here)]
    gone = [name.removeprefix(PAST) for name in kept if name.startswith(PAST)]
    # What is not in the same piece of the other side may be in a later one.
    names = {*suspects, *map(_other, suspects), *gone, *map(_other, gone)} if suspects or not one.are_all else {*gone}
    if not names:
        return False
    there, here = (one.there, one.here) if one.are_all else both.exactly(one, sorted(names))
    return any(not _is_there(name, kept[name], here) for name in suspects) or any(
        name in here and name not in there and here[name].timestamp <= kept[_other(name)].timestamp for name in gone
    )


def _is_there(name: bytes, cell: Cell, here: Mapping[bytes, Cell]) -> bool:
    """Whether *here* has the link, or knows better: that it is newer, or went away since."""
    found, other = here.get(name), here.get(_other(name))
    if found is not None and found.timestamp == cell.timestamp:
        return found.value == cell.value
    return any(one is not None and one.timestamp > cell.timestamp for one in (found, other))


def _other(name: bytes) -> bytes:
    """Return under which name a link is that went away, or was one before it did."""
    return name.removeprefix(PAST) if name.startswith(PAST) else PAST + name

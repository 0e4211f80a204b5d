"""Erasing the dictionaries that were made of pages of a domain: they hold pieces of these pages.

One that was made of other pages of its site too is erased all the same: pieces are not told apart. The bodies that are
left and name it are packed anew first, alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.repository.bodies import dictionary_of
from webtable.repository.questions.scope import PLAIN_KEY
from webtable.repository.removals import written
from webtable.repository.sites import ranges_of
from webtable.rowkey import KeyRange
from webtable.store import NewCell, Put
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection

    from webtable.repository.damage import Damage
    from webtable.repository.frame import Frame
    from webtable.store import Row


def erase_dictionaries(frame: Frame, place: KeyRange, damage: Damage) -> None:
    """Erase the dictionaries of all sites that have pages in *place*, a range of row keys without a salt.

    The pages of these sites may be other ones too, and can be read as before. Bodies that cannot be read are *damage*.
    """
    meant = [(number, site) for number, site in frame.dictionaries.all() if _has_pages_in(site, place)]
    if not meant:
        return
    frame.dictionaries.retire(meant)
    numbers = {number for number, _ in meant}
    for site in {site for _, site in meant}:
        ranges = [KeyRange()] if site is None else ranges_of(site, frame.key)
        _pack_alone(frame, ranges, numbers, damage)
    frame.dictionaries.remove(numbers)


def _has_pages_in(site: str | None, place: KeyRange) -> bool:
    # Of one whose site cannot be read nobody knows whose pages it was made of.
    return site is None or any(_overlap(one, place) for one in ranges_of(site, PLAIN_KEY))


def _overlap(one: KeyRange, other: KeyRange) -> bool:
    start = max(one.start, other.start)
    return all(not stop or start < stop for stop in (one.stop, other.stop))


def _pack_alone(frame: Frame, ranges: list[KeyRange], numbers: Collection[int], damage: Damage) -> None:
    """Pack those bodies in *ranges* anew that name one of the dictionaries *numbers*, under their own dates."""
    wanted = Wanted([frame.codec.columns.html], versions=frame.layouts.recent().versions)
    for row in frame.store.scan(frame.table, ranges, wanted):
        if cells := _cells_alone(frame, row, numbers, damage):
            written(frame.store, frame.table, [Put(row.key, cells)])


def _cells_alone(frame: Frame, row: Row, numbers: Collection[int], damage: Damage) -> list[NewCell]:
    cells = []
    html = frame.codec.columns.html
    for cell in row.cells.get(html, ()):
        if dictionary_of(cell.value) in numbers:
            try:
                cells.append(NewCell(html, cell.timestamp, frame.codec.packed_alone(row.key, cell.value)))
            except DamagedRow as exc:
                damage.add(exc)
    return cells

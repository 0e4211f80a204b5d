"""What a copy has beside what it was made from: pages, versions, digests, and if wanted all bodies and links."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._clock import moment_of, now_in_milliseconds
from webtable.errors import DamagedRow
from webtable.repository.copying.copy import BothInlinks
from webtable.repository.copying.tables import Pace, Sides, covers
from webtable.repository.derived.inlinks import PAST
from webtable.repository.questions.versions import versions_in
from webtable.repository.scanning.damage import MOST_KEPT
from webtable.repository.stored.cells import together
from webtable.rowkey import KeyRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.copying.copy import RowInlinks
    from webtable.repository.copying.tables import Both
    from webtable.repository.frame import Frame
    from webtable.store import Cell, Row


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """How two tables compare: `pages` of the one that was copied were looked for in the other, with their `versions`.

    With a full comparison the `links` to pages were looked for as well.
    `missing` are not there, `different` are there with other dates, digests or bodies, or older than they are by now;
    `deleted` are there although they were deleted. `examples` are the first 100 URLs of these. `own` pages of the other
    have captures of their own besides, and `extra` ones are in the other only. `damaged` cannot be read in the first.
    """

    pages: int
    versions: int
    missing: int
    different: int
    deleted: int
    own: int
    extra: int
    damaged: int
    links: int = 0
    examples: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether all that can be read was found."""
        return not (self.missing or self.different or self.deleted)


class _Differences:
    """The counts of a `CopyCheck` by their names, and `there`: how many pages of the source the target has at all."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.examples: list[str] = []

    def tell(self, what: str, sides: Sides, row: bytes) -> None:
        """Count a page as *what* it is found to be, and keep its URL while there are few."""
        self.counts[what] += 1
        if len(self.examples) < MOST_KEPT:
            self.examples.append(sides.source.key.url_of(row))


def check_copy(source: Frame, target: Frame, on_progress: Progress | None, *, full: bool) -> CopyCheck:
    """Return what `WebTable.check_copy` does."""
    sides, found = Sides(source, target), _Differences()
    source.layouts.recent()
    for piece in sides.pieces(b"", Pace(None)):
        found.counts["damaged"] += len(piece.damaged)
        same = [both for both in piece.rows if _compare(sides, both, found)]
        if full:
            for some in together((both, _weight(both)) for both in same):
                _compare_bodies(sides, some, found)
        if on_progress is not None:
            on_progress(found.counts["pages"])
    if full and sides.keep_inlinks:
        _compare_links(sides, found)
    found.counts["extra"] = _pages_of(target) - found.counts["there"]
    counts = {name: found.counts[name] for name in CopyCheck.__slots__ if name != "examples"}
    return CopyCheck(**counts, examples=tuple(found.examples))


def _compare(sides: Sides, both: Both, found: _Differences) -> bool:
    """Count a row, and return whether it is the same as far as that is known without bodies."""
    there, here = both.there, both.here
    found.counts["there"] += here.page is not None
    if there.page is None:
        if here.page is not None and there.deleted is not None and there.deleted.hides(here.page.fetched_at):
            found.tell("deleted", sides, both.row.key)
        return False
    found.counts["pages"] += 1
    found.counts["versions"] += len(there.versions)
    relation = sides.relation(there, here)
    if relation == "own":
        found.counts["own"] += 1
    elif relation == "behind" or not covers(here.deleted, there.deleted):
        found.tell("missing" if here.page is None else "different", sides, both.row.key)
    return relation == "same"


def _compare_bodies(sides: Sides, some: Sequence[Both], found: _Differences) -> None:
    rows = _in_full(sides.source, [both.row.key for both in some])
    copies = _in_full(sides.target, [both.target_row for both in some])
    for both, row, copy in zip(some, rows, copies, strict=True):
        there = {} if row is None else dict(versions_in(sides.source, row))
        here = {} if copy is None else dict(versions_in(sides.target, copy))
        kept = {moment for moment, _ in sides.kept(both.there.versions)}
        if any(isinstance(version, DamagedRow) for version in there.values()):
            found.counts["damaged"] += 1
        elif any(here.get(at) != version for at, version in there.items() if moment_of(at) in kept):
            found.tell("different", sides, both.row.key)


def _compare_links(sides: Sides, found: _Differences) -> None:
    told = b""
    for row, links, differs in differing_rows(sides):
        found.counts["links"] += links
        if differs and row != told:  # a row of many links comes several times
            found.tell("different", sides, row)
            told = row


def _in_full(side: Frame, rows: Sequence[bytes]) -> list[Row | None]:
    columns = [side.codec.columns.urls, side.codec.family]
    return side.store.read(side.table, rows, Wanted(columns, versions=side.layouts.known.versions)) if rows else []


def _weight(both: Both) -> int:
    return 2 * sum(version.capture.size or 0 for version in both.there.versions)


def _pages_of(side: Frame) -> int:
    wanted = Wanted([side.codec.columns.page], keys_only=True)
    return sum(1 for _ in side.store.scan(side.table, [KeyRange()], wanted))


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


def _differs(both: BothInlinks, one: RowInlinks, kept: Mapping[bytes, Cell]) -> bool:
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

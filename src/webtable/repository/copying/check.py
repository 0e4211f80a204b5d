"""What a copy has, beside what it was made from: pages, versions and digests, and all bodies where that is wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.repository.copying.link_check import differing_rows
from webtable.repository.copying.rate_limit import Pace
from webtable.repository.copying.tables import Sides, covers
from webtable.repository.questions.versions import versions_in
from webtable.repository.stored.damaged_rows import MOST_KEPT
from webtable.repository.stored.pieces import together
from webtable.repository.stored.timestamps import moment_of
from webtable.rowkey import KeyRange
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.copying.tables import Both
    from webtable.repository.frame import Frame
    from webtable.store import Row


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


class _Found:
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
    sides, found = Sides(source, target), _Found()
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


def _compare(sides: Sides, both: Both, found: _Found) -> bool:
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


def _compare_bodies(sides: Sides, some: Sequence[Both], found: _Found) -> None:
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


def _compare_links(sides: Sides, found: _Found) -> None:
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

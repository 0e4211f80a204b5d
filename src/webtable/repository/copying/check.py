"""The comparison of a copy with its source: pages, versions, digests, and on request all bodies and links."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._clock import moment_of, now_in_milliseconds
from webtable.errors import DamagedRow
from webtable.repository.copying.copy import InlinkPairs
from webtable.repository.copying.tables import RateLimit, TablePair, covers
from webtable.repository.links.inlink_cells import PAST
from webtable.repository.page_storage.cells import together
from webtable.repository.questions.versions import versions_in
from webtable.repository.reading.damage import MOST_KEPT
from webtable.rowkey import KeyRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.context import Frame
    from webtable.repository.copying.copy import RowInlinks
    from webtable.repository.copying.tables import RowPair
    from webtable.store import Cell, Row


@dataclass(frozen=True, slots=True)
class CopyCheck:
    """The comparison of a source and its copy: `pages` of the source, and `versions` of them, were compared.

    A full comparison includes the `links` to pages. `missing` pages are not in the copy, `different` ones have other
    dates, digests or bodies there, or are outdated; `deleted` ones are still in the copy, but were deleted in the
    source. `examples` has the first 100 URLs of these. `own` pages have other captures in the copy besides, `extra`
    pages are only in the copy, and `damaged` ones cannot be read in the source.
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
        """Whether the copy has everything that can be read in the source."""
        return not (self.missing or self.different or self.deleted)


class _Differences:
    """The counts of a `CopyCheck` by name, and `there`: how many pages of the source the target has."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self.examples: list[str] = []

    def add(self, what: str, tables: TablePair, row: bytes) -> None:
        """Count a page as *what*, the kind of its difference, and keep its URL if there are few."""
        self.counts[what] += 1
        if len(self.examples) < MOST_KEPT:
            self.examples.append(tables.source.key.url_of(row))


def check_copy(source: Frame, target: Frame, on_progress: Progress | None, *, full: bool) -> CopyCheck:
    """Do what `TableMaintenance.check_copy` promises."""
    tables, found = TablePair(source, target), _Differences()
    source.layouts.recent()
    for piece in tables.pieces(b"", RateLimit(None)):
        found.counts["damaged"] += len(piece.damaged)
        same = [both for both in piece.rows if _compare(tables, both, found)]
        if full:
            for some in together((both, _weight(both)) for both in same):
                _compare_bodies(tables, some, found)
        if on_progress is not None:
            on_progress(found.counts["pages"])
    if full and tables.keep_inlinks:
        _compare_links(tables, found)
    found.counts["extra"] = _pages_of(target) - found.counts["there"]
    counts = {name: found.counts[name] for name in CopyCheck.__slots__ if name != "examples"}
    return CopyCheck(**counts, examples=tuple(found.examples))


def _compare(tables: TablePair, both: RowPair, found: _Differences) -> bool:
    """Count a row, and return whether it seems to be the same, without comparing bodies."""
    there, here = both.there, both.here
    found.counts["there"] += here.page is not None
    if there.page is None:
        if here.page is not None and there.deleted is not None and there.deleted.hides(here.page.fetched_at):
            found.add("deleted", tables, both.row.key)
        return False
    found.counts["pages"] += 1
    found.counts["versions"] += len(there.versions)
    relation = tables.relation(there, here)
    if relation == "own":
        found.counts["own"] += 1
    elif relation == "outdated" or not covers(here.deleted, there.deleted):
        found.add("missing" if here.page is None else "different", tables, both.row.key)
    return relation == "same"


def _compare_bodies(tables: TablePair, some: Sequence[RowPair], found: _Differences) -> None:
    rows = _in_full(tables.source, [both.row.key for both in some])
    copies = _in_full(tables.target, [both.target_row for both in some])
    for both, row, copy in zip(some, rows, copies, strict=True):
        there = {} if row is None else dict(versions_in(tables.source, row))
        here = {} if copy is None else dict(versions_in(tables.target, copy))
        kept = {moment for moment, _ in tables.kept(both.there.versions)}
        if any(isinstance(version, DamagedRow) for version in there.values()):
            found.counts["damaged"] += 1
        elif any(here.get(at) != version for at, version in there.items() if moment_of(at) in kept):
            found.add("different", tables, both.row.key)


def _compare_links(tables: TablePair, found: _Differences) -> None:
    added = b""
    for row, links, differs in differing_rows(tables):
        found.counts["links"] += links
        if differs and row != added:  # a row with many links comes several times
            found.add("different", tables, row)
            added = row


def _in_full(side: Frame, rows: Sequence[bytes]) -> list[Row | None]:
    columns = [side.codec.columns.urls, side.codec.family]
    return side.store.read(side.table, rows, Wanted(columns, versions=side.layouts.known.versions)) if rows else []


def _weight(both: RowPair) -> int:
    return 2 * sum(version.capture.size or 0 for version in both.there.versions)


def _pages_of(side: Frame) -> int:
    wanted = Wanted([side.codec.columns.page], keys_only=True)
    return sum(1 for _ in side.store.scan(side.table, [KeyRange()], wanted))


def differing_rows(tables: TablePair) -> Iterator[tuple[bytes, int, bool]]:
    """Yield rows of the source, with how many of their links were compared, and whether one differs.

    Newer links in the target are not differences. Links that the target no longer keeps are not compared.
    """
    both, oldest = InlinkPairs(tables, with_values=True), _oldest_kept(tables)
    for _, pieces in both.pieces(b"", RateLimit(None)):
        for some in pieces:
            for one in some:
                kept = {name: cell for name, cell in one.there.items() if cell.timestamp > oldest}
                yield one.row, len(kept), _differs(both, one, kept)


def _oldest_kept(tables: TablePair) -> int:
    """Return the date, in epoch milliseconds, up to which the target no longer keeps links."""
    ttl = tables.target.layouts.known.ttl
    return -1 if ttl is None else now_in_milliseconds() - 2 * ttl * 1000


def _differs(both: InlinkPairs, one: RowInlinks, kept: Mapping[bytes, Cell]) -> bool:
    suspects = [name for name, cell in kept.items() if not _is_there(name, cell, one.here)]
    gone = [name.removeprefix(PAST) for name in kept if name.startswith(PAST)]
    # A link that is not in this piece of the other table may be in a later piece.
    names = {*suspects, *map(_other, suspects), *gone, *map(_other, gone)} if suspects or not one.are_all else {*gone}
    if not names:
        return False
    there, here = (one.there, one.here) if one.are_all else both.exactly(one, sorted(names))
    return any(not _is_there(name, kept[name], here) for name in suspects) or any(
        name in here and name not in there and here[name].timestamp <= kept[_other(name)].timestamp for name in gone
    )


def _is_there(name: bytes, cell: Cell, here: Mapping[bytes, Cell]) -> bool:
    """Whether *here* has the link, or has a later state of it: a newer link, or its removal."""
    found, other = here.get(name), here.get(_other(name))
    if found is not None and found.timestamp == cell.timestamp:
        return found.value == cell.value
    return any(one is not None and one.timestamp > cell.timestamp for one in (found, other))


def _other(name: bytes) -> bytes:
    """Return the name of a link after it was removed, or for that name the one before."""
    return name.removeprefix(PAST) if name.startswith(PAST) else PAST + name

"""The question whether what is stored is what was stored: every body is read and compared with its digest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from webtable._page import Page
from webtable.errors import DamagedRow
from webtable.repository.contents import check_body
from webtable.repository.damage import Damage
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.questions.versions import versions_in
from webtable.rowkey import KeyRange
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webtable.repository.arguments import Progress
    from webtable.repository.frame import Frame
    from webtable.repository.questions.scope import Scope
    from webtable.store import Row


@dataclass(frozen=True, slots=True)
class Verification:
    """What was read (pages, the bodies of all their versions, and the bytes of these), and what of it is damaged.

    `damaged` counts rows that cannot be read or are not what was stored, `lost` pages whose body is not there any more
    although it has not expired. `examples` are the first 100 of both.
    """

    pages: int
    bodies: int
    bytes: int
    damaged: int
    lost: int
    examples: tuple[DamagedRow, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged or lost."""
        return not self.damaged and not self.lost


def verify(frame: Frame, scope: Scope, on_progress: Progress | None) -> Verification:
    """Return what `WebTable.verify` does."""
    _, ranges = scope.ranges(frame)
    everywhere = [KeyRange()] if scope.domain is None else ranges
    return verified(frame, frame.store.scan(frame.table, everywhere, wanted_to_verify(frame)), on_progress)


def wanted_to_verify(frame: Frame) -> Wanted:
    """Return what is read of rows that are verified."""
    names = frame.codec.columns
    columns = [names.page, names.links, names.urls, frame.codec.family]
    return Wanted(columns, versions=frame.layouts.recent().versions)


def verified(frame: Frame, rows: Iterable[Row], on_progress: Progress | None) -> Verification:
    """Return what is damaged of *rows*, which have what `wanted_to_verify` names."""
    found: list[DamagedRow] = []
    damage, lost = Damage(frame.counts, found), Damage(frame.counts, found)
    pages = bodies = size = 0
    for row in rows:
        for one in damage.sift(_all_of(frame, row)):
            if isinstance(one, Page):
                pages += 1
                if _is_lost(frame, one):
                    lost.add(frame.codec.damaged(row.key, frame.codec.columns.html, "the body is lost"))
            elif isinstance(one, int):
                bodies, size = bodies + 1, size + one
        if on_progress is not None and pages % PROGRESS_PAGES == 0:
            on_progress(pages)
    if on_progress is not None:
        on_progress(pages)
    return Verification(pages, bodies, size, damage.count, lost.count, tuple(found))


def _all_of(frame: Frame, row: Row) -> Iterator[Page | int | DamagedRow]:
    """Yield the page of *row*, the sizes of the bodies of its versions, and all that is damaged."""
    codec = frame.codec
    page = frame.counted.each(row, verify=True)
    if isinstance(page, Page) and page.outlinks is not None and len(page.outlinks) != page.outlink_count:
        said = f"{len(page.outlinks):,} links, where there were {page.outlink_count:,}"
        page = codec.damaged(row.key, codec.columns.urls, said)
    if page is not None:
        yield page
    else:
        try:
            codec.counts(row)
        except DamagedRow as exc:
            yield exc
    for _, version in versions_in(frame, row):
        if isinstance(version, DamagedRow):
            yield version
        elif version.html is not None:
            try:
                check_body(version.html, version)
            except ValueError as exc:
                yield codec.damaged(row.key, codec.columns.html, exc)
            else:
                yield len(version.html)


def _is_lost(frame: Frame, page: Page) -> bool:
    if not page.has_body or page.html is not None or page.content_at is None:
        return False
    ttl = frame.layouts.recent().ttl
    # A cell that is about to expire may have done so since it was read.
    return ttl is None or datetime.now(UTC) - page.content_at < timedelta(seconds=ttl * 0.99)

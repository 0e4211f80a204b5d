"""The question whether what is stored is what was stored: every body is read and compared with its digest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow
from webtable.page import Page
from webtable.repository.contents import check_body
from webtable.repository.damage import Damage
from webtable.repository.questions.pages import PageQuestions
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.questions.versions import VersionQuestions
from webtable.rowkey import KeyRange
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.arguments import Progress
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


class VerificationQuestions(PageQuestions, VersionQuestions):
    """The question for damage."""

    def verify(
        self,
        domain: str | None = None,
        *,
        full_scan: bool = False,
        on_progress: Progress | None = None,
    ) -> Verification:
        """Return what is damaged of the pages of *domain*, or with *full_scan* of the whole table.

        All versions are read with their bodies and links, and compared with their checksums, digests and sizes. A row
        that is not there any more is not missed: `verify_index` tells of those that the indexes still name.
        *on_progress* is told how many pages were read so far, every 1,000 of them and at the end. Raises
        `FullScanNeeded`, `InvalidURL`.
        """
        _, ranges = self._rows_of(domain, host_only=False, path=None, full_scan=full_scan)
        found: list[DamagedRow] = []
        damage, lost = Damage(self.metrics, found), Damage(self.metrics, found)
        pages = bodies = size = 0
        names = self._codec.columns
        columns = [names.page, names.links, names.urls, self._codec.family]
        rows = self.store.scan(
            self.table,
            [KeyRange()] if domain is None else ranges,
            Wanted(columns, versions=self._frame.layouts.recent().versions),
        )
        for row in rows:
            for one in damage.sift(self._all_of(row)):
                if isinstance(one, Page):
                    pages += 1
                    if self._is_lost(one):
                        lost.add(self._codec.damaged(row.key, self._codec.columns.html, "the body is lost"))
                elif isinstance(one, int):
                    bodies, size = bodies + 1, size + one
            if on_progress is not None and pages % PROGRESS_PAGES == 0:
                on_progress(pages)
        if on_progress is not None:
            on_progress(pages)
        return Verification(pages, bodies, size, damage.count, lost.count, tuple(found))

    def _all_of(self, row: Row) -> Iterator[Page | int | DamagedRow]:
        """Yield the page of *row*, the sizes of the bodies of its versions, and all that is damaged."""
        page = self._reader.each(row, verify=True)
        if isinstance(page, Page) and page.outlinks is not None and len(page.outlinks) != page.outlink_count:
            page = self._codec.damaged(
                row.key,
                self._codec.columns.urls,
                f"{len(page.outlinks):,} links, where there were {page.outlink_count:,}",
            )
        if page is not None:
            yield page
        else:
            try:
                self._codec.counts(row)
            except DamagedRow as exc:
                yield exc
        for _, version in self._of(row):
            if isinstance(version, DamagedRow):
                yield version
            elif version.html is not None:
                try:
                    check_body(version.html, version)
                except ValueError as exc:
                    yield self._codec.damaged(row.key, self._codec.columns.html, exc)
                else:
                    yield len(version.html)

    def _is_lost(self, page: Page) -> bool:
        if not page.has_body or page.html is not None or page.content_at is None:
            return False
        ttl = self._frame.layouts.recent().ttl
        # A cell that is about to expire may have done so since it was read.
        return ttl is None or datetime.now(UTC) - page.content_at < timedelta(seconds=ttl * 0.99)

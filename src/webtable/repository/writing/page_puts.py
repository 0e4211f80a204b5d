"""Planned writes as cells: what a batch has to send of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable._page.page import Page
from webtable.errors import WebTableError
from webtable.repository.hints.hints import Change
from webtable.repository.stored.timestamps import milliseconds
from webtable.repository.writing.plan import PlannedWrite
from webtable.store import NewCell, Put

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.frame import Frame
    from webtable.repository.stored.content import Packed
    from webtable.repository.writing.packing import Visited
    from webtable.repository.writing.repeats import Repeats


class PagePut(NamedTuple):
    """A planned write that only has to be sent: the page as it is written, and its cells."""

    planned: PlannedWrite
    page: Page
    put: Put

    @property
    def change(self) -> Change:
        """What indexes and inlinks need to know of it."""
        planned = self.planned
        return Change(planned.index, planned.row, planned.before, self.page, planned.former)


class PagePuts:
    """Makes the cells of the pages of one table."""

    def __init__(self, frame: Frame, repeats: Repeats) -> None:
        self._frame = frame
        self._repeats = repeats

    def made(
        self, planned: Sequence[PlannedWrite], visited: Sequence[Visited]
    ) -> tuple[list[PagePut], dict[int, WebTableError]]:
        """Return what is to be put, and, by their places, why pages cannot be: too large, or their content is lost."""
        pages = self._repeats.restored([(one.row, one.write) for one in planned])
        both = list(zip(planned, pages, strict=True))
        contents = self._contents([(one.index, page) for one, page in both if one.write.with_content], visited)
        puts: list[PagePut] = []
        unwritable: dict[int, WebTableError] = {}
        for one, page in both:
            if isinstance(page, WebTableError):
                unwritable.setdefault(one.index, page)
                continue
            content = next(contents) if one.write.with_content else None
            try:
                puts.append(PagePut(one, page, Put(one.row, self._cells(one, page, content))))
            except WebTableError as exc:
                unwritable.setdefault(one.index, exc)
        return puts, unwritable

    def _contents(
        self, pages: Sequence[tuple[int, Page | WebTableError]], visited: Sequence[Visited]
    ) -> Iterator[Packed]:
        """Return the content of *pages*, each with its place: as it was packed when they were visited, or now."""
        found = [(page, visited[index].packed_as(page)) for index, page in pages if isinstance(page, Page)]
        late = iter(self._frame.codec.packed([page for page, packed in found if packed is None]))
        return (next(late) if packed is None else packed for _, packed in found)

    def _cells(self, planned: PlannedWrite, page: Page, content: Packed | None) -> list[NewCell]:
        codec, row, timestamp = self._frame.codec, planned.row, milliseconds(page.fetched_at)
        cells = codec.metadata_cells(row, timestamp, page, planned.before) if planned.write.with_metadata else []
        if content is not None:
            cells += codec.content_cells(row, timestamp, page, content)
        codec.check_sizes(page, cells)
        return cells

"""Content that captures repeat: of another URL, which `same_as` names, or of an earlier capture of their own URL."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable._page.facts import repeated_facts
from webtable.errors import DamagedRow, InvalidURL, WebTableError
from webtable.repository.derived.inlinks import with_self_links

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable._page.page import Page
    from webtable.repository.frame import Frame
    from webtable.repository.stored.page_state import PageWrite
    from webtable.rowkey import WebKey

Sources = dict[bytes, "Page | DamagedRow"]
"""The stored pages whose content is repeated, by row."""


def row_of(key: WebKey, page: Page) -> bytes | None:
    """Return the row of the URL that *page* repeats, or None."""
    if page.same_as is None:
        return None
    try:
        return key.encode(page.same_as)
    except InvalidURL:
        return None


def sources_of(frame: Frame, batch: Sequence[tuple[bytes, Page]], room: int) -> tuple[Sources, int]:
    """Return the other pages whose content is repeated, if they are stored, and how many pages of *batch* that covers.

    It covers as many pages as repeat *room* bytes of other pages.
    """
    wanted: dict[bytes, int] = {}
    for index, (row, page) in enumerate(batch):
        if page.same_as is not None and page.body is None:
            repeated = row_of(frame.key, page)
            if repeated is not None and repeated != row:
                wanted.setdefault(repeated, index)
    if not wanted:
        return {}, len(batch)
    rows, count = list(wanted), len(batch)
    sizes = frame.pages.weights(rows, ("body", "outlinks")) if len(rows) > 1 else [0] * len(rows)
    for place, total in enumerate(accumulate(sizes)):
        if total > room and place:
            rows, count = rows[:place], wanted[rows[place]]
            break
    pages = frame.pages.read_each(rows, ("body", "outlinks"), weights=sizes[: len(rows)], verify=True)
    return {row: page for row, page in zip(rows, pages, strict=True) if page is not None}, count


def repeated_of(key: WebKey, row: bytes, page: Page, sources: Mapping[bytes, Page | DamagedRow]) -> Page | DamagedRow:
    """Return *page*, with the stored content of another URL if it repeats that, or the error if that is unreadable."""
    if page.same_as is None or page.body is not None:
        return page if page.same_as is None else replace(page, same_as=None)
    repeated = row_of(key, page)
    if repeated == row:
        return page
    source = None if repeated is None else sources.get(repeated)
    if isinstance(source, DamagedRow):
        return source
    # Content that the other URL got after this capture is not the content that was repeated.
    if source is None or source.body is None or (source.changed_at or source.fetched_at) > page.fetched_at:
        return replace(page, same_as=None)
    return replace(
        page,
        same_as=None,
        body=source.body,
        title=page.title or source.title,
        description=page.description or source.description,
        h1=page.h1 or source.h1,
        **repeated_facts(page, source, page.headers),
        content_type=page.content_type or source.content_type,
        charset=page.charset or source.charset,
        digest=source.digest,
        size=source.size,
        truncated=source.truncated,
        outlink_count=source.outlink_count,
        outlinks=source.outlinks,
    )


def restored(frame: Frame, writes: Sequence[tuple[bytes, PageWrite]]) -> list[Page | WebTableError]:
    """Return the page of each of *writes*, given with their rows, as it is to be written.

    A page whose stored content is written again gets that content; if it is lost, the error is returned in its place.
    """
    pages: list[Page | WebTableError] = [write.page for _, write in writes]
    repeating = [(at, row, write.content_of) for at, (row, write) in enumerate(writes) if write.content_of]
    try:
        contents = frame.pages.contents_of([(row, source) for _, row, source in repeating])
    except WebTableError as exc:
        for at, _, _ in repeating:
            pages[at] = exc
        return pages
    for (at, _, _), content in zip(repeating, contents, strict=True):
        pages[at] = content if isinstance(content, DamagedRow) else _with_content(writes[at][1].page, content)
    return pages


def _with_content(page: Page, content: Page) -> Page:
    links = content.outlinks
    return with_self_links(
        replace(
            page,
            body=content.body,
            has_body=content.body is not None,
            outlinks=links,
            outlink_count=None if links is None else len(links),
        )
    )

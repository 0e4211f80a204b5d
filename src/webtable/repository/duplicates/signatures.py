"""The signatures of main texts that pages lack for an index: of bodies that were stored before the table had it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.page.page import Page
from webtable.repository.page_storage.cells import together

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.errors import DamagedRow
    from webtable.repository.context import Frame
    from webtable.repository.indexes.states import Maintained
    from webtable.repository.upkeep.cells import PageChange


def sign_pages(indexes: Iterable[Maintained]) -> bool:
    """Whether pages get signatures for one of *indexes*."""
    return any(one.signs_pages for one in indexes)


def is_unsigned(page: Page) -> bool:
    """Whether *page* has a body, and no signature yet."""
    return page._likeness is None and page.has_body


def with_signature(page: Page, body: bytes | None) -> Page:
    """Return *page* with the signature of its *body*; without a signature if that is None."""
    from webtable.page.similarity import signature_of  # it needs numpy, and who has no such index does without

    return page if body is None else replace(page, _likeness=signature_of(replace(page, body=body)))


def read_and_signed(frame: Frame, pages: Sequence[tuple[bytes, Page]]) -> list[Page | DamagedRow]:
    """Return *pages*, given with their rows, with the signatures that they lack; stored bodies are read for these.

    A page whose body cannot be read is returned as the error.
    """
    found: list[Page | DamagedRow] = [page for _, page in pages]
    unread: list[int] = []
    for at, (_, page) in enumerate(pages):
        if is_unsigned(page):
            if page.body is None:
                unread.append(at)
            else:
                found[at] = with_signature(page, page.body)
    for some in together((at, pages[at][1].size or 0) for at in unread):
        contents = frame.pages.contents_of([pages[at] for at in some])
        for at, content in zip(some, contents, strict=True):
            found[at] = with_signature(pages[at][1], content.body) if isinstance(content, Page) else content
    return found


def signed(frame: Frame, pages: Sequence[tuple[bytes, Page]]) -> list[Page]:
    """Return what `read_and_signed` does; a page whose body cannot be read stays without a signature."""
    found = read_and_signed(frame, pages)
    return [one if isinstance(one, Page) else page for one, (_, page) in zip(found, pages, strict=True)]


def signed_changes(frame: Frame, changes: Sequence[PageChange]) -> list[PageChange]:
    """Return *changes* with the signatures that their pages lack, those of the pages before them included."""
    pages = signed(frame, [(change.row, change.page) for change in changes])
    former: list[Page | None] = []
    for change, page in zip(changes, pages, strict=True):
        before = change.before
        if before is not None and is_unsigned(before) and before.digest == page.digest:
            before = replace(before, _likeness=page._likeness)  # of the same body, which need not be read again
        former.append(before)
    some = [at for at, before in enumerate(former) if before is not None and is_unsigned(before)]
    known = signed(frame, [(changes[at].row, before) for at in some if (before := former[at]) is not None])
    for at, before in zip(some, known, strict=True):
        former[at] = before
    both = zip(changes, pages, former, strict=True)
    return [change._replace(page=page, before=before) for change, page, before in both]

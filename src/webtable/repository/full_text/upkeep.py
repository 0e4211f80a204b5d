"""The upkeep of full text: it is filled with the stored pages, mended where it differs from them, and compacted.

Pages and documents are compared in the order of URLs, a piece of pages in each transaction. Where that was ended it
goes on: the place is stored with the documents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from webtable._clock import milliseconds
from webtable._page.page import Page
from webtable.errors import CapabilityError, IndexNeeded
from webtable.repository.full_text.documents import TextSettings
from webtable.repository.full_text.index import documents_of, full_text_of
from webtable.repository.scanning.scan import ScanSpec, in_key_order
from webtable.repository.scanning.scope import Scope
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.repository.arguments import Progress
    from webtable.repository.frame import Frame
    from webtable.repository.full_text.index import FullTextOfTable
    from webtable.store.search import SearchIndex

AT_ONCE = 64
"""How many pages are read and written at once."""
_DOCUMENTS_AT_ONCE = 1_000
_LAST = b"\xff"
"""A place after all rows."""


@dataclass(frozen=True, slots=True)
class TextRefresh:
    """What a refresh of full text has done: how many `pages` it has compared, `written` and `removed`."""

    pages: int = 0
    written: int = 0
    removed: int = 0


class TextIndexState(NamedTuple):
    """What full text has: its settings, how many `bytes` it takes, and whether all stored pages are in it."""

    settings: TextSettings
    is_complete: bool
    bytes: int


def create(frame: Frame, settings: TextSettings, on_progress: Progress | None) -> TextRefresh:
    """Do what `TableSearchIndex.create` promises."""
    settings.check()
    index = frame.store.search_index(frame.table)
    if index is None:
        raise CapabilityError(f'{frame.name}: this store has no full text; search with order="url" reads the pages')
    index.create(msgspec.json.encode(settings).decode())
    return refresh(frame, on_progress)


def state(frame: Frame) -> TextIndexState | None:
    """Return the state of the full text; None if the table has none."""
    found = full_text_of(frame)
    if found is None:
        return None
    return TextIndexState(found.maker.settings, found.index.filled() is None, found.index.bytes())


def drop(frame: Frame) -> bool:
    """Remove the full text; returns whether there was any."""
    index = frame.store.search_index(frame.table)
    if index is None or index.settings() is None:
        return False
    index.drop()
    return True


def compact(frame: Frame) -> None:
    """Remove what deleted and expired pages have left in the full text, if the table has any."""
    found = full_text_of(frame)
    if found is not None:
        refresh(frame)
        found.index.compact()


def refresh(frame: Frame, on_progress: Progress | None = None) -> TextRefresh:
    """Bring the full text to the state of the stored pages; raises `IndexNeeded` if the table has none."""
    full_text = full_text_of(frame)
    if full_text is None:
        raise IndexNeeded(f"{frame.name}: the table has no full text: webtable search-index create adds it")
    filled = full_text.index.filled()
    documents = _Documents(full_text.index, filled or b"")
    pages = _dates(frame, filled or b"")
    done = TextRefresh()
    while some := list(islice(pages, AT_ONCE)):
        place = b"" if filled is None else some[-1][0]
        found = documents.up_to(some[-1][0])
        written, removed = _refreshed(frame, full_text, some, found, place)
        done = TextRefresh(done.pages + len(some), done.written + written, done.removed + removed)
        if on_progress is not None:
            on_progress(done.pages)
    gone = list(documents.up_to(_LAST))
    full_text.index.write([], gone, filled=None)
    return replace(done, removed=done.removed + len(gone))


def _refreshed(
    frame: Frame,
    full_text: FullTextOfTable,
    pages: Sequence[tuple[bytes, int]],
    documents: dict[bytes, int],
    place: bytes,
) -> tuple[int, int]:
    """Bring the *documents* of *pages*, both given as rows with dates, up to date; returns how many of them changed."""
    stored = dict(pages)
    new = [frame.key.salted(row) for row, date in pages if documents.get(row) != date]
    made = list(documents_of(frame, full_text.maker, new))
    others = [row for row in documents if row not in stored]
    with frame.store.transaction():
        # A writer may have stored a later capture meanwhile, with its document.
        now = _captured(frame, [one.row for one in made])
        some = [one for one, date in zip(made, now, strict=True) if date == one.captured]
        gone = [row for row, date in zip(others, _captured(frame, others), strict=True) if date is None]
        full_text.index.write(some, gone, filled=place)
    return len(some), len(gone)


def _captured(frame: Frame, rows: Sequence[bytes]) -> list[int | None]:
    pages = frame.pages.read_each(list(map(frame.key.salted, rows)), ()) if rows else ()
    return [milliseconds(page.fetched_at) if isinstance(page, Page) else None for page in pages]


def _dates(frame: Frame, after: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the unsalted key of each page after the place *after*, with the date of its last capture."""
    column = frame.codec.columns.page
    spec = ScanSpec(frame.table, Scope(is_permitted=True).ranges(frame), Wanted([column]))
    for row in in_key_order(frame.store, spec, frame.key.unsalted, [column], after or None):
        yield frame.key.unsalted(row.key), row.cells[column][0].timestamp


class _Documents:
    """The documents of an index, in the order of their rows."""

    def __init__(self, index: SearchIndex, after: bytes) -> None:
        self._index = index
        self._after = after
        self._read: dict[bytes, int] = {}
        self._is_all = False

    def up_to(self, last: bytes) -> dict[bytes, int]:
        """Return the next documents, up to the one of the row *last*, with their dates."""
        while not self._is_all and (not self._read or next(reversed(self._read)) <= last):
            found = self._index.documents(self._after, _DOCUMENTS_AT_ONCE)
            self._is_all = len(found) < _DOCUMENTS_AT_ONCE
            if found:
                self._after = found[-1][0]
                self._read |= dict(found)
        some = {row: date for row, date in self._read.items() if row <= last}
        self._read = {row: date for row, date in self._read.items() if row > last}
        return some

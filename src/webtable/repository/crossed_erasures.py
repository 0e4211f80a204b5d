"""What a writer does behind its writes about dictionaries that were erased meanwhile, as `dictionaries` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable.errors import WebTableError
from webtable.repository.bodies import dictionary_of, pack
from webtable.repository.moments import milliseconds
from webtable.repository.removals import written
from webtable.store import NewCell, Put
from webtable.store.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable._page import Page
    from webtable.repository.frame import Frame
    from webtable.repository.hints.hints import Change


class StoredBody(NamedTuple):
    """A body in the store, of the page that has this `place` in its batch; what was `given` of it, where it was."""

    place: int
    row: bytes
    cell: NewCell
    given: bytes | None = None


def packed_again(frame: Frame, bodies: Sequence[StoredBody]) -> dict[int, WebTableError]:
    """Pack those of *bodies* alone whose dictionary is erased; return, by their places, why some cannot be."""
    named = {dictionary_of(one.cell.value) for one in bodies} - {0}
    gone = frame.dictionaries.gone(named) if named else set()
    errors: dict[int, WebTableError] = {}
    for one in bodies:
        if dictionary_of(one.cell.value) in gone:
            try:
                packed = one.cell._replace(value=_alone(frame, one))
                written(frame.store, frame.table, [Put(one.row, [packed])])
            except WebTableError as exc:
                errors[one.place] = exc
    return errors


def _alone(frame: Frame, body: StoredBody) -> bytes:
    return frame.codec.packed_alone(body.row, body.cell.value) if body.given is None else pack([body.given])[0]


def repeated_bodies(frame: Frame, repeated: Sequence[Change], pages: Sequence[Page]) -> Iterator[StoredBody]:
    """Yield the stored bodies of those of *pages* whose very capture was there already.

    Who stored it may have been ended before it looked.
    """
    given = [one for one in repeated if pages[one.owner].html is not None]
    if not given:
        return
    html = frame.codec.columns.html
    for one, row in zip(given, frame.store.read(frame.table, [one.row for one in given], Wanted([html])), strict=True):
        cell = row.cells[html][0] if row is not None and html in row.cells else None
        if cell is None or one.page.content_at != one.page.fetched_at:
            continue
        if one.page.fetched_at is not None and milliseconds(one.page.fetched_at) == cell.timestamp:
            yield StoredBody(one.owner, one.row, NewCell(html, cell.timestamp, cell.value), pages[one.owner].html)

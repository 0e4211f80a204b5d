"""A copy of a web table, from its beginning or from where an earlier one has ended, up to its end."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from webtable._clock import now_in_milliseconds, possible_moment
from webtable.errors import ExpiredCapture, InvalidArgument
from webtable.repository.copying.counts import LINKS, PAGES, Copied, Counts, place_of, token_of
from webtable.repository.copying.links import InlinkCopier
from webtable.repository.copying.pages import PageCopier
from webtable.repository.copying.tables import Pace, Sides
from webtable.rowkey import KeyRange
from webtable.store import TimeRange
from webtable.store.rows import Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.repository.frame import Frame


def copy(
    source: Frame,
    target: Frame,
    after: str | None,
    rate: float | None,
    on_copied: Callable[[Copied], object] | None,
) -> Copied:
    """Return what `WebTable.copy_to` does."""
    step, row = place_of(after)
    pace, sides, counts = Pace(rate), Sides(source, target), Counts()
    check_apart(source, target)
    check_kept(source, target.layouts.recent().ttl, target.name)

    def told(step: str, row: bytes) -> None:
        if on_copied is not None:
            on_copied(counts.copied(token_of(step, row)))

    keep_inlinks = sides.keep_inlinks
    if step == PAGES:
        with closing(PageCopier(sides, counts, with_inlinks=not keep_inlinks)) as pages:
            for last in pages.run(row, pace):
                told(PAGES, last)
        row = b""
    if keep_inlinks:
        for last in InlinkCopier(sides, counts).run(row, pace):
            told(LINKS, last)
    return counts.copied(None)


def check_apart(source: Frame, target: Frame) -> None:
    """Raise `InvalidArgument` where both are one table."""
    same_store = source.store is target.store or _place(source.store.name) == _place(target.store.name)
    if same_store and source.table == target.table:
        raise InvalidArgument(f"target={target.name!r} is the table that is copied: name another one")


def _place(name: str) -> str:
    url = StoreURL.parse(name)
    return str(Path(url.rest).resolve()) if url.is_path else name


def check_kept(source: Frame, ttl: int | None, name: str) -> None:
    """Raise `ExpiredCapture` where the table *name*, which keeps content *ttl* seconds, would drop some of *source*.

    What is about to expire in the source as well is none.
    """
    kept = source.layouts.recent().ttl
    if ttl is None or (kept is not None and kept <= ttl):
        return
    column = source.codec.columns.capture
    past = TimeRange(0, now_in_milliseconds() - ttl * 1000 + 1)
    old = next(source.store.scan(source.table, [KeyRange()], Wanted([column], time_range=past), limit=1), None)
    if old is not None:
        at = possible_moment(old.cells[column][0].timestamp)
        raise ExpiredCapture(
            f"{source.codec.damaged(old.key, column, '').url or source.name}: a capture of {at:%Y-%m-%d} is past the "
            f"{ttl / 86_400:g} days for which {name} keeps content: have it keep that longer (webtable copy --ttl none "
            "for a new table, else webtable alter --ttl none). Nothing was written"
        )

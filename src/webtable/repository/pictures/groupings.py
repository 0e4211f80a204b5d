"""Which picture each grouping of statistics has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.pictures.bars import draw_bars
from webtable.repository.pictures.calendar import draw_calendar
from webtable.repository.pictures.histogram import draw_sizes
from webtable.repository.pictures.regions import draw_regions

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from webtable.repository.pictures.bars import Groups

_OF_ITS_OWN: dict[str, Callable[[Groups, Axes | None], Axes]] = {
    "region": draw_regions,
    "size": draw_sizes,
    "day": draw_calendar,
}


def draw_groups(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw *groups*, which pages were counted *by*, as it suits them: as bars, a histogram or a calendar."""
    return _OF_ITS_OWN[by](groups, ax) if by in _OF_ITS_OWN else draw_bars(by, groups, ax)

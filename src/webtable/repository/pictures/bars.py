"""Groups of pages as bars with their numbers: by status, type, age and host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from webtable.repository.pictures.canvas import (
    BLUE,
    GREY,
    STATUSES,
    axes_of,
    bytes_text,
    pages_text,
    plain,
    say_empty,
    short,
    thousands,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Groups = Mapping[str, tuple[int, int | None]]
"""The pages and the bytes of groups by their names."""

MOST_BARS = 20
"""How many groups have a bar of their own; the others share one."""


def draw_bars(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw a bar for each of *groups*, which pages were counted *by*, and return the axes."""
    shown = _shown(groups, ordered=by in ("status", "age"))
    ax = axes_of(ax, height=1.1 + 0.32 * max(len(shown), 2))
    if not shown:
        return say_empty(ax, "no pages")
    names = [short(name) for name, *_ in shown]
    bars = ax.barh(range(len(shown)), [pages for _, pages, _ in shown], color=[_colour(by, name) for name in names])
    plain(*ax.bar_label(bars, [_amount(pages, size) for _, pages, size in shown], padding=3, fontsize="small"))
    ax.set_yticks(range(len(shown)), names)
    plain(*ax.get_yticklabels())
    ax.set_ylim(max(len(shown), 2) - 0.4, -0.6)
    ax.set_xlim(0, 1.25 * max(pages for _, pages, _ in shown))  # room for the numbers
    thousands(ax.xaxis)
    ax.set_xlabel("pages")
    return titled(ax, f"{pages_text(sum(pages for pages, _ in groups.values()))} by {by}")


def _shown(groups: Groups, *, ordered: bool) -> list[tuple[str, int, int | None]]:
    """Return the groups that have a bar, the largest first or as they come, and a last one for what is left."""
    largest = sorted(groups, key=lambda name: -groups[name][0])
    chosen, others = largest[:MOST_BARS], largest[MOST_BARS:]
    shown = [(name, *groups[name]) for name in (sorted(chosen, key=list(groups).index) if ordered else chosen)]
    if not others:
        return shown
    sizes = [groups[name][1] for name in others]
    left = None if None in sizes else sum(size or 0 for size in sizes)
    return [*shown, (f"{len(others):,} others", sum(groups[name][0] for name in others), left)]


def _colour(by: str, name: str) -> str:
    if name.endswith(" others"):
        return GREY
    return STATUSES.get(int(name) // 100, GREY) if by == "status" else BLUE


def _amount(pages: int, size: int | None) -> str:
    return f"{pages:,}" if size is None else f"{pages:,}, {bytes_text(size)}"

"""Groups of pages as bars: with their numbers by status, type, age and host, and as a histogram of sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._shown.sizes import CLASSES, NO_BODY, class_bounds, round_size_text, size_text
from webtable._shown.text import plural
from webtable.repository.pictures.calendar import draw_calendar
from webtable.repository.pictures.canvas import (
    BLUE,
    GREY,
    STATUSES,
    Groups,
    axes_of,
    matplotlib,
    plain,
    say_empty,
    short,
    thousands,
    titled,
)
from webtable.repository.pictures.regions import draw_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 20
"""How many groups have a bar of their own; the others share one."""


def draw_groups(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw *groups*, which pages were counted *by*, as it suits them: as bars, a histogram or a calendar."""
    match by:
        case "region":
            return draw_regions(groups, ax)
        case "size":
            return draw_sizes(groups, ax)
        case "day":
            return draw_calendar(groups, ax)
    return draw_bars(by, groups, ax)


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
    return titled(ax, f"{plural(sum(pages for pages, _ in groups.values()), 'page')} by {by}")


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
    return f"{pages:,}" if size is None else f"{pages:,}, {size_text(size)}"


def draw_sizes(groups: Groups, ax: Axes | None) -> Axes:
    """Draw a bar for each class of sizes, and return the axes."""
    ax = axes_of(ax)
    without = groups[NO_BODY][0] if NO_BODY in groups else 0
    classes = {CLASSES[name]: pages for name, (pages, _) in groups.items() if name != NO_BODY}
    if not classes:
        return say_empty(ax, f"{plural(without, 'page')}, none with a body" if without else "no pages")
    lows, highs = zip(*map(_drawn_bounds, classes), strict=True)
    widths = [high - low for low, high in zip(lows, highs, strict=True)]
    ax.bar(lows, list(classes.values()), widths, align="edge", color=BLUE, edgecolor="white", linewidth=0.8)
    _scale(ax, min(classes), max(classes))
    thousands(ax.yaxis)
    ax.set_xlabel("size of the body")
    ax.set_ylabel("pages")
    aside = f"; {plural(without, 'page')} without a body" if without else ""
    return titled(ax, f"{plural(sum(classes.values()), 'page')} by size{aside}")


def _drawn_bounds(number: int) -> tuple[int, int]:
    # The lowest class begins at 0, which no logarithm has.
    low, high = class_bounds(number)
    return low or high // 2, high


def _scale(ax: Axes, first: int, last: int) -> None:
    """Name the bounds of the classes from *first* to *last*, or every few of them: labels are not to touch."""
    step = next(step for step in (1, 3, 6, 12) if (last - first) // step <= 8)
    named = (number for number in range(first + step, last + 2) if number % step == 2 % step)
    bounds = [class_bounds(number)[0] for number in (first, *named)]
    ticks = {bound or _drawn_bounds(1)[0]: round_size_text(bound) if bound else "0" for bound in bounds}
    ax.set_xscale("log")
    ticker = matplotlib().ticker
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.xaxis.set_minor_locator(ticker.NullLocator())

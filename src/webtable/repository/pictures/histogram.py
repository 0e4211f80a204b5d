"""The sizes of pages as a histogram, on an axis on which each class is as wide as the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.pictures.canvas import BLUE, axes_of, matplotlib, pages_text, say_empty, thousands, titled
from webtable.repository.sizes import NO_BODY, bounds_of, power_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from webtable.repository.pictures.bars import Groups


def draw_sizes(groups: Groups, ax: Axes | None) -> Axes:
    """Draw a bar for each class of sizes, and return the axes."""
    ax = axes_of(ax)
    without = groups[NO_BODY][0] if NO_BODY in groups else 0
    classes = [(*bounds_of(name), pages) for name, (pages, _) in groups.items() if name != NO_BODY]
    if not classes:
        return say_empty(ax, f"{pages_text(without)}, none with a body" if without else "no pages")
    lows, highs, pages = zip(*classes, strict=True)
    widths = [high - low for low, high in zip(lows, highs, strict=True)]
    ax.bar(lows, pages, widths, align="edge", color=BLUE, edgecolor="white", linewidth=0.8)
    _scale(ax, lows[0], highs[-1])
    thousands(ax.yaxis)
    ax.set_xlabel("size of the body")
    ax.set_ylabel("pages")
    aside = f"; {pages_text(without)} without a body" if without else ""
    return titled(ax, f"{pages_text(sum(pages))} by size{aside}")


def _scale(ax: Axes, low: int, high: int) -> None:
    """Let the axis of sizes double from tick to tick, or from every few: labels are not to touch."""
    first, last = low.bit_length() - 1, high.bit_length() - 1
    step = next(step for step in (1, 2, 5, 10) if (last - first) // step <= 8)
    ax.set_xscale("log", base=2)
    # The lowest class begins at 0, which no logarithm has.
    ticks = [1 << power for power in range(first, last + 1) if power % step == 0 or power == first]
    ticker = matplotlib().ticker
    ax.xaxis.set_major_locator(ticker.FixedLocator(ticks))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: "0" if size < 128 else power_text(size)))
    ax.xaxis.set_minor_locator(ticker.NullLocator())

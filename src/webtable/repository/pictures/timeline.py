"""The versions of a page over time: how large each was, and where its status changed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from webtable._shown.sizes import size_text
from webtable.repository.pictures.canvas import (
    GREY,
    STATUSES,
    VERMILION,
    axes_of,
    matplotlib,
    say_empty,
    short,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from webtable._page.page import Page

_MARKS = {1: "v", 2: "o", 3: "D", 4: "X", 5: "P"}
"""Statuses are told apart by form as well as by colour."""
MOST_NAMED = 12
"""How many changes of the status are named, the last ones."""


def draw_timeline(versions: Sequence[Page], ax: Axes | None) -> Axes:
    """Draw *versions* of a page, which come newest first, and return the axes."""
    ax = axes_of(ax, height=3.6)
    if not versions:
        return say_empty(ax, "no versions")
    pages = versions[::-1]
    ax.plot(_times(pages), _sizes(pages), drawstyle="steps-post", color=GREY, linewidth=1.2, zorder=1)
    for kind in sorted({page.status_code // 100 for page in pages}):
        some = [page for page in pages if page.status_code // 100 == kind]
        colour, mark = STATUSES.get(kind, GREY), _MARKS.get(kind, "s")
        ax.scatter(_times(some), _sizes(some), s=45, color=colour, marker=mark, label=f"status {kind}xx", zorder=3)
    _name_statuses(ax, pages)
    _label(ax, *_times([pages[0], pages[-1]]))
    count = f"{len(pages):,} version{'' if len(pages) == 1 else 's'}"
    return titled(ax, f"{count} of {short(pages[-1].url, 70)}")


def _times(pages: Sequence[Page]) -> list[float]:
    return [float(matplotlib().dates.date2num(page.fetched_at)) for page in pages]


def _sizes(pages: Sequence[Page]) -> list[int]:
    return [page.size or 0 for page in pages]


def _name_statuses(ax: Axes, pages: Sequence[Page]) -> None:
    """Draw a line where the status changed, with both of them."""
    changes = [(one, other) for one, other in pairwise(pages) if one.status_code != other.status_code]
    for time in _times([other for _, other in changes]):
        ax.axvline(time, color=VERMILION, linestyle=":", linewidth=1, zorder=0)
    for number, (one, other) in enumerate(changes[-MOST_NAMED:]):
        ax.annotate(
            f"{one.status_code} → {other.status_code}",
            (_times([other])[0], 1),
            xycoords=("data", "axes fraction"),
            # Names that are close to each other stand on two lines.
            xytext=(-3, -2 - 11 * (number % 2)),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize="x-small",
            color=VERMILION,
        )


def _label(ax: Axes, first: float, last: float) -> None:
    found = matplotlib()
    locator = found.dates.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(found.dates.ConciseDateFormatter(locator))
    ax.yaxis.set_major_formatter(found.ticker.FuncFormatter(lambda size, _: size_text(size)))
    low, high = ax.get_ylim()
    ax.set_ylim(min(0, low), (high or 1) * 1.15)  # room for the names of statuses
    room = 0.05 * (last - first) or 1.0
    ax.set_xlim(first - room, last + room)
    ax.set_ylabel("size of the body")
    ax.set_xlabel("fetched (UTC)")
    ax.legend(loc="upper left", bbox_to_anchor=(-0.01, -0.22), ncols=5, frameon=False, fontsize="small", borderpad=0)

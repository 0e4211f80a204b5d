"""Pictures of a page: its versions over time, and the links from and to it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.repository.pictures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    STATUSES,
    VERMILION,
    axes_of,
    matplotlib,
    plain,
    say_empty,
    short,
    titled,
)
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from webtable._page.page import Page

_MARKS = {1: "v", 2: "o", 3: "D", 4: "X", 5: "P"}
"""Markers by the first digit of the status, so that statuses differ by form as well as by colour."""
MOST_NAMED = 12
"""How many changes of the status are labelled, the last ones."""
_KINDS = {
    "on the same host": (BLUE, "o", BLUE),
    "on another host": (ORANGE, "s", ORANGE),
    "answers with an error": (VERMILION, "X", VERMILION),
    "not stored": (GREY, "o", "white"),
}
"""The kinds of pages at the end of a link: the colour, the marker, and its fill."""
_LEFT, _RIGHT, _LETTERS = -1.0, 1.0, 46


def draw_timeline(versions: Sequence[Page], ax: Axes | None) -> Axes:
    """Draw *versions* of a page, which come newest first, and return the axes."""
    ax = axes_of(ax, height=3.6)
    if not versions:
        return say_empty(ax, "no versions")
    pages = versions[::-1]
    ax.plot(_times(pages), _sizes(pages), drawstyle="steps-post", color=GREY, linewidth=1.2, zorder=1)
    for kind in sorted({page.status // 100 for page in pages}):
        some = [page for page in pages if page.status // 100 == kind]
        colour, mark = STATUSES.get(kind, GREY), _MARKS.get(kind, "s")
        ax.scatter(_times(some), _sizes(some), s=45, color=colour, marker=mark, label=f"status {kind}xx", zorder=3)
    _name_statuses(ax, pages)
    _label(ax, *_times([pages[0], pages[-1]]))
    return titled(ax, f"{plural(len(pages), 'version')} of {short(pages[-1].url, 70)}")


def _times(pages: Sequence[Page]) -> list[float]:
    return [float(matplotlib().dates.date2num(page.fetched_at)) for page in pages]


def _sizes(pages: Sequence[Page]) -> list[int]:
    return [page.size or 0 for page in pages]


def _name_statuses(ax: Axes, pages: Sequence[Page]) -> None:
    """Draw a line where the status changed, labelled with both."""
    changes = [(one, other) for one, other in pairwise(pages) if one.status != other.status]
    for time in _times([other for _, other in changes]):
        ax.axvline(time, color=VERMILION, linestyle=":", linewidth=1, zorder=0)
    for number, (one, other) in enumerate(changes[-MOST_NAMED:]):
        ax.annotate(
            f"{one.status} → {other.status}",
            (_times([other])[0], 1),
            xycoords=("data", "axes fraction"),
            # Labels that are close to each other are on two lines.
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


def draw_neighbours(around: Any, ax: Axes | None) -> Axes:
    """Draw the pages *around* one, and return the axes."""
    rows = max(len(around.linking), len(around.linked), 3) + 1
    ax = axes_of(ax, 10, 1.1 + 0.27 * rows)
    ax.set_axis_off()
    title = f"links from and to {short(around.url, 80)}"
    if not (around.linking or around.linked or around.more_linking or around.more_linked):
        return titled(say_empty(ax, "no links from or to this page"), title)
    host = split_url(around.url).host
    # The left side has no total: counting the inlinks takes as long as reading them.
    more = "and others" if around.more_linking else ""
    _draw_side(ax, around.linking, _LEFT, host, more)
    _draw_side(ax, around.linked, _RIGHT, host, f"and {around.more_linked:,} others" if around.more_linked else "")
    ax.plot([0], [0], marker="o", markersize=13, color="black", zorder=3)
    ax.set_xlim(-4.6, 4.6)
    ax.set_ylim(-rows / 2 - 0.3, rows / 2 + 0.7)
    _write(ax, _LEFT, rows / 2 + 0.2, f"{len(around.linking):,}{'+' * bool(more)} link here", fontweight="bold")
    linked = len(around.linked) + around.more_linked
    _write(ax, _RIGHT, rows / 2 + 0.2, f"links to {linked:,}", fontweight="bold")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=4, frameon=False, fontsize="small")
    return titled(ax, title)


def _draw_side(ax: Axes, pages: Sequence[Any], side: float, host: str, more: str) -> None:
    """Draw the pages of one side from top to bottom, each with a line to or from the middle."""
    count = len(pages) + bool(more)
    for place, page in enumerate(pages):
        y = (count - 1) / 2 - place
        kind = _kind(page, host)
        colour, mark, fill = _KINDS[kind]
        ax.plot([0, side], [0, y], color=colour, linewidth=0.8, alpha=0.5, zorder=1)
        label = None if kind in ax.get_legend_handles_labels()[1] else kind
        ax.scatter([side], [y], marker=mark, s=34, facecolors=fill, edgecolors=colour, label=label, zorder=2)
        _write(ax, side, y, _name(page.url, host))
    if more:
        _write(ax, side, -(count - 1) / 2, more, color=GREY)


def _write(ax: Axes, side: float, y: float, text: str, **style: Any) -> None:
    ha = "right" if side < 0 else "left"
    plain(ax.text(1.1 * side, y, text, ha=ha, va="center", fontsize="small", **style))


def _kind(page: Any, host: str) -> str:
    if page.status is None:
        return "not stored"
    if page.status >= 400:
        return "answers with an error"
    return "on the same host" if split_url(page.url).host == host else "on another host"


def _name(url: str, host: str) -> str:
    """Return the label of *url* next to a page of *host*: its path, with another host if it has one."""
    rest = url.partition("://")[2]
    is_here = split_url(url).host == host
    return short(rest[rest.find("/") :] if is_here else rest, _LETTERS)

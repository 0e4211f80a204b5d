"""The links around a page: who links to it on the left, where it links on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.repository.pictures.canvas import (
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    axes_of,
    plain,
    say_empty,
    short,
    titled,
)
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_KINDS = {
    "on the same host": (BLUE, "o", BLUE),
    "on another host": (ORANGE, "s", ORANGE),
    "answers with an error": (VERMILION, "X", VERMILION),
    "not stored": (GREY, "o", "white"),
}
"""What the page at the end of a link is: its colour, its mark, and what that is filled with."""
_LEFT, _RIGHT, _LETTERS = -1.0, 1.0, 46


def draw_neighbours(around: Any, ax: Axes | None) -> Axes:
    """Draw the pages *around* one, and return the axes."""
    rows = max(len(around.linking), len(around.linked), 3) + 1
    ax = axes_of(ax, 10, 1.1 + 0.27 * rows)
    ax.set_axis_off()
    title = f"links from and to {short(around.url, 80)}"
    if not (around.linking or around.linked or around.more_linking or around.more_linked):
        return titled(say_empty(ax, "no links from or to this page"), title)
    host = split_url(around.url).host
    # No whole number is told of the left side: counting those who link here takes as long as reading them.
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
    """Draw the pages of one side from the top down, each with a line to or from the middle."""
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
    if page.status_code is None:
        return "not stored"
    if page.status_code >= 400:
        return "answers with an error"
    return "on the same host" if split_url(page.url).host == host else "on another host"


def _name(url: str, host: str) -> str:
    """Return what *url* is called beside a page of *host*: its path, or its host as well."""
    rest = url.partition("://")[2]
    is_here = split_url(url).host == host
    return short(rest[rest.find("/") :] if is_here else rest, _LETTERS)

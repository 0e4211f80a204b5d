"""The regions of a table as bars: the share of all pages and bytes that each has, with the hot ones marked."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.repository.page_counts import HOT, RegionShares
from webtable.repository.pictures.canvas import (
    BLUE,
    ORANGE,
    VERMILION,
    axes_of,
    matplotlib,
    plain,
    say_empty,
    short,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from webtable.repository.pictures.canvas import Groups

MOST_BARS = 40
"""How many regions have bars of their own; of more, neighbours share them."""
_HALF = 0.4
_LINE = 100


class _Bar(NamedTuple):
    """A region, or of several neighbours the largest shares that one of them has."""

    first: str
    regions: int
    pages: float
    bytes: float


def draw_regions(groups: Groups, ax: Axes | None) -> Axes:
    """Draw bars for the regions, which are named by their first keys, in key order; and return the axes."""
    shares = RegionShares.of(groups)
    bars = _bars(shares)
    ax = axes_of(ax, height=1.2 + 0.34 * max(len(bars), 2))
    if not bars:
        return say_empty(ax, "no pages")
    pages, size = (sum(group[at] or 0 for group in groups.values()) for at in (0, 1))
    has_bytes = shares.bytes is not None
    places = [float(place) for place in range(len(bars))]
    half = _HALF if has_bytes else 2 * _HALF
    upper = [place - half / 2 for place in places] if has_bytes else places
    ax.barh(upper, [bar.pages for bar in bars], half, color=BLUE, label="pages")
    if has_bytes:
        ax.barh([place + half / 2 for place in places], [bar.bytes for bar in bars], half, color=ORANGE, label="bytes")
    room = 1.05
    if len(groups) > 1:
        ax.axvline(shares.fair, color="0.35", linestyle="--", linewidth=1, label=f"fair share of {len(groups):,}")
        room = 1.45 if _mark_hot(ax, bars, shares.fair) else room
    _label(ax, bars, shares)
    ax.set_xlim(0, room * max(max(bar.pages, bar.bytes) for bar in bars))
    sizes = f", {size_text(size)}" if has_bytes else ""
    return titled(ax, f"{plural(pages, 'page')}{sizes} by region")


def _bars(shares: RegionShares) -> list[_Bar]:
    """Return the bars in key order, each of as many neighbours as leave MOST_BARS at most."""
    size = shares.bytes or dict.fromkeys(shares.pages, 0.0)
    each = [(first, share, size[first]) for first, share in shares.pages.items()]
    step = -(-len(each) // MOST_BARS) or 1
    pieces = (each[at : at + step] for at in range(0, len(each), step))
    return [_Bar(some[0][0], len(some), max(one[1] for one in some), max(one[2] for one in some)) for some in pieces]


def _mark_hot(ax: Axes, bars: list[_Bar], fair: float) -> int:
    """Write beside each hot region how many times its fair share it has, and return how many are hot."""
    hot = 0
    for place, bar in enumerate(bars):
        share, what = max((bar.pages, "pages"), (bar.bytes, "bytes"))
        if share > HOT * fair:
            hot += 1
            text = f" hot: {share / fair:.1f} times its share of {what}"
            ax.text(share, place, text, va="center", color=VERMILION, fontsize="small", fontweight="bold")
    return hot


def _label(ax: Axes, bars: list[_Bar], shares: RegionShares) -> None:
    names = [short(bar.first, 28) or "(first key)" for bar in bars]
    ax.set_yticks(range(len(bars)), names, family="monospace", fontsize="small")
    plain(*ax.get_yticklabels())
    ax.set_ylim(max(len(bars), 2) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(lambda share, _: f"{100 * share:g}%"))
    together = f", the largest of {bars[0].regions:,} neighbours" if bars[0].regions > 1 else ""
    said = fill(str(shares), _LINE)
    plain(ax.set_xlabel(f"share of all{together}; regions are named by their first key\n{said}", fontsize="small"))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small", borderpad=0)

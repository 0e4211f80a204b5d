"""Groups of pages as bars, by size as a histogram, by region with their shares, and by day as a calendar."""

from __future__ import annotations

from datetime import date, timedelta
from math import nan
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from webtable._shown.sizes import CLASSES, NO_BODY, class_bounds, round_size_text, size_text
from webtable._shown.text import plural
from webtable.repository.page_counts import DATES, HOT, RegionShares, shown_groups
from webtable.repository.pictures.canvas import (
    AMOUNTS,
    BLUE,
    GREY,
    ORANGE,
    STATUSES,
    VERMILION,
    Groups,
    axes_of,
    figure_of,
    matplotlib,
    plain,
    say_empty,
    short,
    thousands,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes

MOST_BARS = 20
"""How many groups have their own bar; the others share one."""


def draw_groups(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw *groups*, by which pages were counted, as bars, a histogram or a calendar, whichever suits them."""
    match by:
        case "region":
            return draw_regions(groups, ax)
        case "size":
            return draw_sizes(groups, ax)
        case "day":
            return draw_calendar(groups, ax)
    return draw_bars(by, groups, ax)


def draw_nothing(said: str, ax: Axes | None) -> Axes:
    """Write on otherwise empty axes what is *said* of a site without pages, and return them."""
    return say_empty(axes_of(ax), said)


def draw_bars(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw a bar for each of *groups*, which pages were counted *by*, and return the axes."""
    shown = _shown(by, groups)
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
    pages = sum(pages for pages, _ in groups.values())
    if by != "month":
        return titled(ax, f"{plural(pages, 'page')} by {by}")
    drawn = sum(pages for _, pages, _ in shown)
    earlier = f"; {plural(pages - drawn, 'page')} before {shown[0][0]}" if drawn < pages else ""
    return titled(ax, f"{plural(drawn, 'page')} by the month of the last capture (UTC){earlier}")


def _shown(by: str, groups: Groups) -> list[tuple[str, int, int | None]]:
    """Return the groups that have a bar, the largest first or in their order, and a last one for the others.

    Earlier months have none.
    """
    chosen = shown_groups(by, groups, MOST_BARS)
    others = [] if by in DATES else [name for name in groups if name not in set(chosen)]
    if by in ("host", "type", "language"):
        chosen.sort(key=lambda name: -groups[name][0])
    shown = [(name, *groups[name]) for name in chosen]
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
    # The lowest class begins at 0, which has no logarithm.
    low, high = class_bounds(number)
    return low or high // 2, high


def _scale(ax: Axes, first: int, last: int) -> None:
    """Label the bounds of the classes from *first* to *last*, or only some, so that labels do not touch."""
    step = next(step for step in (1, 3, 6, 12) if (last - first) // step <= 8)
    named = (number for number in range(first + step, last + 2) if number % step == 2 % step)
    bounds = [class_bounds(number)[0] for number in (first, *named)]
    ticks = {bound or _drawn_bounds(1)[0]: round_size_text(bound) if bound else "0" for bound in bounds}
    ax.set_xscale("log")
    ticker = matplotlib().ticker
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.xaxis.set_minor_locator(ticker.NullLocator())


MOST_REGIONS = 40
"""How many bars there are at most; if there are more regions, neighbours share one."""
_HALF = 0.4
_LINE = 100


class _Bar(NamedTuple):
    """A region, or several neighbours, with the largest shares of any of them."""

    first: str
    regions: int
    pages: float
    bytes: float


def draw_regions(groups: Groups, ax: Axes | None) -> Axes:
    """Draw bars for the regions, labelled with their first keys, in key order; and return the axes."""
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
    _label_regions(ax, bars, shares)
    ax.set_xlim(0, room * max(max(bar.pages, bar.bytes) for bar in bars))
    sizes = f", {size_text(size)}" if has_bytes else ""
    return titled(ax, f"{plural(pages, 'page')}{sizes} by region")


def _bars(shares: RegionShares) -> list[_Bar]:
    """Return the bars in key order, each for enough neighbours to have at most MOST_REGIONS bars."""
    size = shares.bytes or dict.fromkeys(shares.pages, 0.0)
    each = [(first, share, size[first]) for first, share in shares.pages.items()]
    step = -(-len(each) // MOST_REGIONS) or 1
    pieces = (each[at : at + step] for at in range(0, len(each), step))
    return [_Bar(some[0][0], len(some), max(one[1] for one in some), max(one[2] for one in some)) for some in pieces]


def _mark_hot(ax: Axes, bars: list[_Bar], fair: float) -> int:
    """Write next to each hot region how many times its fair share it has, and return how many are hot."""
    hot = 0
    for place, bar in enumerate(bars):
        share, what = max((bar.pages, "pages"), (bar.bytes, "bytes"))
        if share > HOT * fair:
            hot += 1
            text = f" hot: {share / fair:.1f} times its share of {what}"
            ax.text(share, place, text, va="center", color=VERMILION, fontsize="small", fontweight="bold")
    return hot


def _label_regions(ax: Axes, bars: list[_Bar], shares: RegionShares) -> None:
    names = [short(bar.first, 28) or "(first key)" for bar in bars]
    ax.set_yticks(range(len(bars)), names, family="monospace", fontsize="small")
    plain(*ax.get_yticklabels())
    ax.set_ylim(max(len(bars), 2) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(lambda share, _: f"{100 * share:g}%"))
    together = f", the largest of {bars[0].regions:,} neighbours" if bars[0].regions > 1 else ""
    said = fill(str(shares), _LINE)
    plain(ax.set_xlabel(f"share of all{together}; regions are named by their first key\n{said}", fontsize="small"))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small", borderpad=0)


MOST_YEARS = 5
"""How many years are drawn, the last ones."""
_WEEKS = 54
_BLOCK = 8
"""How many rows a year takes: its weekdays and a gap."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = {0: "Mon", 2: "Wed", 4: "Fri", 6: "Sun"}


def draw_calendar(groups: Groups, ax: Axes | None) -> Axes:
    """Draw the days, by the number of pages that were last captured on each, and return the axes."""
    days = {date.fromisoformat(day): pages for day, (pages, _) in groups.items()}
    years = sorted({day.year for day in days})[-MOST_YEARS:]
    if years:
        years = list(range(max(years[0], years[-1] - MOST_YEARS + 1), years[-1] + 1))
    ax = axes_of(ax, 9, 1.3 + 1.15 * max(len(years), 1))
    if not years:
        return say_empty(ax, "no pages")
    drawn = {day: pages for day, pages in days.items() if day.year >= years[0]}
    _mesh(ax, years, drawn)
    _label_years(ax, years)
    pages = sum(drawn.values())
    earlier = sum(days.values()) - pages
    aside = f"; {plural(earlier, 'page')} before {years[0]}" if earlier else ""
    return titled(ax, f"{plural(pages, 'page')} by the day of the last capture (UTC){aside}")


def _mesh(ax: Axes, years: list[int], days: Mapping[date, int]) -> None:
    """Draw all days in light grey, and those with pages in a colour for how many they are."""
    rows = _BLOCK * len(years)
    whole = [[nan] * _WEEKS for _ in range(rows)]
    counts = [[nan] * _WEEKS for _ in range(rows)]
    for block, year in enumerate(years):
        for day in _days(year):
            week, weekday = _place(day)
            whole[_BLOCK * block + weekday][week] = 0
            if day in days:
                counts[_BLOCK * block + weekday][week] = days[day]
    colors, figure = matplotlib().colors, figure_of(ax)
    grey = colors.ListedColormap(["0.92"])
    ax.pcolormesh(whole, cmap=grey, edgecolors="white", linewidth=0.6)
    least, most = min(days.values()), max(days.values())
    norm = colors.LogNorm(least, most) if most > 20 * least else colors.Normalize(0, most)
    mesh = ax.pcolormesh(counts, cmap=AMOUNTS, norm=norm, edgecolors="white", linewidth=0.6)
    thousands = matplotlib().ticker.StrMethodFormatter("{x:,.0f}")
    bar = figure.colorbar(mesh, ax=ax, label="pages a day", format=thousands, location="bottom", shrink=0.4, aspect=30)
    if not isinstance(norm, colors.LogNorm):
        bar.locator = matplotlib().ticker.MaxNLocator(nbins=4, integer=True)
    bar.minorticks_off()


def _label_years(ax: Axes, years: list[int]) -> None:
    ax.set_ylim(_BLOCK * len(years) - 0.5, -0.3)
    ax.set_xlim(0, 53.2)
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks([date(2023, month, 1).timetuple().tm_yday / 7 for month in range(1, 13)], _MONTHS, ha="left")
    ax.xaxis.tick_top()
    places = {_BLOCK * block + row + 0.5: name for block in range(len(years)) for row, name in _WEEKDAYS.items()}
    ax.set_yticks(list(places), list(places.values()), fontsize="x-small")
    for block, year in enumerate(years):
        plain(ax.text(-3.2, _BLOCK * block + 3.5, str(year), rotation=90, ha="center", va="center", fontweight="bold"))


def _days(year: int) -> Iterator[date]:
    first = date(year, 1, 1)
    return (first + timedelta(days=number) for number in range((date(year, 12, 31) - first).days + 1))


def _place(day: date) -> tuple[int, int]:
    """Return the week of the year of *day*, beginning on Monday, and its weekday."""
    first = date(day.year, 1, 1).weekday()
    return (day.timetuple().tm_yday - 1 + first) // 7, day.weekday()

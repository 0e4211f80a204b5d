"""Captures over time as a calendar: a column for each week, a row for each weekday, a block for each year."""

from __future__ import annotations

from datetime import date, timedelta
from math import nan
from typing import TYPE_CHECKING

from webtable._shown.text import plural
from webtable.repository.pictures.canvas import (
    AMOUNTS,
    axes_of,
    figure_of,
    matplotlib,
    plain,
    say_empty,
    titled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes

    from webtable.repository.pictures.canvas import Groups

MOST_YEARS = 5
"""How many years are drawn, the last ones."""
_WEEKS = 54
_BLOCK = 8
"""How many rows a year takes: its weekdays and a gap."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = {0: "Mon", 2: "Wed", 4: "Fri", 6: "Sun"}


def draw_calendar(groups: Groups, ax: Axes | None) -> Axes:
    """Draw the days, by how many pages were captured last on each; and return the axes."""
    days = {date.fromisoformat(day): pages for day, (pages, _) in groups.items()}
    years = sorted({day.year for day in days})[-MOST_YEARS:]
    if years:
        years = list(range(max(years[0], years[-1] - MOST_YEARS + 1), years[-1] + 1))
    ax = axes_of(ax, 9, 1.3 + 1.15 * max(len(years), 1))
    if not years:
        return say_empty(ax, "no pages")
    drawn = {day: pages for day, pages in days.items() if day.year >= years[0]}
    _mesh(ax, years, drawn)
    _label(ax, years)
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


def _label(ax: Axes, years: list[int]) -> None:
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
    """Return the week of the year that *day* is in, which begins on Mondays, and its weekday."""
    first = date(day.year, 1, 1).weekday()
    return (day.timetuple().tm_yday - 1 + first) // 7, day.weekday()

"""Pictures of answers: bars for groups of pages, for hosts and for regions, and the versions of a page over time.

They are drawn by matplotlib, which this module alone imports, from values that were counted before.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from heapq import nlargest
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from webtable._importable import needed
from webtable.display import harmless
from webtable.display.text import plural, size_text
from webtable.errors import InvalidArgument
from webtable.repository.reading.page_counts import DATES, HOT, RegionShares, shown_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from webtable.page.page import Page

# The palette of Okabe and Ito: https://jfly.uni-koeln.de/color/
BLUE, GREEN, ORANGE = "#0072B2", "#009E73", "#E69F00"
VERMILION, PURPLE, GREY = "#D55E00", "#CC79A7", "#999999"
STATUSES = {1: PURPLE, 2: GREEN, 3: BLUE, 4: ORANGE, 5: VERMILION}
"""Status codes by their first digit."""
_MARKS = {1: "v", 2: "o", 3: "D", 4: "X", 5: "P"}
"""Markers by the first digit of the status, so that statuses differ by form as well as by colour."""
Groups = Mapping[str, tuple[int, int | None]]
"""The pages and the bytes of groups, by name."""
Amount = Literal["pages", "bytes"]
LABEL = 40
"""How many characters of a name are shown."""
MOST_BARS = 20
"""How many groups have their own bar; the others share one."""
MOST_REGIONS = 40
"""How many regions are drawn at most: those with the largest shares."""


@cache
def matplotlib() -> Any:
    """Return matplotlib with the modules that are used; raises `MissingExtra`."""
    with needed("matplotlib", "plot"):
        import matplotlib as library
        import matplotlib.dates
        import matplotlib.figure
        import matplotlib.ticker
    return library


def axes_of(ax: Axes | None, width: float = 8, height: float = 4.5) -> Axes:
    """Return *ax*, or the axes of a new figure of *width* by *height* inches."""
    if ax is not None:
        return ax
    if _will_be_shown():
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(width, height), layout="constrained")
    else:
        figure = matplotlib().figure.Figure(figsize=(width, height), layout="constrained")
    made: Axes = figure.subplots()
    made.spines[["top", "right"]].set_visible(False)
    return made


def _will_be_shown() -> bool:
    """Whether figures of pyplot are shown; pyplot keeps them until they are closed, a leak if they are not shown."""
    if "matplotlib.pyplot" in sys.modules:
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def draw_nothing(text: str, ax: Axes | None) -> Axes:
    """Write on otherwise empty axes that there is nothing to draw, and return them."""
    ax = axes_of(ax)
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize="large")
    ax.set_axis_off()
    return ax


def _titled(ax: Axes, title: str) -> Axes:
    _plain(ax.set_title(title, loc="left", fontsize="medium"))
    return ax


def _plain(*texts: Text) -> None:
    """Draw the texts literally: a dollar sign in a URL does not begin a formula."""
    for text in texts:
        text.set_parse_math(False)


def short(text: str, limit: int = LABEL) -> str:
    r"""Return *text* as a line of at most *limit* characters that every font has; if it is longer, the middle is cut.

    >>> short("a-very-long-name.example.com", 15), short("naïve\n")
    ('a-very-…ple.com', 'na\\xefve ')
    """
    # A font without a letter draws a box, and warns.
    letters = harmless(text[:4_096]).encode("ascii", "backslashreplace").decode()
    tail = (limit - 1) // 2
    return letters if len(letters) <= limit else f"{letters[: limit - 1 - tail]}…{letters[len(letters) - tail :]}"


def draw_groups(by: str, groups: Groups, ax: Axes | None) -> Axes:
    """Draw a bar for each of *groups*, which pages were counted *by*, and return the axes."""
    if by == "region":
        return draw_regions(groups, ax)
    names = shown_groups(by, groups, MOST_BARS)
    others = [] if by in DATES else [name for name in groups if name not in set(names)]
    if by in ("host", "type", "language"):
        names.sort(key=lambda name: -groups[name][0])
    bars = [(name, *groups[name]) for name in names]
    if others:
        bars.append(_sum(f"{len(others):,} others", [groups[name] for name in others]))
    colours = [STATUSES.get(int(name) // 100, GREY) if by == "status" else BLUE for name in names]
    pages = sum(group[0] for group in groups.values())
    title = f"{plural(pages, 'page')} by {by}"
    if by in DATES:
        drawn = sum(count for _, count, _ in bars)
        earlier = f"; {plural(pages - drawn, 'page')} before {names[0]}" if drawn < pages else ""
        title = f"{plural(drawn, 'page')} by the {by} of the last capture (UTC){earlier}"
    return _bars(bars, [*colours, GREY], title, ax)


def draw_hosts(hosts: Iterable[Any], by: Amount, ax: Axes | None) -> Axes:
    """Draw a bar for each of the largest *hosts*, and return the axes."""
    if by not in ("pages", "bytes"):
        raise InvalidArgument(f"by={by!r} must be pages or bytes")
    count = uncounted = pages = size = 0

    def counted() -> Iterable[tuple[str, int, int]]:
        nonlocal count, uncounted, pages, size
        for host in hosts:
            if host.pages is None:
                uncounted += 1
                continue
            count, pages, size = count + 1, pages + host.pages, size + (host.bytes or 0)
            yield host.name, host.pages, host.bytes or 0

    place = ("pages", "bytes").index(by) + 1
    bars = nlargest(MOST_BARS, counted(), key=lambda bar: bar[place])
    if not bars:
        return draw_nothing(
            f"{plural(uncounted, 'host')}: links.refresh() counts the pages" if uncounted else "no hosts", ax
        )
    aside = f"; {plural(uncounted, 'host')} not counted yet" if uncounted else ""
    title = f"hosts by {by}: {plural(pages, 'page')}, {size_text(size)}{aside}"
    if count > len(bars):
        rest = (pages - sum(bar[1] for bar in bars), size - sum(bar[2] for bar in bars))
        bars.append((f"{count - len(bars):,} others", *rest))
    return _bars(bars, [BLUE] * MOST_BARS + [GREY], title, ax, by)


def _sum(name: str, groups: Sequence[tuple[int, int | None]]) -> tuple[str, int, int | None]:
    sizes = [size for _, size in groups]
    return name, sum(pages for pages, _ in groups), None if None in sizes else sum(size or 0 for size in sizes)


def _bars(
    bars: Sequence[tuple[str, int, int | None]],
    colours: Sequence[str],
    title: str,
    ax: Axes | None,
    by: Amount = "pages",
) -> Axes:
    """Draw a bar for the pages or the bytes of each name, the first at the top, and return the axes."""
    if not bars:
        return draw_nothing("no pages", ax)
    ax = axes_of(ax, height=1.1 + 0.32 * max(len(bars), 2))
    lengths = [(size or 0) if by == "bytes" else pages for _, pages, size in bars]
    drawn = ax.barh(range(len(bars)), lengths, color=colours[: len(bars)])
    amounts = [f"{pages:,}" if size is None else f"{pages:,}, {size_text(size)}" for _, pages, size in bars]
    _plain(*ax.bar_label(drawn, amounts, padding=3, fontsize="small"))
    _name_rows(ax, [short(name) for name, *_ in bars])
    ax.set_xlim(0, 1.25 * max(*lengths, 1))  # room for the numbers
    ticker = matplotlib().ticker
    ax.xaxis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))
    ax.xaxis.set_major_formatter(
        ticker.FuncFormatter(lambda amount, _: size_text(int(amount)) if by == "bytes" else f"{amount:,.0f}")
    )
    ax.set_xlabel(by)
    return _titled(ax, title)


def _name_rows(ax: Axes, names: Sequence[str], **style: Any) -> None:
    ax.set_yticks(range(len(names)), names, **style)
    _plain(*ax.get_yticklabels())
    ax.set_ylim(max(len(names), 2) - 0.4, -0.6)


def draw_regions(groups: Groups, ax: Axes | None) -> Axes:
    """Draw bars for the shares of the regions, labelled with their first keys, in key order; and return the axes."""
    shares = RegionShares.of(groups)
    if not groups:
        return draw_nothing("no pages", ax)
    largest = set(nlargest(MOST_REGIONS, groups, key=shares.highest))
    names = [name for name in groups if name in largest]
    ax = axes_of(ax, height=1.2 + 0.34 * max(len(names), 2))
    height = 0.8 if shares.bytes is None else 0.4
    for place, (what, each, colour) in enumerate((("pages", shares.pages, BLUE), ("bytes", shares.bytes, ORANGE))):
        if each is not None:
            rows = [row + height * place - (0.4 - height / 2) for row in range(len(names))]
            ax.barh(rows, [each[name] for name in names], height, color=colour, label=what)
    if len(groups) > 1:
        ax.axvline(shares.fair, color="0.35", linestyle="--", linewidth=1, label=f"fair share of {len(groups):,}")
    for row, name in enumerate(names):
        share, what = shares.highest(name)
        if len(groups) > 1 and share > HOT * shares.fair:
            text = f" hot: {share / shares.fair:.1f} times its share of {what}"
            ax.text(share, row, text, va="center", color=VERMILION, fontsize="small", fontweight="bold")
    _name_rows(ax, [short(name, 28) or "(first key)" for name in names], family="monospace", fontsize="small")
    ax.set_xlim(0, (1.45 if ax.texts else 1.05) * max(shares.highest(name)[0] for name in names))
    ax.xaxis.set_major_formatter(matplotlib().ticker.FuncFormatter(lambda share, _: f"{100 * share:g}%"))
    which = f", the {len(names)} largest" if len(names) < len(groups) else ""
    label = f"share of all; regions are named by their first key{which}\n{fill(str(shares), 100)}"
    _plain(ax.set_xlabel(label, fontsize="small"))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small", borderpad=0)
    pages, size = (sum(group[at] or 0 for group in groups.values()) for at in (0, 1))
    return _titled(ax, f"{plural(pages, 'page')}{'' if shares.bytes is None else f', {size_text(size)}'} by region")


def draw_timeline(versions: Sequence[Page], ax: Axes | None) -> Axes:
    """Draw the sizes of the *versions* of a page, which come newest first, over time, and return the axes."""
    if not versions:
        return draw_nothing("no versions", ax)
    ax = axes_of(ax, height=3.6)
    library, pages = matplotlib(), versions[::-1]
    times = [float(library.dates.date2num(page.fetched_at)) for page in pages]
    sizes = [page.size or 0 for page in pages]
    ax.plot(times, sizes, drawstyle="steps-post", color=GREY, linewidth=1.2, zorder=1)
    for kind in sorted({page.status // 100 for page in pages}):
        at = [number for number, page in enumerate(pages) if page.status // 100 == kind]
        style: dict[str, Any] = {
            "color": STATUSES.get(kind, GREY),
            "marker": _MARKS.get(kind, "s"),
            "label": f"status {kind}xx",
        }
        ax.scatter([times[number] for number in at], [sizes[number] for number in at], s=45, zorder=3, **style)
    locator = library.dates.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(library.dates.ConciseDateFormatter(locator))
    ax.yaxis.set_major_formatter(library.ticker.FuncFormatter(lambda size, _: size_text(size)))
    room = 0.05 * (times[-1] - times[0]) or 1.0
    ax.set_xlim(times[0] - room, times[-1] + room)
    ax.set_ylabel("size of the body")
    ax.set_xlabel("fetched (UTC)")
    ax.legend(loc="upper left", bbox_to_anchor=(-0.01, -0.22), ncols=5, frameon=False, fontsize="small", borderpad=0)
    return _titled(ax, f"{plural(len(pages), 'version')} of {short(pages[-1].url, 70)}")

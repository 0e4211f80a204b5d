"""Axes, colours that everybody can distinguish, and labels that fit, for all pictures."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from webtable._extras import missing_extra
from webtable._shown import harmless
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Text

# The palette of Okabe and Ito: https://jfly.uni-koeln.de/color/
BLUE, GREEN, ORANGE = "#0072B2", "#009E73", "#E69F00"
VERMILION, PURPLE, GREY = "#D55E00", "#CC79A7", "#999999"
STATUSES = {1: PURPLE, 2: GREEN, 3: BLUE, 4: ORANGE, 5: VERMILION}
"""Status codes by their first digit."""
AMOUNTS = "cividis"
"""The colour map of amounts, which reads the same with colour blindness, and in grey."""
Groups = Mapping[str, tuple[int, int | None]]
"""The pages and the bytes of groups, by name."""
LABEL = 40
"""How many characters of a name are shown."""


@cache
def matplotlib() -> Any:
    """Return matplotlib with the modules that are used; raises `MissingExtra`."""
    try:
        import matplotlib as found
        import matplotlib.colors
        import matplotlib.dates
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError as exc:
        raise missing_extra("matplotlib", "plot", exc) from exc
    return found


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


def figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure of *ax*; raises `InvalidArgument` if it was removed from its figure."""
    figure = ax.get_figure(root=False)
    if figure is None:
        raise InvalidArgument(f"ax={ax!r} is not in a figure")
    return figure


def _will_be_shown() -> bool:
    """Whether figures of pyplot are shown; pyplot keeps them until they are closed, a leak if they are not shown."""
    if "matplotlib.pyplot" in sys.modules:
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def say_empty(ax: Axes, what: str) -> Axes:
    """Write into the picture that there is nothing to draw, and return *ax*."""
    ax.text(0.5, 0.5, what, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize="large")
    ax.set_axis_off()
    return ax


def titled(ax: Axes, title: str) -> Axes:
    """Give *ax* its title, and return it."""
    plain(ax.set_title(title, loc="left", fontsize="medium"))
    return ax


def plain(*texts: Text) -> None:
    """Draw the texts literally: a dollar sign in a URL does not begin a formula."""
    for text in texts:
        text.set_parse_math(False)


def short(text: str, most: int = LABEL, *, from_end: bool = True) -> str:
    r"""Return *text* as a line of at most *most* characters that every font has; if it is longer, the middle is cut.

    Without *from_end* the end is cut.

    >>> short("a-very-long-name.example.com", 15), short("site43.example", 9, from_end=False), short("naïve\n")
    ('a-very-…ple.com', 'site43.e…', 'na\\xefve ')
    """
    # A font without a letter draws a box, and warns.
    letters = harmless(text[:4_096]).encode("ascii", "backslashreplace").decode()
    tail = (most - 1) // 2 if from_end else 0
    return letters if len(letters) <= most else f"{letters[: most - 1 - tail]}…{letters[len(letters) - tail :]}"


def thousands(axis: Any) -> None:
    """Label an axis with whole numbers, with separators."""
    ticker = matplotlib().ticker
    axis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))

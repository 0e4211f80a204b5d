"""What every picture is drawn on and with: its axes, colours that everybody can tell apart, and words that fit."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from webtable._shown import harmless
from webtable.errors import InvalidArgument, MissingExtra

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
"""The colour map of amounts, which reads the same without red or green, and in grey."""
Groups = Mapping[str, tuple[int, int | None]]
"""The pages and the bytes of groups by their names."""
LABEL = 40
"""How many characters of a name are shown."""


@cache
def matplotlib() -> Any:
    """Return matplotlib with the modules of it that are used; raises `MissingExtra`."""
    try:
        import matplotlib as found
        import matplotlib.colors
        import matplotlib.dates
        import matplotlib.figure
        import matplotlib.ticker
    except ImportError as exc:
        raise missing("matplotlib", exc) from exc
    return found


def missing(name: str, exc: ImportError) -> MissingExtra:
    """Return the error for a package that pictures need and that is not there."""
    return MissingExtra(f"this needs {name}: pip install 'hbase-webtable[plot]' ({exc})")


def axes_of(ax: Axes | None, width: float = 8, height: float = 4.5) -> Axes:
    """Return *ax*, or those of a new figure of so many inches."""
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
    """Return the figure that *ax* is in; raises `InvalidArgument` for one that was taken out of it."""
    figure = ax.get_figure(root=False)
    if figure is None:
        raise InvalidArgument(f"ax={ax!r} is in no figure")
    return figure


def _will_be_shown() -> bool:
    """Whether somebody looks at the figures of pyplot; it holds them until they are closed, which leaks elsewhere."""
    if "matplotlib.pyplot" in sys.modules:
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def say_empty(ax: Axes, what: str) -> Axes:
    """Say in the picture that there is nothing to be drawn, and return *ax*."""
    ax.text(0.5, 0.5, what, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize="large")
    ax.set_axis_off()
    return ax


def titled(ax: Axes, title: str) -> Axes:
    """Give *ax* its title, and return it."""
    plain(ax.set_title(title, loc="left", fontsize="medium"))
    return ax


def plain(*texts: Text) -> None:
    """Let the texts stand as they are: a dollar sign in a URL begins no formula."""
    for text in texts:
        text.set_parse_math(False)


def short(text: str, most: int = LABEL, *, from_end: bool = True) -> str:
    r"""Return *text* on a line of at most *most* characters that every font has, without its middle if it is longer.

    With *from_end* false its end is left out.

    >>> short("a-very-long-name.example.com", 15), short("site43.example", 9, from_end=False), short("naïve\n")
    ('a-very-…ple.com', 'site43.e…', 'na\\xefve ')
    """
    # A font without a letter draws a box, and warns.
    letters = harmless(text[:4_096]).encode("ascii", "backslashreplace").decode()
    behind = (most - 1) // 2 if from_end else 0
    return letters if len(letters) <= most else f"{letters[: most - 1 - behind]}…{letters[len(letters) - behind :]}"


def thousands(axis: Any) -> None:
    """Let an axis count in whole numbers, with separators."""
    ticker = matplotlib().ticker
    axis.set_major_locator(ticker.MaxNLocator(nbins=6, integer=True))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))

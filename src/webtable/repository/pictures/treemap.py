"""A tree map of hosts: a rectangle for each registered domain, and in it one for each of its hosts."""

from __future__ import annotations

import heapq
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from webtable._extras import missing_extra
from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.errors import InvalidArgument
from webtable.repository.pictures.canvas import (
    AMOUNTS,
    axes_of,
    figure_of,
    matplotlib,
    plain,
    say_empty,
    short,
    titled,
)
from webtable.rowkey import registered_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matplotlib.axes import Axes

Amount = Literal["pages", "bytes"]
"""The amount that the area of a host shows."""
MOST_DOMAINS = 40
MOST_HOSTS = 25
"""How many domains, and hosts of a domain, have their own rectangles: the largest; the others share one."""
_WIDTH, _HEIGHT = 100.0, 62.0
_FONT = 8.0
_FEWEST = 6
"""With room for fewer letters the name is omitted."""


class Box(NamedTuple):
    """A rectangle: its name, its pages and bytes, and the boxes in it; `is_rest` if several hosts share it."""

    name: str
    pages: int
    bytes: int
    parts: tuple[Box, ...] = ()
    is_rest: bool = False


def draw_hosts(hosts: Iterable[Any], by: Amount, ax: Axes | None) -> Axes:
    """Draw *hosts*, which are in the order of their pages, and return the axes."""
    if by not in ("pages", "bytes"):
        raise InvalidArgument(f"by={by!r} must be pages or bytes")
    domains, uncounted = largest_domains(hosts, by)
    ax = axes_of(ax, 9, 6)
    pages, size = sum(box.pages for box in domains), sum(box.bytes for box in domains)
    if not (size if by == "bytes" else pages):
        return say_empty(
            ax, f"{plural(uncounted, 'host')}: refresh_links() counts the pages" if uncounted else "no hosts"
        )
    aside = f"; {plural(uncounted, 'host')} not counted yet" if uncounted else ""
    titled(ax, f"hosts by {by}: {plural(pages, 'page')}, {size_text(size)}{aside}")
    ax.set_axis_off()
    ax.set_xlim(0, _WIDTH)
    ax.set_ylim(_HEIGHT, 0)
    _draw(ax, domains, by)
    return ax


def largest_domains(hosts: Iterable[Any], by: Amount) -> tuple[list[Box], int]:
    """Return the largest registered domains with their largest hosts, and how many hosts have no counts.

    The hosts of a domain are neighbours in the order of pages, so that only the largest are in memory.
    """
    uncounted = 0

    def counted() -> Iterator[Box]:
        nonlocal uncounted
        for host in hosts:
            if host.pages is None:
                uncounted += 1
            else:
                yield Box(host.name, host.pages, host.bytes or 0)

    domains = (_domain(name, some, by) for name, some in groupby(counted(), lambda box: _domain_of(box.name)))
    return _largest(domains, MOST_DOMAINS, by, "domains"), uncounted


def _domain_of(host: str) -> str:
    return registered_domain(host) or host


def _domain(name: str, hosts: Iterable[Box], by: Amount) -> Box:
    parts = _largest(hosts, MOST_HOSTS, by, "hosts")
    return Box(name, sum(box.pages for box in parts), sum(box.bytes for box in parts), tuple(parts))


def _largest(boxes: Iterable[Box], most: int, by: Amount, what: str) -> list[Box]:
    """Return the *most* largest of *boxes*, the largest first, and one for all others at the end."""
    kept: list[tuple[int, int, Box]] = []
    left = pages = size = 0
    for number, box in enumerate(boxes):
        entry = (getattr(box, by), -number, box)
        if len(kept) < most:
            heapq.heappush(kept, entry)
            continue
        _, _, smallest = heapq.heappushpop(kept, entry)
        left, pages, size = left + 1, pages + smallest.pages, size + smallest.bytes
    found = [box for _, _, box in sorted(kept, reverse=True)]
    return [*found, Box(f"{left:,} other {what}", pages, size, is_rest=True)] if left else found


class _Rectangle(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    box: Box


def _tiled(boxes: Iterable[Box], by: Amount, x: float, y: float, width: float, height: float) -> list[_Rectangle]:
    """Return a rectangle for each of *boxes* with an amount *by*, which fill the given one; the rest comes last."""
    shown = sorted((box for box in boxes if getattr(box, by)), key=lambda box: (box.is_rest, -getattr(box, by)))
    tiler = _squarify()
    areas = tiler.normalize_sizes([getattr(box, by) for box in shown], width, height)
    tiles = tiler.squarify(areas, x, y, width, height)
    return [_Rectangle(t["x"], t["y"], t["dx"], t["dy"], box) for box, t in zip(shown, tiles, strict=True)]


def _draw(ax: Axes, domains: list[Box], by: Amount) -> None:
    figure_of(ax).get_figure(
        root=True
    ).draw_without_rendering()  # for the layout, which determines how long names may be
    outer = _tiled(domains, by, 0, 0, _WIDTH, _HEIGHT)
    cells = [cell for domain in outer for cell in _cells(ax, domain, by)]
    most = max((getattr(one.box, by) for one in cells if not one.box.is_rest), default=1)
    for one in cells:
        # The darkest colours of the map are hard to distinguish.
        shade = matplotlib().colormaps[AMOUNTS](0.15 + 0.85 * getattr(one.box, by) / most)
        red, green, blue = (0.85, 0.85, 0.85) if one.box.is_rest else shade[:3]
        ax.add_patch(_patch(one, facecolor=(red, green, blue), edgecolor="white", linewidth=0.5))
        is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.45
        _write(ax, one, by, "black" if is_light else "white")
    for one in outer:
        ax.add_patch(_patch(one, fill=False, edgecolor="white", linewidth=2.5))


def _cells(ax: Axes, domain: _Rectangle, by: Amount) -> list[_Rectangle]:
    """Return the rectangles of the hosts of *domain*, or its own if none of them has room for a name."""
    hosts = _tiled(domain.box.parts or (domain.box,), by, *domain[:4])
    return hosts if any(min(_room(ax, host)) for host in hosts) else [domain]


def _patch(one: _Rectangle, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((one.x, one.y), one.width, one.height, **style)


def _write(ax: Axes, one: _Rectangle, by: Amount, colour: str) -> None:
    """Write the name and the amount into a rectangle, if there is room for them."""
    letters, lines = _room(ax, one)
    if not (letters and lines):
        return
    amount = f"{one.box.pages:,}" if by == "pages" else size_text(one.box.bytes)
    text = short(one.box.name, letters, from_end=letters > 20) + (
        f"\n{amount}" if lines > 1 and len(amount) <= letters else ""
    )
    x, y = one.x + one.width / 2, one.y + one.height / 2
    plain(ax.text(x, y, text, ha="center", va="center", fontsize=_FONT, color=colour))


def _room(ax: Axes, one: _Rectangle) -> tuple[int, int]:
    """Return how many letters fit into a rectangle, 0 if they are too few for a name, and how many lines."""
    place, points = ax.get_window_extent(), 72 / figure_of(ax).get_figure(root=True).dpi
    letters = int(one.width / _WIDTH * place.width * points / (0.62 * _FONT)) - 1
    lines = int(one.height / _HEIGHT * place.height * points / (1.35 * _FONT))
    return letters if letters >= _FEWEST else 0, lines


def _squarify() -> Any:
    try:
        import squarify
    except ImportError as exc:
        raise missing_extra("squarify", "plot", exc) from exc
    return squarify

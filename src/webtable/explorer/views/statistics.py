"""The statistics of a site: counts of its pages by groups, as bars, on a page of their own and on those of others."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args

from webtable import ALL
from webtable.answers import Grouping
from webtable.errors import InvalidArgument
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Linker
from webtable.explorer.views.json_pages import json_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.answers import Site, Stats
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet

MOST_COUNTED: Final = 50_000
"""How many pages are counted on a page that was not asked to count: it takes a second or two."""
SHOWN: Final = 20
USUAL: Final[tuple[Grouping, ...]] = ("status", "type", "language", "age", "month")
SITE: Final = "Which pages: example.com (with all hosts below it), https://example.com/docs/, or all."
_IN_ORDER: Final = frozenset({"age", "size", "day", "month", "region"})
"""Groupings whose groups have an order of their own."""


class GroupBar(NamedTuple):
    """A group as a bar: its name, its pages, their bytes if known, its share in percent, its link, and a mark on it."""

    name: str
    pages: int
    bytes: int | None
    share: float
    href: str | None = None
    mark: str = ""


class _EnoughError(Exception):
    """So many pages were counted that it would take too long."""


def named_site(text: str) -> Site:
    """Return the site that *text* names: "all" is every page."""
    return ALL if text.lower() == ALL.value else text


def site_in(explorer: Explorer, request: Request) -> str:
    """Return the site that *request* names, "" if none; raises `InvalidURL` and `InvalidArgument`."""
    site = str(request.query_params.get("site", "")).strip()
    if site:
        explorer.table.pages(named_site(site), limit=0)  # it raises what is wrong with the site, and reads nothing
    return site


def counted(
    table: WebTable, site: Site, by: Sequence[Grouping], *, most: int | None = MOST_COUNTED, size: bool = True
) -> Stats | None:
    """Return the statistics of *site*, or None if it has over *most* pages; without *size* only keys are read."""

    def check(pages: int) -> None:
        if most is not None and pages > most:
            raise _EnoughError

    try:
        return table.stats(site, by=by, bytes=size, on_progress=check)
    except _EnoughError:
        return None


def bars(stats: Stats, site: str, linker: Linker) -> dict[str, list[GroupBar]]:
    """Return the groups of *stats* of *site*, by their groupings."""
    return bars_of(cast("Any", stats.by), stats.pages, site, linker)


def bars_of(
    groups: Mapping[str, Mapping[str, tuple[int, int | None]]], total: int, site: str, linker: Linker
) -> dict[str, list[GroupBar]]:
    """Return *groups* of pages (and bytes) by their groupings, with their share in the *total* of pages."""
    found: dict[str, list[GroupBar]] = {}
    for by, some in groups.items():
        names = list(some) if by in _IN_ORDER else sorted(some, key=lambda name, some=some: -some[name][0])  # type: ignore[misc]
        shown = names[-36:] if by in {"day", "month"} else names if by in _IN_ORDER else names[:SHOWN]
        found[by] = [_bar(by, name, some[name], total, site, linker) for name in shown]
        if rest := [some[name] for name in names if name not in set(shown)]:
            pages = sum(one for one, _ in rest)
            found[by].append(GroupBar(f"… and {len(rest):,} more", pages, None, 100 * pages / max(total, 1)))
    return found


def _bar(by: str, name: str, group: tuple[int, int | None], total: int, site: str, linker: Linker) -> GroupBar:
    pages, size = group
    said = name or "from the first key on" if by == "region" else name
    return GroupBar(said, pages, size, round(100 * pages / max(total, 1), 2), _link(by, name, site, linker))


def _link(by: str, name: str, site: str, linker: Linker) -> str | None:
    """Return the page with the pages of a group."""
    match by:
        case "status" if name.isdecimal():
            return linker.link("/q/pages", site=site, status=name)
        case "type" if "/" in name:
            return linker.link("/q/pages", site=site, content_type=name)
        case "host":
            return linker.link(f"/site/{name}/")
        case "day" | "month":
            first = date.fromisoformat(name if by == "day" else f"{name}-01")
            last = first + timedelta(days=1 if by == "day" else 32)
            return linker.link("/q/fetched", site=site, since=first, until=last if by == "day" else last.replace(day=1))
    return None


def page(explorer: Explorer, request: Request) -> Response:
    """Return the page of the statistics of a site, or its form if no site is named."""
    linker, (site, by) = Linker(request), _asked(explorer, request)

    def make(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)
        explorer.pages.write(
            outlet,
            "statistics.html",
            linker,
            f"Statistics of {site}" if site else "Statistics",
            site=site,
            by=by,
            groupings=get_args(Grouping),
            count=lambda: table.stats(named_site(site), by=by),
            bars=lambda stats: bars(stats, site, linker),
        )

    return explorer.streaming.response(make, "text/html")


def as_json(explorer: Explorer, request: Request) -> Response:
    """Return the statistics of a site as JSON."""
    site, by = _asked(explorer, request)
    if not site:
        raise InvalidArgument("site is needed, as in /stats.json?site=example.com&by=status")
    return json_page(explorer, lambda table: as_dict(table.stats(named_site(site), by=by)))


def as_dict(stats: Stats) -> dict[str, Any]:
    """Return *stats* as values of JSON."""
    groups = {by: {name: group._asdict() for name, group in some.items()} for by, some in stats.by.items()}
    return {"pages": stats.pages, "bytes": stats.bytes, "by": groups, "damaged": stats.damaged}


def _asked(explorer: Explorer, request: Request) -> tuple[str, tuple[Grouping, ...]]:
    """Return the site and the groupings that are asked for; raises `InvalidURL` and `InvalidArgument`."""
    site = site_in(explorer, request)
    given = [name for text in request.query_params.getlist("by") for name in text.split(",") if name]
    if wrong := [name for name in given if name not in get_args(Grouping)]:
        raise InvalidArgument(f"by={wrong[0]!r} is not a grouping; there are {', '.join(get_args(Grouping))}")
    return site, cast("tuple[Grouping, ...]", tuple(dict.fromkeys(given)) or USUAL)

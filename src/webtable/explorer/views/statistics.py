"""The statistics of a site, its audit and its comparison at two moments; the bars are on other pages, too."""

from __future__ import annotations

import shlex
from datetime import date, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from webtable.answers import Grouping, Site, Stats
from webtable.explorer.page_model import SITE, PagePart, Rows, View, ViewRequest, facts
from webtable.questions import LISTINGS, ListingOption, column
from webtable.reports import Audit, Comparison, Section, compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webtable import WebTable


# How many pages are counted on a page that was not asked to count: it takes a second or two.
MOST_COUNTED: Final = 50_000
SHOWN: Final = 20
USUAL: Final[tuple[Grouping, ...]] = ("status", "type", "language", "age", "month")
GROUPED: Final = ListingOption("by", "What they are grouped by.", choices=get_args(Grouping), is_many=True)
OPTIONS: Final = (SITE, GROUPED)
# Groupings whose groups have an order of their own; those of others come by size.
_IN_ORDER: Final = frozenset({"age", "size", "day", "month", "region"})


class GroupBar(NamedTuple):
    """A group as a bar: its grouping, name, pages, their bytes if known, share in percent, and a mark on it."""

    by: str
    group: str
    pages: int
    bytes: int | None
    share: float
    mark: str = ""


BARS: Final = (
    column("by"), column("group"), column("pages", "count"), column("bytes", "bytes"), column("share", "fraction"),
    column("mark"),
)  # fmt: skip


class _TooManyError(Exception):
    """So many pages were counted that it would take too long."""


def view(request: ViewRequest) -> View:
    """Return the page of the statistics of a site."""
    site = request.site()
    names = [name for text in request.query.get("by", ()) for name in text.split(",") if name]
    by: Sequence[Any] = tuple(dict.fromkeys(map(GROUPED.value, names))) or USUAL

    def parts(table: WebTable) -> Iterator[PagePart]:
        yield from counts(request, table.stats(site, by=by), "groups")

    title = f"Statistics of {request.option('site')}" if site else "Statistics"
    return View(title, parts if site else None, button="Count")


def counts(request: ViewRequest, stats: Stats, name: str, title: str = "") -> Iterator[PagePart]:
    """Yield the parts with the groups of *stats*, and with their sums as a file has them."""
    sums = {"pages": stats.pages, "bytes": stats.bytes, "damaged": stats.damaged}
    damage = f"; {stats.damaged:,} damaged rows are left out." if stats.damaged else "."
    about = str(stats).partition("\n")[0] + damage
    yield PagePart(name, lambda: bars(request, stats.by, stats.pages), title, about, look="bars")
    if request.is_file:
        yield PagePart("total", lambda: facts(sums), look="facts")


def count_limit(request: ViewRequest) -> int | None:
    """Return how many pages a page counts without being asked; None for the link "Count all of them"."""
    return None if request.option("count") == "1" else MOST_COUNTED


def too_many(request: ViewRequest) -> PagePart:
    """Return the part in place of counts that would take too long, with the link that counts nevertheless."""
    about = f"There are over {MOST_COUNTED:,} pages. Counting reads the metadata of each, and stops when you leave."
    more = "Count all of them", request.link(request.path, count=1)
    return PagePart("counts", lambda: None, "Counts", about, more=more)


def counted(
    table: WebTable, site: Site, by: Sequence[Grouping], limit: int | None, *, size: bool = True
) -> Stats | None:
    """Return the statistics of *site*, or None if it has over *limit* pages; without *size* only keys are read."""

    def check(pages: int) -> None:
        if limit is not None and pages > limit:
            raise _TooManyError

    try:
        return table.stats(site, by=by, bytes=size, on_progress=check)
    except _TooManyError:
        return None


def bars(request: ViewRequest, groups: Mapping[Any, Mapping[str, Any]], pages: int) -> Rows:
    """Return *groups* of pages (and bytes) by their groupings, with their share in all *pages*."""

    def made() -> Iterator[GroupBar]:
        for by, sizes in groups.items():
            names = list(sizes) if by in _IN_ORDER else sorted(sizes, key=lambda name: -sizes[name][0])
            if request.is_file:
                shown = names
            elif by in {"day", "month"}:
                shown = names[-36:]
            else:
                shown = names if by in _IN_ORDER else names[:SHOWN]
            yield from (bar_of(by, name, sizes[name][0], sizes[name][1], pages) for name in shown)
            if rest := {*names} - {*shown}:
                yield bar_of(by, f"… and {len(rest):,} more", sum(sizes[name][0] for name in rest), None, pages)

    return bar_rows(request, made())


def bar_rows(request: ViewRequest, bars: Iterable[GroupBar]) -> Rows:
    """Return *bars* as rows that lead to the pages of their groups."""
    site = request.place or "all"
    return Rows(BARS, bars, {"group": lambda bar: _link(request, bar.by, bar.group, site)})


def bar_of(by: str, name: str, pages: int, size: int | None, total: int, mark: str = "") -> GroupBar:
    """Return the bar of a group of *pages* in a *total* of pages."""
    return GroupBar(by, name, pages, size, round(100 * pages / max(total, 1), 2), mark)


def _link(request: ViewRequest, by: str, name: str, site: str) -> str | None:
    """Return the page with the pages of a group."""
    match by:
        case "status" if name.isdecimal():
            return request.link("/q/pages", site=site, status=name)
        case "type" if "/" in name:
            return request.link("/q/pages", site=site, content_type=name)
        case "host" if "…" not in name:
            return request.link(f"/site/{name}/")
        case "day" | "month" if "…" not in name:
            first = date.fromisoformat(name if by == "day" else f"{name}-01")
            last = first + timedelta(days=1) if by == "day" else (first + timedelta(days=32)).replace(day=1)
            return request.link("/q/fetched", site=site, since=first, until=last)
    return None


# --- Reports: they read all pages of a site, so they are made when they are asked for ---------------------------------


SINCE: Final = ListingOption(
    "since", "The first moment: 7d (ago), 2026-11-20, or 2026-11-20T10:00Z. Without both: the last two crawls."
)
UNTIL: Final = ListingOption("until", "The second moment. Without it: now.")
_FORMS: Final[dict[str, Any]] = {"number": "count", "size": "bytes"}


def audit(request: ViewRequest) -> View:
    """Return the page of an audit."""
    site, title = request.site(), f"Audit of {request.option('site')}"

    def parts(table: WebTable) -> Iterator[PagePart]:
        report = table.audit(site or "")
        summary: dict[str, Any] = {"pages": report.pages, "hosts": report.hosts, "size": report.bytes}
        summary |= {"fetched first": report.oldest, "fetched last": report.newest} if report.oldest else {}
        shares = {"status": report.statuses, "type": report.types, "language": report.languages}
        groups: dict[str, Any] = {
            by: {share.name: (share.pages, share.bytes) for share in of_pages} for by, of_pages in shares.items()
        }
        groups["size"] = {share.name: (share.pages, None) for share in report.sizes}
        yield from _parts(request, report, summary, groups, report.pages)

    return View(title if site else "Audit", parts if site else None, button="Make it")


def comparison(request: ViewRequest) -> View:
    """Return the page of a comparison."""
    site, since, until = request.site(), request.option("since"), request.option("until", request.as_of) or None
    if not site:
        return View("Compare", None, button="Make it")
    if since or until:
        request.table.changes(site, since=since, until=until, limit=0)  # raises what is wrong with the moments

    def parts(table: WebTable) -> Iterator[PagePart]:
        report = compare(table, site, since=since, until=until)
        groups = {"change": {kind: (pages, None) for kind, pages in report.counts.items()}}
        summary = {"since": report.since, "until": report.until}
        yield from _parts(request, report, summary, groups, sum(report.counts.values()))

    return View(f"Compare {request.option('site')}", parts, button="Make it")


def _parts(
    request: ViewRequest, report: Audit | Comparison, summary: dict[str, Any], groups: dict[str, Any], pages: int
) -> Iterator[PagePart]:
    summary |= {"damaged rows left out": report.damaged} if report.damaged else {}
    yield PagePart("summary", lambda: facts(summary), about=f"{report.subject}.", look="facts")
    yield PagePart("groups", lambda: bars(request, groups, pages), look="bars")
    findings = [column("findings", of="title"), column("count", "count", of=_count)]
    hrefs = {"findings": lambda section: f"#{section.name}"}
    yield PagePart("findings", lambda: Rows(findings, report.sections, hrefs))
    for section in report.sections:
        yield _section(request, section)


def _count(section: Section) -> int | None:
    return None if section.left_out else section.count


def _section(request: ViewRequest, section: Section) -> PagePart:
    columns = [column(name, _FORMS.get(kind, kind), itemgetter(name)) for name, kind in section.headings]
    rows = Rows(columns, section.to_dict()["rows"])
    part = PagePart(section.name, lambda: rows, section.title, section.about, problem=section.left_out)
    if section.count and (href := _question_link(request, section.command)):
        part.more = f"All {section.count:,}", href
    return part


def _question_link(request: ViewRequest, command: str) -> str | None:
    """Return the page of the question that a *command* asks: `webtable errors example.com`."""
    _, name, *texts = shlex.split(command)
    listing = LISTINGS.get(name.replace("-", "_"))
    if listing is None:
        return None
    options = {(option.flag or option.name).replace("_", "-"): option.name for option in listing.options}
    arguments = (option.name for option in listing.options if option.is_argument)
    query: dict[str, list[str]] = {}
    words = iter(texts)
    for word in words:
        if not word.startswith("--"):
            query[next(arguments)] = [word]
        elif word == "--format":
            next(words)
        else:
            query.setdefault(options.get(word[2:], word[2:]), []).append(next(words))
    return request.link(f"/q/{name}", **query)

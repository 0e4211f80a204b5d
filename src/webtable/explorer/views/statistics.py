"""The statistics of a site, its audit and its comparison at two moments; the charts are on other pages, too."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from datetime import date, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from webtable.answers import Grouping, IgnoredContent
from webtable.display.charts import Amount, shares, stack
from webtable.explorer.page_model import SITE, PagePart, Rows, View, ViewRequest, facts
from webtable.questions import LISTINGS, ListingOption, column
from webtable.reports import Audit, Comparison, Section, compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webtable import WebTable
    from webtable.explorer.counts import GroupCounts


SHOWN: Final = 20
USUAL: Final[tuple[Grouping, ...]] = ("status", "type", "language", "age", "month")
GROUPED: Final = ListingOption("by", "What they are grouped by.", choices=get_args(Grouping), is_many=True)
OPTIONS: Final = (SITE, GROUPED)
# Groupings whose groups have an order of their own; those of others come by size.
_DATES: Final = frozenset({"day", "month"})
_IN_ORDER: Final = _DATES | {"age", "size", "region"}


class GroupBar(NamedTuple):
    """A group as a bar: its grouping, name, pages, their bytes if known, the pages of all groups, and a mark on it."""

    by: str
    group: str
    pages: int
    bytes: int | None
    total: int
    mark: str = ""

    @property
    def share(self) -> float:
        """Its share in percent."""
        return round(100 * self.pages / max(self.total, 1), 2)


BARS: Final = (
    column("by"), column("group"), column("pages", "count"), column("bytes", "bytes"), column("share", "fraction"),
    column("mark"),
)  # fmt: skip


def view(request: ViewRequest) -> View:
    """Return the page of the statistics of a site."""
    site = request.site()
    names = [name for text in request.query.get("by", ()) for name in text.split(",") if name]
    by: Sequence[Any] = tuple(dict.fromkeys(map(GROUPED.value, names))) or USUAL

    def parts(table: WebTable) -> Iterator[PagePart]:
        stats = table.stats(site, by=by)
        damage = f"; {stats.damaged:,} damaged rows are left out." if stats.damaged else "."
        about = str(stats).partition("\n")[0] + damage
        yield PagePart("groups", lambda: bars(request, stats.by, stats.pages), about=about, look="bars")
        if request.is_file:
            sums = {"pages": stats.pages, "bytes": stats.bytes, "damaged": stats.damaged}
            yield PagePart("total", lambda: facts(sums), look="facts")

    title = f"Statistics of {request.option('site')}" if site else "Statistics"
    return View(title, parts if site else None, button="Count")


def stacked(request: ViewRequest, statuses: Counter[str]) -> Rows:
    """Return the pages by their *statuses*, with one bar for all."""
    counted = sorted(statuses.items())
    rows = bar_rows(request, (GroupBar("status", name, count, None, statuses.total()) for name, count in counted))
    rows.drawing = stack([Amount(name, count, f"s{name[0]}") for name, count in counted], "pages by status:")
    return rows


def stacked_classes(counts: GroupCounts) -> list[Amount]:
    """Return the pages of *counts* by the first digit of their status."""
    return [Amount(f"{digit}xx", count, f"s{digit}") for digit, count in sorted(counts.classes.items())]


def bars(request: ViewRequest, groups: Mapping[Any, Mapping[str, Any]], pages: int) -> Rows:
    """Return *groups* of pages (and bytes) by their groupings, with their share in all *pages*."""

    def made() -> Iterator[GroupBar]:
        for by, sizes in groups.items():
            names = list(sizes) if by in _IN_ORDER else sorted(sizes, key=lambda name: -sizes[name][0])
            at, end = (-36, None) if by in _DATES else (0, None if by in _IN_ORDER else SHOWN)
            shown = names if request.is_file else names[at:end]
            yield from (GroupBar(by, name, sizes[name][0], sizes[name][1], pages) for name in shown)
            if rest := {*names} - {*shown}:
                yield GroupBar(by, f"… and {len(rest):,} more", sum(sizes[name][0] for name in rest), None, pages)

    return bar_rows(request, made())


def bar_rows(request: ViewRequest, bars: Iterable[GroupBar]) -> Rows:
    """Return *bars* as rows that lead to the pages of their groups."""
    site = request.place or "all"
    return Rows(BARS, bars, {"group": lambda bar: _link(request, bar.by, bar.group, site)})


def _link(request: ViewRequest, by: str, name: str, site: str) -> str | None:
    """Return the page with the pages of a group."""
    match by:
        case "status" if name.isdecimal():
            return request.link("/q/pages", site=site, status=name)
        case "type" if "/" in name:
            return request.link("/q/pages", site=site, content_type=name)
        case "host" if "…" not in name:
            return request.link(f"/site/{name}/")
        case by if by in _DATES and "…" not in name:
            first = date.fromisoformat(name if by == "day" else f"{name}-01")
            last = first + timedelta(days=1) if by == "day" else (first + timedelta(days=32)).replace(day=1)
            return request.link("/q/fetched", site=site, since=first, until=last)
    return None


# --- Reports: they read all pages of a site, so they are made when they are asked for ---------------------------------


SINCE: Final = ListingOption(
    "since", "The first moment: 7d (ago), 2026-11-20, or 2026-11-20T10:00Z. Without both: the last two crawls."
)
UNTIL: Final = ListingOption("until", "The second moment. Without it: now.")
IGNORE: Final = ListingOption(
    "ignore", "Bodies with the same main text count as unchanged.", choices=get_args(IgnoredContent)
)
_FORMS: Final[dict[str, Any]] = {"number": "count", "size": "bytes"}


def audit(request: ViewRequest) -> View:
    """Return the page of an audit."""
    site = request.site()

    def parts(table: WebTable) -> Iterator[PagePart]:
        report = table.audit(site or "")
        yield PagePart("findings", lambda: findings_of(request, report), about=f"{report.subject}.", look="findings")
        for section in sorted(report.sections, key=_rank):
            yield _section(request, section)
        summary: dict[str, Any] = {"pages": report.pages, "hosts": report.hosts, "size": report.bytes}
        summary |= {"fetched first": report.oldest, "fetched last": report.newest} if report.oldest else {}
        summary |= {"damaged rows left out": report.damaged} if report.damaged else {}
        yield PagePart("summary", lambda: facts(summary), "The pages", look="facts")
        shares = {"status": report.statuses, "type": report.types, "language": report.languages}
        groups: dict[str, Any] = {
            by: {share.name: (share.pages, share.bytes) for share in of_pages} for by, of_pages in shares.items()
        }
        groups["size"] = {share.name: (share.pages, None) for share in report.sizes}
        yield PagePart("groups", lambda: bars(request, groups, report.pages), look="bars")

    return _report(request, "Audit", parts)


def _report(request: ViewRequest, name: str, parts: Callable[[WebTable], Iterable[PagePart]]) -> View:
    """Return the page of a report on the site that is named; without one, its form alone."""
    if not (place := request.option("site")):
        return View(name, None, button="Make it")
    path = re.sub("^https?://", "", place).rstrip("/")
    crumbs = () if place == "all" else [(place, request.link(f"/site/{path}/"))]
    return View(f"{name} of {place}", parts, button="Make it", crumbs=crumbs)


FINDINGS: Final = (
    column("severity"), column("findings", of="title"),
    column("count", "count", of=lambda section: None if section.left_out else section.count), column("fix"),
    column("name"),
)  # fmt: skip
_SEVERITIES: Final = ("high", "medium", "low")


def _rank(section: Section) -> tuple[bool, int]:
    return not section.count, _SEVERITIES.index(section.severity)


def findings_of(request: ViewRequest, report: Audit, *, is_short: bool = False) -> Rows:
    """Return the sections of *report*, the most severe first; those without findings last, or left out if *is_short*.

    The lines lead to the sections of the audit, or to all of the pages if *is_short*.
    """

    def href(section: Section) -> str | None:
        return _question_link(request, section.command) if is_short else f"#{section.name}"

    sections = report.sections if request.is_file else sorted(report.sections, key=_rank)
    rows = Rows(FINDINGS, [section for section in sections if section.count or not is_short], {"findings": href})
    rows.empty = "No finding."
    counts = Counter(section.severity for section in report.sections if section.count)
    rows.drawing = ", ".join(f"{counts[severity]} {severity}" for severity in _SEVERITIES)
    return rows


def comparison(request: ViewRequest) -> View:
    """Return the page of a comparison."""
    site, since, until = (
        request.site(),
        request.option("since") or None,
        request.option("until", request.as_of or "") or None,
    )
    ignore: Any = IGNORE.value(text) if (text := request.option("ignore")) else None
    if site and since:
        request.table.changes(site, since=since, until=until, limit=0)  # raises what is wrong with the moments

    def parts(table: WebTable) -> Iterator[PagePart]:
        report = compare(table, site or "", since=since, until=until, ignore=ignore)
        yield PagePart("figures", lambda: figures_of(request, report), look="figures")
        summary: dict[str, Any] = {"since": report.since, "until": report.until}
        summary |= {"damaged rows left out": report.damaged} if report.damaged else {}
        yield PagePart("summary", lambda: facts(summary), about=f"{report.subject}.", look="facts")
        if request.is_file:
            groups = {"change": {kind: (pages, None) for kind, pages in report.counts.items()}}
            yield PagePart("groups", lambda: bars(request, groups, sum(report.counts.values())))
        yield PagePart("findings", lambda: Rows(FINDINGS[1:3], report.sections if request.is_file else ()), look="none")
        for section in report.sections:
            yield _section(request, section)

    return _report(request, "Compare", parts)


def figures_of(request: ViewRequest, report: Comparison) -> Rows:
    """Return the numbers of pages by what became of them, with one bar for all."""
    links = {section.name: _question_link(request, section.command) for section in report.sections}
    columns = column("name", of=itemgetter(0)), column("pages", "count", of=itemgetter(1))
    rows = Rows(columns, list(report.counts.items()), {"name": lambda entry: links.get(entry[0])})
    rows.drawing = shares(report.counts)
    return rows


def _section(request: ViewRequest, section: Section) -> PagePart:
    columns = [column(name, _FORMS.get(kind, kind), itemgetter(name)) for name, kind in section.headings]
    rows = Rows(columns, section.to_dict()["rows"])
    rows.empty = "None."
    part = PagePart(section.name, lambda: rows, section.title, section.about, problem=section.left_out)
    part.is_folded = not section.count and not section.left_out
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

"""The statistics of a site: counts of its pages by groups, as bars, on a page of their own and on those of others."""

from __future__ import annotations

import shlex
from datetime import date, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast, get_args

from webtable.answers import Grouping
from webtable.explorer.page_model import SITE, PagePart, Rows, Sheet, facts
from webtable.questions import LISTINGS, ListingOption, column
from webtable.reports import compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from webtable import WebTable
    from webtable.answers import Site, Stats
    from webtable.explorer.page_model import AskedPage
    from webtable.reports import Audit, Comparison, Section


MOST_COUNTED: Final = 50_000
"""How many pages are counted on a page that was not asked to count: it takes a second or two."""
SHOWN: Final = 20
USUAL: Final[tuple[Grouping, ...]] = ("status", "type", "language", "age", "month")
GROUPED: Final = ListingOption("by", "What they are grouped by.", choices=get_args(Grouping), is_many=True)
OPTIONS: Final = (SITE, GROUPED)
_IN_ORDER: Final = frozenset({"age", "size", "day", "month", "region"})
"""Groupings whose groups have an order of their own."""


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


class _EnoughError(Exception):
    """So many pages were counted that it would take too long."""


def sheet(asked: AskedPage) -> Sheet:
    """Return the page of the statistics of a site."""
    site = asked.site()
    given = [name for text in asked.query.get("by", ()) for name in text.split(",") if name]
    by = cast("tuple[Grouping, ...]", tuple(dict.fromkeys(map(GROUPED.value, given)))) or USUAL

    def parts(table: WebTable) -> Iterator[PagePart]:
        stats = table.stats(cast("Site", site), by=by)
        yield from counts(asked, stats, "groups")

    title = f"Statistics of {asked.one('site')}" if site else "Statistics"
    return Sheet(title, parts if site else None, button="Count")


def counts(asked: AskedPage, stats: Stats, name: str, title: str = "") -> Iterator[PagePart]:
    """Yield the parts with the groups of *stats*, and with their sums as a file has them."""
    sums = {"pages": stats.pages, "bytes": stats.bytes, "damaged": stats.damaged}
    said = str(stats).partition("\n")[0] + (f"; {stats.damaged:,} damaged rows are left out." if stats.damaged else ".")
    yield PagePart(name, lambda: bars(asked, stats.by, stats.pages), title, said, look="bars")
    if asked.is_file:
        yield PagePart("total", lambda: facts(sums), look="facts")


def counted(
    table: WebTable, site: Site, by: Sequence[Grouping], most: int | None, *, size: bool = True
) -> Stats | None:
    """Return the statistics of *site*, or None if it has over *most* pages; without *size* only keys are read."""

    def check(pages: int) -> None:
        if most is not None and pages > most:
            raise _EnoughError

    try:
        return table.stats(site, by=by, bytes=size, on_progress=check)
    except _EnoughError:
        return None


def bars(asked: AskedPage, groups: Mapping[Any, Mapping[str, Any]], pages: int) -> Rows:
    """Return *groups* of pages (and bytes) by their groupings, with their share in all *pages*."""

    def made() -> Iterator[GroupBar]:
        for by, some in groups.items():
            is_date, names = by in {"day", "month"}, list(some)
            if by not in _IN_ORDER:
                names.sort(key=lambda name, some=some: -some[name][0])  # type: ignore[misc]
            shown = names[-36:] if is_date else names if by in _IN_ORDER else names[:SHOWN]
            shown = names if asked.is_file else shown
            yield from (bar_of(by, name, some[name][0], some[name][1], pages) for name in shown)
            if rest := {*names} - {*shown}:
                yield bar_of(by, f"… and {len(rest):,} more", sum(some[name][0] for name in rest), None, pages)

    return bar_rows(asked, made())


def bar_rows(asked: AskedPage, found: Iterable[GroupBar]) -> Rows:
    """Return bars as rows that lead to the pages of their groups."""
    site = asked.place or "all"
    return Rows(BARS, found, {"group": lambda bar: _link(asked, bar.by, bar.group, site)})


def bar_of(by: str, name: str, pages: int, size: int | None, total: int, mark: str = "") -> GroupBar:
    """Return the bar of a group of *pages* in a *total* of pages."""
    return GroupBar(by, name, pages, size, round(100 * pages / max(total, 1), 2), mark)


def _link(asked: AskedPage, by: str, name: str, site: str) -> str | None:
    """Return the page with the pages of a group."""
    match by:
        case "status" if name.isdecimal():
            return asked.link("/q/pages", site=site, status=name)
        case "type" if "/" in name:
            return asked.link("/q/pages", site=site, content_type=name)
        case "host" if "…" not in name:
            return asked.link(f"/site/{name}/")
        case "day" | "month" if "…" not in name:
            first = date.fromisoformat(name if by == "day" else f"{name}-01")
            last = first + timedelta(days=1) if by == "day" else (first + timedelta(days=32)).replace(day=1)
            return asked.link("/q/fetched", site=site, since=first, until=last)
    return None


# --- The audit of a site, and its comparison at two moments, made when they are asked for -----------------------------


SINCE: Final = ListingOption("since", "The first moment: 7d (ago), 2026-11-20, or 2026-11-20T10:00Z.", is_needed=True)
UNTIL: Final = ListingOption("until", "The second moment. Without it: now.")
_FORMS: Final[dict[str, Any]] = {"number": "count", "size": "bytes"}


def audit(asked: AskedPage) -> Sheet:
    """Return the page of an audit."""
    site, title = asked.site(), f"Audit of {asked.one('site')}"

    def parts(table: WebTable) -> Iterator[PagePart]:
        found = table.audit(site or "")
        known: dict[str, Any] = {"pages": found.pages, "hosts": found.hosts, "size": found.bytes}
        known |= {"fetched first": found.oldest, "fetched last": found.newest} if found.oldest else {}
        named = {"status": found.statuses, "type": found.types, "language": found.languages}
        groups: dict[str, Any] = {by: {one.name: (one.pages, one.bytes) for one in some} for by, some in named.items()}
        groups["size"] = {one.name: (one.pages, None) for one in found.sizes}
        yield from _parts(asked, found, known, groups, found.pages)

    return Sheet(title if site else "Audit", parts if site else None, button="Make it")


def comparison(asked: AskedPage) -> Sheet:
    """Return the page of a comparison."""
    site, since, until = asked.site(), asked.one("since"), asked.one("until", asked.as_of) or None
    if not site or not since:
        return Sheet("Compare", None, button="Make it")
    asked.table.changes(site, since=since, until=until, limit=0)  # it raises what is wrong with the moments

    def parts(table: WebTable) -> Iterator[PagePart]:
        found = compare(table, site, since=since, until=until)
        groups = {"change": {kind: (pages, None) for kind, pages in found.counts.items()}}
        known = {"since": found.since, "until": found.until}
        yield from _parts(asked, found, known, groups, sum(found.counts.values()))

    return Sheet(f"Compare {asked.one('site')}", parts, button="Make it")


def _parts(
    asked: AskedPage, found: Audit | Comparison, known: dict[str, Any], groups: dict[str, Any], pages: int
) -> Iterator[PagePart]:
    known |= {"damaged rows left out": found.damaged} if found.damaged else {}
    yield PagePart("summary", lambda: facts(known), about=f"{found.subject}.", look="facts")
    yield PagePart("groups", lambda: bars(asked, groups, pages), look="bars")
    findings = [column("findings", of="title"), column("count", "count", of=_count)]
    yield PagePart("findings", lambda: Rows(findings, found.sections, {"findings": lambda one: f"#{one.name}"}))
    for section in found.sections:
        yield _section(asked, section)


def _count(section: Section) -> int | None:
    return None if section.left_out else section.count


def _section(asked: AskedPage, section: Section) -> PagePart:
    columns = [column(name, _FORMS.get(kind, kind), itemgetter(name)) for name, kind in section.headings]
    part = PagePart(section.name, lambda: Rows(columns, section.to_dict()["rows"]), section.title, section.about)
    part.problem = section.left_out
    if section.count and (href := _question_link(asked, section.command)):
        part.more = f"All {section.count:,}", href
    return part


def _question_link(asked: AskedPage, command: str) -> str | None:
    """Return the page of the question that a *command* asks: `webtable errors example.com`."""
    _, name, *given = shlex.split(command)
    listing = LISTINGS.get(name.replace("-", "_"))
    if listing is None:
        return None
    options = {(one.flag or one.name).replace("_", "-"): one.name for one in listing.options}
    arguments = (one.name for one in listing.options if one.is_argument)
    query: dict[str, str] = {}
    words = iter(given)
    for word in words:
        if not word.startswith("--"):
            query[next(arguments)] = word
        elif word == "--format":
            next(words)
        else:
            query[options.get(word[2:], word[2:])] = next(words)
    return asked.link(f"/q/{name}", **query)

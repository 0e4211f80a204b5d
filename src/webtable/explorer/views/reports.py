"""The audit of a site, and its comparison at two moments, made when they are asked for."""

from __future__ import annotations

import shlex
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from webtable.explorer.page_model import PagePart, Sheet
from webtable.explorer.rows import Rows, facts
from webtable.explorer.views.statistics import bars
from webtable.questions import LISTINGS, ListingOption, column
from webtable.reports import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable import WebTable
    from webtable.explorer.page_model import AskedPage
    from webtable.reports import Audit, Comparison, Section

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

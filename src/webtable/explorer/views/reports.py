"""The audit of a site and its comparison at two moments, as pages and as JSON, made when they are asked for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.errors import InvalidArgument
from webtable.explorer.reading import reading
from webtable.explorer.rendering import Linker, size_text, value_text
from webtable.explorer.views.json_pages import json_page
from webtable.explorer.views.statistics import SITE, bars_of, named_site, site_in
from webtable.questions import LISTINGS
from webtable.reports import compare as compared

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from webtable import WebTable
    from webtable.explorer.explorer import Explorer
    from webtable.explorer.streaming import Outlet
    from webtable.reports import Audit, Comparison, Section

_TIMES = {
    "since": "The first moment: 7d (ago), 2026-11-20, or 2026-11-20T10:00Z.",
    "until": "The second moment. Without it: now.",
}


class CellPart(NamedTuple):
    """A part of a cell of a report: a text, whether it is from before (`del`) or after (`ins`), and its link."""

    text: str
    form: str = ""
    href: str | None = None


def audit(explorer: Explorer, request: Request) -> Response:
    """Return the page of an audit, or its form if no site is named."""
    linker = Linker(request)
    site = site_in(explorer, request)
    make = (lambda table: _shown_audit(table.audit(named_site(site)), site, linker)) if site else None
    about = "What is wrong with the pages of a site: broken links, errors, redirects, titles. It reads all its pages."
    return _report(explorer, linker, "audit", about, {"site": (site, SITE)}, make)


def audit_json(explorer: Explorer, request: Request) -> Response:
    """Return an audit as JSON."""
    site = site_in(explorer, request)
    if not site:
        raise InvalidArgument("site is needed, as in /audit.json?site=example.com")
    return json_page(explorer, lambda table: table.audit(named_site(site)).to_dict())


def compare(explorer: Explorer, request: Request) -> Response:
    """Return the page of a comparison, or its form without a site and a moment."""
    linker, (site, since, until) = Linker(request), _compared(explorer, request)
    fields = {"site": (site, SITE), "since": (since, _TIMES["since"]), "until": (until, _TIMES["until"])}

    def make(table: WebTable) -> dict[str, Any]:
        found = compared(table, named_site(site), since=since, until=until or None)
        return _shown_comparison(found, linker)

    about = "Which pages of a site are new, gone or changed between two moments. It reads all its pages."
    return _report(explorer, linker, "compare", about, fields, make if site and since else None)


def compare_json(explorer: Explorer, request: Request) -> Response:
    """Return a comparison as JSON."""
    site, since, until = _compared(explorer, request)
    if not site or not since:
        raise InvalidArgument("site and since are needed, as in /compare.json?site=example.com&since=7d")
    return json_page(
        explorer, lambda table: compared(table, named_site(site), since=since, until=until or None).to_dict()
    )


def _compared(explorer: Explorer, request: Request) -> tuple[str, str, str]:
    site = site_in(explorer, request)
    since = request.query_params.get("since", "").strip()
    until = request.query_params.get("until", "").strip() or Linker(request).as_of
    if site and since:
        explorer.table.changes(named_site(site), since=since, until=until or None, limit=0)
    return site, since, until


def _report(
    explorer: Explorer,
    linker: Linker,
    name: str,
    about: str,
    fields: dict[str, tuple[str, str]],
    make: Callable[[WebTable], dict[str, Any]] | None,
) -> Response:
    site = fields["site"][0]
    title = f"{name.capitalize()} {site}" if name == "compare" else f"Audit of {site}" if site else "Audit"

    def write(outlet: Outlet) -> None:
        table = reading(explorer.table, outlet.gone)
        report = None if make is None else lambda: make(table)
        asked = {key: value for key, (value, _) in fields.items()}
        explorer.pages.write(
            outlet,
            "report.html",
            linker,
            title,
            about=about,
            action=f"{linker.root}/{name}",
            fields=fields,
            report=report,
            json=linker.link(f"/{name}.json", **asked),
        )

    return explorer.streaming.response(write, "text/html")


def _shown_audit(found: Audit, site: str, linker: Linker) -> dict[str, Any]:
    facts = {"pages": f"{found.pages:,}", "hosts": f"{found.hosts:,}", "bodies": size_text(found.bytes)}
    if found.oldest and found.newest:
        facts |= {"fetched first": value_text("time", found.oldest), "fetched last": value_text("time", found.newest)}
    sizes = {one.name: (one.pages, None) for one in found.sizes}
    groups = {"status": found.statuses, "type": found.types, "language": found.languages}
    charts = {by: {one.name: (one.pages, one.bytes) for one in some} for by, some in groups.items()} | {"size": sizes}
    return {
        "lead": f"{found.subject}, as they are stored now.",
        "facts": facts | ({"damaged rows, left out": f"{found.damaged:,}"} if found.damaged else {}),
        "charts": bars_of(charts, found.pages, site, linker) if found.pages else {},
        "sections": [_section(one, linker) for one in found.sections],
    }


def _shown_comparison(found: Comparison, linker: Linker) -> dict[str, Any]:
    counts = {kind: (pages, None) for kind, pages in found.counts.items()}
    since, until = (value_text("time", one) for one in (found.since, found.until))
    return {
        "lead": f"{found.subject}, from {since} to {until}.",
        "facts": {"damaged rows, left out": f"{found.damaged:,}"} if found.damaged else {},
        "charts": bars_of({"pages": counts}, sum(found.counts.values()), found.site, linker),
        "sections": [_section(one, linker) for one in found.sections],
    }


def _section(section: Section, linker: Linker) -> dict[str, Any]:
    kinds = [heading.kind for heading in section.headings]
    rows = [
        [_pieces(kind, value, linker) for kind, value in zip(kinds, row.values(), strict=True)]
        for row in section.to_dict()["rows"]
    ]
    return {"is": section, "rows": rows, "href": _question_link(section.command, linker)}


def _pieces(kind: str, value: Any, linker: Linker) -> list[CellPart]:
    """Return the parts of a cell of a *kind*; a value before and after is a dict."""
    match kind, value:
        case _, None:
            return []
        case _, {"before": before, "after": after}:
            pieces = [one._replace(form="del") for one in _pieces(kind, before, linker)]
            return [*pieces, *(one._replace(form="ins") for one in _pieces(kind, after, linker))]
        case "url", str():
            return [CellPart(value_text("text", value), href=linker.page(value))]
        case "urls", tuple() | list():
            return [CellPart(value_text("text", one), href=linker.page(one)) for one in value]
        case "size", int():
            return [CellPart(size_text(value))]
    return [CellPart(value_text("count" if kind == "number" else "text", value))]


def _question_link(command: str, linker: Linker) -> str | None:
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
        elif (option := word[2:]) != "format":
            query[options.get(option, option)] = next(words)
        else:
            next(words)
    return linker.link(f"/q/{name}", **query)

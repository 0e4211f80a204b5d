"""Sections of a report as HTML, with links to them from the top. What was crawled becomes text, whatever it holds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webtable._html import document, escaped, shortened, web_link
from webtable._shown.sizes import size_text
from webtable.reports.section import Pair
from webtable.reports.style import SCOPE, page_style

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.reports.section import Heading, Kind, Section

_MOST_CHARACTERS = 200
"""Of a text so many characters are shown."""
_LEFT = ("url", "urls", "text")


def report_page(title: str, lead: str, facts: Iterable[tuple[str, str]], body: str, sections: Sequence[Section]) -> str:
    """Return a page with *facts*, links to *sections*, *body* and the sections; *lead* and *body* are markup."""
    terms = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(value)}</dd></div>" for name, value in facts)
    return document(
        escaped(title),
        page_style(),
        SCOPE,
        f"<h1>{escaped(title)}</h1>\n{lead}\n<dl>{terms}</dl>\n{_contents(sections)}\n{body}\n"
        f"{''.join(map(_section, sections))}",
    )


def moment_text(moment: datetime) -> str:
    """Return a moment as pages have it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _contents(sections: Sequence[Section]) -> str:
    links = "".join(f"<li>{_content(section)}</li>" for section in sections)
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>' if sections else ""


def _content(section: Section) -> str:
    kind = "" if section.count else ' class="none"'
    count = "–" if section.left_out else f"{section.count:,}"
    return f'<a href="#{escaped(section.name)}"{kind}>{escaped(section.title)} <strong>{count}</strong></a>'


def _section(section: Section) -> str:
    count = "" if section.left_out else f'<span class="count">{section.count:,}</span>'
    heading = f'<section id="{escaped(section.name)}"><h2>{escaped(section.title)} {count}</h2>'
    return f'{heading}<p class="muted">{escaped(section.about)}</p>{_found(section)}</section>\n'


def _found(section: Section) -> str:
    if section.left_out:
        return f'<p class="left-out">Left out: {escaped(section.left_out)}</p>'
    if not section.count:
        return "<p>None.</p>"
    return _table(section.headings, section.rows) + _rest(section)


def _rest(section: Section) -> str:
    shown = len(section.rows)
    told = "All of them" if shown == section.count else f"The first {shown:,} of {section.count:,}; all of them"
    return f'<p class="muted">{told}: <code>{escaped(section.command)}</code></p>'


def _table(headings: Sequence[Heading], rows: Iterable[Sequence[object]]) -> str:
    heads = "".join(f"<th{_class(one.kind)}>{escaped(_said(one.name))}</th>" for one in headings)
    lines = "".join(
        f"<tr>{''.join(_cell(one, value) for one, value in zip(headings, row, strict=True))}</tr>" for row in rows
    )
    return f'<table class="list"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>'


def _class(kind: Kind) -> str:
    return ' class="text"' if kind in _LEFT else ""


def _said(name: str) -> str:
    return name.replace("_", " ")


def _cell(heading: Heading, value: object) -> str:
    classes = heading.kind + (" text" if heading.kind in _LEFT else "") + (" bad" if _is_bad(heading, value) else "")
    return f'<td class="{classes}" data-name="{escaped(_said(heading.name))}">{_shown(heading.kind, value)}</td>'


def _is_bad(heading: Heading, value: object) -> bool:
    status = value.after if isinstance(value, Pair) else value
    return heading.kind == "status" and isinstance(status, int) and status >= 400


def _shown(kind: Kind, value: object) -> str:
    match kind, value:
        case _, None:
            return ""
        case _, Pair():
            return f"<del>{_shown(kind, value.before)}</del> → <ins>{_shown(kind, value.after)}</ins>"
        case "url", str():
            return web_link(value)
        case "urls", tuple():
            return "".join(web_link(url) for url in value)
        case "size", int():
            return f'<span title="{value:,} bytes">{size_text(value)}</span>'
        case "time", datetime():
            return moment_text(value)
        case "number", int():
            return f"{value:,}"
    # Titles are in any direction, and keep theirs to themselves.
    return f"<bdi>{escaped(shortened(str(value), _MOST_CHARACTERS))}</bdi>"

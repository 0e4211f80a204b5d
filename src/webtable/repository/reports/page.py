"""A report as one HTML page: facts, links to its sections, and their lists. Crawled text is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webtable.display.markup import Markup, bar, document, escaped, shortened, table, tag, terms, web_link
from webtable.display.text import size_text
from webtable.repository.reports.section import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.reports.section import Heading, Kind, Section

_LEFT = ("url", "urls", "text")


def report_page(
    title: str, lead: object, facts: Iterable[tuple[str, str]], body: object, sections: Sequence[Section]
) -> str:
    """Return a page with *lead*, *facts*, links to *sections*, *body* and the sections."""
    return document(title, tag("h1", title), lead, terms(facts), _contents(sections), body, map(_section, sections))


def moment_text(moment: datetime) -> str:
    """Return *moment* as reports show it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def chart(title: str, name: str, counts: Sequence[tuple[str, int, int | None]]) -> Markup:
    """Return *counts* below a *title* as a table with bars: the name of each, its pages, and its bytes if known."""
    total = sum(pages for _, pages, _ in counts) or 1
    heads = [tag("th", name, class_="text"), tag("th", "pages")]
    rows = [[tag("td", one, class_="text"), tag("td", f"{pages:,}", bar(pages / total))] for one, pages, _ in counts]
    if any(size is not None for *_, size in counts):
        heads.append(tag("th", "size"))
        rows = [[*cells, tag("td", size_text(size))] for cells, (*_, size) in zip(rows, counts, strict=True)]
    return tag("div", tag("h3", title), table(heads, rows) if rows else tag("p", "None."))


def _contents(sections: Sequence[Section]) -> Markup:
    links = [tag("li", _content(section)) for section in sections]
    return tag("nav", tag("ul", links), aria_label="Sections") if links else Markup()


def _content(section: Section) -> Markup:
    count = tag("strong", "–" if section.left_out else f"{section.count:,}")
    return tag("a", section.title, " ", count, href=f"#{section.name}", class_="" if section.count else "none")


def _section(section: Section) -> Markup:
    count = "" if section.left_out else tag("span", f"{section.count:,}", class_="count")
    about = tag("p", section.about, class_="muted")
    return tag("section", tag("h2", section.title, " ", count), about, _found(section), id=section.name)


def _found(section: Section) -> Markup:
    if section.left_out:
        return tag("p", f"Left out: {section.left_out}", class_="left-out")
    if not section.count:
        return tag("p", "None.")
    shown = len(section.rows)
    said = "All of them" if shown == section.count else f"The first {shown:,} of {section.count:,}; all of them"
    heads = (tag("th", _words(one.name), class_="text" if one.kind in _LEFT else "") for one in section.headings)
    rows = (_cells(section.headings, row) for row in section.rows)
    return escaped(
        [table(heads, rows, class_="list"), tag("p", f"{said}: ", tag("code", section.command), class_="muted")]
    )


def _cells(headings: Sequence[Heading], row: Sequence[object]) -> Iterator[Markup]:
    for heading, value in zip(headings, row, strict=True):
        is_left, is_bad = heading.kind in _LEFT, _is_bad(heading, value)
        classes = f"{heading.kind}{' text' if is_left else ''}{' bad' if is_bad else ''}"
        yield tag("td", _shown(heading.kind, value), class_=classes, data_name=_words(heading.name))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _is_bad(heading: Heading, value: object) -> bool:
    status = value.after if isinstance(value, Pair) else value
    return heading.kind == "status" and isinstance(status, int) and status >= 400


def _shown(kind: Kind, value: object) -> object:
    match kind, value:
        case _, None:
            return ""
        case _, Pair():
            return [tag("del", _shown(kind, value.before)), " → ", tag("ins", _shown(kind, value.after))]
        case "url", str():
            return web_link(value)
        case "urls", tuple():
            return map(web_link, value)
        case "size", int():
            return tag("span", size_text(value), title=f"{value:,} bytes")
        case "time", datetime():
            return moment_text(value)
        case "number", int():
            return f"{value:,}"
    # Titles may be written from right to left, which must not affect the text around them.
    return tag("bdi", shortened(str(value)))

"""HTML and SVG made of values: everything that is not `Markup` already is escaped.

All pages, notebook views and drawings are made of these elements, so that nothing that was crawled is executed in them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

from webtable.display.text import MOST_CHARACTERS, harmless

SCOPE = "webtable"
"""The class of the element that the style applies to."""
# Nothing in a page is fetched or run, even if an escape is forgotten.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_PAGE_STYLE = """
:root { color-scheme: light dark }
body { margin: 0; padding: clamp(16px, 4vw, 48px); background: light-dark(#fff, #14151f) }
@media print { :root { color-scheme: light } body { padding: 0 } }
"""


class Markup(str):
    """Text that is HTML or SVG already and is not escaped."""

    __slots__ = ()


def escaped(value: object) -> Markup:
    r"""Return *value* as text for HTML and XML, with characters that are invisible or forbidden there made visible.

    Markup stays as it is, the items of an iterable are joined, and None is empty.

    >>> escaped("<b>\x00&"), escaped([Markup("<br>"), 1])
    ('&lt;b&gt;\\x00&amp;', '<br>1')
    """
    match value:
        case Markup():
            return value
        case None:
            return Markup()
        case str():
            return Markup(html.escape(harmless(value)))
        case Iterable():
            return Markup("".join(map(escaped, value)))
    return Markup(html.escape(str(value)))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """Return the element *name* with *content* in it; attributes that are None or empty are left out.

    >>> tag("td", "<b>", tag("br/"), class_="left", data_name=None)
    '<td class="left">&lt;b&gt;<br/></td>'
    """
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value not in (None, "")}
    start = name.rstrip("/") + "".join(f' {key}="{escaped(value)}"' for key, value in named.items())
    return Markup(f"<{start}/>") if name.endswith("/") else Markup(f"<{start}>{escaped(content)}</{name}>")


def preformatted(text: str) -> Markup:
    """Return *text* with its line breaks kept."""
    return tag("pre", Markup("\n".join(map(escaped, text.split("\n")))))


def web_link(url: str) -> Markup:
    """Return *url* as a link without referrer; as text if it is not http or https (`javascript:`).

    >>> web_link("javascript:alert(1)"), web_link("https://a.example/")[:29]
    ('javascript:alert(1)', '<a href="https://a.example/" ')
    """
    shown = shortened(url)
    if not url.lower().startswith(("http://", "https://")):
        return escaped(shown)
    return tag("a", shown, href=url, rel="noopener noreferrer nofollow")


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return *text* with at most *most* characters.

    >>> shortened("example", 4)
    'exa…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def table(heads: Iterable[Markup], rows: Iterable[Iterable[Markup]], **attributes: object) -> Markup:
    """Return a table with the header cells *heads* and the cells of *rows*."""
    lines = (tag("tr", cells) for cells in rows)
    return tag("table", tag("thead", tag("tr", heads)), tag("tbody", lines), **attributes)


def terms(facts: Iterable[tuple[str, object]]) -> Markup:
    """Return *facts* as a definition list of names and values."""
    return tag("dl", (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts))


def bar(share: float) -> Markup:
    """Return a bar from 0 to 100 %, filled up to *share*."""
    return tag("span", tag("i", style=f"width:{share:.1%}"), class_="bar")


def shares(counts: Mapping[str, int]) -> Markup:
    """Return a wide bar with a part for each of *counts*, whose names are the CSS classes of the parts."""
    said = {name: f"{count:,} {name}" for name, count in counts.items()}
    parts = (tag("i", class_=name, title=said[name], style=f"flex:{count}") for name, count in counts.items() if count)
    return tag("div", parts, class_="shares", role="img", aria_label=", ".join(said.values()))


def style() -> Markup:
    """Return the CSS rules for the element with the class `SCOPE` and its content."""
    from importlib.resources import files

    return Markup(files("webtable.display").joinpath("page.css").read_text(encoding="utf-8"))


def document(title: str, *content: object) -> str:
    """Return an HTML page of *content* without other files, scripts or fonts."""
    head = (
        Markup('<meta charset="utf-8">\n'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'),
        Markup('<meta name="viewport" content="width=device-width,initial-scale=1">\n'),
        tag("title", title),
        tag("style", Markup(_PAGE_STYLE), style()),
    )
    body = tag("main", content, class_=SCOPE)
    return f'<!DOCTYPE html>\n<html lang="en">\n{tag("head", head)}\n{tag("body", body)}\n</html>\n'

"""HTML and SVG made of values, where all that is not `Markup` is escaped; and small tables that show values.

All pages, notebook views and drawings are made of these elements, so that nothing that was crawled is executed in them.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from webtable.display.text import MOST_CHARACTERS, harmless, minute_text, shown_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


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


def shortened(text: str, limit: int = MOST_CHARACTERS) -> str:
    """Return *text* with at most *limit* characters.

    >>> shortened("example", 4)
    'exa…'
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def table(heads: Iterable[Markup], rows: Iterable[Iterable[Markup]], **attributes: object) -> Markup:
    """Return a table with the header cells *heads* and the cells of *rows*."""
    lines = (tag("tr", cells) for cells in rows)
    return tag("table", tag("thead", tag("tr", heads)), tag("tbody", lines), **attributes)


def terms(facts: Iterable[tuple[str, object]]) -> Markup:
    """Return *facts* as a definition list of names and values."""
    return tag("dl", (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts))


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


# --- Tables -----------------------------------------------------------------------------------------------------------


_CELL = "padding:2px 10px 2px 0;vertical-align:top"
_WRAPPED = f"{_CELL};text-align:left;overflow-wrap:anywhere;min-width:4em"
_WHOLE = f"{_CELL};text-align:left;white-space:nowrap"
_NUMBER = f"{_CELL};text-align:right;white-space:nowrap"


class Unbroken(str):
    """A text that is never wrapped, as numbers and times are not."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """A text split into pieces, some of which are marked."""

    pieces: Sequence[tuple[str, bool]]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def highlighted(self, before: str = "[", after: str = "]") -> str:
        """Return the text with *before* and *after* around each piece that is marked."""
        return "".join(f"{before}{text}{after}" if marked else text for text, marked in self.pieces)

    @classmethod
    def of(cls, text: str, marks: Iterable[tuple[int, int]]) -> Marked:
        """Return *text* with the ranges *marks* marked, which do not overlap."""
        pieces, at = [], 0
        for start, stop in sorted(marks):
            pieces += [(text[at:start], False), (text[start:stop], True)]
            at = stop
        return cls([(piece, marked) for piece, marked in [*pieces, (text[at:], False)] if piece])


class ShowsItself(ABC):
    """Base class of values that notebooks and terminals show as a small table."""

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Shown: ...

    def _repr_html_(self) -> str:
        return self._shown().html()

    def __rich__(self) -> object:
        return self._shown().rich()


@dataclass(frozen=True, slots=True)
class Shown:
    """A small table with a caption, columns, rows and a note; without rows, the caption and the note.

    Numbers are right-aligned; times are shown in UTC to the minute.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def html(self) -> str:
        """Return the table as HTML, with all values escaped."""
        styles = [_NUMBER if is_numeric else _WRAPPED for is_numeric in self._are_numeric()]
        heads = [tag("th", name, style=style) for name, style in zip(self.columns, styles, strict=True)]
        rows = [
            [tag("td", _html(value), style=_style(value, style)) for value, style in zip(row, styles, strict=True)]
            for row in self.rows
        ]
        caption = tag("p", tag("b", shown_text(self.caption))) if self.caption else ""
        note = tag("p", harmless(self.note)) if self.note else ""
        return escaped([caption, table(heads, rows) if rows else "", note])

    def rich(self) -> Table | Text:
        """Return the table for terminals, as one of rich."""
        from rich.table import Table
        from rich.text import Text

        if not self.rows:
            return Text("\n".join(harmless(text) for text in (self.caption, self.note) if text))
        note = Text(harmless(self.note)) if self.note else None
        made = Table(title=Text(shown_text(self.caption)), caption=note, title_justify="left")
        for place, (name, is_numeric) in enumerate(zip(self.columns, self._are_numeric(), strict=True)):
            is_whole = is_numeric or all(_is_whole(row[place]) for row in self.rows)
            made.add_column(name, overflow="fold", justify="right" if is_numeric else "left", no_wrap=is_whole)
        for row in self.rows:
            made.add_row(*map(_rich, row))
        return made

    def _are_numeric(self) -> list[bool]:
        """Return of each column whether it has numbers, and nothing else."""
        values = [[row[place] for row in self.rows if row[place] is not None] for place in range(len(self.columns))]
        return [bool(column) and all(map(_is_number, column)) for column in values]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return value is None or isinstance(value, datetime | Unbroken) or _is_number(value)


def _style(value: object, style: str) -> str:
    return _WHOLE if style is _WRAPPED and value is not None and _is_whole(value) else style


def _text(value: object) -> str:
    return minute_text(value) if isinstance(value, datetime) else shown_text(value)


def _html(value: object) -> object:
    if not isinstance(value, Marked):
        return _text(value)
    return [tag("mark", text) if marked else text for text, marked in value.pieces]


def _rich(value: object) -> Text:
    from rich.text import Text

    if not isinstance(value, Marked):
        return Text(_text(value))
    return Text.assemble(*((harmless(text), "reverse" if marked else "") for text, marked in value.pieces))

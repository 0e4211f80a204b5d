"""The values of records as a table shows them, and those of a page that is shown by itself."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from webtable.display import Marked, harmless, plain_text
from webtable.display.text import minute_text, size_text
from webtable.display.values import charset_in, decoded, value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from webtable import Page
    from webtable.questions import Column, Form

_DIGITS = 12
"""How many hexadecimal digits of a digest a table shows."""
_DIGEST = re.compile(r"[a-z0-9]+:[0-9a-f]{32,}")
CELL_WIDTH = 1_000
"""A table shows at most this many characters of a value; other formats show all."""


def cell(record: object, column: Column) -> Text:
    """Return the value of a *column* of *record* as shown in a table that has room for it."""
    from rich.text import Text

    value = shown_of(record, column)
    match column.form, value:
        case "bytes", int():
            return Text(size_text(value))
        case "status", int():
            return Text(str(value), style=status_style(value))
        case "count", int():
            return Text(f"{value:,}")
        case "moment", datetime():
            return Text(value_text(value))
        case _, datetime():
            return Text(minute_text(value))
        case "digest", str():
            return Text(value.rpartition(":")[2][:_DIGITS])
        case "text", str() if _DIGEST.fullmatch(value):  # as that of a group, which may be a title
            return Text(value.rpartition(":")[2][:_DIGITS])
        case "url", str():
            return url_cell(value)
        case "urls", list() | tuple():
            return Text("\n").join(map(url_cell, value))
        case _, Marked():
            return highlighted(value)
        case "headers" | "links" | "counts", _ if value is not None:
            return Text(harmless(plain_text(value)[:CELL_WIDTH]))
        case _:
            return Text(harmless(value_text(value, charset_in(record))[:CELL_WIDTH]))


def url_cell(url: str) -> Text:
    """Return *url* for a terminal: a link (OSC 8) that leads to it also where it is wrapped."""
    from rich.style import Style
    from rich.text import Text

    plain = harmless(url)
    # A text that is not a plain URL could end the link early and send other codes to the terminal.
    is_plain = url.isascii() and plain == url and url.startswith(("http://", "https://"))
    return Text(plain, style=Style(link=url) if is_plain else "")


def shown_of(record: object, column: Column) -> Any:
    """Return the value of a *column* of *record* for people: with its marks, if it has any."""
    return (column.marked or column.of)(record)


def highlighted(text: Marked) -> Text:
    """Return a text with its marks in colour."""
    from rich.text import Text

    return Text.assemble(*((harmless(piece), "bold red" if marked else "") for piece, marked in text.pieces))


_FIELDS: dict[Form, Callable[[Any, str | None], str]] = {
    "bytes": lambda size, _: f"{size:,} bytes",
    "headers": lambda headers, _: "\n".join(harmless(f"{name}: {text}") for name, text in headers.items()),
    "links": lambda links, _: "\n".join(harmless(f"{link.url}  {link.anchor}") for link in links),
    "counts": lambda counts, _: str(counts),
    "body": lambda body, charset: "\n".join(map(harmless, decoded(body, charset).expandtabs().splitlines())),
}
"""How the values of a single page are shown where there is room for them."""


def field(page: Page, column: Column) -> Text:
    """Return the value of a page's *column* as shown when the page is shown by itself."""
    from rich.text import Text

    value = column.of(page)
    if column.form == "status":
        return Text(str(value), style=status_style(value))
    shown = _FIELDS.get(column.form)
    return Text(shown(value, page.charset) if shown else harmless(value_text(value, page.charset)))


def status_style(status: int) -> str:
    """Return the style of a status code."""
    return {2: "green", 3: "yellow"}.get(status // 100, "red")

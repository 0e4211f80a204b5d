"""Records as a table: the widths of its columns, and how values are shown."""

from __future__ import annotations

from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from webtable._shown import Marked, harmless
from webtable._shown.sizes import size_text
from webtable._shown.text import minute_text
from webtable.formats.text import charset_in, decoded, value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from webtable._page.page import Page
    from webtable._page.parts import LinkCounts
    from webtable.repository.answers.columns import Column, Form

CHUNK = 200
"""A table is laid out for this many rows at a time."""
UNLIMITED = 100_000
"""The width of a table in a pipe, where nothing is wrapped or cut."""
CELL_WIDTH = 1_000
"""A table shows at most this many characters of a value; other formats show all."""
FOLDED = ("urls", "command")
"""The forms that are wrapped, since they must be copied whole; others may be truncated."""

_PADDING = 3
"""What rich puts between two columns."""
_NARROWEST = 12


def new_table(title: str | None = None) -> Table:
    """Return an empty table in the common style."""
    from rich import box
    from rich.table import Table

    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)


def print_table(
    target: Console,
    records: Iterable[object],
    columns: Sequence[Column],
    *,
    asked_for: bool,
    to_width: bool,
    title: str | None = None,
) -> None:
    """Print *records* on *target* as they come, laid out in chunks.

    Lines that are too wide are fitted to the terminal if *to_width*. A short listing omits columns without any value,
    unless they were *asked_for*.
    """
    rows = iter(records)
    first = list(islice(rows, CHUNK))
    following = list(islice(rows, 1)) if len(first) == CHUNK else []
    if not first:
        return
    if not asked_for and not following:
        columns = [one for one in columns if any(_is_filled(one.of(record)) for record in first)]
    table = _table(first, columns, title=title)
    # A short listing is as wide as it needs; a wide one fills the terminal, so that URLs and titles share what is left,
    # and so does a long one, so that all of its parts look alike.
    natural = target.measure(table, options=target.options.update(width=UNLIMITED)).maximum
    stretched = to_width and (bool(following) or natural > target.width)
    widths = _widths(first, columns, target.width) if stretched else None
    target.print(_table(first, columns, widths, title=title) if stretched else table)
    rows = chain(following, rows)
    while chunk := list(islice(rows, CHUNK)):
        target.print(_table(chunk, columns, widths, heading=False))


def _widths(records: Sequence[object], columns: Sequence[Column], width: int) -> dict[str, int]:
    """Return the widths of the columns that do not share the rest of a terminal: URLs are truncated last."""
    from rich.cells import cell_len

    widths = {one.name: one.width for one in columns if not one.share}
    free = width - sum(widths.values()) - _PADDING * len(columns)
    urls = [one for one in columns if one.form == "url" or one.form in FOLDED]
    if len(urls) < sum(one.share > 0 for one in columns):
        free = free * 7 // 10
    for one in urls:
        longest = max(cell_len(value_text(one.of(record))) for record in records)
        widths[one.name] = max(min(longest, free // len(urls)), _NARROWEST)
    return widths


def _table(
    records: Sequence[object],
    columns: Sequence[Column],
    widths: Mapping[str, int] | None = None,
    *,
    heading: bool = True,
    title: str | None = None,
) -> Table:
    table = new_table(title)
    table.show_header = heading
    table.expand = widths is not None
    for one in columns:
        options: dict[str, Any] = {"justify": "right" if one.type == "int" else "left"}
        options |= {"overflow": "fold"} if one.form in FOLDED else {"overflow": "ellipsis", "no_wrap": True}
        if widths is not None:
            options |= {"width": widths[one.name]} if one.name in widths else {"ratio": one.share}
        table.add_column(one.heading, **options)
    for record in records:
        table.add_row(*(_cell(record, one, (widths or {}).get(one.name)) for one in columns))
    return table


def _is_filled(value: object) -> bool:
    return value not in (None, "", (), {}, [])


def _cell(record: object, column: Column, width: int | None = None) -> Text:
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
            return Text(value.rpartition(":")[2][:12])
        case "url", str():
            return url_cell(value, width)
        case _, Marked():
            return highlighted(value)
        case _:
            return Text(harmless(value_text(value, charset_in(record))[:CELL_WIDTH]))


def shown_of(record: object, column: Column) -> Any:
    """Return the value of a *column* of *record* for people: with its marks, if it has any."""
    return (column.marked or column.of)(record)


def highlighted(text: Marked) -> Text:
    """Return a text with its marks in colour."""
    from rich.text import Text

    return Text.assemble(*((harmless(piece), "bold red" if marked else "") for piece, marked in text.pieces))


def _link_counts(counts: LinkCounts) -> str:
    own = ", and itself" if counts.self_links else ""
    return (
        f"{counts.inlinks:,} ({counts.internal:,} internal, {counts.external:,} external{own}), "
        f"counted {value_text(counts.counted_at)}"
    )


_FIELDS: dict[Form, Callable[[Any, str | None], str]] = {
    "bytes": lambda size, _: f"{size:,} bytes",
    "headers": lambda headers, _: "\n".join(harmless(f"{name}: {text}") for name, text in headers.items()),
    "links": lambda links, _: "\n".join(harmless(f"{link.url}  {link.anchor}") for link in links),
    "counts": lambda counts, _: _link_counts(counts),
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


def url_cell(url: str, width: int | None = None) -> Text:
    """Return *url* for a terminal: as a link (OSC 8), and in *width* columns if it is longer."""
    from rich.style import Style
    from rich.text import Text

    shown = harmless(url)
    # A text that is not a plain URL could end the link early and send other codes to the terminal.
    is_plain = url.isascii() and shown == url and url.startswith(("http://", "https://"))
    return Text(cut(shown, width) if width else shown, style=Style(link=url) if is_plain else "")


def cut(text: str, width: int) -> str:
    """Return *text* in at most *width* columns, without its middle if it is longer: both ends of a URL identify it.

    >>> cut("https://example.com/a/very/long/path/page.html", 30)
    'https://example.com/…page.html'
    """
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    tail = text[-max((width - 1) // 3, 1) :]
    return set_cell_size(text, width - 1 - cell_len(tail)).rstrip() + "…" + tail

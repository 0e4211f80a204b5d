"""Records as a table: how wide its columns are, and how a value looks in it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from webtable._shown import harmless
from webtable._shown.sizes import size_text
from webtable.cli.terminal.links_shown import CLICKABLE, url_cell
from webtable.formats.text import decoded, value_text
from webtable.repository.text.excerpts import Excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from webtable._page.page import LinkCounts

CHUNK = 200
"""How many rows a table is laid out for at once."""
UNLIMITED = 100_000
"""The width of a table in a pipe, where nothing is wrapped or cut."""
CELL_WIDTH = 1_000
"""How many characters of a value a table shows; other formats show all of them."""
FOLDED = {"urls", "command"}
"""What can be copied only as a whole; of the rest the beginning tells enough."""

_PADDING = 3
"""What rich puts between two columns."""
_NARROWEST = 12
_HEADINGS = {
    "status_code": "status",
    "content_type": "type",
    "fetched_at": "fetched",
    "outlink_count": "links",
    "last_modified": "modified",
    "changed_at": "changed",
    "redirect_to": "leads to",
    "counted_at": "counted",
    "self_links": "self",
    "is_current": "current",
    "bytes": "size",
    "status_before": "was",
    "status_after": "status",
    "title_after": "title",
    "is_loop": "loop",
}
_NUMBERS = {
    "status_code",
    "size",
    "change_count",
    "outlink_count",
    "inlinks",
    "internal",
    "external",
    "self_links",
    "pages",
    "bytes",
    "matches",
    "others",
    "length",
    "hosts",
    "found",
    "entries",
    "missing",
    "stale",
    "pending",
    "repaired",
}
_WIDE = {
    "url": 3,
    "urls": 3,
    "redirect_to": 3,
    "source": 3,
    "target": 3,
    "title": 2,
    "title_before": 2,
    "title_after": 2,
    "anchor": 2,
    "headers": 2,
    "outlinks": 2,
    "html": 3,
    "excerpts": 3,
    "name": 3,
    "group": 3,
    "value": 2,
    "command": 3,
}
_WIDTHS = {
    "status_code": 6,
    "status_before": 6,
    "status_after": 6,
    "size": 8,
    "bytes": 8,
    "fetched_at": 16,
    "last_modified": 16,
    "changed_at": 16,
    "content_at": 16,
    "inlinks_at": 16,
    "hints_at": 16,
    "counted_at": 16,
    "as_of": 16,
    "at": 16,
    "begin": 16,
    "end": 16,
    "inlinks": 9,
    "internal": 8,
    "external": 8,
    "self_links": 4,
    "pages": 9,
    "matches": 7,
    "others": 7,
    "length": 6,
    "is_loop": 5,
    "hosts": 9,
    "finding": 26,
    "found": 9,
    "rel": 9,
}


def new_table(title: str | None = None) -> Table:
    """Return an empty table in the style of all of them."""
    from rich import box
    from rich.table import Table

    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)


def print_table(
    target: Console,
    records: Iterable[object],
    columns: Sequence[str],
    *,
    asked_for: bool,
    to_width: bool,
    title: str | None = None,
) -> None:
    """Print *records* on *target* as they come, laid out for some of them at once.

    What is too wide is fitted to the terminal where *to_width*. Columns without any value are left out of a short
    listing, unless they were *asked_for*.
    """
    rows = iter(records)
    first = list(islice(rows, CHUNK))
    following = list(islice(rows, 1)) if len(first) == CHUNK else []
    if not first:
        return
    if not asked_for and not following:
        columns = [name for name in columns if any(_is_filled(getattr(record, name)) for record in first)]
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


def _widths(records: Sequence[object], columns: Sequence[str], width: int) -> dict[str, int]:
    """Return how wide the columns are that do not share the rest of a terminal: URLs are cut last."""
    from rich.cells import cell_len

    widths = {name: _WIDTHS.get(name, 12) for name in columns if name not in _WIDE}
    free = width - sum(widths.values()) - _PADDING * len(columns)
    urls = [name for name in columns if name in FOLDED | CLICKABLE]
    if len(urls) < sum(name in _WIDE for name in columns):
        free = free * 7 // 10
    for name in urls:
        longest = max(cell_len(str(getattr(record, name) or "")) for record in records)
        widths[name] = max(min(longest, free // len(urls)), _NARROWEST)
    return widths


def _table(
    records: Sequence[object],
    columns: Sequence[str],
    widths: Mapping[str, int] | None = None,
    *,
    heading: bool = True,
    title: str | None = None,
) -> Table:
    table = new_table(title)
    table.show_header = heading
    table.expand = widths is not None
    for name in columns:
        options: dict[str, Any] = {"justify": "right" if name in _NUMBERS else "left"}
        if name in _WIDE:
            options |= {"overflow": "fold"} if name in FOLDED else {"overflow": "ellipsis", "no_wrap": True}
        else:
            options |= {"no_wrap": True, "overflow": "ellipsis"}
        if widths is not None:
            options |= {"width": widths[name]} if name in widths else {"ratio": _WIDE[name]}
        table.add_column(_HEADINGS.get(name, name), **options)
    for record in records:
        table.add_row(*(_cell(record, name, (widths or {}).get(name)) for name in columns))
    return table


def _is_filled(value: object) -> bool:
    return value not in (None, "", (), {})


def _cell(record: object, name: str, width: int | None = None) -> Text:
    from rich.text import Text

    value = getattr(record, name)
    match name, value:
        case (("size" | "bytes"), int()):
            return Text(size_text(value))
        case "status_code", int():
            return Text(str(value), style=status_style(value))
        case _, bool():
            return Text(value_text(value))
        case _, int():
            return Text(f"{value:,}" if name in _NUMBERS else str(value))
        case (("begin" | "end"), datetime()):
            return Text(value_text(value))  # whole, as `compare` takes it: a minute would leave captures out
        case _, datetime():
            return Text(f"{value.astimezone(UTC):%Y-%m-%d %H:%M}")
        case "digest", str():
            return Text(value.rpartition(":")[2][:12])
        case _, str() if name in CLICKABLE:
            return url_cell(value, width)
        case _, Excerpt():
            return highlighted(value)
        case "excerpts", tuple():
            return Text(" ").join(map(highlighted, value))
        case _:
            return Text(harmless(value_text(value, getattr(record, "charset", None))[:CELL_WIDTH]))


def highlighted(excerpt: Excerpt) -> Text:
    """Return an excerpt with its marks in colour."""
    from rich.text import Text

    shown = Text()
    at = 0
    for start, stop in merged(excerpt.marks):
        shown.append(harmless(excerpt.text[at:start])).append(harmless(excerpt.text[start:stop]), style="bold red")
        at = stop
    return shown.append(harmless(excerpt.text[at:]))


def merged(marks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return *marks*, which may overlap, in order and apart."""
    apart: list[tuple[int, int]] = []
    for start, stop in sorted(marks):
        if apart and start < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(stop, apart[-1][1]))
        else:
            apart.append((start, stop))
    return apart


def _link_counts(counts: LinkCounts) -> str:
    own = ", and itself" if counts.self_links else ""
    return (
        f"{counts.inlinks:,} ({counts.internal:,} internal, {counts.external:,} external{own}), "
        f"counted {value_text(counts.counted_at)}"
    )


_FIELDS: dict[str, Callable[[Any, str | None], str]] = {
    "size": lambda size, _: f"{size:,} bytes",
    "headers": lambda headers, _: "\n".join(harmless(f"{name}: {text}") for name, text in headers.items()),
    "outlinks": lambda links, _: "\n".join(harmless(f"{link.url}  {link.anchor}") for link in links),
    "link_counts": lambda counts, _: _link_counts(counts),
    "html": lambda body, charset: "\n".join(map(harmless, decoded(body, charset).expandtabs().splitlines())),
}
"""How the values of one page look where there is room for them."""


def field(name: str, value: object, charset: str | None) -> Text:
    """Return the value of a page's column where the page is shown by itself."""
    from rich.text import Text

    if name == "status_code" and isinstance(value, int):
        return Text(str(value), style=status_style(value))
    shown = _FIELDS.get(name)
    return Text(shown(value, charset) if shown else harmless(value_text(value, charset)))


def status_style(status: int) -> str:
    """Return the style of a status code."""
    return {2: "green", 3: "yellow"}.get(status // 100, "red")

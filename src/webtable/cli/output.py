"""Pages as a table, as plain lines, as JSON Lines or as CSV; written as they come, never all in memory."""

from __future__ import annotations

import csv
import sys
from enum import StrEnum
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable.cli.text import decoded, harmless, harmless_json, size_text, value_text
from webtable.errors import UnknownColumn
from webtable.page import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

CHUNK = 200
"""How many rows a table is laid out for at once."""
UNLIMITED = 100_000
"""The width of a table in a pipe, where nothing is wrapped or cut."""
CELL_WIDTH = 1_000
"""How many characters of a value a table shows; other formats show all of them."""
ALL_COLUMNS = tuple(name for name in Page.__struct_fields__ if name != "same_as")

_HEADINGS = {"status_code": "status", "content_type": "type", "fetched_at": "fetched", "outlink_count": "links"}
_NUMBERS = {"status_code", "size", "change_count", "outlink_count"}
_WIDE = {"url": 3, "redirect_to": 3, "title": 2, "headers": 2, "outlinks": 2, "html": 3}


class Format(StrEnum):
    """How pages are written."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"
    csv = "csv"


FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="As a table, tab-separated lines, JSON Lines or CSV. "
                                  "Default: a table on a terminal, lines in a pipe.", show_default=False),
]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", metavar="A,B,C", help="The columns to show, as in url,title,etag.")
]


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def parse_columns(text: str | None, default: Sequence[str], *, html: bool = False) -> tuple[str, ...]:
    """Return the columns that `--columns` names, with the body where *html*; raises `UnknownColumn`."""
    given = default if text is None else [name.strip() for name in text.split(",") if name.strip()]
    for name in given:
        if name not in ALL_COLUMNS:
            raise UnknownColumn(f"columns={name!r} is no column of a page; it has {', '.join(ALL_COLUMNS)}")
    return tuple(dict.fromkeys([*given, *(["html"] if html else [])]))


def write_pages(pages: Iterable[Page], columns: Sequence[str], format: Format | None) -> int:  # noqa: A002
    """Write *pages* to standard output and return how many they were."""
    counted = _Counted(pages)
    match format or (Format.table if on_terminal() else Format.lines):
        case Format.table:
            _write_table(counted, columns)
        case Format.lines:
            _write_lines(counted, columns)
        case Format.jsonl:
            _write_jsonl(counted, columns)
        case Format.csv:
            _write_csv(counted, columns)
    sys.stdout.flush()
    return counted.count


def write_fields(page: Page, columns: Sequence[str], format: Format | None) -> None:  # noqa: A002
    """Write one page to standard output: a line for each of its columns that has a value, or as `write_pages` does."""
    chosen = format or (Format.table if on_terminal() else Format.lines)
    if chosen in (Format.jsonl, Format.csv):
        write_pages([page], columns, chosen)
        return
    fields = [(name, getattr(page, name)) for name in columns]
    filled = [(name, value) for name, value in fields if value not in (None, {}, ())]
    if chosen is Format.lines:
        for name, value in filled:
            write_bytes(f"{name}\t{harmless(value_text(value, page.charset))}\n".encode("utf-8", "replace"))
    else:
        table = new_table()
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        table.show_header = False
        for name, value in filled:
            table.add_row(name, _long_cell(page, name, value))
        console().print(table)
    sys.stdout.flush()


def write_body(page: Page) -> None:
    """Write the body of *page*: its bytes as they are, and on a terminal as text that cannot command it."""
    body = page.html or b""
    if on_terminal():
        text = decoded(body, page.charset)
        sys.stdout.write("\n".join(map(harmless, text.expandtabs().splitlines())) + "\n")
    else:
        write_bytes(body)
    sys.stdout.flush()


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output, which is UTF-8 in a pipe whatever the locale."""
    sys.stdout.buffer.write(data)


def write_lines(lines: Iterable[Sequence[object]]) -> None:
    """Write tab-separated lines to standard output."""
    for line in lines:
        write_bytes(("\t".join(harmless(value_text(value)) for value in line) + "\n").encode("utf-8", "replace"))
    sys.stdout.flush()


def console() -> Console:
    """Return a console that prints text as it is: no markup, no highlights, and in a pipe no wrapping."""
    from rich.console import Console

    class PlainConsole(Console):
        # Rich would exit with 1; here all formats take the same way out (`webtable.cli.failing`).
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if on_terminal() else UNLIMITED
    return PlainConsole(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


def new_table(title: str | None = None) -> Table:
    """Return an empty table in the style of all of them."""
    from rich import box
    from rich.table import Table

    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)


class _Counted:
    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = pages
        self.count = 0

    def __iter__(self) -> Iterator[Page]:
        for page in self._pages:
            self.count += 1
            yield page


def _write_lines(pages: Iterable[Page], columns: Sequence[str]) -> None:
    for page in pages:
        values = (harmless(value_text(getattr(page, name), page.charset)) for name in columns)
        write_bytes(("\t".join(values) + "\n").encode("utf-8", "replace"))


def _write_jsonl(pages: Iterable[Page], columns: Sequence[str]) -> None:
    from webtable.formats import page_to_json

    terminal = on_terminal()
    for page in pages:
        line = page_to_json(page, columns)
        if terminal:
            line = harmless_json(line.decode()).encode()
        write_bytes(line + b"\n")


def _write_csv(pages: Iterable[Page], columns: Sequence[str]) -> None:
    shown = harmless if on_terminal() else str
    lines = csv.writer(_Utf8(), lineterminator="\n")
    lines.writerow(columns)
    for page in pages:
        lines.writerow([shown(value_text(getattr(page, name), page.charset)) for name in columns])


class _Utf8:
    """Standard output as the csv module wants it."""

    def write(self, text: str) -> None:
        write_bytes(text.encode("utf-8", "replace"))


def _write_table(pages: Iterable[Page], columns: Sequence[str]) -> None:
    rows = iter(pages)
    target = console()
    first = list(islice(rows, CHUNK))
    following = list(islice(rows, 1)) if len(first) == CHUNK else []
    if not first:
        return
    table = _page_table(first, columns)
    # A short listing is as wide as it needs; a wide one fills the terminal, so that URLs and titles share what is left,
    # and so does a long one, so that all of its parts look alike.
    natural = target.measure(table, options=target.options.update(width=UNLIMITED)).maximum
    stretched = on_terminal() and (bool(following) or natural > target.width)
    target.print(_page_table(first, columns, stretched=True) if stretched else table)
    rows = chain(following, rows)
    while chunk := list(islice(rows, CHUNK)):
        target.print(_page_table(chunk, columns, stretched=stretched, heading=False))


def _page_table(
    pages: Sequence[Page], columns: Sequence[str], *, stretched: bool = False, heading: bool = True
) -> Table:
    table = new_table()
    table.show_header = heading
    table.expand = stretched
    for name in columns:
        options: dict[str, Any] = {"justify": "right" if name in _NUMBERS else "left"}
        if name in _WIDE:
            # A URL can be copied only as a whole; of the rest the beginning tells enough.
            options |= {"overflow": "fold"} if name == "url" else {"overflow": "ellipsis", "no_wrap": True}
            options |= {"ratio": _WIDE[name]} if stretched else {}
        else:
            options |= {"no_wrap": True, "overflow": "ellipsis"}
            options |= {"width": _fixed_width(name)} if stretched else {}
        table.add_column(_HEADINGS.get(name, name), **options)
    for page in pages:
        table.add_row(*(_cell(page, name) for name in columns))
    return table


def _fixed_width(name: str) -> int:
    return {"status_code": 6, "size": 8, "fetched_at": 16, "last_modified": 16, "changed_at": 16}.get(name, 12)


def _cell(page: Page, name: str) -> Text:
    from rich.text import Text

    value = getattr(page, name)
    match name:
        case "size":
            return Text(size_text(value))
        case "status_code":
            return Text(str(value), style=_status_style(value))
        case "fetched_at" | "last_modified" | "changed_at" | "content_at":
            return Text(f"{value:%Y-%m-%d %H:%M}" if value else "")
        case "digest":
            return Text((value or "")[:12])
        case "url":
            return Text(harmless(value))
        case _:
            return Text(harmless(value_text(value, page.charset)[:CELL_WIDTH]))


def _long_cell(page: Page, name: str, value: object) -> Text:
    from rich.text import Text

    match name, value:
        case "size", int():
            return Text(f"{value:,} bytes")
        case "headers", dict():
            return Text("\n".join(harmless(f"{header}: {text}") for header, text in value.items()))
        case "outlinks", tuple():
            return Text("\n".join(harmless(f"{link.url}  {link.anchor}") for link in value))
        case "html", bytes():
            return Text("\n".join(map(harmless, decoded(value, page.charset).expandtabs().splitlines())))
        case "status_code", int():
            return Text(str(value), style=_status_style(value))
        case _:
            return Text(harmless(value_text(value, page.charset)))


def _status_style(status: int) -> str:
    return {2: "green", 3: "yellow"}.get(status // 100, "red")

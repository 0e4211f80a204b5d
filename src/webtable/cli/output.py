"""Standard output: records as a table, as lines or in a format for programs, as they come."""

from __future__ import annotations

import inspect
import math
import re
import sys
from datetime import datetime
from enum import StrEnum
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from webtable._charsets import decoded
from webtable._files import atomic_file
from webtable.cli import completion
from webtable.cli.exit_codes import note
from webtable.cli.messages import examples
from webtable.display import Marked, harmless, plain_text
from webtable.display.text import minute_text, size_text
from webtable.display.values import charset_in, harmless_json, value_text
from webtable.errors import InvalidArgument
from webtable.formats import FORMATS, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from webtable import Page
    from webtable.questions import Column, Columns, Form


F = TypeVar("F", bound="Callable[..., None]")


# --- Help, and options as people write them ---------------------------------------------------------------------------


def documented(app: typer.Typer, name: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds a command to *app*: its docstring is the help, its "Examples:" the epilogue."""

    def added(function: F) -> F:
        text, _, lines = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples:\n")
        return app.command(name, help=text, epilog=examples(*map(str.strip, lines.splitlines())))(function)

    return added


def parse_names(text: str) -> list[str]:
    """Return the names in a comma-separated list.

    >>> parse_names("url, status,")
    ['url', 'status']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


# The placeholder for a moment in help texts.
TIME = "TIME"


def parse_times(**times: str | None) -> dict[str, datetime | None]:
    """Return the moments that the options *times* name, None for those that are not given."""
    # Imported here, since most commands take no times and should not wait for it.
    from webtable.questions import parse_time

    return {name: None if text is None else parse_time(name.replace("_", "-"), text) for name, text in times.items()}


def parse_days(name: str, text: str) -> int | None:
    """Return a number of days as seconds, None for `none`; raises `InvalidArgument`.

    >>> parse_days("ttl", "90"), parse_days("ttl", "none")
    (7776000, None)
    """
    if text.strip().lower() == "none":
        return None
    days = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text.strip())
    seconds = float(days[1]) * 86_400 if days else 0.0
    if not 1 <= seconds < math.inf:
        raise InvalidArgument(f"{name}={text!r} must be a number of days above 0, or none to keep everything")
    return int(seconds)


def parse_versions(text: str) -> int | None:
    """Return a number of versions, None for `all`; raises `InvalidArgument`.

    >>> parse_versions("5"), parse_versions("all")
    (5, None)
    """
    if text.strip().lower() == "all":
        return None
    if not text.strip().isdecimal():
        raise InvalidArgument(f"versions={text!r} must be a number of contents above 0, or all")
    return int(text)


def file_name(file: str) -> str:
    """Return the name of *file* in messages."""
    return "standard input" if file == "-" else file


# --- Values in a table, and of a page that is shown by itself ---------------------------------------------------------


# How many hexadecimal digits of a digest a table shows.
_DIGITS = 12
_DIGEST = re.compile(r"[a-z0-9]+:[0-9a-f]{32,}")
# A table shows at most this many characters of a value; other formats show all.
CELL_WIDTH = 1_000


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


# How the values of a single page are shown where there is room for them.
_FIELDS: dict[Form, Callable[[Any, str | None], str]] = {
    "bytes": lambda size, _: f"{size:,} bytes",
    "headers": lambda headers, _: "\n".join(harmless(f"{name}: {text}") for name, text in headers.items()),
    "links": lambda links, _: "\n".join(harmless(f"{link.url}  {link.anchor}") for link in links),
    "counts": lambda counts, _: str(counts),
    "body": lambda body, charset: "\n".join(map(harmless, decoded(body, charset or "utf-8").expandtabs().splitlines())),
}


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


# --- Tables -----------------------------------------------------------------------------------------------------------


# A table is laid out for this many rows at a time.
CHUNK = 200
# The width of a table in a pipe, where nothing is wrapped or cut.
UNLIMITED = 100_000
# The forms that are wrapped: URLs, or a command, to be copied whole; others may be truncated.
_FOLDED = ("url", "urls")


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

    A table that is too wide is fitted to the terminal if *to_width*. A short listing omits columns without any value,
    unless they were *asked_for*.
    """
    # The widths of the columns are those of the first chunk: a long listing is seen before it is read to its end.
    rows = iter(records)
    first = list(islice(rows, CHUNK))
    following = list(islice(rows, 1)) if len(first) == CHUNK else []
    if not first:
        return
    if not asked_for and not following:
        columns = [column for column in columns if any(_is_filled(column.of(record)) for record in first)]
    table = _table(first, columns, title=title)
    # A short listing is as wide as it needs; a wide one fills the terminal, and so does a long one, so that all of its
    # chunks look alike.
    natural = target.measure(table, options=target.options.update(width=UNLIMITED)).maximum
    fits = bool(to_width and (following or natural > target.width))
    target.print(_table(first, columns, fits=fits, is_long=bool(following), title=title) if fits else table)
    rows = chain(following, rows)
    while chunk := list(islice(rows, CHUNK)):
        target.print(_table(chunk, columns, fits=fits, is_long=True, heading=False))


def _table(
    records: Sequence[object],
    columns: Sequence[Column],
    *,
    fits: bool = False,
    is_long: bool = False,
    heading: bool = True,
    title: str | None = None,
) -> Table:
    table = new_table(title)
    table.show_header = heading
    table.expand = fits and any(column.share for column in columns)
    for column in columns:
        options: dict[str, Any] = {"justify": "right" if column.type == "int" else "left"}
        options |= {"overflow": "fold"} if column.form in _FOLDED else {"overflow": "ellipsis", "no_wrap": True}
        if fits and column.share:
            options |= {"ratio": column.share}
        elif fits:
            options |= {"width" if is_long else "max_width": column.width}
        table.add_column(column.heading, **options)
    for record in records:
        table.add_row(*(cell(record, column) for column in columns))
    return table


def _is_filled(value: object) -> bool:
    return value not in (None, "", (), {}, [])


# --- Formats and files ------------------------------------------------------------------------------------------------


TABLE = "table"
LINES = "lines"
if TYPE_CHECKING:
    Format = str
else:
    # typer accepts choices only as an enum.
    # How records are written: as a table or lines, or in a format of `webtable.formats` for programs.
    Format = StrEnum("Format", [TABLE, LINES, *FORMATS])


class ReportFormat(StrEnum):
    """How a report on a site, or a difference, is written: to be read, or as one JSON value."""

    text = "text"
    json = "json"


class FactsFormat(StrEnum):
    """The output formats of a command that reports one thing instead of listing records."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"


FactsOption = Annotated[
    FactsFormat | None,
    typer.Option(
        "--format",
        help="As text to read, tab-separated lines, or a JSON object a line. "
        "Default: the first on a terminal, the second in a pipe.",
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="As a table, tab-separated lines, or a format for programs. "
        "Default: a table on a terminal, lines in a pipe.",
    ),
]


def columns_option(names: Sequence[str]) -> Any:
    """Return the option `--columns`, for which a shell completes the *names*."""
    option = typer.Option(
        "--columns",
        metavar="A,B,C",
        help="The columns to show, as in url,title,etag.",
        autocompletion=completion.columns(names),
    )
    return Annotated[str | None, option]


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def chosen_format(format: Format | None) -> Format:
    """Return *format*, or the default for where standard output goes."""
    return format or (TABLE if on_terminal() else LINES)


def parse_columns(text: str | None, available: Columns, default: Sequence[str], *, body: bool = False) -> list[Column]:
    """Return the columns that `--columns` names, with the body if *body*; raises `UnknownColumn`."""
    names = default if text is None else parse_names(text)
    return list(available.chosen([*names, *(["body"] if body else [])]))


def default_columns(available: Columns, format: Format | None) -> tuple[Column, ...]:
    """Return the columns of a *format* if none are named: for people those listed, for programs all usual ones."""
    chosen = chosen_format(format)
    if chosen == "jsonl":
        return available.in_json()
    return available.chosen(available.usual if chosen in FORMATS else available.listed)


def write_records(
    records: Iterable[Any],
    columns: Sequence[Column],
    format: Format | None,
    *,
    asked_for: bool = True,
    title: str | None = None,
) -> int:
    """Write the *columns* of *records* to standard output and return the number of records.

    A short table omits empty columns, unless they were *asked_for*.
    """
    chosen, numbers = chosen_format(format), count()
    # The records come first: at their end no number is taken that is not that of a record.
    counted = map(lambda record, _: record, records, numbers)
    if chosen == TABLE:
        print_table(console(), counted, columns, asked_for=asked_for, to_width=on_terminal(), title=title)
    elif chosen == LINES:
        write_lines([_text(record, column) for column in columns] for record in counted)
    else:
        write_rows(
            counted, columns, sys.stdout if on_terminal() else sys.stdout.buffer, chosen, for_terminal=on_terminal()
        )
    sys.stdout.flush()
    return next(numbers)


def _text(record: Any, column: Column) -> str:
    value = shown_of(record, column)
    return value_text(value, charset_in(record) if isinstance(value, bytes) else None)


def write_fields(page: Page, columns: Sequence[Column], format: Format | None) -> None:
    """Write one page to standard output: a line for each column that has a value, or like `write_records`."""
    chosen = chosen_format(format)
    if chosen in FORMATS:
        write_records([page], columns, chosen)
        return
    filled = [column for column in columns if column.of(page) not in (None, {}, ())]
    if chosen == LINES:
        for column in filled:
            text = harmless(value_text(column.of(page), page.charset))
            write_bytes(f"{column.name}\t{text}\n".encode("utf-8", "replace"))
    else:
        table = new_table()
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        table.show_header = False
        for column in filled:
            table.add_row(column.name, field(page, column))
        console().print(table)
    sys.stdout.flush()


def write_body(page: Page) -> None:
    """Write the body of *page*: its raw bytes, or on a terminal text without control codes."""
    body = page.body or b""
    if on_terminal():
        text = decoded(body, page.charset or "utf-8")
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


def write_json(value: object) -> None:
    """Write a line of JSON to standard output."""
    import msgspec

    line = msgspec.json.encode(value)
    write_bytes((harmless_json(line.decode()).encode() if on_terminal() else line) + b"\n")


def console() -> Console:
    """Return a console that prints text as it is: no markup, no highlights, and in a pipe no wrapping."""
    from rich.console import Console

    class PlainConsole(Console):
        # Rich would exit with 1; here all formats exit in the same way (`webtable.cli.exit_codes`).
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    # Titles have brackets and words that rich would take for markup, emoji or numbers to colour.
    width = None if on_terminal() else UNLIMITED
    return PlainConsole(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


STANDARD_OUTPUT = Path("-")


def check_page_file(path: Path) -> None:
    """Raise `InvalidArgument` if no page can be written to *path*, before the data for it is read."""
    if path != STANDARD_OUTPUT and (path.is_dir() or not path.parent.is_dir()):
        raise InvalidArgument(f"{path}: a page cannot be written there; name a file in a directory that exists")


def write_page(path: Path, page: bytes) -> None:
    """Write *page* to a file, or to standard output; report its path. Raises `OSError` with the name of the file."""
    if path == STANDARD_OUTPUT:
        write_bytes(page)
        return
    with atomic_file(path) as part:
        part.write_bytes(page)
    note(f"written: {path}")

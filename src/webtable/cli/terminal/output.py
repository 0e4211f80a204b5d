"""Standard output: records as a table, as lines or in a format for programs, as they come."""

from __future__ import annotations

import sys
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable._files import atomic_file
from webtable.cli import completion
from webtable.cli.exit_codes import note
from webtable.cli.terminal.cells import field, shown_of
from webtable.cli.terminal.tables import UNLIMITED, new_table, print_table
from webtable.cli.terminal.text import parse_names
from webtable.display import harmless
from webtable.display.values import charset_in, decoded, harmless_json, value_text
from webtable.errors import InvalidArgument
from webtable.formats import FORMATS, write_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from webtable import Page
    from webtable.questions import Column, Columns


TABLE = "table"
LINES = "lines"
if TYPE_CHECKING:
    Format = str
else:
    # typer accepts choices only as an enum.
    Format = StrEnum("Format", [TABLE, LINES, *FORMATS])
    """How records are written: as a table or lines, or in a format of `webtable.formats` for programs."""


class FactsFormat(StrEnum):
    """The output formats of a command that reports one thing instead of listing records."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="As a table, tab-separated lines, or a format for programs. "
        "Default: a table on a terminal, lines in a pipe.",
        show_default=False,
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


def chosen_format(format: Format | None) -> Format:  # noqa: A002
    """Return *format*, or the default for where standard output goes."""
    return format or (TABLE if on_terminal() else LINES)


def parse_columns(text: str | None, known: Columns, default: Sequence[str], *, body: bool = False) -> list[Column]:
    """Return the columns that `--columns` names, with the body if *body*; raises `UnknownColumn`."""
    given = default if text is None else parse_names(text)
    return list(known.chosen([*given, *(["body"] if body else [])]))


def default_columns(known: Columns, format: Format | None) -> tuple[Column, ...]:  # noqa: A002
    """Return the columns of a *format* if none are named: for people those listed, for programs all usual ones."""
    chosen = chosen_format(format)
    if chosen == "jsonl":
        return known.in_json()
    return known.chosen(known.usual if chosen in FORMATS else known.listed)


def write_records(
    records: Iterable[Any],
    columns: Sequence[Column],
    format: Format | None,  # noqa: A002
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
        write_lines([_text(record, one) for one in columns] for record in counted)
    else:
        write_rows(
            counted, columns, sys.stdout if on_terminal() else sys.stdout.buffer, chosen, for_terminal=on_terminal()
        )
    sys.stdout.flush()
    return next(numbers)


def _text(record: Any, column: Column) -> str:
    value = shown_of(record, column)
    return value_text(value, charset_in(record) if isinstance(value, bytes) else None)


def write_fields(page: Page, columns: Sequence[Column], format: Format | None) -> None:  # noqa: A002
    """Write one page to standard output: a line for each column that has a value, or like `write_records`."""
    chosen = chosen_format(format)
    if chosen in FORMATS:
        write_records([page], columns, chosen)
        return
    filled = [one for one in columns if one.of(page) not in (None, {}, ())]
    if chosen == LINES:
        for one in filled:
            text = harmless(value_text(one.of(page), page.charset))
            write_bytes(f"{one.name}\t{text}\n".encode("utf-8", "replace"))
    else:
        table = new_table()
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        table.show_header = False
        for one in filled:
            table.add_row(one.name, field(page, one))
        console().print(table)
    sys.stdout.flush()


def write_body(page: Page) -> None:
    """Write the body of *page*: its raw bytes, or on a terminal text without control codes."""
    body = page.body or b""
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

    width = None if on_terminal() else UNLIMITED
    return PlainConsole(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


def check_page_file(path: Path) -> None:
    """Raise `InvalidArgument` if no HTML page can be written to *path*, before the data for it is read."""
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidArgument(f"{path}: a page cannot be written there; name a file in a directory that exists")


def write_page(path: Path, page: str) -> None:
    """Write an HTML page to a file and report its path; raises `OSError` with the name of the file."""
    with atomic_file(path) as part:
        part.write_text(page, encoding="utf-8")
    note(f"written: {path}")

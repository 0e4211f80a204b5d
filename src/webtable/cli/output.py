"""Records as a table, as plain lines, as JSON Lines or as CSV; written as they come, never all in memory."""

from __future__ import annotations

import csv
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from webtable.cli.cells import UNLIMITED, field, new_table, print_table
from webtable.cli.text import decoded, harmless, harmless_json, value_text
from webtable.page import Page
from webtable.repository.matching import Excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console


class Format(StrEnum):
    """How records are written."""

    table = "table"
    lines = "lines"
    jsonl = "jsonl"
    csv = "csv"


FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="As a table, tab-separated lines, JSON Lines or CSV. Default: a table on a terminal, lines in a pipe.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    str | None, typer.Option("--columns", metavar="A,B,C", help="The columns to show, as in url,title,etag.")
]


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def chosen_format(format: Format | None) -> Format:  # noqa: A002
    """Return *format*, or the default of where standard output goes to."""
    return format or (Format.table if on_terminal() else Format.lines)


def write_records(
    records: Iterable[Any],
    columns: Sequence[str],
    format: Format | None,  # noqa: A002
    *,
    asked_for: bool = True,
    title: str | None = None,
) -> int:
    """Write *records*, whose attributes are *columns*, to standard output and return how many they were.

    In a short table those columns that are empty are left out, unless they were *asked_for*.
    """
    counted = _Counted(records)
    match chosen_format(format):
        case Format.table:
            print_table(console(), counted, columns, asked_for=asked_for, to_width=on_terminal(), title=title)
        case Format.lines:
            _write_lines(counted, columns)
        case Format.jsonl:
            _write_jsonl(counted, columns)
        case Format.csv:
            _write_csv(counted, columns)
    sys.stdout.flush()
    return counted.count


def write_fields(page: Page, columns: Sequence[str], format: Format | None) -> None:  # noqa: A002
    """Write one page to standard output: a line for each of its columns that has a value, or as `write_records`."""
    chosen = chosen_format(format)
    if chosen in (Format.jsonl, Format.csv):
        write_records([page], columns, chosen)
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
            table.add_row(name, field(name, value, page.charset))
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


def write_json(value: object) -> None:
    """Write a line of JSON to standard output."""
    import msgspec

    line = msgspec.json.encode(value)
    write_bytes((harmless_json(line.decode()).encode() if on_terminal() else line) + b"\n")


def console() -> Console:
    """Return a console that prints text as it is: no markup, no highlights, and in a pipe no wrapping."""
    from rich.console import Console

    class PlainConsole(Console):
        # Rich would exit with 1; here all formats take the same way out (`webtable.cli.exits`).
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if on_terminal() else UNLIMITED
    return PlainConsole(file=sys.stdout, markup=False, highlight=False, emoji=False, width=width)


class _Counted:
    def __init__(self, records: Iterable[Any]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[Any]:
        for record in self._records:
            self.count += 1
            yield record


def _texts(record: Any, columns: Sequence[str]) -> Iterator[str]:
    charset = getattr(record, "charset", None)
    for name in columns:
        value = getattr(record, name)
        yield " ".join(map(value_text, value)) if name == "excerpts" else value_text(value, charset)


def _write_lines(records: Iterable[Any], columns: Sequence[str]) -> None:
    for record in records:
        write_bytes(("\t".join(map(harmless, _texts(record, columns))) + "\n").encode("utf-8", "replace"))


def _write_jsonl(records: Iterable[Any], columns: Sequence[str]) -> None:
    from webtable.formats import page_to_json

    terminal = on_terminal()
    for record in records:
        if not isinstance(record, Page):
            write_json(dict(_json_value(name, getattr(record, name)) for name in columns))
            continue
        line = page_to_json(record, columns)
        if terminal:
            line = harmless_json(line.decode()).encode()
        write_bytes(line + b"\n")


def _json_value(name: str, value: Any) -> tuple[str, Any]:
    """Return a column as it stands in JSON: as `webtable.formats.page_to_json` has it, excerpts with their marks."""
    match name, value:
        case "html", bytes():
            try:
                return name, value.decode()
            except UnicodeDecodeError:
                return "html_base64", value
        case _, Excerpt():
            return name, value.highlighted()
        case "excerpts", tuple():
            return name, [excerpt.highlighted() for excerpt in value]
        case _:
            return name, value


def _write_csv(records: Iterable[Any], columns: Sequence[str]) -> None:
    shown = harmless if on_terminal() else str
    lines = csv.writer(_Utf8(), lineterminator="\n")
    lines.writerow(columns)
    for record in records:
        lines.writerow(list(map(shown, _texts(record, columns))))


class _Utf8:
    """Standard output as the csv module wants it."""

    def write(self, text: str) -> None:
        write_bytes(text.encode("utf-8", "replace"))

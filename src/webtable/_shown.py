"""Values as notebooks and terminals show them: small tables of text, in which nothing that was crawled is live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

# Zero-width joiners belong to words (Persian) and emoji.
_INVISIBLE_AND_HARMLESS = "\u200c\u200d"
MOST_CHARACTERS = 200
"""Of a value so many characters are shown."""
_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top;overflow-wrap:anywhere"


@dataclass(frozen=True, slots=True)
class Shown:
    """A small table: what it is, its columns, its rows, and what else there is to say."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def html(self) -> str:
        """Return it as HTML: everything in it is text, whatever markup it has."""
        head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="{_CELL}">{escape(shown_text(value))}</td>' for value in row) + "</tr>"
            for row in self.rows
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p><b>{escape(shown_text(self.caption))}</b></p>{table}{note}"

    def rich(self) -> Table:
        """Return it as a table of rich, for terminals."""
        from rich.table import Table
        from rich.text import Text

        note = Text(self.note) if self.note else None
        table = Table(title=Text(shown_text(self.caption)), caption=note, title_justify="left")
        for name in self.columns:
            table.add_column(name, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(shown_text(value)) for value in row))
        return table


def shown_text(value: object) -> str:
    r"""Return *value* as one short line without anything that commands a terminal.

    >>> shown_text("two\nlines\x1b[2J"), shown_text(1234567), shown_text(None), shown_text(0.25)
    ('two lines\\x1b[2J', '1,234,567', '', '0.25')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        case bytes():
            value = value[: 4 * MOST_CHARACTERS].decode("utf-8", "replace")
    text = str(value)
    short = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    return harmless(short)


def size_text(size: float | None) -> str:
    """Return a number of bytes as people read it.

    >>> size_text(999), size_text(12_345), size_text(5_000_000)
    ('999 B', '12.3 kB', '5.0 MB')
    """
    if size is None:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95 or (unit == "B" and size < 1_000):
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:,.1f} TB"


def harmless(text: str) -> str:
    r"""Return *text* on one line, with nothing in it that a terminal would obey.

    >>> harmless("a\tb\x1b[31m")
    'a b\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable() or character in _INVISIBLE_AND_HARMLESS:
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()

"""Values as notebooks and terminals show them: small tables of text, in which nothing that was crawled is live."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

# Zero-width joiners belong to words (Persian) and emoji.
_INVISIBLE_AND_HARMLESS = "\u200c\u200d"
MOST_CHARACTERS = 200
"""Of a value so many characters are shown."""
_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top;overflow-wrap:anywhere;min-width:4em"


@dataclass(frozen=True, slots=True)
class Marked:
    """A text in pieces, each with whether it is marked."""

    pieces: Sequence[tuple[str, bool]]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def highlighted(self, before: str = "[", after: str = "]") -> str:
        """Return the text with *before* and *after* around each piece that is marked."""
        return "".join(f"{before}{text}{after}" if marked else text for text, marked in self.pieces)

    @classmethod
    def of(cls, text: str, marks: Iterable[tuple[int, int]]) -> Marked:
        """Return *text* with the pieces marked that *marks* tell from where to where; they do not overlap."""
        pieces, at = [], 0
        for start, stop in sorted(marks):
            pieces += [(text[at:start], False), (text[start:stop], True)]
            at = stop
        return cls([(piece, marked) for piece, marked in [*pieces, (text[at:], False)] if piece])


class ShowsItself(ABC):
    """What notebooks and terminals show as a small table."""

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Shown: ...

    def _repr_html_(self) -> str:
        return self._shown().html()

    def __rich__(self) -> object:
        return self._shown().rich()


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
            "<tr>" + "".join(f'<td style="{_CELL}">{_html(value)}</td>' for value in row) + "</tr>" for row in self.rows
        )
        note = f"<p>{escape(harmless(self.note))}</p>" if self.note else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p><b>{escape(shown_text(self.caption))}</b></p>{table}{note}"

    def rich(self) -> Table:
        """Return it as a table of rich, for terminals."""
        from rich.table import Table
        from rich.text import Text

        note = Text(harmless(self.note)) if self.note else None
        table = Table(title=Text(shown_text(self.caption)), caption=note, title_justify="left")
        for name in self.columns:
            table.add_column(name, overflow="fold")
        for row in self.rows:
            table.add_row(*map(_rich, row))
        return table


def _html(value: object) -> str:
    if not isinstance(value, Marked):
        return escape(shown_text(value))
    pieces = ((escape(harmless(text)), marked) for text, marked in value.pieces)
    return "".join(f"<mark>{text}</mark>" if marked else text for text, marked in pieces)


def _rich(value: object) -> Text:
    from rich.text import Text

    if not isinstance(value, Marked):
        return Text(shown_text(value))
    return Text.assemble(*((harmless(text), "reverse" if marked else "") for text, marked in value.pieces))


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

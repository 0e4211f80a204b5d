"""Small tables in which notebooks and terminals show values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from webtable.display.markup import escaped, table, tag
from webtable.display.text import harmless, minute_text, shown_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

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
        return [bool(some) and all(map(_is_number, some)) for some in values]


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

"""Small tables in which notebooks and terminals show values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._shown.markup import escaped, table, tag
from webtable._shown.text import harmless, shown_text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top;overflow-wrap:anywhere;min-width:4em"


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
    """A small table with a caption, columns, rows and a note."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""

    def html(self) -> str:
        """Return the table as HTML, with all values escaped."""
        heads = [tag("th", name, style=_CELL) for name in self.columns]
        rows = [[tag("td", _html(value), style=_CELL) for value in row] for row in self.rows]
        note = tag("p", self.note) if self.note else ""
        return escaped([tag("p", tag("b", shown_text(self.caption))), table(heads, rows), note])

    def rich(self) -> Table:
        """Return the table as one of rich, for terminals."""
        from rich.table import Table
        from rich.text import Text

        note = Text(harmless(self.note)) if self.note else None
        made = Table(title=Text(shown_text(self.caption)), caption=note, title_justify="left")
        for name in self.columns:
            made.add_column(name, overflow="fold")
        for row in self.rows:
            made.add_row(*map(_rich, row))
        return made


def _html(value: object) -> object:
    if not isinstance(value, Marked):
        return shown_text(value)
    return [tag("mark", text) if marked else text for text, marked in value.pieces]


def _rich(value: object) -> Text:
    from rich.text import Text

    if not isinstance(value, Marked):
        return Text(shown_text(value))
    return Text.assemble(*((harmless(text), "reverse" if marked else "") for text, marked in value.pieces))

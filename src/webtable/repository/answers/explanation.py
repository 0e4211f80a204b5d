"""The plan of an answer."""

from __future__ import annotations

import msgspec

from webtable.display import harmless
from webtable.display.markup import preformatted
from webtable.rowkey import KeyRange


class Explanation(msgspec.Struct, frozen=True):
    """The plan of an answer: its key ranges and the stored columns.

    `index` is the index whose entries are read, if any; the ranges are then ranges of entries. `notes` are remarks.
    """

    question: str
    order: str
    columns: tuple[str, ...]
    ranges: tuple[KeyRange, ...]
    index: str | None = None
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        return preformatted(self._lines())

    def __rich__(self) -> object:
        from rich.text import Text

        return Text(self._lines())

    def _lines(self) -> str:
        return "\n".join(map(harmless, str(self).splitlines()))

    def __str__(self) -> str:
        shown = [f"  {keys.start!r} .. {keys.stop!r}" for keys in self.ranges[:4]]
        if len(self.ranges) > 4:
            shown += [f"  … and {len(self.ranges) - 4:,} more"]
        return "\n".join(
            [
                self.question,
                f"order: {self.order}",
                *([f"index: {self.index}"] if self.index else []),
                f"columns: {', '.join(self.columns)}",
                f"ranges: {len(self.ranges):,}",
                *shown,
                *self.notes,
            ]
        )

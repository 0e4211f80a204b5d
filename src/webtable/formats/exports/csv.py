"""CSV (RFC 4180, in UTF-8, lines end with a newline): a heading, and values whole, quoted where they must be.

A value that a spreadsheet would take for a formula is written as it is: another program must get what a page says.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from webtable._shown import harmless
from webtable.formats.columns import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def lines(records: Iterable[Any], columns: Sequence[str] | None, *, for_terminal: bool) -> Iterator[bytes]:
    """Yield the heading and a line for each record."""
    # What `write` returns comes back from `writerow`.
    writer = csv.writer(_Echo(), lineterminator="\n")
    for row in rows_of(records, columns, harmless if for_terminal else str):
        yield writer.writerow(row).encode("utf-8", "replace")


class _Echo:
    def write(self, text: str) -> str:
        return text

"""CSV (RFC 4180, in UTF-8, lines end with a newline) with every value as it is, even if it is a formula.

For programs only: a spreadsheet runs text from a page that begins with "=". Use `csv` for spreadsheets.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from webtable.display import harmless
from webtable.display.values import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column


def lines(
    records: Iterable[Any],
    columns: Sequence[Column],
    *,
    for_terminal: bool,
    shown: Callable[[str], str] = str,
) -> Iterator[bytes]:
    """Yield the header line and a line for each record, its values converted by *shown*."""
    # `writerow` returns what `write` returns, and quotes the characters of its own line end, so that it is "\r\n" here:
    # readers may take either character for a line end.
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for row in rows_of(records, columns, (lambda text: harmless(shown(text))) if for_terminal else shown):
        line: str = writer.writerow(row)
        yield f"{line[:-2]}\n".encode("utf-8", "replace")


class _Echo:
    def write(self, text: str) -> str:
        return text

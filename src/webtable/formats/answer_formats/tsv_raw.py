r"""Tab-separated values, in UTF-8, with every value as it is: a header line, and each record on one line.

A tab, a line end and a backslash in a value are written as `\t`, `\n`, `\r` and `\\`, as PostgreSQL's COPY does,
and nothing is quoted, so that `cut`, `sort` and `awk` find the columns; quoted values could span lines. For programs
only: a spreadsheet runs text from a page that begins with "=". Use `tsv` for spreadsheets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webtable.display import harmless
from webtable.display.values import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def lines(
    records: Iterable[Any],
    columns: Sequence[Column],
    *,
    for_terminal: bool,
    shown: Callable[[str], str] = str,
) -> Iterator[bytes]:
    """Yield the header line and a line for each record, its values converted by *shown*."""

    def escaped(text: str) -> str:
        value = shown(text).translate(_ESCAPES)
        return harmless(value) if for_terminal else value

    for row in rows_of(records, columns, escaped):
        yield ("\t".join(row) + "\n").encode("utf-8", "replace")

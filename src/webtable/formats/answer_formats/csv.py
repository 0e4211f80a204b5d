"""CSV (RFC 4180, in UTF-8, lines end with a newline): a header line, and complete values, quoted where necessary.

A value that a spreadsheet would run as a formula gets an apostrophe in front, which makes it text there: the titles and
links of a crawl are written by strangers. `csv_raw` leaves values as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from webtable.formats.answer_formats import csv_raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column

# OWASP, "CSV Injection": a cell that begins with one of = + - @, a tab or a line end may be taken for a formula. The
# wide forms of the first four count as well in some languages. A number is not a formula, whatever its sign.
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def lines(records: Iterable[Any], columns: Sequence[Column], *, for_terminal: bool) -> Iterator[bytes]:
    """Yield the header line and a line for each record."""
    return csv_raw.lines(records, columns, for_terminal=for_terminal, shown=defused)


def defused(text: str) -> str:
    """Return *text* so that a spreadsheet does not run it as a formula.

    >>> defused("=1+2"), defused("-5"), defused("Home")
    ("'=1+2", '-5', 'Home')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text

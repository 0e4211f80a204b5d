r"""Tab-separated values, in UTF-8: a header line, and each record on one line whatever its values are.

A value that a spreadsheet would run as a formula gets an apostrophe in front, as in `csv`. `tsv_raw` leaves values as
they are; both write a tab, a line end and a backslash in a value as `\t`, `\n`, `\r` and `\\`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from webtable.formats.answer_formats import tsv_raw
from webtable.formats.answer_formats.csv import defused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.columns import Column

_QUOTES = re.compile(r'"+')


def lines(records: Iterable[Any], columns: Sequence[Column], *, for_terminal: bool) -> Iterator[bytes]:
    """Yield the header line and a line for each record."""
    return tsv_raw.lines(records, columns, for_terminal=for_terminal, shown=_defused)


def _defused(text: str) -> str:
    r"""Return *text* so that a spreadsheet does not run it, also if it takes quotes for those around a value.

    >>> _defused('"=1+2"'), _defused('"Home"')
    ('\'"=1+2"', '"Home"')
    """
    quotes = _QUOTES.match(text)
    within = text[quotes.end() :] if quotes else text
    return text if defused(within) == within else f"'{text}"

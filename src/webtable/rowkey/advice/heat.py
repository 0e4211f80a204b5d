"""How hot the regions are, as it is drawn and written: neighbours as one where they are many, shares, first keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from webtable.rowkey.ranges import key_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey.advice.judgement import Judgement

MOST_ROWS = 128
_MOST_COLUMNS = 96

_LABEL = 22
"""How many characters of a split point are shown; of a longer one the beginning and the end."""
_SIGN = re.compile(r"\\x[0-9A-F]{2}|.")


def share_text(share: float) -> str:
    """Return a share as percent, with a decimal only where it is small.

    >>> share_text(0.341), share_text(0.0162), share_text(0)
    ('34%', '1.6%', '0%')
    """
    return f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"


def start_text(key: bytes) -> str:
    r"""Return the first key of a region, with spaces made visible; the first region has a name of its own.

    >>> start_text(b" x"), start_text(b"")
    ('\\x20x', '(beginning)')
    """
    return key_text(key).replace(" ", r"\x20") or "(beginning)"


def shared_start(low: bytes, high: bytes) -> int:
    """Return how many bytes two keys have in common at their beginning."""
    return next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))


def label(start: bytes, shared: int) -> str:
    """Return the first key of a region; of a long one what it does not share with all others, its beginning and end."""
    text = start_text(start)
    if len(text) > _LABEL and shared > 2:
        text = f"…{start_text(start[shared:])}" if start[shared:] else text
    if len(text) > _LABEL:
        # An escape such as \\xFF stays whole.
        signs = [(sign.start(), sign.end(), sign[0]) for sign in _SIGN.finditer(text)]
        head = "".join(sign for _, end, sign in signs if end <= _LABEL - 7)
        tail = "".join(sign for start, _, sign in signs if start >= len(text) - 6)
        text = f"{head}…{tail}"
    return text


class Scale(NamedTuple):
    """What the darkest colour and the longest bar stand for: shares of a moment's writes, and of all rows."""

    at_once: float
    rows: float


class HeatRow(NamedTuple):
    """One or several neighbouring regions: the first of them, the key that it begins with, and shares of the writes."""

    region: int
    start: bytes
    moments: tuple[float, ...]
    rows: float


def scale_of(designs: Sequence[Judgement]) -> Scale:
    """Return the scale that makes pictures of *designs* comparable, the shares rounded up to whole tenths.

    It goes up to twice what chance makes of the hottest region at least, so that what is spread looks pale.
    """
    rows = [row for design in designs for row in rows_of(design)]
    even = min(1.0, 2 * max(design.writes.fair for design in designs))
    return Scale(_tenths(max(even, *(max(row.moments) for row in rows))), _tenths(max(row.rows for row in rows)))


def rows_of(judgement: Judgement) -> list[HeatRow]:
    """Return what the picture shows; where there are too many regions, a row is the hottest one of some neighbours."""
    writes = judgement.writes
    columns = _columns([sum(counts) for counts in zip(*writes.heat, strict=True)])
    totals = [sum(sum(region[column]) for region in writes.heat) for column in columns]
    everything = sum(totals)
    starts = (b"", *writes.splits)
    rows = [
        HeatRow(
            number,
            starts[number],
            tuple(sum(region[column]) / total for column, total in zip(columns, totals, strict=True)),
            sum(region) / everything,
        )
        for number, region in enumerate(writes.heat)
    ]
    group = -(-len(rows) // MOST_ROWS)
    return [_hottest(rows[at : at + group]) for at in range(0, len(rows), group)]


def _hottest(rows: Sequence[HeatRow]) -> HeatRow:
    moments = tuple(map(max, zip(*(row.moments for row in rows), strict=True)))
    return HeatRow(rows[0].region, rows[0].start, moments, max(row.rows for row in rows))


def _columns(counts: Sequence[int]) -> list[slice]:
    """Return which windows are a column; a last window that is much shorter goes with the one before it."""
    group = -(-len(counts) // _MOST_COLUMNS)
    starts = list(range(0, len(counts), group))
    # A share of very few keys is high by chance.
    if len(starts) > 1 and 2 * sum(counts[starts[-1] :]) < sum(counts[starts[-2] : starts[-1]]):
        starts.pop()
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(counts)], strict=True)]


def _tenths(share: float) -> float:
    return -(-round(share * 1000) // 100) / 10

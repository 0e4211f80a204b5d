"""Heat maps of the writes as SVG: regions from top to bottom, time from left to right."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from webtable.display.markup import Markup, escaped, tag
from webtable.rowkey.advice.ranking import Judgement, share_text
from webtable.rowkey.ranges import key_text, shared_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Sixteen steps of equal contrast: in OKLCH the lightness changes by the same amount each time, so that they are
# distinguishable without hues too. From paper to red, and from night to yellow.
_ON_LIGHT = (
    "f6f4eb efe6cb ead7ac e7c88b e5b769 e5a445 e5902b e27b19 de6513 d84e19 cf3520 c22021 b01226 9f0228 8b022a 780029"
)
ON_LIGHT = tuple(f"#{colour}" for colour in _ON_LIGHT.split())
_ON_DARK = (
    "232535 322d4a 45335e 5c386e 753b7a 913e7f ad427c c94772 e34e61 fb5946 ff7840 ff954a ffae5a fec66e ffdc84 fff19c"
)
ON_DARK = tuple(f"#{colour}" for colour in _ON_DARK.split())
INKS_ON_LIGHT = {"panel": "#ffffff", "ink": "#1f2328", "muted": "#59636e", "bar": "#8c7a6b"}
INKS_ON_DARK = {"panel": "#14151f", "ink": "#eceaf2", "muted": "#a8a5b5", "bar": "#8d88a3"}

MOST_ROWS = 128
"""The most rows of a picture: with 3 pixels for each it is as high as a screen."""
_MOST_COLUMNS = 96
_LABEL = 22
"""How many characters of a split point are shown; a longer one is shortened in the middle."""
_SIGN = re.compile(r"\\x[0-9A-F]{2}|.")

_LEFT, _WIDE, _GAP, _BARS, _RIGHT = 168, 512, 16, 96, 48
_WIDTH = _LEFT + _WIDE + _GAP + _BARS + _RIGHT
_SANS = "system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif"
_MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"


# --- Rows and scales --------------------------------------------------------------------------------------------------


class Scale(NamedTuple):
    """The shares of a moment's writes, and of all rows, of the darkest colour and the longest bar."""

    at_once: float
    rows: float


class HeatRow(NamedTuple):
    """One or several neighbouring regions: the key that the first begins with, and shares of the writes."""

    start: bytes
    moments: tuple[float, ...]
    rows: float


def scale_of(designs: Sequence[Judgement]) -> Scale:
    """Return a common scale for pictures of *designs*, the shares rounded up to whole tenths.

    It goes up to at least twice the share of the hottest region by chance, so that evenly distributed writes look pale.
    """
    rows = [row for design in designs for row in rows_of(design)]
    even = min(1.0, 2 * max(design.writes.fair for design in designs))
    return Scale(_tenths(max(even, *(max(row.moments) for row in rows))), _tenths(max(row.rows for row in rows)))


def _tenths(share: float) -> float:
    return -(-round(share * 1000) // 100) / 10


def rows_of(judgement: Judgement) -> list[HeatRow]:
    """Return the rows of the picture; if there are too many regions, a row is the hottest of several neighbours."""
    writes = judgement.writes
    columns = _columns([sum(counts) for counts in zip(*writes.heat, strict=True)])
    totals = [sum(sum(region[column]) for region in writes.heat) for column in columns]
    rows = [
        HeatRow(
            start,
            tuple(sum(region[column]) / total for column, total in zip(columns, totals, strict=True)),
            sum(region) / sum(totals),
        )
        for start, region in zip((b"", *writes.splits), writes.heat, strict=True)
    ]
    group = -(-len(rows) // MOST_ROWS)
    return [_hottest(rows[at : at + group]) for at in range(0, len(rows), group)]


def _hottest(rows: Sequence[HeatRow]) -> HeatRow:
    moments = tuple(map(max, zip(*(row.moments for row in rows), strict=True)))
    return HeatRow(rows[0].start, moments, max(row.rows for row in rows))


def _columns(counts: Sequence[int]) -> list[slice]:
    """Return the windows of each column; a much shorter last window is joined with the one before."""
    group = -(-len(counts) // _MOST_COLUMNS)
    starts = list(range(0, len(counts), group))
    # With very few keys a share is high by chance.
    if len(starts) > 1 and 2 * sum(counts[starts[-1] :]) < sum(counts[starts[-2] : starts[-1]]):
        starts.pop()
    return [slice(start, stop) for start, stop in zip(starts, [*starts[1:], len(counts)], strict=True)]


def start_text(key: bytes) -> str:
    r"""Return the first key of a region, with spaces made visible; "(beginning)" for the first region.

    >>> start_text(b" x"), start_text(b"")
    ('\\x20x', '(beginning)')
    """
    return key_text(key).replace(" ", r"\x20") or "(beginning)"


def _label(start: bytes, shared: int) -> str:
    """Return a label for the first key of a region; a long key without the common prefix, shortened in the middle."""
    text = start_text(start)
    if len(text) > _LABEL and shared > 2 and start[shared:]:
        text = f"…{start_text(start[shared:])}"
    if len(text) > _LABEL:
        # An escape such as \\xFF stays whole.
        signs = list(_SIGN.finditer(text))
        head = "".join(sign[0] for sign in signs if sign.end() <= _LABEL - 7)
        tail = "".join(sign[0] for sign in signs if sign.start() >= len(text) - 6)
        text = f"{head}…{tail}"
    return text


# --- Drawing ----------------------------------------------------------------------------------------------------------


def heat_map(judgement: Judgement, *, scale: Scale | None = None, keys: int | None = None) -> str:
    """Return an SVG image of the writes of each region over time, with a bar for its rows in the end.

    It is self-contained and suits light and dark pages. Its colours go from 0 to 100 % of a moment's writes, or as far
    as *scale* says: use that of `scale_of` for pictures that are compared. *keys* is the number of all keys, if a
    sample was measured. The same judgement gives the same bytes.
    """
    colors = {f"h{step}": color for step, color in enumerate(ON_DARK)} | INKS_ON_DARK
    rules = "".join(f".wt-{name}{{fill:{color}}}" for name, color in colors.items())
    scale = scale or scale_of([judgement])._replace(at_once=1.0)
    writes, rows, top = judgement.writes, rows_of(judgement), 58
    high = max(3, min(20, 320 // len(rows)))
    bottom = top + high * len(rows)
    hottest = share_text(writes.hottest_at_once)
    group = -(-len(writes.heat) // MOST_ROWS)
    several = f" (a row is the hottest of {group} regions)" if group > 1 else ""
    summary = (
        f"{judgement.name}: at a moment the hottest of {len(writes.heat)} regions takes {hottest} of the writes; by "
        f"chance it would be {share_text(writes.fair)}"
    )
    return tag(
        "svg",
        tag("title", summary),
        tag("rect/", **_ink("panel"), width=_WIDTH, height=bottom + 84, rx=6),
        tag("style", Markup(f"@media(prefers-color-scheme:dark){{{rules}}}")),
        _text(16, 24, judgement.name, "ink", font_size=16, font_weight=600),
        _text(_WIDTH - 16, 24, f"hottest region {hottest} of the writes at a moment", "ink", "end"),
        _text(_LEFT - 10, top - 12, "region from", "muted", "end"),
        _text(_LEFT, top - 12, f"writes over time{several}", "muted"),
        _text(_LEFT + _WIDE + _GAP, top - 12, "rows in the end", "muted"),
        _cells(rows, scale, top, high),
        _labels(rows, top, high),
        _bars(rows, scale, len(writes.heat), top, high),
        _text(_LEFT, bottom + 16, "first key", "muted"),
        _text(_LEFT + _WIDE // 2, bottom + 16, "order of arrival →", "muted", "middle"),
        _text(_LEFT + _WIDE, bottom + 16, f"key {keys or sum(map(sum, writes.heat)):,}", "muted", "end"),
        _legend(scale, writes.fair, bottom + 50),
        xmlns="http://www.w3.org/2000/svg",
        width=_WIDTH,
        viewBox=f"0 0 {_WIDTH} {bottom + 84}",
        role="img",
        aria_label=summary,
        class_="wt-map",
        font_family=_SANS,
        font_size=12,
    )


def _ink(kind: str) -> dict[str, object]:
    # Programs without style sheets use the attribute, which is for light pages.
    return {"class_": f"wt-{kind}", "fill": INKS_ON_LIGHT[kind]}


def _text(x: int, y: int, text: str, kind: str, anchor: str = "", **attributes: object) -> Markup:
    return tag("text", text, x=x, y=y, **_ink(kind), text_anchor=anchor, **attributes)


def _cells(rows: Sequence[HeatRow], scale: Scale, top: int, pitch: int) -> Markup:
    """Return the coloured cells, one path for each colour, with neighbours of the same colour joined."""
    paths: dict[int, list[str]] = {step: [] for step in range(len(ON_LIGHT))}
    high = pitch - 1 if pitch > 6 else pitch
    for number, row in enumerate(rows):
        for step, start, stop in _runs([_step(share, scale) for share in row.moments]):
            from_x, to_x = (round(_WIDE * at / len(row.moments)) for at in (start, stop))
            paths[step].append(f"M{_LEFT + from_x} {top + number * pitch}h{to_x - from_x}v{high}h{from_x - to_x}z")
    drawn = (_swatch(step, "".join(parts)) for step, parts in paths.items() if parts)
    return tag("g", drawn, shape_rendering="crispEdges")


def _step(share: float, scale: Scale) -> int:
    """Return the colour of a share; the first one is for a share of 0."""
    last = len(ON_LIGHT) - 1
    return min(last, -int(-last * share // scale.at_once)) if share > 0 else 0


def _swatch(step: int, path: str) -> Markup:
    return tag("path/", class_=f"wt-h{step}", fill=ON_LIGHT[step], d=path)


def _runs(steps: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    at = 0
    for step, same in groupby(steps):
        length = len(list(same))
        yield step, at, at + length
        at += length


def _labels(rows: Sequence[HeatRow], top: int, high: int) -> Markup:
    every = -(-14 // high)  # a label is 14 pixels high
    # The first region begins with no key; the keys of the others may all begin alike.
    shared = shared_start(rows[1].start, rows[-1].start) if len(rows) > 1 else 0
    texts = (
        tag("text", _label(row.start, shared), x=_LEFT - 10, y=top + number * every * high + high // 2 + 4)
        for number, row in enumerate(rows[::every])
    )
    return tag("g", texts, **_ink("ink"), text_anchor="end", font_size=11, font_family=_MONOSPACE)


def _bars(rows: Sequence[HeatRow], scale: Scale, regions: int, top: int, high: int) -> Markup:
    """Return a bar for the rows of each region, a line at the fair share, and the share of the largest in numbers."""
    x = _LEFT + _WIDE + _GAP
    widths = [round(_BARS * row.rows / scale.rows) for row in rows]
    thick = max(2, high - 6) if high > 6 else high - 1
    path = "".join(
        f"M{x} {top + number * high + (high - 1 - thick) // 2}h{width}v{thick}h-{width}z"
        for number, width in enumerate(widths)
        if width
    )
    fair = tag(
        "rect",
        tag("title", f"even: {share_text(1 / regions)}"),
        **_ink("ink"),
        fill_opacity=".55",
        x=x + round(_BARS / regions / scale.rows),
        y=top - 2,
        width=1,
        height=high * len(rows) + 3,
    )
    largest = max(range(len(rows)), key=lambda number: rows[number].rows)
    y = top + largest * high + high // 2 + 4
    share = _text(x + widths[largest] + 6, y, share_text(rows[largest].rows), "ink")
    return escaped([tag("path/", **_ink("bar"), shape_rendering="crispEdges", d=path), fair, share])


def _legend(scale: Scale, fair: float, y: int) -> Markup:
    wide = 12
    whole = wide * len(ON_LIGHT)
    x = _LEFT + _WIDE - whole
    swatches = (_swatch(step, f"M{x + step * wide} {y}h{wide}v10h-{wide}z") for step in range(len(ON_LIGHT)))
    mark = x + round(whole * min(1.0, fair / scale.at_once))
    return escaped(
        [
            _text(x - 10, y + 9, "share of a moment's writes", "muted", "end"),
            tag("g", swatches, shape_rendering="crispEdges"),
            _text(x, y + 24, "0", "muted"),
            _text(x + whole, y + 24, share_text(scale.at_once), "muted", "end"),
            tag("path/", **_ink("ink"), d=f"M{mark} {y - 1}l-4 -6h8z"),
            _text(mark, y - 10, f"by chance {share_text(fair)}", "muted", "middle"),
        ]
    )

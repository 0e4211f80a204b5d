"""A picture of the writes: regions from top to bottom, time from left to right, and what is hot stands out."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from webtable._html import escaped
from webtable.rowkey.advice.colors import INKS_ON_DARK, INKS_ON_LIGHT, ON_DARK, ON_LIGHT
from webtable.rowkey.advice.heat import MOST_ROWS, HeatRow, Scale, rows_of, scale_of
from webtable.rowkey.advice.labels import label, share_text, shared_start, start_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.rowkey.advice.judgement import Judgement

_LEFT, _WIDE, _GAP, _BARS, _RIGHT = 168, 512, 16, 96, 48
_WIDTH = _LEFT + _WIDE + _GAP + _BARS + _RIGHT


def heat_map(judgement: Judgement, *, scale: Scale | None = None, keys: int | None = None) -> str:
    """Return an SVG image of the writes of each region over time, with a bar for the rows that it has in the end.

    It needs nothing else and suits light and dark pages. Its colours go from 0 to 100 % of a moment's writes, or as far
    as *scale* says: that of `scale_of`, for pictures that are compared. *keys* is how many keys there were, where a
    sample was measured. The same judgement gives the same bytes.
    """
    fills = "".join(f".wt-h{step}{{fill:{color}}}" for step, color in enumerate(ON_DARK))
    inks = "".join(f".wt-{name}{{fill:{color}}}" for name, color in INKS_ON_DARK.items())
    style = f"<style>@media(prefers-color-scheme:dark){{{fills}{inks}}}</style>"
    attributes = f'xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" '
    scale = scale or scale_of([judgement])._replace(at_once=1.0)
    return _drawing(judgement, scale, keys, attributes, style, _heading(judgement))


def inline_heat_map(judgement: Judgement, scale: Scale, keys: int) -> str:
    """Return the same as an element of a page, as wide as there is room; `heat_colors` has its dark colours."""
    return _drawing(judgement, scale, keys, "", "", "")


def thumbnail(judgement: Judgement, scale: Scale) -> str:
    """Return the colours alone, small, as an element of a page."""
    rows = rows_of(judgement)
    high = _row_height(len(rows))
    return (
        f'<svg class="thumb" viewBox="0 0 {_WIDE} {high * len(rows)}" preserveAspectRatio="none" '
        f'aria-hidden="true">{_cells(rows, scale, 0, 0, high, high)}</svg>'
    )


def _drawing(judgement: Judgement, scale: Scale, keys: int | None, attributes: str, style: str, heading: str) -> str:
    rows = rows_of(judgement)
    high = _row_height(len(rows))
    top = 58 if heading else 34
    bottom = top + high * len(rows)
    height = bottom + 84
    summary = _summary(judgement)
    total = keys or sum(map(sum, judgement.writes.heat))
    return "".join(
        [
            f'<svg {attributes}viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{summary}" class="wt-map" '
            f'font-family="system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif" font-size="12">',
            f"<title>{summary}</title>{style}",
            f'<rect class="wt-panel" fill="{INKS_ON_LIGHT["panel"]}" width="{_WIDTH}" height="{height}" rx="6"/>',
            heading,
            _text(_LEFT - 10, top - 12, "region from", "muted", "end"),
            _text(_LEFT, top - 12, _over_time(judgement, len(rows)), "muted"),
            _text(_LEFT + _WIDE + _GAP, top - 12, "rows in the end", "muted"),
            _cells(rows, scale, _LEFT, top, high, high - 1 if high > 6 else high),
            _labels(rows, top, high),
            _bars(rows, scale, len(judgement.writes.heat), top, high),
            _tooltips(rows, top, high, len(judgement.writes.heat[0])),
            _text(_LEFT, bottom + 16, "first key", "muted"),
            _text(_LEFT + _WIDE // 2, bottom + 16, "order of arrival →", "muted", "middle"),
            _text(_LEFT + _WIDE, bottom + 16, f"key {total:,}", "muted", "end"),
            _legend(scale, judgement.writes.fair, bottom + 50),
            "</svg>",
        ]
    )


def _row_height(rows: int) -> int:
    return max(3, min(20, 320 // rows))


def _summary(judgement: Judgement) -> str:
    writes = judgement.writes
    return (
        f"{escaped(judgement.name)}: at a moment the hottest of {len(writes.heat)} regions takes "
        f"{share_text(writes.hottest_at_once)} of the writes; by chance it would be {share_text(writes.fair)}"
    )


def _heading(judgement: Judgement) -> str:
    writes = judgement.writes
    told = f"hottest region {share_text(writes.hottest_at_once)} of the writes at a moment"
    return _text(16, 24, escaped(judgement.name), "ink", extra=' font-size="16" font-weight="600"') + _text(
        _WIDTH - 16, 24, told, "ink", "end"
    )


def _over_time(judgement: Judgement, rows: int) -> str:
    regions = len(judgement.writes.heat)
    group = -(-regions // MOST_ROWS)
    return "writes over time" + (f" (a row is the hottest of {group} regions)" if rows < regions else "")


def _text(x: int, y: int, text: str, kind: str, anchor: str = "", extra: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x}" y="{y}" class="wt-{kind}" fill="{INKS_ON_LIGHT[kind]}"{where}{extra}>{text}</text>'


def _step(share: float, scale: Scale) -> int:
    """Return the colour of a share; the first one is for nothing at all."""
    last = len(ON_LIGHT) - 1
    return min(last, -int(-last * share // scale.at_once)) if share > 0 else 0


def _cells(rows: Sequence[HeatRow], scale: Scale, left: int, top: int, pitch: int, high: int) -> str:
    """Return the coloured cells, a path for each colour, neighbours of the same colour as one."""
    paths: dict[int, list[str]] = {step: [] for step in range(len(ON_LIGHT))}
    for number, row in enumerate(rows):
        for step, start, stop in _runs([_step(share, scale) for share in row.moments]):
            from_x, to_x = (round(_WIDE * at / len(row.moments)) for at in (start, stop))
            paths[step].append(f"M{left + from_x} {top + number * pitch}h{to_x - from_x}v{high}h{from_x - to_x}z")
    drawn = (
        f'<path class="wt-h{step}" fill="{ON_LIGHT[step]}" d="{"".join(parts)}"/>'
        for step, parts in paths.items()
        if parts
    )
    return f'<g shape-rendering="crispEdges">{"".join(drawn)}</g>'


def _runs(steps: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    at = 0
    for step, same in groupby(steps):
        length = len(list(same))
        yield step, at, at + length
        at += length


def _labels(rows: Sequence[HeatRow], top: int, high: int) -> str:
    every = -(-14 // high)
    shared = shared_start(rows[1].start, rows[-1].start) if len(rows) > 1 else 0
    texts = (
        f'<text x="{_LEFT - 10}" y="{top + number * every * high + high // 2 + 4}">'
        f"{escaped(label(row.start, shared))}</text>"
        for number, row in enumerate(rows[::every])
    )
    return (
        f'<g class="wt-ink" fill="{INKS_ON_LIGHT["ink"]}" text-anchor="end" font-size="11" '
        f'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace">{"".join(texts)}</g>'
    )


def _bars(rows: Sequence[HeatRow], scale: Scale, regions: int, top: int, high: int) -> str:
    """Return a bar for the rows of each region, a line at the fair share, and the share of the largest in numbers."""
    left = _LEFT + _WIDE + _GAP
    widths = [round(_BARS * row.rows / scale.rows) for row in rows]
    thick = max(2, high - 6) if high > 6 else high - 1
    path = "".join(
        f"M{left} {top + number * high + (high - 1 - thick) // 2}h{width}v{thick}h-{width}z"
        for number, width in enumerate(widths)
        if width
    )
    largest = max(range(len(rows)), key=lambda number: rows[number].rows)
    fair = left + round(_BARS / regions / scale.rows)
    return "".join(
        [
            f'<path class="wt-bar" fill="{INKS_ON_LIGHT["bar"]}" shape-rendering="crispEdges" d="{path}"/>',
            f'<rect class="wt-ink" fill="{INKS_ON_LIGHT["ink"]}" fill-opacity=".55" x="{fair}" y="{top - 2}" width="1" '
            f'height="{high * len(rows) + 3}"><title>even: {share_text(1 / regions)}</title></rect>',
            _text(
                left + widths[largest] + 6, top + largest * high + high // 2 + 4, share_text(rows[largest].rows), "ink"
            ),
        ]
    )


def _tooltips(rows: Sequence[HeatRow], top: int, high: int, windows: int) -> str:
    shown = []
    for number, row in enumerate(rows):
        most = max(row.moments)
        when = (row.moments.index(most) + 0.5) / len(row.moments)
        peak = f", {share_text(most)} at most" + (f" (at {when:.0%} of the time)" if windows > 1 else "")
        shown.append(
            f'<rect x="0" y="{top + number * high}" width="{_WIDTH}" height="{high}"><title>region '
            f"{row.region + 1}, from {escaped(start_text(row.start))}: {share_text(row.rows)} of all writes"
            f"{peak}</title></rect>"
        )
    return f'<g fill-opacity="0">{"".join(shown)}</g>'


def _legend(scale: Scale, fair: float, y: int) -> str:
    wide = 12
    whole = wide * len(ON_LIGHT)
    left = _LEFT + _WIDE - whole
    swatches = "".join(
        f'<path class="wt-h{step}" fill="{color}" d="M{left + step * wide} {y}h{wide}v10h-{wide}z"/>'
        for step, color in enumerate(ON_LIGHT)
    )
    mark = left + round(whole * min(1.0, fair / scale.at_once))
    return "".join(
        [
            _text(left - 10, y + 9, "share of a moment's writes", "muted", "end"),
            f'<g shape-rendering="crispEdges">{swatches}</g>',
            _text(left, y + 24, "0", "muted"),
            _text(left + whole, y + 24, share_text(scale.at_once), "muted", "end"),
            f'<path class="wt-ink" fill="{INKS_ON_LIGHT["ink"]}" d="M{mark} {y - 1}l-4 -6h8z"/>',
            _text(mark, y - 10, f"by chance {share_text(fair)}", "muted", "middle"),
        ]
    )

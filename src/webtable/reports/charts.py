"""Small pictures for reports: sizes as bars from left to right, shares of a whole as one bar. SVG inside of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._html import escaped
from webtable._shown.sizes import size_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from webtable.reports.totals import Group, SizeCount

_WIDTH, _LEFT, _RIGHT, _HIGH = 350, 116, 52, 24
_MOST_GROUPS = 8


def sizes_picture(classes: Sequence[SizeCount]) -> str:
    """Return a histogram of the sizes of pages: a bar for each class, with its number of pages."""
    most = max((one.pages for one in classes), default=0) or 1
    room = _WIDTH - _LEFT - _RIGHT
    bars = "".join(
        f'<text class="axis" x="{_LEFT - 10}" y="{at * _HIGH + 16}" text-anchor="end">{one.name}</text>'
        f'<rect x="{_LEFT}" y="{at * _HIGH + 4}" width="{_bar(one.pages, most, room)}" height="{_HIGH - 8}" rx="2"/>'
        f'<text x="{_LEFT + _bar(one.pages, most, room) + 6}" y="{at * _HIGH + 16}">{one.pages:,}</text>'
        for at, one in enumerate(classes)
    )
    height = len(classes) * _HIGH
    return f'<svg class="sizes" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Pages by size">{bars}</svg>'


def shares_picture(counts: Mapping[str, int]) -> str:
    """Return a bar with a part for each of *counts*, which are also the classes of the parts."""
    total, at, parts = sum(counts.values()) or 1, 0.0, []
    for name, count in counts.items():
        share = 1000 * count / total
        if count:
            title = f"<title>{escaped(name)}: {count:,}</title>"
            parts.append(f'<rect class="{name}" x="{at:.1f}" width="{share:.1f}" height="14">{title}</rect>')
        at += share
    told = escaped(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    attributes = f'viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="{told}"'
    return f'<svg class="shares" {attributes}>{"".join(parts)}</svg>'


def groups_table(name: str, groups: Sequence[Group]) -> str:
    """Return the groups with the most pages as a table with bars; the rest of them as one line."""
    shown = list(groups[:_MOST_GROUPS])
    total = sum(group.pages for group in groups) or 1
    rows = "".join(_group(group.name, group.pages, group.bytes, total) for group in shown)
    if rest := groups[len(shown) :]:
        said = f"{len(rest):,} more"
        rows += _group(said, sum(one.pages for one in rest), sum(one.bytes for one in rest), total)
    heads = f'<th class="text">{escaped(name)}</th><th>pages</th><th>size</th>'
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _group(name: str, pages: int, size: int, total: int) -> str:
    bar = f'<span class="bar"><i style="width:{pages / total:.1%}"></i></span>'
    return f'<tr><td class="text">{escaped(name)}</td><td>{pages:,}{bar}</td><td>{size_text(size)}</td></tr>'


def _bar(pages: int, most: int, room: int) -> int:
    return max(2, round(room * pages / most)) if pages else 0

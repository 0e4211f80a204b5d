"""Charts as SVG, drawn without a browser: for the explorer, for reports and for notebooks.

Each says its values as text (`aria-label`), for those who cannot see it, and on hover. Colours are the text's own, more
or less opaque, until a stylesheet gives its classes others: `track`, `value`, and those of the kinds of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.display.markup import Markup, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Amount(NamedTuple):
    """A number with its name; `kind` is the CSS class of its colour."""

    name: str
    number: int
    kind: str = "value"


class Mark(NamedTuple):
    """A moment on a time line: its `place` from 0 to 1, what it is, the kind of its colour, and where it leads."""

    place: float
    text: str
    kind: str = ""
    href: str | None = None


# Without a stylesheet neighbours in a stack differ by these alone.
_OPACITY: Final = {"track": 0.12, "s2": 0.3, "s3": 0.5, "s4": 0.75, "s5": 0.9}
_FINE: Final = "non-scaling-stroke"


def bar(share: float, label: str = "", kind: str = "value") -> Markup:
    """Return a bar that is filled up to *share*, from 0 to 1.

    >>> bar(0.25)[-91:]
    'width="25.0" height="10" class="value" fill="currentColor" fill-opacity="0.6"></rect></svg>'
    """
    wide = round(100 * min(max(share, 0), 1), 2)
    return _chart("bar", 100, 10, label or f"{share:.1%}", _rect(0, 0, 100, 10, "track"), _rect(0, 0, wide, 10, kind))


def stack(amounts: Sequence[Amount], noun: str = "") -> Markup:
    """Return one bar that is divided by *amounts*."""
    total, at = sum(amount.number for amount in amounts) or 1, 0.0
    parts: list[Markup] = []
    for amount in amounts:
        wide = 100 * amount.number / total
        alternating: dict[str, object] = {} if amount.kind else {"fill_opacity": (0.6, 0.35)[len(parts) % 2]}
        parts.append(_rect(round(at, 2), 0, round(wide, 2), 10, amount.kind, _text(amount), **alternating))
        at += wide
    label = ", ".join(map(_text, amounts))
    return _chart("stack", 100, 10, f"{noun} {label}".strip() or "nothing", _rect(0, 0, 100, 10, "track"), parts)


def area(amounts: Sequence[Amount], noun: str = "") -> Markup:
    """Return *amounts*, which are in order, as a line with the area below it."""
    highest, last = max((amount.number for amount in amounts), default=0) or 1, max(len(amounts) - 1, 1)
    points = [
        (round(400 * at / last, 1), round(36 - 34 * amount.number / highest, 1)) for at, amount in enumerate(amounts)
    ]
    if len(points) == 1:
        points.append((400, points[0][1]))
    line = " ".join(f"{x},{y}" for x, y in points)
    wide = 400 / max(len(amounts), 1)
    columns = (
        _rect(round(at * wide, 1), 0, round(wide, 1), 38, "hover", _text(amount), fill="transparent")
        for at, amount in enumerate(amounts)
    )
    drawn = (
        tag("polygon/", points=f"0,38 {line} 400,38", class_="track", fill="currentColor", fill_opacity=0.12),
        tag("polyline/", points=line, class_="line", fill="none", stroke="currentColor", vector_effect=_FINE),
    )
    largest = max(amounts, key=lambda amount: amount.number, default=Amount("", 0))
    ends = f"{amounts[0].name} to {amounts[-1].name}" if amounts else "nothing"
    total = sum(amount.number for amount in amounts)
    label = f"{noun} {ends}: {total:,} in all, most {largest.number:,} on {largest.name}".strip()
    return _chart("area", 400, 38, label, drawn if amounts else "", columns)


def heat(amounts: Sequence[Amount], columns: int = 32, noun: str = "") -> Markup:
    """Return *amounts* as squares, *columns* in a row, the darker the more."""
    highest = max((amount.number for amount in amounts), default=0) or 1
    lowest = min((amount.number for amount in amounts), default=0)
    squares = (
        _rect(
            12 * (at % columns), 12 * (at // columns), 10, 10, "value", _text(amount),
            fill_opacity=round(0.08 + 0.92 * amount.number / highest, 2), rx=2,
        )
        for at, amount in enumerate(amounts)
    )  # fmt: skip
    rows = -(-len(amounts) // columns) or 1
    label = f"{len(amounts):,} {noun}, from {lowest:,} to {highest:,}"
    return _chart("heat", 12 * min(columns, len(amounts) or 1) - 2, 12 * rows - 2, label, squares, keeps_ratio=True)


def timeline(marks: Sequence[Mark], label: str) -> Markup:
    """Return *marks* on a line, from left to right."""
    line = tag("line/", x1=0, y1=14, x2=1000, y2=14, class_="axis", stroke="currentColor", stroke_opacity=0.3)
    drawn = []
    for mark in marks:
        circle = tag(
            "circle", tag("title", mark.text), cx=round(10 + 980 * mark.place, 1), cy=14, r=7, class_=mark.kind,
            fill="currentColor",
        )  # fmt: skip
        drawn.append(tag("a", circle, href=mark.href, aria_label=mark.text) if mark.href else circle)
    return tag("svg", line, drawn, class_="chart timeline", viewBox="0 0 1000 28", role="group", aria_label=label)


def shares(counts: Mapping[str, int]) -> Markup:
    """Return *counts* as one bar; their names are also the kinds of their colours."""
    return stack([Amount(name, count, name) for name, count in counts.items() if count], "pages:")


def _text(amount: Amount) -> str:
    return f"{amount.name}: {amount.number:,}"


def _chart(kind: str, width: float, height: float, label: str, *content: object, keeps_ratio: bool = False) -> Markup:
    return tag(
        "svg", content, class_=f"chart {kind}", viewBox=f"0 0 {width} {height}",
        preserveAspectRatio=None if keeps_ratio else "none", width="100%", height=None if keeps_ratio else height,
        role="img", aria_label=label,
    )  # fmt: skip


def _rect(x: float, y: float, width: float, height: float, kind: str, text: str = "", **more: object) -> Markup:
    look = {"fill": "currentColor", "fill_opacity": _OPACITY.get(kind, 0.6), **more}
    title = tag("title", text) if text else ""
    return tag("rect", title, x=x, y=y, width=width, height=height, class_=kind, **look)

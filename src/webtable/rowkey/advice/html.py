"""Advice as HTML: a page of its own, and the same for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable._html import document, escaped
from webtable.rowkey.advice.columns import PICTURE, QUESTIONS, RANKING
from webtable.rowkey.advice.heat import Scale, scale_of
from webtable.rowkey.advice.labels import share_text
from webtable.rowkey.advice.picture import inline_heat_map, thumbnail
from webtable.rowkey.advice.style import SCOPE, page_style, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey.advice.costs import QuestionCost
    from webtable.rowkey.advice.judgement import Judgement
    from webtable.rowkey.advice.ranking import Ranking

_HEADINGS = (
    "",
    "design",
    "writes over time",
    "score",
    "hottest<br>region",
    "hottest<br>server",
    "Gini",
    "max/<br>mean",
    "key bytes<br>/ p99",
    "of a cell",
)
_LEFT = ("", "design", "writes over time")
_TITLE = "Row keys, measured"


def page(advice: Ranking) -> str:
    """Return *advice* as an HTML page that needs no other file, script or font."""
    scale = scale_of(advice.designs)
    sections = (
        f'<section id="design-{place}"><h2>{_name(place, design)}</h2>{_body(advice, design, scale)}</section>\n'
        for place, design in enumerate(advice.designs, 1)
    )
    title = f"{_TITLE}: {escaped(advice.best.name)} of {len(advice.designs)} designs"
    body = (
        f"<h1>{_TITLE}</h1>\n{_lead(advice)}{_holds_for(advice)}{_measured(advice)}\n"
        f"{_ranking(advice, scale, linked=True)}\n{_legend(advice)}\n{_columns()}\n{''.join(sections)}"
    )
    return document(title, page_style(), SCOPE, body)


def fragment(advice: Ranking) -> str:
    """Return *advice* as an element for a notebook: the ranking, and each design to be unfolded."""
    scale = scale_of(advice.designs)
    sections = (
        f"<details><summary>{_name(place, design)}: {escaped(design.why[0])}</summary>"
        f"{_body(advice, design, scale)}</details>"
        for place, design in enumerate(advice.designs, 1)
    )
    return (
        f'<div class="{SCOPE}"><style>{style()}</style>{_holds_for(advice)}{_measured(advice)}'
        f"{_ranking(advice, scale, linked=False)}{_columns()}{''.join(sections)}</div>"
    )


def _name(place: int, design: Judgement) -> str:
    return f'{place}. <strong>{escaped(design.name)}</strong> <span class="muted">score {design.score:.1f}</span>'


def _lead(advice: Ranking) -> str:
    best = advice.best
    return (
        f'<p class="lead">The lowest score of {len(advice.designs)} designs has '
        f"<strong>{escaped(best.name)}</strong>. {_sentence(best.why[0])}</p>\n"
    )


def _holds_for(advice: Ranking) -> str:
    said = "".join(f"<li>{_sentence(one)}</li>" for one in advice.said_of_all)
    return f"<ul>{said}</ul>\n" if said else ""


def _sentence(text: str) -> str:
    return f"{escaped(text[:1].upper() + text[1:])}."


def _measured(advice: Ranking) -> str:
    """Return what was measured, as a list of terms."""
    facts = [("keys", f"{advice.keys:,}")]
    if (scope := advice.scope) is not None:
        facts += [("made-up hosts" if scope.models else "hosts", f"{scope.hosts:,}"), ("domains", f"{scope.domains:,}")]
    if advice.margin:
        facts += [
            ("measured, evenly through time", f"{advice.measured:,}"),
            ("shares in the end, to within", f"±{advice.margin:.1%}"),
        ]
    cell = f"{advice.value_bytes:,} bytes"
    facts += [
        ("regions", f"{advice.regions:,}"),
        ("servers", f"{advice.servers:,}"),
        ("a moment", f"{advice.window:,} keys"),
        ("a cell", f"{escaped(advice.column)}, {cell}" if advice.column else cell),
    ]
    if advice.skipped:
        facts.append(("skipped", f"{advice.skipped:,}"))
    terms = "".join(f"<div><dt>{term}</dt><dd>{value}</dd></div>" for term, value in facts)
    first = f'<p class="muted">Skipped, the first: {escaped(advice.first_skipped)}</p>' if advice.skipped else ""
    return f"<dl>{terms}</dl>{first}"


def _ranking(advice: Ranking, scale: Scale, *, linked: bool) -> str:
    names = "<br>/ with names" if advice.column else ""
    headings = [*_HEADINGS[:-1], _HEADINGS[-1] + names]
    heads = "".join(f"<th{_left(heading)}>{heading}</th>" for heading in headings)
    rows = "".join(_row(place, design, scale, linked=linked) for place, design in enumerate(advice.designs, 1))
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(place: int, design: Judgement, scale: Scale, *, linked: bool) -> str:
    writes, lengths = design.writes, design.lengths
    name = f"<strong>{escaped(design.name)}</strong>"
    cells = [
        str(place),
        f'<a href="#design-{place}">{name}</a>' if linked else name,
        thumbnail(design, scale),
        f"<strong>{design.score:.1f}</strong>",
        _share_bar(design),
        share_text(writes.hottest_server),
        f"{writes.gini:.2f}",
        f"{writes.max_over_mean:.1f}",
        f"{lengths.mean:.0f} <small>/ {lengths.p99}</small>",
        share_text(lengths.share) + _with_names(lengths.share_with_names),
    ]
    return f"<tr>{''.join(f'<td{_left(at)}>{cell}</td>' for at, cell in zip(_HEADINGS, cells, strict=True))}</tr>"


def _with_names(share: float | None) -> str:
    return "" if share is None else f" <small>/ {share_text(share)}</small>"


def _left(heading: str) -> str:
    return ' class="left"' if heading in _LEFT else ""


def _share_bar(design: Judgement) -> str:
    """Return the share of the hottest region, with a bar from 0 to 100 % and a mark at what chance would make it."""
    share, fair = design.writes.hottest_at_once, design.writes.fair
    over = design.writes.is_hot
    number = f'<span class="hot">{share_text(share)}</span>' if over else share_text(share)
    return (
        f'{number}<span class="bar{" over" if over else ""}" title="by chance: {share_text(fair)}">'
        f'<i style="width:{share:.1%}"></i><b style="left:{fair:.1%}"></b></span>'
    )


def _legend(advice: Ranking) -> str:
    return (
        '<p class="muted">Lower scores are better: how hot the hottest region is, at any moment, times what the '
        f"questions cost in ranges. A moment is {advice.window:,} keys in the order of arrival. The mark in a bar "
        "is what chance alone would make of the share. All pictures have the same scale.</p>"
    )


def _columns() -> str:
    """Return what each column says, to be unfolded."""
    said = "".join(
        f"<li><strong>{escaped(column.name)}</strong>: {escaped(column.says)}</li>"
        for column in (PICTURE, *RANKING, *QUESTIONS)
    )
    return f"<details><summary>What the columns say</summary><ul>{said}</ul></details>"


def _body(advice: Ranking, design: Judgement, scale: Scale) -> str:
    reasons = "".join(f"<li{_kind(reason)}>{escaped(reason)}</li>" for reason in design.why)
    return (
        f"<ul>{reasons}</ul><p><code>{escaped(design.declaration)}</code></p>"
        f'<div class="map">{inline_heat_map(design, scale, advice.keys)}</div>{_questions(design.questions)}'
    )


def _kind(reason: str) -> str:
    if reason.startswith(("hot:", "cannot answer")):
        return ' class="bad"'
    return ' class="fine"' if reason.startswith("writes are spread") else ""


def _questions(costs: Sequence[QuestionCost]) -> str:
    rows = "".join(
        f'<tr><td class="left">{escaped(cost.question)}</td><td>{_number(cost.weight or None)}</td>{_cost(cost)}</tr>'
        for cost in costs
    )
    return (
        '<div class="wide asked"><table><thead><tr><th class="left">question</th><th>weight</th><th>ranges</th>'
        "<th>rows read<br>for one</th><th>calls, Thrift2</th><th>calls, HappyBase alone</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cost(cost: QuestionCost) -> str:
    if cost.ranges is None:
        said = escaped(f"{cost.reason}; {cost.remedy}")
        return f'<td class="why" colspan="4"><span class="hot">no answer:</span> {said}</td>'
    order = " <small>reverse scan</small>" if cost.order == "reverse scan" else ""
    numbers = (cost.rows_for_one, cost.calls, cost.calls_without)
    return f"<td>{_number(cost.ranges)}{order}</td>" + "".join(f"<td>{_number(number)}</td>" for number in numbers)


def _number(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number == round(number) or number >= 100 else f"{number:,.1f}"

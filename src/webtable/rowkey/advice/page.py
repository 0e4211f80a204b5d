"""Advice as HTML, as a page and for notebooks, with help for the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webtable._shown.markup import SCOPE, Markup, bar, document, escaped, style, table, tag, terms
from webtable.rowkey.advice.heat_map import heat_style, inline_heat_map, thumbnail
from webtable.rowkey.advice.judgement import Scale, scale_of, share_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.rowkey.advice.costs import QuestionCost
    from webtable.rowkey.advice.judgement import Judgement
    from webtable.rowkey.advice.ranking import Ranking

_LINE = tag("br/")
_RANKING_HEADS = (
    tag("th", class_="left"),
    tag("th", "design", class_="left"),
    tag("th", "writes over time", class_="left"),
    tag("th", "score"),
    tag("th", "hottest", _LINE, "region"),
    tag("th", "hottest", _LINE, "server"),
    tag("th", "Gini"),
    tag("th", "max/", _LINE, "mean"),
    tag("th", "key bytes", _LINE, "/ p99"),
)
_QUESTION_HEADS = (
    tag("th", "question", class_="left"),
    tag("th", "weight"),
    tag("th", "ranges"),
    tag("th", "rows read", _LINE, "for one"),
    tag("th", "calls, Thrift2"),
    tag("th", "calls, HappyBase alone"),
)
_TITLE = "Row keys, measured"


class ColumnHelp(NamedTuple):
    """The heading of a column, and its meaning."""

    name: str
    says: str


PICTURE = ColumnHelp(
    "writes over time", "a row is a region, left to right is time; the stronger its colour, the more writes it takes"
)
RANKING = (
    ColumnHelp(
        "score", "heat times reading, the lower the better; 1.0 is even writes, and one range for each question"
    ),
    ColumnHelp("hottest region", "the share of a moment's writes that go to the region with most of them, on average"),
    ColumnHelp("by chance", "what that share would be if each key went to a region at random"),
    ColumnHelp("hottest server", "the same share of the server with most of them, all its regions together"),
    ColumnHelp("Gini", "how unevenly the regions are filled in the end: 0 all the same, near 1 one has all rows"),
    ColumnHelp("max/mean", "the rows of the fullest region in the end, over the mean of all regions; 1.0 is even"),
    ColumnHelp("key bytes", "the mean length of a row key, which is stored with every cell of the row"),
    ColumnHelp("p99", "the length in bytes that 99 of 100 keys do not exceed"),
    ColumnHelp("of a cell", "the share of a stored cell that is its row key, next to a value of the given size"),
    ColumnHelp("with names", "the same with the names of family and column; empty if no column is given"),
)
"""The columns of the ranking, in order."""
QUESTIONS = (
    ColumnHelp("weight", "how many times the question counts for the score; empty if it was derived"),
    ColumnHelp("ranges", "the key ranges that hold the answer, on average; HBase scans each from its first key on"),
    ColumnHelp("rows read for one", "how many of the measured rows are read for each one that is wanted, on average"),
    ColumnHelp("calls, Thrift2", "calls to a Thrift2 gateway until the first rows are there, each for up to 32 ranges"),
    ColumnHelp("calls, HappyBase alone", "the same by Thrift1: a scanner is opened, read and closed for each range"),
)
"""The columns of the costs of questions."""


def page(advice: Ranking) -> str:
    """Return *advice* as a self-contained HTML page, without scripts."""
    scale = scale_of(advice.designs)
    sections = (
        tag("section", tag("h2", _name(place, design)), _body(advice, design, scale), id=f"design-{place}")
        for place, design in enumerate(advice.designs, 1)
    )
    return document(
        f"{_TITLE}: {advice.best.name} of {len(advice.designs)} designs",
        tag("h1", _TITLE),
        _lead(advice),
        _measured(advice),
        _ranking(advice, scale, linked=True),
        _legend(advice),
        _columns(),
        sections,
        look=heat_style(),
    )


def fragment(advice: Ranking) -> str:
    """Return *advice* as an element for a notebook: the ranking, and collapsed details of each design."""
    scale = scale_of(advice.designs)
    sections = (
        tag("details", tag("summary", _name(place, design), ": ", design.why[0]), _body(advice, design, scale))
        for place, design in enumerate(advice.designs, 1)
    )
    look = tag("style", style(), heat_style())
    ranking = _ranking(advice, scale, linked=False)
    return tag("div", look, _holds_for(advice), _measured(advice), ranking, _columns(), sections, class_=SCOPE)


def _name(place: int, design: Judgement) -> Markup:
    score = tag("span", f"score {design.score:.1f}", class_="muted")
    return escaped([f"{place}. ", tag("strong", design.name), " ", score])


def _lead(advice: Ranking) -> Markup:
    best = advice.best
    said = (f"The lowest score of {len(advice.designs)} designs has ", tag("strong", best.name), ". ")
    return escaped([tag("p", said, _sentence(best.why[0]), class_="lead"), _holds_for(advice)])


def _holds_for(advice: Ranking) -> Markup:
    said = [tag("li", _sentence(one)) for one in advice.said_of_all]
    return tag("ul", said) if said else Markup()


def _sentence(text: str) -> str:
    return f"{text[:1].upper() + text[1:]}."


def _measured(advice: Ranking) -> Markup:
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
        ("a cell", f"{advice.column}, {cell}" if advice.column else cell),
    ]
    if not advice.skipped:
        return terms(facts)
    first = tag("p", f"Skipped, the first: {advice.first_skipped}", class_="muted")
    return escaped([terms([*facts, ("skipped", f"{advice.skipped:,}")]), first])


def _ranking(advice: Ranking, scale: Scale, *, linked: bool) -> Markup:
    of_a_cell = tag("th", "of a cell", [_LINE, "/ with names"] if advice.column else "")
    rows = (_row(place, design, scale, linked=linked) for place, design in enumerate(advice.designs, 1))
    return tag("div", table([*_RANKING_HEADS, of_a_cell], rows), class_="wide")


def _row(place: int, design: Judgement, scale: Scale, *, linked: bool) -> Iterator[Markup]:
    writes, lengths = design.writes, design.lengths
    name = tag("strong", design.name)
    for cell in (place, tag("a", name, href=f"#design-{place}") if linked else name, thumbnail(design, scale)):
        yield tag("td", cell, class_="left")
    hottest = share_text(writes.hottest_at_once)
    number = tag("span", hottest, class_="hot") if writes.is_hot else hottest
    by_chance = f"by chance: {share_text(writes.fair)}"
    yield tag("td", tag("strong", f"{design.score:.1f}"))
    yield tag("td", number, bar(writes.hottest_at_once, writes.fair, is_over=writes.is_hot, title=by_chance))
    yield tag("td", share_text(writes.hottest_server))
    yield tag("td", f"{writes.gini:.2f}")
    yield tag("td", f"{writes.max_over_mean:.1f}")
    yield tag("td", f"{lengths.mean:.0f} ", tag("small", f"/ {lengths.p99}"))
    with_names = lengths.share_with_names
    names = "" if with_names is None else [" ", tag("small", f"/ {share_text(with_names)}")]
    yield tag("td", share_text(lengths.share), names)


def _legend(advice: Ranking) -> Markup:
    said = (
        "Lower scores are better: how hot the hottest region is, at any moment, times what the questions cost in "
        f"ranges. A moment is {advice.window:,} keys in the order of arrival. The mark in a bar is what chance alone "
        "would make of the share. All pictures have the same scale."
    )
    return tag("p", said, class_="muted")


def _columns() -> Markup:
    """Return the meaning of each column, collapsed."""
    columns = (PICTURE, *RANKING, *QUESTIONS)
    said = (tag("li", tag("strong", column.name), f": {column.says}") for column in columns)
    return tag("details", tag("summary", "What the columns say"), tag("ul", said))


def _body(advice: Ranking, design: Judgement, scale: Scale) -> Markup:
    return escaped(
        [
            tag("ul", (tag("li", reason, class_=_kind(reason)) for reason in design.why)),
            tag("p", tag("code", design.declaration)),
            tag("div", inline_heat_map(design, scale, advice.keys), class_="map"),
            tag("div", table(_QUESTION_HEADS, map(_question, design.questions)), class_="wide questions"),
        ]
    )


def _kind(reason: str) -> str:
    if reason.startswith(("hot:", "cannot answer")):
        return "bad"
    return "fine" if reason.startswith("writes are spread") else ""


def _question(cost: QuestionCost) -> Iterator[Markup]:
    yield tag("td", cost.question, class_="left")
    yield tag("td", _number(cost.weight or None))
    if cost.ranges is None:
        said = f" {cost.reason}; {cost.remedy}"
        yield tag("td", tag("span", "no answer:", class_="hot"), said, class_="why", colspan=4)
        return
    order = [" ", tag("small", "reverse scan")] if cost.order == "reverse scan" else ""
    yield tag("td", _number(cost.ranges), order)
    for number in (cost.rows_for_one, cost.calls, cost.calls_without):
        yield tag("td", _number(number))


def _number(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number == round(number) or number >= 100 else f"{number:,.1f}"

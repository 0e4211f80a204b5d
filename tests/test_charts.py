"""Charts as SVG: their values are in them as text, and nothing that was crawled is markup."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import webtable
from webtable import Page
from webtable.display.charts import Amount, Mark, area, bar, heat, shares, stack, timeline

AMOUNTS = [Amount("200", 90, "s2"), Amount("404", 9, "s4"), Amount("<b>&", 1, "s5")]


@pytest.mark.parametrize("draw", [stack, area, heat])
@pytest.mark.parametrize("amounts", [AMOUNTS, AMOUNTS[:1], []])
def test_a_chart_is_well_formed_and_names_each_value(draw, amounts):
    drawn = ElementTree.fromstring(draw(amounts))

    titles = [title.text for title in drawn.iter("title")]
    assert titles == [f"{amount.name}: {amount.number}" for amount in amounts]
    assert drawn.attrib["role"] == "img"
    assert drawn.attrib["aria-label"]


def test_the_parts_of_a_stack_are_as_wide_as_their_shares():
    parts = [rect for rect in ElementTree.fromstring(stack(AMOUNTS)).iter("rect") if rect.attrib["class"] != "track"]

    assert [float(rect.attrib["width"]) for rect in parts] == [90, 9, 1]
    assert [float(rect.attrib["x"]) for rect in parts] == [0, 90, 99]


@pytest.mark.parametrize(("share", "width"), [(0.25, 25), (0, 0), (1, 100), (7, 100), (-1, 0)])
def test_a_bar_is_filled_up_to_its_share_and_no_further(share, width):
    filled = list(ElementTree.fromstring(bar(share)).iter("rect"))[-1]

    assert float(filled.attrib["width"]) == width


def test_the_marks_of_a_time_line_lie_where_they_were_and_lead_somewhere():
    drawn = ElementTree.fromstring(timeline([Mark(0, "first", "s2", "/a?b=1&c=2"), Mark(1, "last")], "versions"))

    assert [circle.attrib["cx"] for circle in drawn.iter("circle")] == ["10", "990"]
    assert [(link.attrib["href"], link.attrib["aria-label"]) for link in drawn.iter("a")] == [("/a?b=1&c=2", "first")]


def test_shares_leave_out_what_is_none():
    assert "gone" not in shares({"new": 3, "gone": 0})
    assert "new: 3" in shares({"new": 3, "gone": 0})


def test_a_notebook_shows_statistics_with_charts():
    with webtable.open("memory:charts", create=True) as table:
        table.put(Page(url="https://example.com/", body=b"x"))
        table.put(Page(url="https://example.com/a", body=b"x", status=404))

        shown = table.stats(webtable.ALL, by=("status", "day"))._repr_html_()

    assert "200: 1, 404: 1" in shown
    assert shown.count("<svg") == 2

"""Titles that are missing, of several pages, or too long."""

from __future__ import annotations

import pytest
from damaging import damage

from webtable import Page, WebTable
from webtable.answers import TitleProblem
from webtable.errors import DamagedRow, InvalidArgument


@pytest.fixture
def html(site):
    """Make a page of HTML with a title."""
    return lambda path, title, **fields: site.page(path, title=title, **{"content_type": "text/html", **fields})


def told(site, **options):
    return [
        (one.problem, one.url[len(site.url("")) :], one.others) for one in site.table.titles(site.domain, **options)
    ]


def test_a_title_is_missing_is_that_of_others_or_is_too_long(site, html):
    site.store(
        html("/long", "x" * 61),
        html("/fits", "x" * 60),
        html("/b", "Beta"),
        html("/a", "Beta"),
        html("/z", "Alpha"),
        html("/y", "Alpha"),
        html("/none", None, body=b"x"),
        html("/blank", " \t", body=b"x"),
        html("/not-judged", None),
        html("/fine", "Fine"),
    )

    assert told(site) == [
        ("missing", "/blank", 0),
        ("missing", "/none", 0),
        ("duplicate", "/y", 1),
        ("duplicate", "/z", 1),
        ("duplicate", "/a", 1),
        ("duplicate", "/b", 1),
        ("too long", "/long", 0),
    ]


def test_a_title_may_be_both_too_long_and_that_of_others(site, html):
    site.store(html("/a", "long title"), html("/b", "long title"), html("/c", "long title"))

    found = told(site, max_length=9)

    assert found == [
        *(("duplicate", path, 2) for path in ("/a", "/b", "/c")),
        *(("too long", path, 0) for path in ("/a", "/b", "/c")),
    ]
    assert told(site, max_length=10) == found[:3]


def test_characters_are_counted_and_not_bytes(site, html):
    site.store(html("/a", "\N{SNOWMAN}\U0001f642" * 5))

    assert told(site, max_length=10) == []
    assert told(site, max_length=9) == [("too long", "/a", 0)]


def test_a_problem_tells_the_title(site, html):
    site.store(html("/a", "a\0b" * 30), html("/b", None, body=b"x"))

    assert list(site.table.titles(site.domain)) == [
        TitleProblem("missing", site.url("/b"), None, 0),
        TitleProblem("too long", site.url("/a"), "a\0b" * 30, 0),
    ]


@pytest.mark.parametrize("fields", [{"status": 404}, {"status": 301}, {"content_type": "application/pdf"}])
def test_only_html_pages_with_status_200_have_titles(site, html, fields):
    site.store(html("/a", None, body=b"x", **fields), html("/b", "Same", **fields), html("/c", "Same"))

    assert told(site) == []


def test_a_page_without_a_type_counts_where_it_was_read_as_html(site):
    site.store(
        Page(url=site.url("/html"), body=b"<p>no title", fetched_at=site.now),
        Page(url=site.url("/bytes"), body=b"\x00\x01", fetched_at=site.now),
        Page(url=site.url("/xhtml"), body=b"x", content_type="application/xhtml+xml", fetched_at=site.now),
    )

    assert told(site) == [("missing", "/html", 0), ("missing", "/xhtml", 0)]


def test_a_page_that_cannot_be_read_is_left_out_and_told(site, html):
    site.store(html("/a", None), html("/b", None, body=b"x"))
    damage(site.table, site.url("/a"))
    answer = site.table.titles(site.domain)

    assert [one.url for one in answer] == [site.url("/b")]
    assert [one.row for one in answer.damaged] == [site.table.key.encode(site.url("/a"))]
    strict = WebTable(site.table.store, site.table.table, site.table.layout, strict=True)
    with pytest.raises(DamagedRow):
        list(strict.titles(site.domain))


@pytest.mark.parametrize("length", [0, -1, 1.5, None, "60", True, 2**63])
def test_a_length_is_a_number_of_characters(site, length):
    with pytest.raises(InvalidArgument, match="max_length="):
        site.table.titles(site.domain, max_length=length)

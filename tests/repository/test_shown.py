"""What notebooks and terminals are shown of answers, pages and tables."""

from __future__ import annotations

import pytest
from rich.console import Console

from webtable import Page, WebTable
from webtable._shown import MOST_CHARACTERS, Shown
from webtable.repository.tabular import SHOWN_ROWS
from webtable.testing import ListeningStore


def printed(value, width=80):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(value)
        return console.export_text()


@pytest.fixture
def crawl(site):
    title = "<script>alert(1)</script>\x1b[2J"
    site.store(*(site.page(f"/{n:02}", html=b"<img src=x onerror=alert(1)>", title=title) for n in range(12)))
    return site


def test_an_answer_shows_its_first_rows_and_how_to_go_on(crawl):
    answer = crawl.table.pages(crawl.domain)

    html, text = answer._repr_html_(), printed(answer)

    assert html.count("<tr>") == 1 + SHOWN_ROWS
    assert crawl.url("/09") in html
    assert crawl.url("/10") not in html
    assert ".to_pandas()" in html
    assert answer.question in html
    assert max(map(len, text.splitlines())) <= 80
    assert "to_pandas" not in crawl.table.pages(crawl.domain, limit=3)._repr_html_()


def test_no_more_is_read_than_is_shown(crawl):
    limits = []
    store = ListeningStore(crawl.table.store, lambda call: limits.append(call.arguments.get("limit")))
    table = WebTable(store, crawl.table.table, crawl.table.layout)

    table.pages(crawl.domain)._repr_html_()

    assert [limit for limit in limits if limit is not None] in ([SHOWN_ROWS + 1], [])


def test_what_was_crawled_is_never_live(crawl):
    page = crawl.table.get(crawl.url("/01"))

    for shown in (
        page,
        crawl.table.pages(crawl.domain),
        crawl.table.history(page.url),
        crawl.table.search("alert", domain=crawl.domain),
    ):
        assert "<script" not in shown._repr_html_()
        assert "<img" not in shown._repr_html_()
        assert "\x1b" not in shown._repr_html_()
        assert "\x1b[2J" not in printed(shown)


def test_a_page_shows_what_it_has(crawl):
    html = crawl.table.get(crawl.url("/01"))._repr_html_()

    assert "28 bytes" in html
    assert "redirect_to" not in html
    assert Page(url="javascript:alert(1)")._repr_html_().count("<a") == 0


def test_a_table_shows_its_indexes_and_links_that_wait(crawl):
    html = crawl.table._repr_html_()

    assert "link (ready)" in html
    assert crawl.table.table in html
    assert "salt" in printed(crawl.table)


def test_statistics_and_differences_show_their_rows(crawl):
    crawl.store(crawl.page("/01", age=5, html=b"<p>other", title="new"))

    assert "12 pages" in crawl.table.stats(crawl.domain)._repr_html_()
    assert "new" in crawl.table.diff(crawl.url("/01"))._repr_html_()
    assert "order: url" in crawl.table.pages(crawl.domain).explain()._repr_html_()


def test_a_long_value_is_cut():
    assert f"{'x' * MOST_CHARACTERS}…<" in Shown("long", ["a"], [["x" * 10_000]]).html()

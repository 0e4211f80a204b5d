"""What notebooks and terminals are shown of answers, pages and tables."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

import webtable
from webtable import Link, Page, WebTable
from webtable.display import MOST_CHARACTERS, Marked, Shown
from webtable.errors import InvalidArgument, WebTableError
from webtable.repository.answers.tabular import SHOWN_ROWS
from webtable.repository.hosts import entries
from webtable.repository.questions.difference import SHOWN_CHANGES, DifferenceRow, side_by_side
from webtable.repository.questions.stats import SHOWN_GROUPS
from webtable.rowkey.advice import advise
from webtable.schema import FamilySchema, TableSchema, plan
from webtable.testing import ListeningStore

SCRIPT = "<script>alert(1)</script>\x1b[2J"


def printed(value, width=80):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(value)
        return console.export_text()


@pytest.fixture
def crawl(site):
    site.store(*(site.page(f"/{n:02}", body=b"<img src=x onerror=alert(1)>", title=SCRIPT) for n in range(12)))
    return site


@pytest.fixture
def hostile(site):
    """Two pages that link to each other, with markup wherever a page has text, and one of them with two versions."""
    url, other = site.url(f"/?{SCRIPT[:25]}"), site.url("/other")
    for age, word in ((9, "once"), (5, "now")):
        site.store(
            Page(
                url=url,
                body=f"<p>{word} &lt;script&gt;alert(2)&lt;/script&gt;".encode(),
                title=f"{word} {SCRIPT}",
                content_type="text/html",
                headers={"X-A": f"{word} {SCRIPT}"},
                outlinks=(Link(other, f"{word} {SCRIPT}", SCRIPT),),
                fetched_at=site.page(age=age).fetched_at,
            )
        )
    site.store(site.page("/other", body=b"x", outlinks=(Link(url, SCRIPT, ""),)))
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
        crawl.table.search("alert", crawl.domain),
    ):
        assert "<script" not in shown._repr_html_()
        assert "<img" not in shown._repr_html_()
        assert "\x1b" not in shown._repr_html_()
        assert "\x1b[2J" not in printed(shown)


def test_markup_in_titles_urls_headers_and_anchors_is_text_in_everything_that_is_shown(hostile):
    table, url = hostile.table, hostile.url(f"/?{SCRIPT[:25]}")
    hits = table.search("alert", hostile.domain)
    shown = [
        table.get(url),
        Page(url=f"https://a.example/{SCRIPT}"),
        hits,
        hits.first(),
        hits.explain(),
        table.search(f'"{SCRIPT}"', hostile.domain).explain(),
        table.diff(url),
        table.history(url),
        table.links.of(url),
        table.links.to(url),
        table.stats(hostile.domain),
        table.pages(hostile.domain).page(1),
        FamilySchema(SCRIPT[:25]),
        TableSchema(SCRIPT[:25], (FamilySchema(SCRIPT[:25]),)),
        plan(TableSchema("t", (FamilySchema(SCRIPT[:25]),)), None),
    ]

    pages, texts = [one._repr_html_() for one in shown], [printed(one) for one in shown]

    assert [html for html in pages if "<script" in html or "\x1b" in html] == []
    assert [text for text in texts if "\x1b[2J" in text] == []
    assert "&lt;script&gt;" in pages[3]


def test_headers_links_and_counts_are_shown_as_text_and_a_page_with_its_status(site):
    url, other = site.url("/"), site.url("/other")
    site.store(site.page("/", headers={"ETag": '"7"', "Age": "0"}, outlinks=(Link(other, "Other"), Link(url))))
    site.store(site.page("/moved", status=301, redirect_to=url))
    site.table.links.refresh()
    pages = site.table.pages(site.domain, columns=["headers", "outlinks", "link_counts"])

    text, chains = printed(pages, 250), printed(site.table.redirect_chains(site.domain), 250)
    alone = printed(pages.first(), 250)

    assert 'ETag: "7", Age: 0' in text
    assert f"{other} Other, {url} " in text
    assert "1 (1 internal, 0 external, and itself), counted 2" in text
    assert f"{site.url('/moved')} {url} " in chains
    assert re.search(r"│ status +│ 200 ", alone)
    assert not re.search(r"Headers\(|Link\(|LinkCounts\(|\['", text + chains + alone)


def test_a_hit_shows_where_its_words_are(site):
    site.store(
        site.page("/", title="Salt & pepper", body=b"<p>a pinch of salt <b>in front</b>", content_type="text/html")
    )

    hit = site.table.search("salt", site.domain).first()

    html, text = hit._repr_html_(), printed(hit)
    assert "<mark>Salt</mark> &amp; pepper" in html
    assert "a pinch of <mark>salt</mark>" in html
    assert "2 matches" in text
    assert site.url() in text


def changes(*rows):
    return [DifferenceRow(*row) for row in rows]


def test_a_difference_shows_both_sides_with_the_words_marked_that_differ(site):
    site.store(
        site.page("/", age=9, body=b"<p>The old house<p>stays<p>goes away", title="One", content_type="text/html")
    )
    site.store(site.page("/", age=5, body=b"<p>The new house<p>stays", title="One & two", content_type="text/html"))

    html = site.table.diff(site.url())._repr_html_()

    assert "The <mark>old</mark> house" in html
    assert "The <mark>new</mark> house" in html
    assert "One <mark>&amp; two</mark>" in html
    assert "goes away" in html
    row = next(row for row in html.split("<tr>") if "house" in row)
    assert row.index("old") < row.index("new")


def test_lines_that_were_replaced_stand_beside_those_that_came_for_them():
    rows = changes(
        ("title", None, "a", "b"),
        ("text", None, "one", None),
        ("text", None, "two", None),
        ("text", None, None, "uno"),
        ("text", None, "three", None),
        ("text", None, None, "tres"),
    )

    shown = side_by_side("difference", rows)

    assert [tuple(None if cell is None else str(cell) for cell in row[2:]) for row in shown.rows] == [
        ("a", "b"),
        ("one", "uno"),
        ("two", None),
        ("three", "tres"),
    ]


def test_of_a_long_line_the_places_are_shown_that_differ():
    old, new = ["word"] * 5_000, ["word"] * 5_000
    new[3_000] = "other"

    ((*_, one, other),) = side_by_side("", changes(("header", "x", " ".join(old), " ".join(new)))).rows

    assert [text for text, marked in other.pieces if marked] == ["other"]
    assert [text for text, marked in one.pieces if marked] == ["word"]
    assert len(str(other)) < 2 * MOST_CHARACTERS
    assert str(other)[0] == str(other)[-1] == "…"


def test_lines_that_have_nothing_in_common_are_marked_as_a_whole_and_cut():
    old, new = (" ".join(f"{letter}{n}" for n in range(3_000)) for letter in "ab")

    ((*_, one, _),) = side_by_side("", changes(("header", "x", old, new))).rows

    assert [marked for _, marked in one.pieces] == [True, False]
    assert len(str(one)) < 2 * MOST_CHARACTERS


def test_no_more_changes_are_shown_than_a_screen_takes():
    rows = changes(*(("header", f"x-{n}", "a", "b") for n in range(100)))

    shown = side_by_side("", rows)

    assert len(shown.rows) == SHOWN_CHANGES
    assert "to_dicts()" in shown.note
    assert side_by_side("", []).note == "no difference"


def test_an_explanation_is_printed_as_it_is_read(crawl):
    assert "order: url" in printed(crawl.table.pages(crawl.domain).explain())


def test_statistics_show_the_largest_groups_of_each_grouping(site):
    site.store(*(site.page(f"/{n}", host=f"h{m:02}", body=b"x") for m in range(12) for n in range(m)))

    html = site.table.stats(site.domain, by=["host", "status"])._repr_html_()

    assert html.count("<tr>") == 1 + SHOWN_GROUPS + 1 + 1
    assert f"h11.{site.domain}" in html
    assert f"h03.{site.domain}" not in html
    assert "… and 3 more" in html
    assert "66 pages, 66 bytes" in html


def test_a_batch_tells_that_there_is_more(crawl):
    batch = crawl.table.pages(crawl.domain).page(2)

    assert "after=batch.next_token" in batch._repr_html_()
    assert "next_token" not in crawl.table.pages(crawl.domain, limit=2).page(2)._repr_html_()


def test_the_head_of_an_answer_is_a_list_that_is_shown_as_a_whole(crawl):
    answer = crawl.table.pages(crawl.domain)

    head = answer.head(11)

    assert head == list(answer)[:11]
    assert head._repr_html_().count("<tr>") == 1 + 11
    assert answer.head() == list(answer)[:10]
    assert len(crawl.table.pages(crawl.domain, limit=3).head()) == 3
    assert list(crawl.table.pages(crawl.domain, after=head.next_token)) == list(answer)[11:]
    with pytest.raises(InvalidArgument, match="n=0"):
        answer.head(0)


def test_a_table_shows_how_many_pages_were_counted_and_as_of_when_without_reading_them(new_url, site):
    with webtable.open(new_url(), create=True) as table:
        assert "stats() counts them" in table._repr_html_()
        for n in range(3):
            table.put(Page(url=f"https://{'ab'[n % 2]}.example/{n}", body=b"xx", fetched_at=site.now))
        table.links.refresh()
        counted_at = min(host.counted_at for host in table.hosts())
        calls = []
        listening = WebTable(ListeningStore(table.store, calls.append), table.table, table.layout)

        html = listening._repr_html_()

        assert f"3 of 2 hosts, 6 bytes, as of {counted_at:%Y-%m-%d %H:%M}" in html
        assert [call.name for call in calls if call.table == table.table and call.name in ("scan", "first_rows")] == []


def test_a_table_with_many_hosts_is_not_added_up_to_be_shown(new_url, site, monkeypatch):
    monkeypatch.setattr(entries, "MOST_HOSTS", 1)
    with webtable.open(new_url(), create=True) as table:
        for name in "ab":
            table.put(Page(url=f"https://{name}.example/", body=b"xx", fetched_at=site.now))
        table.links.refresh()

        assert "stats() counts them" in table._repr_html_()


def test_schemas_show_their_families_and_options():
    content = FamilySchema("content", versions=3, ttl=90 * 86_400)
    table = TableSchema("pages", (content, FamilySchema("links")), (b"80",))

    assert "versions 3, ttl 90 days" in table._repr_html_()
    assert "2 regions" in table._repr_html_()
    assert "block_size" in printed(content)
    assert "65,536" in printed(content)
    assert "for ever" in content._repr_html_()


def test_plans_show_their_steps_and_what_is_lost():
    found = TableSchema("pages", (FamilySchema("content", versions=3),))
    wanted = TableSchema("pages", (replace(found.families[0], versions=1), FamilySchema("links")))

    html = plan(wanted, found)._repr_html_()

    assert "add family &#x27;links&#x27;" in html
    assert ">loss<" in html
    assert "all but the newest 1" in html
    assert "nothing to do" in plan(found, found)._repr_html_()


def test_a_plan_for_a_layout_shows_its_losses_once(site):
    steps = site.table.maintenance.alter(versions=1, ttl=86_400, dry_run=True)

    html = steps._repr_html_()

    assert html.count("<tr>") == 1 + len(str(steps).splitlines())
    assert html.count(">loss<") == len(steps.losses) > 0
    assert "change" in printed(steps)


def test_advice_is_a_table_in_a_terminal():
    found = advise([f"https://{n % 7}.example/{n}" for n in range(200)], ["host", "url"])

    text = printed(found, width=100)

    assert [name for name in ("host", "url", "score", "200 keys") if name not in text] == []


def test_marks_are_pieces_of_a_text():
    marked = Marked.of("web tables", [(4, 9), (0, 3)])

    assert marked.pieces == [("web", True), (" ", False), ("table", True), ("s", False)]
    assert str(marked) == "web tables"
    assert Shown("", ["a"], [[Marked.of("<b>&", [(0, 3)])]]).html().count("<mark>&lt;b&gt;</mark>&amp;") == 1


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
    crawl.store(crawl.page("/01", age=5, body=b"<p>other", title="new"))

    assert "12 pages" in crawl.table.stats(crawl.domain)._repr_html_()
    assert "new" in crawl.table.diff(crawl.url("/01"))._repr_html_()
    assert "order: url" in crawl.table.pages(crawl.domain).explain()._repr_html_()


def test_a_long_value_is_cut():
    assert f"{'x' * MOST_CHARACTERS}…<" in Shown("long", ["a"], [["x" * 10_000]]).html()


def test_numbers_are_right_aligned_and_never_wrapped_and_times_are_readable():
    at = datetime(2026, 11, 25, 11, 20, 31, tzinfo=timezone(timedelta(hours=1)))
    shown = Shown("", ["size", "at", "title"], [[1234567, at, "a title"], [None, None, None]])

    html, text = shown.html(), printed(shown.rich())

    size, time, title = re.findall(r"<td style=\"([^\"]*)\">([^<]+)</td>", html)
    assert size[1] == "1,234,567"
    assert "text-align:right;white-space:nowrap" in size[0]
    assert time[1] == "2026-11-25 10:20"
    assert "white-space:nowrap" in time[0]
    assert "nowrap" not in title[0]
    assert "text-align:right" in html[html.index("<th") : html.index(">size<")]
    assert "1,234,567" in printed(Shown("", ["size", "title"], [[1234567, "word " * 100]]).rich(), width=30)
    assert "2026-11-25 10:20 " in text


def test_a_column_of_words_and_numbers_is_aligned_like_words():
    html = Shown("", ["value"], [[1], ["word"], [True]]).html()

    assert "text-align:right" not in html


def test_an_empty_answer_says_so(site):
    site.store(site.page("/"))  # of a host that is not there a similar one would be named, by the chance of their names
    table = site.table

    def said(answer):
        html, text = answer._repr_html_(), printed(answer, width=200)
        assert "<table" not in html
        assert answer._shown().note == text.strip()
        return text.strip()

    assert said(table.pages(site.domain, status=404)) == f"no pages of {site.domain} and below, status 404"
    assert said(table.errors(site.domain)).endswith(f"among the pages of {site.domain} and below")
    assert said(table.pages(webtable.ALL, status=418)) == "no pages, status 418"
    assert said(table.links.of(site.url("/none"))) == f"no links of {site.url('/none')}"
    assert said(table.history(site.url("/none"))) == "no results"
    assert said(table.pages(site.domain, limit=0)).endswith("limit 0")
    assert "no pages of nowhere.example and below" in table.stats("nowhere.example")._repr_html_()


def test_an_empty_answer_says_the_time_that_was_asked_for_as_people_write_it(site):
    day, moment = "2020-01-02", datetime(2020, 1, 2, 3, 4, 5, 678_000, timezone(timedelta(hours=1)))
    table = site.table

    notes = {
        answer._shown().note.partition("; did you mean")[0]
        for answer in (
            table.outdated(site.domain, not_fetched_since=day),
            table.outdated(site.domain, not_modified_since=moment),
            table.fetched(site.domain, since=day, until=moment),
            table.changes(site.domain, since=moment),
        )
    }

    of_site = f"among the pages of {site.domain} and below"
    assert notes == {
        f"no pages fetched before 2020-01-02 {of_site}",
        f"no pages modified before 2020-01-02 02:04:05.678 UTC {of_site}",
        f"no pages fetched from 2020-01-02 before 2020-01-02 02:04:05.678 UTC {of_site}",
        f"no pages of {site.domain} and below that are new or gone or moved or changed, "
        "since 2020-01-02 02:04:05.678 UTC",
    }


def test_an_empty_answer_about_all_pages_does_not_name_them(new_url):
    with webtable.open(new_url(), create=True) as table:
        answers = (
            table.search("zxcvbn", webtable.ALL),
            table.redirect_chains(webtable.ALL),
            table.crawls(webtable.ALL),
            table.titles(webtable.ALL),
            table.edges(webtable.ALL),
            table.links.discovered(webtable.ALL),
        )
        notes = [answer._shown().note for answer in answers]

    assert notes == [
        "no pages with 'zxcvbn' in their title or body",
        "no chains of redirects",
        "no crawls with pauses over 6h",
        "no pages with a title that is missing, of several pages, or of over 60 characters",
        "no links",
        "no URLs without a page",
    ]


def test_an_empty_answer_for_a_site_that_is_not_stored_suggests_a_host_that_is_alike(site):
    site.store(site.page("/", host="shop"))
    wrong = f"shpo.{site.domain}"

    table, url = site.table, f"https://{wrong}/"
    about_a_site = table.pages(wrong), table.errors(wrong), table.titles(wrong), table.hosts(wrong)
    about_links = table.links.to(url), table.links.to(site.url("/"), wrong), table.links.of(url)
    for answer in (*about_a_site, *about_links):
        assert answer._repr_html_().endswith(f"; did you mean shop.{site.domain}?</p>")
    assert f"did you mean shop.{site.domain}?" in table.pages(wrong).head()._repr_html_()
    nothing = f"no pages of {wrong} and below; did you mean shop.{site.domain}?"
    assert nothing in table.stats(wrong)._repr_html_()
    assert "did you mean" not in site.table.pages(f"shop.{site.domain}", status=404)._repr_html_()


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda table: table.pages().head("5"), "n='5' must be a whole number, 1 or more"),
        (lambda table: table.pages(status="200"), "status='200' must be a status code, from 0 to 999, as"),
        (lambda table: table.pages(status=2.5), "status=2.5 must be a status code, from 0 to 999"),
        (lambda table: table.hosts(order="pages"), "order='pages' must be 'url', the only order of this answer"),
        (lambda table: table.edges().to_dicts(["x"]), "columns='x' is not a column of an edge"),
    ],
)
def test_a_wrong_argument_is_told_with_what_was_expected(ask, told):
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table, pytest.raises(WebTableError) as raised:
        ask(table)

    assert told in str(raised.value)


def test_a_domain_that_has_pages_only_below_it_is_suggested():
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table:
        table.put(Page(url="https://www.example.com/", body=b"1"))

        assert table.pages("exmaple.com").head()._shown().note.endswith("; did you mean example.com?")

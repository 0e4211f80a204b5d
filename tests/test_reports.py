"""Reports on a site: an audit finds what is wrong, a comparison what has changed; as values, and as pages."""

from __future__ import annotations

import io
import json
import re
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import openpyxl
import pytest

import webtable
from markup_tags import Tags
from webtable import Page
from webtable.errors import InvalidArgument, InvalidURL, MissingExtra
from webtable.reports import audit, compare

NOW = datetime.now(UTC).replace(microsecond=0)
HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>\x00\u202e\ud800"
HOME = "https://example.com/"


def page(path: str, html: str = "", *, days: float = 1, host: str = "example.com", **fields) -> Page:
    return Page(
        url=f"https://{host}{path}",
        body=html.encode(),
        content_type="text/html",
        fetched_at=NOW - timedelta(days=days),
        **fields,
    )


@pytest.fixture
def table():
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True) as table:
        yield table


def put(table, *pages):
    with table.writer() as writer:
        for one in pages:
            writer.put(one)


LINKS = "<a href=/a>A</a><a href=/gone>G</a><a href=/moved>M</a>"
SITE = (
    page("/", f"<title>Home</title><meta name=description content=d><h1>Home</h1>{LINKS}"),
    page("/a", "<title>A</title><h1>A</h1><link rel=canonical href=/>" + "x" * 5_000),
    page("/b", "<meta name=robots content='NoIndex, follow'><title>B</title><a href=/gone>G</a>", days=3),
    page("/gone", "gone", status=404),
    page("/moved", "", status=301, redirect_to=HOME),
    page("/other", "<title>Other</title><a href=https://example.com/gone>G</a>", host="other.example"),
)


def sections(report):
    return {section.name: section for section in report.sections}


def test_an_audit_counts_pages_by_status_type_and_size(table):
    put(table, *SITE, page("/c", "<title>C</title>", host="docs.example.com", days=9))

    found = audit(table, "Example.com")

    assert (found.site, found.pages, found.hosts) == ("example.com", 6, 2)
    assert found.bytes == table.stats("example.com").bytes
    assert [(group.name, group.pages) for group in found.statuses] == [("200", 4), ("301", 1), ("404", 1)]
    assert [(group.name, group.pages) for group in found.types] == [("text/html", 6)]
    assert [(one.low, one.high, one.pages) for one in found.sizes if one.pages] == [
        (0, 100, 4),
        (100, 200, 1),
        (5_000, 10_000, 1),
    ]
    assert [one.low for one in found.sizes] == [0, 100, 200, 500, 1_000, 2_000, 5_000]
    assert (found.oldest, found.newest) == (NOW - timedelta(days=9), NOW - timedelta(days=1))


def test_an_audit_finds_what_is_broken_and_who_links_there(table):
    put(table, *SITE)

    found = sections(audit(table, "example.com"))

    gone = "https://example.com/gone"
    assert found["broken-links"].rows == ((404, gone, 2, (HOME, "https://example.com/b")),)
    assert found["errors"].rows == ((404, gone, NOW - timedelta(days=1)),)
    assert [row[0] for row in found["orphans"].rows] == ["https://example.com/b"]


def test_an_audit_finds_what_pages_do_not_say_and_what_they_say_to_search_engines(table):
    put(table, *SITE)

    found = sections(audit(table, "example.com"))

    assert [row[0][-2:] for row in found["no-description"].rows] == ["/a", "/b"]
    assert [row[0][-2:] for row in found["no-h1"].rows] == ["/b"]
    assert found["noindex"].rows == (("https://example.com/b", "noindex, follow", "noindex, follow"),)
    assert found["largest"].rows[0][0] == "https://example.com/a"


PAST, FUTURE = "unavailable_after: 2020-09-21", "unavailable_after: 2999-09-21"
# By the rules that Google publishes: is a page with these lines of X-Robots-Tag, and this markup, not to be listed?
ROBOTS = {
    "noindex": (["NOINDEX"], "", True),
    "none": (["none"], "", True),
    "several": ([], "<meta name=robots content='noindex,nofollow,nosnippet'>", True),
    "spaces": ([" nofollow , noindex "], "", True),
    "googlebot": ([], "<meta name=googlebot content='noindex'>", True),
    "header-googlebot": (["googlebot: noindex", "noarchive"], "", True),
    "past": ([PAST], "", True),
    "past-for-google": ([f"googlebot: {PAST}"], "", True),
    "past-of-mail": (["unavailable_after: Fri, 25 Jun 2010 15:00:00 PST"], "", True),
    "past-of-rfc-850": (["unavailable_after: Friday, 25-Jun-10 15:00:00 UTC"], "", True),
    "noindex-and-a-date": (["noindex, unavailable_after: 25 Jun 2999 15:00:00 PST"], "", True),
    "noodp": ([], "<meta name=robots content=noodp>", False),
    "future": ([FUTURE], "", False),
    "no-date": (["unavailable_after: soon"], "", False),
    "preview-none": (["max-image-preview: none"], "", False),
    "markup-preview-none": ([], "<meta name=robots content='index, max-image-preview:none'>", False),
    "badbot": (["badbot: noindex, nofollow"], "", False),
    "badbot-first": (["badbot: noindex", "noarchive"], "", False),
    "all-then-badbot": (["noarchive, badbot: noindex"], "", False),
    "badbot-markup": ([], "<meta name=badbot content=none>", False),
    "noindex-of-a-word": ([], "<meta name=robots content='noindex-later, none-of-it'>", False),
}


def test_an_audit_lists_as_not_to_be_indexed_what_google_would_not_list(table):
    put(
        table,
        *(
            page(f"/{name}", f"<head>{head}</head>", headers=[("X-Robots-Tag", line) for line in lines])
            for name, (lines, head, _) in ROBOTS.items()
        ),
    )

    found = sections(audit(table, "example.com"))["noindex"]

    listed = {row[0].rpartition("/")[2] for row in found.rows}
    assert listed == {name for name, (_, _, is_listed) in ROBOTS.items() if is_listed}
    rules = {row[0].rpartition("/")[2]: row[1:] for row in found.rows}
    assert rules["googlebot"] == (None, "noindex")
    assert rules["header-googlebot"] == ("noarchive", "noarchive, noindex")


MISSING = ("titles", "no-description", "no-h1", "not-judged", "same-content", "same-title")


@pytest.mark.parametrize("status", [204, 205, 301, 304, 404, 410, 500, 503])
def test_what_is_no_content_lacks_nothing_and_is_no_duplicate(table, status):
    leads = {"redirect_to": HOME} if status == 301 else {}
    put(table, *(page(f"/{name}", "", status=status, **leads) for name in "ab"))
    put(table, *(page(f"/titled-{name}", "<title>Same</title>", status=status, **leads) for name in "ab"))

    found = sections(audit(table, "example.com"))

    lacking = {name: found[name].count for name in MISSING if found[name].count}
    # Two answers with a body are copies of each other, if they are no errors.
    assert lacking == ({} if status >= 300 else {"same-content": 2, "same-title": 1})


def test_a_page_without_its_body_is_not_judged_and_counted(table):
    unread = Page(
        url="https://example.com/unread", content_type="text/html", fetched_at=NOW, digest="sha256:" + "0" * 64
    )
    put(table, unread, page("/read", "<title>T</title>"), page("/empty", ""))

    found = sections(audit(table, "example.com"))

    assert [row[0] for row in found["not-judged"].rows] == [unread.url]
    for name, lacking in (
        ("titles", ["/empty"]),
        ("no-description", ["/empty", "/read"]),
        ("no-h1", ["/empty", "/read"]),
    ):
        urls = [row[1] if name == "titles" else row[0] for row in found[name].rows]
        assert urls == [f"https://example.com{path}" for path in lacking]


def test_redirects_without_a_target_and_canonicals_that_disagree_are_findings(table):
    link = {"Link": '</a>; rel="canonical"'}
    two = "<link rel=canonical href=/b><link rel=canonical href=/c>"
    put(
        table,
        *(page(f"/{status}", "", status=status) for status in (300, 301, 302, 303, 304, 307, 308)),
        page("/leads", "", status=302, redirect_to=HOME),
        page("/agree", "<link rel=canonical href=/a>", headers=link),
        page("/header", "<link rel=canonical href=/b>", headers=link),
        page("/two", f"<head>{two}</head>"),
        page("/error", f"<head>{two}</head>", status=404),
    )

    found = sections(audit(table, "example.com"))

    assert [row[0] for row in found["no-location"].rows] == [301, 302, 303, 307, 308]
    assert found["canonical-conflict"].rows == (
        ("https://example.com/header", "https://example.com/b", "https://example.com/a"),
        ("https://example.com/two", "https://example.com/b", "https://example.com/c"),
    )


def test_an_audit_finds_redirects_that_lead_astray_and_no_others(table):
    put(
        table,
        page("/"),
        page("/1", status=301, redirect_to=HOME),
        page("/2", status=301, redirect_to="https://example.com/1"),
        page("/err", status=500),
        page("/loop", status=302, redirect_to="https://example.com/loop"),
        page("/to-err", status=302, redirect_to="https://example.com/err"),
        page("/to-nothing", status=302, redirect_to="https://example.com/nothing"),
        page("/well", status=302, redirect_to=HOME),
    )

    found = sections(audit(table, "example.com"))["redirect-chains"]

    assert [(row[0], row[1], row[2][0][-4:]) for row in found.rows] == [
        (2, "200", "om/2"),
        (1, "a loop", "loop"),
        (1, "500", "-err"),
        (1, "not stored", "hing"),
    ]


def test_an_audit_finds_pages_with_one_body_or_one_title_and_titles_that_are_missing_or_too_long(table):
    long = "x" * 61
    put(
        table,
        page("/a", "<title>Same</title>"),
        page("/b", "<title>Same</title>"),
        page("/c", "<title>Same</title>, and more"),
        page("/long", f"<title>{long}</title>"),
        page("/none", "<p>none"),
    )

    found = sections(audit(table, "example.com"))

    a, b, c = (f"https://example.com/{name}" for name in "abc")
    assert found["same-content"].rows == ((2, 38, (a, b)),)
    assert found["same-title"].rows == ((3, "Same", (a, b, c)),)
    assert found["titles"].rows == (
        ("missing", "https://example.com/none", None),
        ("too long", "https://example.com/long", long),
    )


def test_an_audit_has_the_urls_of_sitemaps_that_are_at_odds_with_the_pages(table):
    urls = "".join(f"<url><loc>{HOME}{path}</loc></url>" for path in ("", "a", "b", "gone", "new"))
    sitemap = Page(url=f"{HOME}map", body=f"<urlset>{urls}</urlset>".encode(), content_type="text/xml", fetched_at=NOW)
    put(table, *SITE, sitemap, page("/more"))

    found = sections(audit(table, "example.com"))["sitemaps"]

    assert found.rows == (
        (f"{HOME}b", "noindex", 200, sitemap.url, None),
        (f"{HOME}gone", "error", 404, sitemap.url, None),
        (f"{HOME}more", "unlisted", 200, None, None),
        (f"{HOME}new", "missing", None, sitemap.url, None),
    )
    assert "1 missing" in found.about
    assert "2 fine" in found.about
    assert found.command.startswith("webtable sitemaps example.com --problem missing --problem unlisted ")


def test_an_audit_of_a_site_without_a_sitemap_says_so(table):
    put(table, *SITE)

    found = sections(audit(table, "example.com"))["sitemaps"]

    assert found.count == 0
    assert "no sitemap of the site is stored" in found.about


def test_what_is_no_html_needs_no_description_and_html_without_a_type_does(table):
    untyped = Page(url="https://example.com/untyped", body=b"<title>T</title>", fetched_at=NOW)
    text = Page(url="https://example.com/text", body=b"text", content_type="text/plain", fetched_at=NOW)
    put(table, untyped, text, Page(url="https://example.com/data", body=b"\x00\x01", fetched_at=NOW))

    found = sections(audit(table, "example.com"))

    assert [row[0] for row in found["no-description"].rows] == [untyped.url]


def test_a_page_that_names_itself_is_not_canonical_elsewhere(table):
    put(
        table,
        page("/a", "<head><link rel=canonical href='HTTPS://EXAMPLE.com:443/a'></head>"),
        page("/b", "<head><link rel=canonical href=/a></head>"),
    )

    found = sections(audit(table, "example.com"))

    assert found["canonical-elsewhere"].rows == (("https://example.com/b", "https://example.com/a"),)


def test_a_list_has_its_first_findings_their_number_and_the_command_that_lists_all(table):
    put(table, *(page(f"/{number:02d}", status=500) for number in range(20)))

    found = sections(audit(table, "example.com", most=5, program="webtable -s crawl.db"))["errors"]

    assert (len(found.rows), found.count) == (5, 20)
    assert found.command == "webtable -s crawl.db errors example.com"
    markup = audit(table, "example.com", most=5).html()
    assert "The first 5 of 20; all of them: <code>webtable errors example.com</code>" in markup


def test_a_section_without_its_index_is_left_out_and_says_how_to_get_it():
    with webtable.open(f"memory:{uuid.uuid4().hex}", create=True, indexes=["time"]) as table:
        put(table, *SITE)

        found = audit(table, "example.com", program="webtable -s x.db")

    left_out = {name: section.left_out for name, section in sections(found).items() if section.left_out}
    assert set(left_out) >= {"broken-links", "errors", "orphans"}
    assert "webtable -s x.db index add link" in left_out["orphans"]
    assert "Left out: " in found.html()
    assert {one["name"]: one["count"] for one in found.to_dict()["sections"]}["orphans"] is None


def test_an_audit_finds_pages_with_nearly_the_same_text_where_the_table_has_the_index(table):
    text = "<p>" + " ".join(f"word{n}" for n in range(200))
    put(table, page("/a", text), page("/b", f"{text} and more"), page("/c", "<p>quite another text of this site"))
    assert "near-duplicates" not in sections(audit(table, "example.com"))

    table.indexes.add("similarity")
    found = sections(audit(table, "example.com"))["near-duplicates"]

    urls = ("https://example.com/a", "https://example.com/b")
    assert found.rows == ((2, len(text) * 2 + len(" and more"), urls),)
    assert found.command == "webtable near-duplicate-groups example.com"


@pytest.mark.parametrize("stored", [(), SITE[:1]], ids=["no page", "one page"])
def test_a_site_of_no_page_or_of_one_has_a_page_all_the_same(table, stored):
    put(table, *stored)

    found, compared = audit(table, "example.com"), compare(table, "example.com", since="7d")

    assert found.pages == len(stored) == sum(compared.counts.values())
    assert ("No page of example.com is stored." in Tags(found.html()).text) is not stored
    Tags(compared.html())


def test_a_report_on_a_site_without_pages_says_so_and_names_the_one_that_was_meant(table):
    put(table, *SITE)

    for found in (audit(table, "exmaple.com"), compare(table, "exmaple.com", since="7d")):
        assert found._shown().note == "no pages of exmaple.com and below; did you mean example.com?"
        assert "did you mean example.com?" in found.html()
        assert "did you mean example.com?" in repr(found)
        assert not [name for name in found.to_dict() if name.startswith("_")]


def test_what_is_no_domain_and_what_is_no_number_is_refused(table):
    for report in (audit, lambda *args, **given: compare(*args, since="1d", **given)):
        with pytest.raises(InvalidURL):
            report(table, "a b")
        with pytest.raises(InvalidArgument, match="most"):
            report(table, "example.com", most=0)


CRAWLS = (
    page("/a", "<title>Old</title>", days=9),
    page("/a", "<title>New, and longer</title>", days=2),
    page("/gone", "<title>Here</title>", days=9),
    page("/gone", "", days=2, status=404),
    page("/new", "<title>First</title>", days=2),
    page("/same", "<title>Same</title>", days=9),
)


def test_a_comparison_counts_each_kind_and_lists_what_was_and_what_is(table):
    put(table, *CRAWLS)

    found = compare(table, "example.com", since=NOW - timedelta(days=7))

    assert found.counts == {"new": 1, "gone": 1, "moved": 0, "missing": 1, "changed": 1, "unchanged": 0}
    assert found.fields == {"content": 2, "title": 2, "status": 1}
    lists = sections(found)
    assert lists["new"].rows == (("https://example.com/new", 200, "First", 20),)
    assert lists["gone"].rows == (("https://example.com/gone", (200, 404), "Here", 19),)
    url, what, status, title, size = lists["changed"].rows[0]
    assert (url, what, status) == ("https://example.com/a", "content, title", 200)
    assert (title, size) == (("Old", "New, and longer"), (18, 30))
    assert lists["missing"].rows == (("https://example.com/same", 200, "Same", NOW - timedelta(days=9)),)
    assert "--kind gone" in lists["gone"].command


def test_without_times_the_last_two_crawls_are_compared_and_a_crawl_in_between_is_none_of_them(table):
    put(table, *(page(path, days=9) for path in ("/", "/lost", "/middle")), page("/middle", days=5), page("/", days=2))

    last, _, first = table.crawls("example.com")

    nothing = dict.fromkeys(("new", "gone", "moved", "missing", "changed", "unchanged"), 0)
    assert compare(table, "example.com").counts == nothing | {"missing": 2, "unchanged": 1}
    assert compare(table, "example.com", since=first, until=last).counts == nothing | {"missing": 2, "unchanged": 1}
    assert compare(table, "example.com", since=first.end, until=last.end).counts["missing"] == 1
    with pytest.raises(InvalidArgument, match="0 crawls"):
        compare(table, "https://www.example.com/")


def test_a_comparison_of_two_moments_of_the_past_leaves_out_what_came_later(table):
    put(table, *CRAWLS)

    found = compare(table, "example.com", since="30d", until="5d")

    assert found.counts == dict.fromkeys(("gone", "moved", "missing", "changed", "unchanged"), 0) | {"new": 3}
    assert "--until" in sections(found)["new"].command


def test_reports_are_json_with_all_that_they_list(table):
    put(table, *CRAWLS)

    for report in (audit(table, "example.com"), compare(table, "example.com", since="7d")):
        told = json.loads(msgspec.json.encode(report.to_dict()))
        assert [one["count"] for one in told["sections"]] == [section.count for section in report.sections]
    (changed,) = [one for one in told["sections"] if one["name"] == "changed"]
    assert changed["rows"][0]["title"] == {"before": "Old", "after": "New, and longer"}


@pytest.fixture
def hostile_pages(table):
    old = page("/<x>?a=\"'><script>", "<p>1", days=9, title=HOSTILE.replace("\ud800", ""))
    new = page(
        "/<x>?a=\"'><script>",
        "<p>2 <a href=/err>e</a>",
        title=HOSTILE.replace("\ud800", "") + "new",
        robots="noindex" + HOSTILE.replace("\ud800", ""),
        canonical="javascript:alert(1)",
        headers={"Content-Type": HOSTILE.replace("\x00", "").replace("\ud800", "")},
    )
    put(table, old, new, page("/err", "", status=404, title="<b>not bold</b>"))
    return [audit(table, "example.com").html(), compare(table, "example.com", since="7d").html()]


def test_what_was_crawled_is_text_and_never_markup(hostile_pages):
    for markup in hostile_pages:
        tags = Tags(markup)
        assert not {"script", "img", "b", "x"} & set(tags.names)
        assert not [name for name, _ in tags.attributes if name.startswith("on")]
        assert "<script>alert(1)" in tags.text
        assert "\x00" not in markup
        assert "\u202e" not in markup
        markup.encode()


def test_links_lead_to_the_web_and_tell_it_nothing(hostile_pages):
    for markup in hostile_pages:
        outside = [link for link in Tags(markup).links if not link["href"].startswith("#")]
        assert outside
        assert all(re.match(r"https?://", link["href"]) for link in outside)
        assert {link["rel"] for link in outside} == {"noopener noreferrer nofollow"}


def test_nothing_is_loaded_from_anywhere(hostile_pages):
    for markup in hostile_pages:
        tags = Tags(markup)
        assert not {"link", "iframe", "object", "base"} & set(tags.names)
        assert not {"src", "srcset"} & {name for name, _ in tags.attributes}
        assert "url(" not in markup
        assert "@import" not in markup
        assert "default-src 'none'" in markup


def test_a_report_shows_its_counts_in_notebooks_and_terminals(table):
    put(table, *CRAWLS)

    found = compare(table, "example.com", since="7d")

    assert repr(found) == "<Comparison of example.com: new 1, gone 1, moved 0, missing 1, changed 1>"
    assert "Comparison of example.com" in Tags(found._repr_html_()).text
    assert found.__rich__().row_count == 5


def test_sections_are_linked_from_the_top(table):
    put(table, *SITE)

    markup = audit(table, "example.com").html()

    inside = {link["href"][1:] for link in Tags(markup).links if link["href"].startswith("#")}
    assert inside == set(re.findall(r'<section id="([^"]+)"', markup)) >= {"broken-links", "orphans"}


def test_pages_have_colours_for_light_and_dark_screens_and_paper(table):
    markup = audit(table, "example.com").html()

    assert "color-scheme: light dark" in markup
    assert "light-dark(" in markup
    assert "@media print" in markup
    assert "max-width: 640px" in markup


def test_a_damaged_row_is_counted_and_left_out(table):
    put(table, *SITE)
    row = table.key.encode("https://example.com/a")
    (stored,) = table.store.read(table.table, [row], webtable.store.Wanted([b"metadata:page"]))
    at = stored.cells[b"metadata:page"][0].timestamp
    cell = webtable.store.NewCell(b"metadata:page", at, b"\xff")
    table.store.write(table.table, [webtable.store.Put(row, [cell])])

    found = audit(table, "example.com")

    assert (found.pages, found.damaged) == (4, 1)
    assert "damaged rows, left out" in Tags(found.html()).text


def test_a_table_makes_an_audit_that_shows_itself(table):
    put(table, *SITE)
    counted = []

    found = table.audit("example.com", most=1, on_progress=counted.append)

    assert replace(found, made_at=NOW) == replace(audit(table, "example.com", most=1), made_at=NOW)
    assert counted[-1] == found.pages
    assert "Broken links" in found._repr_html_()
    assert found._repr_html_().count("<tr>") == 1 + len(found.sections)


def workbook(report):
    return openpyxl.load_workbook(io.BytesIO(report.excel()))


def values(sheet):
    return [tuple(cell.value for cell in row) for row in sheet.iter_rows()]


def test_a_workbook_has_the_counts_of_all_findings_and_a_sheet_for_each_that_has_some(table):
    put(table, *SITE)
    report = audit(table, "example.com")

    book = workbook(report)

    overview = values(book["Overview"])
    assert ("pages", "5") in {row[:2] for row in overview}
    counts = {section.title: section.count for section in report.sections if not section.left_out}
    assert {row[0]: row[1] for row in overview}.items() >= counts.items()
    fix = "Correct the links, or redirect their targets."
    expected = ("Broken links", "high", fix, "webtable broken-links example.com")
    assert expected in {(row[0], row[2], row[4], row[5]) for row in overview}
    assert book.sheetnames == ["Overview", *(section.title for section in report.sections if section.rows)]
    assert values(book["Broken links"]) == [
        ("status", "target", "links", "linked from"),
        (404, "https://example.com/gone", 2, f"{HOME}\nhttps://example.com/b"),
    ]
    assert book["Broken links"]["B2"].hyperlink.target == "https://example.com/gone"
    fetched = book["Pages with an error"]["C2"].value
    assert (fetched, fetched.tzinfo) == ((NOW - timedelta(days=1)).replace(tzinfo=None), None)


def test_a_workbook_holds_what_was_crawled_as_text_whatever_it_is(table):
    titles = ["=1+1", "+1", "@SUM(A1)", "#N/A", "_x0041_", "x" * 40_000, "\ufffe", HOSTILE.removesuffix("\ud800")]
    put(
        table,
        *(page(f"/{number}", f"<title>{title.replace('<', '&lt;')}</title>") for number, title in enumerate(titles)),
    )

    sheet = workbook(audit(table, "example.com"))["Without a heading"]

    assert {row[1].data_type for row in sheet.iter_rows(min_row=2)} == {"s"}
    shown = [row[1].value for row in sheet.iter_rows(min_row=2)]
    assert shown[:4] == ["=1+1", "+1", "@SUM(A1)", "#N/A"]
    assert shown[4] == "_x005F_x0041_"  # which Excel shows as _x0041_: openpyxl reads inline texts without escapes
    assert "<script>" in shown[7]
    assert max(map(len, shown)) <= 32_767


def test_a_comparison_is_a_workbook_too(table):
    put(table, page("/", "<title>Old</title>", days=9), page("/", "<title>New</title>", days=1), page("/b", days=1))

    book = workbook(compare(table, "example.com", since="7d"))

    assert {("new", "1"), ("changed", "1")} <= {row[:2] for row in values(book["Overview"])}
    assert values(book["Changed"])[1][3] == "Old → New"


def test_a_page_that_was_empty_has_a_size_of_zero_in_a_workbook(table):
    put(table, page("/", days=9), page("/", "<title>New</title>", days=1))

    changed = workbook(compare(table, "example.com", since="7d"))["Changed"]

    assert dict(zip(*values(changed), strict=True))["size"] == "0 → 18"


def test_a_link_of_a_workbook_is_the_url_whatever_excel_escapes_in_a_cell(table):
    put(table, page("/_x0041_/", "<p>x"))

    cell = workbook(audit(table, "example.com"))["Without a heading"]["A2"]

    assert cell.hyperlink.target == "https://example.com/_x0041_/"
    assert cell.value == "https://example.com/_x005F_x0041_/"


def test_an_empty_report_is_a_workbook_that_says_so(table):
    overview = values(workbook(audit(table, "example.com"))["Overview"])

    assert any(row[0].startswith("no pages of example.com") for row in overview)


def test_a_workbook_needs_openpyxl(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    with pytest.raises(MissingExtra, match=r"hbase-webtable\[excel\]"):
        audit(table, "example.com").excel()

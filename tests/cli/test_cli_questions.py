"""The commands that ask questions: of one page, of pages by rows and indexes, of links and of words."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from running import Run

import webtable
from manual_clock import ManualClock
from nightly import some
from webtable.errors import InvalidArgument
from webtable.page.body import digest_of
from webtable.questions import is_ago, parse_time

NOW = datetime.now(UTC).replace(microsecond=0)
HOME, ABOUT, COPY = "https://example.com/", "https://example.com/about", "https://example.com/copy"
GONE, OLD, BIG = "https://example.com/gone", "https://example.com/old", "https://docs.example.com/big"
OTHER, NEW = "https://other.example/", "https://example.com/new"
ABOUT_HTML = b"<title>About salt</title><p>A salt in front of a <b>row key</b>.<a href=/>home</a>"


def page(url: str, html: bytes, days: float, **fields: object) -> webtable.Page:
    return webtable.Page(url=url, body=html, content_type="text/html", fetched_at=NOW - timedelta(days=days), **fields)


HOME_HTML = (
    b"<title>Home</title><p>All of it.<a href=/about>About</a><a href=/gone rel=nofollow>Gone [1]</a>"
    b"<a href=https://other.example/>Other</a><a href=/new>New</a>"
)
SITE = [
    page(HOME, b"<title>Old home</title><p>Nothing.<a href=/was>Was</a>", 9),
    page(HOME, HOME_HTML, 1),
    page(ABOUT, ABOUT_HTML, 5, etag='"7"', last_modified=NOW - timedelta(days=40)),
    page(COPY, ABOUT_HTML, 4),
    page(GONE, b"<title>Not here</title>", 2, status=404),
    page(OLD, b"moved", 3, status=301, redirect_to=ABOUT),
    page(BIG, b"<title>Big</title>" + b"x" * 20_000, 20),
    page(OTHER, b"<title>Other</title><a href=https://example.com/about>see there</a>", 6),
]


@pytest.fixture(scope="module")
def site_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site") / "webtable.db"
    with webtable.open(path, create=True) as table:
        with table.writer() as writer:
            for one in SITE:
                writer.put(one)
        after = SITE[0].fetched_at + timedelta(hours=1)
        table.put(webtable.Page(url=HOME, same_as="https://nowhere.example/", fetched_at=after))
        table.links.refresh()
    return path


@pytest.fixture
def site(site_store: Path) -> None:
    """A store of pages of example.com, its subdomain and another domain, whose links are counted."""
    shutil.copy(site_store, "webtable.db")


LISTINGS = {
    "pages with a status": (["pages", "example.com", "--status", "404", "--status", "301"], [GONE, OLD]),
    "pages of a size": (["pages", "example.com", "--min-size", "1kB"], [BIG]),
    "pages up to a size": (["pages", "example.com", "--max-size", "10B"], [OLD]),
    "pages of a type": (["pages", "example.com", "--type", "application/pdf"], []),
    "pages with a class of statuses": (["pages", "example.com", "--status", "3xx", "--status", "404"], [GONE, OLD]),
    "all pages": (["pages", "all", "--status", "404"], [GONE]),
    "hosts": (["hosts"], ["docs.example.com", "example.com", "other.example"]),
    "hosts of a domain": (["hosts", "docs.example.com"], ["docs.example.com"]),
    "URLs to crawl": (["discovered", "example.com"], [NEW]),
    "all URLs to crawl": (["discovered", "all"], [NEW]),
    "what became of pages": (["changes", "example.com", "--since", "60h"], [HOME, GONE]),
    "what became of pages, a kind": (["changes", "all", "--since", "60h", "--kind", "new"], [GONE]),
    "fetched": (["fetched"], [HOME, GONE, OLD, COPY, ABOUT, OTHER, BIG]),
    "fetched since": (["fetched", "--since", "60h"], [HOME, GONE]),
    "fetched, the oldest first": (["fetched", "--until", "108h", "--order", "oldest"], [BIG, OTHER, ABOUT]),
    "fetched of a domain": (["fetched", "other.example"], [OTHER]),
    "modified": (["modified", "--since", "30d", "--until", "100h"], [OTHER, BIG]),
    "modified long ago": (["modified", "--until", "30d"], [ABOUT]),
    "not fetched": (["outdated", "--not-fetched-since", "132h"], [BIG, OTHER]),
    "not modified": (["outdated", "--not-modified-since", "5d", "--limit", "2"], [ABOUT, BIG]),
    "the largest": (["largest", "--limit", "2"], [BIG, HOME]),
    "the smallest": (["largest", "--order", "smallest", "--limit", "1"], [OLD]),
    "of a size class": (["largest", "--class", "large"], [BIG]),
    "between sizes": (["largest", "--min-size", "6", "--max-size", "30"], [GONE]),
    "with a status": (["with-status", "404"], [GONE]),
    "with a status elsewhere": (["with-status", "404", "other.example"], []),
    "errors": (["errors"], [GONE]),
    "redirects": (["redirects"], [OLD]),
    "redirects to a page": (["redirects", "--to", ABOUT], [OLD]),
    "redirects to another": (["redirects", "--to", HOME], []),
    "duplicates": (["duplicates", ABOUT], [COPY]),
    "duplicates of what is stored nowhere": (["duplicates", NEW], []),
    "an index": (["indexed", "status", "--term", "301"], [OLD]),
    "an index of two parts": (
        ["indexed", "link", "docs.example.com", *["--term", "outlinks", "--term", "99999999"]],
        [BIG],
    ),
    "an index backwards": (["indexed", "status", "--order", "reverse", "--limit", "2"], [GONE, OLD]),
    "linked most": (["most-linked", "--limit", "2"], [ABOUT, HOME]),
    "linked least": (["most-linked", "--order", "fewest", "--limit", "1", "other.example"], [OTHER]),
    "orphans": (["orphans", "example.com"], [BIG, COPY, OLD]),
    "orphans of their hosts": (["orphans", "all", "--within-host"], [BIG, COPY, OLD, OTHER]),
    "dead ends": (["dead-ends", "example.com"], [BIG, GONE]),
    "links to a page": (["linking-to", ABOUT], [HOME, OLD, OTHER]),
    "links to a page from a domain": (["linking-to", ABOUT, "other.example"], [OTHER]),
    "links to what is no page": (["linking-to", NEW], [HOME]),
    "links that were": (["linking-to", "https://example.com/was", "--past"], [HOME]),
    "links to what is known nowhere": (["linking-to", "https://nowhere.example/"], []),
    "links of a page": (["links-of", HOME], [ABOUT, GONE, OTHER, NEW]),
    "links of what is stored nowhere": (["links-of", NEW], []),
    "broken links": (["broken-links"], [GONE]),
    "broken links elsewhere": (["broken-links", "other.example"], []),
    "groups of one content": (["duplicate-groups", "example.com"], [digest_of(ABOUT_HTML)]),
    "groups of one title": (["duplicate-groups", "all", "--by", "title"], ["About salt"]),
    "titles of several pages": (["titles", "example.com"], [ABOUT, COPY]),
    "titles that are too long": (["titles", "other.example", "--max-length", "4"], [OTHER]),
    "titles of a directory": (["titles", "https://example.com/docs/"], []),
    "sitemaps that are not stored": (
        ["sitemaps", "example.com", "--sitemap", f"{HOME}sitemap.xml", "--problem", "unreadable"],
        [f"{HOME}sitemap.xml"],
    ),
    "chains of redirects": (["redirect-chains", "all"], [f"{OLD} {ABOUT}"]),
    "what a bot may not index": (["indexability", "example.com", "--verdict", "error"], [GONE]),
    "what is not indexable": (["pages", "example.com", "--finding", "not-indexable"], [GONE, OLD]),
    "open revisits": (["unresolved", "all"], [HOME]),
    "words": (["search", "SALT row", "example.com"], [ABOUT, COPY]),
    "a phrase": (["search", '"row key"', "example.com", "--in", "body"], [ABOUT, COPY]),
    "words that begin so": (["search", "sal*", "example.com", "--in", "body"], [ABOUT, COPY]),
    "no such words": (["search", "alt", "example.com"], []),
    "texts inside of words": (["search", "alt", "example.com", "--substring"], [ABOUT, COPY]),
    "titles": (["search", "home", "--in", "title", "all"], [HOME]),
    "words in a directory": (["search", "salt", "https://example.com/docs/"], []),
}


@pytest.mark.parametrize("case", LISTINGS)
def test_a_question_is_answered_in_its_order(run: Run, site: None, case: str) -> None:
    arguments, expected = LISTINGS[case]

    result = run(*arguments)

    assert result.code == 0, result.err
    assert result.urls == expected
    assert bool(result.err) == (not expected) or "--limit" in arguments


@pytest.mark.parametrize("case", [case for case, (_, expected) in LISTINGS.items() if len(expected) > 1])
def test_a_limit_tells_the_token_that_goes_on(run: Run, site: None, case: str) -> None:
    arguments, expected = LISTINGS[case]
    if "--limit" in arguments:
        at = arguments.index("--limit")
        arguments = [*arguments[:at], *arguments[at + 2 :]]

    first = run(*arguments, "--limit", 1)
    on = shlex.split(first.err.removeprefix("more: "))
    second = run(*arguments, "--limit", 1, *on)

    assert first.urls + second.urls == expected[:2]


@pytest.mark.parametrize("case", LISTINGS)
def test_every_listing_has_all_formats(run: Run, site: None, case: str) -> None:
    arguments, expected = LISTINGS[case]

    jsonl = run(*arguments, "--format", "jsonl").lines
    table = run(*arguments, "--format", "table").out
    with_header = list(csv.reader(io.StringIO(run(*arguments, "--format", "csv").out)))

    assert len(jsonl) == len(expected)
    assert all(isinstance(json.loads(line), dict) for line in jsonl)
    assert all(url in table for one in expected for url in re.sub(r"^blake3:(.{12}).*", r"\1", one).split(" http"))
    assert all(one in row for one, row in zip(expected, with_header[1:], strict=True))


@pytest.mark.parametrize("case", some(list(LISTINGS), 3))
def test_files_of_a_listing_have_all_usual_columns(run: Run, site: None, case: str) -> None:
    arguments, _ = LISTINGS[case]
    fields: dict[str, set[str]] = {}

    for name in ("f.csv", "f.jsonl", "f.parquet"):
        assert run(*arguments, "--out", name).code == 0
    fields["csv"] = set(next(csv.reader(io.StringIO(Path("f.csv").read_text()))))
    fields["jsonl"] = {name for line in Path("f.jsonl").read_text().splitlines() for name in json.loads(line)}

    assert fields["csv"] == set(pq.read_schema("f.parquet").names)
    assert fields["jsonl"] - {"headers"} in (fields["csv"], set())


@pytest.mark.parametrize("case", LISTINGS)
def test_every_listing_explains_itself_and_asks_nothing(run: Run, site: None, case: str) -> None:
    arguments, _ = LISTINGS[case]

    result = run(*arguments, "--explain")

    assert (result.code, result.err) == (0, "")
    assert "order: " in result.out
    assert "ranges: " in result.out


def test_on_a_terminal_an_empty_answer_is_said(run: Run, site: None, on_terminal: None) -> None:
    assert run("broken-links", "other.example").err == "no broken links of pages of other.example and below\n"
    assert run("with-status", "503").err == "no pages with status 503\n"


def test_changes_need_a_moment_and_tell_what_was_and_what_is(run: Run, site: None) -> None:
    listed = run("changes", "example.com", "--since", "60h", "--kind", "changed")

    assert listed.cells == [[HOME, "changed", "content title", "200", "200", "Home"]]
    assert run("changes", "example.com").err.startswith("webtable: --since must be given")


@pytest.mark.parametrize("command", ["hosts", "discovered all", "errors", "broken-links"])
def test_an_order_that_a_question_does_not_have_is_refused(run: Run, site: None, command: str) -> None:
    result = run(*command.split(), "--order", "colour")

    assert result.code == 2
    assert "colour" in result.err


def test_results_that_are_no_pages_have_columns_of_their_own(run: Run, site: None) -> None:
    assert run("hosts", "example.com", "--columns", "name,pages,bytes").cells == [
        ["docs.example.com", "1", "20018"],
        ["example.com", "5", str(sum(len(one.body) for one in SITE[1:6]))],
    ]
    assert run("links-of", HOME, "--columns", "url,anchor,rel").cells[1] == [GONE, "Gone [1]", "nofollow"]
    assert run("broken-links", "--columns", "target,status,source,anchor,rel").cells == [
        [GONE, "404", HOME, "Gone [1]", "nofollow"]
    ]
    assert run("linking-to", ABOUT, "--columns", "source,anchor,is_current,title").cells == [
        [HOME, "About", "true", "Home"],
        [OLD, "", "true", ""],
        [OTHER, "see there", "true", "Other"],
    ]
    assert run("most-linked", "--columns", "url,inlinks,internal,external", "--limit", "2").cells == [
        [ABOUT, "3", "2", "1"],
        [HOME, "2", "2", "0"],
    ]


def test_crawls_are_listed_with_their_pauses(run: Run, site: None) -> None:
    def days_ago(days: float) -> str:
        return (NOW - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    sizes = {
        days: str(sum(len(one.body) for one in SITE[1:] if one.fetched_at == NOW - timedelta(days=days)))
        for days in range(21)
    }
    (newest, *_, oldest) = run("crawls", "all").cells

    assert newest == [days_ago(1), days_ago(1), "1", sizes[1], "1"]
    assert oldest == [days_ago(20), days_ago(20), "1", sizes[20], "1"]
    assert [cells[2] for cells in run("crawls", "all", "--gap", "2d").cells] == ["6", "1", "1"]
    assert [cells[:3] for cells in run("crawls", "example.com", "--gap", "4w").cells] == [
        [days_ago(20), days_ago(1), "7"]
    ]
    assert "docs" not in run("crawls", "all", "--explain").out
    assert json.loads(run("crawls", "all", "--limit", "1", "--format", "jsonl").out)["hosts"] == 1
    assert days_ago(1) in run("crawls", "all", "--format", "table").out
    first = run("crawls", "all", "--limit", "1", "--order", "oldest")
    on = shlex.split(first.err.removeprefix("more: "))
    assert run("crawls", "all", "--order", "oldest", *on).cells == run("crawls", "all", "--order", "oldest").cells[1:]


def test_crawls_are_compared_by_the_moments_that_are_printed(run: Run, site: None) -> None:
    newest, *_, oldest = run("crawls", "all", "--gap", "2d").cells
    shown = run("crawls", "all", "--gap", "2d", "--format", "table").lines
    rows = [words for words in map(str.split, shown) if words and words[0].startswith("20")]

    compared = run("compare", "example.com", "--since", rows[-1][1], "--until", rows[0][1])

    assert (rows[-1][1], rows[0][1]) == (oldest[1], newest[1])  # not cut to the minute, which would leave captures out
    assert compared.code == 0, compared.err
    assert compared.out


@pytest.mark.usefixtures("large_store")
@pytest.mark.parametrize(
    "command",
    [
        "pages",
        "search salt",
        "discovered",
        "orphans",
        "duplicate-groups",
        "titles",
        "redirect-chains",
        "indexability",
        "canonicals",
        "hreflang",
        "pagination",
        "soft-404s",
        "depths",
        "sitemaps",
        "crawls",
        "stats",
    ],
)
def test_all_pages_of_a_large_table_are_read_when_they_are_named_or_limited(run: Run, site: None, command: str) -> None:
    refused = run(*command.split())

    assert (refused.code, refused.out) == (2, "")
    limit = "" if command == "stats" else "give a --limit, "
    assert refused.err.endswith(f" are read only on purpose: name a site, {limit}or all for every page\n")
    assert run(*command.split(), "all").code == 0
    if command != "stats":
        assert run(*command.split(), "--limit", "1").code == 0


def test_a_mistyped_host_is_answered_with_the_closest_one(run: Run, site: None) -> None:
    assert run("pages", "exmaple.com").err == "no pages of exmaple.com and below; did you mean example.com?\n"
    assert run("pages", "https://docs.exmaple.com/x/").err.endswith("did you mean docs.example.com?\n")
    assert run("errors", "exmaple.com").err.endswith("did you mean example.com?\n")
    assert run("stats", "exmaple.com").err.endswith("did you mean example.com?\n")
    assert run("linking-to", "https://exmaple.com/").err.endswith("did you mean example.com?\n")
    assert run("audit", "exmaple.com").err.endswith("did you mean example.com?\n")
    assert "did you mean" not in run("pages", "https://example.com/nothing/").err
    assert "did you mean" not in run("pages", "elsewhere.org").err


def test_a_column_that_a_result_does_not_have_is_refused_with_those_that_it_has(run: Run, site: None) -> None:
    result = run("hosts", "--columns", "url")

    assert (result.code, result.out) == (2, "")
    assert "--columns 'url' is not a column of a host; it has name, pages, bytes, counted_at" in result.err


@pytest.mark.parametrize(("wrong", "meant"), [("titel", "title"), ("contenttype", "content_type")])
def test_columns_that_are_suggested_are_named_as_columns_and_not_as_options(run: Run, site: None, wrong, meant) -> None:
    told = run("pages", "all", "--columns", f"url,{wrong}").err

    assert told.startswith(f"webtable: --columns {wrong!r} is not a column of a page; did you mean {meant!r}? ")
    assert ", content_type, " in told
    assert told.count("--") == 1


def test_bodies_come_with_html(run: Run, site: None) -> None:
    (line,) = run("errors", "--body", "--format", "jsonl", "--columns", "url").lines

    assert json.loads(line) == {"url": GONE, "body": "<title>Not here</title>"}


def test_a_table_leaves_out_columns_without_a_value_unless_they_are_asked_for(run: Run, site: None) -> None:
    assert "rel" not in run("linking-to", ABOUT, "--format", "table").lines[1]
    assert "rel" in run("linking-to", GONE, "--format", "table").lines[1]
    assert "rel" in run("linking-to", ABOUT, "--format", "table", "--columns", "source,rel").lines[1]


def test_a_table_of_two_urls_fits_its_terminal(run: Run, on_terminal: None) -> None:
    source, target = "https://example.com/" + "s" * 60, "https://example.com/" + "t" * 60
    with webtable.open("webtable.db", create=True) as table:
        table.put(page(source, f"<a href={target}>{'words ' * 30}</a>".encode(), 1))
        table.put(page(target, b"", 1, status=500))

    lines = run("broken-links").lines

    assert max(map(len, lines)) <= 100
    assert sum(line.count("t" * 10) > 0 for line in lines) == sum(line.count("s" * 10) > 0 for line in lines) > 1
    assert sum(line.count("…") for line in lines) == 1  # that of the words


# words and counts


def test_matches_are_marked_with_brackets_in_a_pipe(run: Run, site: None) -> None:
    first, _ = run("search", "salt row", "example.com").cells

    assert first == [ABOUT, "3", "About [salt]", "A [salt] in front of a [row] key.home"]


def test_hits_in_json_have_what_they_have_in_frames(run: Run, site: None) -> None:
    first, _ = run("search", "row", "example.com", "--format", "jsonl").lines

    assert json.loads(first) == {
        "url": ABOUT,
        "matches": 1,
        "title": "About salt",
        "excerpts": "A salt in front of a [row] key.home",
        "status": 200,
        "fetched_at": (NOW - timedelta(days=5)).isoformat().replace("+00:00", "Z"),
    }


def test_hits_on_a_terminal_are_shown_below_their_urls(run: Run, site: None, on_terminal: None) -> None:
    lines = [line.rstrip() for line in run("search", "row", "example.com").lines]

    assert lines[:3] == [f"{ABOUT}  1 match", "  About salt", "  A salt in front of a row key.home"]


def test_words_cannot_command_a_terminal(run: Run, on_terminal: None) -> None:
    with webtable.open("webtable.db", create=True) as table:
        table.put(page(HOME, "<title>a\x1b]0;x\x07</title><p>needle \u202e in [red]hay".encode(), 1))

    result = run("search", "needle", "example.com")

    assert not {"\x1b", "\u202e", "\x07"} & set(result.out)
    assert "[red]hay" in result.out


def test_stats_count_by_what_is_asked_for(run: Run, site: None) -> None:
    assert run("stats", "example.com", "--by", "status,host").cells[1:] == [
        ["status", "200", "4", str(sum(len(one.body) for one in (*SITE[1:4], SITE[6])))],
        ["status", "301", "1", "5"],
        ["status", "404", "1", "23"],
        ["host", "docs.example.com", "1", "20018"],
        ["host", "example.com", "5", str(sum(len(one.body) for one in SITE[1:6]))],
    ]
    assert run("stats", "all", "--by", "host", "--no-bytes", "--format", "csv").lines[:2] == [
        "by,group,pages",
        "all,,7",
    ]


def test_stats_on_a_terminal_are_tables(run: Run, site: None, on_terminal: None) -> None:
    lines = run("stats", "example.com").lines

    assert lines[0] == "6 pages, 20.4 kB"
    assert [line.strip() for line in lines if line.startswith("By ")] == [
        "By host",
        "By status",
        "By type",
        "By language",
        "By age",
        "By region",
    ]


def test_stats_show_the_largest_of_many_groups(run: Run, on_terminal: None) -> None:
    with webtable.open("webtable.db", create=True) as table, table.writer() as writer:
        for number in range(40):
            writer.put(page(f"https://h{number}.example.com/", b"x", 1))
        writer.put(page("https://h7.example.com/b", b"x", 1))

    out = run("stats", "example.com", "--by", "host").out

    assert "… and 25 more" in out
    assert out.index("h7.example.com") < out.index("h0.example.com")


# one page


def test_get_as_of_shows_what_the_page_was(run: Run, site: None) -> None:
    assert run("get", HOME, "--as-of", "5d", "--columns", "title").out == "title\tOld home\n"
    assert run("get", HOME, "--columns", "title").out == "title\tHome\n"


def test_get_as_of_a_time_before_the_first_capture_finds_nothing(run: Run, site: None) -> None:
    result = run("get", HOME, "--as-of", "2020-01-01")

    assert (result.code, result.out) == (1, "")
    assert result.err == f"webtable: {HOME}: not stored as of 2020-01-01\n"


def test_get_shows_how_many_pages_link_there(run: Run, site: None, on_terminal: None) -> None:
    assert "3 (2 internal, 1 external), counted 20" in run("get", ABOUT).out


def test_diff_shows_what_changed(run: Run, site: None) -> None:
    lines = run("diff", HOME).lines

    assert "title: 'Old home' -> 'Home'" in lines
    assert "-Nothing. Was" in lines or "-Nothing.Was" in lines
    assert any(line.startswith("link added: https://example.com/about") for line in lines)


def test_diff_is_json_when_asked(run: Run, site: None) -> None:
    found = json.loads(run("diff", HOME, "--format", "json").out)

    assert found["title"] == ["Old home", "Home"]
    assert [link[0] for link in found["links_removed"]] == ["https://example.com/was"]


def test_diff_and_changes_name_the_facts_that_changed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea, coffee = "https://example.com/tea", "https://example.com/coffee"
    with webtable.open(tmp_path / "facts.db", create=True) as table:
        html = b"<title>Tea</title>"
        table.put(page(tea, html, 9))
        table.put(page(tea, html, 2, headers={"X-Robots-Tag": "noindex"}))
        table.put(page(coffee, html, 9))
        table.put(page(coffee, html + b"<!-- 2 -->", 2))
    monkeypatch.setenv("WEBTABLE_STORE", str(tmp_path / "facts.db"))

    changes = ("changes", "example.com", "--since", "5d")
    assert run(*changes, "--field", "robots", "--columns", "url,kind,changed").cells == [[tea, "changed", "robots"]]
    assert run(*changes, "--columns", "url,changed").cells == [[coffee, "content"], [tea, "robots"]]
    assert run(*changes, "--ignore", "boilerplate", "--columns", "url").lines == [tea]
    compared = json.loads(run("compare", *changes[1:], "--ignore", "boilerplate", "--format", "json").out)
    assert (compared["counts"]["changed"], compared["counts"]["unchanged"]) == (1, 1)
    assert "robots: none -> 'noindex'" in run("diff", tea).lines
    assert json.loads(run("diff", tea, "--format", "json").out)["facts"] == {"robots": [None, "noindex"]}
    assert [version[5] for version in run("history", tea).cells] == ["noindex", ""]


@pytest.mark.parametrize(
    ("url", "options", "said"),
    [
        (ABOUT, [], "there are no two versions to compare; stored is that of "),
        (HOME, ["--old", "2020-01-01"], "there are no two versions to compare; stored are those of "),
        (NEW, [], "not stored"),
    ],
)
def test_diff_of_less_than_two_versions_is_exit_code_1(
    run: Run, site: None, url: str, options: list[str], said: str
) -> None:
    result = run("diff", url, *options)

    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"webtable: {url}: {said}")


def test_validators_are_lines_of_headers(run: Run, site: None) -> None:
    modified = (NOW - timedelta(days=40)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    assert run("validators", ABOUT).lines == ['If-None-Match: "7"', f"If-Modified-Since: {modified}"]
    assert (run("validators", NEW).code, run("validators", NEW).out) == (0, "")


def test_not_modified_renews_a_page(run: Run, site: None) -> None:
    moment = (NOW - timedelta(hours=1)).isoformat()

    result = run("not-modified", ABOUT, "--fetched-at", moment)

    assert (result.code, result.out) == (0, f"not modified\t{ABOUT}\n")
    assert run("get", ABOUT, "--columns", "status,fetched_at").lines == [
        "status\t200",
        f"fetched_at\t{moment[:19]}.000Z",
    ]


def test_what_is_not_stored_cannot_be_unmodified(run: Run, site: None) -> None:
    result = run("not-modified", NEW)

    assert (result.code, result.out) == (1, "")
    assert "not stored" in result.err


def test_a_handle_leads_to_its_page(run: Run, site: None) -> None:
    assert run("by-id", "182ccedb33a9e03f", "--columns", "url").out == f"url\t{HOME}\n"
    assert run("by-id", "182ccedb33a9e03f", "--body").out == HOME_HTML.decode()
    assert run("by-id", "0" * 16).err == f"webtable: {'0' * 16}: not stored\n"
    assert run("by-id", "0" * 16).code == 1
    assert run("by-id", "example").code == 2


def test_resolve_lists_the_way_to_the_end(run: Run, site: None) -> None:
    assert (run("resolve", OLD).code, run("resolve", OLD).lines) == (0, [OLD, ABOUT])
    assert run("resolve", ABOUT).lines == [ABOUT]


def test_resolve_without_an_end_is_exit_code_1(run: Run, site: None) -> None:
    with webtable.open("webtable.db") as table:
        table.put(page(COPY, b"", 0, status=302, redirect_to=GONE + "2"))
        table.put(page(GONE, b"", 0, status=302, redirect_to=GONE + "/"))
        table.put(page(GONE + "/", b"", 0, status=302, redirect_to=GONE))

    lost, loop = run("resolve", COPY), run("resolve", GONE)

    assert (lost.code, lost.lines, lost.err) == (1, [COPY, GONE + "2"], f"webtable: {GONE}2: not stored\n")
    assert (loop.code, loop.lines, loop.err) == (1, [GONE, GONE + "/", GONE], f"webtable: {GONE}: a loop\n")


# counts


def test_counts_that_wait_are_told_with_the_command_that_makes_them(run: Run, site: None) -> None:
    with webtable.open("webtable.db") as table:
        table.put(page(NEW, b"<a href=/about>again</a>", 0))

    for command in ("most-linked", "hosts"):
        assert "counts: 1 batch waits since 20" in run(command).err
        assert run(command).err.endswith(": webtable links refresh\n")
    assert run("links", "status").cells[0] == ["waiting", "1"]
    assert run("dead-ends").err == ""


def test_links_refresh_counts_what_waits(run: Run, site: None) -> None:
    with webtable.open("webtable.db") as table:
        table.put(page(NEW, b"<a href=/about>again</a>", 0))

    refreshed = run("links", "refresh")

    assert refreshed.out == "1 page and 1 host counted, for 1 batch that waited\n"
    assert run("most-linked", "--limit", "1", "--columns", "url,inlinks").cells == [[ABOUT, "4"]]
    assert run("links", "refresh").out == "nothing to count\n"
    assert run("links", "status").lines == ["waiting\t0"]


# times, and what is none


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:00", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20 10:00:30Z", datetime(2026, 11, 20, 10, 0, 30, tzinfo=UTC)),
        ("2026-11-20T10:00+01:00", datetime(2026, 11, 20, 9, tzinfo=UTC)),
    ],
)
def test_a_time_is_in_utc_where_it_has_no_offset(text: str, moment: datetime) -> None:
    assert parse_time("since", text) == moment


@pytest.mark.parametrize(
    ("text", "ago"),
    [("7d", timedelta(days=7)), ("12h", timedelta(hours=12)), ("30m", timedelta(minutes=30)), ("2W", timedelta(14))],
)
def test_a_time_may_be_ago(text: str, ago: timedelta) -> None:
    before = datetime.now(UTC)

    moment = parse_time("since", text)

    assert before - ago - timedelta(seconds=1) < moment <= datetime.now(UTC) - ago


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", "2026-11-25"),
        ("yesterday", "2026-11-24"),
        ("Wednesday", "2026-11-25"),
        ("monday", "2026-11-23"),
        ("thursday", "2026-11-19"),
        ("last wednesday", "2026-11-18"),
        ("last monday", "2026-11-23"),
        ("this week", "2026-11-23"),
        (" Last  Week ", "2026-11-16"),
        ("this month", "2026-11-01"),
        ("last month", "2026-10-01"),
    ],
)
def test_a_time_may_be_a_day_a_week_or_a_month_which_begins_in_utc(
    text: str, day: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ManualClock(datetime(2026, 11, 25, 23, 59, tzinfo=UTC)).installed(monkeypatch)  # a Wednesday

    assert parse_time("since", text) == datetime.fromisoformat(day).replace(tzinfo=UTC)
    assert is_ago(text)


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "last", "next week", "7", "7y", "2026-13-01", "-7d", "99999999999d", "١d٢"]
)
def test_what_is_no_time_is_refused_with_its_name_and_value(text: str) -> None:
    with pytest.raises(InvalidArgument, match="since="):
        parse_time("since", text)


def test_a_listing_since_a_while_ago_goes_on_where_it_ended(run: Run, site: None) -> None:
    first = run("fetched", "--since", "90h", "--limit", "2")

    more, option, moment, *rest = first.err.split()
    second = run("fetched", option, moment, *rest)

    assert (more, option, rest[0]) == ("more:", "--since", "--after")
    assert first.urls + second.urls == [HOME, GONE, OLD]


BAD_INPUT = {
    "no time": (["fetched", "--since", "tomorrow"], "tomorrow"),
    "no time for a page": (["get", HOME, "--as-of", "soon"], "soon"),
    "until before since": (["modified", "--since", "1d", "--until", "2d"], "until"),
    "outdated without a time": (["outdated"], "--not-fetched-since"),
    "outdated with two times": (["outdated", "--not-fetched-since", "1d", "--not-modified-since", "1d"], "one of"),
    "no status": (["with-status", "abc"], "status"),
    "a status that there is not": (["with-status", "1000"], "1000"),
    "no size": (["largest", "--min-size", "big"], "big"),
    "no size class": (["largest", "--class", "gigantic"], "gigantic"),
    "a size class and a size": (["largest", "--class", "huge", "--min-size", "1"], "huge"),
    "sizes the wrong way round": (["pages", "example.com", "--min-size", "9", "--max-size", "8"], "--max-size"),
    "no id": (["by-id", "xyz"], "xyz"),
    "no URL to link to": (["linking-to", "example"], "example"),
    "no URL to redirect to": (["redirects", "--to", "ftp://example.com/"], "ftp"),
    "a site that is none": (["errors", "https://example.com/?a"], "https://example.com/?a"),
    "an unknown index": (["indexed", "colour"], "colour"),
    "an index that names no pages": (["indexed", "host"], "host"),
    "a term with too many parts": (["indexed", "status", "--term", "4", "--term", "0", "--term", "4"], "status"),
    "no words": (["search", " ", "example.com"], "words"),
    "a quote that is not closed": (["search", '"row key', "example.com"], "not closed"),
    "titles of no length": (["titles", "example.com", "--max-length", "0"], "--max-length 0"),
    "a gap that is no time": (["crawls", "example.com", "--gap", "soon"], "--gap 'soon'"),
    "counts by nothing": (["stats", "example.com", "--by", "colour"], "colour"),
    "a damaged token": (["errors", "--after", "x"], "x"),
    "an unknown column": (["errors", "--columns", "colour"], "colour"),
    "a limit below none": (["hosts", "--limit", "-1"], "-1"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, site: None, case: str) -> None:
    arguments, named = BAD_INPUT[case]

    result = run(*arguments)

    assert (result.code, result.out) == (2, ""), result.err
    assert len(result.err.splitlines()) == 1
    assert result.err.startswith("webtable: ")
    assert named in result.err


def test_a_token_of_another_question_is_refused(run: Run, site: None) -> None:
    token = run("fetched", "--limit", "1").err.split()[-1]

    result = run("modified", "--limit", "1", "--after", token)

    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("outdated", "outdated takes --not-fetched-since or --not-modified-since, one of the two"),
        ("pages example.com --limit -1", "--limit -1 must be a number of results, 0 or more"),
        ("pages example.com --after x", "--after 'x' is not a page token: give the token of an answer unchanged"),
        ("largest --min-size 3 --max-size 1", "--min-size 3 and --max-size 1 leave no size in between"),
        ("with-status 99999", "STATUS 99999 must be a status code, from 0 to 999"),
    ],
)
@pytest.mark.usefixtures("site")
def test_a_message_speaks_of_options_and_not_of_arguments(run: Run, command: str, message: str) -> None:
    refused = run(*command.split())

    assert (refused.code, refused.err) == (2, f"webtable: {message}\n")


def test_the_link_graph_of_a_site_is_listed_and_continued(run: Run, site: None) -> None:
    lines = run("edges", "example.com", "--columns", "source,target,host,status").out.splitlines()

    first = run("edges", "example.com", "--limit", "1", "--columns", "source,target,host,status")

    assert len(lines) > 1
    assert all(line.split("\t")[1].startswith(("http://", "https://")) for line in lines)
    assert first.out.splitlines() == lines[:1]
    assert "--after" in first.err


def test_pages_are_counted_by_month(run: Run, site: None) -> None:
    rows = [line.split("\t") for line in run("stats", "example.com", "--by", "month").out.splitlines()]

    assert {by for by, *_ in rows} == {"all", "month"}
    assert sum(int(pages) for by, _, pages, _ in rows if by == "month") == int(rows[0][2])


def test_the_extracted_text_and_the_host_are_columns(run: Run, site: None) -> None:
    rows = [line.split("\t") for line in run("pages", "example.com", "--columns", "host,text").out.splitlines()]

    assert {host for host, *_ in rows} >= {"example.com"}
    assert any(text for _, text in rows)
    assert not any("<p>" in text for _, text in rows)

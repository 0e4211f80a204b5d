"""What pages say of themselves is kept with the capture that said it: in the history, as of a time, as a change."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import permutations

import msgspec
import pytest

import webtable
from languages import TEXTS
from store_differences import on_every_store
from webtable import Page
from webtable.errors import InvalidArgument
from webtable.formats import read_pages, write_captures
from webtable.reports import compare

DAY = 24 * 3600
MARKUP = "<html{0}><title>{1}</title>{2}<h1>{3}</h1><p>Tea for two, and two for tea"


def html(*, lang="", title="Tea", head="", h1="Tea"):
    return MARKUP.format(f" lang={lang}" if lang else "", title, head, h1).encode()


PLAIN = html()


def page(site, days, body=PLAIN, path="/a", **fields):
    fields = {"content_type": "text/html", "title": None, "outlinks": None, "body": body, **fields}
    return site.page(path, age=days * DAY, **fields)


def ago(site, days):
    return site.now - timedelta(days=days)


NOINDEX = {"X-Robots-Tag": "noindex"}
SIBLINGS = {
    "noindex by header": ({}, {"headers": NOINDEX}, "robots", None, "noindex"),
    "noindex by markup": ({}, {"body": html(head="<meta name=robots content=noindex>")}, "robots", None, "noindex"),
    "noindex for one bot": ({}, {"headers": {"X-Robots-Tag": "bingbot: none"}}, "robots_by_bot", None, "bingbot: none"),
    "canonical by header": ({}, {"headers": {"Link": "</b>; rel=canonical"}}, "canonical", None, "/b"),
    "canonical by markup": ({}, {"body": html(head="<link rel=canonical href=/b>")}, "canonical", None, "/b"),
    "two canonicals": (
        {"headers": {"Link": "</b>; rel=canonical"}},
        {"headers": {"Link": "</b>; rel=canonical, </c>; rel=canonical"}},
        "other_canonical",
        None,
        "/c",
    ),
    "language by header": ({}, {"headers": {"Content-Language": "de"}}, "language", None, "de"),
    "language by markup": ({"body": html(lang="en")}, {"body": html(lang="de")}, "language", "en", "de"),
    "title": ({}, {"body": html(title="Coffee")}, "title", "Tea", "Coffee"),
    "heading": ({}, {"body": html(h1="Coffee")}, "h1", "Tea", "Coffee"),
    "description removed": (
        {"body": html(head="<meta name=description content='All of tea'>")},
        {},
        "description",
        "All of tea",
        None,
    ),
    "description of a page without a body": (
        {"body": None, "title": "Tea", "description": "All of tea"},
        {"body": None, "title": "Tea", "description": "More of tea"},
        "description",
        "All of tea",
        "More of tea",
    ),
    "redirect": (
        {"body": None, "status": 301, "redirect_to": "/b"},
        {"body": None, "status": 301, "redirect_to": "/c"},
        "redirect_to",
        "/b",
        "/c",
    ),
}


def absolute(site, value):
    return site.url(value) if value and value.startswith("/") else value


@on_every_store
@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "in reverse"])
@pytest.mark.parametrize(("before", "after", "name", "old", "new"), SIBLINGS.values(), ids=list(SIBLINGS))
def test_a_fact_that_changes_and_goes_away_again_is_kept_with_each_capture(
    site, before, after, name, old, new, is_reversed
):
    captures = [page(site, days, **fields) for days, fields in ((30, before), (20, after), (10, before))]
    old, new = absolute(site, old), absolute(site, new)
    url = captures[0].url

    for capture in captures[:: -1 if is_reversed else 1]:
        site.store(capture)

    history = site.table.history(url, columns=["body"])
    assert [getattr(version, name) for version in history] == [old, new, old]
    assert [version.body for version in history] == [capture.body for capture in reversed(captures)]
    assert [getattr(site.table.get(url, as_of=ago(site, days)), name) for days in (25, 15, 5)] == [old, new, old]
    difference = site.table.diff(url, ago(site, 25), ago(site, 15))
    assert (difference.title if name == "title" else difference.facts[name]) == (old, new)
    (change,) = site.table.changes(site.domain, since=ago(site, 25), until=ago(site, 15), met_since=ago(site, 21))
    assert name in change.changed
    assert (getattr(change.before, name), getattr(change.after, name)) == (old, new)
    (change,) = site.table.changes(site.domain, since=ago(site, 15))
    assert (change.kind, site.table.get(url).change_count) == ("changed", 2)
    assert list(site.table.changes(site.domain, since=ago(site, 25), kind=["changed", "gone", "moved"])) == []


@on_every_store
def test_a_304_keeps_the_facts_and_one_with_another_header_is_a_version_with_the_same_body(site):
    site.store(page(site, 40))
    url = page(site, 40).url
    site.table.put_not_modified(url, ago(site, 35))
    site.table.put_not_modified(url, ago(site, 30), NOINDEX)
    site.table.put_not_modified(url, ago(site, 20))
    site.store(page(site, 10))

    history = site.table.history(url, columns=["body"])
    assert [(version.fetched_at, version.robots) for version in history] == [
        (ago(site, 10), None),
        (ago(site, 30), "noindex"),
        (ago(site, 40), None),
    ]
    assert {version.body for version in history} == {html()}
    assert [site.table.get(url, as_of=ago(site, days)).robots for days in (33, 15, 1)] == [None, "noindex", None]


@on_every_store
def test_content_that_comes_late_is_what_a_304_with_a_header_had(site):
    site.store(page(site, 40))
    url = page(site, 40).url
    site.table.put_not_modified(url, ago(site, 20), NOINDEX)
    site.store(page(site, 30, html(title="Coffee")))

    history = site.table.history(url, columns=["body"])

    assert [(version.title, version.robots) for version in history] == [
        ("Coffee", "noindex"),
        ("Coffee", None),
        ("Tea", None),
    ]
    assert history[0].body == html(title="Coffee")


@on_every_store
@pytest.mark.parametrize("order", [*permutations(range(4))], ids=str)
def test_a_304_says_what_its_headers_say_of_whatever_content_is_put_before_it_late(site, order):
    captures = (
        page(site, 40, headers=NOINDEX),
        page(site, 30),
        page(site, 20, body=None, status=304, headers=NOINDEX),
        page(site, 10, body=None, status=304),
    )
    for number in order:
        site.store(captures[number])

    history = [(version.fetched_at, version.robots) for version in site.table.history(site.url("/a"))]
    assert history == [(ago(site, 20), "noindex"), (ago(site, 30), None), (ago(site, 40), "noindex")]
    assert site.table.get(site.url("/a")).robots == "noindex"


@on_every_store
def test_a_304_of_an_unknown_page_keeps_what_it_says_until_the_page_is_known(site):
    site.store(page(site, 20, body=None, status=304, headers=NOINDEX), page(site, 10, body=None, status=304))

    site.store(page(site, 30, status=404))

    newest = site.table.history(site.url("/a"))[0]
    assert (newest.fetched_at, newest.status, newest.robots) == (ago(site, 20), 304, "noindex")


@on_every_store
def test_a_capture_with_other_facts_that_is_put_again_changes_nothing(site):
    captures = [page(site, 30), page(site, 20, headers=NOINDEX), page(site, 10)]
    site.store(*captures)
    before = site.table.get(captures[0].url), list(site.table.history(captures[0].url))

    site.store(*captures[::-1])

    assert (site.table.get(captures[0].url), list(site.table.history(captures[0].url))) == before


@on_every_store
def test_links_and_the_same_page_in_one_batch_survive_a_change_of_facts_alone(site):
    body = b"<title>Tea</title><a href=/b>Bee</a>"
    site.store(
        page(site, 30, body), page(site, 20, body, headers=NOINDEX), page(site, 10, None, same_as=site.url("/a"))
    )

    assert [version.robots for version in site.table.history(site.url("/a"))] == ["noindex", None]
    (link,) = site.table.links.to(site.url("/b"))
    assert (link.source, link.anchor) == (site.url("/a"), "Bee")
    assert site.table.get(site.url("/a")).outlinks == site.table.get(site.url("/a"), as_of=ago(site, 25)).outlinks


@on_every_store
def test_a_page_is_deleted_with_the_facts_of_all_its_captures(site):
    site.store(page(site, 30), page(site, 20, headers=NOINDEX))

    site.table.delete(site.url("/a"))

    assert list(site.table.history(site.url("/a"))) == []
    assert site.table.get(site.url("/a"), as_of=ago(site, 15)) is None


def test_a_language_that_is_looked_for_in_the_text_from_now_on_is_no_change(site):
    body = f"<title>Tea</title><p>{TEXTS['de']}".encode()
    site.store(page(site, 30, body))
    site.store(page(site, 20, body), detect_language=True)

    newest = site.table.get(site.url("/a"))

    assert (newest.language, newest.language_detected, newest.change_count) == ("de", True, 0)
    assert list(site.table.changes(site.domain, since=ago(site, 25))) == []


@pytest.mark.parametrize("ending", ["warc.gz", "jsonl", "parquet"])
def test_facts_of_each_capture_come_back_from_an_export(site, new_url, tmp_path, ending):
    site.store(page(site, 30), page(site, 20, headers=NOINDEX), page(site, 10), page(site, 5))
    file = tmp_path / f"pages.{ending}"
    write_captures(site.table, file, site.domain)

    with webtable.open(new_url(), create=True, versions=None) as other:
        with other.writer() as writer:
            writer.put_many(read_pages(file))

        assert [version.robots for version in other.history(site.url("/a"))] == [None, "noindex", None]
        newest = other.get(site.url("/a"))
        assert (newest.fetched_at, newest.change_count, newest.body) == (ago(site, 5), 2, html())


@on_every_store
def test_changes_are_chosen_by_the_fields_that_changed(site):
    for path, fields in {
        "/robots": {"headers": NOINDEX},
        "/title": {"body": html(title="Coffee")},
        "/same": {},
    }.items():
        site.store(page(site, 9, path=path), page(site, 2, path=path, **fields))
    site.store(page(site, 2, path="/new"))

    def paths(**options):
        found = site.table.changes(site.domain, since=ago(site, 5), **options)
        return [(change.url.rsplit("/", 1)[1], change.changed) for change in found]

    assert paths(fields=["robots", "canonical"]) == [("robots", ("robots",))]
    assert paths(fields="title") == [("title", ("content", "title"))]
    assert paths(fields="content", kind="unchanged") == []
    assert [path for path, _ in paths()] == ["new", "robots", "title"]
    with pytest.raises(InvalidArgument, match="fields='headers' must be one of content, status"):
        paths(fields="headers")
    with pytest.raises(InvalidArgument, match="ignore='all' must be one of boilerplate"):
        paths(ignore="all")


ARTICLE = "<article><h1>Tea</h1>" + "<p>Tea is a drink made of leaves and hot water, and people like it.</p>" * 8


@on_every_store
def test_a_body_whose_main_text_is_the_same_is_unchanged_where_that_is_asked_for(site):
    def body(*, token="", text="", head=""):
        return (
            f"<title>Tea</title>{head}<body><nav><a href=/>Home {token}</a></nav>"
            f"{ARTICLE}{text}</article><!-- built {token} --><input type=hidden name=csrf value='{token}'>"
        ).encode()

    for path, later in {
        "/token": body(token="5f3a"),
        "/text": body(text="<p>And one more paragraph about coffee, which is another drink made of beans.</p>"),
        "/fact": body(token="5f3a", head="<meta name=robots content=noindex>"),
    }.items():
        site.store(page(site, 9, body(), path=path), page(site, 2, later, path=path))
    site.store(page(site, 9, b"\0\1", path="/binary", content_type="image/png"))
    site.store(page(site, 2, b"\0\2", path="/binary", content_type="image/png"))

    def paths(**options):
        return [change.url.rsplit("/", 1)[1] for change in site.table.changes(site.domain, **options)]

    assert paths(since=ago(site, 5)) == ["binary", "fact", "text", "token"]
    assert paths(since=ago(site, 5), ignore="boilerplate") == ["binary", "fact", "text"]
    assert paths(since=ago(site, 5), ignore="boilerplate", kind="unchanged") == ["token"]
    report = compare(site.table, site.domain, since=ago(site, 5), ignore="boilerplate")
    assert (report.counts["changed"], report.counts["unchanged"]) == (3, 1)
    assert report.command("changed").endswith("--ignore boilerplate --kind changed")


def test_a_difference_names_facts_before_headers_and_text(site):
    site.store(page(site, 9), page(site, 2, html(h1="Coffee"), headers=NOINDEX))

    difference = site.table.diff(site.url("/a"))

    assert difference.facts == {"robots": (None, "noindex"), "h1": ("Tea", "Coffee")}
    assert [(row["part"], row["name"]) for row in difference.to_dicts()][:2] == [("fact", "robots"), ("fact", "h1")]
    lines = [line for line in str(difference).splitlines() if not re.match("[-+@ ]", line)]
    assert lines[1:3] == ["robots: none -> 'noindex'", "h1: 'Tea' -> 'Coffee'"]
    assert not difference.is_empty


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"headers": NOINDEX}, ("robots",)),
        ({"body": html(head="<meta name=robots content=noindex>")}, ()),
        ({"body": html(head="<meta name=robots content=noindex>"), "headers": NOINDEX}, ()),
        ({"headers": {"Link": "</b>; rel=canonical", "Content-Language": "de"}}, ("canonical", "language")),
        ({"body": None, "title": "Tea", "robots": "noindex"}, ("robots",)),
    ],
)
def test_a_capture_says_which_of_its_facts_are_of_its_headers(site, fields, names):
    site.store(page(site, 9, **fields), page(site, 5))

    (_, version) = site.table.history(site.url("/a"))

    assert version.from_headers == names
    assert site.table.pages(site.domain, columns=["url", "from_headers"]).to_dicts()[0]["from_headers"] is None


def test_a_page_that_is_not_stored_says_nothing_of_headers():
    bare = Page(url="https://example.com/", robots="noindex")

    assert (bare.from_headers, msgspec.structs.replace(bare, robots=None).from_headers) == ((), ())


@on_every_store
@pytest.mark.parametrize("order", [*permutations(range(3))], ids=str)
def test_what_a_304_after_an_error_says_stays_whenever_the_content_between_comes(site, order):
    captures = (
        page(site, 30, status=404),
        page(site, 20),
        page(site, 10, body=None, status=304, headers=NOINDEX),
    )
    for number in order:
        site.store(captures[number])

    history = [(version.fetched_at, version.status, version.robots) for version in site.table.history(site.url("/a"))]
    assert history == [(ago(site, 10), 200, "noindex"), (ago(site, 20), 200, None), (ago(site, 30), 404, None)]
    assert site.table.get(site.url("/a")).robots == "noindex"


@on_every_store
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)], ids=str)
def test_a_304_takes_nothing_from_the_one_before_it_if_content_between_them_comes_late(site, order):
    captures = (
        page(site, 40, status=404),
        page(site, 30, body=None, status=304, headers=NOINDEX),
        page(site, 20),
        page(site, 10, body=None, status=304),
    )
    for number in order:
        site.store(captures[number])

    newest = site.table.get(site.url("/a"))
    assert (newest.robots, newest.changed_at, newest.fetched_at) == (None, ago(site, 20), ago(site, 10))
    assert next(iter(site.table.history(site.url("/a")))).fetched_at == ago(site, 20)

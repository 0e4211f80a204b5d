"""Items and responses of Scrapy's spiders, stored by the pipeline and the spider middleware."""

from __future__ import annotations

import pytest
from benchmarks.crawl_site import Answer, served

import webtable
from languages import TEXTS
from nightly import some
from webtable import Page

pytestmark = pytest.mark.slow

PIPELINE = {"ITEM_PIPELINES": {"webtable.integrations.scrapy.WebTablePipeline": 300}}
RESPONSES = {
    "SPIDER_MIDDLEWARES": {"webtable.integrations.scrapy.WebTableMiddleware": 25},
    "WEBTABLE_STORE_RESPONSES": True,
}
REACTORS = {
    "asyncio": {},
    # Of Scrapy 2.15 and later: no reactor at all. Those before know no such setting.
    "none": {"TWISTED_REACTOR_ENABLED": False},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
}
SOME_REACTORS = some([*REACTORS], 3)
"""For crawls of a whole site; the small ones try all reactors."""
HOME = "http://example.com/"


@pytest.fixture
def small():
    """A site of one page."""
    with served(
        {HOME: Answer(headers={"Content-Type": "text/html; charset=utf-8", "ETag": '"1"'}, body=b"<title>A</title>")}
    ) as site:
        yield site


@pytest.mark.parametrize("reactor", REACTORS)
def test_items_that_are_pages_are_stored_and_all_items_pass(small, crawls, reactor):
    crawl = crawls.run(small, "items", [HOME], PIPELINE | REACTORS[reactor])

    with webtable.open(crawls.url) as table:
        found = {page.url: page for page in table.pages("example.com", columns=["body"])}
    assert (crawl.code, crawl.counts("stored", "failed")) == (0, [3, 0]), crawl.log
    assert list(found) == [HOME, f"{HOME}dict", f"{HOME}page"]
    assert found[HOME].etag == '"1"'
    assert {page.body for page in found.values()} == {b"<title>A</title>"}
    assert found[f"{HOME}dict"].status == 203
    assert [item.get("price") for item in crawl.items] == [None, 3]
    assert crawl.stats["item_scraped_count"] == 4


@pytest.mark.parametrize("reactor", SOME_REACTORS)
def test_every_response_is_stored_with_redirects_and_errors(site, crawls, reactor):
    hosts = ["example.com", "docs.example.com"]

    crawl = crawls.run(
        site, "site", ["http://example.com/", "http://example.com/old/1", "http://docs.example.com/report"],
        RESPONSES | REACTORS[reactor] | {"RETRY_ENABLED": False}, hosts=hosts,
    )  # fmt: skip

    asked = {one.url: one.status for one in site.asked}
    with webtable.open(crawls.url) as table:
        found = {page.url: page for page in table.pages("example.com", columns=["body"]) if page.url in asked}
    assert crawl.code == 0, crawl.log
    assert {url: page.status for url, page in found.items()} == asked
    assert {301, 404, 500, 200} <= set(asked.values())
    assert len(found) > 150
    assert {url: page.body for url, page in found.items() if page.status == 200} == {
        url: site.answers[url].body for url, status in asked.items() if status == 200
    }
    assert crawl.stats["webtable/stored"] == len(site.asked)
    assert 0 < crawl.stats["webtable/latency_mean"] <= crawl.stats["webtable/latency_max"]


def test_a_response_is_stored_whose_callback_fails(small, crawls):
    small.add(f"{HOME}a", Answer(body=b"<title>B</title>"))

    crawl = crawls.run(small, "failing", [HOME, f"{HOME}a"], RESPONSES | {"WEBTABLE_BUFFER_PAGES": 1})

    with webtable.open(crawls.url) as table:
        assert [page.url for page in table.pages("example.com")] == [HOME, f"{HOME}a"]
    assert crawl.counts("stored", "failed") == [2, 0]
    assert crawl.stats["spider_exceptions/RuntimeError"] == 2


def test_what_cannot_be_stored_is_counted_by_its_reason_and_the_spider_goes_on(small, crawls, tmp_path):
    (tmp_path / "local.html").write_text("<title>A file</title>")
    urls = [f"file://{tmp_path}/local.html", "data:text/html,<title>No address</title>", HOME]

    crawl = crawls.run(small, "quiet", urls, RESPONSES | {"WEBTABLE_MAX_AGE": 0.1})

    assert crawl.code == 0
    assert crawl.counts("stored", "failed", "failed/InvalidURL") == [1, 2, 2]
    assert crawl.log.count("not stored: ") == 2


def test_a_body_that_came_in_part_is_stored_as_truncated(small, crawls):
    cut = small.add(f"{HOME}cut", Answer(body=b"<title>Cut</title>" + b"x" * 100_000, is_cut=True))

    crawl = crawls.run(small, "quiet", [cut], RESPONSES | {"RETRY_ENABLED": False, "DOWNLOAD_FAIL_ON_DATALOSS": False})

    with webtable.open(crawls.url) as table:
        page = table.get(cut)
    assert crawl.counts("stored") == [1], crawl.log
    assert page.truncated
    assert page.title == "Cut"


def test_a_body_over_the_limit_is_cut(small, crawls):
    large = small.add(f"{HOME}large", Answer(body=b"<title>Large</title>" + b"x" * 1_000_000))

    crawls.run(small, "quiet", [large], RESPONSES | {"WEBTABLE_MAX_BODY": 1_000})

    with webtable.open(crawls.url) as table:
        page = table.get(large)
    assert (len(page.body), page.size, page.truncated) == (1_000, 1_000_020, True)


@pytest.mark.parametrize(("setting", "language"), [(True, "de"), ("0", None)])
def test_the_language_of_a_text_is_found_if_a_setting_says_so(small, crawls, setting, language):
    german = small.add(f"{HOME}german", Answer(body=f"<meta charset=utf-8><p>{TEXTS['de']}".encode()))

    crawls.run(small, "quiet", [german], RESPONSES | {"WEBTABLE_DETECT_LANGUAGE": setting})

    with webtable.open(crawls.url) as table:
        assert table.get(german).language == language


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"WEBTABLE_URI": ""}, "the setting WEBTABLE_URI is missing"),
        ({"WEBTABLE_CREATE": False}, "TableNotFound"),
        ({"WEBTABLE_BUFER_PAGES": 1}, "WEBTABLE_BUFER_PAGES is not a setting of webtable"),
        ({"WEBTABLE_MAX_AGE": "soon"}, "WEBTABLE_MAX_AGE='soon' must be of type float"),
        ({"WEBTABLE_BUFFER_PAGES": 0}, "buffer_pages=0 must be above 0"),
    ],
)
def test_a_crawl_whose_table_cannot_be_opened_requests_nothing_and_says_why(small, crawls, settings, said):
    crawl = crawls.run(small, "quiet", [HOME], PIPELINE | settings)

    assert said in crawl.log
    assert small.asked == []


def test_without_its_setting_the_middleware_is_disabled(small, crawls):
    crawl = crawls.run(small, "quiet", [HOME], RESPONSES | {"WEBTABLE_STORE_RESPONSES": False})

    assert "webtable/stored" not in crawl.stats
    assert len(small.asked) == 1


def test_all_components_of_a_crawler_have_one_table_and_one_writer(small, crawls):
    crawl = crawls.run(small, "items", [HOME], PIPELINE | RESPONSES)

    with webtable.open(crawls.url) as table:
        page = table.get(HOME)
    assert crawl.counts("stored", "unchanged") == [4, 1]
    assert isinstance(page, Page)

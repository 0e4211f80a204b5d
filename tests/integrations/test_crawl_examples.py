"""Each crawler of the docs runs to its end on a site of traps, and stores what the site has."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from test_scrapy_pipeline import RESPONSES

import webtable
from trap_site import HOME, HOST, NOT_BY_HTTPX, NOT_STORED, STORED, trap_site

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
LONG_AGO = datetime.now(UTC) - timedelta(days=30)
RUN = """
import os, sys
from scrapy.crawler import CrawlerProcess
os.environ["http_proxy"] = {proxy!r}
settings = {settings!r} | {{"TELNETCONSOLE_ENABLED": False, "WEBTABLE_CREATE": True, "LOG_LEVEL": "INFO"}}
process = CrawlerProcess(settings)
process.crawl({spider}, start_urls={urls!r}, allowed_domains=[{host!r}])
process.start()
"""


def examples(page: str) -> list[str]:
    """The Python of a *page* of the docs, in its order."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def defined_in(code: str) -> str:
    """What *code* imports and defines, without what it does."""
    kept = [
        node
        for node in ast.parse(code).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef | ast.FunctionDef)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper())
    ]
    return ast.unparse(ast.Module(kept, []))


SPIDERS = {re.search(r"class (\w+)\((.*)\):", code)[0]: code for code in examples("scrapy.md") if "class " in code}
FOLLOWS, ITEMS, STARTS = SPIDERS.values()
[CACHE, FROM_CACHE, CONDITIONAL] = [
    ast.literal_eval(code.partition(" = ")[2]) for code in examples("scrapy.md") if code.split(" = ")[0].isupper()
]


@pytest.fixture
def traps():
    with trap_site() as site:
        yield site


@pytest.fixture
def crawl(traps, tmp_path, run_piece):
    """Crawl the site with a spider of the docs, and return the log."""

    def crawl(code: str, settings: dict[str, object], urls: tuple[str, ...] = (HOME,)) -> str:
        spider = re.search(r"class (\w+)", code)[1]
        run = RUN.format(proxy=traps.proxy, settings=settings, spider=spider, urls=[*urls], host=HOST)
        exit_code, log = run_piece(f"home = {HOME!r}\n{defined_in(code)}\n{run}", tmp_path)
        assert exit_code == 0, log
        assert re.search("'finish_reason': '(finished|closespider_pagecount)'", log), log
        assert "spider_exceptions" not in log, log
        assert "'webtable/failed': 0" in log, log
        return log

    return crawl


@pytest.fixture
def stored(tmp_path):
    def stored() -> dict[str, webtable.Page]:
        with webtable.open(str(tmp_path / "crawl.db")) as table:
            return {page.url.removeprefix(HOME): page for page in table.pages(HOST, columns=["body"])}

    return stored


def wrong(pages: dict[str, webtable.Page], besides: set[str] = frozenset()) -> dict[str, object]:
    """The paths whose status is not that of the site's answer."""
    statuses = {path: pages[path].status if path in pages else None for path in STORED.keys() - besides}
    return {path: status for path, status in statuses.items() if status != STORED[path].status}


def test_the_docs_have_the_spiders_that_are_tried_here():
    assert [*SPIDERS] == [
        "class DocsSpider(CrawlSpider):",
        "class PageSpider(scrapy.Spider):",
        "class DocsSpider(WebTableStart, CrawlSpider):",
    ]


def test_the_spider_that_follows_links_stores_all_that_is_behind_them(crawl, stored, traps):
    crawl(FOLLOWS, {})

    pages = stored()
    assert wrong(pages) == {}
    assert pages["brotli"].body == b"<title>Brotli</title><a href=/behind-brotli>x</a>"
    assert 0 < traps.days_asked() <= 20


def test_the_spider_that_makes_items_does_so_of_every_response(crawl, stored):
    crawl(ITEMS, {}, tuple(f"{HOME}{path}" for path in (*NOT_STORED, *STORED)))

    given = {path for path, answer in STORED.items() if answer.status == 200 and "old" not in path}
    assert given <= stored().keys()


def test_a_spider_begins_where_the_last_one_ended(crawl, stored, traps):
    crawl(FOLLOWS, {"DEPTH_LIMIT": 1, "CLOSESPIDER_PAGECOUNT": 10})
    traps.asked.clear()

    crawl(STARTS, RESPONSES | {"WEBTABLE_URI": "crawl.db"}, urls=())

    # The first crawl ended before it asked for this again.
    assert wrong(stored(), {"recovers", "behind-recovers"}) == {}
    assert 0 < traps.days_asked() <= 21


def test_a_crawl_is_repeated_by_conditional_requests(crawl, stored, traps):
    crawl(FOLLOWS, {})
    traps.asked.clear()

    log = crawl(FOLLOWS, CONDITIONAL)

    assert wrong(stored()) == {}
    assert {asked.url.removeprefix(HOME) for asked in traps.asked if asked.conditional} == {
        path for path, answer in STORED.items() if "ETag" in answer.headers
    }
    assert "'webtable/not_modified': 3" in log


def test_a_crawl_is_replayed(crawl, stored, traps):
    crawl(FOLLOWS, {"RETRY_ENABLED": False})
    first = stored()
    traps.asked.clear()

    crawl(FOLLOWS, CACHE | {"HTTPCACHE_IGNORE_MISSING": True, "RETRY_ENABLED": False})

    assert traps.asked == []
    assert {path: page.fetched_at for path, page in stored().items()} == {
        path: page.fetched_at for path, page in first.items()
    }


def test_a_crawl_in_scrapys_cache_is_stored(crawl, stored, traps):
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": "cache"}
    crawl(FOLLOWS, cached | {"WEBTABLE_URI": "first.db"})
    traps.asked.clear()

    crawl(FOLLOWS, cached | FROM_CACHE)

    assert traps.asked == []
    assert wrong(stored(), {"recovers", "behind-recovers"}) == {}


def test_a_recrawl_with_httpx_asks_for_each_page_once(traps, tmp_path):
    defined: dict[str, object] = {}
    exec(defined_in(examples("recrawl.md")[0]), defined)
    with webtable.open(str(tmp_path / "crawl.db"), create=True) as table, httpx.Client(proxy=traps.proxy) as client:
        for path in (*STORED, *NOT_STORED):
            etag = STORED[path].headers.get("ETag", "") if path in STORED else ""
            table.put(webtable.Page(url=f"{HOME}{path}", body=b"old", headers={"ETag": etag}, fetched_at=LONG_AGO))
        table.put(webtable.Page(url="http://xn--a.example/", body=b"old", fetched_at=LONG_AGO))

        defined["fetch_again"](table, client)

        pages = {page.url.removeprefix(HOME): page for page in table.pages(HOST)}
        failed = {failure.url.removeprefix(HOME) for failure in table.failed()}
        assert list(table.outdated(not_fetched_since="7d")) == []
    assert wrong(pages, NOT_BY_HTTPX) == {"recovers": 500}
    assert pages["same"].fetched_at > LONG_AGO
    assert failed == NOT_BY_HTTPX | NOT_STORED.keys() - {"not-modified"} | {"http://xn--a.example/"}

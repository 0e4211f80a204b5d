"""Crawls that know what is stored: replayed from the table, asked by validators, begun where the last one ended."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from benchmarks.crawl_site import Answer, served
from test_scrapy_pipeline import HOME, REACTORS, RESPONSES, SOME_REACTORS

import webtable
from webtable import Page

pytestmark = pytest.mark.slow

HOSTS = ["example.com"]
DUMMY = {
    "HTTPCACHE_ENABLED": True,
    "HTTPCACHE_STORAGE": "webtable.integrations.scrapy.WebTableCacheStorage",
    "RETRY_ENABLED": False,
}
RFC2616 = DUMMY | {"HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy"}
CONDITIONAL = RESPONSES | {
    "DOWNLOADER_MIDDLEWARES": {"webtable.integrations.scrapy.ConditionalMiddleware": 610},
    "RETRY_ENABLED": False,
}
FRESH = {"Content-Type": "text/html", "Cache-Control": "max-age=3600"}
TAGGED = {"Content-Type": "text/html", "ETag": '"1"'}


def seen_in(path):
    """What a spider was given, in the order of the URLs."""
    return sorted(json.loads(line)[:3] for line in path.read_text().splitlines())


def test_a_crawl_is_replayed_from_the_table_without_a_request(site, crawls, tmp_path):
    first = crawls.run(site, "site", [HOME], DUMMY, hosts=HOSTS, seen=str(tmp_path / "first"))
    asked = len(site.asked)

    again = crawls.run(site, "site", [HOME], DUMMY, hosts=HOSTS, seen=str(tmp_path / "again"))

    assert (first.code, again.code) == (0, 0), again.log
    assert first.counts("stored", "failed") == [asked, 0]
    assert len(site.asked) == asked > 60
    assert seen_in(tmp_path / "again") == seen_in(tmp_path / "first")
    assert again.counts("stored", "failed") == [0, 0]


@pytest.mark.nightly
def test_what_a_crawl_has_stored_by_other_ways_is_replayed_too(site, crawls, tmp_path):
    crawls.run(site, "site", [HOME], RESPONSES | {"RETRY_ENABLED": False}, hosts=HOSTS, seen=str(tmp_path / "first"))
    asked = len(site.asked)

    crawls.run(site, "site", [HOME], DUMMY | {"HTTPCACHE_IGNORE_MISSING": True}, hosts=HOSTS, seen=str(tmp_path / "b"))

    assert len(site.asked) == asked
    assert seen_in(tmp_path / "b") == seen_in(tmp_path / "first")


@pytest.fixture
def small():
    with served({HOME: Answer(headers=FRESH, body=b"<title>Fresh</title>")}) as site:
        site.add(f"{HOME}old", Answer(headers=TAGGED | {"Cache-Control": "max-age=0"}, body=b"<title>Old</title>"))
        site.add(f"{HOME}never", Answer(headers=FRESH | {"Cache-Control": "no-store"}, body=b"<title>Never</title>"))
        yield site


def test_the_policy_of_rfc_2616_asks_again_for_what_is_stale_and_stores_nothing_that_is_not_to_be(small, crawls):
    urls = [HOME, f"{HOME}old", f"{HOME}never"]

    first = crawls.run(small, "quiet", urls, RFC2616)
    small.asked.clear()
    again = crawls.run(small, "quiet", urls, RFC2616)

    assert first.counts("stored") == [2], first.log
    assert sorted(small.asked) == [(f"{HOME}never", False, 200), (f"{HOME}old", True, 304)]
    assert (again.stats["httpcache/hit"], again.stats["httpcache/revalidate"]) == (1, 1)
    assert again.stats["downloader/response_status_count/200"] == 3


@pytest.mark.nightly
def test_a_stored_page_that_has_expired_for_the_cache_is_fetched_again(small, crawls):
    crawls.run(small, "quiet", [HOME], DUMMY)
    with webtable.open(crawls.url) as table:
        old = table.get(HOME)
        table.delete(HOME)
        table.maintenance.forget_deletes()
        table.put(Page(url=HOME, body=old.body, fetched_at=datetime.now(UTC) - timedelta(hours=1)))

    crawls.run(small, "quiet", [HOME], DUMMY | {"HTTPCACHE_EXPIRATION_SECS": 60})

    assert len(small.asked) == 2


@pytest.mark.parametrize("reactor", SOME_REACTORS)
def test_servers_are_asked_for_changes_and_spiders_get_the_stored_body(site, sample_answers, crawls, tmp_path, reactor):
    settings = CONDITIONAL | REACTORS[reactor]
    first = crawls.run(site, "site", [HOME], settings, hosts=HOSTS, seen=str(tmp_path / "first"))
    before = {one.url for one in site.asked}
    site.asked.clear()
    site.answers = dict(sample_answers[1])

    again = crawls.run(site, "site", [HOME], settings, hosts=HOSTS, seen=str(tmp_path / "again"))

    statuses = Counter(one.status for one in site.asked)
    assert again.code == 0, again.log
    assert statuses[304] > 30 < statuses[200] + statuses[304]
    assert again.counts("not_modified", "conditional")[0] == statuses[304]
    given = [json.loads(line) for line in (tmp_path / "again").read_text().splitlines()]
    assert {url: size for url, status, size, _ in given if status == 200} == {
        one.url: len(site.answers[one.url].body) for one in site.asked if one.status in (200, 304)
    }
    assert all(flags == ["webtable", "not modified"] for *_, flags in given if flags)
    with webtable.open(crawls.url) as table:
        kept = [page for page in table.pages("example.com") if page.url in before and page.change_count == 0]
        begun = datetime.now(UTC) - timedelta(seconds=float(again.stats["elapsed_time_seconds"]) + 5)
        assert table.get(HOME).change_count == 1
        assert sum(page.fetched_at > begun for page in kept) >= statuses[304]
    assert first.counts("conditional") == [0]


def test_a_redirect_takes_no_validators_along(crawls):
    moved = Answer(302, {"Location": f"{HOME}other", "ETag": '"1"'})
    with served({HOME: Answer(headers=TAGGED, body=b"<title>A</title>")}) as site:
        site.add(f"{HOME}other", Answer(headers=TAGGED, body=b"<title>Of the same tag</title>"))
        crawls.run(site, "quiet", [HOME], CONDITIONAL)
        site.add(HOME, moved)
        site.asked.clear()

        crawl = crawls.run(site, "quiet", [HOME], CONDITIONAL)

    assert site.asked == [(HOME, True, 302), (f"{HOME}other", False, 200)], crawl.log
    with webtable.open(crawls.url) as table:
        assert table.get(f"{HOME}other").title == "Of the same tag"


def test_a_page_without_a_body_is_asked_for_as_a_whole(crawls):
    with served({HOME: Answer(headers=TAGGED, body=b"<title>A</title>")}) as site:
        with webtable.open(crawls.url, create=True) as table:
            table.put(Page(url=HOME, body=b"<title>A</title>" + b"x" * 999, headers=TAGGED, truncated=True))

        crawl = crawls.run(site, "quiet", [HOME], CONDITIONAL)

    assert site.asked == [(HOME, False, 200)], crawl.log


def test_a_spider_begins_with_what_is_linked_and_not_stored(site, crawls):
    crawls.run(site, "quiet", [HOME], RESPONSES)
    linked = {web for web in linked_from(crawls.url) if web.split("/")[2] in HOSTS}
    site.asked.clear()

    crawl = crawls.run(site, "start", [], RESPONSES, follows=False)

    assert linked
    assert linked <= {one.url for one in site.asked}, crawl.log
    assert linked_from(crawls.url, unless_stored=HOME) == set()


def linked_from(url, unless_stored=None):
    with webtable.open(url) as table:
        if unless_stored:
            home = {link.url for link in table.get(unless_stored).outlinks}
            return home & set(table.links.discovered("example.com"))
        return set(table.links.discovered("example.com"))


def test_a_spider_begins_with_old_pages_where_it_says_how_old(crawls):
    with served({f"{HOME}{name}": Answer(body=name.encode()) for name in ("new", "old")}) as site:
        with webtable.open(crawls.url, create=True) as table:
            table.put(Page(url=f"{HOME}new", body=b"new"))
            table.put(Page(url=f"{HOME}old", body=b"old", fetched_at=datetime.now(UTC) - timedelta(days=8)))

        crawl = crawls.run(site, "start", [], RESPONSES, days=7)

    assert [one.url for one in site.asked] == [f"{HOME}old"], crawl.log

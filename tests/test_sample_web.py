"""The sample web: what it promises, and that it can be read."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import pytest

from webtable import ALL
from webtable.demo import make_sample, sample_table
from webtable.formats import ReadReport, read_pages
from webtable.rowkey import canonical_url

CRAWLS = ["crawl-1.warc.gz", "crawl-2.warc.gz", "crawl-3.warc.gz"]
UNTIL = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "new" / "folder"
    make_sample(folder, until=UNTIL)
    return folder


@pytest.fixture(scope="module")
def crawls(sample):
    return [list(read_pages(sample / name, verify_digests=True)) for name in CRAWLS]


def test_it_is_three_crawls_and_a_store_that_has_them(sample):
    with sample_table(sample) as table:
        pages = table.pages(ALL).count()
        uncounted = table.links.freshness().waiting

    assert sorted(path.name for path in sample.iterdir()) == [*CRAWLS, "webtable.db"]
    assert pages > 500
    assert uncounted == 0


def test_what_is_there_already_stays(sample):
    before = {path.name: path.read_bytes() for path in sample.iterdir()}

    again = make_sample(sample)

    assert [path.name for path in again.crawls] == CRAWLS
    assert {path.name: path.read_bytes() for path in sample.iterdir()} == before


@pytest.mark.slow
@pytest.mark.usefixtures("few_sample_pages")
def test_a_store_that_was_cut_short_is_made_anew(tmp_path):
    (tmp_path / "webtable.db.part").write_bytes(b"half of it")
    (tmp_path / "webtable.db.part-wal").write_bytes(b"half of it")

    made = make_sample(tmp_path, until=UNTIL)

    assert {path.name for path in tmp_path.iterdir()} == {*CRAWLS, made.store.name}


@pytest.mark.slow
@pytest.mark.usefixtures("few_sample_pages")
def test_the_same_date_makes_the_same_bytes(tmp_path):
    first, again = (make_sample(tmp_path / name, until=UNTIL) for name in ("first", "again"))
    other = make_sample(tmp_path / "other", until=UNTIL - timedelta(days=1))

    for one, same, different in zip(first.crawls, again.crawls, other.crawls, strict=True):
        assert one.read_bytes() == same.read_bytes() != different.read_bytes()


def test_every_record_is_sound_and_only_images_are_left_out(sample):
    for name in CRAWLS:
        report = ReadReport()

        pages = list(read_pages(sample / name, report=report, verify_digests=True))

        assert report.damaged == []
        assert report.left_out == {"image/png": 14}
        assert len({page.url for page in pages}) == len(pages) == report.records - 14


def test_it_has_some_500_pages_on_a_dozen_hosts_with_neighbours(crawls):
    pages = [page for page in crawls[0] if page.status == 200 and page.content_type == "text/html"]
    hosts = {urlsplit(page.url).hostname for page in pages}

    assert 400 < len(pages) < 600
    assert len(hosts) >= 12
    assert {
        "example.com",
        "docs.example.com",
        "example.com.evil.example",
        "xn--bcher-kva.example",
        "192.0.2.10",
    } <= hosts
    assert all(canonical_url(page.url) == page.url for page in pages)
    assert all(500 < len(page.body) < 40_000 and page.title and page.outlinks for page in pages)


@pytest.mark.parametrize(
    ("site", "language"), [("lighthouse.example", "en"), ("imkerei.example", "de"), ("chayuan.example", "zh")]
)
def test_it_has_sites_in_three_languages_of_which_every_second_page_says_its_own(sample, site, language):
    with sample_table(sample) as table:
        pages = list(table.pages(site, columns=["text"]))

    assert len(pages) == 12
    assert {page.language for page in pages} == {language}
    assert [page.language_detected for page in pages].count(True) == 6
    assert len({page.text for page in pages}) == 12


def test_http_pages_have_https_twins_below_the_same_host(crawls):
    urls = {page.url for page in crawls[0] if page.body and page.status == 200}

    twins = [url for url in urls if url.replace("http://", "https://") in urls - {url}]

    assert len(twins) > 3


def test_the_crawls_are_a_week_apart_and_end_at_the_given_date(crawls):
    newest = [max(page.fetched_at for page in pages) for pages in crawls]

    assert [(UNTIL - date).days for date in newest] == [14, 7, 0]


def test_the_dates_that_pages_and_headers_say_move_with_the_crawls(crawls):
    pages = [page for page in crawls[2] if page.body and b"Last changed on" in page.body]
    changed = {re.search(rb"Last changed on ([\d-]+)", page.body)[1].decode() for page in pages}

    assert changed == {"2026-03-01"}
    assert {page.headers["Last-Modified"] for page in pages} == {"Sun, 01 Mar 2026 03:00:00 GMT"}
    assert all(parsedate_to_datetime(page.headers["Date"]) == page.fetched_at for page in pages)


def test_pages_change_vanish_appear_and_stay(crawls):
    first, _, last = [{page.url: page for page in pages} for pages in crawls]
    statuses = Counter(page.status for page in crawls[2])

    assert last.keys() - first.keys()
    assert {404, 410, 500, 301, 302} <= statuses.keys()
    assert any(page.status in {404, 410} and first[url].status == 200 for url, page in last.items() if url in first)
    assert any(
        page.body and first[url].body and page.body != first[url].body for url, page in last.items() if url in first
    )
    assert {page.status for page in crawls[2] if page.same_as == page.url} == {200, 304}


def test_redirects_lead_to_pages_and_some_links_lead_nowhere(crawls):
    urls = {page.url for page in crawls[0]}
    targets = {page.redirect_to for page in crawls[0] if page.redirect_to}
    links = {link.url for page in crawls[0] for link in page.outlinks or ()}

    assert len(targets & urls) > 50
    assert links - urls
    assert len(links & urls) > 300

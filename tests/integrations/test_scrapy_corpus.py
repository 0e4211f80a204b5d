"""A crawl of real pages on hosts that are slow, busy and broken, into every store, and once more."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.crawl_site import answers_of, in_bad_weather, served
from test_scrapy_pipeline import RESPONSES
from test_scrapy_revisits import CONDITIONAL

import webtable
from nightly import NIGHTLY

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(900)]

SITES = {"debian-policy", "git-doc", "nodejs-doc", "postgresql-doc-15", "sqlite3-doc"}
FAST = {"CONCURRENT_REQUESTS": 32, "CONCURRENT_REQUESTS_PER_DOMAIN": 32, "RETRY_HTTP_CODES": [429, 503]}


@pytest.fixture(scope="module")
def answers(warc_files):
    more = [file for file in warc_files[0].parent.glob("*.warc.gz") if file.name.split(".")[0] in SITES]
    return in_bad_weather(answers_of(sorted(more if NIGHTLY else warc_files)))


def test_a_crawl_in_bad_weather_is_stored_byte_for_byte_and_all_of_it_is_not_modified_then(answers, crawls_into):
    urls = list(answers)
    pages = {url for url, answer in answers.items() if answer.status == 200}
    with served(answers) as site:
        first = crawls_into.run(site, "quiet", urls, RESPONSES | FAST)
        with webtable.open(crawls_into.url) as table:
            found = {page.url: page for page in table.pages(webtable.ALL, columns=["body"])}
            wrong = [url for url in urls if (found[url].status, found[url].body or b"") != expected(answers[url])]
        site.asked.clear()
        again = crawls_into.run(site, "quiet", sorted(pages), CONDITIONAL | FAST)

    assert first.counts("failed") == again.counts("failed") == [0], first.log
    assert {answer.status for answer in answers.values()} >= {200, 301, 404, 500}
    assert wrong == []
    assert Counter(one.status for one in site.asked) == {304: len(pages)}
    assert again.counts("not_modified", "stored", "unchanged") == [len(pages)] * 3
    assert again.stats["response_received_count"] == len(pages) > 300


def expected(answer):
    return answer.status, answer.body

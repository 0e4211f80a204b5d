"""Crawls that end before their time: stopped, interrupted and killed, on every store, and begun again."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import contextmanager
from dataclasses import replace

import psutil
import pytest
from benchmarks.crawl_site import served
from test_scrapy_pipeline import HOME, REACTORS, RESPONSES, SOME_REACTORS

import webtable
from webtable.formats import read_pages

pytestmark = pytest.mark.slow

HOSTS = ["example.com", "docs.example.com"]
SETTINGS = RESPONSES | {"RETRY_ENABLED": False, "WEBTABLE_BUFFER_PAGES": 10, "CONCURRENT_REQUESTS": 4}
APART = {"WEBTABLE_WRITER_PROCESS": True}
here_and_apart = pytest.mark.parametrize("apart", [{}, APART], ids=["here", "apart"])
apart_by_day = pytest.mark.parametrize(
    "apart", [pytest.param(APART, id="apart"), pytest.param({}, id="here", marks=pytest.mark.nightly)]
)
ENDS = {"SIGTERM": [signal.SIGTERM], "SIGINT": [signal.SIGINT], "SIGINT twice": [signal.SIGINT, signal.SIGINT]}


@pytest.fixture
def slow_site(sample_answers):
    """The sample web, each page of which takes a while."""
    with served({url: replace(answer, seconds=0.02) for url, answer in sample_answers[0].items()}) as site:
        yield site


def cut_short(crawls, site, signals, settings, **arguments):
    """Return a crawl that gets *signals* when it is well under way."""
    process, told = crawls.begin(site, "site", [HOME], settings, hosts=HOSTS, **arguments)
    wait_until(lambda: len(site.asked) > 80)
    for one in signals:
        process.send_signal(one)
        time.sleep(0.1)
    return crawls.end(process, told)


def stored_in(crawls):
    with webtable.open(crawls.url) as table:
        return {page.url for page in table.pages("example.com")}


def reachable(site):
    """What a crawl of the whole site finds, robots and what it has no link to apart."""
    return {one.url for one in site.asked}


# That a crawl is interrupted, others try by day as well.
@pytest.mark.parametrize(
    "end", ["SIGTERM", *(pytest.param(end, marks=pytest.mark.nightly) for end in ("SIGINT", "SIGINT twice"))]
)
@here_and_apart
def test_what_a_spider_was_given_is_stored_however_it_is_stopped(slow_site, crawls, tmp_path, end, apart):
    crawl = cut_short(crawls, slow_site, ENDS[end], SETTINGS | apart, seen=str(tmp_path / "seen"))

    seen = {json.loads(line)[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert 20 < len(seen) < 220, crawl.log
    assert seen <= stored_in(crawls)


@apart_by_day
def test_a_stopped_crawl_is_resumed_from_its_job(slow_site, crawls_into, tmp_path, apart):
    settings = SETTINGS | apart | {"JOBDIR": str(tmp_path / "job")}
    first = cut_short(crawls_into, slow_site, [signal.SIGINT], settings)
    begun = len(slow_site.asked)

    again = crawls_into.run(slow_site, "site", [HOME], settings, hosts=HOSTS)

    assert (first.code, again.code, again.counts("failed")) == (0, 0, [0]), again.log
    assert first.stats["finish_reason"] == "shutdown"
    assert reachable(slow_site) == stored_in(crawls_into)
    assert first.stats["webtable/stored"] == begun
    assert len(slow_site.asked) > 200


@apart_by_day
def test_a_killed_crawl_has_what_was_told_to_be_stored_and_goes_on_from_the_table(
    slow_site, crawls_into, tmp_path, apart
):
    settings = SETTINGS | apart | {"JOBDIR": str(tmp_path / "job")}
    killed = cut_short(crawls_into, slow_site, [signal.SIGKILL], settings)
    kept = stored_in(crawls_into)

    resumed = crawls_into.run(slow_site, "site", [HOME], settings, hosts=HOSTS)
    completed = crawls_into.run(slow_site, "start", [HOME], SETTINGS, hosts=HOSTS)

    assert killed.code == -signal.SIGKILL
    assert set() < killed.acknowledged <= kept
    assert (resumed.code, completed.code) == (0, 0)
    assert kept <= stored_in(crawls_into) == reachable(slow_site)
    assert completed.counts("failed") == [0], completed.log
    assert len(stored_in(crawls_into)) > 200


@pytest.mark.parametrize("reactor", SOME_REACTORS)
@here_and_apart
def test_a_spider_that_is_stopped_twice_ends_once(slow_site, crawls, reactor, apart):
    crawl = crawls.run(slow_site, "site", [HOME], SETTINGS | apart | REACTORS[reactor], hosts=HOSTS, stops=50)

    assert crawl.code == 0
    assert crawl.stats["finish_reason"] == "shutdown"
    assert crawl.stats["webtable/stored"] == len(slow_site.asked) >= 50
    assert stored_in(crawls) == crawl.acknowledged == reachable(slow_site)
    assert "WriteFailed" not in crawl.log


@contextmanager
def nobody_writes(path):
    """Have another program write into the file, so that nobody else can."""
    other = sqlite3.connect(path, isolation_level=None, timeout=30)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def asked_in_the_end(site):
    """How much has been asked for when nothing has been for a second."""
    count, since = len(site.asked), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.01)
        if len(site.asked) > count:
            count, since = len(site.asked), time.monotonic()
    return count


@apart_by_day
def test_the_engine_is_held_back_while_nothing_can_be_stored(slow_site, crawls, apart):
    settings = SETTINGS | apart | {"WEBTABLE_DEADLINE": 60, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 20_000}
    crawl = crawls.begin(slow_site, "site", [HOME], settings, hosts=HOSTS)
    wait_until(lambda: len(slow_site.asked) > 40)

    with nobody_writes(crawls.url):
        held = asked_in_the_end(slow_site)
        time.sleep(1)
        still = len(slow_site.asked)
    done = crawls.end(*crawl)

    # How many were asked for by then depends on the machine, but nothing comes after them, and some are left.
    assert held == still < len(slow_site.asked)
    assert len(slow_site.asked) > 200
    assert done.counts("stored", "failed") == [len(slow_site.asked), 0], done.log


@here_and_apart
def test_pages_that_the_store_does_not_take_are_counted_and_left_in_the_spool(slow_site, crawls, tmp_path, apart):
    spool = tmp_path / "unsent.jsonl.zst"
    settings = SETTINGS | apart | {"WEBTABLE_DEADLINE": 1, "WEBTABLE_SPOOL": str(spool), "WEBTABLE_BUFFER_PAGES": 50}
    process, told = crawls.begin(slow_site, "site", [HOME], settings, hosts=HOSTS)
    wait_until(lambda: len(slow_site.asked) > 60)

    with nobody_writes(crawls.url):
        process.send_signal(signal.SIGINT)
        crawl = crawls.end(process, told)

    stored, failed = crawl.counts("stored", "failed")
    with webtable.open(crawls.url) as table, table.writer() as writer:
        assert writer.put_many(read_pages(spool, types=None)) == failed
    assert (crawl.code, stored + failed, crawl.counts("failed/StoreUnavailable")) == (0, len(slow_site.asked), [failed])
    assert stored_in(crawls) == reachable(slow_site)


def test_a_killed_writer_process_is_replaced_and_pages_that_it_had_are_counted_as_failed(slow_site, crawls):
    settings = SETTINGS | APART | {"WEBTABLE_MAX_AGE": 60, "WEBTABLE_BUFFER_PAGES": 30}
    process, told = crawls.begin(slow_site, "site", [HOME], settings, hosts=HOSTS)
    wait_until(lambda: len(slow_site.asked) > 80)

    [writer] = psutil.Process(process.pid).children()
    writer.kill()
    crawl = crawls.end(process, told)

    stored, failed = crawl.counts("stored", "failed")
    assert crawl.code == 0, crawl.log
    assert crawl.counts("failed/WriteFailed") == [failed]
    assert 0 < failed < 80
    assert stored + failed == len(slow_site.asked) > 200
    assert crawl.acknowledged <= stored_in(crawls)
    assert "the process that stores pages was ended by SIGKILL" in crawl.log


def test_what_a_writer_process_was_given_is_stored_if_the_spider_is_killed(slow_site, crawls):
    settings = SETTINGS | APART | {"WEBTABLE_MAX_AGE": 60, "WEBTABLE_BUFFER_PAGES": 1_000}
    process, told = crawls.begin(slow_site, "site", [HOME], settings, hosts=HOSTS)
    wait_until(lambda: len(slow_site.asked) > 80)

    [writer] = psutil.Process(process.pid).children()
    process.kill()
    crawl = crawls.end(process, told)

    psutil.wait_procs([writer], timeout=60)
    assert crawl.acknowledged == set()
    assert len(stored_in(crawls)) > 60

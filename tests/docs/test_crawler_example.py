"""The crawler of examples/ is polite, and goes on where it was ended."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("protego")

from benchmarks.crawl_site import Answer, served

import webtable
from trap_site import HOME, NOT_BY_HTTPX, STORED, trap_site

EXAMPLE = Path(__file__).parents[2] / "examples" / "crawler.py"
HOSTS = ("a.example.com", "b.example.com")
SEEDS = [f"http://{host}/" for host in HOSTS]
HTML = {"Content-Type": "text/html"}


@pytest.fixture(scope="module")
def crawler():
    spec = importlib.util.spec_from_file_location("crawler_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_of(number: int, *links: str, **more) -> Answer:
    body = f"<title>{number}</title>" + "".join(f"<a href='{link}'>x</a>" for link in links)
    return Answer(200, {**HTML, "ETag": f'"{number}"'}, body.encode(), **more)


@pytest.fixture
def site():
    """Two hosts of which each has a page that links to seven more, one of them forbidden."""
    answers = {}
    for host in HOSTS:
        answers[f"http://{host}/"] = page_of(0, *(f"/{number}" for number in range(1, 7)), "/private/7")
        answers |= {f"http://{host}/{number}": page_of(number) for number in range(1, 7)}
        answers[f"http://{host}/private/7"] = page_of(7)
    with served(answers) as site:
        yield site


@pytest.fixture
def run(crawler, site, tmp_path):
    def run(**options) -> dict[str, webtable.Page]:
        store = str(tmp_path / "crawl.db")
        asyncio.run(crawler.crawl(store, SEEDS, **{"pause": 0.0, "proxy": site.proxy, **options}))
        with webtable.open(store) as table:
            return {page.url: page for page in table.pages("example.com")}

    return run


def allowed(site) -> set[str]:
    return {url for url in site.pages if "/private/" not in url}


def test_it_stores_all_pages_that_robots_txt_allows(run, site):
    stored = run()

    assert set(stored) == allowed(site)
    assert not [one for one in site.asked if "/private/" in one.url]
    assert len(site.asked) == len(set(site.asked))


def test_a_host_that_cannot_tell_its_rules_is_left_alone(run, site):
    site.add("http://b.example.com/robots.txt", Answer(503, HTML))

    stored = run()

    assert set(stored) == {url for url in allowed(site) if "//a." in url}


@pytest.mark.slow
def test_it_asks_a_host_for_one_page_at_a_time_and_others_meanwhile(run, site, monkeypatch):
    for url in site.pages:
        site.answers[url] = page_of(1, *(f"/{number}" for number in range(1, 4)), seconds=0.15)
    begun = defaultdict(list)
    answer = site.answer
    monkeypatch.setattr(
        site,
        "answer",
        lambda url, headers: (begun[url.split("/")[2]].append(time.monotonic()), answer(url, headers))[1],
    )

    run(pause=0.05)

    first, second = begun.values()
    pages = [times[1:] for times in (first, second)]  # robots.txt is answered at once
    assert all(later - earlier >= 0.19 for times in pages for earlier, later in pairwise(times))
    assert second[1] < first[-1]


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_it_is_asked_to(run, site, status):
    url = site.add("http://a.example.com/1", page_of(1, busy=1, busy_status=status))

    stored = run()

    assert (stored[url].status, stored[url].title) == (200, "1")
    assert [one.status for one in site.asked if one.url == url] == [status, 200]


def test_waiting_is_told_in_seconds_or_by_a_date(crawler):
    soon = datetime.now(UTC) + timedelta(seconds=30)

    assert crawler.seconds_until("7") == 7
    assert 28 < crawler.seconds_until(format_datetime(soon, usegmt=True)) <= 30
    assert crawler.seconds_until("86400") == crawler.LONGEST_WAIT
    assert crawler.seconds_until("soon") == 5


def test_what_has_not_changed_is_not_fetched_again(run, site):
    before = run()
    site.asked.clear()
    changed = site.add("http://a.example.com/1", page_of(100))

    after = run(older_than=timedelta(0), most=len(before) + len(HOSTS))  # those that are forbidden are tried, too

    asked = {one.url: (one.conditional, one.status) for one in site.asked if not one.url.endswith("robots.txt")}
    assert asked == {url: (True, 200 if url == changed else 304) for url in before}
    assert all(after[url].fetched_at > before[url].fetched_at for url in before)
    assert {url for url in before if after[url].title != before[url].title} == {changed}


def test_it_goes_on_where_it_was_ended(run, site):
    begun = run(most=5)
    done = run()

    assert len(begun) == 5
    assert set(done) == allowed(site)
    fetched = [one.url for one in site.asked if not one.url.endswith("robots.txt")]
    assert sorted(fetched) == sorted(set(fetched))


def test_it_follows_redirects_within_a_host(run, site):
    site.add("http://a.example.com/1", Answer(301, {**HTML, "Location": "/moved"}))
    moved = site.add("http://a.example.com/moved", page_of(50))
    site.add("http://b.example.com/1", Answer(301, {**HTML, "Location": "http://elsewhere.example/"}))

    stored = run()

    assert stored[moved].title == "50"
    assert "http://elsewhere.example/" not in [one.url for one in site.asked]


@pytest.mark.slow
def test_it_survives_a_site_of_traps_and_stores_all_of_it_by_two_runs(crawler, tmp_path, capsys):
    store = str(tmp_path / "crawl.db")

    with trap_site() as site:
        for _ in range(2):
            run = crawler.crawl(store, [HOME], older_than=timedelta(0), pause=0.0, most=90, proxy=site.proxy)
            asyncio.run(run)

    with webtable.open(store) as table:
        found = {page.url.removeprefix(HOME): page.status for page in table.pages("traps.example")}
    # An error is asked for again by the next run, and what is behind it is found by the one after that.
    expected = {
        path: answer.status for path, answer in STORED.items() if path not in {*NOT_BY_HTTPX, "behind-recovers"}
    }
    assert {path: found.get(path) for path in expected} == expected
    assert "/dropped: RemoteProtocolError" in capsys.readouterr().err
    assert 0 < site.days_asked() < 180


@pytest.mark.slow
@pytest.mark.parametrize(("end", "exit_status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_it_stores_what_it_has_fetched_when_it_is_stopped(tmp_path, end, exit_status):
    store, urls = str(tmp_path / "crawl.db"), [f"{SEEDS[0]}1", f"{SEEDS[0]}2"]
    with served({urls[0]: page_of(1), urls[1]: page_of(2, seconds=60)}) as site:
        process = subprocess.Popen(
            [sys.executable, "-W", "error::ResourceWarning", str(EXAMPLE), store, *urls],
            env=os.environ | {"http_proxy": site.proxy},
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        while process.poll() is None and urls[1] not in [asked.url for asked in site.asked]:
            time.sleep(0.01)
        process.send_signal(end)
        _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors) == (exit_status, "")
    with webtable.open(store) as table:
        assert [page.url for page in table.pages("example.com")] == urls[:1]

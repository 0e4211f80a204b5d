"""The web that the tests of crawlers are run on: it answers as real servers do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from benchmarks.crawl_site import Answer, answers_of, in_bad_weather, served, served_apart, web_url

TAGGED = Answer(headers={"ETag": '"1"', "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"}, body=b"<title>A</title>")


@pytest.fixture(scope="module")
def crawls(sample_web):
    return sample_web.crawls


@pytest.fixture
def site():
    with served({"http://example.com/": TAGGED}) as site:
        yield site


@pytest.fixture
def client(site):
    with httpx.Client(proxy=site.proxy) as client:
        yield client


@pytest.mark.slow
def test_every_page_of_an_archive_is_found_by_its_own_url(crawls):
    answers = answers_of(crawls[:1])

    with served(answers) as site, httpx.Client(proxy=site.proxy) as client:
        found = {url: client.get(url) for url in answers}

    assert len(answers) > 500
    assert {one.status_code for one in found.values()} == {200, 301, 302, 404, 500}
    assert {url: one.content for url, one in found.items()} == {url: one.body for url, one in answers.items()}
    assert all(one.headers["location"].startswith("http://") for one in found.values() if one.has_redirect_location)


def test_a_later_crawl_has_what_changed_and_keeps_what_did_not(crawls):
    first, second = answers_of(crawls[:1]), answers_of(crawls[:2])

    assert set(first) < set(second)
    assert 0 < sum(first[url] != second[url] for url in first) < len(first) / 2
    assert all(answer.body for answer in second.values() if answer.status == 200)


@pytest.mark.parametrize(
    ("validators", "status"),
    [
        ({"If-None-Match": '"1"'}, 304),
        ({"If-None-Match": '"0", "1"'}, 304),
        ({"If-None-Match": '"0"', "If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"}, 200),
        ({"If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"}, 304),
        ({"If-Modified-Since": "Sun, 06 Nov 1994 08:49:36 GMT"}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
    ],
)
def test_a_validator_is_answered_as_servers_do(site, client, validators, status):
    answer = client.get("http://example.com/", headers=validators)

    assert (answer.status_code, answer.headers["etag"]) == (status, '"1"')
    assert answer.content == (TAGGED.body if status == 200 else b"")
    assert [(one.conditional, one.status) for one in site.asked] == [(True, status)]


def test_a_busy_server_says_when_to_come_again_and_answers_then(site, client):
    url = site.add("https://example.com/busy", Answer(body=b"here", busy=2, busy_status=429))

    found = [client.get(url) for _ in range(3)]

    assert [one.status_code for one in found] == [429, 429, 200]
    assert found[0].headers["retry-after"] == "1"


@pytest.mark.slow
def test_a_slow_answer_keeps_no_other_from_coming(site, client):
    slow = site.add("http://example.com/slow", Answer(body=b"late", seconds=0.5))

    with ThreadPoolExecutor(1) as elsewhere:
        late = elsewhere.submit(httpx.get, slow, proxy=site.proxy)
        quick = client.get("http://example.com/")
        was_first = not late.done()

    assert (quick.status_code, was_first, late.result().content) == (200, True, b"late")


def test_a_connection_that_is_cut_is_an_error_of_the_client(site, client):
    url = site.add("http://example.com/cut", Answer(body=b"x" * 1000, is_cut=True))

    with pytest.raises(httpx.RemoteProtocolError):
        client.get(url)


def test_every_host_has_rules_for_robots_and_unknown_urls_are_not_found(client):
    assert b"Disallow: /private/" in client.get("http://example.org/robots.txt").content
    assert client.get("http://example.org/no").status_code == 404


def test_bad_weather_makes_some_answers_late_others_busy_and_adds_redirects_and_errors():
    answers = {web_url(f"https://example.com/{number}"): TAGGED for number in range(200)}

    weather = in_bad_weather(answers)

    assert set(answers) < set(weather)
    assert {one.status for one in weather.values()} == {200, 301, 500}
    assert {one.busy_status for one in weather.values() if one.busy} == {429, 503}
    assert any(one.seconds for one in weather.values())


def test_a_site_in_a_process_of_its_own_answers_and_ends_with_its_block(crawls):
    with served_apart(crawls[:1]) as proxy:
        found = httpx.get("http://example.com/", proxy=proxy)

    assert found.status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get("http://example.com/", proxy=proxy)

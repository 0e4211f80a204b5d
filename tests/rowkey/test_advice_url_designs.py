"""Declared keys beside the web key: what of a URL they take, and what they are asked."""

from __future__ import annotations

import pytest

from webtable.errors import InvalidArgument
from webtable.rowkey import (
    CompositeKey,
    Date,
    FixedText,
    Hash,
    HashedKey,
    HashSalt,
    ReversedDomain,
    ReverseTimestamp,
    Salt,
    Text,
    Timestamp,
    UInt,
    WebKey,
)
from webtable.rowkey.advice import URL_VALUES, advise, url_design
from webtable.rowkey.examples import LONG_KEY, WEB_KEY

NUL = b"\0"
HOST = ReversedDomain("host", terminator=b"/")
URLS = [f"https://www.site{host}.example/a/b/{page}?q={page}" for page in range(60) for host in range(40)]
BY_DAY = CompositeKey(Date("day", "%Y%m%d"), HOST, Text("rest"))
VERSIONS = CompositeKey(HashSalt("host", 16), HOST, Text("rest", terminator=NUL), ReverseTimestamp("at"))
OF_DOMAIN = CompositeKey(Hash("domain", first=2), HOST, Text("path"))
PLAIN = CompositeKey(Text("url"))


def ranges(key, name="mine"):
    """Return the ranges of each question that the web key is asked, to *key*; None where it has no answer."""
    return [cost.ranges for cost in advise(URLS, [url_design(name, key)])[name].questions[:5]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "costs"),
    [  # point, host, subtree, directory, latest
        (WEB_KEY, [1, 1, 256, 1, 1]),
        (WebKey(Salt.host(3)), [1, 1, 4096, 1, 1]),
        (WebKey(Salt.none()), [1, 1, 1, 1, 1]),
        (VERSIONS, [1, 1, 16, 1, 1]),
        (OF_DOMAIN, [1, 1, 1, 1, 1]),
        (PLAIN, [1, 1, None, 1, 1]),
        (HashedKey(PLAIN), [1, None, None, None, 1]),
        (BY_DAY, [1, None, None, None, None]),
        (CompositeKey(HashSalt("url", 8), Text("domain", terminator=NUL), Text("url")), [1, 8, 8, 8, 1]),
    ],
)
def test_a_declared_key_is_asked_what_the_web_key_is_asked(key, costs):
    assert ranges(key) == costs


def test_the_web_key_as_a_declared_key_is_measured_as_the_design_of_its_name():
    advice = advise(URLS, ["host", "none", url_design("a", WEB_KEY), url_design("b", WebKey(Salt.none()))])

    assert advice["a"].writes.heat == advice["host"].writes.heat
    assert (advice["a"].score, advice["b"].score) == (advice["host"].score, advice["none"].score)


def test_every_value_of_a_url_can_be_in_a_key():
    key = CompositeKey(
        UInt("port", 2),
        *(Text(name, terminator=NUL) for name in ("url", "host", "domain", "rest", "path", "query")),
        Text("scheme"),
    )

    made = url_design("all", key).encode("http://docs.example.co.uk:8080/a/b?q=1#top")

    assert set(key.names) == set(URL_VALUES)
    assert key.decode(made) == {
        "url": "http://docs.example.co.uk:8080/a/b?q=1",
        "host": "docs.example.co.uk",
        "domain": "example.co.uk",
        "rest": "a/b?q=1#http:8080",
        "scheme": "http",
        "port": 8080,
        "path": "/a/b",
        "query": "?q=1",
    }


def test_a_time_is_the_arrival_and_the_advice_says_that_it_is_made_up():
    newest = advise(URLS * 4, [url_design("newest", CompositeKey(ReverseTimestamp("fetched"), Text("url")))]).best

    assert newest.writes.descending == 1
    assert newest.writes.hottest_at_once > 0.9
    assert "its times are made up: the URLs come evenly over 64 days" in newest.why


def test_a_day_in_front_is_hot_because_a_crawl_takes_many():
    by_day = advise(URLS * 4, [url_design("day", BY_DAY)])["day"]

    assert by_day.writes.is_hot
    assert any("'day' leads the key, so what is written now goes to the last region" in reason for reason in by_day.why)


def test_an_owner_is_a_host_and_below_a_salt_of_the_domain_a_domain():
    urls = [f"https://{'giant' if n % 2 else f's{n}'}.example/{n}" for n in range(4_000)]

    advice = advise(urls, [url_design("versions", VERSIONS), url_design("domain", OF_DOMAIN)])

    assert advice["versions"].writes.hottest.owner == "giant.example"
    assert any("a salt of host and rest in its place" in reason for reason in advice["versions"].why)
    assert any("a salt of domain and host in its place" in reason for reason in advice["domain"].why)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (LONG_KEY, "'mine' is made of id, and a URL has no id; it has url, host, domain, rest, scheme, port, path"),
        (CompositeKey(HashSalt("user", 4), Text("url")), "a URL has no user"),
        (CompositeKey(HashSalt("seen", 4), Text("url")), "a URL has no seen"),
        (7, "'mine' must be a declared key, but is of the type int"),
        (None, "'mine' must be a declared key, but is of the type NoneType"),
    ],
)
def test_a_key_of_other_values_is_refused_with_those_that_there_are(key, reason):
    with pytest.raises(InvalidArgument, match=reason):
        url_design("mine", key)


def test_a_field_that_no_url_fits_is_told_with_the_reason():
    with pytest.raises(InvalidArgument, match=r"keys must have a key to measure designs on: .*url"):
        advise(URLS, [url_design("short", CompositeKey(FixedText("url", 4)))])


def test_two_times_in_a_key_are_one_moment():
    key = CompositeKey(Date("day", "%Y%m%d"), Text("url", terminator=NUL), Timestamp("at"))

    assert ranges(key) == [1, None, None, None, None]

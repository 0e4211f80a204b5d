"""What the advisor says to a key that is hot: a fix that fits the key, whatever it begins with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from webtable.rowkey import (
    CompositeKey,
    Date,
    Descending,
    Hash,
    HashedKey,
    HashSalt,
    RandomSalt,
    Reversed,
    ReverseTimestamp,
    Text,
    Timestamp,
    UInt,
)
from webtable.rowkey.advice import advise
from webtable.rowkey.advice.designs import remedies_of
from webtable.rowkey.examples import LATEST_KEY, LONG_KEY, MESSAGE_KEY, METRIC_KEY, USER_APP_KEY

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NUL = b"\0"
BY_SALT = "put a salt or a hash before it"


def readings(sensors: int, count: int = 6_000) -> list[dict[str, object]]:
    """Return what sensors send, one after the other, a second apart."""
    return [{"time": NEW_YEAR + timedelta(seconds=n), "key": f"sensor {n * 7919 % sensors:03}"} for n in range(count)]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            CompositeKey(Timestamp("time"), Text("key")),
            f"goes to the last region: {BY_SALT}, or lead with key; reversing",
        ),
        (
            CompositeKey(ReverseTimestamp("time"), Text("key")),
            f"goes to the first region: {BY_SALT}, or lead with key;",
        ),
        (CompositeKey(Descending(Timestamp("time")), Text("key")), f"goes to the first region: {BY_SALT}"),
        (CompositeKey(Date("time"), Text("key")), f"goes to the last region: {BY_SALT}, or lead with key"),
        (CompositeKey(Timestamp("time")), f"goes to the last region: {BY_SALT}; reversing the time"),
        (
            LONG_KEY,
            "a hash or a salt of id at the beginning distributes them: one id stays one range, several become",
        ),
        (LONG_KEY, "Reversed(UInt('id', …)) distributes them too, but leaves no ranges of id"),
        (USER_APP_KEY, "a hash or a salt of user_id at the beginning distributes them"),
        (LATEST_KEY, "a hash or a salt of key at the beginning distributes them"),
        (
            CompositeKey(HashSalt("day", 16), Text("day", terminator=NUL), Text("id")),
            "a salt of day and id in its place",
        ),
        (CompositeKey(RandomSalt(4), Timestamp("time")), ""),
        (HashedKey(LONG_KEY), ""),
    ],
)
def test_keys_that_come_in_their_order_have_the_remedy_of_what_they_begin_with(key, said):
    assert said in remedies_of(key).of_order


@pytest.mark.parametrize(
    ("key", "owners", "said"),
    [
        (LATEST_KEY, ("key",), "a hash of key alone would keep them together: a salt of key and time at the beginning"),
        (LATEST_KEY, ("key",), "the order of time after it does not matter, newest first or last"),
        (CompositeKey(Text("key", terminator=NUL), Timestamp("time")), ("key",), "the order of time after it does not"),
        (
            METRIC_KEY,
            ("metric",),
            "a salt of metric and tags at the beginning distributes them, and reads one metric by a range",
        ),
        (CompositeKey(Reversed(UInt("id")), Text("app")), ("id",), "a salt of id and app at the beginning"),
        (
            CompositeKey(HashSalt("key", 16), *LATEST_KEY.declared),
            ("key",),
            "the salt is of key alone: a salt of key and",
        ),
        (
            CompositeKey(Hash("key", first=2), *LATEST_KEY.declared),
            ("key",),
            "the hash is of key alone: a salt of key an",
        ),
        (MESSAGE_KEY, ("message_id",), "a salt of message_id and sent in its place"),
        (CompositeKey(RandomSalt(4), Text("id")), ("id",), "more than its 4 buckets"),
        (LONG_KEY, ("id",), "repeated writes of the same rows"),
        (HashedKey(USER_APP_KEY), ("user_id", "app_id"), "repeated writes of the same rows"),
        (CompositeKey(ReverseTimestamp("time"), Text("key")), ("key",), "goes to the first region"),
    ],
)
def test_one_owner_that_makes_a_region_hot_is_what_the_key_begins_with_and_has_its_remedy(key, owners, said):
    fixes = remedies_of(key)

    assert fixes.owners == owners
    assert said in fixes.of_owner


def test_a_reverse_timestamp_behind_many_keys_is_not_hot_and_gets_no_remedy():
    advice = advise(readings(300), {"latest": LATEST_KEY})["latest"]

    assert not advice.writes.is_hot
    assert not [reason for reason in advice.why if "salt" in reason or "region from" in reason]


def test_a_reverse_timestamp_in_front_is_hot_in_the_reverse_order_and_is_not_to_be_turned_round():
    key = CompositeKey(ReverseTimestamp("time"), Text("key"))

    advice = advise(readings(300), {"newest": key})["newest"]

    assert advice.writes.hottest_at_once > 0.9
    assert advice.writes.descending > 0.9
    (told,) = [reason for reason in advice.why if reason.startswith("the keys come in the reverse of the order")]
    assert "put a salt or a hash before it, or lead with key" in told
    assert "would only make it the last region" in told


def test_the_remedy_that_is_told_helps():
    rows = readings(1)
    hot, hashed, salted = (
        LATEST_KEY,
        CompositeKey(HashSalt("key", 16), *LATEST_KEY.declared),
        CompositeKey(HashSalt(("key", "time"), 16), *LATEST_KEY.declared),
    )

    advice = advise(rows, {"hot": hot, "hashed": hashed, "salted": salted})

    assert advice["hot"].writes.is_hot
    assert advice["hashed"].writes.is_hot
    assert any("a salt of key and time in its place spreads them" in reason for reason in advice["hashed"].why)
    assert not advice["salted"].writes.is_hot
    (of_one,) = [cost.ranges for cost in advice["salted"].questions if cost.question == "key"]
    assert of_one == 16


def test_an_owner_is_named_by_what_the_key_begins_with_whatever_the_rows_begin_with():
    rows = [
        {"note": "x", "time": NEW_YEAR + timedelta(seconds=n), "key": "a" if n % 3 else str(n)} for n in range(3_000)
    ]

    hot = advise(rows, {"latest": CompositeKey(HashSalt("key", 16), *LATEST_KEY.declared)}).best.writes.hottest

    assert hot.owner == "key='a'"


@pytest.mark.parametrize("design", ["none", "host", "domain"])
def test_a_crawl_host_after_host_is_not_sent_to_a_salt_of_the_host(design):
    hosts = [f"www.site{number * 7919 % 500}.example" for number in range(500)]
    urls = [f"https://{host}/{page}" for host in hosts for page in range(40)]

    told = advise(urls, [design], window=40)[design].why[1]

    assert told.startswith("100% of the writes of a moment are for one ")
    assert "Salt.url() spreads" in told
    assert "Salt.host() spreads" not in told

"""The advisor: known outcomes of known designs, on keys whose order and weight are known."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightly import examples
from webtable.errors import InvalidArgument
from webtable.rowkey import CompositeKey, Hash, HashedKey, HashSalt, Text, Timestamp, UInt, WebKey
from webtable.rowkey.advice import advise
from webtable.rowkey.advice.advice import arrival_sample
from webtable.rowkey.advice.costs import fair_share, gini
from webtable.rowkey.examples import LONG_KEY, REVERSED_KEY, SPREAD_LOG_KEY, USER_APP_KEY

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = [{"id": number} for number in range(20_000)]


def crawl(pages: int, giant: float = 0.0) -> list[str]:
    """Return URLs of 3,000 sites in no order; a share of them is of one giant host."""
    draw = random.Random(7)
    sites = [f"www.site{draw.randrange(10**6)}.example" for _ in range(3_000)]
    hosts = ("www.giant.example" if draw.random() < giant else draw.choice(sites) for _ in range(pages))
    return [f"https://{host}/{draw.choice('abc')}/{number}" for number, host in enumerate(hosts)]


def test_sequential_keys_make_one_region_hot_at_any_moment_although_all_are_even_in_the_end():
    packed = advise(NUMBERS, {"packed": LONG_KEY})["packed"]

    assert packed.writes.hottest_at_once > 0.98
    assert packed.writes.hottest_server > 0.98
    assert packed.writes.max_over_mean < 1.01
    assert packed.writes.gini < 0.01
    assert any("the hot region only moves" in reason for reason in packed.why)


def test_a_hash_is_even_and_has_no_ranges():
    hashed = advise(NUMBERS, {"hashed": HashedKey(LONG_KEY)}, questions=["id between"])["hashed"]

    assert hashed.heat < 1.2
    assert hashed.writes.gini < 0.05
    (between,) = [cost for cost in hashed.questions if cost.question == "id between"]
    assert between.ranges is None
    assert "the key is a hash of all its values" in between.reason


def test_a_host_salt_with_one_giant_host_has_a_hot_region_that_is_named_with_the_host_and_the_remedy():
    advice = advise(crawl(20_000, giant=0.5), ["host", "url"])

    hot = advice["host"].writes.hottest
    assert (hot.start, hot.owner) == (b"20", "www.giant.example")
    assert 0.5 < hot.share < 0.6
    (told,) = [reason for reason in advice["host"].why if reason.startswith("the region from 20")]
    assert "www.giant.example" in told
    assert "Salt.url()" in told
    assert advice.best.name == "url"
    assert advice["url"].heat < 1.2


@pytest.mark.slow
def test_without_a_giant_the_host_salt_is_better_than_the_url_salt():
    advice = advise(crawl(20_000), ["url", "host"])

    assert [design.name for design in advice.designs] == ["host", "url"]
    assert advice["host"].heat < 1.5


def test_a_crawl_that_takes_one_host_after_the_other_is_hot_below_every_salt_of_the_host():
    crawl_by_host = sorted(crawl(20_000))

    advice = advise(crawl_by_host, ["none", "url"])

    assert advice["none"].writes.hottest_at_once > 0.9
    assert advice["url"].heat < 1.2


def test_random_salts_spread_perfectly_and_a_get_looks_into_every_bucket():
    log = [{"time": NEW_YEAR + timedelta(seconds=second), "id": "x"} for second in range(5_000)]

    advice = advise(log, {"random": SPREAD_LOG_KEY}, regions=4)["random"]

    assert advice.heat < 1.3
    assert {cost.question: cost.ranges for cost in advice.questions}["point"] == 4


@pytest.mark.parametrize(
    ("design", "ranges"),
    [
        ("host", [1, 1, 256, 1, 1]),
        ("domain", [1, 1, 1, 1, 1]),
        ("url", [1, 256, 256, 256, 1]),
        ("none", [1, 1, 1, 1, 1]),
        ("hash", [1, None, None, None, 1]),
        ("random", [16, 16, 16, 16, 16]),
    ],
)
def test_a_design_costs_the_documented_number_of_ranges(design, ranges):
    questions = advise(crawl(500), [design])[design].questions

    assert [cost.question for cost in questions] == ["point", "host", "subtree", "directory", "latest"]
    assert [cost.ranges for cost in questions] == ranges


def test_gateway_calls_are_one_for_gets_eight_for_256_ranges_with_thrift2_and_three_a_range_without():
    point, host, *_ = advise(crawl(500), ["url"])["url"].questions

    assert (point.calls, point.calls_without) == (1, 1)
    assert (host.calls, host.calls_without) == (8, 3 * 256)


def test_designs_that_take_other_values_are_compared_on_the_same_rows():
    rows = [{"user_id": number % 50, "app_id": number} for number in range(1_000)]
    by_user = CompositeKey(HashSalt("user_id", 16), UInt("user_id"))

    advice = advise(rows, {"both": USER_APP_KEY, "user": by_user}, questions=["app_id"])

    lacking = {cost.question: cost.reason for cost in advice["user"].questions}["app_id"]
    assert "'app_id' is not a field of the key" in lacking


def test_a_key_without_a_salt_is_split_by_its_own_keys_and_the_advice_says_so_and_counts_it():
    draw = random.Random(3)
    ids = [{"id": draw.getrandbits(60)} for _ in range(5_000)]

    advice = advise(ids, {"packed": LONG_KEY, "salted": CompositeKey(HashSalt("id", 16), UInt("id"))})

    assert any(reason.startswith("split by these keys themselves") for reason in advice["packed"].why)
    assert advice["packed"].heat > 3 > advice["salted"].heat


def test_digits_that_are_reversed_are_split_by_their_last_digits_whatever_the_keys_are():
    reversed_ids = advise(NUMBERS, {"reversed": REVERSED_KEY})["reversed"]

    assert reversed_ids.writes.splits[:2] == (b"062", b"125")
    assert reversed_ids.writes.gini < 0.05
    assert not any(reason.startswith("split by these keys") for reason in reversed_ids.why)


def test_a_crawl_host_after_host_is_hot_for_one_host_at_a_time_and_not_for_the_order_of_its_keys():
    # Forty pages of a host, then forty of another one: no order among the hosts, and each has the same share.
    hosts = [f"www.site{number * 7919 % 500}.example" for number in range(500)]
    urls = [f"https://{host}/{page}" for host in hosts for page in range(40)]

    reasons = advise(urls, ["host"], window=40)["host"].why

    assert reasons[0].startswith("hot: at any moment one region takes 100% of the writes")
    assert reasons[1] == (
        "100% of the writes of a moment are for one host: Salt.url() spreads the pages of one host over all salts"
    )


def test_a_giant_domain_of_many_hosts_is_named_where_the_salt_is_that_of_the_domain():
    draw = random.Random(5)
    urls = [
        f"https://u{number}.{'blog.example' if draw.random() < 0.6 else f'site{number}.example'}/"
        for number in range(5_000)
    ]

    hot = advise(urls, ["domain"])["domain"].writes.hottest

    assert hot.owner == "blog.example"


def test_the_fair_share_is_what_chance_makes_of_the_busiest_region():
    draw = random.Random(9)

    for regions, size in [(16, 1), (16, 100), (1_000, 100), (4, 1_000)]:
        busiest = [max(Counter(draw.choices(range(regions), k=size)).values()) for _ in range(400)]

        assert fair_share(regions, size) == pytest.approx(sum(busiest) / 400 / size, rel=0.06)


def test_regions_that_are_not_there_count_as_empty():
    same = [{"id": 7}] * 1_000

    packed = advise(same, {"packed": LONG_KEY})["packed"]

    assert (packed.writes.gini, packed.writes.max_over_mean) == (15 / 16, 16)
    assert "only 1 of 16 regions: there are too few different keys" in packed.why


def test_many_windows_share_the_columns_of_a_heat_map():
    writes = advise(crawl(2_000), ["url"], window=1)["url"].writes

    assert len(writes.heat[0]) == 192
    assert sum(map(sum, writes.heat)) == 2_000
    assert (writes.hottest_at_once, writes.fair) == (1, 1)


def test_a_window_of_too_few_sampled_keys_is_refused():
    with pytest.raises(InvalidArgument, match="window=160 must be at least 800: one of 8 keys is measured"):
        advise(({"id": number} for number in range(10_000)), {"packed": LONG_KEY}, window=160, most=2_000)


def test_values_that_no_key_takes_are_no_questions():
    rows = [{"id": number, "text": "x"} for number in range(200)]

    assert [cost.question for cost in advise(rows, {"packed": LONG_KEY}).best.questions] == ["point"]


def test_fewer_salts_than_regions_are_told():
    few = CompositeKey(HashSalt("id", 4), UInt("id"))

    advice = advise(NUMBERS, {"few": few})["few"]

    assert "only 4 of 16 regions can be split off before there is data" in advice.why
    assert len(advice.writes.heat) == 4


def test_every_write_is_in_the_heat_map_once():
    advice = advise(crawl(3_333), ["host", "hash"], regions=8, window=100)

    for design in advice.designs:
        assert sum(map(sum, design.writes.heat)) == 3_333
        assert [sum(window) for window in zip(*design.writes.heat, strict=True)] == [100] * 33 + [33]


def test_lengths_are_those_of_the_keys_in_a_cell_as_hbase_stores_it():
    lengths = advise(NUMBERS, {"packed": LONG_KEY}, column="d:v", value_bytes=70)["packed"].lengths

    # A KeyValue has 20 bytes besides row, family, qualifier and value.
    assert (lengths.mean, lengths.p99, lengths.longest) == (8, 8, 8)
    assert lengths.share == 8 / 100
    assert lengths.share_with_names == 10 / 100


def test_a_cell_that_is_not_named_is_a_cell_of_no_column_and_never_one_of_webtables_own():
    advice = advise(NUMBERS, {"packed": LONG_KEY}, value_bytes=72)

    assert (advice.column, advice.best.lengths.share_with_names) == (None, None)
    assert advice.best.lengths.share == 8 / 100
    assert "keys of 8 bytes (p99 8): 8% of a cell with 72 bytes" in advice.best.why
    assert "metadata" not in str(advice) + advice._repr_html_() + advice.to_json().decode()


def test_a_cell_that_is_named_is_told_by_its_name():
    advice = advise(NUMBERS, {"packed": LONG_KEY}, column="d:v", value_bytes=70)

    assert "keys of 8 bytes (p99 8): 8% of a cell d:v with 70 bytes, 10% with the names of family and column" in (
        advice.best.why
    )


@pytest.mark.slow
def test_far_more_keys_than_are_held_are_measured_in_bounded_memory_with_the_error_told():
    count = examples(by_day=60_000, by_night=200_000)

    def stream():
        for number in range(count):
            yield {"id": number}

    tracemalloc.start()
    try:
        advice = advise(stream(), {"hashed": CompositeKey(Hash("id", first=2), UInt("id"))}, most=4_096)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert advice.keys == count
    assert 2_048 <= advice.measured <= 4_096
    assert 0.01 < advice.margin < 0.03
    assert peak < 8 * 2**20
    assert abs(advice["hashed"].writes.hottest.share - 1 / 16) < advice.margin


@given(st.integers(0, 500), st.sampled_from([2, 4, 10, 64]))
def test_a_sample_keeps_the_order_and_goes_evenly_through_the_stream(count, most):
    sample = arrival_sample(range(count), most)

    assert sample.items == sorted(set(sample.items))
    assert sample.total == count
    assert len(sample.items) == -(-count // sample.stride) <= most
    assert [item // sample.stride for item in sample.items] == list(range(len(sample.items)))
    assert sample.is_whole == (count <= most)


def test_counts_that_are_all_the_same_have_a_gini_of_zero_and_one_that_has_all_nearly_one():
    assert gini([3] * 10) == pytest.approx(0)
    assert gini([0] * 99 + [1]) == pytest.approx(0.99)
    assert gini([0, 0]) == 0


def test_what_is_no_url_is_left_out_and_told():
    advice = advise(["https://example.com/", "ftp://example.com/", "nonsense"], ["host"])

    assert (advice.keys, advice.skipped) == (1, 2)
    assert "'ftp://example.com/'" in advice.first_skipped


def test_only_the_questions_that_are_asked_count_for_the_score():
    urls = crawl(2_000)

    everything, pages = advise(urls, ["hash"]), advise(urls, ["hash"], questions=["point"])

    assert everything.best.scanning > 5
    assert (pages.best.reading, pages.best.scanning) == (1, 0)


def test_advice_is_the_same_each_time_and_comes_as_json():
    urls = crawl(1_000, giant=0.3)

    advice = advise(urls, ["host", "none"])

    assert advice.to_json() == advise(iter(urls), ["host", "none"]).to_json()
    read = json.loads(advice.to_json())
    assert read["keys"] == 1_000
    assert [design["name"] for design in read["designs"]] == [design.name for design in advice.designs]
    assert all(isinstance(split, str) for design in read["designs"] for split in design["writes"]["splits"])


def test_advice_reads_as_a_ranking_with_reasons():
    text = str(advise(crawl(1_000), ["host", "hash"]))

    assert text.splitlines()[0] == "1,000 keys, 16 regions on 4 servers, 100 at a moment"
    assert text.splitlines()[1].startswith("the verdict holds for crawls like this one: 847 hosts of 847 domains")
    assert "\n1. host (score " in text
    assert "cannot answer host" in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"keys": []}, "keys"),
        ({"keys": ["nonsense"]}, "no scheme"),
        ({"designs": []}, "one or more"),
        ({"designs": ["host", "host"]}, "once"),
        ({"designs": ["best"]}, "must be one of host, domain"),
        ({"designs": "host"}, "list of names"),
        ({"designs": {"packed": LONG_KEY}}, "mappings"),
        ({"regions": 0}, "regions=0"),
        ({"servers": 0}, "servers=0"),
        ({"window": -1}, "window=-1"),
        ({"window": 0}, "window=0"),
        ({"regions": True}, "regions=True"),
        ({"regions": 10_001}, "at most 10,000"),
        ({"keys": [{}], "designs": {"packed": LONG_KEY}}, "must have values of id"),
        ({"keys": [{"id": 1}], "designs": {"web": WebKey()}}, "of a WebKey its `parts`"),
        ({"keys": [{"id": 1}], "designs": {"packed": 1}}, "must be a declared key"),
        ({"designs": [WebKey()]}, "must be named, or be a Design"),
        ({"value_bytes": -1}, "value_bytes=-1"),
        ({"most": 1}, "most=1"),
        ({"questions": ["newest"]}, "questions='newest': there is no field 'newest'; there are url, host"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_the_reason(arguments, reason):
    given_all = {"keys": ["https://example.com/"], "designs": ["host"], **arguments}

    with pytest.raises(InvalidArgument, match=reason):
        advise(given_all.pop("keys"), given_all.pop("designs"), **given_all)


def test_rows_that_a_declared_key_cannot_take_are_told():
    rows = [{"key": "a", "time": NEW_YEAR}, {"key": "b", "time": NEW_YEAR.replace(tzinfo=None)}]

    advice = advise(rows, {"time": CompositeKey(Timestamp("time"), Text("key"))})

    assert (advice.keys, advice.skipped) == (1, 1)
    assert "naive" in advice.first_skipped

"""What the advisor asks of designs: the questions it derives, those of users, and how each design answers them."""

from __future__ import annotations

import json
import math
import random
import re
from datetime import UTC, date, datetime, timedelta

import pytest

from webtable.errors import InvalidArgument
from webtable.rowkey import (
    CompositeKey,
    Date,
    Descending,
    FixedText,
    Hash,
    HashedKey,
    HashSalt,
    RandomSalt,
    ReversedDomain,
    ReverseTimestamp,
    Text,
    Timestamp,
    UInt,
)
from webtable.rowkey.advice import Advice, Question, advise, url_design
from webtable.rowkey.advice.questions import MOST_DERIVED
from webtable.rowkey.examples import LATEST_KEY, LONG_KEY, MESSAGE_KEY, METRIC_KEY

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
CHANNEL = Text("channel", terminator=b"\0")
HASHED = CompositeKey(Hash("channel", first=2), CHANNEL, ReverseTimestamp("sent"), UInt("id"))
PLAIN = CompositeKey(CHANNEL, Timestamp("sent"), UInt("id"))
BY_TIME = CompositeKey(Timestamp("sent"), CHANNEL, UInt("id"))
SALTED = CompositeKey(HashSalt(("channel", "id"), 16), CHANNEL, Timestamp("sent"), UInt("id"))
CHAT = {"by time": BY_TIME, "salted": SALTED, "plain": PLAIN, "hashed": HASHED}
OF_A_CHANNEL = ["channel", "channel, sent between", "latest of channel"]
OF_ALL = ["sent between", "latest"]


def messages(count: int = 4_000) -> list[dict[str, object]]:
    """Return messages of 200 channels, seven seconds apart."""
    draw = random.Random(3)
    return [
        {
            "channel": f"c{draw.randrange(200)}",
            "sent": NEW_YEAR + timedelta(seconds=7 * number),
            "sender": f"u{draw.randrange(90)}",
            "id": number,
        }
        for number in range(count)
    ]


@pytest.fixture(scope="module")
def chat() -> Advice:
    """Four keys for messages, with what a user asks beside the rest."""
    return advise(messages(), CHAT, questions=["channel", "sender", "channel, sent between", "latest of channel"])


def cost(advice: Advice, design: str, question: str):
    (found,) = [one for one in advice[design].questions if one.question == question]
    return found


# a chat


def test_a_chat_is_asked_for_a_channel_for_some_time_of_it_and_for_its_latest_message():
    advice = advise(messages(), {"hashed": HASHED, "plain": PLAIN})

    for design in advice.designs:
        assert [one.question for one in design.questions] == ["point", *OF_A_CHANNEL]
        assert {one.weight for one in design.questions} == {1}
        assert not [reason for reason in design.why if reason.startswith("cannot answer")]


def test_all_designs_are_asked_what_any_of_them_is_made_for():
    advice = advise(messages(), CHAT)

    for design in advice.designs:
        assert {one.question for one in design.questions} == {"point", *OF_A_CHANNEL, *OF_ALL}


@pytest.mark.parametrize(
    ("design", "ranges"),
    [  # channel; channel, sent between; latest of channel; sent between; latest
        ("hashed", [1, 1, 1, None, None]),
        ("plain", [1, 1, 1, None, None]),
        ("salted", [16, 16, 16, None, None]),
        ("by time", [None, None, None, 1, 1]),
    ],
)
def test_each_question_takes_the_ranges_of_the_key(chat, design, ranges):
    assert [cost(chat, design, question).ranges for question in [*OF_A_CHANNEL, *OF_ALL]] == ranges


@pytest.mark.parametrize(
    ("design", "question", "order"),
    [
        ("hashed", "latest of channel", "as stored"),
        ("plain", "latest of channel", "reverse scan"),
        ("salted", "latest of channel", "reverse scan"),
        ("by time", "latest of channel", "sort"),
        ("by time", "latest", "reverse scan"),
        ("plain", "latest", "sort"),
        ("plain", "channel", ""),
    ],
)
def test_the_latest_is_first_in_the_key_or_last_or_must_be_sorted_out(chat, design, question, order):
    assert cost(chat, design, question).order == order


def test_rows_that_are_read_are_counted_for_the_rows_that_are_wanted(chat):
    for design in ("hashed", "plain", "salted"):
        of_channel = cost(chat, design, "channel")
        assert of_channel.rows_read == of_channel.rows_wanted == pytest.approx(20, rel=0.5)
        assert cost(chat, design, "channel, sent between").rows_for_one == 1
    assert cost(chat, "plain", "latest of channel").rows_read == 1
    assert 10 < cost(chat, "salted", "latest of channel").rows_read <= 16


def test_what_has_no_range_reads_a_wider_one_or_the_whole_table(chat):
    filtered = cost(chat, "by time", "channel, sent between")
    whole = cost(chat, "by time", "channel")
    sorted_out = cost(chat, "plain", "latest")

    assert filtered.instead == "sent between"
    assert filtered.rows_read == pytest.approx(400, rel=0.3)
    assert filtered.rows_for_one == pytest.approx(200, rel=0.5)
    assert (whole.instead, whole.rows_read) == ("", 4_000)
    assert (sorted_out.instead, sorted_out.rows_for_one) == ("", 4_000)


def test_the_key_that_answers_the_questions_of_a_chat_is_ranked_first(chat):
    assert [design.name for design in advise(messages(), CHAT).designs] == ["hashed", "plain", "salted", "by time"]
    assert chat.best.name == "hashed"


def test_a_key_without_what_is_asked_for_comes_after_a_warmer_one_that_has_it():
    # By Zipf's law the first of 200 channels has a sixth of all messages.
    draw, weights = random.Random(5), [1 / rank for rank in range(1, 201)]
    rows = [
        {"channel": f"c{channel}", "sent": NEW_YEAR + timedelta(seconds=number), "id": number}
        for number, channel in enumerate(draw.choices(range(200), weights, k=20_000))
    ]
    keys = {"hashed": HASHED, "no channel": CompositeKey(HashSalt(("id",), 16), Timestamp("sent"), UInt("id"))}
    questions = ["point", "channel", "channel, sent between", "latest of channel", "sent between", "latest"]

    advice = advise(rows, keys, questions=questions, regions=11)

    assert advice.best.name == "hashed"
    assert advice["hashed"].heat > 2 > advice["no channel"].heat
    assert re.fullmatch(
        r"for: 1 range a question; against: \d\d% of a moment's writes in one region, 12% by chance, "
        "2 of 6 questions without an answer",
        advice["hashed"].verdict,
    )
    assert advice["no channel"].verdict == (
        "for: even writes; against: 11 ranges a question, 3 of 6 questions without an answer"
    )
    # Each of a million rows is read for two of six questions, and 16 ranges of 22 rows for each wanted one for a third.
    third = 1 + 4 + math.log2(cost(advice, "no channel", "channel, sent between").rows_for_one)
    assert advice["no channel"].scanning == pytest.approx((2 * (1 + 20) + third) / 6)


def test_calls_are_one_for_one_range_and_three_a_range_without_thrift2(chat):
    assert cost(chat, "hashed", "latest of channel").calls == 1
    assert cost(chat, "salted", "channel").calls == 8
    assert cost(chat, "salted", "channel").calls_without == 48


def test_what_a_design_cannot_answer_has_a_line_each_with_the_reason_and_what_helps(chat):
    lines = [reason for reason in chat["by time"].why if reason.startswith("cannot answer")]

    assert [line.partition(":")[0].removeprefix("cannot answer ") for line in lines] == [
        "channel",
        "sender",
        "channel, sent between",
        "latest of channel",
    ]
    assert lines[0] == (
        "cannot answer channel: 'channel' comes after 'sent', for which nothing is given; give a value of 'sent' "
        "too, or put 'channel' before it, or add an index by channel; without that it reads all rows"
    )
    assert lines[1].startswith(
        "cannot answer sender: 'sender' is not a field of the key; it has sent, channel, id; put it "
    )
    assert "or add an index by channel, sent; without that it reads " in lines[2]
    assert lines[2].endswith(" rows for each one wanted (sent between)")
    assert "index by channel and the time, newest first; without that it reads all rows, and sorts them" in lines[3]


def test_a_reverse_scan_is_said(chat):
    assert "latest of channel is the last row of its range: a reverse scan" in chat["plain"].why
    assert "latest of channel is the last row of its ranges: a reverse scan" in chat["salted"].why
    assert not [reason for reason in chat["hashed"].why if "reverse scan" in reason]


# other shapes


def test_a_time_series_is_asked_for_a_sensor_some_time_of_it_and_its_latest():
    rows = [{"key": f"sensor {n % 7}", "time": NEW_YEAR + timedelta(seconds=n)} for n in range(1_000)]

    found = advise(rows, {"latest": LATEST_KEY})["latest"].questions

    assert {one.question: one.ranges for one in found} == {
        "point": 1,
        "key": 1,
        "key, time between": 1,
        "latest of key": 1,
    }


def test_a_day_is_asked_for_as_a_day_and_as_a_range():
    key = CompositeKey(Date("day", "%Y%m%d"), Text("customer", terminator=b"\0"), UInt("id"))
    rows = [{"day": date(2026, 1, 1 + n % 20), "customer": f"c{n % 9}", "id": n} for n in range(500)]

    found = advise(rows, {"days": key})["days"].questions

    assert [one.question for one in found] == ["point", "day", "day between", "latest", "day, customer"]
    assert {one.ranges for one in found} == {1}


def test_orders_are_asked_for_a_customer_and_not_for_one_moment():
    by_customer = CompositeKey(UInt("customer", 4), Descending(Timestamp("ordered")), UInt("id"))
    hashed = CompositeKey(HashSalt("customer", 8), *by_customer.declared)
    rows = [{"customer": n % 50, "ordered": NEW_YEAR + timedelta(minutes=n), "id": n} for n in range(2_000)]

    advice = advise(rows, {"plain": by_customer, "hashed": hashed, "whole": HashedKey(by_customer)})

    asked = ["point", "customer", "customer, ordered between", "latest of customer"]
    assert [one.question for one in advice["plain"].questions] == asked
    assert [one.ranges for one in advice["hashed"].questions] == [1, 1, 1, 1]
    assert [one.ranges for one in advice["whole"].questions] == [1, None, None, None]
    assert advice.best.name == "hashed"


def test_a_salt_of_other_fields_than_the_first_is_asked_for_the_first():
    key = CompositeKey(HashSalt("id", 16), FixedText("channel", 8), Timestamp("sent"), UInt("id"))

    found = advise(messages(), {"salted": key})["salted"].questions

    assert [one.question for one in found] == ["point", *OF_A_CHANNEL]
    assert [one.ranges for one in found] == [1, 16, 16, 16]


def test_a_whole_hash_in_front_leads_with_what_it_is_of():
    rows = [{"message_id": str(n), "sent": NEW_YEAR + timedelta(seconds=n)} for n in range(200)]

    found = advise(rows, {"messages": MESSAGE_KEY})["messages"].questions

    assert [one.question for one in found] == [
        "point",
        "message_id",
        "message_id, sent between",
        "latest of message_id",
    ]
    assert {one.ranges for one in found} == {1}


def test_a_value_that_is_only_hashed_reads_the_rows_of_its_bucket():
    key = CompositeKey(HashSalt("user", 4), Timestamp("time"), UInt("id"))
    rows = [{"user": n % 40, "time": NEW_YEAR + timedelta(seconds=n), "id": n} for n in range(2_000)]

    found = cost(advise(rows, {"users": key}), "users", "user")

    assert found.ranges == 1
    assert found.rows_for_one == pytest.approx(10, rel=0.4)


def test_a_field_that_keeps_less_than_is_asked_reads_more_and_the_advice_says_so():
    rows = [{"metric": n % 3, "hour": NEW_YEAR + timedelta(seconds=n), "tags": bytes(6)} for n in range(3_000)]

    advice = advise(rows, {"metric": METRIC_KEY})

    assert cost(advice, "metric", "metric, hour between").rows_for_one > 2
    (said,) = [reason for reason in advice.best.why if reason.startswith("reads ")]
    assert said.endswith(" rows for each one wanted of metric, hour between")


def test_a_key_without_a_time_is_asked_for_no_time():
    rows = [{"user_id": n % 50, "app_id": n} for n in range(1_000)]
    by_user = CompositeKey(UInt("user_id"), UInt("app_id"))

    advice = advise(rows, {"user": by_user, "app": CompositeKey(UInt("app_id"), UInt("user_id"))})

    assert [one.question for one in advice.best.questions] == ["point", "user_id", "app_id"]


def test_a_random_salt_is_asked_by_all_its_buckets():
    key = CompositeKey(RandomSalt(4), *PLAIN.declared)

    found = advise(messages(), {"random": key})["random"].questions

    assert [one.ranges for one in found] == [4, 4, 4, 4]


def test_the_web_key_is_asked_as_ever_where_all_designs_are_of_urls_without_times():
    urls = [f"https://h{n % 50}.example/a/{n}" for n in range(500)]

    assert [one.question for one in advise(urls).best.questions] == ["point", "host", "subtree", "directory", "latest"]


def test_keys_of_urls_with_times_are_asked_for_a_page_and_a_host_in_time():
    versions = CompositeKey(
        HashSalt("host", 16),
        ReversedDomain("host", terminator=b"/"),
        Text("rest", terminator=b"\0"),
        ReverseTimestamp("fetched"),
    )
    urls = [f"https://h{n % 50}.example/a/{n % 400}" for n in range(2_000)]

    advice = advise(urls, ["host", url_design("versions", versions)])

    costs = {design.name: {one.question: one.ranges for one in design.questions[5:]} for design in advice.designs}
    asked = ["url", "host, fetched between", "latest of host", "url, fetched between"]
    assert [sorted(asked_of) for asked_of in costs.values()] == [sorted(asked)] * 2
    assert costs["versions"] == {
        "url": 1,
        "url, fetched between": 1,
        "host, fetched between": None,
        "latest of host": None,
    }
    # A web key keeps the versions of a page in the cells of its row.
    assert costs["host"] == costs["versions"]
    by_host = CompositeKey(ReversedDomain("host", terminator=b"/"), ReverseTimestamp("at"), Text("rest"))
    found = advise(urls, ["host", url_design("by host", by_host)])["by host"].questions
    assert {one.question: one.ranges for one in found[5:]} == {"host, at between": 1, "latest of host": 1}


def test_other_values_of_a_url_can_be_asked_for():
    urls = [f"https://h{n % 50}.example/a/{n}" for n in range(500)]

    asked = advise(urls, ["host", "none"], questions=["domain", "host, rest", "scheme"])

    assert [one.ranges for one in asked["host"].questions[:3]] == [256, 1, None]
    assert asked["none"].questions[0].ranges == 1
    assert "'scheme' is not a field of the key; it has host, rest" in asked["host"].questions[2].reason


@pytest.mark.slow
def test_a_range_of_a_value_that_a_web_key_does_not_have_is_no_range():
    urls = [f"https://h{n % 50}.example/a/{n}" for n in range(500)]

    asked = advise(urls, ["none", "host", "hash"], questions=["url between", "domain between", "host between"])

    for design in asked.designs:
        assert [one.ranges for one in design.questions[:3]] == [None, None, None]


# what is left out


def test_questions_are_bounded_and_the_others_are_named():
    names = [f"f{n}" for n in range(8)]
    keys = {
        f"from {n}": CompositeKey(*(UInt(name, 1) for name in [*names[n:], *names[:n]]), Timestamp("time"))
        for n in range(8)
    }
    rows = [dict.fromkeys(names, n % 9) | {"time": NEW_YEAR + timedelta(seconds=n)} for n in range(200)]

    advice = advise(rows, keys)

    assert len(advice.best.questions) == MOST_DERIVED + 1  # and a row with all its values
    assert "f0, f1" in {one.question for one in advice.best.questions}
    assert len(advice.not_asked) > 100
    assert "f0, f1, f2, f3, f4, f5, f6, f7, time between" in advice.not_asked
    assert f"questions that were derived are {MOST_DERIVED} at most; left out: " in str(advice)
    assert "left out: " in advice._repr_html_()
    assert not advise(messages(), CHAT).not_asked


# one's own questions


def test_questions_of_ones_own_make_the_score_and_the_derived_ones_are_shown():
    advice = advise(messages(), CHAT, questions=["sent between: 3", "channel"])

    asked = {one.question: one.weight for one in advice["plain"].questions}
    assert asked == {"sent between": 3, "channel": 1} | dict.fromkeys(
        ["point", "channel, sent between", "latest of channel", "latest"], 0
    )
    scan = 1 + 20  # of a million rows
    plain, by_time = advice["plain"], advice["by time"]
    assert (plain.reading, plain.scanning) == pytest.approx((1 * 1 / 4, 3 * scan / 4))
    assert (by_time.reading, by_time.scanning) == pytest.approx((3 * 1 / 4, 1 * scan / 4))
    assert plain.score == plain.heat * plain.reading + plain.scanning


def test_the_same_question_said_in_other_words_is_one_with_the_sum_of_the_weights():
    advice = advise(
        messages(),
        CHAT,
        questions=["sent between, channel: 2", Question.of("channel, sent between"), "latest channel: 0.5"],
    )

    assert [(one.question, one.weight) for one in advice.best.questions if one.weight] == [
        ("channel, sent between", 3),
        ("latest of channel", 0.5),
    ]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("channel", Question(("channel",))),
        (" channel ,sent  between : 2.5 ", Question(("channel",), ("sent",), weight=2.5)),
        ("latest channel", Question(("channel",), latest=True)),
        ("latest of channel, sender: 4", Question(("channel", "sender"), latest=True, weight=4)),
        ("latest", Question(latest=True)),
        ("sent between", Question((), ("sent",))),
    ],
)
def test_a_question_is_read_from_text_and_written_the_same(text, question):
    assert Question.of(text) == question
    assert Question.of(f"{question}: {question.weight}") == question


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ([], "must be one or more"),
        ([""], "questions='' is empty"),
        (["channel,, sent between"], "questions='channel,, sent between' has nothing between two commas"),
        (["chanel"], "questions='chanel': there is no field 'chanel'; the closest is channel"),
        (["chanel, sent between: 2"], "questions='chanel, sent between': there is no field 'chanel'"),
        (["zzz"], "questions='zzz': there is no field 'zzz'; there are channel, sent, sender, id"),
        (["sent betwen"], "questions='sent betwen': 'sent betwen' must be a field, or a field and between"),
        (["channel: 0"], "questions='channel: 0': the weight must be a number above 0"),
        (["channel: -1"], "must be a number above 0"),
        (["channel: nan"], "must be a number above 0"),
        (["channel: inf"], "must be a number above 0"),
        (["channel: much"], "must be a number above 0"),
        ([Question(("channel",), weight=0)], "weight=0 must be a number above 0"),
        ([Question()], "a question must have"),
        (["latest of channel, sent between"], "the latest row is one of given values"),
        (["channel, channel"], "names 'channel' twice"),
        (["channel; sender"], "must be one question"),
        ([7], "questions=7 must be a question as text"),
        ("channel", "must be a list"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_with_what_is_wrong(asked, reason):
    with pytest.raises(InvalidArgument, match=reason.replace("(", r"\(")):
        advise(messages(100), CHAT, questions=asked)


def test_a_question_of_urls_is_no_value_among_others():
    with pytest.raises(InvalidArgument, match="'subtree' is a separate question; separate questions by ';'"):
        advise(["https://example.com/"], ["host"], questions=["host, subtree"])


def test_a_field_with_the_name_of_a_question_is_a_field():
    rows = [{"point": n % 5, "other": n} for n in range(100)]

    found = advise(rows, {"key": CompositeKey(UInt("point"), UInt("other"))}, questions=["point"]).best.questions

    assert [one.question for one in found] == ["point", "point, other"]
    assert found[0].rows_wanted == 20


def test_a_row_that_lacks_a_value_that_no_key_has_is_asked_all_the_same():
    rows = [
        {"sender": "x", **row} if n < 1 else {k: v for k, v in row.items() if k != "sender"}
        for n, row in enumerate(messages(200))
    ]

    assert cost(advise(rows, CHAT, questions=["sender"]), "plain", "sender").ranges is None


def test_a_first_row_that_no_key_takes_says_nothing_of_the_questions():
    rows = [{"channel": "c1"}, *messages(200)]

    advice = advise(rows, {"plain": PLAIN})

    assert advice.skipped == 1
    assert [one.question for one in advice.best.questions] == ["point", *OF_A_CHANNEL]


def test_a_range_of_numbers_can_be_asked_for():
    rows = [{"id": number} for number in range(2_000)]

    advice = advise(rows, {"packed": LONG_KEY, "hashed": HashedKey(LONG_KEY)}, questions=["id between"])

    assert cost(advice, "packed", "id between").rows_for_one == 1
    assert cost(advice, "hashed", "id between").ranges is None


# shown


def test_json_has_the_reason_what_helps_and_what_is_read_instead(chat):
    (by_time,) = [design for design in json.loads(chat.to_json())["designs"] if design["name"] == "by time"]

    (found,) = [one for one in by_time["questions"] if one["question"] == "channel, sent between"]
    assert found["ranges"] is None
    assert found["reason"] == "'channel' comes after 'sent', for which there is a range and not a single value"
    assert found["fix"] == ("ask for one value of 'sent', or put 'channel' before it, or add an index by channel, sent")
    assert found["instead"] == "sent between"

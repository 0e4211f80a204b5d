"""Composite keys: ranges against a sorted list, the way back, salts, the latest row, and what is refused."""

from __future__ import annotations

import inspect
import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import webtable.rowkey
from nightly import examples
from webtable.errors import FieldError, InvalidArgument, KeyFormatError, NoRange, UnknownField
from webtable.rowkey import (
    MAX_KEY,
    Bytes,
    CompositeKey,
    Constant,
    Date,
    DateTime,
    Descending,
    Digits,
    FixedText,
    Hash,
    HashedKey,
    HashSalt,
    Hex,
    Int,
    KeyRange,
    RandomSalt,
    Reversed,
    ReversedDomain,
    ReverseTimestamp,
    RoundRobinSalt,
    RowKey,
    Salt,
    Text,
    Time,
    Timestamp,
    UInt,
    WebKey,
    below,
    between,
    starting_with,
)
from webtable.rowkey.examples import EXAMPLES
from webtable.rowkey.web import REGISTERED_DOMAIN

NOON = datetime(2023, 6, 11, 12, tzinfo=UTC)
DAY = timedelta(days=1)

# Few values, so that keys meet, and neighbours in every way that a separator, an escape or a limit could get wrong.
texts = st.sampled_from(
    ["", "a", "a:", "a!", "ab", "a\0", "a\x01", "a\0b", "a\x01\x02", "%", "%3A", ":", "é", "\uffff", "-", ".", "/", "0"]
)
raws = st.sampled_from([b"", b"\0", b"\1", b"\0\0", b"\1\1", b"\xfe", b"\xff", b"\xff\xff", b":", b"%", b"a", b"\xff:"])
twos = st.sampled_from([b"\0\0", b"\0\xff", b"\xff\0", b"\xff\xff", b"::", b"a:", b"ab"])
bytes_ = st.sampled_from([0, 1, 2, 9, 10, 99, 254, 255])
signed = st.sampled_from([-128, -127, -1, 0, 1, 126, 127])
hosts = st.sampled_from(
    [
        "example.com",
        "www.example.com",
        "example-shop.com",
        "com",
        "example.co.uk",
        "127.0.0.1",
        "[::1]",
        "a.www.example.com",
        "example.com.",
    ]
)
seconds = st.sampled_from(
    [NOON + timedelta(days, offset) for days in (0, 1, 30) for offset in (-43_200, -1, 0, 1, 43_199)]
)
days = st.sampled_from([date(2023, 6, 11), date(2023, 6, 12), date(2023, 7, 1), date(2000, 1, 1), date(2099, 12, 31)])


class Layout(NamedTuple):
    """A key, what its values can be, and the questions that it answers by ranges: names given, and one asked of."""

    key: RowKey
    values: dict[str, Any]
    questions: list[tuple[tuple[str, ...], str | None]]


LAYOUTS = {
    "numbers": Layout(
        CompositeKey(UInt("a", 1), Int("b", 1), Digits("c", 3), Hex("d", 2)),
        {"a": bytes_, "b": signed, "c": bytes_, "d": bytes_},
        [((), None), ((), "a"), (("a",), "b"), (("a", "b"), "c"), (("a", "b", "c"), "d"), (("a", "b", "c", "d"), None)],
    ),
    "texts with nul": Layout(
        CompositeKey(Text("a", terminator=b"\0"), Text("b", terminator=b"\0"), Text("c")),
        {"a": texts, "b": texts, "c": texts},
        [((), "a"), (("a",), None), (("a",), "b"), (("a", "b"), "c"), (("a", "b", "c"), None)],
    ),
    "texts with colon": Layout(
        CompositeKey(Text("a"), Text("b"), Text("c"), separator=":"),
        {"a": texts, "b": texts, "c": texts},
        [(("a",), None), (("a", "b"), None), (("a", "b"), "c"), (("a", "b", "c"), None)],
    ),
    "bytes with a separator of two": Layout(
        CompositeKey(Bytes("a"), Bytes("b", 2), Bytes("c"), separator=b"\xff:"),
        {"a": raws, "b": twos, "c": raws},
        [(("a",), None), (("a",), "b"), (("a", "b"), "c"), (("a", "b", "c"), None)],
    ),
    "descending": Layout(
        CompositeKey(Descending(Text("a", terminator=b"\0")), Descending(Int("b", 1)), Bytes("c")),
        {"a": texts, "b": signed, "c": raws},
        [((), "a"), (("a",), None), (("a",), "b"), (("a", "b"), "c"), (("a", "b", "c"), None)],
    ),
    "descending at the end": Layout(
        CompositeKey(Reversed(Digits("a", 3)), FixedText("b", 3), Descending(Bytes("c", terminator=b"\0"))),
        {"a": bytes_, "b": texts.filter(lambda text: len(text.encode()) <= 3 and text[-1:] != "\0"), "c": raws},
        [(("a",), None), (("a",), "b"), (("a", "b"), "c"), (("a", "b", "c"), None)],
    ),
    "times": Layout(
        CompositeKey(Date("day"), Descending(Timestamp("t", "s")), DateTime("u", "%Y%m%d%H%M%S")),
        {"day": days, "t": seconds, "u": seconds},
        [((), "day"), (("day",), "t"), (("day", "t"), "u"), (("day",), None), (("day", "t", "u"), None)],
    ),
    "times in words": Layout(
        CompositeKey(DateTime("t", "%Y-%m-%dT%H:%M:%S"), ReverseTimestamp("u"), Time("clock", "%H%M"), separator="|"),
        {"t": seconds, "u": seconds, "clock": st.sampled_from([time(0), time(6, 30), time(23, 59)])},
        [((), "t"), (("t",), "u"), (("t", "u"), "clock"), (("t",), None)],
    ),
    "moment first": Layout(
        CompositeKey(Date("t", "%y%m%d"), Time("t"), Text("a"), separator=":"),
        {"t": seconds, "a": texts},
        [((), "t"), (("t",), None), (("t",), "a"), (("t", "a"), None)],
    ),
    "message": Layout(
        EXAMPLES["message"],
        {"sent": seconds, "message_id": texts},
        [((), None), (("message_id",), None), (("message_id",), "sent"), (("message_id", "sent"), None)],
    ),
    "short hash first": Layout(
        CompositeKey(Hash("a", first=1), Int("a", 1), Text("b")),
        {"a": signed, "b": texts},
        [((), None), ((), "a"), (("a",), None), (("a",), "b"), (("a", "b"), None)],
    ),
    "whole hash first": Layout(
        CompositeKey(Hash("a", "sha256", "bytes"), UInt("b", 1), Text("a")),
        {"a": texts, "b": bytes_},
        [(("a",), None), (("a",), "b"), (("a", "b"), None)],
    ),
    "hash at the end": Layout(
        CompositeKey(UInt("a", 1), Text("b"), Hash(("a", "b"), "murmur3", last=4), separator=":"),
        {"a": bytes_, "b": texts},
        [((), "a"), (("a",), None), (("a", "b"), None)],
    ),
    "hash of a value that is not in the key": Layout(
        CompositeKey(Hash("secret", "crc32"), UInt("a", 1)),
        {"secret": texts, "a": bytes_},
        [(("secret",), None), (("secret",), "a"), (("secret", "a"), None)],
    ),
    "hash salt": Layout(
        CompositeKey(HashSalt("t", 4, "crc32"), Timestamp("t", "s"), Bytes("a")),
        {"t": seconds, "a": raws},
        [((), None), ((), "t"), (("t",), None), (("t",), "a"), (("t", "a"), None)],
    ),
    "hash salt of letters": Layout(
        CompositeKey(HashSalt("b", ["b-", "a-", "z-"]), UInt("a", 1), Text("b")),
        {"a": bytes_, "b": texts},
        [((), "a"), (("a",), None), (("a",), "b"), (("a", "b"), None)],
    ),
    "random salt": Layout(
        CompositeKey(RandomSalt([b"\0", b"\xfe", b"\xff"]), ReverseTimestamp("t", "s"), Text("a")),
        {"t": seconds, "a": texts},
        [((), None), ((), "t"), (("t",), None), (("t",), "a"), (("t", "a"), None)],
    ),
    "random salt in the middle": Layout(
        CompositeKey(UInt("a", 1), RoundRobinSalt(["x", "y"]), Int("b", 1), separator=":"),
        {"a": bytes_, "b": signed},
        [((), "a"), (("a",), None), (("a",), "b"), (("a", "b"), None)],
    ),
    "domain with slash": Layout(
        CompositeKey(Hash("host", first=1), ReversedDomain("host", terminator=b"/"), Text("rest")),
        {"host": hosts, "rest": texts},
        [((), None), (("host",), None), (("host",), "rest"), (("host", "rest"), None)],
    ),
    "domain with colon": Layout(
        CompositeKey(ReversedDomain("host"), UInt("a", 1), separator=":"),
        {"host": hosts, "a": bytes_},
        [((), None), (("host",), None), (("host",), "a"), (("host", "a"), None)],
    ),
    "domain at the end": Layout(
        CompositeKey(Constant(b"\xff"), ReversedDomain("host")), {"host": hosts}, [((), None), (("host",), None)]
    ),
    "salt of the registered domain": Layout(
        CompositeKey(
            Hash("host", first=1, through=REGISTERED_DOMAIN), ReversedDomain("host", terminator=b"/"), Text("a")
        ),
        {"host": hosts, "a": texts},
        [((), None), (("host",), None), (("host",), "a")],
    ),
    "whole-key hash": Layout(
        HashedKey(CompositeKey(RandomSalt(3), UInt("a", 1), Text("b"))), {"a": bytes_, "b": texts}, [(("a", "b"), None)]
    ),
    "day, text, moment": Layout(
        CompositeKey(Date("t"), Text("a", terminator=b"\0"), Timestamp("t", "s")),
        {"t": seconds, "a": texts},
        [((), None), (("t", "a"), None)],
    ),
    "time, text, date": Layout(
        CompositeKey(Time("t"), Text("a", terminator=b"\0"), Date("t")),
        {"t": seconds, "a": texts},
        [((), None), (("t", "a"), None)],
    ),
    "time in front of its date": Layout(
        CompositeKey(Time("t"), Date("t")), {"t": seconds}, [((), None), (("t",), None)]
    ),
    "date and time backwards": Layout(
        CompositeKey(Descending(Date("t")), Descending(Time("t")), Text("a")),
        {"t": seconds, "a": texts},
        [((), None), (("t",), None), (("t",), "a")],
    ),
    "names that Python uses itself": Layout(
        CompositeKey(Text("key", terminator=b"\0"), UInt("self", 1), Int("len", 1), Text("unknown")),
        {"key": texts, "self": bytes_, "len": signed, "unknown": texts},
        [(("key",), "self"), (("key", "self"), "len"), (("key", "self", "len"), "unknown")],
    ),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
composites = pytest.mark.parametrize(
    "layout",
    [one for one in LAYOUTS.values() if isinstance(one.key, CompositeKey)],
    ids=[name for name, one in LAYOUTS.items() if isinstance(one.key, CompositeKey)],
)
FEW = settings(max_examples=examples(by_day=8, by_night=50))  # there are 30 layouts


def rows_of(layout: Layout) -> Any:
    return st.lists(st.fixed_dictionaries(layout.values), min_size=1, max_size=12)


def inside(ranges: list[KeyRange], key: bytes) -> bool:
    return any(key in keys for keys in ranges)


def conditions(layout: Layout, name: str, data: Any) -> Any:
    """Draw a condition of the field, and what it says of a value."""
    values = layout.values[name]
    one, other = data.draw(values), data.draw(values)
    since, until = sorted([one, other])
    kinds = [
        (between(since, until), lambda value: since <= value < until),
        (between(since, None), lambda value: since <= value),
        (between(None, until), lambda value: value < until),
    ]
    if isinstance(one, str | bytes):
        kinds.append((starting_with(one[:1]), lambda value: value.startswith(one[:1])))
    return data.draw(st.sampled_from(kinds))


@layouts
@FEW
@given(data=st.data())
def test_ranges_hold_exactly_the_rows_that_a_sorted_list_has(layout, data):
    rows = data.draw(rows_of(layout))
    table = [(layout.key.encode(**row), row) for row in rows]
    target = data.draw(st.sampled_from(rows))

    for names, asked in layout.questions:
        given = {name: target[name] for name in names}
        condition, holds = conditions(layout, asked, data) if asked else (None, lambda _: True)
        found = layout.key.ranges(**given, **({asked: condition} if asked else {}))

        wanted = [key for key, row in table if all(row[n] == v for n, v in given.items()) and holds(row.get(asked))]
        assert sorted(key for key, _ in table if inside(found, key)) == sorted(wanted)
        assert found == sorted(found)
        assert all(before.stop <= behind.start for before, behind in itertools.pairwise(found))


@layouts
@FEW
@given(data=st.data())
def test_every_question_has_an_answer_or_a_reason(layout, data):
    rows = data.draw(rows_of(layout))
    table = [(layout.key.encode(**row), row) for row in rows]
    target = data.draw(st.sampled_from(rows))
    names = data.draw(st.sets(st.sampled_from(sorted(layout.values))))
    asked = data.draw(st.sampled_from(sorted(set(layout.values) - names) or [None]))
    given = {name: target[name] for name in names}
    condition, holds = conditions(layout, asked, data) if asked else (None, lambda _: True)

    try:
        found = layout.key.ranges(**given, **({asked: condition} if asked else {}))
    except NoRange as exc:
        assert exc.reason.strip(), exc.fix.strip()  # noqa: PT017 - an answer is fine as well
        return
    except FieldError as exc:
        assert "must be a time of day" in str(exc)  # noqa: PT017
        return
    for key, row in table:
        if all(row[name] == value for name, value in given.items()) and holds(row.get(asked)):
            assert inside(found, key)


@composites
@FEW
@given(data=st.data())
def test_a_key_leads_back_and_is_that_of_no_other_values(layout, data):
    one, other = data.draw(st.fixed_dictionaries(layout.values)), data.draw(st.fixed_dictionaries(layout.values))
    key = layout.key

    found = key.decode(key.encode(**one))

    assert found == {name: value for name, value in one.items() if name in key.fields}
    kept = [{name: row[name] for name in key.fields} for row in (one, other)]
    assert kept[0] == kept[1] or not set(key.candidates(**one)) & set(key.candidates(**other))


@composites
@FEW
@given(data=st.data())
def test_changed_bytes_are_refused_or_are_the_key_of_what_they_lead_back_to(layout, data):
    row = data.draw(st.fixed_dictionaries(layout.values))
    made = bytearray(layout.key.encode(**row))
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(made)))
        change = data.draw(st.sampled_from(["put", "drop", "set", "cut"]))
        byte = data.draw(st.sampled_from(b"\0\1\2:%039aF-/.\x7f\x80\xfe\xff") | st.integers(0, 255))
        made[at : at + (change in ("drop", "set"))] = bytes([byte]) if change in ("put", "set") else b""
        del made[at if change == "cut" else len(made) :]

    try:
        found = layout.key.decode(bytes(made))
    except KeyFormatError:
        return

    if set(found) == set(layout.values):
        assert bytes(made) in layout.key.candidates(**found)


@composites
@FEW
@given(data=st.data())
def test_a_key_is_its_parts_one_behind_the_other(layout, data):
    row = data.draw(st.fixed_dictionaries(layout.values))

    parts = [
        part.salts if isinstance(part, RandomSalt) else [part.encode(*(row[name] for name in part.takes))]
        for part in layout.key.parts
    ]

    assert layout.key.candidates(**row) == [b"".join(pieces) for pieces in itertools.product(*parts)]
    assert layout.key.encode(**row) in layout.key.candidates(**row)


JUNK = [
    None,
    b"x",
    "x",
    "",
    "\ud800",
    5,
    -1,
    1.5,
    float("nan"),
    True,
    2**64,
    10**5000,
    datetime(2023, 6, 11),
    NOON,
    datetime.max.replace(tzinfo=UTC),
    date(2023, 6, 11),
    time(6),
    [],
    {},
    object(),
    "x" * 20_000,
    between(1, 2),
    starting_with("a"),
    below("a"),
]


@layouts
@settings(max_examples=examples(by_day=20, by_night=60))
@given(data=st.data())
def test_only_typed_errors_come_out_whatever_goes_in(layout, data):
    key = layout.key
    row = data.draw(st.dictionaries(st.sampled_from([*key.names, "other", "class", "self_"]), st.sampled_from(JUNK)))

    for ask, allowed in [
        (key.encode, (FieldError, UnknownField)),
        (key.candidates, (FieldError, UnknownField)),
        (key.ranges, (FieldError, UnknownField, NoRange)),
        (key.latest, (FieldError, UnknownField, NoRange)),
    ]:
        try:
            ask(**row)
        except allowed as exc:
            assert len(str(exc)) < 3000  # noqa: PT017 - an answer is fine as well


@pytest.mark.parametrize("data", [None, "a", 5, bytearray(b"a"), memoryview(b"a"), b"", b"x" * (MAX_KEY + 1), object()])
@layouts
def test_what_is_no_key_at_all_is_refused(layout, data):
    with pytest.raises(KeyFormatError):
        layout.key.decode(data)


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "unknown",
        "complain",
        "len",
        "Exception",
        "NOT_GIVEN",
        "encode",
        "constant_3",
        "values",
        "self",
        "kwargs",
        "match",
        "struct",
        "id",
        "ü",
    ],
)
def test_a_field_may_have_any_name_that_an_argument_can_have(name):
    key = CompositeKey(Hash(name, first=1), UInt(name), Text("tail"), Hash("tail"), separator="|")
    values = {name: 7, "tail": "x"}

    assert key.decode(key.encode(**values)) == values
    assert key.candidates(**values) == [key.encode(**values)]
    assert inside(key.ranges(**{name: 7}), key.encode(**values))
    with pytest.raises(FieldError, match=f"{name}=-1 must be an integer"):
        key.encode(**{name: -1, "tail": "x"})
    with pytest.raises(FieldError, match="makes a row key of"):
        key.encode(**{name: 7, "tail": "x" * MAX_KEY})
    with pytest.raises(FieldError, match=f"{name} is missing"):
        key.encode(tail="x")
    with pytest.raises(UnknownField, match="'nobody'"):
        key.encode(**values, nobody=1)


@pytest.mark.parametrize(
    "key",
    [
        CompositeKey(Text("key", terminator=b"\0"), ReverseTimestamp("time")),
        CompositeKey(RandomSalt(3), Text("key", terminator=b"\0"), ReverseTimestamp("time")),
    ],
    ids=["plain", "salted"],
)
def test_a_key_that_is_too_long_is_refused_with_the_values(key):
    for make in (key.encode, key.candidates):
        with pytest.raises(FieldError, match=r"key='xxx.*makes a row key of 20,0\d\d bytes; it must have 1 to 16,384"):
            make(key="x" * 20_000, time=NOON)


def test_a_fixed_width_over_the_limit_is_refused_as_well():
    with pytest.raises(FieldError, match="makes a row key of 20,000 bytes"):
        CompositeKey(Bytes("x", 20_000)).encode(x=b"x" * 20_000)


def test_an_empty_key_is_refused():
    with pytest.raises(FieldError, match="makes a row key of 0 bytes"):
        CompositeKey(Text("x")).encode(x="")


@pytest.mark.parametrize("name", ["numbers", "times", "hash salt", "random salt", "whole-key hash"])
def test_a_value_that_is_missing_is_named(name):
    layout = LAYOUTS[name]
    with pytest.raises(FieldError, match=f"{layout.key.names[0]} is missing"):
        layout.key.encode()
    with pytest.raises(FieldError, match=f"{layout.key.names[0]} is missing"):
        layout.key.candidates()


# What a layout cannot answer


@pytest.mark.parametrize(
    ("key", "asked", "reason", "fix"),
    [
        (
            CompositeKey(UInt("a"), UInt("b")),
            {"b": 1},
            "'b' comes after 'a', for which nothing is given",
            "give a value of 'a' too, or put 'b' before it",
        ),
        (
            CompositeKey(UInt("a"), UInt("b")),
            {"a": between(1, 2), "b": 1},
            "'b' comes after 'a', for which there is a range and not a single value",
            "ask for one value of 'a'",
        ),
        (
            CompositeKey(Text("a"), UInt("b"), separator=":"),
            {"a": between("a", "b")},
            "the b':' after it sorts among the bytes of its values",
            r"terminator=b'\0' would keep the order",
        ),
        (CompositeKey(Reversed(UInt("a"))), {"a": between(1, 2)}, "its bytes are reversed", "ask for one value"),
        (
            CompositeKey(ReversedDomain("a")),
            {"a": between("a", "b")},
            "host names sort by their labels from last to first",
            "with below()",
        ),
        (
            CompositeKey(ReversedDomain("a")),
            {"a": starting_with("a")},
            "host names sort by their labels from last to first",
            "with below()",
        ),
        (
            CompositeKey(Date("a", "%d%m%Y")),
            {"a": between(date(2023, 1, 1), None)},
            "'%d%m%Y' does not sort as time does",
            "from the most significant part",
        ),
        (
            CompositeKey(Date("a", "%Y%m"), Time("a")),
            {"a": between(NOON, None)},
            "do not sort as time does",
            "in order from the most significant part",
        ),
        (CompositeKey(UInt("a")), {"a": starting_with("1")}, "is not supported by UInt('a')", "between()"),
        (CompositeKey(Text("a")), {"a": below("a.com")}, "is not supported by Text('a')", "between()"),
        (
            CompositeKey(Hash("a"), UInt("b")),
            {"b": 1},
            "'b' comes after Hash(of='a'), and a scan cannot read all",
            "give a value of a too, or keep only its first digits (first=2)",
        ),
        (
            CompositeKey(Hash("a"), UInt("b")),
            {"a": between(1, 2)},
            "only a hash of it is in the key",
            "add it to the key as a field",
        ),
        (
            CompositeKey(HashSalt("b", 256), RandomSalt(256), RandomSalt(2), UInt("b")),
            {"b": between(1, 2)},
            "it would take 131,072 ranges",
            "keep fewer buckets or digits",
        ),
        (HashedKey(CompositeKey(UInt("a"), UInt("b"))), {"a": 1}, "a single value is missing for b", "give all values"),
        (
            HashedKey(CompositeKey(UInt("a"))),
            {"a": between(1, 2)},
            "a single value is missing for a",
            "give all values",
        ),
    ],
)
def test_what_has_no_range_is_refused_with_the_reason_and_a_remedy(key, asked, reason, fix):
    with pytest.raises(NoRange) as raised:
        key.ranges(**asked)

    assert reason in raised.value.reason
    assert fix in raised.value.fix


def test_moments_have_no_range_in_a_time_of_day_but_times_of_day_have():
    alone, split = CompositeKey(Time("t"), Text("a")), CompositeKey(Time("t"), Text("a", terminator=b"\0"), Date("t"))

    for key in (alone, split):
        with pytest.raises(FieldError, match="must be a time of day"):
            key.ranges(t=between(NOON - DAY, NOON))
        assert inside(key.ranges(t=between(time(11), time(13))), key.encode(t=NOON, a="x"))
        assert not inside(key.ranges(t=between(time(11), time(12))), key.encode(t=NOON, a="x"))


def test_a_range_of_moments_in_front_of_which_only_the_day_stands_is_one_of_days():
    key = CompositeKey(Date("t"), Text("a", terminator=b"\0"), Timestamp("t", "s"))

    found = key.ranges(t=between(NOON, NOON + DAY))

    assert found == [KeyRange(b"20230611", b"20230613")]


@pytest.mark.parametrize(
    "key",
    [
        CompositeKey(Reversed(Date("t")), Text("sensor"), Timestamp("t", "s"), separator=":"),
        CompositeKey(Date("t"), Text("sensor"), Descending(Timestamp("t", "s")), separator=":"),
        CompositeKey(Date("t"), Text("sensor"), Reversed(Timestamp("t", "s")), separator=":"),
    ],
)
def test_a_moment_that_stands_behind_its_day_is_compared_as_a_moment_whatever_is_around_it(key):
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    moments = [start + timedelta(hours=hours) for hours in range(5)]
    rows = [key.decode(key.encode(t=moment, sensor="a")) for moment in moments]

    same = [key.meets(row, {"t": start}) for row in rows]
    within = [key.meets(row, {"t": between(moments[1], moments[3])}) for row in rows]

    assert same == [True, False, False, False, False]
    assert within == [False, True, True, False, False]


def test_ranges_are_fanned_out_below_every_salt_in_order():
    key = CompositeKey(RandomSalt(["b", "a"]), Hash("x", first=1), UInt("x", 1))

    found = key.ranges(x=between(1, 3))

    assert found == [KeyRange(b"%c%x\1" % (salt, n), b"%c%x\3" % (salt, n)) for salt in b"ab" for n in range(16)]
    assert key.unsalted(found[0].start) == b"\1"


def test_a_message_is_found_by_its_id_alone_and_by_its_id_and_its_time_as_the_remedy_says():
    key = EXAMPLES["message"]
    with pytest.raises(NoRange, match="give a value of message_id too"):
        key.ranges(sent=between(NOON, NOON + DAY))

    found = key.ranges(message_id="1231231", sent=between(NOON, NOON + DAY))

    salt = b"8D4646EB2D7067126EB08ADB0672F7BB:"
    assert found == [KeyRange(salt + b"230611:120000", salt + b"230612:120000")]
    assert key.ranges(message_id="1231231") == [KeyRange(salt, salt[:-1] + b";")]


def test_a_short_hash_does_not_stand_for_its_value():
    key = CompositeKey(Hash("a", first=4), UInt("b"), Text("a"))

    with pytest.raises(NoRange, match="'a' comes after 'b'"):
        key.ranges(a="x")


# The latest row


LATEST = {
    "reverse": CompositeKey(Text("a", terminator=b"\0"), ReverseTimestamp("t", "s"), Text("b")),
    "forwards": CompositeKey(UInt("a", 1), Timestamp("t", "s"), Text("b")),
    "descending": CompositeKey(Int("a", 1), Descending(Timestamp("t", "s")), Text("b")),
    "twice backwards": CompositeKey(Int("a", 1), Descending(ReverseTimestamp("t", "s")), Text("b")),
    "moment": CompositeKey(Text("a"), Date("t"), Time("t"), Text("b"), separator=":"),
    "datetime": CompositeKey(Text("a"), DateTime("t"), Text("b"), separator=":"),
    "salted by another": CompositeKey(HashSalt("b", 3), Int("a", 1), ReverseTimestamp("t", "s"), Text("b")),
    "random": CompositeKey(RandomSalt(3), Int("a", 1), Timestamp("t", "s"), Text("b")),
    "short hash between": CompositeKey(Int("a", 1), Hash("b", first=1), ReverseTimestamp("t", "s"), Text("b")),
}


@pytest.mark.parametrize("name", LATEST)
@given(rows=st.lists(st.tuples(st.sampled_from([1, 2]), seconds, texts), min_size=1))
@FEW
def test_the_latest_row_is_the_first_or_the_last_of_its_ranges(name, rows):
    key = LATEST[name]
    as_text = isinstance(key.fields["a"], Text)
    table = sorted(key.encode(a=str(a) if as_text else a, t=t, b=b) for a, t, b in rows)
    wanted = rows[0][0]

    ranges, backwards = key.latest(a=str(wanted) if as_text else wanted)

    found = [[row for row in table if row in keys] for keys in ranges]
    ends = [key.decode(inner[-1 if backwards else 0])["t"] for inner in found if inner]
    assert max(ends) == max(t for a, t, _ in rows if a == wanted)
    assert ranges == sorted(ranges)


@pytest.mark.parametrize(
    ("key", "given"),
    [
        (CompositeKey(UInt("a"), Text("b")), {"a": 1}),
        (CompositeKey(UInt("a"), Timestamp("t")), {}),
        (CompositeKey(UInt("a"), Timestamp("t")), {"a": 1, "t": NOON}),
        (CompositeKey(UInt("a"), Timestamp("t")), {"a": between(1, 2)}),
        (CompositeKey(UInt("a"), Timestamp("t")), {"a": 1, "t": between(NOON, None)}),
        (CompositeKey(UInt("a"), Date("t", "%d%m%Y")), {"a": 1}),
        (CompositeKey(UInt("a"), DateTime("t", "%H%M%S")), {"a": 1}),
        (CompositeKey(UInt("a"), Time("t")), {"a": 1}),
        (CompositeKey(UInt("a"), Reversed(Timestamp("t"))), {"a": 1}),
        (CompositeKey(UInt("a"), Date("t"), Text("b", terminator=b"\0"), Time("t")), {"a": 1}),
        (CompositeKey(UInt("a"), Hash("t"), Timestamp("t")), {"a": 1}),
        (HashedKey(CompositeKey(UInt("a"), Timestamp("t"))), {"a": 1}),
    ],
    ids=repr,
)
def test_where_no_time_tells_it_there_is_no_latest_row(key, given):
    with pytest.raises(NoRange) as raised:
        key.latest(**given)

    assert raised.value.reason
    assert raised.value.fix
    assert "stands behind 'a', for which nothing" not in raised.value.reason or "a" not in given


# Salts


def test_keys_that_are_made_at_once_go_round_the_buckets_evenly():
    key = CompositeKey(RoundRobinSalt(7), UInt("x", 1))
    made: Counter[int] = Counter()

    def work() -> None:
        found = [key.encode(x=1)[0] for _ in range(1400)]
        made.update(found)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(made) == set(range(7))
    assert sum(made.values()) == 6 * 1400
    assert set(Counter(made).values()) == {1200}


def test_asking_where_a_key_may_be_does_not_turn_the_buckets():
    key = CompositeKey(RoundRobinSalt(["a", "b"]), UInt("x", 1))

    found = []
    for _ in range(4):
        found.append(key.encode(x=1)[:1])
        key.candidates(x=1)
        with pytest.raises(FieldError):
            key.candidates(x=256)

    assert found == [b"a", b"b", b"a", b"b"]


def test_a_host_in_another_spelling_has_the_same_key():
    for salt in (Salt.host(), Salt.domain(), Salt.url()):
        key = WebKey(salt).parts
        made = key.encode(host="WWW.Bücher.Example", rest="x")

        assert made == key.encode(host="www.xn--bcher-kva.example", rest="x")
        assert key.decode(made) == {"host": "www.xn--bcher-kva.example", "rest": "x"}
        assert inside(key.ranges(host=below("Bücher.EXAMPLE")), made)


def test_a_function_that_a_hash_is_taken_through_is_given_what_the_key_keeps():
    key = CompositeKey(Hash("t", through=lambda t: t.isoformat()), Timestamp("t", "s", step=60))

    made = key.encode(t=NOON + timedelta(seconds=59, microseconds=7))

    assert made == key.encode(t=NOON)
    assert key.decode(made) == {"t": NOON}


def test_what_a_function_does_not_take_is_refused_as_the_value_of_a_field():
    for key, values in [
        (CompositeKey(Hash("x", through=str.upper), UInt("y")), {"x": 5, "y": 1}),
        (WebKey(Salt.url()).parts, {"host": "example.com", "rest": "a#b"}),
    ]:
        for ask in (key.encode, key.candidates, key.ranges):
            with pytest.raises(FieldError, match=f"={next(iter(values.values()))!r}.* must be what"):
                ask(**values)


# Declarations


DECLARED = (
    {name: layout.key for name, layout in LAYOUTS.items()}
    | EXAMPLES
    | LATEST
    | {
        "listed names": CompositeKey(HashSalt(["a", "b"], {"x", "y", "z"}), Hash(["a", "b"]), UInt("a"), UInt("b")),
        "upper": CompositeKey(Hash("a", "sha1", "hex", "upper", last=3), Hex("b", 4, "upper"), Constant(b"x")),
    }
)


@pytest.mark.parametrize("name", [name for name, key in DECLARED.items() if "through" not in repr(key)])
def test_a_declaration_can_be_read_back(name):
    key = DECLARED[name]

    again = eval(key.declaration, vars(webtable.rowkey))

    assert again.declaration == key.declaration == repr(key)
    assert again.names == key.names


@pytest.mark.slow
def test_declarations_are_the_same_in_every_process():
    code = """
from test_rowkey_composite import DECLARED
print(*[key.declaration for key in DECLARED.values()], sep="\\n")
"""
    here = os.path.dirname(__file__)  # noqa: PTH120
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=here,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.path.dirname(here)},  # noqa: PTH120
        ).stdout.splitlines()
        for seed in ("1", "2")
    ]

    assert told[0] == told[1] == [key.declaration for key in DECLARED.values()]
    assert not [text for text in told[0] if " at 0x" in text]


def test_the_same_declaration_makes_the_same_keys():
    one, other = (eval(EXAMPLES["message"].declaration, vars(webtable.rowkey)) for _ in range(2))

    assert one.encode(sent=NOON, message_id="1231231") == other.encode(sent=NOON, message_id="1231231")


def test_the_separator_stands_between_parts_and_behind_none():
    key = CompositeKey(UInt("a", 1), Text("b"), Hash("b", first=2), Text("c", terminator=b"\0"), separator="::")

    assert key.encode(a=1, b="x:y", c="z") == b"\x01::x%3Ay::" + Hash("b", first=2).encode("x:y") + b"::z\0"


@pytest.mark.parametrize(
    "parts",
    [
        [Date("t", "%Y"), Text("a", 1), Date("t", "%m%d")],
        [Time("t", "%H"), Text("a", 1), Time("t", "%M")],
        [DateTime("t", "%Y%m%d"), DateTime("t", "%H%M")],
    ],
)
def test_fields_of_one_time_that_do_not_give_it_back_are_refused(parts):
    with pytest.raises(InvalidArgument, match="do not determine 't'"):
        CompositeKey(*parts)


def test_a_text_of_varying_width_in_front_of_others_needs_an_end():
    with pytest.raises(InvalidArgument, match="otherwise its end cannot be found"):
        CompositeKey(Text("a"), UInt("b"))


@pytest.mark.parametrize("key", EXAMPLES.values(), ids=EXAMPLES)
def test_a_key_can_be_sent_to_another_process(key):
    sent = pickle.loads(pickle.dumps(key))

    assert sent.declaration == key.declaration
    assert sent == key


def test_keys_are_equal_where_their_declarations_are():
    assert CompositeKey(UInt("a"), Text("b")) == CompositeKey(UInt("a"), Text("b"))
    assert CompositeKey(UInt("a"), Text("b")) != CompositeKey(UInt("a", 4), Text("b"))
    assert len({CompositeKey(UInt("a")), CompositeKey(UInt("a"))}) == 1


def test_encode_tells_its_arguments_and_what_it_returns():
    encode = CompositeKey(UInt("user_id"), Text("app")).encode

    assert [*inspect.signature(encode).parameters][:2] == ["user_id", "app"]
    assert "Return the row key" in encode.__doc__


class Shortened:
    def __init__(self, length):
        self.length = length

    def __call__(self, value):
        return value[: self.length]


def test_a_declaration_names_the_function_that_a_hash_is_taken_through():
    assert "through=builtins.str.lower" in CompositeKey(Hash("id", through=str.lower), Text("id")).declaration
    assert "through=<Shortened>" in CompositeKey(Hash("id", through=Shortened(2)), Text("id")).declaration

"""The row keys that the library ships, each with its known keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from webtable.errors import KeyFormatError, NoRange
from webtable.rowkey import KeyRange, WebKey, below, between
from webtable.rowkey.examples import (
    EXAMPLES,
    HASHED_KEY,
    LATEST_KEY,
    LONG_KEY,
    MESSAGE_KEY,
    METRIC_KEY,
    REVERSED_KEY,
    SALTED_TIME_KEY,
    SPREAD_LOG_KEY,
    TAIL_SALTED_KEY,
    USER_APP_KEY,
    WEB_KEY,
)

# The MD5s are those that `md5sum` prints for the ids.
MESSAGES = [
    ("1231231", "8D4646EB2D7067126EB08ADB0672F7BB", datetime(2023, 6, 11, 6, 30, 31, tzinfo=UTC), "063031"),
    ("1231232", "715782C59C0561E9B6CE0F3D522C32F1", datetime(2023, 6, 11, 6, 30, 32, tzinfo=UTC), "063032"),
    ("1231233", "57F962C03EF3526EC6E95CEB50785C4C", datetime(2023, 6, 11, 6, 30, 32, tzinfo=UTC), "063032"),
    ("1231234", "8B353D5CC07E13577608711F4602FCB7", datetime(2023, 6, 11, 6, 30, 33, tzinfo=UTC), "063033"),
    ("1231235", "430EDB0C535BF08174E122EFECFA711D", datetime(2023, 6, 11, 6, 30, 33, tzinfo=UTC), "063033"),
]
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(("message_id", "md5", "sent", "time"), MESSAGES)
def test_a_message_has_the_known_key(message_id, md5, sent, time):
    key = MESSAGE_KEY.encode(sent=sent, message_id=message_id)

    assert key == f"{md5}:230611:{time}:{message_id}".encode()
    assert MESSAGE_KEY.decode(key) == {"sent": sent, "message_id": message_id}


def test_a_message_cannot_be_found_by_its_time_and_the_error_says_what_would_help():
    with pytest.raises(NoRange, match="'sent' comes after Hash") as raised:
        MESSAGE_KEY.ranges(sent=between(NEW_YEAR, NOON))

    assert "give a value of message_id too" in raised.value.fix


def test_a_message_with_its_id_is_found_by_its_time():
    (keys,) = MESSAGE_KEY.ranges(message_id="1231231", sent=datetime(2023, 6, 11, 6, 30, 31, tzinfo=UTC))

    assert MESSAGE_KEY.encode(message_id="1231231", sent=datetime(2023, 6, 11, 6, 30, 31, tzinfo=UTC)) in keys


def test_the_web_key_is_made_of_host_and_rest():
    assert WEB_KEY.encode(host="example.com", rest="products") == b"5a:com.example/products"
    assert WEB_KEY.decode(b"5a:com.example/products") == {"host": "example.com", "rest": "products"}
    assert WebKey().subtree_ranges("example.com") == WEB_KEY.ranges(host=below("example.com"))


def test_a_metric_has_the_key_of_opentsdbs_user_guide():
    values = {"metric": 1, "hour": NEW_YEAR, "tags": bytes.fromhex("000001000001")}

    assert METRIC_KEY.encode(**values).hex().upper() == "00000150E22700000001000001"
    assert METRIC_KEY.decode(bytes.fromhex("00000150E22700000001000001")) == values


def test_a_metric_over_some_hours_is_one_range():
    hours = METRIC_KEY.ranges(metric=1, hour=between(NEW_YEAR, NOON))

    assert hours == [KeyRange(bytes.fromhex("00000150E22700"), bytes.fromhex("00000150E2CFC0"))]


def test_the_applications_of_a_user_are_one_range_and_those_between_two_ids_as_well():
    assert USER_APP_KEY.encode(user_id=7, app_id=9) == bytes.fromhex("000000000000000700000009")
    assert USER_APP_KEY.ranges(user_id=7) == [KeyRange((7).to_bytes(8), (8).to_bytes(8))]
    assert USER_APP_KEY.ranges(user_id=7, app_id=between(2, 9)) == [
        KeyRange(bytes.fromhex("000000000000000700000002"), bytes.fromhex("000000000000000700000009"))
    ]


def test_an_application_alone_cannot_be_found_by_user_and_application():
    with pytest.raises(NoRange, match="'app_id' comes after 'user_id', for which nothing is given"):
        USER_APP_KEY.ranges(app_id=9)


def test_a_salted_time_is_one_key_and_a_range_of_times_one_range_a_salt():
    key = SALTED_TIME_KEY.encode(time=NEW_YEAR, id="x")

    # The CRC of 1356998400000 is 1a75b044, and 4 is its remainder by 16.
    assert key == b"\x04" + (1356998400000).to_bytes(8) + b"x"
    assert len(SALTED_TIME_KEY.ranges(time=NEW_YEAR)) == 1
    assert len(SALTED_TIME_KEY.ranges(time=between(NEW_YEAR, NOON))) == 16


def test_a_key_with_a_random_salt_knows_all_places_that_it_can_be_in():
    places = SPREAD_LOG_KEY.candidates(time=NEW_YEAR, id="x")

    assert [place[:2] for place in places] == [b"a-", b"b-", b"c-", b"d-"]
    assert SPREAD_LOG_KEY.encode(time=NEW_YEAR, id="x") in places
    assert {SPREAD_LOG_KEY.encode(time=NEW_YEAR, id="x")[:2] for _ in range(200)} == {b"a-", b"b-", b"c-", b"d-"}


def test_the_latest_row_of_a_key_is_its_first():
    older, newer = (LATEST_KEY.encode(key="sensor", time=time) for time in (NEW_YEAR, NOON))

    assert older == b"sensor\x00" + (2**63 - 1 - 1356998400000).to_bytes(8)
    assert newer < older
    assert LATEST_KEY.latest(key="sensor") == ([KeyRange(b"sensor\x00", b"sensor\x01")], False)


def test_a_long_is_packed_into_eight_bytes():
    assert LONG_KEY.encode(id=1364248490) == bytes.fromhex("000000005150c7aa")
    assert LONG_KEY.ranges(id=between(10, 20)) == [KeyRange((10).to_bytes(8), (20).to_bytes(8))]


def test_an_id_stands_behind_the_end_of_its_md5():
    assert TAIL_SALTED_KEY.encode(id="1364248490") == b"ffe51364248490"
    assert TAIL_SALTED_KEY.decode(b"ffe51364248490") == {"id": "1364248490"}


def test_the_digits_of_a_number_are_reversed():
    assert REVERSED_KEY.encode(id=1364248490) == b"0948424631"
    with pytest.raises(NoRange, match="its bytes are reversed"):
        REVERSED_KEY.ranges(id=between(1, 9))


def test_a_whole_key_hash_has_no_ranges_and_does_not_lead_back():
    key = HASHED_KEY.encode(url="https://example.com/")

    assert key.hex() == "0f115db062b7c0dd030b16878c99dea5c354b49dc37b38eb8846179c7783e9d7"
    assert HASHED_KEY.ranges(url="https://example.com/") == [KeyRange(key, key + b"\x00")]
    with pytest.raises(KeyFormatError, match="cannot be decoded"):
        HASHED_KEY.decode(key)


@pytest.mark.parametrize("key", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_tells_its_own_declaration(key):
    assert key.declaration == repr(key)
    assert "0x" not in key.declaration

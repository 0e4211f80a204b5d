"""Split points: where they are, that no region begins where no key can be, and the forms they are written in."""

from __future__ import annotations

import ast
import bisect
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webtable.errors import InvalidArgument
from webtable.rowkey import Salt, WebKey
from webtable.rowkey.ranges import (
    MAX_REGIONS,
    hex_split_points,
    merged_split_points,
    sample_split_points,
    split_points,
    uniform_split_points,
)
from webtable.schema import FamilySchema, TableSchema, create_statement
from webtable.schema.shell import binary_text, splits_text

# Bytes that a quoted string, a line or an interpolation of Ruby would read as something else.
STRANGE = [bytes([byte]) for byte in b"\x00\t\n\r \"#'\\\x7f\x80\xff"]
STRANGE += [b" a ", b"#{x}", b"\\x41", b"\\\\", "é".encode()]

digits = st.integers(1, 40)
keys = st.lists(st.binary(min_size=1, max_size=6))


def region_sizes(points: list[bytes], stored: list[bytes]) -> list[int]:
    places = [0, *(bisect.bisect_left(stored, point) for point in points), len(stored)]
    return [after - before for before, after in pairwise(places)]


def test_a_prefix_may_be_a_whole_md5():
    assert split_points(4, digits=32) == [b"40".ljust(32, b"0"), b"80".ljust(32, b"0"), b"c0".ljust(32, b"0")]
    assert [point[:4] for point in split_points(16, digits=32)] == split_points(16, digits=4)


@pytest.mark.parametrize("width", [-1, 33, "2", 2.0, None])
def test_an_impossible_width_is_refused(width):
    with pytest.raises(InvalidArgument, match="digits="):
        split_points(2, digits=width)


def test_more_regions_than_any_table_has_are_refused_before_they_are_counted_out():
    for attempt in (
        lambda: split_points(16**8, digits=8),
        lambda: hex_split_points("0" * 32, "f" * 32, MAX_REGIONS + 1),
        lambda: uniform_split_points(2**60),
        lambda: sample_split_points([b"a"], 2**60),
    ):
        with pytest.raises(InvalidArgument, match="from 1 to 1,000,000"):
            attempt()


# What HBase 2.6.1's RegionSplitter says for HexStringSplit.
@pytest.mark.parametrize(
    ("regions", "points"),
    [
        (1, []),
        (2, ["80000000"]),
        (3, ["55555555", "aaaaaaaa"]),
        (4, ["40000000", "80000000", "c0000000"]),
        (
            10,
            [
                "19999999",
                "33333332",
                "4ccccccb",
                "66666664",
                "7ffffffd",
                "99999996",
                "b333332f",
                "ccccccc8",
                "e6666661",
            ],
        ),
    ],
)
def test_hex_split_points_are_those_of_hbases_region_splitter(regions, points):
    assert hex_split_points("00000000", "ffffffff", regions) == [point.encode() for point in points]
    assert hex_split_points("00000000", "FFFFFFFF", regions) == [point.upper().encode() for point in points]


@pytest.mark.parametrize(
    ("first", "last", "regions", "points"),
    [
        ("00", "99", 3, [b"33", b"66"]),
        ("0a", "0d", 4, [b"0b", b"0c", b"0d"]),
        ("7", "7", 1, []),
        ("001", "100", 4, [b"041", b"081", b"0c1"]),
        ("A0", "BF", 2, [b"B0"]),
    ],
)
def test_hex_split_points_are_between_their_ends_which_are_both_in(first, last, regions, points):
    assert hex_split_points(first, last, regions) == points


def test_splitting_the_digits_as_raw_bytes_would_make_regions_where_no_key_can_be():
    low, high = (int.from_bytes(end, "big") for end in (b"00", b"ff"))
    raw = [(low + part * (high - low) // 8).to_bytes(2, "big") for part in range(1, 8)]

    # Between '9' (39) and 'a' (61) are `:`, `A` and the like, and no hex digit.
    assert [point for point in raw if b"9\xff" < point < b"a"] == raw[1:]
    stored = [b"%02x" % number for number in range(256)]
    assert region_sizes(raw, stored).count(0) == 5
    assert hex_split_points("00", "ff", 8) == [b"20", b"40", b"60", b"80", b"a0", b"c0", b"e0"]
    assert region_sizes(hex_split_points("00", "ff", 8), stored) == [32] * 8


@given(st.data(), st.integers(1, 12), st.booleans())
def test_hex_split_points_are_hex_digits_of_that_width_in_order_and_never_elsewhere(data, width, upper):
    ends = st.integers(0, 16**width - 1)
    low, high = sorted((data.draw(ends), data.draw(ends)))
    regions = data.draw(st.integers(1, min(high - low + 1, 300)))
    first, last = (f"{end:0{width}{'X' if upper else 'x'}}" for end in (low, high))

    points = hex_split_points(first, last, regions)

    assert len(points) == regions - 1
    assert all(re.fullmatch(rb"[0-9A-F]+|[0-9a-f]+", point) and len(point) == width for point in points)
    assert all(a < b for a, b in pairwise([first.encode(), *points]))
    assert not points or points[-1] <= last.encode()
    sizes = [int(b, 16) - int(a, 16) for a, b in pairwise([first.encode(), *points])]
    assert len(set(sizes)) <= 1


@pytest.mark.parametrize(
    ("first", "last", "regions", "named"),
    [
        ("00", "fff", 2, "'fff'"),
        ("0A", "ff", 2, "one case"),
        ("aF", "ff", 2, "first='aF'"),
        ("0x", "ff", 2, "first='0x'"),
        ("00", "", 2, "last=''"),
        ("00", None, 2, "last=None"),
        ("٣٣", "ff", 2, "first="),
        (" 0", "ff", 2, "first=' 0'"),
        ("ff", "00", 2, "first='ff'"),
        ("00", "0f", 17, "regions=17 must be from 1 to 16"),
        ("00", "ff", 0, "regions=0"),
        ("00", "ff", "4", "regions='4'"),
    ],
)
def test_hex_ends_that_are_none_are_refused_by_their_name(first, last, regions, named):
    with pytest.raises(InvalidArgument, match=named):
        hex_split_points(first, last, regions)


# What HBase 2.6.1's RegionSplitter says for UniformSplit, without the zero bytes at the end.
@pytest.mark.parametrize(
    ("regions", "points"),
    [
        (1, []),
        (4, [b"\x40", b"\x80", b"\xc0"]),
        (3, [b"\x55" * 8, b"\xaa" * 8]),
        (200, None),
    ],
)
def test_uniform_split_points_are_those_of_hbases_region_splitter(regions, points):
    found = uniform_split_points(regions)

    assert points is None or found == points
    assert [int.from_bytes(point.ljust(8, b"\0"), "big") for point in found] == [
        part * (2**64 // regions) for part in range(1, regions)
    ]
    assert found == sorted(found)


@given(keys, st.integers(1, 40))
def test_regions_of_a_sample_have_equally_many_of_its_keys(sample, regions):
    stored = sorted(set(sample))

    points = sample_split_points(iter(sample), regions)

    assert len(points) == max(0, min(regions, len(stored)) - 1)
    sizes = region_sizes(points, stored)
    assert max(sizes) - min(sizes) <= 1
    assert points == sample_split_points(reversed(sample), regions)


@given(keys, st.integers(1, 40))
def test_a_point_of_a_sample_is_as_short_as_it_can_be(sample, regions):
    stored = sorted(set(sample))

    for point in sample_split_points(sample, regions):
        place = bisect.bisect_left(stored, point)
        assert stored[place - 1] < point <= stored[place]
        assert stored[place].startswith(point)
        assert point[:-1] <= stored[place - 1]


def test_a_sample_of_real_keys_is_split_where_its_hosts_are_many():
    key = WebKey(Salt.none())
    sample = [key.encode(f"https://{host}/{n}") for host in ("a.com", "b.com", "a.org") for n in range(40)]

    points = sample_split_points(sample, 3)

    assert points == [b"com.b", b"o"]
    assert region_sizes(points, sorted(sample)) == [40, 40, 40]


def test_fewer_keys_than_regions_give_fewer_points():
    assert sample_split_points([b"a", b"b", b"a"], 16) == [b"b"]
    assert sample_split_points([b"a"], 16) == []
    assert sample_split_points([], 16) == []


@pytest.mark.parametrize("sample", [["com.example"], [b"a", None], [1], b"com.example"])
def test_what_is_no_list_of_keys_is_refused(sample):
    with pytest.raises(InvalidArgument, match=r"keys: .* must be bytes"):
        sample_split_points(sample, 2)
    with pytest.raises(InvalidArgument, match="must be bytes"):
        merged_split_points([b"a"], sample)


def test_merged_split_points_are_in_order_distinct_and_never_the_beginning_of_the_table():
    assert merged_split_points() == []
    assert merged_split_points([b"b", b""], (b"a", b"b"), split_points(2)) == [b"80", b"a", b"b"]


def test_merged_split_points_are_what_a_table_takes():
    points = merged_split_points(split_points(16), sample_split_points([b"5a:com.a/", b"5a:com.b/"], 2))

    assert TableSchema("t", (FamilySchema("f"),), tuple(points)).split_keys == tuple(points)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("python", "[b'40', b\"\\xff'\"]"),
        ("shell", "SPLITS => ['40', '\\xFF\\x27']"),
        ("file", "40\n\\xFF\\x27"),
    ],
)
def test_split_points_are_written_in_the_form_that_is_needed(form, text):
    assert splits_text([b"40", b"\xff'"], form) == text


@pytest.mark.parametrize(("form", "text"), [("python", "[]"), ("shell", "SPLITS => []"), ("file", "")])
def test_no_split_points_have_a_text_too(form, text):
    assert splits_text([], form) == text


@given(st.lists(st.binary(min_size=1) | st.sampled_from(STRANGE)))
def test_every_form_leads_back_to_the_points(points):
    as_python, as_shell, as_file = (splits_text(points, form) for form in ("python", "shell", "file"))

    assert ast.literal_eval(as_python) == points
    # Ruby takes everything between single quotes as it is, but for a quote and a backslash before one.
    assert [read_by_hbase(text) for text in re.findall(r"'([^']*)'", as_shell)] == points
    assert [read_by_hbase(line.strip()) for line in as_file.splitlines()] == points


def read_by_hbase(text: str) -> bytes:
    """What Bytes.toBytesBinary makes of a text: hex digits in upper case only."""
    assert text.isascii()
    assert text.isprintable()
    return re.sub(r"\\x([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), text).encode("latin-1")


@pytest.mark.parametrize("point", STRANGE)
def test_a_statement_for_the_shell_has_its_split_points_in_the_same_form(point):
    schema = TableSchema("t", (FamilySchema("f"),), (point,))

    assert create_statement(schema).endswith(f"SPLITS => ['{binary_text(point)}']")
    assert read_by_hbase(binary_text(point)) == point


def test_a_form_that_is_none_and_a_point_that_is_empty_are_refused():
    with pytest.raises(InvalidArgument, match="form='json' must be one of python, shell, file"):
        splits_text([b"40"], "json")
    with pytest.raises(InvalidArgument, match="points"):
        splits_text([b"40", b""], "file")

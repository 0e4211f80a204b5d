"""HBase filters as the protobuf bytes that a Thrift2 scan takes.

The filter string of the Thrift API knows neither `MultiRowRangeFilter` nor a way to add it, so the few messages that
are needed are encoded here: a filter is its Java class name and its own bytes.

Words are looked for by regular expressions of Java's that find them wherever Python does. What counts is Python's
`word.lower() in value.lower()`. Java's own ignoring of case follows another table, so each character is spelled out as
those whose lower case it is in. What is not a letter or a digit of ASCII is written as its number, so that neither the
expression nor the filter string around it has anything to quote.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey import KeyRange

_PACKAGE = b"org.apache.hadoop.hbase.filter."
_ALL, _ANY = b"\x08\x01", b"\x08\x02"  # of a list: MUST_PASS_ALL, MUST_PASS_ONE
_LESS, _EQUAL = 0, 2
_DIGITS: Final = [bytes([digit]) for digit in range(0x80)]
"""A question of all salts has thousands of numbers, and nearly all of them are a digit in base 128."""


def _varint(number: int) -> bytes:
    r"""Return *number* in base 128, the lowest digits first.

    >>> _varint(300)
    b'\xac\x02'
    """
    if number <= 0x7F:
        return _DIGITS[number]
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _bool_field(number: int, value: bool) -> bytes:
    return _varint(number << 3) + (b"\x01" if value else b"\x00")


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _filter(name: bytes, body: bytes = b"") -> bytes:
    return _bytes_field(1, _PACKAGE + name) + _bytes_field(2, body)


def row_ranges(ranges: Sequence[KeyRange]) -> bytes:
    """Return the filter that lets the rows of *ranges* pass and seeks from one to the next."""
    rows = (
        _bytes_field(1, r.start) + _bool_field(2, True) + _bytes_field(3, r.stop) + _bool_field(4, False)
        for r in ranges
    )
    return _filter(b"MultiRowRangeFilter", b"".join(_bytes_field(1, row) for row in rows))


def first_of_each(ranges: Sequence[KeyRange], count: int, bounds: Sequence[bytes]) -> bytes:
    """Return the filter that lets the first *count* rows pass of each of *ranges*, which are in order and apart.

    What is left of a range is not read, but sought over. Regions count apart: a range that lies in several has so many
    in each. *bounds* are where the regions begin behind the first one: with wrong ones a row more may come of a range.
    Its place in a list is behind the filters that reject rows: it counts what comes to it.
    """
    regions = groupby(ranges, key=lambda keys: bisect_right(bounds, keys.start))
    in_each = [(region, [_first_of(keys, count) for keys in some]) for region, some in regions]
    passed = [_all_of([_row_before(bounds[region]), _any_of(some)]) for region, some in in_each[:-1]]
    return _any_of([*passed, *in_each[-1][1]])


# A list asks its filters in their order whether a row is out, until one says no (HBase's FilterListWithOR; the same in
# the sources from 1.4 to 3.0). It asks those too whose range is passed. What says out there, before PageFilter counts,
# is PrefixFilter when they were not shown the row: an empty prefix is at the head of each. The first row of a region
# is shown to all of them, and RowFilter says it of those of the regions before.
def _first_of(keys: KeyRange, count: int) -> bytes:
    return _all_of([row_ranges([keys]), _IN_RANGE, _page(count)])


_IN_RANGE = _filter(b"PrefixFilter", _bytes_field(1, b""))


def _row_before(bound: bytes) -> bytes:
    return _filter(b"RowFilter", _bytes_field(1, _compared(_LESS, bound)))


def _compared(how: int, value: bytes) -> bytes:
    """Return the part of a filter that says what it compares with *value*."""
    comparator = _filter(b"BinaryComparator", _bytes_field(1, _bytes_field(1, value)))
    return _number_field(1, how) + _bytes_field(2, comparator)


def _page(count: int) -> bytes:
    return _filter(b"PageFilter", _number_field(1, count))


def _any_of(some: Sequence[bytes]) -> bytes:
    return _filter(b"FilterList", _ANY + b"".join(_bytes_field(2, one) for one in some))


def keys_only() -> bytes:
    """Return the filter that lets cells pass without their values."""
    return _filter(b"KeyOnlyFilter", _bool_field(1, False))


def first_key_only() -> bytes:
    """Return the filter that lets the first cell of a row pass."""
    return _filter(b"FirstKeyOnlyFilter")


def matching(family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
    """Return the filter that lets the rows pass whose newest value of a column matches; *hidden*: without that column.

    A row without the column does not pass.
    """
    dot_all = 32
    comparator = _bytes_field(1, expression.encode()) + _number_field(2, dot_all) + _bytes_field(3, b"UTF-8")
    body = (
        _bytes_field(1, family)
        + _bytes_field(2, qualifier)
        + _number_field(3, _EQUAL)
        + _bytes_field(4, _filter(b"RegexStringComparator", comparator))
        + _bool_field(5, True)
        + _bool_field(6, True)
    )
    if hidden:
        return _filter(b"SingleColumnValueExcludeFilter", _bytes_field(1, body))
    return _filter(b"SingleColumnValueFilter", body)


def qualifiers(keys: KeyRange) -> bytes:
    """Return the filter that lets the columns pass whose qualifier is in *keys*, and seeks to the first one."""
    stop = _bytes_field(3, keys.stop) + _bool_field(4, False) if keys.stop else b""
    return _filter(b"ColumnRangeFilter", _bytes_field(1, keys.start) + _bool_field(2, True) + stop)


def first_columns_or(qualifier: bytes, count: int) -> bytes:
    """Return the filter that lets the first *count* columns of a row pass, and each column named *qualifier*."""
    first = _filter(b"ColumnPaginationFilter", _number_field(1, count) + _number_field(2, 0))
    # No FamilyFilter: what it does not let pass ends the row, also for the families behind.
    named = _filter(b"QualifierFilter", _bytes_field(1, _compared(_EQUAL, qualifier)))
    return _any_of([first, named])


def all_of(filters: Sequence[bytes]) -> bytes | None:
    """Return the filter that lets pass what each of *filters* does, in their order; None where there are none."""
    return _all_of(filters) if filters else None


def _all_of(filters: Sequence[bytes]) -> bytes:
    if len(filters) == 1:
        return filters[0]
    return _filter(b"FilterList", _ALL + b"".join(_bytes_field(2, one) for one in filters))


_CASED_BELOW: Final = 0x20000
"""No character from here on has another lower case than itself."""
_REPLACEMENT: Final = "\ufffd"


class _Cases(NamedTuple):
    """For a character those with it as the first of their lower case, and the characters that come behind a first."""

    upper: dict[str, str]
    following: frozenset[str]


@cache
def _cases() -> _Cases:
    upper: defaultdict[str, str] = defaultdict(str)
    following: set[str] = set()
    for character in map(chr, range(_CASED_BELOW)):
        lower = character.lower()
        if lower != character:
            upper[lower[0]] += character
            following.update(lower[1:])
    upper["ς"] += "Σ"  # at the end of a word
    return _Cases(dict(upper), frozenset(following))


def expression(word: str) -> str | None:
    r"""Return the regular expression that finds *word*; None where none is certain to, or it is in every value.

    >>> expression("Öl-1")
    '[\\x{f6}\\x{d6}][lL]\\x{2d}1'
    """
    # A value that is no UTF-8 has replacement characters here, and Java may count them otherwise.
    return None if not word or _REPLACEMENT in word else "".join(map(_character, word.lower()))


def _character(character: str) -> str:
    cases = _cases()
    upper = cases.upper.get(character)
    one = _escaped(character) if upper is None else f"[{''.join(map(_escaped, character + upper))}]"
    # The lower case of İ is two characters, of which the second has then no character of its own in the value.
    return f"{one}?" if character in cases.following else one


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"

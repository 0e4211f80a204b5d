"""HBase filters as the protobuf bytes that a Thrift2 scan takes.

The filter strings of the Thrift API do not support `MultiRowRangeFilter`, and cannot be extended, so the few messages
that are needed are encoded here: a filter is its Java class name and its own bytes.

Words are searched with Java regular expressions that find them wherever Python does, that is where
`word.lower() in value.lower()`. Java's own case folding differs, so each character is written as all characters whose
lower case contains it. Everything except ASCII letters and digits is written as its number, so that neither the
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
_ALL, _ANY = b"\x08\x01", b"\x08\x02"  # operators of a list: MUST_PASS_ALL, MUST_PASS_ONE
_LESS, _EQUAL = 0, 2
_DIGITS: Final = [bytes([digit]) for digit in range(0x80)]
"""The encoded one-byte numbers: a scan of all salts has thousands of numbers, nearly all of one byte."""


def varint(number: int) -> bytes:
    r"""Return *number* in base 128, the lowest digits first.

    >>> varint(300)
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
    return varint(number << 3 | 2) + varint(len(value)) + value


def _bool_field(number: int, value: bool) -> bytes:
    return varint(number << 3) + (b"\x01" if value else b"\x00")


def _number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def _filter(name: bytes, body: bytes = b"") -> bytes:
    return _bytes_field(1, _PACKAGE + name) + _bytes_field(2, body)


def row_ranges(ranges: Sequence[KeyRange]) -> bytes:
    """Return the filter for the rows of *ranges*, which seeks from one range to the next."""
    rows = (
        _bytes_field(1, r.start) + _bool_field(2, True) + _bytes_field(3, r.stop) + _bool_field(4, False)
        for r in ranges
    )
    return _filter(b"MultiRowRangeFilter", b"".join(_bytes_field(1, row) for row in rows))


def first_of_each(ranges: Sequence[KeyRange], count: int, bounds: Sequence[bytes]) -> bytes:
    """Return the filter for the first *count* rows of each of *ranges*, which are sorted and disjoint.

    The rest of a range is skipped by seeking. Regions count separately: a range in several regions has *count* rows in
    each. *bounds* are the starts of all regions except the first: with wrong ones a range may have one row more.
    In a list of filters it must come after those that reject rows, because it counts the rows that reach it.
    """
    regions = groupby(ranges, key=lambda keys: bisect_right(bounds, keys.start))
    in_each = [(region, [_first_of(keys, count) for keys in some]) for region, some in regions]
    passed = [_all_of([_row_before(bounds[region]), _any_of(some)]) for region, some in in_each[:-1]]
    return _any_of([*passed, *in_each[-1][1]])


# A list calls its filters in order for each row until one accepts it (HBase's FilterListWithOR; the same in the sources
# from 1.4 to 3.0), including those whose range has passed. Those must reject the row before PageFilter counts it.
# PrefixFilter does so for rows that it was not shown: an empty prefix is at the head of each. All filters are shown the
# first row of a region, which RowFilter rejects in the filters of earlier regions.
def _first_of(keys: KeyRange, count: int) -> bytes:
    return _all_of([row_ranges([keys]), _IN_RANGE, _page(count)])


_IN_RANGE = _filter(b"PrefixFilter", _bytes_field(1, b""))


def _row_before(bound: bytes) -> bytes:
    return _filter(b"RowFilter", _bytes_field(1, _compared(_LESS, bound)))


def _compared(how: int, value: bytes) -> bytes:
    """Return the part of a filter that compares with *value*."""
    comparator = _filter(b"BinaryComparator", _bytes_field(1, _bytes_field(1, value)))
    return _number_field(1, how) + _bytes_field(2, comparator)


def _page(count: int) -> bytes:
    return _filter(b"PageFilter", _number_field(1, count))


def _any_of(some: Sequence[bytes]) -> bytes:
    return _filter(b"FilterList", _ANY + b"".join(_bytes_field(2, one) for one in some))


def keys_only() -> bytes:
    """Return the filter that removes the values of cells."""
    return _filter(b"KeyOnlyFilter", _bool_field(1, False))


def first_key_only() -> bytes:
    """Return the filter for the first cell of a row."""
    return _filter(b"FirstKeyOnlyFilter")


def matching(family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
    """Return the filter for rows whose newest value of a column matches; with *hidden* without that column.

    A row without the column is filtered out.
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
    """Return the filter for columns whose qualifier is in *keys*, which seeks to the first one."""
    stop = _bytes_field(3, keys.stop) + _bool_field(4, False) if keys.stop else b""
    return _filter(b"ColumnRangeFilter", _bytes_field(1, keys.start) + _bool_field(2, True) + stop)


def first_columns_or(qualifier: bytes, count: int) -> bytes:
    """Return the filter for the first *count* columns of a row, and each column named *qualifier*."""
    first = _filter(b"ColumnPaginationFilter", _number_field(1, count) + _number_field(2, 0))
    # No FamilyFilter: a cell that it rejects ends the row, for later families as well.
    named = _filter(b"QualifierFilter", _bytes_field(1, _compared(_EQUAL, qualifier)))
    return _any_of([first, named])


def all_of(filters: Sequence[bytes]) -> bytes | None:
    """Return the conjunction of *filters*, in their order; None if there are none."""
    return _all_of(filters) if filters else None


def _all_of(filters: Sequence[bytes]) -> bytes:
    if len(filters) == 1:
        return filters[0]
    return _filter(b"FilterList", _ALL + b"".join(_bytes_field(2, one) for one in filters))


_CASED_BELOW: Final = 0x20000
"""From this code point on every character is its own lower case."""
_REPLACEMENT: Final = "\ufffd"


class _Cases(NamedTuple):
    """For each character the ones whose lower case begins with it, and all later characters of such lower cases."""

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
    r"""Return the regular expression that finds *word*; None if none is reliable, or if every value has it.

    >>> expression("Öl-1")
    '[\\x{f6}\\x{d6}][lL]\\x{2d}1'
    """
    # A value that is not UTF-8 has replacement characters here, which Java may count differently.
    return None if not word or _REPLACEMENT in word else "".join(map(_character, word.lower()))


def _character(character: str) -> str:
    cases = _cases()
    upper = cases.upper.get(character)
    one = _escaped(character) if upper is None else f"[{''.join(map(_escaped, character + upper))}]"
    # The lower case of İ is two characters, of which the second has no counterpart in the value.
    return f"{one}?" if character in cases.following else one


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"

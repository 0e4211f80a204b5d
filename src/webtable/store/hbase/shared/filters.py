"""The filters of a selection, in the two forms that HBase takes: strings of the Thrift API, and its own messages.

Thrift1 takes strings, which do not support `MultiRowRangeFilter` and cannot be extended. Thrift2 and region servers
take the protobuf bytes of a message. The few messages that are needed are encoded here: a filter is its Java class name
and its own bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from typing import TYPE_CHECKING, Final, Protocol

from webtable.rowkey import KeyRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.hbase.shared.selection import ColumnPiece, Selection

FEW_COLUMNS: Final = 2
"""Two columns of a row include at least one other than the searched column."""


class Form(Protocol):
    """A form of filters."""

    KEYS_ONLY: bytes
    """Removes the values of cells."""
    FIRST_KEY_ONLY: bytes
    """Lets the first cell of a row through."""
    READS_SINCE: bool
    """Whether scans with such filters have the lower bound of a time range; else any cell may lie before it."""

    def matching(self, family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
        """Return the filter for rows whose newest value of a column matches; with *hidden* without that column.

        A row without the column is filtered out. The expression must not contain quotes.
        """

    def qualifiers(self, keys: KeyRange) -> bytes:
        """Return the filter for columns whose qualifier is in *keys*, which seeks to the first one."""

    def first_columns_or(self, qualifier: bytes, count: int) -> bytes:
        """Return the filter for the first *count* columns of a row, and each column named *qualifier*."""

    def all_of(self, filters: Sequence[bytes]) -> bytes:
        """Return the conjunction of *filters*, in their order."""


def filter_of(
    form: Form, wanted: Selection, *, first: Sequence[bytes] = (), last: Sequence[bytes] = ()
) -> bytes | None:
    """Return the filter of a scan for *wanted* between filters of its ranges, None if it needs none.

    The *first* are for ranges that a search may not leave, the *last* for those of which rows are counted.
    """
    filters = list(first)
    shows_row = form.READS_SINCE or not (wanted.time_range and wanted.time_range.since)
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        filters += [form.matching(family, qualifier, expression, hidden=added) for expression in expressions]
        if wanted.few_cells and shows_row:
            filters.append(form.first_columns_or(qualifier, FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families on demand that no filter uses, and refuses to do so in reverse.
            filters.append(form.qualifiers(KeyRange()))
    filters += last
    if wanted.one_cell and shows_row:
        filters.append(form.FIRST_KEY_ONLY)
    if wanted.keys_only:
        filters.append(form.KEYS_ONLY)
    return form.all_of(filters) if filters else None


def columns_filter(form: Form, piece: ColumnPiece) -> bytes | None:
    """Return the filter of columns of a row, None if it needs none."""
    filters = [form.qualifiers(piece.qualifiers)] if piece.qualifiers != KeyRange() else []
    if piece.keys_only:
        filters.append(form.KEYS_ONLY)
    return form.all_of(filters) if filters else None


class _Strings:
    """Filters as strings of the Thrift API."""

    KEYS_ONLY = b"KeyOnlyFilter()"
    FIRST_KEY_ONLY = b"FirstKeyOnlyFilter()"
    READS_SINCE = False

    def matching(self, family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
        name = b"SingleColumnValueExcludeFilter" if hidden else b"SingleColumnValueFilter"
        regex = b"'regexstring:" + expression.encode() + b"'"
        return b"%b(%b, %b, =, %b, true, true)" % (name, _quoted(family), _quoted(qualifier), regex)

    def qualifiers(self, keys: KeyRange) -> bytes:
        return b"ColumnRangeFilter(%b, true, %b, false)" % (_quoted(keys.start), _quoted(keys.stop))

    def first_columns_or(self, qualifier: bytes, count: int) -> bytes:
        return b"(ColumnPaginationFilter(%d, 0) OR QualifierFilter(=, %b))" % (count, _quoted(b"binary:" + qualifier))

    def all_of(self, filters: Sequence[bytes]) -> bytes:
        return b" AND ".join(filters)


STRINGS: Final[Form] = _Strings()


def _quoted(value: bytes) -> bytes:
    r"""Return *value* as an argument.

    >>> _quoted(b"it's")
    b"'it''s'"
    """
    return b"'" + value.replace(b"'", b"''") + b"'"


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
    in_each = [(region, [_first_of(keys, count) for keys in group]) for region, group in regions]
    passed = [_all_of([_row_before(bounds[region]), _any_of(group)]) for region, group in in_each[:-1]]
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


def _all_of(filters: Sequence[bytes]) -> bytes:
    if len(filters) == 1:
        return filters[0]
    return _filter(b"FilterList", _ALL + b"".join(_bytes_field(2, part) for part in filters))


def _any_of(filters: Sequence[bytes]) -> bytes:
    return _filter(b"FilterList", _ANY + b"".join(_bytes_field(2, part) for part in filters))


class _Messages:
    """Filters as HBase's own messages."""

    KEYS_ONLY = _filter(b"KeyOnlyFilter", _bool_field(1, False))
    FIRST_KEY_ONLY = _filter(b"FirstKeyOnlyFilter")
    READS_SINCE = True

    def matching(self, family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
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

    def qualifiers(self, keys: KeyRange) -> bytes:
        stop = _bytes_field(3, keys.stop) + _bool_field(4, False) if keys.stop else b""
        return _filter(b"ColumnRangeFilter", _bytes_field(1, keys.start) + _bool_field(2, True) + stop)

    def first_columns_or(self, qualifier: bytes, count: int) -> bytes:
        first = _filter(b"ColumnPaginationFilter", _number_field(1, count) + _number_field(2, 0))
        # No FamilyFilter: a cell that it rejects ends the row, for later families as well.
        named = _filter(b"QualifierFilter", _bytes_field(1, _compared(_EQUAL, qualifier)))
        return _any_of([first, named])

    def all_of(self, filters: Sequence[bytes]) -> bytes:
        return _all_of(filters)


MESSAGES: Final[Form] = _Messages()


def filter_of_scan(
    ranges: Sequence[KeyRange], wanted: Selection, each: int | None = None, bounds: Sequence[bytes] = ()
) -> bytes | None:
    """Return the message of a scan of *ranges*, None if it needs none; with *each* for the first rows of each range.

    *bounds* are the known starts of regions, as in `first_of_each`.
    """
    if len(ranges) == 1:
        return filter_of(MESSAGES, wanted)
    # Before a search too, which would go on to the next matching row, in a range or not.
    first = [row_ranges(sorted(ranges))] if each is None or wanted.search is not None else []
    last = [first_of_each(ranges, each, bounds)] if each is not None else []
    return filter_of(MESSAGES, wanted, first=first, last=last)

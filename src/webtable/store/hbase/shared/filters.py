"""What is read of a row, its filters (strings of the Thrift API, HBase's own messages), and checks of what comes.

Thrift1 takes strings, which do not support `MultiRowRangeFilter` and cannot be extended. Thrift2 and region servers
take the protobuf bytes of a message. The few messages that are needed are encoded here: a filter is its Java class name
and its own bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cache
from itertools import groupby
from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from webtable.rowkey import KeyRange
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.rows import Cell, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.store.rows import Containing, Wanted


# --- Selection --------------------------------------------------------------------------------------------------------


MOST: Final = 2**31 - 1
"""The most versions, columns or rows that one call can request: Thrift's i32."""


class Search(NamedTuple):
    """Regular expressions that the newest value of a column must match; `added`: the column is wanted for this only."""

    family: bytes
    qualifier: bytes
    expressions: tuple[str, ...]
    added: bool


class Selection(NamedTuple):
    """The columns (`b"family:"` is a whole family, None is all), versions and times to read of a row."""

    columns: tuple[bytes, ...] | None = None
    versions: int = 1
    time_range: TimeRange | None = None
    keys_only: bool = False
    reverse: bool = False
    search: Search | None = None
    plain: Selection | None = None
    """The same without the search."""


class ColumnPiece(NamedTuple):
    """The first *limit* columns of a family in *qualifiers* of a row, with *keys_only* without their values."""

    family: bytes
    qualifiers: KeyRange
    limit: int
    keys_only: bool


def selection(wanted: Wanted, *, reverse: bool = False) -> Selection:
    """*wanted* as a selection, with regular expressions in place of its words."""
    columns = None if wanted.columns is None else tuple(wanted.columns)
    plain = Selection(columns, min(wanted.versions, MOST), wanted.time_range, wanted.keys_only, reverse)
    search = None if wanted.containing is None else _search(wanted.containing, columns)
    if search is None:
        return plain
    column = search.family + b":" + search.qualifier
    if search.added:
        columns = (*(columns or ()), column)
    elif wanted.keys_only:
        columns = (column,)  # each matching row has a cell in this column
    return plain._replace(columns=columns, search=search, plain=plain)


def _search(containing: Containing, columns: tuple[bytes, ...] | None) -> Search | None:
    family, _, qualifier = containing.column.partition(b":")
    expressions = tuple(filter(None, map(expression, containing.words)))
    added = columns is not None and containing.column not in columns and family + b":" not in columns
    return Search(family, qualifier, expressions, added) if expressions else None


def key_before(start: bytes) -> bytes:
    r"""A key that sorts before *start*, with no realistic key between them.

    >>> key_before(b"a\x00"), key_before(b"b"), key_before(b"")
    (b'a', b'a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', b'')
    """
    if start.endswith(b"\x00"):
        return start[:-1]
    return start[:-1] + bytes([start[-1] - 1]) + b"\xff" * 16 if start else b""


# --- Checks of answers ------------------------------------------------------------------------------------------------
#
# An answer must have the requested rows, in their order, with complete cells. A gateway that was mistaken for another
# one, or a scanner number that means another scanner there, returns rows without an error.


# Makes a named tuple in a third of the time of calling its class; called for each cell of a scan.
_new = tuple.__new__


def check_scanned(rows: Sequence[bytes], keys: KeyRange, count: int, *, reverse: bool) -> None:
    """Raise `WrongReply` unless *rows* are at most *count*, in *keys*, and rising (with *reverse*: falling).

    In reverse a row next to the range is accepted on either side: HBase's start is inclusive, and no key is the next
    one.
    """
    if not rows:
        return
    if len(rows) > count:
        raise WrongReply(f"{len(rows)} rows came instead of up to {count}")
    if not all(map(gt if reverse else lt, rows, rows[1:])):
        raise WrongReply("rows came out of the order of their keys")
    low, high = (rows[-1], rows[0]) if reverse else (rows[0], rows[-1])
    least = key_before(keys.start) if reverse else keys.start
    if (
        low < least
        or (reverse and low == least)
        or (keys.stop and high > keys.stop)
        or (high == keys.stop and not reverse)
    ):
        raise WrongReply(
            f"rows came from {low[:100]!r} to {high[:100]!r}, where {keys.start[:100]!r} to "
            f"{keys.stop[:100]!r} was requested"
        )


def check_read(rows: Sequence[bytes], requested: Iterable[bytes]) -> None:
    """Raise `WrongReply` unless *rows* are a subsequence of the *requested* ones."""
    remaining = iter(requested)
    for row in rows:
        if row not in remaining:  # an iterator goes on after the last row that it had
            raise WrongReply(f"the row {row[:100]!r} came, which was not requested, or not in this place")


def cell(timestamp: Any, value: Any) -> Cell:
    """The cell; raises `WrongReply` if a part of it is missing."""
    if timestamp is None or value is None:
        raise WrongReply("a cell came without its timestamp or its value")
    return _new(Cell, (timestamp, value))


# --- Words as regular expressions -------------------------------------------------------------------------------------
#
# Java regular expressions that find words wherever Python does, that is where `word.lower() in value.lower()`. Java's
# own case folding differs, so each character is written as all characters whose lower case contains it. Everything
# except ASCII letters and digits is written as its number, so that neither the expression nor the filter string around
# it has anything to quote.


_CASED_BELOW: Final = 0x20000  # from this code point on every character is its own lower case
_REPLACEMENT: Final = "\ufffd"


@cache
def _cases() -> tuple[dict[str, str], set[str]]:
    """For each character those whose lower case begins with it; and all later characters of such lower cases."""
    upper: defaultdict[str, str] = defaultdict(str)
    following: set[str] = set()
    for character in map(chr, range(_CASED_BELOW)):
        lower = character.lower()
        if lower != character:
            upper[lower[0]] += character
            following.update(lower[1:])
    upper["ς"] += "Σ"  # at the end of a word
    return dict(upper), following


def expression(word: str) -> str | None:
    r"""The regular expression that finds *word*; None if none is reliable, or if every value has it.

    >>> expression("Öl-1")
    '[\\x{f6}\\x{d6}][lL]\\x{2d}1'
    """
    # A value that is not UTF-8 has replacement characters here, which Java may count differently.
    return None if not word or _REPLACEMENT in word else "".join(map(_character, word.lower()))


def _character(character: str) -> str:
    upper, following = _cases()
    any_case = _escaped(character)
    if character in upper:
        any_case = f"[{any_case}{''.join(map(_escaped, upper[character]))}]"
    # The lower case of İ is two characters, of which the second has no counterpart in the value.
    return f"{any_case}?" if character in following else any_case


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"


# --- Filters as strings of the Thrift API -----------------------------------------------------------------------------


class _Strings:
    """Filters as strings; the methods are those of `_Messages`."""

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


STRINGS: Final = _Strings()


def _quoted(value: bytes) -> bytes:
    r"""*value* as an argument.

    >>> _quoted(b"it's")
    b"'it''s'"
    """
    return b"'" + value.replace(b"'", b"''") + b"'"


# --- Filters as messages (Filter.proto and Comparator.proto of HBase) -------------------------------------------------


_PACKAGE = b"org.apache.hadoop.hbase.filter."
_ALL, _ANY = b"\x08\x01", b"\x08\x02"  # operators of a list: MUST_PASS_ALL, MUST_PASS_ONE
_LESS, _EQUAL = 0, 2
_DOT_ALL = 32  # of java.util.regex.Pattern
# The encoded one-byte numbers: a scan of all salts has thousands of numbers, nearly all of one byte.
_DIGITS: Final = [bytes([digit]) for digit in range(0x80)]


def varint(number: int) -> bytes:
    r"""*number* in base 128, the lowest digits first.

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


def _number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def _filter(name: bytes, body: bytes = b"") -> bytes:
    return _bytes_field(1, _PACKAGE + name) + _bytes_field(2, body)


def row_ranges(ranges: Sequence[KeyRange]) -> bytes:
    """The filter for the rows of *ranges*, which seeks from one range to the next."""
    rows = (
        _bytes_field(1, r.start) + _number_field(2, True) + _bytes_field(3, r.stop) + _number_field(4, False)
        for r in ranges
    )
    return _filter(b"MultiRowRangeFilter", b"".join(_bytes_field(1, row) for row in rows))


def first_of_each(ranges: Sequence[KeyRange], count: int, bounds: Sequence[bytes]) -> bytes:
    """The filter for the first *count* rows of each of *ranges*, which are sorted and disjoint.

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
    """The part of a filter that compares with *value*."""
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

    KEYS_ONLY = _filter(b"KeyOnlyFilter", _number_field(1, False))
    """Removes the values of cells."""
    FIRST_KEY_ONLY = _filter(b"FirstKeyOnlyFilter")
    """Lets the first cell of a row through."""
    READS_SINCE = True
    """Whether scans with such filters have the lower bound of a time range; else any cell may lie before it."""

    def matching(self, family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
        """The filter for rows whose newest value of a column matches; with *hidden* without that column.

        A row without the column is filtered out. The expression must not contain quotes.
        """
        comparator = _bytes_field(1, expression.encode()) + _number_field(2, _DOT_ALL) + _bytes_field(3, b"UTF-8")
        body = (
            _bytes_field(1, family)
            + _bytes_field(2, qualifier)
            + _number_field(3, _EQUAL)
            + _bytes_field(4, _filter(b"RegexStringComparator", comparator))
            + _number_field(5, True)
            + _number_field(6, True)
        )
        if hidden:
            return _filter(b"SingleColumnValueExcludeFilter", _bytes_field(1, body))
        return _filter(b"SingleColumnValueFilter", body)

    def qualifiers(self, keys: KeyRange) -> bytes:
        """The filter for columns whose qualifier is in *keys*, which seeks to the first one."""
        stop = _bytes_field(3, keys.stop) + _number_field(4, False) if keys.stop else b""
        return _filter(b"ColumnRangeFilter", _bytes_field(1, keys.start) + _number_field(2, True) + stop)

    def first_columns_or(self, qualifier: bytes, count: int) -> bytes:
        """The filter for the first *count* columns of a row, and each column named *qualifier*."""
        first = _filter(b"ColumnPaginationFilter", _number_field(1, count) + _number_field(2, 0))
        # No FamilyFilter: a cell that it rejects ends the row, for later families as well.
        named = _filter(b"QualifierFilter", _bytes_field(1, _compared(_EQUAL, qualifier)))
        return _any_of([first, named])

    def all_of(self, filters: Sequence[bytes]) -> bytes:
        """The conjunction of *filters*, in their order."""
        return _all_of(filters)


MESSAGES: Final = _Messages()


# --- Filters of calls -------------------------------------------------------------------------------------------------


Form: TypeAlias = _Strings | _Messages
_FEW_COLUMNS: Final = 2  # two columns of a row include at least one other than the searched column


def filter_of(
    form: Form, wanted: Selection, *, first: Sequence[bytes] = (), last: Sequence[bytes] = ()
) -> bytes | None:
    """The filter of a scan for *wanted* between filters of its ranges, None if it needs none.

    The *first* are for ranges that a search may not leave, the *last* for those of which rows are counted.
    """
    filters = list(first)
    # Whether any cell shows that its row is wanted.
    shows_row = form.READS_SINCE or not (wanted.time_range and wanted.time_range.since)
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        filters += [form.matching(family, qualifier, expression, hidden=added) for expression in expressions]
        whole_families = any(column.endswith(b":") for column in wanted.columns or ())
        if wanted.keys_only and added and whole_families and shows_row:
            filters.append(form.first_columns_or(qualifier, _FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families on demand that no filter uses, and refuses to do so in reverse.
            filters.append(form.qualifiers(KeyRange()))
    filters += last
    if wanted.keys_only and wanted.search is None and shows_row:
        filters.append(form.FIRST_KEY_ONLY)
    if wanted.keys_only:
        filters.append(form.KEYS_ONLY)
    return form.all_of(filters) if filters else None


def columns_filter(form: Form, piece: ColumnPiece) -> bytes | None:
    """The filter of columns of a row, None if it needs none."""
    filters = [form.qualifiers(piece.qualifiers)] if piece.qualifiers != KeyRange() else []
    if piece.keys_only:
        filters.append(form.KEYS_ONLY)
    return form.all_of(filters) if filters else None


def filter_of_scan(
    ranges: Sequence[KeyRange], wanted: Selection, each: int | None = None, bounds: Sequence[bytes] = ()
) -> bytes | None:
    """The message of a scan of *ranges*, None if it needs none; with *each* for the first rows of each range.

    *bounds* are the known starts of regions, as in `first_of_each`.
    """
    if len(ranges) == 1:
        return filter_of(MESSAGES, wanted)
    # Before a search too, which would go on to the next matching row, in a range or not.
    first = [row_ranges(sorted(ranges))] if each is None or wanted.search is not None else []
    last = [first_of_each(ranges, each, bounds)] if each is not None else []
    return filter_of(MESSAGES, wanted, first=first, last=last)

"""HBase filters as filter strings of the Thrift API, for Thrift1 scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webtable.rowkey import KeyRange
from webtable.store.hbase.calls.selection import FEW_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.hbase.calls.selection import Selection

KEYS_ONLY: Final = b"KeyOnlyFilter()"
FIRST_KEY_ONLY: Final = b"FirstKeyOnlyFilter()"


def of_selection(wanted: Selection) -> bytes | None:
    """Return the filter of a scan for *wanted*; None if it needs none."""
    parts = []
    # The first cells alone do not show whether another one is in the time range.
    any_cell = not (wanted.time_range and wanted.time_range.since)
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        parts += [matching(family, qualifier, one, hidden=added) for one in expressions]
        if wanted.few_cells and any_cell:
            parts.append(first_columns_or(qualifier, FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families on demand that no filter uses, and refuses to do so in reverse.
            parts.append(qualifiers(KeyRange()))
    if wanted.one_cell and any_cell:
        parts.append(FIRST_KEY_ONLY)
    if wanted.keys_only:
        parts.append(KEYS_ONLY)
    return all_of(parts)


def _quoted(value: bytes) -> bytes:
    r"""Return *value* as an argument.

    >>> _quoted(b"it's")
    b"'it''s'"
    """
    return b"'" + value.replace(b"'", b"''") + b"'"


def matching(family: bytes, qualifier: bytes, expression: str, *, hidden: bool) -> bytes:
    """Return the filter for rows whose newest value of a column matches; with *hidden* without that column.

    The expression must not contain quotes.
    """
    name = b"SingleColumnValueExcludeFilter" if hidden else b"SingleColumnValueFilter"
    regex = b"'regexstring:" + expression.encode() + b"'"
    return b"%b(%b, %b, =, %b, true, true)" % (name, _quoted(family), _quoted(qualifier), regex)


def qualifiers(keys: KeyRange) -> bytes:
    """Return the filter for columns whose qualifier is in *keys*, which seeks to the first one."""
    return b"ColumnRangeFilter(%b, true, %b, false)" % (_quoted(keys.start), _quoted(keys.stop))


def first_columns_or(qualifier: bytes, count: int) -> bytes:
    """Return the filter for the first *count* columns of a row, and each column named *qualifier*."""
    return b"(ColumnPaginationFilter(%d, 0) OR QualifierFilter(=, %b))" % (count, _quoted(b"binary:" + qualifier))


def all_of(filters: Sequence[bytes]) -> bytes | None:
    """Return the conjunction of *filters*; None if there are none."""
    return b" AND ".join(filters) or None

"""HBase filters in the language of the Thrift API's filter strings, which is what a Thrift1 scan takes."""

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
    """Return the filter of a scan for what is *wanted*, or None where it needs none."""
    parts = []
    # The first cells alone do not tell whether another one is in the wanted times.
    any_cell = not (wanted.time_range and wanted.time_range.since)
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        parts += [matching(family, qualifier, one, hidden=added) for one in expressions]
        if wanted.few_cells and any_cell:
            parts.append(first_columns_or(qualifier, FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families that no filter looks at on demand, and refuses to do so backwards.
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
    """Return the filter that lets the rows pass whose newest value of a column matches; *hidden*: without that column.

    The expression must have no quotes in it.
    """
    name = b"SingleColumnValueExcludeFilter" if hidden else b"SingleColumnValueFilter"
    regex = b"'regexstring:" + expression.encode() + b"'"
    return b"%b(%b, %b, =, %b, true, true)" % (name, _quoted(family), _quoted(qualifier), regex)


def qualifiers(keys: KeyRange) -> bytes:
    """Return the filter that lets the columns pass whose qualifier is in *keys*, and seeks to the first one."""
    return b"ColumnRangeFilter(%b, true, %b, false)" % (_quoted(keys.start), _quoted(keys.stop))


def first_columns_or(qualifier: bytes, count: int) -> bytes:
    """Return the filter that lets the first *count* columns of a row pass, and each column named *qualifier*."""
    return b"(ColumnPaginationFilter(%d, 0) OR QualifierFilter(=, %b))" % (count, _quoted(b"binary:" + qualifier))


def all_of(filters: Sequence[bytes]) -> bytes | None:
    """Return the filter that lets pass what each of *filters* does; None where there are none."""
    return b" AND ".join(filters) or None

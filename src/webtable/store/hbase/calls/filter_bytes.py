"""The filter of a selection in HBase's own form, for Thrift2 and for region servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.rowkey import KeyRange
from webtable.store.hbase.calls import filters
from webtable.store.hbase.calls.selection import FEW_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.store.hbase.calls.selection import Selection


def filter_of(
    ranges: Sequence[KeyRange], wanted: Selection, each: int | None = None, bounds: Sequence[bytes] = ()
) -> bytes | None:
    """Return the filter of a scan of *ranges*, None if it needs none; with *each* for the first rows of each range.

    *bounds* are the known starts of regions, as in `webtable.store.hbase.calls.filters.first_of_each`.
    """
    parts = []
    # Before a search too, which would go on to the next matching row, in a range or not.
    if len(ranges) > 1 and (each is None or wanted.search is not None):
        parts.append(filters.row_ranges(sorted(ranges)))
    if wanted.search is not None:
        family, qualifier, expressions, added = wanted.search
        parts += [filters.matching(family, qualifier, one, hidden=added) for one in expressions]
        if wanted.few_cells:
            parts.append(filters.first_columns_or(qualifier, FEW_COLUMNS))
        if wanted.reverse:
            # HBase reads families on demand that no filter uses, and refuses to do so in reverse.
            parts.append(filters.qualifiers(KeyRange()))
    if each is not None and len(ranges) > 1:
        parts.append(filters.first_of_each(ranges, each, bounds))
    if wanted.keys_only:
        parts.append(filters.keys_only())
    if wanted.one_cell:
        parts.append(filters.first_key_only())
    return filters.all_of(parts)

r"""HBase filters as the protobuf bytes that a Thrift2 scan takes.

The filter string of the Thrift API knows neither `MultiRowRangeFilter` nor a way to add it, so the few messages
that are needed are encoded here: a filter is its Java class name and its own bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webtable.rowkey import KeyRange

_PACKAGE = b"org.apache.hadoop.hbase.filter."


def _varint(number: int) -> bytes:
    r"""Return *number* in base 128, the lowest digits first.

    >>> _varint(300)
    b'\xac\x02'
    """
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


def _filter(name: bytes, body: bytes = b"") -> bytes:
    return _bytes_field(1, _PACKAGE + name) + _bytes_field(2, body)


def row_ranges(ranges: Sequence[KeyRange]) -> bytes:
    """Return the filter that lets the rows of *ranges* pass and seeks from one to the next."""
    rows = (_bytes_field(1, r.start) + _bool_field(2, True) + _bytes_field(3, r.stop) + _bool_field(4, False)
            for r in ranges)
    return _filter(b"MultiRowRangeFilter", b"".join(_bytes_field(1, row) for row in rows))


def keys_only() -> bytes:
    """Return the filter that lets cells pass without their values."""
    return _filter(b"KeyOnlyFilter", _bool_field(1, False))


def first_key_only() -> bytes:
    """Return the filter that lets the first cell of a row pass."""
    return _filter(b"FirstKeyOnlyFilter")


def all_of(filters: Sequence[bytes]) -> bytes | None:
    """Return the filter that lets pass what each of *filters* does, in their order; None where there are none."""
    if len(filters) < 2:
        return filters[0] if filters else None
    must_pass_all = b"\x08\x01"
    return _filter(b"FilterList", must_pass_all + b"".join(_bytes_field(2, one) for one in filters))

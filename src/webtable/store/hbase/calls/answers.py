"""What an answer must be to be believed: the rows that were asked for, in their order, and whole cells.

A gateway that was mistaken for another one, or a number that means another scanner there, brings rows without an error.
"""

from __future__ import annotations

from operator import gt, lt
from typing import TYPE_CHECKING, Any

from webtable.store.hbase.calls.selection import key_before
from webtable.store.hbase.thrift.stream import WrongReply
from webtable.store.rows import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey import KeyRange

_new = tuple.__new__
"""Makes a named tuple in a third of the time that calling its class takes: each cell of a scan comes here."""


def check_scanned(rows: Sequence[bytes], keys: KeyRange, count: int, *, reverse: bool) -> None:
    """Raise `WrongReply` unless *rows* are at most *count*, in *keys*, and rising (with *reverse*: falling).

    Backwards a row next to the range may come on either side: HBase's start is inclusive, and no key is the next one.
    """
    if not rows:
        return
    if len(rows) > count:
        raise WrongReply(f"{len(rows)} rows came where {count} were asked for")
    if not all(map(gt if reverse else lt, rows, rows[1:])):
        raise WrongReply("rows came that are not in the order of their keys")
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
            f"{keys.stop[:100]!r} was asked for"
        )


def check_read(found: Sequence[bytes], asked: Iterable[bytes]) -> None:
    """Raise `WrongReply` unless *found* are some of the rows *asked* for, in their order."""
    left = iter(asked)
    for row in found:
        if row not in left:  # an iterator looks behind the last one that it found
            raise WrongReply(f"the row {row[:100]!r} came, which was not asked for, or not there")


def cell(timestamp: Any, value: Any) -> Cell:
    """Return the cell, or raise `WrongReply` where a part of it is missing."""
    if timestamp is None or value is None:
        raise WrongReply("a cell came without its timestamp or its value")
    return _new(Cell, (timestamp, value))

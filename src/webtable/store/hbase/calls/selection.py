"""What of a row is wanted, as either gateway needs it, and what an answer must be to be believed.

It has the rows that were asked for, in their order, and whole cells. A gateway that was mistaken for another one, or a
number that means another scanner there, brings rows without an error.
"""

from __future__ import annotations

from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable.store.hbase.thrift.filters import expression
from webtable.store.hbase.thrift.stream import WrongReply
from webtable.store.rows import Cell, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.rowkey import KeyRange
    from webtable.store.rows import Containing, Wanted

FEW_COLUMNS: Final = 2
"""So many columns of a row have another one among them than the one that is searched."""
MOST: Final = 2**31 - 1
"""As many versions, columns or rows can be asked for in one call: Thrift's i32."""


class Search(NamedTuple):
    """Regular expressions that the newest value of a column must match; `added`: the column is wanted for this only."""

    family: bytes
    qualifier: bytes
    expressions: tuple[str, ...]
    added: bool


class Selection(NamedTuple):
    """Columns (`b"family:"` is a whole family, None is all), versions and times that are wanted of a row."""

    columns: tuple[bytes, ...] | None = None
    versions: int = 1
    time_range: TimeRange | None = None
    keys_only: bool = False
    reverse: bool = False
    search: Search | None = None
    plain: Selection | None = None
    """The same without the search, where there is one."""

    @property
    def one_cell(self) -> bool:
        """Whether any one cell of a row tells that it is wanted."""
        return self.keys_only and self.search is None

    @property
    def few_cells(self) -> bool:
        """Whether the searched column and any other cell of a row tell that it is wanted, of whole families."""
        return (
            self.keys_only
            and self.search is not None
            and self.search.added
            and any(column.endswith(b":") for column in self.columns or ())
        )


def selection(wanted: Wanted, *, reverse: bool = False) -> Selection:
    """Return what is *wanted* as the gateways are asked for it."""
    columns = None if wanted.columns is None else tuple(wanted.columns)
    plain = Selection(columns, min(wanted.versions, MOST), wanted.time_range, wanted.keys_only, reverse)
    search = None if wanted.containing is None else _search(wanted.containing, columns)
    if search is None:
        return plain
    column = search.family + b":" + search.qualifier
    if search.added:
        columns = (*(columns or ()), column)
    elif wanted.keys_only:
        columns = (column,)  # a row that is found has a cell here
    return plain._replace(columns=columns, search=search, plain=plain)


def _search(containing: Containing, columns: tuple[bytes, ...] | None) -> Search | None:
    family, _, qualifier = containing.column.partition(b":")
    found = tuple(one for word in containing.words if (one := expression(word)) is not None)
    added = columns is not None and containing.column not in columns and family + b":" not in columns
    return Search(family, qualifier, found, added) if found else None


def key_before(start: bytes) -> bytes:
    r"""Return a key that sorts before *start*, with no key between them that anybody uses.

    >>> key_before(b"a\x00"), key_before(b"b"), key_before(b"")
    (b'a', b'a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', b'')
    """
    if start.endswith(b"\x00"):
        return start[:-1]
    return start[:-1] + bytes([start[-1] - 1]) + b"\xff" * 16 if start else b""


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

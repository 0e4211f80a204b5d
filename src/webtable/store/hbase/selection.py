"""What of a row is wanted, as every call of either gateway needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.errors import InvalidArgument
from webtable.store.base import Containing, TimeRange
from webtable.store.hbase.words import expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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

    def is_empty(self) -> bool:
        """Whether no cell can be in it."""
        times = self.time_range
        return self.columns == () or (times is not None and times.since >= times.until)


def selection(
    columns: Sequence[bytes] | None,
    versions: int = 1,
    time_range: TimeRange | None = None,
    *,
    keys_only: bool = False,
    reverse: bool = False,
    containing: Containing | None = None,
) -> Selection:
    """Return the checked selection; raises `InvalidArgument`."""
    if versions < 1:
        raise InvalidArgument(f"versions={versions} must be at least 1")
    if time_range is not None:
        since, until = max(time_range.since, 0), min(max(time_range.until, 0), 2**63 - 1)
        time_range = None if (since, until) == TimeRange() else TimeRange(since, until)
    wanted = None if columns is None else distinct_columns(columns)
    plain = Selection(wanted, min(versions, MOST), time_range, keys_only, reverse)
    search = None if containing is None else _search(containing, wanted)
    if search is None:
        return plain
    column = search.family + b":" + search.qualifier
    if search.added:
        wanted = (*(wanted or ()), column)
    elif keys_only:
        wanted = (column,)  # a row that is found has a cell here
    return plain._replace(columns=wanted, search=search, plain=plain)


def _search(containing: Containing, columns: tuple[bytes, ...] | None) -> Search | None:
    family, _, qualifier = containing.column.partition(b":")
    if not qualifier:
        raise InvalidArgument(f"containing={containing!r} must name a column, family:qualifier")
    found = tuple(one for word in containing.words if (one := expression(word)) is not None)
    added = columns is not None and containing.column not in columns and family + b":" not in columns
    return Search(family, qualifier, found, added) if found and columns != () else None


def distinct_columns(columns: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return *columns* without repetitions and without those whose whole family is there.

    HBase takes a column added after its family for the only wanted one of the family.

    >>> distinct_columns([b"f:", b"f:a", b"g:a", b"g:a"])
    (b'f:', b'g:a')
    """
    wanted = dict.fromkeys(columns)
    for column in wanted:
        if b":" not in column or column.startswith(b":"):
            raise InvalidArgument(f"column {column!r} must be family:qualifier, or family: for a whole family")
    whole = {column for column in wanted if column.endswith(b":") and column.count(b":") == 1}
    return tuple(c for c in wanted if c in whole or c[: c.index(b":") + 1] not in whole)


def key_before(start: bytes) -> bytes:
    r"""Return a key that sorts before *start*, with no key between them that anybody uses.

    >>> key_before(b"a\x00"), key_before(b"b"), key_before(b"")
    (b'a', b'a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', b'')
    """
    if start.endswith(b"\x00"):
        return start[:-1]
    return start[:-1] + bytes([start[-1] - 1]) + b"\xff" * 16 if start else b""

"""What of a row is wanted, as every call of either gateway needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.store.hbase.thrift.java_regex import expression
from webtable.store.rows import TimeRange

if TYPE_CHECKING:
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

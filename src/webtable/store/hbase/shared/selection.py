"""The selection of cells of a row for both ways to HBase, and the checks whether an answer belongs to its call.

An answer must have the requested rows, in their order, with complete cells. A gateway that was mistaken for another
one, or a scanner number that means another scanner there, returns rows without an error.

Words are searched with Java regular expressions that find them wherever Python does, that is where
`word.lower() in value.lower()`. Java's own case folding differs, so each character is written as all characters whose
lower case contains it. Everything except ASCII letters and digits is written as its number, so that neither the
expression nor the filter string around it has anything to quote.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webtable.rowkey import KeyRange
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.rows import Cell, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.store.rows import Containing, Wanted

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

    @property
    def one_cell(self) -> bool:
        """Whether any single cell shows that its row is wanted."""
        return self.keys_only and self.search is None

    @property
    def few_cells(self) -> bool:
        """Whether the searched column and one other cell, of whole families, show that their row is wanted."""
        return (
            self.keys_only
            and self.search is not None
            and self.search.added
            and any(column.endswith(b":") for column in self.columns or ())
        )


class ColumnPiece(NamedTuple):
    """The first *limit* columns of a family in *qualifiers* of a row, with *keys_only* without their values."""

    family: bytes
    qualifiers: KeyRange
    limit: int
    keys_only: bool


def selection(wanted: Wanted, *, reverse: bool = False) -> Selection:
    """Return *wanted* as a selection."""
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
    found = tuple(one for word in containing.words if (one := expression(word)) is not None)
    added = columns is not None and containing.column not in columns and family + b":" not in columns
    return Search(family, qualifier, found, added) if found else None


def key_before(start: bytes) -> bytes:
    r"""Return a key that sorts before *start*, with no realistic key between them.

    >>> key_before(b"a\x00"), key_before(b"b"), key_before(b"")
    (b'a', b'a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff', b'')
    """
    if start.endswith(b"\x00"):
        return start[:-1]
    return start[:-1] + bytes([start[-1] - 1]) + b"\xff" * 16 if start else b""


_new = tuple.__new__
"""Makes a named tuple in a third of the time of calling its class; called for each cell of a scan."""


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


def check_read(found: Sequence[bytes], asked: Iterable[bytes]) -> None:
    """Raise `WrongReply` unless *found* are a subsequence of the requested rows *asked*."""
    left = iter(asked)
    for row in found:
        if row not in left:  # an iterator goes on after the last one that it found
            raise WrongReply(f"the row {row[:100]!r} came, which was not requested, or not in this place")


def cell(timestamp: Any, value: Any) -> Cell:
    """Return the cell; raises `WrongReply` if a part of it is missing."""
    if timestamp is None or value is None:
        raise WrongReply("a cell came without its timestamp or its value")
    return _new(Cell, (timestamp, value))


_CASED_BELOW: Final = 0x20000
"""From this code point on every character is its own lower case."""
_REPLACEMENT: Final = "\ufffd"


class _Cases(NamedTuple):
    """For each character the ones whose lower case begins with it, and all later characters of such lower cases."""

    upper: dict[str, str]
    following: frozenset[str]


@cache
def _cases() -> _Cases:
    upper: defaultdict[str, str] = defaultdict(str)
    following: set[str] = set()
    for character in map(chr, range(_CASED_BELOW)):
        lower = character.lower()
        if lower != character:
            upper[lower[0]] += character
            following.update(lower[1:])
    upper["ς"] += "Σ"  # at the end of a word
    return _Cases(dict(upper), frozenset(following))


def expression(word: str) -> str | None:
    r"""Return the regular expression that finds *word*; None if none is reliable, or if every value has it.

    >>> expression("Öl-1")
    '[\\x{f6}\\x{d6}][lL]\\x{2d}1'
    """
    # A value that is not UTF-8 has replacement characters here, which Java may count differently.
    return None if not word or _REPLACEMENT in word else "".join(map(_character, word.lower()))


def _character(character: str) -> str:
    cases = _cases()
    upper = cases.upper.get(character)
    one = _escaped(character) if upper is None else f"[{''.join(map(_escaped, character + upper))}]"
    # The lower case of İ is two characters, of which the second has no counterpart in the value.
    return f"{one}?" if character in cases.following else one


def _escaped(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"

"""The columns of what questions give: which there are, and their values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from webtable._page.page import Page
from webtable.errors import InvalidArgument, UnknownColumn
from webtable.formats.text import value_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

ALL_COLUMNS = tuple(name for name in Page.__struct_fields__ if name != "same_as")
"""The columns of a page."""
METADATA = tuple(name for name in ALL_COLUMNS if name not in ("html", "outlinks", "link_counts"))
"""Those that are read with it in any case."""


def rows_of(
    records: Iterable[Any], columns: Sequence[str] | None, shown: Callable[[str], str] = str
) -> Iterator[list[str]]:
    """Yield the names of the columns, then their values in each record as text, each as *shown*.

    Where no columns are named, and there is no record that has any, there is nothing to yield.
    """
    if columns is None:
        rest = iter(records)
        if (first := next(rest, None)) is None:
            return
        columns, records = columns_of(first), chain([first], rest)
    yield list(columns)
    for record in records:
        yield list(map(shown, texts(record, columns)))


def texts(record: Any, columns: Iterable[str]) -> Iterator[str]:
    """Yield the values of these *columns* of *record* as text; raises `UnknownColumn`."""
    for name in columns:
        value = value_of(record, name)
        if isinstance(value, bytes):
            yield value_text(value, _charset_of(record))
        elif name == "excerpts":
            yield " ".join(map(value_text, value))
        else:
            yield value_text(value)


def _charset_of(record: Any) -> str | None:
    found: str | None = getattr(record, "charset", None) or getattr(getattr(record, "page", None), "charset", None)
    return found


def value_of(record: Any, column: str) -> Any:
    """Return the value of a *column* of *record*, or of the page that is in it; raises `UnknownColumn`.

    It is None where there is no page where one would be.
    """
    try:
        return getattr(record, column)
    except AttributeError:
        pass
    try:
        return record.page and getattr(record.page, column)
    except AttributeError:
        raise UnknownColumn(f"columns={column!r} is no column of a {type(record).__name__}") from None


def columns_of(record: Any) -> tuple[str, ...]:
    """Return the columns of *record* where none are named: all of its fields, the URL in place of a page in it.

    Of a page those that are read in any case. Raises `InvalidArgument` where there is no telling.
    """
    if isinstance(record, Page):
        return METADATA
    names = getattr(record, "__struct_fields__", None) or getattr(record, "_fields", None)
    if names is None and is_dataclass(record):
        names = tuple(field.name for field in fields(record))
    if names is None:
        raise InvalidArgument(f"a {type(record).__name__} does not tell its columns: name them, as in columns=['url']")
    return tuple("url" if name == "page" else name for name in names)

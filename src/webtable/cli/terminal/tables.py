"""Records as a table, as they come."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from webtable.cli.terminal.cells import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from webtable.questions import Column

CHUNK = 200
"""A table is laid out for this many rows at a time."""
UNLIMITED = 100_000
"""The width of a table in a pipe, where nothing is wrapped or cut."""
_FOLDED = ("url", "urls")
"""The forms that are wrapped: URLs, or a command, to be copied whole; others may be truncated."""


def new_table(title: str | None = None) -> Table:
    """Return an empty table in the common style."""
    from rich import box
    from rich.table import Table

    return Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)


def print_table(
    target: Console,
    records: Iterable[object],
    columns: Sequence[Column],
    *,
    asked_for: bool,
    to_width: bool,
    title: str | None = None,
) -> None:
    """Print *records* on *target* as they come, laid out in chunks.

    A table that is too wide is fitted to the terminal if *to_width*. A short listing omits columns without any value,
    unless they were *asked_for*.
    """
    rows = iter(records)
    first = list(islice(rows, CHUNK))
    following = list(islice(rows, 1)) if len(first) == CHUNK else []
    if not first:
        return
    if not asked_for and not following:
        columns = [one for one in columns if any(_is_filled(one.of(record)) for record in first)]
    table = _table(first, columns, title=title)
    # A short listing is as wide as it needs; a wide one fills the terminal, and so does a long one, so that all of its
    # chunks look alike.
    natural = target.measure(table, options=target.options.update(width=UNLIMITED)).maximum
    fits = bool(to_width and (following or natural > target.width))
    target.print(_table(first, columns, fits=fits, is_long=bool(following), title=title) if fits else table)
    rows = chain(following, rows)
    while chunk := list(islice(rows, CHUNK)):
        target.print(_table(chunk, columns, fits=fits, is_long=True, heading=False))


def _table(
    records: Sequence[object],
    columns: Sequence[Column],
    *,
    fits: bool = False,
    is_long: bool = False,
    heading: bool = True,
    title: str | None = None,
) -> Table:
    table = new_table(title)
    table.show_header = heading
    table.expand = fits and any(column.share for column in columns)
    for column in columns:
        options: dict[str, Any] = {"justify": "right" if column.type == "int" else "left"}
        options |= {"overflow": "fold"} if column.form in _FOLDED else {"overflow": "ellipsis", "no_wrap": True}
        if fits and column.share:
            options |= {"ratio": column.share}
        elif fits:
            options |= {"width" if is_long else "max_width": column.width}
        table.add_column(column.heading, **options)
    for record in records:
        table.add_row(*(cell(record, column) for column in columns))
    return table


def _is_filled(value: object) -> bool:
    return value not in (None, "", (), {}, [])

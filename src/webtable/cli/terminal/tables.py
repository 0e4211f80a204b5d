"""Records as a table, as they come."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from webtable.cli.terminal.cells import cell
from webtable.cli.terminal.widths import Fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from webtable.repository.answers.columns import Column

CHUNK = 200
"""A table is laid out for this many rows at a time."""
UNLIMITED = 100_000
"""The width of a table in a pipe, where nothing is wrapped or cut."""
_FOLDED = "urls"
"""The form that is wrapped: URLs, or a command, to be copied whole; others may be truncated."""


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
    # A short listing is as wide as it needs; a wide one fills the terminal, so that URLs and titles share what is left,
    # and so does a long one, so that all of its parts look alike.
    natural = target.measure(table, options=target.options.update(width=UNLIMITED)).maximum
    fit, have_room = None, natural <= target.width
    if to_width and (following or not have_room):
        fit = Fit(first, columns, target.width, are_all=not following, have_room=have_room)
        _print_beginnings(target, fit, first, columns)
        table = _table(first, columns, fit, title=title)
    target.print(table)
    rows = chain(following, rows)
    while chunk := list(islice(rows, CHUNK)):
        if fit is not None:
            _print_beginnings(target, fit, chunk, columns)
        target.print(_table(chunk, columns, fit, heading=False))


def _print_beginnings(target: Console, fit: Fit, records: Sequence[object], columns: Sequence[Column]) -> None:
    """Print what the URLs of *records* begin with, which their columns omit."""
    for line in fit.leave_out(records, columns):
        target.print(line, soft_wrap=True)


def _table(
    records: Sequence[object],
    columns: Sequence[Column],
    fit: Fit | None = None,
    *,
    heading: bool = True,
    title: str | None = None,
) -> Table:
    table = new_table(title)
    table.show_header = heading
    table.expand = fit is not None and any(one.name not in fit.widths for one in columns)
    for one in columns:
        options: dict[str, Any] = {"justify": "right" if one.type == "int" else "left"}
        options |= {"overflow": "fold"} if one.form == _FOLDED else {"overflow": "ellipsis", "no_wrap": True}
        if fit is not None:
            options |= {"width": fit.widths[one.name]} if one.name in fit.widths else {"ratio": one.share}
        table.add_column(one.heading, **options)
    cells = [fit.cells(records, one) if fit else [cell(record, one) for record in records] for one in columns]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def _is_filled(value: object) -> bool:
    return value not in (None, "", (), {}, [])

"""Rows of keyed tables in JSON Lines, one object a line, as `webtable.formats.write` writes a scan."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from webtable.errors import FormatError, InvalidArgument
from webtable.formats.compressed import lines_of
from webtable.repository.keyed_table.columns import RecordColumns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from webtable.repository.keyed_table.table import KeyedTable


def read_records(
    source: IO[bytes] | str | PathLike[str], table: KeyedTable
) -> Iterator[tuple[dict[str, Any], dict[str, Any], datetime | None]]:
    """Yield the rows in *source* as `table.put_many` takes them: values, cells, and the timestamp if there is one.

    *source* is a file of JSON Lines, also compressed, or its name: what `write` makes of a scan of a table with the
    same key and columns. Times are ISO 8601, bytes base64; the `key` is made anew. Raises `FormatError`, with the
    number of the line, for one that is no such row, and `OSError`.
    """
    if isinstance(source, str | PathLike):
        with Path(source).open("rb") as file:
            yield from read_records(file, table)
        return
    columns, name = RecordColumns(table.key, table.columns), str(getattr(source, "name", "input"))
    for number, line in enumerate(lines_of(source, name), 1):
        if not line.strip():
            continue
        try:
            row = columns.row(msgspec.json.decode(line, type=dict[str, Any]), is_json=True)
        except (msgspec.MsgspecError, InvalidArgument, UnicodeError, RecursionError) as exc:
            raise FormatError(f"{name}, line {number}: it is no row of this table: {exc}") from exc
        yield row

"""Keys that a user has declared, imported only if they are named; and rows for them from JSON."""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from webtable._importable import importable, importing_from_here
from webtable.display.text import plural
from webtable.errors import FormatError, InvalidArgument
from webtable.formats import lines_of
from webtable.rowkey import Bytes, Date, HashedKey, RowKey, Time, WebKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ROWS = (".jsonl", ".ndjson")


def own_keys(names: Iterable[str], said: str = "--design") -> dict[str, RowKey]:
    """Return the declared keys with these importable names, each by its name; raises `InvalidArgument`.

    *said* is what messages call such a name. The current directory is searched for modules too, after all other places.
    """
    keys: dict[str, RowKey] = {}
    with importing_from_here():
        for name in names:
            if name in keys:
                raise InvalidArgument(f"{said} {name!r} is given twice")
            found = importable(name, said)
            key = found.parts if isinstance(found, WebKey) else found
            if not isinstance(key, RowKey):
                raise InvalidArgument(
                    f"{said} {name!r} must be a declared key, and is of the type {type(key).__name__}"
                )
            keys[name] = key
    return keys


def fields_of(key: RowKey) -> dict[str, Any]:
    """Return the fields of *key* by their names, without their wrappers."""
    inner: Any = key.key if isinstance(key, HashedKey) else key
    return {name: getattr(field, "field", field) for name, field in inner.fields.items()}


def value_of(field: Any, value: Any) -> Any:
    """Return a value from JSON as *field* takes it; one that cannot be parsed stays, for the key to refuse."""
    if not isinstance(value, str) or field is None:
        return value
    try:
        if isinstance(field, Time):
            return time.fromisoformat(value)
        if isinstance(field, Date) and len(value) == len("2026-01-01"):
            return date.fromisoformat(value)
        if field.newest is not None:
            return datetime.fromisoformat(value)
    except ValueError:
        return value
    return value.encode() if type(field) is Bytes else value


def holds_rows(files: Sequence[str], keys: Mapping[str, RowKey]) -> bool:
    """Whether *files* are JSON Lines and one of *keys* needs values that a URL does not give."""
    from webtable.rowkey.advice import no_url_values

    are_rows = all(_without_compression(file).endswith(_ROWS) for file in files)
    return are_rows and any(no_url_values(key) for key in keys.values())


def _without_compression(file: str) -> str:
    name = file.lower()
    for ending in (".gz", ".zst", ".lz4"):
        name = name.removesuffix(ending)
    return name


class RowFiles:
    """The rows in files of JSON Lines, in their order, with values as *keys* take them, and the progress of reading.

    In the files times are ISO 8601, and bytes are text.
    """

    def __init__(self, files: Sequence[str], keys: Mapping[str, RowKey]) -> None:
        self.files = files
        self._fields = {name: field for key in keys.values() for name, field in fields_of(key).items()}
        self._read = 0
        self._count = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; raises `FormatError` for a damaged file, `InvalidArgument` if no file has a row."""
        for file in self.files:
            for row in self._rows(file):
                self._count += 1
                yield row
        if not self._count:
            raise InvalidArgument(f"{', '.join(self.files)}: there is no row in it")

    def progress(self) -> tuple[int, str]:
        """Return the number of bytes read, and the number of rows as text."""
        return self._read, plural(self._count, "row")

    def _rows(self, file: str) -> Iterator[dict[str, Any]]:
        before = self._read

        def read(size: int) -> None:
            self._read = before + size

        with Path(file).open("rb") as opened:
            for number, line in enumerate(lines_of(opened, file, on_read=read), 1):
                if line.strip():
                    yield self._row(line, f"{file}, line {number}")

    def _row(self, line: bytes, place: str) -> dict[str, Any]:
        try:
            values = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
            raise FormatError(f"{place}: it is not a JSON object with values: {exc}") from exc
        return {name: value_of(self._fields.get(name), value) for name, value in values.items()}

"""The columns of records: typed cells and back, conditions on them, and what frames and files have of a record."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

import msgspec

from webtable import errors
from webtable.repository.answers.arrow import UnreadableRow, arrow, rows_of
from webtable.repository.answers.columns import Column, Columns, Form, column
from webtable.rowkey import Bytes, Date, HashedKey, RowKey, Time
from webtable.rowkey.fields.field import Below, Between, StartingWith, shown
from webtable.rowkey.fields.numbers import Number
from webtable.schema.typed_columns import RESERVED, TypedColumn, ValueType

if TYPE_CHECKING:
    from webtable.repository.answers.arrow_pages import ArrowStream
    from webtable.store.rows import Cell

_FORMS: dict[ValueType, Form] = {
    "text": "text",
    "int": "count",
    "float": "fraction",
    "time": "time",
    "json": "text",
    "bytes": "body",
}
_RECORD = (
    column("key", "body"),
    column("timestamp", "time"),
    column("cells", "cells", lambda record: {_text(name): cell for name, cell in record.cells.items() if ":" in name}),
)


def _text(name: str) -> str:
    """Return the *name* of a cell without lone surrogates, which no file or frame can hold."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


class RecordColumns:
    """The columns of the records of a table under *key* with these *typed* columns, each with its family.

    Raises `InvalidArgument` for a column that is given twice, or has the name of a field of the key.
    """

    def __init__(self, key: RowKey, typed: Sequence[TypedColumn]) -> None:
        self.key: RowKey = key
        self.typed: tuple[TypedColumn, ...] = tuple(typed)
        self._by_name = {declared.name: declared for declared in self.typed}
        self._by_cell = {declared.cell: declared for declared in self.typed}
        if len(self._by_name) < len(self.typed):
            raise errors.InvalidArgument(f"columns={', '.join(map(str, self.typed))}: a name is given twice")
        if taken := self._by_name.keys() & set(key.names):
            raise errors.InvalidArgument(f"column {min(taken)!r} has the name of a field of the key; rename it")

    def __getitem__(self, name: str) -> TypedColumn:
        """Return the column *name*; raises `UnknownColumn`."""
        if name not in self._by_name:
            declared = f"the table has {', '.join(self._by_name)}" if self.typed else "the table has none"
            raise errors.UnknownColumn(f"column={name!r} is no typed column; {declared}")
        return self._by_name[name]

    def cell_of(self, name: object) -> bytes | None:
        """Return the cell of the typed column *name*, None if there is no such column."""
        declared = self._by_name.get(name) if isinstance(name, str) else None
        return None if declared is None else declared.cell

    def encoded(self, cells: Mapping[str, Any]) -> dict[str, Any]:
        """Return *cells* by the names of their cells, those of typed columns as bytes.

        Bytes that are given for the cell of a typed column must be such a value. Raises `InvalidArgument`.
        """
        if not self.typed:
            return dict(cells)
        made: dict[str, Any] = {}
        for name, value in cells.items():
            if (declared := self._by_name.get(name)) is not None:
                cell, stored = declared.cell.decode(), declared.encode(value)
            else:
                cell, stored = name, value
                of_cell = self._by_cell.get(name.encode(errors="replace")) if isinstance(name, str) else None
                if of_cell is not None and isinstance(value, bytes):
                    try:
                        of_cell.decode(value)
                    except ValueError as exc:
                        raise errors.InvalidArgument(f"cells[{name!r}]: {exc}; give it as {of_cell.name!r}") from exc
            if cell in made:
                raise errors.InvalidArgument(f"cells: {cell!r} is given twice, also by the name of its column")
            made[cell] = stored
        return made

    def decoded(self, cells: Mapping[bytes, Sequence[Cell]]) -> dict[str, Any]:
        """Return the newest values of *cells*: of typed columns by their names; raises `ValueError` for other bytes."""
        values: dict[str, Any] = {}
        for name, versions in cells.items():
            declared = self._by_cell.get(name)
            if declared is None:
                values[name.decode(errors="surrogateescape")] = versions[0].value
            else:
                values[declared.name] = declared.decode(versions[0].value)
        return values

    # --- Conditions ---

    def checked(self, where: Mapping[str, Any]) -> dict[str, Any]:
        """Return the conditions *where*, by names of columns, with values as they are read.

        Raises `UnknownColumn`, and `InvalidArgument` for a condition that the type of a column does not have.
        """
        if not isinstance(where, Mapping):
            raise errors.InvalidArgument(f"where={shown(where)} must be conditions by the names of columns")
        return {name: self._checked(self[name], condition) for name, condition in where.items()}

    @staticmethod
    def _checked(declared: TypedColumn, condition: Any) -> Any:
        def kept(value: Any) -> Any:
            return None if value is None else declared.decode(declared.encode(value))

        match condition:
            case Between(since, until) if declared.type != "json":
                return Between(kept(since), kept(until))
            case StartingWith(prefix) if declared.type in ("text", "bytes"):
                return StartingWith(kept(prefix))
            case Between() | StartingWith() | Below():
                raise errors.InvalidArgument(f"{declared.name}={condition} is no condition for a {declared.type}")
        return declared.decode(declared.encode(condition))

    @staticmethod
    def meet(cells: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
        """Whether the values of *cells* meet *where*, conditions as `checked` returns them; a missing one does not."""
        return all(name in cells and _is_met(cells[name], condition) for name, condition in where.items())

    # --- Frames and files ---

    def in_frames(self, read: Sequence[bytes] | None = None) -> Columns:
        """Return the columns of records of which the cells *read* were read (None: all): key, typed ones, and the rest.

        Those of the fields of a key are missing where it is a hash, which has no values; else the `key` is not usual.
        """
        families = {cell.partition(b":")[0] for cell in read or () if cell.endswith(b":")}
        of_key = [] if isinstance(self.key, HashedKey) else [self._of_key(name) for name in self.key.names]
        typed = [
            column(declared.name, _FORMS[declared.type], _value_of(declared))
            for declared in self.typed
            if read is None or declared.cell in read or (declared.family or "").encode() in families
        ]
        key, *others = _RECORD
        everything = (*of_key, *typed, replace(key, is_usual=not of_key), *others)
        names = [made.name for made in everything if made.is_usual]
        return Columns("record", everything, tuple(name for name in names if name != "timestamp"))

    def _of_key(self, name: str) -> Column:
        field = _field(self.key, name)

        def value(record: Any) -> Any:
            stored = record.values.get(name)
            return stored.isoformat() if isinstance(stored, date | time) and form == "text" else stored

        form: Form = "text"
        if isinstance(field, Number):
            form = "count"
        elif type(field) is Bytes:
            form = "body"
        elif field is not None and field.newest is not None and not isinstance(field, Date | Time):
            form = "time"
        # The names of every record stay what they are.
        return column(f"values.{name}" if name in RESERVED else name, form, value)

    def row(self, flat: Mapping[str, Any], *, is_json: bool = False) -> tuple[dict[str, Any], dict[str, Any], Any]:
        """Return values, cells and timestamp of a row as frames and files have it, by the names of its columns.

        Missing cells are None. Of JSON, bytes are base64. Raises `UnknownColumn`, and `InvalidArgument`.
        """
        values: dict[str, Any] = {}
        cells: dict[str, Any] = {}
        for label, value in flat.items():
            name = label.removeprefix("values.")
            if name in self.key.names and label not in RESERVED:
                values[name] = self._field_value(name, value, is_json=is_json)
            elif label == "cells":
                pairs = (value or {}).items() if isinstance(value, Mapping) else value or ()
                for cell, stored in pairs:
                    # A pandas frame has text for bytes among the pairs of a map.
                    value_of_cell = stored.encode(errors="surrogateescape") if isinstance(stored, str) else stored
                    cells[cell] = _parsed(label, stored, _base64) if is_json else value_of_cell
            elif label not in RESERVED:
                declared = self[label]
                if value is not None:
                    cells[label] = _typed_value(declared, value, is_json=is_json)
        moment = flat.get("timestamp")
        is_text = isinstance(moment, str)
        return values, cells, _parsed("timestamp", moment, datetime.fromisoformat) if is_text else moment

    def _field_value(self, name: str, value: Any, *, is_json: bool) -> Any:
        field = _field(self.key, name)
        if not isinstance(value, str) or field is None:
            return value
        if type(field) is Bytes:
            return _parsed(name, value, _base64) if is_json else value
        kind: Any = time if isinstance(field, Time) else date if isinstance(field, Date) else datetime
        return value if field.newest is None and kind is datetime else _parsed(name, value, kind.fromisoformat)

    @staticmethod
    def rows(rows: Iterable[Any] | ArrowStream) -> Iterator[Any]:
        """Yield *rows*, or those of a data frame or any other stream of Arrow as mappings; raises `FormatError`."""
        if not hasattr(rows, "__arrow_c_stream__"):
            yield from rows
            return
        for batch in arrow().RecordBatchReader.from_stream(rows):
            for row in rows_of(batch):
                if isinstance(row, UnreadableRow):
                    raise errors.FormatError(f"a row of the frame cannot be read: {row}")
                yield row


def _is_met(value: Any, condition: Any) -> bool:
    match condition:
        case Between(since, until):
            return (since is None or since <= value) and (until is None or value < until)
        case StartingWith(prefix):
            return bool(value.startswith(prefix))
    return bool(value == condition)


def _field(key: RowKey, name: str) -> Any:
    inner: Any = key.key if isinstance(key, HashedKey) else key
    field = inner.fields.get(name)
    return getattr(field, "field", field)


def _value_of(declared: TypedColumn) -> Any:
    name = declared.name
    if declared.type == "json":
        return lambda record: msgspec.json.encode(record.cells[name]).decode() if name in record.cells else None
    return lambda record: record.cells.get(name)


def _typed_value(declared: TypedColumn, value: Any, *, is_json: bool) -> Any:
    parsers: dict[str, Any] = {"time": datetime.fromisoformat, "json": msgspec.json.decode, "bytes": _base64}
    is_parsed = isinstance(value, str) and declared.type in parsers and (is_json or declared.type != "bytes")
    return _parsed(declared.name, value, parsers[declared.type]) if is_parsed else value


def _parsed(name: str, value: Any, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(value)
    except (TypeError, ValueError, RecursionError) as exc:
        raise errors.InvalidArgument(f"{name}={shown(value)}: {exc}") from exc


def _base64(value: Any) -> bytes:
    return base64.b64decode(value, validate=True)


def checked_columns(columns: Iterable[TypedColumn]) -> tuple[TypedColumn, ...]:
    """Return *columns* as a tuple; raises `InvalidArgument` for anything but typed columns."""
    typed = tuple(columns) if isinstance(columns, Iterable) else ()
    if not isinstance(columns, Iterable) or not all(isinstance(column, TypedColumn) for column in typed):
        raise errors.InvalidArgument(
            f"columns={shown(columns)} must be a list of typed columns, as in [TypedColumn('size', 'int')]"
        )
    return typed

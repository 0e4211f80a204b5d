"""The commands about rows under declared keys, with JSON in and out: `rows get`, `count`, `scan`, `put`, `import`."""

from __future__ import annotations

import base64
import binascii
import sys
from contextlib import nullcontext
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from webtable import ALL
from webtable._importable import importable, importing_from_here
from webtable.cli import output
from webtable.cli.exit_codes import not_done, note
from webtable.cli.listings import write_file
from webtable.cli.output import documented, parse_names, write_json
from webtable.cli.session import session
from webtable.display.text import plural
from webtable.errors import FormatError, InvalidArgument, TableNotFound
from webtable.formats import FORMATS, format_of, lines_of, read_records
from webtable.records import TypedColumn
from webtable.rowkey import (
    Bytes,
    Date,
    HashedKey,
    RowKey,
    Time,
    Timestamp,
    WebKey,
    below,
    between,
    key_text,
    parse_key,
    starting_with,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webtable import KeyedTable
    from webtable.records import Record


# --- Declared keys, and rows for them from JSON -----------------------------------------------------------------------


_ROWS = (".jsonl", ".ndjson")


def own_keys(names: Iterable[str], label: str = "--design") -> dict[str, RowKey]:
    """Return the declared keys with these importable names, each by its name; raises `InvalidArgument`.

    *label* is what messages call such a name. Modules are looked for in the current directory, too, after all others.
    """
    keys: dict[str, RowKey] = {}
    with importing_from_here():
        for name in names:
            if name in keys:
                raise InvalidArgument(f"{label} {name!r} is given twice")
            declared = importable(name, label)
            key = declared.parts if isinstance(declared, WebKey) else declared
            if not isinstance(key, RowKey):
                raise InvalidArgument(
                    f"{label} {name!r} must be a declared key, and is of the type {type(key).__name__}"
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

        # A reader with limits: a file from elsewhere may inflate to more than the memory.
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


# --- The commands -----------------------------------------------------------------------------------------------------


group: Final = typer.Typer(
    help="Put, get, count and scan rows under a key that is declared in Python.", no_args_is_help=False
)

KeyArgument = Annotated[str, typer.Argument(metavar="MODULE:KEY", help="The declared key, by its importable name.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,C", help="The columns to read: typed ones, d:celsius, or d: for a family."),
]
WhereOption = Annotated[
    str | None,
    typer.Option("--where", metavar="CONDITIONS", help="Values of typed columns as JSON, or conditions on them."),
]
TypedOption = Annotated[
    str,
    typer.Option(
        "--typed",
        metavar="A:TYPE,B:TYPE:FAMILY",
        help="With --create: typed columns to declare, as in size:int (text, int, float, time, json, bytes).",
    ),
]
ConditionsArgument = Annotated[
    str,
    typer.Argument(metavar="[CONDITIONS]", help="Values of the leading fields as JSON, and a condition; or all."),
]
CreateOption = Annotated[bool, typer.Option("--create", help="Create the table if it does not exist.")]
FamiliesOption = Annotated[str, typer.Option(metavar="A,B", help="The families of the new table.")]


class RowJSON:
    """Turns rows under this *key* into JSON, and back: times are ISO 8601, bytes are text if they are UTF-8.

    *columns* are the typed columns of their table.
    """

    def __init__(self, key: RowKey, columns: Iterable[TypedColumn] = ()) -> None:
        self._fields = fields_of(key)
        self._typed = {column.name: column for column in columns}

    def line(self, record: Record) -> dict[str, Any]:
        """Return *record* as an object of JSON."""
        return {
            "values": {name: _as_json(value) for name, value in record.values.items()},
            "cells": {_name(name): _as_json(value) for name, value in record.cells.items()},
            "key": key_text(record.key),
            "timestamp": record.timestamp,
        }

    def fields(self, text: str, label: str) -> dict[str, Any]:
        """Return the values and conditions in *text*, the argument called *label*; raises `InvalidArgument`."""
        values = _decoded(text, label)
        return {name: _condition(name, value, self._value) for name, value in values.items()}

    def row(self, line: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the values and the cells of a line; raises `InvalidArgument`."""
        row = _decoded(line, "it")
        values, cells = row.get("values"), row.get("cells")
        if not isinstance(values, dict) or not isinstance(cells, dict):
            raise InvalidArgument('it must have "values" and "cells", as in {"values": {…}, "cells": {"d:a": "1"}}')
        return {name: self._value(name, value) for name, value in values.items()}, {
            name: self._cell(name, value) for name, value in cells.items()
        }

    def where(self, text: str | None) -> dict[str, Any]:
        """Return the conditions on typed columns in *text*; raises `InvalidArgument`."""
        conditions = {} if text is None else _decoded(text, "--where")
        return {
            name: value
            if name in self._typed and self._typed[name].type == "json"
            else _condition(name, value, self._cell if name in self._typed else self._value)
            for name, value in conditions.items()
        }

    def _cell(self, name: str, value: Any) -> Any:
        column = self._typed.get(name)
        if column is None or column.type == "bytes":
            return _as_bytes(name, value)
        return value_of(Timestamp(name), value) if column.type == "time" else value

    def _value(self, name: str, value: Any) -> Any:
        return value_of(self._fields.get(name), value)


def _condition(name: str, condition: Any, value_of: Callable[[str, Any], Any]) -> Any:
    match condition:
        case {"starting_with": prefix, **other} if not other:
            return starting_with(value_of(name, prefix))
        case {"below": str(domain), **other} if not other:
            return below(domain)
        case dict() if condition and condition.keys() <= {"since", "until"}:
            return between(**{at: value_of(name, value) for at, value in condition.items()})
        case {"base64": str(), **other} if not other:
            return value_of(name, condition)
        case dict():
            raise InvalidArgument(f"{name}: {condition!r} must be since and until, starting_with, or below")
    return value_of(name, condition)


def _decoded(text: str | bytes, label: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        raise InvalidArgument(f"{label} is not a JSON object: {exc}") from exc


def _as_json(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _as_bytes(name: str, value: Any) -> bytes:
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass")
        case {"base64": str(text), **other} if not other:
            try:
                return base64.b64decode(text, validate=True)
            except binascii.Error as exc:
                raise InvalidArgument(f"cells[{name!r}]: {exc}") from exc
    raise InvalidArgument(f'cells[{name!r}] must be a string, or {{"base64": "…"}}')


def _name(column: str) -> str:
    """Return the name of a cell without lone surrogates, which JSON cannot contain."""
    return column.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@documented(group)
def get(
    ctx: typer.Context,
    key: KeyArgument,
    values: Annotated[str, typer.Argument(metavar="VALUES", help="All values of the key, as JSON.")],
) -> None:
    """Show the row of these values, as a line of JSON: its values, its cells, its key and its timestamp.

    Times are ISO 8601. A cell that is not UTF-8 is {"base64": "…"}.

    Examples:
        webtable -s readings.db rows get mykeys:READINGS '{"device": 7, "time": "2026-11-20T10:00Z"}'
        webtable -s readings.db rows get mykeys:READINGS '{"device": 7, "time": "2026-11-20T10:00Z"}' | jq .cells
    """
    form, table = _opened(ctx, key)
    with table:
        record = table.get(**form.fields(values, "VALUES"))
    if record is None:
        raise not_done(f"{values}: not stored")
    write_json(form.line(record))


@documented(group)
def scan(
    ctx: typer.Context,
    key: KeyArgument,
    conditions: ConditionsArgument = "{}",
    columns: ColumnsOption = None,
    where: WhereOption = None,
    limit: Annotated[int | None, typer.Option(help="The most rows to list.")] = None,
    after: Annotated[str | None, typer.Option(metavar="KEY", help="Continue after the row with this key.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="List in reverse order.")] = False,
    format: Annotated[
        output.Format | None,
        typer.Option(
            "--format", help="With a column for each value, as listings have. Default: values and cells as JSON."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to FILE, in the format of its name or --format.")
    ] = None,
) -> None:
    """List the rows that have these values of the leading fields, and meet a condition on the next, a JSON line each.

    A condition is {"since": …, "until": …} (until is excluded), {"starting_with": "…"} or {"below": "DOMAIN"}.

    Examples:
        webtable -s readings.db rows scan mykeys:READINGS '{"device": 7}' --limit 10
        webtable -s readings.db rows scan mykeys:READINGS '{"device": 7, "time": {"since": "2026-11-20T10:00Z"}}'
        webtable -s readings.db rows scan mykeys:READINGS all --where '{"celsius": {"since": 30}}' --out hot.parquet
        webtable -s readings.db rows scan mykeys:READINGS all --columns d:celsius
    """
    form, table = _opened(ctx, key)
    everything, conditions = (ALL, "{}") if conditions == ALL.value else (None, conditions)
    with table:
        records = table.scan(
            everything,
            columns=None if columns is None else parse_names(columns),
            where=form.where(where),
            limit=None if limit is None else limit + 1,
            after=None if after is None else parse_key(after),
            reverse=reverse,
            **form.fields(conditions, "CONDITIONS"),
        )
        listed = _Listed(records, limit)
        if out is not None:
            named = format if format in FORMATS else format_of(out)
            write_file(out, listed, output.default_columns(records.columns, output.Format(named)), named)
        elif format is not None:
            output.write_records(listed, output.default_columns(records.columns, format), format)
        else:
            for record in listed:
                write_json(form.line(record))
    if listed.has_more and listed.last is not None:
        note(f"more: --after '{key_text(listed.last.key)}'")
    if listed.last is None and limit != 0:
        note("no rows")
    if records.damaged:
        raise not_done(f"{plural(len(records.damaged), 'damaged row')} left out; the first: {records.damaged[0]}")


class _Listed:
    """The first *limit* of *records*, the last of them, and whether there are more."""

    def __init__(self, records: Iterable[Record], limit: int | None) -> None:
        self._records, self._limit = records, limit
        self.last: Record | None = None
        self.has_more = False

    def __iter__(self) -> Iterator[Record]:
        for number, record in enumerate(self._records):
            if number == self._limit:
                self.has_more = True
                return
            self.last = record
            yield record


@documented(group)
def count(
    ctx: typer.Context, key: KeyArgument, conditions: ConditionsArgument = "{}", where: WhereOption = None
) -> None:
    """Count the rows that `rows scan` lists with the same conditions, without reading their cells.

    Examples:
        webtable -s readings.db rows count mykeys:READINGS all
        webtable -s readings.db rows count mykeys:READINGS '{"device": 7, "time": {"since": "2026-11-20T10:00Z"}}'
    """
    form, table = _opened(ctx, key)
    everything, conditions = (ALL, "{}") if conditions == ALL.value else (None, conditions)
    with table:
        rows = table.count(everything, where=form.where(where), **form.fields(conditions, "CONDITIONS"))
    typer.echo(f"rows\t{rows}")


@documented(group)
def put(
    ctx: typer.Context,
    key: KeyArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lines of JSON; - reads standard input.")],
    create: CreateOption = False,
    families: FamiliesOption = "d",
    typed: TypedOption = "",
) -> None:
    """Store rows: a line of JSON each, {"values": {…}, "cells": {"d:celsius": "21.5"}}, as `rows scan` writes them.

    An existing cell is replaced. It stops at a line that cannot be stored; all lines before that are stored.

    Examples:
        webtable -s readings.db rows put mykeys:READINGS rows.jsonl --create
        webtable -s readings.db rows put mykeys:READINGS typed.jsonl --create --typed celsius:float,note:text
        zcat rows.jsonl.gz | webtable -s readings.db rows put mykeys:READINGS -
    """
    form, table = _opened(ctx, key, create=create, families=parse_names(families), columns=_typed(typed))
    with table:
        stored = table.put_many(_rows(form, file))
    typer.echo(f"stored\t{stored}")


@documented(group, "import")
def import_(
    ctx: typer.Context,
    key: KeyArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `rows scan --out FILE.jsonl` has written.")],
    create: CreateOption = False,
    families: FamiliesOption = "d",
    typed: TypedOption = "",
) -> None:
    """Store the rows of a file of JSON Lines that `rows scan --out` has written, under their own timestamps.

    It may be repeated: what is stored already stays as it is. It stops at a line that cannot be stored.

    Examples:
        webtable -s copy.db rows import mykeys:READINGS all.jsonl --create --typed celsius:float,note:text
        zcat all.jsonl.gz | webtable -s copy.db rows import mykeys:READINGS - --create --typed celsius:float,note:text
    """
    _, table = _opened(ctx, key, create=create, families=parse_names(families), columns=_typed(typed))
    with table:
        stored = table.put_many(read_records(sys.stdin.buffer if file == "-" else file, table))
    typer.echo(f"stored\t{stored}")


def _typed(text: str) -> list[TypedColumn]:
    columns: list[Any] = [name.split(":") for name in parse_names(text)]
    if wrong := [parts for parts in columns if not 2 <= len(parts) <= 3]:
        raise InvalidArgument(f"--typed: {':'.join(wrong[0])!r} must be a name and a type, as in size:int")
    return [TypedColumn(*parts) for parts in columns]


def _opened(ctx: typer.Context, name: str, **creation: Any) -> tuple[RowJSON, KeyedTable]:
    from webtable import KeyedTable

    key, store = own_keys([name], label="MODULE:KEY")[name], session(ctx).store
    try:
        table = KeyedTable.open(store, key, **creation)
    except TableNotFound as exc:
        raise TableNotFound(f"{store}: no such table; `rows put {name} FILE --create` makes it") from exc
    return RowJSON(key, table.columns), table


def _rows(form: RowJSON, file: str) -> Iterator[tuple[dict[str, Any], dict[str, bytes]]]:
    with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield form.row(line)
                except InvalidArgument as exc:
                    raise FormatError(f"{file}, line {number}: {exc}") from exc

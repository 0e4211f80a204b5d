"""The keys that a user has declared, imported where they are named and nowhere else; and their values out of JSON."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

from webtable._importable import importable
from webtable.cli.session import importing_from_here
from webtable.errors import InvalidArgument
from webtable.rowkey import Bytes, Date, HashedKey, RowKey, Time, WebKey

if TYPE_CHECKING:
    from collections.abc import Iterable


def own_keys(names: Iterable[str], said: str = "--design") -> dict[str, RowKey]:
    """Return the declared keys with these importable names, each by its name; raises `InvalidArgument`.

    *said* is what a message calls such a name. Modules are looked for in the current directory too,
    behind all else.
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
    """Return the fields of *key* by their names, without what is around them."""
    inner: Any = key.key if isinstance(key, HashedKey) else key
    return {name: getattr(field, "field", field) for name, field in inner.fields.items()}


def value_of(field: Any, value: Any) -> Any:
    """Return a value of JSON as *field* takes it; what cannot be read is left, for the key to refuse."""
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

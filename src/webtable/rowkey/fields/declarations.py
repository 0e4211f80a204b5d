"""Declarations of composite keys: where each part ends, whether its values come back, and how it reads as text."""

from __future__ import annotations

import dataclasses
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

from webtable.errors import FieldError, InvalidArgument, WebTableError
from webtable.rowkey.fields.conditions import shown
from webtable.rowkey.fields.field import Field, Part
from webtable.rowkey.fields.hashes import Hash
from webtable.rowkey.fields.salts import RandomSalt, Spread
from webtable.rowkey.fields.terminators import check_terminator
from webtable.rowkey.fields.text import Bytes, Constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def checked_separator(separator: Any) -> bytes:
    """Return the separator as bytes, none as `b""`; raises `InvalidArgument` for what cannot part values."""
    try:
        made = separator.encode() if isinstance(separator, str) else separator
    except UnicodeEncodeError:
        made = None
    if not isinstance(made, bytes):
        raise InvalidArgument(f"separator={shown(separator)} must be text or bytes, as in ':'")
    check_terminator(made or None, "separator")
    return made


def parts_of(declared: Sequence[Part], separator: bytes) -> tuple[Part, ...]:
    """Return the parts of a key as it is encoded: each ends itself, or has a known width; separators are constants.

    Raises `InvalidArgument` for a part whose end could not be told, and for several fields of one time that do not give
    it back.
    """
    parts = tuple(_separated(_with_moments(declared, separator), separator))
    fields = {part.name: part for part in reversed(parts) if isinstance(part, Field)}
    for name in fields:
        _check_whole(name, [part for part in parts if isinstance(part, Field) and part.name == name])
    return tuple(part.bound(fields) for part in parts)


def _with_moments(declared: Sequence[Part], separator: bytes) -> Sequence[Part]:
    """Return *declared* with every date and the time of the same name behind it joined."""
    names = [part.name for part in declared if isinstance(part, Field)]
    if len(set(names)) == len(names):
        return declared
    from webtable.rowkey.fields.modifiers import moments  # few keys have them, and web keys none

    return moments(list(declared), separator)


def _separated(parts: Sequence[Part], separator: bytes) -> Iterator[Part]:
    """Yield *parts* with the separator as a constant behind those that do not end themselves."""
    for number, part in enumerate(parts, 1):
        if number == len(parts):
            yield part
        elif part.width is not None:
            yield part
            if separator:
                yield Constant(separator)
        elif isinstance(part, Bytes) and part.terminator is None and separator:
            yield dataclasses.replace(part, terminator=separator)
        elif getattr(part, "terminator", None) is None and getattr(part, "field", None) is None:
            raise InvalidArgument(
                f"{declaration_of(part)} must be the last field, or have a terminator or a size, "
                "or the key needs a separator: where it ends could not be told"
            )
        else:
            yield part


def whole(name: str, several: list[Any], places: Sequence[tuple[Part, bytes]]) -> Any:
    """Return the value that all fields called *name* are made of; the first of *several* where there is none.

    They give back what each of them keeps: a day in front of a sensor and the moment behind it, or a date and a time of
    day that do not stand side by side.
    """
    dates = [value for value in several if type(value) is date]
    joined = [datetime.combine(day, clock, UTC) for day in dates for clock in several if isinstance(clock, time)]
    fields = [(part, found) for part, found in places if isinstance(part, Field) and part.name == name]
    for value in [*joined, *several]:
        if all(agrees(part, found, {name: value}) for part, found in fields):
            return value
    return several[0]


def _check_whole(name: str, fields: Sequence[Field]) -> None:
    """Raise `InvalidArgument` for several fields of one time that do not give it back: a year here, a day there."""
    moment = datetime(2023, 6, 11, 16, 30, 31, 123456, UTC)
    try:
        places = [(field, field.encode(moment)) for field in fields] if len(fields) > 1 else []
    except FieldError:
        return  # they hold something else
    found = whole(name, [field.decode(encoded, 0)[0] for field, encoded in places], places) if places else None
    if not all(agrees(field, encoded, {name: found}) for field, encoded in places):
        raise InvalidArgument(
            f"parts={', '.join(map(declaration_of, fields))} do not give {name!r} back: one of them "
            "must keep all that the others do, or they must be a Date and a Time"
        )


def agrees(part: Part, found: bytes, values: Mapping[str, Any]) -> bool:
    """Whether *found* is what *part* makes of *values*, as far as they are known."""
    if isinstance(part, RandomSalt):
        return found in part.salts
    if all(name in values for name in part.takes):
        try:
            return part.encode(*(values[name] for name in part.takes)) == found
        except WebTableError:  # bytes can stand for a value that would be refused, as a time before 1970
            return False
    if isinstance(part, Spread):
        return found in part.salts
    return not isinstance(part, Hash) or part.has_form(found)


def declaration_of(part: Part) -> str:
    """Return the part as it was declared, the same in every process."""
    if not hasattr(part, "__dataclass_fields__"):
        return repr(part)  # a part of the caller's own
    values = [(f.name, getattr(part, f.name), f.default) for f in dataclasses.fields(part) if f.repr]  # type: ignore[arg-type]
    texts = [f"{name}={_value_text(value)}" for name, value, default in values if value != default]
    return f"{type(part).__name__}({', '.join(texts)})"


def _value_text(value: Any) -> str:
    if isinstance(value, Part):
        return declaration_of(value)
    if hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', None) or 'builtins'}.{value.__qualname__}"
    kind: Any = type(value)
    if callable(value) and kind.__repr__ is object.__repr__:
        return f"<{kind.__qualname__}>"  # two of them may do different things, and nothing here tells
    return repr(value)

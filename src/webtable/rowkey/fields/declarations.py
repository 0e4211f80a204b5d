"""Declarations of composite keys: the ends of parts, declarations as text, and the compiled encoder."""

from __future__ import annotations

import dataclasses
import struct
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

from webtable.errors import FieldError, InvalidArgument, WebTableError
from webtable.rowkey.fields.field import NOT_GIVEN, Constant, Field, Part, shown
from webtable.rowkey.fields.hashes import Hash, RandomSalt, Spread
from webtable.rowkey.fields.text import Bytes, check_terminator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def checked_separator(separator: Any) -> bytes:
    """Return the separator as bytes, None as `b""`; raises `InvalidArgument` for a wrong one."""
    try:
        made = separator.encode() if isinstance(separator, str) else separator
    except UnicodeEncodeError:
        made = None
    if not isinstance(made, bytes):
        raise InvalidArgument(f"separator={shown(separator)} must be text or bytes, as in ':'")
    check_terminator(made or None, "separator")
    return made


def parts_of(declared: Sequence[Part], separator: bytes) -> tuple[Part, ...]:
    """Return the parts of a key as they are encoded: each has an end or a known width; separators are constants.

    Raises `InvalidArgument` for a part whose end could not be found, and for several fields of one time from which it
    cannot be decoded.
    """
    parts = tuple(_separated(_with_moments(declared, separator), separator))
    fields = {part.name: part for part in reversed(parts) if isinstance(part, Field)}
    for name in fields:
        _check_whole(name, [part for part in parts if isinstance(part, Field) and part.name == name])
    return tuple(part.bound(fields) for part in parts)


def _with_moments(declared: Sequence[Part], separator: bytes) -> Sequence[Part]:
    """Return *declared* with each date joined with a time of the same name after it."""
    names = [part.name for part in declared if isinstance(part, Field)]
    if len(set(names)) == len(names):
        return declared
    from webtable.rowkey.fields.modifiers import moments  # few keys have them, and web keys do not

    return moments(list(declared), separator)


def _separated(parts: Sequence[Part], separator: bytes) -> Iterator[Part]:
    """Yield *parts*, with the separator as a constant after those without an end."""
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
                "or the key needs a separator: otherwise its end cannot be found"
            )
        else:
            yield part


def whole(name: str, several: list[Any], places: Sequence[tuple[Part, bytes]]) -> Any:
    """Return the value that all fields called *name* make up; the first of *several* if they do not.

    They hold different parts of it: a day before a sensor and the time after it, or a date and a time of day that are
    not side by side.
    """
    dates = [value for value in several if type(value) is date]
    joined = [datetime.combine(day, clock, UTC) for day in dates for clock in several if isinstance(clock, time)]
    fields = [(part, found) for part, found in places if isinstance(part, Field) and part.name == name]
    for value in [*joined, *several]:
        if all(agrees(part, found, {name: value}) for part, found in fields):
            return value
    return several[0]


def _check_whole(name: str, fields: Sequence[Field]) -> None:
    """Raise `InvalidArgument` for several fields of one time from which it cannot be decoded, as a year and a day."""
    moment = datetime(2023, 6, 11, 16, 30, 31, 123456, UTC)
    try:
        places = [(field, field.encode(moment)) for field in fields] if len(fields) > 1 else []
    except FieldError:
        return  # they do not hold times
    found = whole(name, [field.decode(encoded, 0)[0] for field, encoded in places], places) if places else None
    if not all(agrees(field, encoded, {name: found}) for field, encoded in places):
        raise InvalidArgument(
            f"parts={', '.join(map(declaration_of, fields))} do not determine {name!r}: one of them "
            "must keep all that the others do, or they must be a Date and a Time"
        )


def agrees(part: Part, found: bytes, values: Mapping[str, Any]) -> bool:
    """Whether *found* is the encoding by *part* of *values*, as far as these are known."""
    if isinstance(part, RandomSalt):
        return found in part.salts
    if all(name in values for name in part.takes):
        try:
            return part.encode(*(values[name] for name in part.takes)) == found
        except WebTableError:  # bytes may mean a value that `encode` refuses, such as a time before 1970
            return False
    if isinstance(part, Spread):
        return found in part.salts
    return not isinstance(part, Hash) or part.has_form(found)


def declaration_of(part: Part) -> str:
    """Return the part as it was declared, the same in every process."""
    if not hasattr(part, "__dataclass_fields__"):
        return repr(part)  # a part defined by the caller
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
        return f"<{kind.__qualname__}>"  # two of them may differ, which cannot be detected here
    return repr(value)


DOCSTRING = """Return the row key of the values, which are given by name, 1 to 16,384 bytes long.

Raises `FieldError` for a value that a field cannot hold or that is missing, and `UnknownField`.
"""


# A loop over the parts takes two to five times as long as this function, which is generated as text and compiled once
# per key, as `dataclasses` and `namedtuple` do it. The text contains checked names and numbers, never values; names of
# its own begin with `_`, which names of fields do not.
def compiled(
    parts: Sequence[Part],
    most: int,
    complain: Callable[[dict[str, Any], dict[str, Any]], None],
    then: Callable[[bytes], bytes] | None = None,
) -> Callable[..., bytes]:
    """Return a function that returns the key, with a keyword argument for each value that *parts* take.

    If it fails, if an argument is unknown, or if the key is empty or longer than *most* bytes, *complain* is called
    with the values and the unknown arguments, to raise the error. *then* is applied to the key.
    """
    names = list(dict.fromkeys(name for part in parts for name in part.takes))
    scope: dict[str, Any] = {
        "_NOT_GIVEN": NOT_GIVEN,
        "_complain": complain,
        "_len": len,
        "_Exception": Exception,
        "_then": then,
    }
    pieces = [_expression(run, scope) for run in _runs(parts)]
    values = ", ".join(f"{name!r}: {name}" for name in names)
    fits = all(part.width is not None for part in parts) and sum(part.width or 0 for part in parts) <= most
    text = "\n".join(
        [
            f"def encode({', '.join(['*', *(f'{name}=_NOT_GIVEN' for name in names), '**_unknown'])}):"
            if names
            else "def encode(**_unknown):",
            "    if _unknown:",
            f"        _complain({{{values}}}, _unknown)",
            "    try:",
            f"        {'return' if fits and then is None else '_key ='} {' + '.join(pieces)}",
            "    except _Exception:",
            f"        _complain({{{values}}}, _unknown)",
            "        raise",
            *([] if fits else [f"    if not 0 < _len(_key) <= {most}:", f"        _complain({{{values}}}, _unknown)"]),
            "    return _key" if then is None else "    return _then(_key)",
        ]
    )
    exec(text, scope)  # noqa: S102 - see above
    encode: Callable[..., bytes] = scope["encode"]
    encode.__doc__ = DOCSTRING
    encode.__module__ = "webtable.rowkey"
    return encode


def _runs(parts: Sequence[Part]) -> list[list[Part]]:
    """Return *parts* in runs of neighbours that `struct` can pack together."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and part.packing() and runs[-1][0].packing():
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _expression(run: Sequence[Part], scope: dict[str, Any]) -> str:
    """Return the expression for the bytes of *run*; its constants and functions are put into *scope*."""

    def constant(value: Any) -> str:
        name = f"_constant_{len(scope)}"
        scope[name] = value
        return name

    packings = [part.packing() for part in run]
    numbers = [
        packing.number.format(value=part.takes[0], **{k: constant(v) for k, v in packing.constants.items()})
        for part, packing in zip(run, packings, strict=True)
        if packing is not None
    ]
    if numbers:
        pack = struct.Struct(">" + "".join(packing.code for packing in packings if packing is not None)).pack
        return f"{constant(pack)}({', '.join(numbers)})"
    (part,) = run
    if isinstance(part, Constant):
        return repr(part.value)
    return f"{constant(part.encoder())}({', '.join(part.takes)})"

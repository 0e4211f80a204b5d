"""Composite keys: a row key declared as typed fields, with hashes and salts that distribute it."""

from __future__ import annotations

import dataclasses
import functools
import struct
from datetime import UTC, date, datetime, time
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NoReturn

from webtable.errors import FieldError, InvalidArgument, KeyFormatError, NoRange, UnknownField, WebTableError
from webtable.rowkey.fields.field import NOT_GIVEN, Between, Condition, Constant, Field, Newest, Part, shown
from webtable.rowkey.fields.hashes import MOST_ALTERNATIVES, Hash, RandomSalt, Spread
from webtable.rowkey.fields.text import Bytes, check_terminator
from webtable.rowkey.key import MAX_KEY, Latest, RowKey
from webtable.rowkey.ranges import KeyRange, prefix_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


# --- Declarations -----------------------------------------------------------------------------------------------------


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
    fields = [(part, encoded) for part, encoded in places if isinstance(part, Field) and part.name == name]
    for value in [*joined, *several]:
        if all(agrees(part, encoded, {name: value}) for part, encoded in fields):
            return value
    return several[0]


def _check_whole(name: str, fields: Sequence[Field]) -> None:
    """Raise `InvalidArgument` for several fields of one time from which it cannot be decoded, as a year and a day."""
    moment = datetime(2023, 6, 11, 16, 30, 31, 123456, UTC)
    try:
        places = [(field, field.encode(moment)) for field in fields] if len(fields) > 1 else []
    except FieldError:
        return  # they do not hold times
    value = whole(name, [field.decode(encoded, 0)[0] for field, encoded in places], places) if places else None
    if not all(agrees(field, encoded, {name: value}) for field, encoded in places):
        raise InvalidArgument(
            f"parts={', '.join(map(declaration_of, fields))} do not determine {name!r}: one of them "
            "must keep all that the others do, or they must be a Date and a Time"
        )


def agrees(part: Part, encoded: bytes, values: Mapping[str, Any]) -> bool:
    """Whether *encoded* is the encoding by *part* of *values*, as far as these are known."""
    if isinstance(part, RandomSalt):
        return encoded in part.salts
    if all(name in values for name in part.takes):
        try:
            return part.encode(*(values[name] for name in part.takes)) == encoded
        except WebTableError:  # bytes may mean a value that `encode` refuses, such as a time before 1970
            return False
    if isinstance(part, Spread):
        return encoded in part.salts
    return not isinstance(part, Hash) or part.has_form(encoded)


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
    limit: int,
    complain: Callable[[dict[str, Any], dict[str, Any]], None],
    then: Callable[[bytes], bytes] | None = None,
) -> Callable[..., bytes]:
    """Return a function that returns the key, with a keyword argument for each value that *parts* take.

    If it fails, if an argument is unknown, or if the key is empty or longer than *limit* bytes, *complain* is called
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
    fits = all(part.width is not None for part in parts) and sum(part.width or 0 for part in parts) <= limit
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
            *([] if fits else [f"    if not 0 < _len(_key) <= {limit}:", f"        _complain({{{values}}}, _unknown)"]),
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


# --- Ranges -----------------------------------------------------------------------------------------------------------


class Scans:
    """The scans that keys of these *parts* support.

    A scan begins at the *heads*: all prefixes that keys with the given values can have, as far as the values go.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.fields: Final = {part.name for part in parts if isinstance(part, Field)}

    def ranges(self, conditions: Mapping[str, Any]) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*; see `CompositeKey.ranges`."""
        heads, place = self._heads(conditions)
        unused = self._open(conditions, place)
        if not unused:
            if place == len(self.parts):
                return [KeyRange(head, head + b"\x00") for head in heads]
            return [prefix_range(head) for head in heads]
        part = self.parts[place]
        condition = conditions.get(part.takes[0]) if isinstance(part, Field) else None
        if not isinstance(part, Field) or not isinstance(condition, Condition):
            self._no_range(part, unused[0])
        if later := self._open(conditions, place + 1):
            raise NoRange(
                f"{later[0]!r} comes after {part.name!r}, for which there is a range and not a single value",
                f"ask for one value of {part.name!r}, or put {later[0]!r} before it",
            )
        inner = part.ranges(condition)
        return [_behind(head, keys) for head in heads for keys in inner]

    def latest(self, values: Mapping[str, Any]) -> Latest:
        """Return where the newest row with *values* is; see `CompositeKey.latest`."""
        if ranged := [name for name, value in values.items() if isinstance(value, Condition)]:
            raise NoRange(
                f"the latest row needs single values, and {ranged[0]}={values[ranged[0]]} is a condition",
                f"give one value of {ranged[0]!r}, or leave it out",
            )
        heads, place = self._heads(values)
        unused = self._open(values, place)
        if unused:
            self._no_range(self.parts[place], unused[0])
        while place < len(self.parts) and not isinstance(self.parts[place], Field):
            encodings = self.parts[place].alternatives({})
            if encodings is None:
                break
            heads = self.product(heads, encodings, self.parts[place])
            place += 1
        newest = self._newest(place)
        if newest is None:
            label = f"with {', '.join(values)} " if values else ""
            raise NoRange(
                f"the key does not show which row {label}is the latest: the next part is not a time",
                "put a ReverseTimestamp there",
            )
        return Latest([prefix_range(head) for head in heads], newest == "last")

    def _heads(self, conditions: Mapping[str, Any]) -> tuple[list[bytes], int]:
        """Return the prefixes of the keys, and the first part that is not in them."""
        heads = [b""]
        for place, part in enumerate(self.parts):
            needed = bool(self._open(conditions, place))
            if isinstance(part, Field):
                value = conditions.get(part.name, NOT_GIVEN)
                is_value = value is not NOT_GIVEN and not isinstance(value, Condition)
                encodings: Sequence[bytes] | None = [part.encode(value)] if is_value else None
            else:
                encodings = part.alternatives(conditions)
                if encodings is not None and len(encodings) > 1 and not needed:
                    encodings = None  # no later part matters for the scan
            if encodings is None:
                return heads, place
            heads = self.product(heads, encodings, part)
        return heads, len(self.parts)

    def _newest(self, place: int) -> Newest | None:
        part = self.parts[place] if place < len(self.parts) else None
        if not isinstance(part, Field) or not part.ordered:
            return None
        # A date here and its time of day later: the last row here need not be the newest.
        later = [other.name for other in self.parts[place + 1 :] if isinstance(other, Field)]
        return None if part.name in later else part.newest

    def product(self, heads: list[bytes], encodings: Sequence[bytes], part: Part) -> list[bytes]:
        """Return all combinations of *heads* and *encodings*; raises `NoRange` for more than 65,536."""
        if len(heads) * len(encodings) > MOST_ALTERNATIVES:
            raise NoRange(
                f"it would take {len(heads) * len(encodings):,} ranges to get past {declaration_of(part)}",
                f"keep fewer buckets or digits: {MOST_ALTERNATIVES:,} ranges are the limit",
            )
        return [head + tail for head in heads for tail in encodings]

    def _open(self, conditions: Mapping[str, Any], place: int) -> list[str]:
        """Return the names in *conditions* that are not yet settled before *place*: fields, and hashed values.

        A name is settled if a field of that name comes before, or a hash that no other value has.
        """
        before = self.parts[:place]
        settling = (part for part in before if isinstance(part, Field) or (isinstance(part, Hash) and part.is_whole))
        settled = {name for part in settling for name in part.takes}
        return [
            name
            for part in self.parts[place:]
            for name in part.takes
            if name in conditions and name not in settled and (isinstance(part, Field) or name not in self.fields)
        ]

    def _no_range(self, part: Part, name: str) -> NoReturn:
        if isinstance(part, Field):
            raise NoRange(
                f"{name!r} comes after {part.name!r}, for which nothing is given",
                f"give a value of {part.name!r} too, or put {name!r} before it",
            )
        missing = ", ".join(part.takes)
        raise NoRange(
            f"{name!r} comes after {declaration_of(part)}, and a scan cannot read all of its possible values",
            f"give a value of {missing} too, or keep only its first digits (first=2), so that a scan can read all",
        )


def _behind(head: bytes, keys: KeyRange) -> KeyRange:
    return KeyRange(head + keys.start, head + keys.stop if keys.stop else prefix_range(head).stop)


# --- Composite keys ---------------------------------------------------------------------------------------------------


class CompositeKey(RowKey):
    r"""A row key of fields, one after the other, with the *separator* between them, if there is one.

    A `Date` and a `Time` of one name side by side are one `datetime`. Other fields of one name hold it several times,
    such as a day before a sensor and the time after it; `decode` returns the value that all of them make up. Raises
    `InvalidArgument` for a declaration that could not be decoded: a text of varying width before other fields needs a
    separator or a terminator.

    >>> from webtable.rowkey import Text, UInt
    >>> key = CompositeKey(UInt("user_id", 4), Text("app"))
    >>> key.encode(user_id=7, app="mail")
    b'\x00\x00\x00\x07mail'
    >>> key.decode(b"\x00\x00\x00\x07mail")
    {'user_id': 7, 'app': 'mail'}
    >>> key.ranges(user_id=7)
    [KeyRange(start=b'\x00\x00\x00\x07', stop=b'\x00\x00\x00\x08')]
    """

    def __init__(self, *parts: Part, separator: str | bytes = b"") -> None:
        self.separator: Final = checked_separator(separator)
        if not parts or not all(isinstance(part, Part) for part in parts):
            raise InvalidArgument(f"parts={shown(parts)} must be one or more fields, hashes, salts or constants")
        self.declared = parts
        self.parts: Final = parts_of(parts, self.separator)
        fields = [part for part in self.parts if isinstance(part, Field)]
        self.fields: Final = {part.name: part for part in reversed(fields)}
        self.names: tuple[str, ...] = tuple(dict.fromkeys(name for part in self.parts for name in part.takes))
        self._is_random = any(isinstance(part, RandomSalt) for part in self.parts)
        # Each value is in one field only, so that encoding the values again proves a decoded key right.
        self._is_plain = not self._is_random and len(fields) == len(self.names)
        self._salt_width = sum(part.width or 0 for part in takewhile(lambda p: not isinstance(p, Field), self.parts))
        self._scans = Scans(self.parts)
        self.encode: Callable[..., bytes] = self.encoder()

    def __repr__(self) -> str:
        separator = f", separator={self.separator!r}" if self.separator else ""
        return f"CompositeKey({', '.join(map(declaration_of, self.declared))}{separator})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CompositeKey):
            return NotImplemented
        return (self.declared, self.separator) == (other.declared, other.separator)

    def __hash__(self) -> int:
        return hash((self.declared, self.separator))

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(CompositeKey, separator=self.separator), self.declared

    @property
    def is_random(self) -> bool:
        """Whether a row can have several keys, one for each bucket of a random salt."""
        return self._is_random

    def encoder(self, then: Callable[[bytes], bytes] | None = None) -> Callable[..., bytes]:
        """Return a function like `encode`; with *then*, it returns `then(key)`."""
        return compiled(self.parts, MAX_KEY, self._complain, then)

    def decode(self, key: bytes) -> dict[str, Any]:
        """Return the values of the fields; raises `KeyFormatError` for bytes that are not a key of this declaration.

        Values that are only in hashes and salts are not included.
        """
        if not isinstance(key, bytes) or not 0 < len(key) <= MAX_KEY:
            raise KeyFormatError(f"{shown(key)} is not a row key: it must be 1 to {MAX_KEY:,} bytes")
        values = self._plain_values(key) if self._is_plain else self._values(key)
        if values is None:
            raise KeyFormatError(f"{shown(key)} is not a key of {self!r}")
        return values

    def _plain_values(self, key: bytes) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        at = 0
        for part in self.parts:
            if isinstance(part, Field):
                values[part.name], at = part.decode(key, at)
            else:
                at += part.width or 0
        try:
            return values if at == len(key) and self.encode(**values) == key else None
        except WebTableError:  # bytes may mean a value that `encode` refuses, such as a time before 1970
            return None

    def _values(self, key: bytes) -> dict[str, Any] | None:
        several: dict[str, list[Any]] = {}
        places: list[tuple[Part, bytes]] = []
        at = 0
        for part in self.parts:
            if isinstance(part, Field):
                value, end = part.decode(key, at)
                several.setdefault(part.name, []).append(value)
            else:
                end = at + (part.width or 0)
            places.append((part, key[at:end]))
            at = end
        values = {name: own[0] if len(own) == 1 else whole(name, own, places) for name, own in several.items()}
        return values if at == len(key) and all(agrees(part, encoded, values) for part, encoded in places) else None

    def candidates(self, /, **values: Any) -> list[bytes]:
        """Return all keys that the values can have: one, or one for each bucket of a random salt.

        Raises `FieldError` and `UnknownField` as `encode` does, and `NoRange` for more than 65,536 keys.
        """
        if not self._is_random:
            return [self.encode(**values)]
        self._check(values)
        self._complain({name: values.get(name, NOT_GIVEN) for name in self.names}, {})
        keys = [b""]
        for part in self.parts:
            encodings = part.salts if isinstance(part, RandomSalt) else [part.encode(*(values[n] for n in part.takes))]
            keys = self._scans.product(keys, encodings, part)
        return keys

    def ranges(self, /, **conditions: Any) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*: values of the leading fields, and then one condition.

        They are sorted; a scan may take them forwards or backwards. They hold all those keys, and other keys only if a
        field keeps less than the value (a date of a time). A whole md5, sha1 or sha256 counts as its value. Raises
        `NoRange`, with the reason and a fix, if the layout cannot answer by ranges; `FieldError`, `UnknownField`.
        """
        self._check(conditions)
        return self._scans.ranges(conditions)

    def latest(self, /, **values: Any) -> Latest:
        """Return where the newest row with these values is: the first row of each range, or the last.

        "Newest" is by the time right after the values, as precisely as its field keeps it. Raises `NoRange` if there is
        none, or if another part of that time is elsewhere in the key.
        """
        self._check(values)
        return self._scans.latest(values)

    def are_wide(self, conditions: Mapping[str, Any]) -> bool:
        """Whether the ranges for *conditions* can hold rows that `meets` leaves out.

        They can for a name that several fields hold: the ranges are days, and the time of day is after a sensor.
        """
        return any(len(self._fields_of(name)) > 1 for name in conditions)

    def meets(self, values: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
        """Whether decoded *values* meet *conditions* on names that several fields hold."""
        for name, condition in conditions.items():
            fields = self._fields_of(name)
            # The field that keeps as much as all others together.
            finest = next((field for field in fields if field.is_exact(values[name])), None)
            if len(fields) > 1 and finest is not None and not _is_met(finest, values[name], condition):
                return False
        return True

    def _fields_of(self, name: str) -> list[Field]:
        return [part for part in self.parts if isinstance(part, Field) and part.name == name]

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* without the hashes, salts and constants at its beginning, for merging several scans."""
        return key[self._salt_width :]

    @property
    def declaration(self) -> str:
        """The declaration as text, as the stored layout of a table has it."""
        return repr(self)

    def _check(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name not in self.names:
                raise UnknownField(f"{name!r} is not a field of the key; it has {', '.join(self.names) or 'none'}")
            if isinstance(value, Condition) and name not in self.fields:
                raise NoRange(
                    f"{value} of {name!r} has no range, because only a hash of it is in the key",
                    f"give a value of {name!r}, or add it to the key as a field",
                )

    def _complain(self, values: Mapping[str, Any], unknown: Mapping[str, Any]) -> None:
        """Raise the error of the first part that cannot be encoded; return if there is none."""
        self._check(unknown)
        made = 0
        for part in self.parts:
            inputs = [values[name] for name in part.takes]
            for name, value in zip(part.takes, inputs, strict=True):
                if value is NOT_GIVEN:
                    raise FieldError(f"{name} is missing: the key is made of {', '.join(self.names)}")
            # Complaining must not advance a round-robin salt.
            made += len(part.encode(*inputs)) if inputs or part.width is None else part.width
        if not 0 < made <= MAX_KEY:
            text = ", ".join(f"{name}={shown(value)}" for name, value in values.items())
            raise FieldError(f"{text} makes a row key of {made:,} bytes; it must have 1 to {MAX_KEY:,}")


def _is_met(field: Field, value: Any, condition: Any) -> bool:
    if isinstance(condition, Between):
        place = field.comparable(value)
        begins = condition.since is None or field.comparable(field.kept(condition.since)) <= place
        return begins and (condition.until is None or place < field.comparable(condition.until))
    return isinstance(condition, Condition) or bool(field.kept(condition) == value)

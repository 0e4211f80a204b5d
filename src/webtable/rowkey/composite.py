"""Composite keys: a row key declared as typed fields, with hashes and salts that spread it."""

from __future__ import annotations

import dataclasses
import math
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from webtable.errors import FieldError, InvalidArgument, KeyFormatError, NoRange, UnknownField
from webtable.rowkey.compiled import compiled
from webtable.rowkey.conditions import Condition
from webtable.rowkey.derived import MOST_ALTERNATIVES, Hash, RandomSalt, Spread
from webtable.rowkey.escaping import check_terminator
from webtable.rowkey.field import NOT_GIVEN, Field, Part
from webtable.rowkey.key import MAX_KEY, Latest, RowKey
from webtable.rowkey.ranges import KeyRange, prefix_range
from webtable.rowkey.text import Bytes, Constant
from webtable.rowkey.wrapped import moments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class CompositeKey(RowKey):
    r"""A row key of fields, one behind the other, with the *separator* between them, if there is one.

    A `Date` and a `Time` of one name side by side are one `datetime`. Raises `InvalidArgument` for a declaration that
    could not be read back: a text of varying width in front of other fields needs a separator or a terminator.

    >>> from webtable.rowkey import Text, UInt
    >>> key = CompositeKey(UInt("user_id", 4), Text("app"))
    >>> key.encode(user_id=7, app="mail")
    b'\x00\x00\x00\x07mail'
    >>> key.decode(b"\x00\x00\x00\x07mail")
    {'user_id': 7, 'app': 'mail'}
    >>> key.ranges(user_id=7)
    [KeyRange(start=b'\x00\x00\x00\x07', stop=b'\x00\x00\x00\x08')]
    """

    encode: Callable[..., bytes]
    """Return the row key of the values, which are given by name, at most 16,384 bytes long.

    Raises `FieldError` for a value that a field cannot hold or that is missing, and `UnknownField`.
    """

    def __init__(self, *parts: Part, separator: str | bytes = b"") -> None:
        self.separator = separator.encode() if isinstance(separator, str) else separator
        check_terminator(self.separator or None, "separator")
        if not parts or not all(isinstance(part, Part) for part in parts):
            raise InvalidArgument(f"parts={parts!r} must be one or more fields, hashes, salts or constants")
        self.declared = parts
        self.parts = _bound(_separated(moments(list(parts), self.separator), self.separator))
        self.fields = {part.name: part for part in reversed(self.parts) if isinstance(part, Field)}
        self.names = tuple(dict.fromkeys(name for part in self.parts for name in part.takes))
        salts = takewhile(lambda part: not isinstance(part, Field), self.parts)
        self._salt_width = sum(part.width or 0 for part in salts)
        self.encode = compiled(self.parts, MAX_KEY, self._complain)

    def __repr__(self) -> str:
        separator = f", separator={self.separator!r}" if self.separator else ""
        return f"CompositeKey({', '.join(map(_declaration, self.declared))}{separator})"

    def decode(self, key: bytes) -> dict[str, Any]:
        """Return the values of the fields; raises `KeyFormatError` for bytes that `encode` would not have made.

        Values that only hashes and salts are made from are not in it.
        """
        values: dict[str, Any] = {}
        places: list[tuple[Part, bytes]] = []
        at = 0
        for part in self.parts:
            if isinstance(part, Field):
                value, end = part.decode(key, at)
                values.setdefault(part.name, value)
            else:
                end = at + (part.width or 0)
            places.append((part, key[at:end]))
            at = end
        if at != len(key) or not all(_agrees(part, found, values) for part, found in places):
            raise KeyFormatError(f"{key[:200]!r} is no key of {self!r}")
        return values

    def candidates(self, **values: Any) -> list[bytes]:
        """Return all keys that the values can have: one, or one a bucket of a random salt."""
        if not any(isinstance(part, RandomSalt) for part in self.parts):
            return [self.encode(**values)]
        self._check(values)
        keys = [b""]
        for part in self.parts:
            if isinstance(part, RandomSalt):
                keys = [key + salt for key in keys for salt in part.salts]
            else:
                encoded = part.encode(*(values.get(name, NOT_GIVEN) for name in part.takes))
                keys = [key + encoded for key in keys]
        return keys

    def ranges(self, **conditions: Any) -> list[KeyRange]:
        """Return the ranges of the keys that meet *conditions*: values of the leading fields, and then one condition.

        They are sorted; a scan may take them forwards or backwards. Raises `NoRange`, with the reason and what would
        help, where the layout cannot answer by ranges; `FieldError`, `UnknownField`.
        """
        heads, place = self._heads(conditions)
        left = self._open(conditions, place)
        if not left:
            if place == len(self.parts):
                return [KeyRange(head, head + b"\x00") for head in heads]
            return [prefix_range(head) for head in heads]
        part = self.parts[place]
        condition = conditions.get(part.takes[0]) if isinstance(part, Field) else None
        if not isinstance(part, Field) or not isinstance(condition, Condition):
            self._no_range(part, left[0])
        if behind := [name for name in self._open(conditions, place + 1) if name != part.name]:
            raise NoRange(
                f"{behind[0]!r} stands behind {part.name!r}, for which there is a range and not one value",
                f"ask for one value of {part.name!r}, or put {behind[0]!r} in front of it",
            )
        inner = part.ranges(condition)
        return [_behind(head, keys) for head in heads for keys in inner]

    def latest(self, **values: Any) -> Latest:
        """Return where the newest row with these values is: the first row of each range, or the last.

        Raises `NoRange` where no time stands right behind the values.
        """
        heads, place = self._heads(values)
        left = self._open(values, place)
        if left:
            self._no_range(self.parts[place], left[0])
        heads, place = self._fanned(heads, place)
        part = self.parts[place] if place < len(self.parts) else None
        newest = part.newest if isinstance(part, Field) else None
        if newest is None:
            known = ", ".join(values) or "nothing"
            raise NoRange(
                f"which row is the latest is not told by what stands behind {known}",
                "put a ReverseTimestamp behind it",
            )
        return Latest([prefix_range(head) for head in heads], newest == "last")

    def unsalted(self, key: bytes) -> bytes:
        """Return *key* without the hashes, salts and constants that it begins with: what fanned-out scans merge by."""
        return key[self._salt_width :]

    @property
    def declaration(self) -> str:
        """The declaration as text: what a table's stored layout keeps."""
        return repr(self)

    def _heads(self, conditions: Mapping[str, Any]) -> tuple[list[bytes], int]:
        """Return what the keys begin with, and the first part that is not in it."""
        self._check(conditions)
        heads = [b""]
        for place, part in enumerate(self.parts):
            needed = bool(self._open(conditions, place))
            if isinstance(part, Field):
                value = conditions.get(part.name, NOT_GIVEN)
                given = value is not NOT_GIVEN and not isinstance(value, Condition)
                found: Sequence[bytes] | None = [part.encode(value)] if given else None
            else:
                found = part.alternatives(conditions)
                if found is not None and len(found) > 1 and not needed:
                    found = None  # there is nothing behind it that a scan would have to get at
            if found is None:
                return heads, place
            heads = self._product(heads, found, part)
        return heads, len(self.parts)

    def _fanned(self, heads: list[bytes], place: int) -> tuple[list[bytes], int]:
        while place < len(self.parts) and not isinstance(self.parts[place], Field):
            found = self.parts[place].alternatives({})
            if found is None:
                break
            heads = self._product(heads, found, self.parts[place])
            place += 1
        return heads, place

    def _product(self, heads: list[bytes], found: Sequence[bytes], part: Part) -> list[bytes]:
        if math.prod([len(heads), len(found)]) > MOST_ALTERNATIVES:
            raise NoRange(
                f"it would take {len(heads) * len(found):,} ranges to get behind {_declaration(part)}",
                f"keep fewer buckets or digits: {MOST_ALTERNATIVES:,} ranges are the limit",
            )
        return [head + one for head in heads for one in found]

    def _open(self, conditions: Mapping[str, Any], place: int) -> list[str]:
        """Return the names in *conditions* that have their say from *place* on: fields, and what is only hashed."""
        return [
            name for part in self.parts[place:] for name in part.takes
            if name in conditions and (isinstance(part, Field) or name not in self.fields)
        ]  # fmt: skip

    def _no_range(self, part: Part, name: str) -> NoReturn:
        if isinstance(part, Field):
            raise NoRange(
                f"{name!r} stands behind {part.name!r}, for which nothing is given",
                f"give a value of {part.name!r} too, or put {name!r} in front of it",
            )
        missing = ", ".join(part.takes)
        raise NoRange(
            f"{name!r} stands behind {_declaration(part)}, and a scan cannot visit all values that it can have",
            f"give a value of {missing} too, or keep only its first digits (first=2), which a scan can visit",
        )

    def _check(self, given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if name not in self.names:
                raise UnknownField(f"{name!r} is no field of the key; it has {', '.join(self.names) or 'none'}")
            if isinstance(value, Condition) and name not in self.fields:
                raise NoRange(f"{value} of {name!r} has no range, because only a hash of it is in the key",
                              f"give a value of {name!r}, or make it a field of its own")

    def _complain(self, values: Mapping[str, Any], unknown: Mapping[str, Any]) -> None:
        """Raise the error of the first part that cannot be encoded; return where there is none."""
        self._check(unknown)
        made = 0
        for part in self.parts:
            given = [values[name] for name in part.takes]
            for name, value in zip(part.takes, given, strict=True):
                if value is NOT_GIVEN:
                    raise FieldError(f"{name} is missing: the key is made of {', '.join(self.names)}")
            made += len(part.encode(*given))
        if not 0 < made <= MAX_KEY:
            raise FieldError(f"{self._shown(values)} makes a row key of {made:,} bytes; it must have 1 to {MAX_KEY:,}")

    def _shown(self, values: Mapping[str, Any]) -> str:
        shown = {name: repr(value) for name, value in values.items()}
        return ", ".join(f"{n}={v if len(v) < 80 else v[:60] + '…'}" for n, v in shown.items())


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
            raise InvalidArgument(f"{_declaration(part)} must be the last field, or have a terminator or a size, "
                                  "or the key needs a separator: where it ends could not be told")
        else:
            yield part


def _bound(parts: Iterator[Part]) -> tuple[Part, ...]:
    found = tuple(parts)
    fields = {part.name: part for part in reversed(found) if isinstance(part, Field)}
    return tuple(part.bound(fields) for part in found)


def _agrees(part: Part, found: bytes, values: Mapping[str, Any]) -> bool:
    """Whether *found* is what *part* makes of *values*, as far as they are known."""
    if isinstance(part, RandomSalt):
        return found in part.salts
    if all(name in values for name in part.takes):
        return part.encode(*(values[name] for name in part.takes)) == found
    if isinstance(part, Spread):
        return found in part.salts
    return not isinstance(part, Hash) or part.has_form(found)


def _behind(head: bytes, keys: KeyRange) -> KeyRange:
    return KeyRange(head + keys.start, head + keys.stop if keys.stop else prefix_range(head).stop)


def _declaration(part: Part) -> str:
    """Return the part as it was declared, the same in every process."""
    values = [(f.name, getattr(part, f.name), f.default) for f in dataclasses.fields(part)  # type: ignore[arg-type]
              if f.repr]
    shown = [f"{name}={_value_text(value)}" for name, value, default in values if value != default]
    return f"{type(part).__name__}({', '.join(shown)})"


def _value_text(value: Any) -> str:
    if isinstance(value, Part):
        return _declaration(value)
    if callable(value):
        return f"{value.__module__}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return repr(value)

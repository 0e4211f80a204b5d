"""The base classes of parts of a row key, and the conditions on fields."""

from __future__ import annotations

import abc
import dataclasses
import keyword
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import msgspec

from webtable.errors import FieldError, InvalidArgument, KeyFormatError, NoRange
from webtable.rowkey.ranges import KeyRange, merged, prefix_stop


def shown(value: object) -> str:
    """Return *value* for a message: short, whatever it is."""
    # Messages quote what callers give, which may be a whole page.
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an int of more than 4,300 digits has no repr, and other types may raise anything
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:150]}…"


class Between(msgspec.Struct, frozen=True):
    """Values from `since`, included, to `until`, excluded; None is unlimited."""

    since: Any = None
    until: Any = None

    def __str__(self) -> str:
        return f"between({shown(self.since)}, {shown(self.until)})"


class StartingWith(msgspec.Struct, frozen=True):
    """Text or bytes that begin with `prefix`."""

    prefix: Any

    def __str__(self) -> str:
        return f"starting_with({shown(self.prefix)})"


class Below(msgspec.Struct, frozen=True):
    """The domain and all hosts below it."""

    domain: str

    def __str__(self) -> str:
        return f"below({shown(self.domain)})"


Condition = Between | StartingWith | Below


def is_open(condition: Any) -> bool:
    """Whether every value meets *condition*."""
    if isinstance(condition, StartingWith):
        return not condition.prefix
    return isinstance(condition, Between) and condition.since is None and condition.until is None


def between(since: Any = None, until: Any = None) -> Condition:
    """Return the condition that a field's value is at least *since* and less than *until* (None: unlimited).

    It has ranges if the bytes of the field sort as its values do. When it is used with a field, raises `FieldError` for
    limits that are not values of the field, or in the wrong order.
    """
    return Between(since, until)


def starting_with(prefix: str | bytes) -> Condition:
    """Return the condition that a text field, or a field of bytes, begins with *prefix*."""
    return StartingWith(prefix)


def below(domain: str) -> Condition:
    """Return the condition that a `ReversedDomain` is *domain* or a host below it."""
    return Below(domain)


NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda _: "nothing"})()
"""Stands for the value of a field that was not given."""

Newest = Literal["first", "last"]
Case = Literal["lower", "upper"]


class Packing(NamedTuple):
    """The `struct` format character of a part, and its number as an expression of {value} and {constants}.

    It must fail, with any exception, for every value that `encode` refuses.
    """

    code: str
    number: str = "{value}"
    constants: Mapping[str, Any] = {}


class Part(abc.ABC):
    """A part of a row key: a field, something derived from other fields, or constant bytes.

    `takes` names the values from which it is made. `width` is its size in bytes, None if that depends on the value.
    """

    takes: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # As declared: derived functions and locks cannot be pickled.
        part: Any = self
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(part) if field.repr)

    @property
    @abc.abstractmethod
    def width(self) -> int | None:
        """Bytes of the encoded part, None if they vary."""

    @abc.abstractmethod
    def encode(self, *values: Any) -> bytes:
        """Return the bytes for the values of `takes`; raises `FieldError`."""

    def alternatives(self, conditions: Mapping[str, Any]) -> Sequence[bytes] | None:
        """All encodings of the part that *conditions* (values too) allow; None if there are too many to list."""
        values = [conditions.get(name, NOT_GIVEN) for name in self.takes]
        if any(value is NOT_GIVEN or isinstance(value, Condition) for value in values):
            return None
        return [self.encode(*values)]

    def encoder(self) -> Callable[..., bytes]:
        """Return a faster `encode`, which fails, with any exception, for values that `encode` refuses."""
        return self.encode

    def packing(self) -> Packing | None:
        """Return how `struct` packs it, together with its neighbours; None if it cannot."""
        return None

    def bound(self, fields: Mapping[str, Field]) -> Part:  # noqa: ARG002 - for parts derived from other fields
        """Return the part for a key with these *fields*."""
        return self


@dataclass(frozen=True)
class Constant(Part):
    """Constant bytes in every key, such as the `:` after a salt. `width` is their number.

    Errors: `InvalidArgument` for an empty value.
    """

    value: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.value, bytes) or not self.value:
            raise InvalidArgument(f"value={shown(self.value)} must be one byte or more, as in b':'")

    @property
    def width(self) -> int:
        """The number of bytes."""
        return len(self.value)

    def encode(self) -> bytes:
        """Return the bytes."""
        return self.value


class Field(Part):
    """A part that holds a value, which can be decoded.

    `ordered` says whether keys sort by the values of the field, whatever comes after it. `newest` says where the newest
    of several keys is, for fields that hold a time.
    """

    name: str
    newest: ClassVar[Newest | None] = None

    @property
    def ordered(self) -> bool:
        """Whether byte order is value order."""
        return True

    @property
    def unordered_because(self) -> tuple[str, str]:
        """The reason why it is not, and a fix."""
        return "its bytes do not sort as its values do", "declare it as a field that keeps the order"

    @abc.abstractmethod
    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the value in *key* at *at*, and where it ends; raises `KeyFormatError`."""

    @abc.abstractmethod
    def hash_input(self, value: Any) -> bytes:
        """Return the input of hashes of the value, as the key keeps it: text as UTF-8, numbers in decimal."""

    def hash_encoder(self) -> Callable[[Any], bytes]:
        """Return a faster `hash_input`, which fails, with any exception, for values that `hash_input` refuses."""
        return self.hash_input

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the ranges of the encoded values that meet *condition*, relative to the place of the field.

        If the field keeps less than the value (a date of a time), they are widened to that. Raises `NoRange` if the
        condition has none, `FieldError` for an impossible one.
        """
        if not isinstance(condition, Between):
            raise NoRange(
                f"{condition} is not supported by {type(self).__name__}({self.name!r})",
                "ask for a value, or with between()" if self.ordered else "ask for a value",
            )
        if not self.ordered:
            reason, fix = self.unordered_because
            raise NoRange(f"{condition} of {self.name!r} has no range, because {reason}", fix)
        return self._between(condition)

    def _between(self, condition: Between) -> list[KeyRange]:
        start = b"" if condition.since is None else self.encode(condition.since)
        stop = b"" if condition.until is None else self._stop(condition.until)
        return [] if self._is_empty(condition) else merged([KeyRange(start, stop)])

    def _is_empty(self, condition: Between) -> bool:
        """Whether nothing is between the limits; raises `FieldError` for limits in the wrong order."""
        if condition.since is None or condition.until is None:
            return False
        since, until = self.comparable(condition.since), self.comparable(condition.until)
        if until < since:
            raise FieldError(f"{self.name}={condition} ends before it begins: since must be at most until")
        return bool(since == until)

    def _stop(self, until: Any) -> bytes:
        """Return the first bytes after all values below *until*."""
        encoded = self.encode(until)
        # The part of the value that the key does not keep (seconds of a date) is cut off, so keys with it are below.
        return encoded if self.is_exact(until) else prefix_stop(encoded)

    def comparable(self, value: Any) -> Any:
        """Return the form of *value* for comparisons: all of it, even if the field keeps less."""
        return self.encode(value)

    def kept(self, value: Any) -> Any:
        """The part of *value* that the key keeps, as it is decoded."""
        return self.decode(self.encode(value), 0)[0]

    def is_exact(self, value: Any) -> bool:  # noqa: ARG002 - for fields that keep less than the value
        """Whether the field keeps all of *value*."""
        return True

    def refuse(self, value: Any, limit: str) -> NoReturn:
        """Raise the `FieldError` for *value*."""
        if value is NOT_GIVEN:
            raise FieldError(f"{self.name} is missing: the key needs a value for it")
        raise FieldError(f"{self.name}={shown(value)} must be {limit}")

    def no_value(self, key: bytes, at: int) -> NoReturn:
        """Raise the `KeyFormatError` for a key that has no value of this field at *at*."""
        raise KeyFormatError(f"{key[:200]!r} has no {type(self).__name__} {self.name!r} at byte {at}")

    def fixed(self, key: bytes, at: int, width: int) -> bytes:
        """Return the *width* bytes of *key* at *at*; raises `KeyFormatError` if it is too short."""
        encoded = key[at : at + width]
        if len(encoded) != width:
            self.no_value(key, at)
        return encoded


def check_case(case: object) -> None:
    """Raise `InvalidArgument` for a *case* that is neither lower nor upper."""
    if case not in ("lower", "upper"):
        raise InvalidArgument(f"case={shown(case)} must be lower or upper")


def check_name(name: object) -> None:
    """Raise `InvalidArgument` for a field name that cannot be a keyword."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
        raise InvalidArgument(f"name={shown(name)} must be a valid argument name that does not begin with '_'")
    # Python normalizes names to this form, so encode(ﬁeld=...) would pass "field".
    if unicodedata.normalize("NFKC", name) != name:
        raise InvalidArgument(f"name={name!r} must be spelled {unicodedata.normalize('NFKC', name)!r}, as Python does")


def is_count(value: object, least: int, greatest: int | None = None) -> bool:
    """Whether *value* is an `int` within these limits, both included; 2.0 and True are not."""
    return type(value) is int and least <= value and (greatest is None or value <= greatest)

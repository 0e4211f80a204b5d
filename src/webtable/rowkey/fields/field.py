"""The parts of a row key, fields and others: how they are encoded, taken apart and asked for."""

from __future__ import annotations

import abc
import dataclasses
import keyword
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

from webtable.errors import FieldError, InvalidArgument, KeyFormatError, NoRange
from webtable.rowkey.ranges import KeyRange, merged, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def shown(value: object) -> str:
    """Return *value* for a message: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an int of more than 4,300 digits has none, and what others raise is theirs
        return f"<{type(value).__name__}>"
    return text if len(text) <= 200 else f"{text[:150]}…"


@dataclass(frozen=True, slots=True)
class Between:
    """Values from `since`, which is in, up to `until`, which is out; None is open."""

    since: Any = None
    until: Any = None

    def __str__(self) -> str:
        return f"between({shown(self.since)}, {shown(self.until)})"


@dataclass(frozen=True, slots=True)
class StartingWith:
    """Texts or bytes that begin with `prefix`."""

    prefix: Any

    def __str__(self) -> str:
        return f"starting_with({shown(self.prefix)})"


@dataclass(frozen=True, slots=True)
class Below:
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
    """Return the condition that a field's value is at least *since* and less than *until* (None: open on that side).

    It has ranges where the bytes of the field sort as its values do. Raises `FieldError`, once it is asked of a field,
    for limits that are no values of the field, or that are the wrong way round.
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
    """How `struct` packs a part: its format character, and the number as an expression of {value} and {constants}.

    It must fail, with any exception, for every value that `encode` refuses.
    """

    code: str
    number: str = "{value}"
    constants: Mapping[str, Any] = {}


class Part(abc.ABC):
    """A part of a row key: a field, something made from other fields, or constant bytes.

    `takes` names the values that it is made of. `width` is how many bytes it has, None where that depends on the value.
    """

    takes: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # As it was declared: what is made from that (functions, locks) cannot be taken to another process.
        part: Any = self
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(part) if field.repr)

    @property
    @abc.abstractmethod
    def width(self) -> int | None:
        """Bytes of the encoded part, None where they vary."""

    @abc.abstractmethod
    def encode(self, *values: Any) -> bytes:
        """Return the bytes for the values of `takes`; raises `FieldError`."""

    def alternatives(self, given: Mapping[str, Any]) -> Sequence[bytes] | None:
        """Return all that the part can be where *given* (values or conditions) holds; None where it is not known."""
        values = [given.get(name, NOT_GIVEN) for name in self.takes]
        if any(value is NOT_GIVEN or isinstance(value, Condition) for value in values):
            return None
        return [self.encode(*values)]

    def encoder(self) -> Callable[..., bytes]:
        """Return a function that is faster than `encode`, and fails, with any exception, for what `encode` refuses."""
        return self.encode

    def packing(self) -> Packing | None:
        """Return how `struct` packs it, in one go with its neighbours; None where it cannot."""
        return None

    def bound(self, fields: Mapping[str, Field]) -> Part:  # noqa: ARG002 - for those that are made of other fields
        """Return the part as it is in a key with these *fields*."""
        return self


@dataclass(frozen=True)
class Constant(Part):
    """Bytes that every key has in this place, as the `:` after a salt. `width` is their number.

    Errors: `InvalidArgument` for no bytes.
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
    """A part that holds a value, and gives it back.

    `ordered` says whether the bytes of two keys sort as their values do, whatever comes after. `newest` says where
    the newest of several keys is, for fields that hold a time.
    """

    name: str
    newest: ClassVar[Newest | None] = None

    @property
    def ordered(self) -> bool:
        """Whether byte order is value order."""
        return True

    @property
    def unordered_because(self) -> tuple[str, str]:
        """Why it is not, and what would help."""
        return "its bytes do not sort as its values do", "declare it as a field that keeps the order"

    @abc.abstractmethod
    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the value that stands in *key* at *at*, and where it ends; raises `KeyFormatError`."""

    @abc.abstractmethod
    def hash_input(self, value: Any) -> bytes:
        """Return what a hash of the value is taken of: text as UTF-8, numbers in decimal; only what the key keeps."""

    def hash_encoder(self) -> Callable[[Any], bytes]:
        """Return a function that is faster than `hash_input`, and fails, with any exception, for what that refuses."""
        return self.hash_input

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the ranges of the encoded values that meet *condition*, relative to what is in front of the field.

        Where the field keeps less than the value (a date of a moment) they are widened to what it keeps. Raises
        `NoRange` where the condition has none, `FieldError` for an impossible one.
        """
        if not isinstance(condition, Between):
            raise NoRange(
                f"{condition} asks for something that {type(self).__name__}({self.name!r}) does not know",
                "ask for a value, or with between()" if self.ordered else "ask for a value",
            )
        if not self.ordered:
            reason, remedy = self.unordered_because
            raise NoRange(f"{condition} of {self.name!r} has no range, because {reason}", remedy)
        return self._between(condition)

    def _between(self, condition: Between) -> list[KeyRange]:
        start = b"" if condition.since is None else self.encode(condition.since)
        stop = b"" if condition.until is None else self._stop(condition.until)
        return [] if self._is_empty(condition) else merged([KeyRange(start, stop)])

    def _is_empty(self, condition: Between) -> bool:
        """Whether nothing is between the limits; raises `FieldError` for those that are the wrong way round."""
        if condition.since is None or condition.until is None:
            return False
        since, until = self.comparable(condition.since), self.comparable(condition.until)
        if until < since:
            raise FieldError(f"{self.name}={condition} ends before it begins: since must be at most until")
        return bool(since == until)

    def _stop(self, until: Any) -> bytes:
        """Return the first bytes after all values below *until*."""
        encoded = self.encode(until)
        # What the key does not keep of the value (seconds of a date) is cut off, and keys with the rest are below it.
        return encoded if self.is_exact(until) else prefix_stop(encoded)

    def comparable(self, value: Any) -> Any:
        """Return what *value* is compared by with another one: all of it, where the field keeps less."""
        return self.encode(value)

    def kept(self, value: Any) -> Any:
        """Return what `decode` gives back of *value*."""
        return self.decode(self.encode(value), 0)[0]

    def is_exact(self, value: Any) -> bool:  # noqa: ARG002 - for those that keep less than the value
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
        """Return the *width* bytes of *key* at *at*; raises `KeyFormatError` where it is too short."""
        found = key[at : at + width]
        if len(found) != width:
            self.no_value(key, at)
        return found


def check_case(case: object) -> None:
    """Raise `InvalidArgument` for a *case* that is neither lower nor upper."""
    if case not in ("lower", "upper"):
        raise InvalidArgument(f"case={shown(case)} must be lower or upper")


def check_name(name: object) -> None:
    """Raise `InvalidArgument` for a field name that cannot be a keyword."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
        raise InvalidArgument(f"name={shown(name)} must be a name that an argument can have, not beginning with '_'")
    # Python reads names in this form, so encode(ﬁeld=...) would be told of "field".
    if unicodedata.normalize("NFKC", name) != name:
        raise InvalidArgument(f"name={name!r} must be spelled {unicodedata.normalize('NFKC', name)!r}, as Python does")


def is_count(value: object, least: int, most: int | None = None) -> bool:
    """Whether *value* is an `int` in these limits, both of them in; 2.0 and True are none."""
    return type(value) is int and least <= value and (most is None or value <= most)

"""Fields of integers, packed in bytes or as digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import Between, Case, Field, Packing, check_case, check_name, is_count, shown

if TYPE_CHECKING:
    from collections.abc import Callable


# The formats of `struct`; it has none for 3, 5, 6 and 7 bytes.
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class Number(Field):
    """Base class of the fields of integers: places in a base, and so a least and a greatest value.

    The value is an `int`, or an object with `__index__`, such as NumPy's integers.
    """

    name: str
    size: int
    base: ClassVar[int]
    most_places: ClassVar[int]
    places: ClassVar[str]

    def __post_init__(self) -> None:
        check_name(self.name)
        if not is_count(self.size, 1, self.most_places):
            limit = f"a number of {self.places} from 1 to {self.most_places}"
            raise InvalidArgument(f"size={shown(self.size)} of {self.name!r} must be {limit}")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int:
        """One byte for each place."""
        return self.size

    @property
    def least(self) -> int:
        """The least value."""
        return 0

    @cached_property
    def greatest(self) -> int:
        """The greatest value."""
        return int(self.base**self.size) - 1

    def hash_input(self, value: Any) -> bytes:
        """Return the number in decimal."""
        self.encode(value)  # for its error
        return b"%d" % index(value)

    def comparable(self, value: Any) -> int:
        """Return the number."""
        try:
            return index(value)
        except TypeError:
            self.refuse_number(value)

    def checked(self, value: Any) -> int:
        """Return *value* as an `int`; raises `FieldError` if it is not an integer, or out of range."""
        number = self.comparable(value)  # of NumPy's integers a plain one
        if not self.least <= number <= self.greatest:
            self.refuse_number(value)
        return number

    def refuse_number(self, value: Any) -> NoReturn:
        """Raise the `FieldError` for a *value* that is not an integer, or out of range."""
        self.refuse(value, f"an integer from {self.least:,} to {self.greatest:,}")

    def _stop(self, until: Any) -> bytes:
        # One more than the greatest value is the natural end of a half-open interval that includes it.
        return b"" if self.comparable(until) == self.greatest + 1 else super()._stop(until)

    def _between(self, condition: Between) -> Any:
        since, until = condition.since, condition.until
        end = self.greatest + 1  # which has no encoding: `_stop` makes an open range of it
        if since is not None and until is not None and self.comparable(since) == end == self.comparable(until):
            return []
        return super()._between(condition)


@dataclass(frozen=True)
class UInt(Number):
    """An integer from 0, packed big-endian.

    Width: *size* bytes, from 1 to 8 (default 8). Range: 0 to 256**size - 1. Order: by value. A long in 8 bytes is equal
    to `Bytes.toBytes(long)` of HBase; its digits would take 20 bytes. Errors: `FieldError` for anything else. Source:
    HBase reference guide, "Schema design: Rowkey and column sizes, byte patterns".
    """

    size: int = 8
    base: ClassVar[int] = 256
    most_places: ClassVar[int] = 8
    places: ClassVar[str] = "bytes"

    def packing(self) -> Packing | None:
        """Return the format of an unsigned number of this size, if there is one."""
        return Packing(_CODES[self.size]) if self.size in _CODES else None

    def encode(self, value: Any) -> bytes:
        """Return the number, the highest byte first."""
        try:
            return index(value).to_bytes(self.size, "big")
        except (OverflowError, TypeError):
            self.refuse_number(value)

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        return int.from_bytes(self.fixed(key, at, self.size), "big"), at + self.size


@dataclass(frozen=True)
class Int(UInt):
    """A signed integer, packed big-endian with its sign bit inverted, so that -1 sorts before 0.

    Width: *size* bytes, from 1 to 8 (default 8). Range: -(256**size) / 2 to 256**size / 2 - 1. Order: by value, like
    Phoenix's BIGINT; `Bytes.toBytes(long)` would sort negative numbers after the others. Errors: `FieldError` for
    anything else. Source: Apache Phoenix, "Data types".
    """

    @cached_property
    def least(self) -> int:
        """The least value."""
        return -int(256**self.size) // 2

    @cached_property
    def greatest(self) -> int:
        """The greatest value."""
        return int(256**self.size) // 2 - 1

    def packing(self) -> Packing | None:
        """Return the format of the number, shifted so that the least value is 0."""
        unsigned = super().packing()
        return unsigned and Packing(unsigned.code, "{index}({value}) - {least}", {"index": index, "least": self.least})

    def encode(self, value: Any) -> bytes:
        """Return the number, shifted so that the least value is 0."""
        try:
            return (index(value) - self.least).to_bytes(self.size, "big")
        except (OverflowError, TypeError):
            self.refuse_number(value)

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        value, end = super().decode(key, at)
        return value + self.least, end


@dataclass(frozen=True)
class _InDigits(Number):
    """Base class of numbers written in digits."""

    places: ClassVar[str] = "digits"

    @property
    def digits(self) -> tuple[bytes, bytes]:
        """The format of a number, and its possible digits."""
        raise NotImplementedError

    def encode(self, value: Any) -> bytes:
        """Return the digits."""
        return self.digits[0] % (self.size, self.checked(value))

    def encoder(self) -> Callable[..., bytes]:
        """Return a faster `encode`."""
        form, size, greatest = self.digits[0], self.size, self.greatest

        def encode(value: Any) -> bytes:
            number = index(value)
            if 0 <= number <= greatest:
                return form % (size, number)
            raise ValueError(value)

        return encode

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        digits = self.fixed(key, at, self.size)
        # `int` also takes signs, spaces, underscores and, in hex, the other case.
        if digits.strip(self.digits[1]):
            self.no_value(key, at)
        return int(digits, self.base), at + self.size


@dataclass(frozen=True)
class Digits(_InDigits):
    """An integer from 0 in decimal, with leading zeros: readable in the HBase shell.

    Width: *size* bytes, one per digit, from 1 to 40. Range: 0 to 10**size - 1. Order: by value. Errors: `FieldError`
    for anything else. Source: HBase reference guide, "Schema design: Byte patterns", on the cost of digits.
    """

    base: ClassVar[int] = 10
    most_places: ClassVar[int] = 40

    @property
    def digits(self) -> tuple[bytes, bytes]:
        """Decimal digits."""
        return b"%0*d", b"0123456789"


@dataclass(frozen=True)
class Hex(_InDigits):
    """An integer from 0 in hexadecimal, with leading zeros.

    Width: *size* bytes, one per digit, from 1 to 64. Range: 0 to 16**size - 1. Order: by value. Errors: `FieldError`
    for anything else. Source: HBase's `RegionSplitter`, whose `HexStringSplit` is made for such keys.
    """

    case: Case = "lower"
    base: ClassVar[int] = 16
    most_places: ClassVar[int] = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_case(self.case)

    @property
    def digits(self) -> tuple[bytes, bytes]:
        """Hex digits in the case of the field."""
        return (b"%0*X", b"0123456789ABCDEF") if self.case == "upper" else (b"%0*x", b"0123456789abcdef")

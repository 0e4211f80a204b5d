"""Fields of whole numbers: packed in bytes, or as digits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from webtable.errors import FieldError, InvalidArgument
from webtable.rowkey.field import Field, Packing, check_name

if TYPE_CHECKING:
    from webtable.rowkey.conditions import Between

Case = Literal["lower", "upper"]

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class Number(Field):
    """What the fields of whole numbers have in common: a least and a greatest value."""

    name: str

    @property
    def least(self) -> int:
        """The least value."""
        return 0

    @property
    def greatest(self) -> int:
        """The greatest value."""
        raise NotImplementedError

    def hash_input(self, value: Any) -> bytes:
        """Return the number in decimal."""
        self.encode(value)
        return b"%d" % value

    def refuse_number(self, value: Any) -> None:
        """Raise the `FieldError` for a *value* that is no whole number, or out of range."""
        self.refuse(value, f"a whole number from {self.least:,} to {self.greatest:,}")

    def _stop(self, until: Any) -> bytes:
        # One more than the greatest is the natural end of a half-open interval that holds it.
        return b"" if until == self.greatest + 1 and isinstance(until, int) else super()._stop(until)

    def _between(self, condition: Between) -> Any:
        if condition.since == self.greatest + 1 == condition.until:
            return []
        if isinstance(condition.since, int) and isinstance(condition.until, int) and condition.until < condition.since:
            raise FieldError(f"{self.name}={condition} ends before it begins: since must be at most until")
        return super()._between(condition)


@dataclass(frozen=True)
class UInt(Number):
    """A whole number from 0, packed big-endian.

    Width: *size* bytes, from 1 to 8 (8 unless you say otherwise). Range: 0 to 256**size - 1. Order: by value. A long in
    8 bytes is what `Bytes.toBytes(long)` of HBase makes of it, where its 20 digits would take 20. Errors: `FieldError`
    for anything else. Source: HBase reference guide, "Schema design: Rowkey and column sizes, byte patterns".
    """

    size: int = 8

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.size not in range(1, 9):
            raise InvalidArgument(f"size={self.size!r} of {self.name!r} must be a number of bytes from 1 to 8")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int:
        """The given size."""
        return self.size

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return int(256**self.size) - 1

    def packing(self) -> Packing | None:
        """Return the format of an unsigned number of that size, if there is one."""
        return Packing(_CODES[self.size]) if self.size in _CODES else None

    def encode(self, value: Any) -> bytes:
        """Return the number, the highest byte first."""
        try:
            return value.to_bytes(self.size, "big")  # type: ignore[no-any-return]
        except (AttributeError, OverflowError, TypeError):
            self.refuse_number(value)
            raise

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        return int.from_bytes(self.fixed(key, at, self.size), "big"), at + self.size


@dataclass(frozen=True)
class Int(UInt):
    """A whole number of either sign, packed big-endian with its sign bit turned over, so that -1 sorts before 0.

    Width: *size* bytes, from 1 to 8 (8 unless you say otherwise). Range: -(256**size) / 2 to 256**size / 2 - 1. Order:
    by value, as Phoenix's BIGINT; `Bytes.toBytes(long)` would put negative numbers behind the others. Errors:
    `FieldError` for anything else. Source: Apache Phoenix, "Data types".
    """

    @property
    def least(self) -> int:
        """The least value."""
        return -int(256**self.size) // 2

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return int(256**self.size) // 2 - 1

    def packing(self) -> Packing | None:
        """Return the format of the number, moved up to where its least value is 0."""
        unsigned = super().packing()
        return unsigned and Packing(unsigned.code, "{value} - {least}", {"least": self.least})

    def encode(self, value: Any) -> bytes:
        """Return the number, moved up to where its least value is 0."""
        try:
            return (value - self.least).to_bytes(self.size, "big")  # type: ignore[no-any-return]
        except (AttributeError, OverflowError, TypeError):
            self.refuse_number(value)
            raise

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        value, end = super().decode(key, at)
        return value + self.least, end


@dataclass(frozen=True)
class Digits(Number):
    """A whole number from 0 in decimal, with zeros in front: readable in the HBase shell.

    Width: *size* bytes, a digit each, from 1 to 40. Range: 0 to 10**size - 1. Order: by value. Errors: `FieldError` for
    anything else.
    """

    size: int

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.size not in range(1, 41):
            raise InvalidArgument(f"size={self.size!r} of {self.name!r} must be a number of digits from 1 to 40")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int:
        """A byte for each digit."""
        return self.size

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return int(10**self.size) - 1

    def encode(self, value: Any) -> bytes:
        """Return the digits."""
        if not isinstance(value, int) or not 0 <= value <= self.greatest:
            self.refuse_number(value)
        return b"%0*d" % (self.size, value)

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        digits = self.fixed(key, at, self.size)
        if not digits.isdigit():
            self.no_value(key, at)
        return int(digits), at + self.size


@dataclass(frozen=True)
class Hex(Number):
    """A whole number from 0 in hexadecimal, with zeros in front.

    Width: *size* bytes, a digit each, from 1 to 64. Range: 0 to 16**size - 1. Order: by value. Errors: `FieldError` for
    anything else.
    """

    size: int
    case: Case = "lower"

    def __post_init__(self) -> None:
        check_name(self.name)
        check_case(self.case)
        if self.size not in range(1, 65):
            raise InvalidArgument(f"size={self.size!r} of {self.name!r} must be a number of digits from 1 to 64")
        object.__setattr__(self, "takes", (self.name,))

    @property
    def width(self) -> int:
        """A byte for each digit."""
        return self.size

    @property
    def greatest(self) -> int:
        """The greatest value."""
        return int(16**self.size) - 1

    def encode(self, value: Any) -> bytes:
        """Return the digits."""
        if not isinstance(value, int) or not 0 <= value <= self.greatest:
            self.refuse_number(value)
        return (b"%0*X" if self.case == "upper" else b"%0*x") % (self.size, value)

    def decode(self, key: bytes, at: int) -> tuple[int, int]:
        """Return the number at *at*."""
        digits = self.fixed(key, at, self.size)
        if not re.fullmatch(rb"[0-9A-F]+" if self.case == "upper" else rb"[0-9a-f]+", digits):
            self.no_value(key, at)
        return int(digits, 16), at + self.size


def check_case(case: object) -> None:
    """Raise `InvalidArgument` for a *case* that is neither lower nor upper."""
    if case not in ("lower", "upper"):
        raise InvalidArgument(f"case={case!r} must be lower or upper")

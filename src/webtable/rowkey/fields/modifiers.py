"""Fields that wrap a field (descending order, reversed bytes), and a date joined with its time of day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, ClassVar

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.dates import Date, Time, in_utc
from webtable.rowkey.fields.field import Condition, Field, Newest, shown
from webtable.rowkey.ranges import KeyRange, prefix_stop

if TYPE_CHECKING:
    from collections.abc import Callable


_INVERTED = bytes(255 - byte for byte in range(256))


@dataclass(frozen=True)
class _Around(Field):
    """Base class of fields that wrap a field: name, width and values are those of the field."""

    field: Field

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.field.name)
        object.__setattr__(self, "takes", self.field.takes)

    @property
    def width(self) -> int | None:
        """The width of the field."""
        return self.field.width

    def hash_input(self, value: Any) -> bytes:
        """Return the hash input of the field."""
        return self.field.hash_input(value)

    def is_exact(self, value: Any) -> bool:
        """Whether the field keeps all of *value*."""
        return self.field.is_exact(value)

    def comparable(self, value: Any) -> Any:
        """Return the form in which the field compares *value*."""
        return self.field.comparable(value)


@dataclass(frozen=True)
class Descending(_Around):
    r"""A field in descending order: every byte is inverted (255 minus it), so the greatest value sorts first.

    Width: that of the field. Order: that of the field, descending; `between` has ranges. Errors: those of the field.
    Raises `InvalidArgument` for a field without an order, or with the end of the key as its end: "a" must sort after
    "ab" here, which needs the terminator ``b"\0"``. Source: Apache Phoenix, "CREATE TABLE", DESC.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.field, Field) or not self.field.ordered:
            raise InvalidArgument(f"field={shown(self.field)} has no order that could be descending")
        if self.field.width is None and getattr(self.field, "terminator", None) is None:
            raise InvalidArgument(f"field={shown(self.field)} needs terminator=b'\\0' to sort in descending order")
        super().__post_init__()
        # The end at which the newest rows are changes with the order.
        turned: dict[Newest | None, Newest | None] = {"first": "last", "last": "first"}
        object.__setattr__(self, "newest", turned.get(self.field.newest))

    def encode(self, value: Any) -> bytes:
        """Return the inverted bytes of the field."""
        return self.field.encode(value).translate(_INVERTED)

    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the value at *at*."""
        value, end = self.field.decode(key[at:].translate(_INVERTED), 0)
        return value, at + end

    def ranges(self, condition: Condition) -> list[KeyRange]:
        """Return the inverted ranges of the field."""
        # A stop of zeros is that of a range without values; inverted it would be a range without a start.
        return sorted(_turned(keys) for keys in self.field.ranges(condition) if not keys.stop or any(keys.stop))


def _turned(keys: KeyRange) -> KeyRange:
    # The bytes of a value x in [start, stop) become those in (inverted stop, inverted start], with whatever comes after
    # them; if start is a proper prefix of x, the inverted x sorts below the inverted start as well.
    start = prefix_stop(keys.stop.translate(_INVERTED)) if keys.stop else b""
    return KeyRange(start, prefix_stop(keys.start.translate(_INVERTED)) if keys.start else b"")


@dataclass(frozen=True)
class Reversed(_Around):
    """A field with its bytes reversed: the digits of a number, or the bytes of a packed one.

    It distributes sequential numbers, whose last digit changes. Width: that of the field, which must be fixed. Order:
    none. Ranges: for one value. Errors: those of the field; `InvalidArgument` for a field without a fixed width.
    Source: HBase reference guide, "Schema design: Reversing the key".
    """

    def __post_init__(self) -> None:
        if not isinstance(self.field, Field) or self.field.width is None:
            raise InvalidArgument(f"field={shown(self.field)} must have a fixed width to be reversed")
        super().__post_init__()

    @property
    def ordered(self) -> bool:
        """False: the last byte comes first."""
        return False

    @property
    def unordered_because(self) -> tuple[str, str]:
        """The last byte comes first."""
        return "its bytes are reversed", "ask for one value, or keep the field as it is after a salt"

    def encode(self, value: Any) -> bytes:
        """Return the reversed bytes of the field."""
        return self.field.encode(value)[::-1]

    def encoder(self) -> Callable[..., bytes]:
        """Return a faster `encode`, by the encoder of the field."""
        encode = self.field.encoder()
        return lambda value: encode(value)[::-1]

    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the value at *at*."""
        width = self.width or 0
        value, _ = self.field.decode(self.fixed(key, at, width)[::-1], 0)
        return value, at + width


@dataclass(frozen=True)
class Moment(Field):
    """A `Date` and a `Time` of one name, side by side, as one `datetime`; made by `CompositeKey`."""

    date: Date
    separator: bytes
    time: Time
    newest: ClassVar[Newest] = "last"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.date.name)
        object.__setattr__(self, "takes", self.date.takes)

    @property
    def width(self) -> int:
        """The width of both and of the separator between them."""
        return self.date.width + len(self.separator) + self.time.width

    @property
    def ordered(self) -> bool:
        """Whether both are, and the date includes the day."""
        return self.date.ordered and self.time.ordered and self.date.is_exact(date(2001, 2, 3))

    @property
    def unordered_because(self) -> tuple[str, str]:
        """One of the formats is not in order from the most significant part, or has gaps."""
        shown = f"{self.date.format!r} and {self.time.format!r}"
        return f"{shown} do not sort as time does", "formats in order from the most significant part would"

    def encode(self, value: Any) -> bytes:
        """Return date and time, in UTC."""
        if not isinstance(value, datetime):
            self.refuse(value, "a datetime with a timezone")
        return self.date.encode(value) + self.separator + self.time.encode(value)

    def decode(self, key: bytes, at: int) -> tuple[datetime, int]:
        """Return the time at *at*, in UTC."""
        day, end = self.date.decode(key, at)
        if not key.startswith(self.separator, end):
            self.no_value(key, at)
        clock: time
        clock, end = self.time.decode(key, end + len(self.separator))
        return datetime.combine(day, clock, UTC), end

    def hash_input(self, value: Any) -> bytes:
        """Return date and time as in the key, without a separator."""
        self.encode(value)  # for its error: alone, each of the two takes values that this field refuses
        return self.date.encode(value) + self.time.encode(value)

    def is_exact(self, value: Any) -> bool:
        """Whether both together keep all of *value*."""
        return bool(self.kept(value) == in_utc(self, value))

    def comparable(self, value: Any) -> datetime:
        """Return the time in UTC."""
        return in_utc(self, value)


def moments(fields: list[Any], separator: bytes) -> list[Any]:
    """Return *fields* with each `Date` joined with a `Time` of the same name after it."""
    joined: list[Any] = []
    for field in fields:
        before = joined[-1] if joined else None
        if isinstance(before, Date) and isinstance(field, Time) and before.name == field.name:
            joined[-1] = Moment(before, separator, field)
        else:
            joined.append(field)
    return joined

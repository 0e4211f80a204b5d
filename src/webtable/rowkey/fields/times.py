"""Fields of packed timestamps, ascending or descending."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import Field, Newest, Packing, check_name, is_count, shown
from webtable.rowkey.ranges import KeyRange, prefix_stop

if TYPE_CHECKING:
    from webtable.rowkey.fields.field import Between

Unit = Literal["s", "ms", "us"]

LONG_MAX = 2**63 - 1
"""Java's `Long.MAX_VALUE`, from which a reverse timestamp is counted down."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
UNITS: dict[Unit, timedelta] = {
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}


@dataclass(frozen=True)
class Timestamp(Field):
    """A time as the number of *unit* since 1970, packed big-endian: the newest last.

    The value is a timezone-aware `datetime` and is decoded in UTC. Times are rounded down to multiples of *step* units
    (3600 with "s" is OpenTSDB's hour). Width: *size* bytes, 4 or 8. Range: 1970 to 2106 in 4 bytes of seconds, to the
    year 9999 in 8. Order: by time. Errors: `FieldError` for anything else, including a naive `datetime`;
    `InvalidArgument` for an impossible unit, size or step. Source: OpenTSDB user guide, "HBase schema".
    """

    name: str
    unit: Unit = "ms"
    size: int = 8
    step: int = 1
    newest: ClassVar[Newest] = "last"

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise InvalidArgument(f"unit={shown(self.unit)} of {self.name!r} must be one of {', '.join(UNITS)}")
        if not is_count(self.size, 4, 8) or self.size not in (4, 8):
            raise InvalidArgument(f"size={shown(self.size)} of {self.name!r} must be 4 or 8 bytes")
        if not is_count(self.step, 1):
            raise InvalidArgument(f"step={shown(self.step)} of {self.name!r} must be a number of {self.unit} from 1")
        object.__setattr__(self, "takes", (self.name,))
        object.__setattr__(self, "_unit", UNITS[self.unit])

    _unit: ClassVar[timedelta]

    @property
    def width(self) -> int:
        """The given size."""
        return self.size

    def packing(self) -> Packing:
        """Return the format of the number of units."""
        # A time in the year 10000 in UTC fits into 8 bytes, but cannot be decoded to a datetime.
        number = "(({value} - {epoch}) // {unit} if {is_a}({value}, {datetime}) and {value} <= {last} else None)"
        constants = {"epoch": EPOCH, "unit": self._unit, "is_a": isinstance, "datetime": datetime, "last": LAST}
        if self.step != 1:
            number += " // {step} * {step}"
            constants["step"] = self.step
        return Packing("I" if self.size == 4 else "Q", number, constants)

    def encode(self, value: Any) -> bytes:
        """Return the number of units, the highest byte first."""
        return self._packed(value, self._ticks(value))

    def decode(self, key: bytes, at: int) -> tuple[datetime, int]:
        """Return the time at *at*, in UTC."""
        ticks = self._unpacked(int.from_bytes(self.fixed(key, at, self.size), "big"))
        try:
            return EPOCH + ticks * self._unit, at + self.size
        except OverflowError:
            self.no_value(key, at)

    def hash_input(self, value: Any) -> bytes:
        """Return the number of units in decimal."""
        return b"%d" % self._ticks(value)

    def is_exact(self, value: Any) -> bool:
        """Whether *value* is a multiple of unit and step."""
        return bool(EPOCH + self._ticks(value) * self._unit == in_utc(self, value))

    def comparable(self, value: Any) -> datetime:
        """Return the time in UTC: in its own timezone the repeated hour of autumn would compare as equal."""
        return in_utc(self, value)

    def _ticks(self, value: Any) -> int:
        # Checking the timezone saves most calls of in_utc, a tenth of the time of a salted key.
        is_utc = isinstance(value, datetime) and value.tzinfo is UTC
        ticks: int = ((value if is_utc else in_utc(self, value)) - EPOCH) // self._unit
        return ticks if self.step == 1 else ticks - ticks % self.step

    def _packed(self, value: Any, number: int) -> bytes:
        try:
            return number.to_bytes(self.size, "big")
        except OverflowError:
            last = "2106-02-07T06:28:15Z" if self.unit == "s" else "less than 2**32 units after 1970"
            self.refuse(value, "from 1970 on" + (f", and up to {last} in 4 bytes" if self.size == 4 else ""))

    def _unpacked(self, number: int) -> int:
        return number


@dataclass(frozen=True)
class ReverseTimestamp(Timestamp):
    """A time as `Long.MAX_VALUE` minus the number of *unit* since 1970, packed big-endian: the newest first.

    So "the latest of X" is a scan of one row. The value is a timezone-aware `datetime` and is decoded in UTC. Width:
    *size* bytes, always 8. Range: from 1970 on. Order: by time, descending; `between` has ranges. Errors: `FieldError`
    for anything else, including a naive `datetime`; `InvalidArgument` for another size. Source: HBase reference guide,
    "Schema design: Reverse timestamps".
    """

    newest: ClassVar[Newest] = "first"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size != 8:
            raise InvalidArgument(f"size={self.size!r} of {self.name!r} must be 8: it is counted from Long.MAX_VALUE")

    def packing(self) -> Packing:
        """Return the format of a long: times before 1970 do not fit into it."""
        forwards = super().packing()
        return Packing("q", "{most} - (" + forwards.number + ")", {**forwards.constants, "most": LONG_MAX})

    def encode(self, value: Any) -> bytes:
        """Return `Long.MAX_VALUE` minus the number of units, the highest byte first."""
        ticks = self._ticks(value)
        if ticks < 0:
            self.refuse(value, "from 1970 on")
        return (LONG_MAX - ticks).to_bytes(8, "big")

    def _unpacked(self, number: int) -> int:
        return LONG_MAX - number

    def _between(self, condition: Between) -> list[KeyRange]:
        since, until = condition.since, condition.until
        # Times below *until* sort after its own bytes; those of *since*, including the part cut off, are included.
        start = b"" if until is None else self.encode(until)
        start = prefix_stop(start) if until is not None and self.is_exact(until) else start
        stop = b"" if since is None else prefix_stop(self.encode(since))
        return [] if self._is_empty(condition) else [KeyRange(start, stop)]


def in_utc(field: Field, value: Any) -> datetime:
    """Return *value* in UTC; raises `FieldError` unless it is a `datetime` with a timezone."""
    if isinstance(value, datetime) and value.tzinfo is UTC:
        return value
    if not isinstance(value, datetime):
        field.refuse(value, "a datetime with a timezone")
    if value.tzinfo is None or value.utcoffset() is None:
        field.refuse(value, "a datetime with a timezone; this one is naive and therefore ambiguous")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        field.refuse(value, "in a year from 1 to 9999 in UTC")

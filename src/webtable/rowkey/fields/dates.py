"""Fields of times: packed timestamps, ascending or descending, and dates and times in a readable format."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar, Literal, NamedTuple

from webtable.errors import InvalidArgument
from webtable.rowkey.fields.field import Between, Field, Newest, Packing, check_name, is_count, shown
from webtable.rowkey.ranges import KeyRange, prefix_stop

# --- Packed timestamps ------------------------------------------------------------------------------------------------


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
        object.__setattr__(self, "_unit", UNITS[self.unit])  # looked up once, not for each key

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
        try:  # 8 bytes reach beyond the year 9999, where `datetime` ends
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


# --- Formatted dates and times ----------------------------------------------------------------------------------------


LEAP_YEAR = 1972
"""The year of dates in formats without a year: a leap year, so that the 29th of February can be decoded."""


class _Directive(NamedTuple):
    digits: int
    rank: int
    """Its rank among the directives, the most significant first."""
    of: Callable[[Any], int]


# Only directives with a fixed number of digits: names of months neither sort nor have a fixed width.
_DIRECTIVES = {
    "%Y": _Directive(4, 0, lambda t: t.year),
    "%y": _Directive(2, 0, lambda t: t.year - 2000),
    "%m": _Directive(2, 1, lambda t: t.month),
    "%j": _Directive(3, 1, lambda t: t.timetuple().tm_yday),
    "%d": _Directive(2, 2, lambda t: t.day),
    "%H": _Directive(2, 3, lambda t: t.hour),
    "%M": _Directive(2, 4, lambda t: t.minute),
    "%S": _Directive(2, 5, lambda t: t.second),
    "%f": _Directive(6, 6, lambda t: t.microsecond),
}
_DATE, _TIME = {"%Y", "%y", "%m", "%j", "%d"}, {"%H", "%M", "%S", "%f"}


@dataclass(frozen=True)
class _Formatted(Field):
    """Base class of fields with a format. The directives are those of `strftime`, with the ranges given there."""

    name: str
    format: str = ""
    allowed: ClassVar[set[str]] = set()

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.format, str) or not self.format.isascii():
            raise InvalidArgument(f"format={shown(self.format)} of {self.name!r} must be ASCII text, as in '%Y%m%d'")
        pieces = re.findall(r"%.|[^%]+", self.format)
        directives = [piece for piece in pieces if piece.startswith("%")]
        if not directives or len(set(directives)) != len(directives) or "".join(pieces) != self.format:
            raise InvalidArgument(f"format={self.format!r} of {self.name!r} must have directives, each of them once")
        if unknown := [piece for piece in directives if piece not in self.allowed]:
            raise InvalidArgument(
                f"format={self.format!r} of {self.name!r} has {unknown[0]}; a {type(self).__name__} "
                f"can have {' '.join(sorted(self.allowed))}"
            )
        if "%j" in directives and {"%m", "%d"} & set(directives):
            raise InvalidArgument(f"format={self.format!r} of {self.name!r} must have %j, or %m and %d, not both")
        described = [_DIRECTIVES[piece] for piece in directives]
        template = "".join(f"%0{_DIRECTIVES[p].digits}d" if p in _DIRECTIVES else p for p in pieces)
        pattern = "".join(rf"(\d{{{_DIRECTIVES[p].digits}}})" if p in _DIRECTIVES else re.escape(p) for p in pieces)
        set_ = object.__setattr__
        set_(self, "takes", (self.name,))
        set_(self, "_template", template.encode())
        set_(self, "_pattern", re.compile(pattern.encode()))
        set_(self, "_directives", directives)
        set_(self, "_numbers", tuple(directive.of for directive in described))
        set_(self, "_width", len((template % tuple(0 for _ in described)).encode()))

    _template: ClassVar[bytes]
    _pattern: ClassVar[re.Pattern[bytes]]
    _directives: ClassVar[list[str]]
    _numbers: ClassVar[tuple[Callable[[Any], int], ...]]
    _width: ClassVar[int]

    @property
    def width(self) -> int:
        """The digits and the other characters of the format."""
        return self._width

    @property
    def ordered(self) -> bool:
        """Whether the directives are in order from the most significant one, without a gap."""
        # With a gap (a year and a day without the month) later days would sort before earlier ones.
        ranks = [_DIRECTIVES[directive].rank for directive in self._directives]
        start = min(_DIRECTIVES[directive].rank for directive in self.allowed)
        last = 2 if "%j" in self._directives and ranks[-1] == 1 else ranks[-1]
        wanted = [rank for rank in range(start, last + 1) if not (rank == 2 and "%j" in self._directives)]
        return ranks == wanted

    @property
    def unordered_because(self) -> tuple[str, str]:
        """The format is not in order from the most significant part, or has gaps."""
        return f"{self.format!r} does not sort as time does", "a format in order from the most significant part would"

    def encode(self, value: Any) -> bytes:
        """Return *value* in the format, in UTC."""
        moment = self._checked(value)
        return self._template % tuple([number(moment) for number in self._numbers])

    def hash_input(self, value: Any) -> bytes:
        """Return *value* in the format."""
        return self.encode(value)

    def decode(self, key: bytes, at: int) -> tuple[Any, int]:
        """Return the part of the value that the format keeps."""
        match = self._pattern.fullmatch(key, at, at + self._width)
        if match is None:
            self.no_value(key, at)
        numbers = dict(zip(self._directives, map(int, match.groups()), strict=True))
        year = numbers.get("%Y", 2000 + numbers["%y"] if "%y" in numbers else LEAP_YEAR)
        try:
            value = datetime(
                year,
                numbers.get("%m", 1),
                numbers.get("%d", 1),
                numbers.get("%H", 0),
                numbers.get("%M", 0),
                numbers.get("%S", 0),
                numbers.get("%f", 0),
                UTC,
            )
            if "%j" in numbers:  # the day of the year, from 1
                value += timedelta(days=numbers["%j"] - 1)
        except (ValueError, OverflowError):
            self.no_value(key, at)
        return self._part_of(value), at + self._width

    def comparable(self, value: Any) -> Any:
        """Return the date and time of *value*."""
        return self._checked(value)

    def is_exact(self, value: Any) -> bool:
        """Whether the format keeps all of *value*."""
        return bool(self._checked(self.kept(value)) == self._checked(value))

    def _checked(self, value: Any) -> Any:
        """Return *value* as an object with the attributes of the directives; raises `FieldError`."""
        raise NotImplementedError

    def _part_of(self, moment: datetime) -> Any:
        raise NotImplementedError


class _Dated(_Formatted):
    newest: ClassVar[Newest] = "last"

    def _in_century(self, value: date) -> None:
        if "%y" in self._directives and not 2000 <= value.year <= 2099:
            self.refuse(value, "in a year from 2000 to 2099: two digits allow no other (%Y has four)")


@dataclass(frozen=True)
class Date(_Dated):
    """A date in a format of `strftime`: %Y or %y (2000 to 2099), %m, %d, %j.

    The value is a `date`, or a timezone-aware `datetime` whose date in UTC is used; with a `Time` of the same name
    right after it, it is a `datetime`, as precise as the two. Parts that the format leaves out are decoded as those of
    the first of January 1972. Width: the digits of the format. Order: by date, if the format is in order from the year
    on. Errors: `FieldError` for anything else, including a naive `datetime`. Source: ISO 8601, basic format.
    """

    format: str = "%Y%m%d"
    allowed: ClassVar[set[str]] = _DATE

    def _checked(self, value: Any) -> Any:
        if isinstance(value, datetime):
            value = in_utc(self, value)
        elif not isinstance(value, date):
            self.refuse(value, "a date, or a datetime with a timezone")
        self._in_century(value)
        return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)

    def _part_of(self, moment: datetime) -> date:
        return moment.date()


@dataclass(frozen=True)
class Time(_Formatted):
    """A time of day in a format of `strftime`: %H, %M, %S, %f (microseconds).

    The value is a `time`, or a timezone-aware `datetime` whose time in UTC is used; with a `Date` of the same name
    right before it, it is a `datetime`. Width: the digits of the format. Order: by time of day, if the format is in
    order from the hour on; `between` takes times of day. Errors: `FieldError` for anything else, including a naive
    `datetime`. Source: ISO 8601, basic format.
    """

    format: str = "%H%M%S"
    allowed: ClassVar[set[str]] = _TIME

    def _checked(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return in_utc(self, value)
        if not isinstance(value, time) or value.tzinfo is not None:
            self.refuse(value, "a time without a timezone (it is UTC), or a datetime with one")
        return datetime.combine(EPOCH, value, UTC)

    def is_exact(self, value: Any) -> bool:
        """Whether the format keeps all of the time of *value*."""
        return bool(self.kept(value) == self._checked(value).time())

    def _between(self, condition: Between) -> list[KeyRange]:
        for limit in (condition.since, condition.until):
            # From Monday at ten to Wednesday at nine includes all of Tuesday, which no range of times of day does.
            if isinstance(limit, datetime):
                self.refuse(limit, "a time of day (time): between two dates there is any time of day")
        return super()._between(condition)

    def _part_of(self, moment: datetime) -> time:
        return moment.time()


@dataclass(frozen=True)
class DateTime(_Dated):
    """A date and time in a format of `strftime`: the directives of `Date` and of `Time`.

    The value is a timezone-aware `datetime`, and is decoded in UTC. Width: the digits of the format. Order: by time, if
    the format is in order from the year on. Errors: `FieldError` for anything else, including a naive `datetime`.
    Source: ISO 8601, basic format.
    """

    format: str = "%Y%m%d%H%M%S"
    allowed: ClassVar[set[str]] = _DATE | _TIME

    def _checked(self, value: Any) -> datetime:
        moment = in_utc(self, value)
        self._in_century(moment)
        return moment

    def _part_of(self, moment: datetime) -> datetime:
        return moment

"""Arguments of callers: their names, defaults and checks, and moments in the forms that people write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Literal, get_args

from webtable._clock import clock
from webtable._messages import Argument
from webtable.errors import FutureCapture, InvalidArgument, InvalidCapture

Progress = Callable[[int], None]
"""Called with the number of pages examined so far."""
ColumnGrouping = Literal[
    "canonical",
    "charset",
    "description",
    "h1",
    "index_status",
    "redirect_to",
    "registered_domain",
    "robots",
    "scheme",
    "title",
    "truncated",
]
"""The columns of pages that these can be grouped by."""
Grouping = Literal[
    "host", "status", "type", "language", "age", "region", "size", "day", "month", "directory", ColumnGrouping
]
"""What pages can be grouped by."""
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)[:6]
"""The default groupings; the others have many groups, and are meant for plots."""
GAP = timedelta(hours=6)
"""A longer pause ends a crawl: a night's outage does not, and daily crawls are separate."""
MAX_TITLE = 60
"""About how many characters of a title search engines show."""
LIKE = 0.8
"""How much two texts share, by default, to be near duplicates."""
MOST_FINDINGS = 50
"""How many findings of each kind an audit lists, by default."""
IN_FLIGHT = 2
"""How many batches are in flight by default: one is compressed while the one before it is sent."""
MAX_AHEAD = timedelta(days=1)
"""How far in the future a capture may be dated: clocks differ, and a later date would hide captures to come."""
SETTLE_SECONDS = 1.0
"""How long a difference must last to count: a writer removes old entries only after storing the page."""


def check_numbers(**numbers: int | None) -> None:
    """Raise `InvalidArgument` for a value that is neither None nor a whole number, 0 or more."""
    for name, number in numbers.items():
        # Not `isinstance`: True is an int, and no number of results.
        if number is not None and (type(number) is not int or number < 0):
            raise InvalidArgument(f"{name}={number!r} must be a whole number, 0 or more")


def check_positive(**numbers: float | None) -> None:
    """Raise `InvalidArgument` for a value that is neither None nor a number above 0."""
    for name, number in numbers.items():
        if number is not None and (not isinstance(number, int | float) or number <= 0):
            raise InvalidArgument(f"{name}={number!r} must be above 0")


Moment = datetime | date | timedelta | str
"""A moment: a datetime with a timezone, a date (its beginning in UTC), a time ago (`timedelta`), or a string.

A string is a date, a time in ISO 8601 (in UTC unless it has an offset), how long ago (`7d`, `12h`, `30m`, `2w`), or a
day, week or month, which stands for its beginning in UTC: `today`, `yesterday`, `monday` (the last one, or today),
`last monday`, `this week`, `last week` (from Monday on), `this month`, `last month`.
"""
TIME_FORMS = (
    "2026-11-20, 2026-11-20T10:00 (UTC, or with an offset as in +01:00), yesterday, monday, last week, "
    "or ago: 7d, 12h, 30m"
)
"""How a moment may be written, for help texts."""

DURATIONS = "30m, 6h or 2d"

_STATUS_CLASS = re.compile(r"([1-9])xx", re.IGNORECASE)


def status_codes(texts: Iterable[str]) -> list[int]:
    """Return the status codes that *texts* name, each a code or a class of them; raises `InvalidArgument`.

    >>> status_codes(["404", "3xx"])[:3], status_codes(["3xx"])[-1]
    ([404, 300, 301], 399)
    """
    codes: list[int] = []
    for text in texts:
        if named := _STATUS_CLASS.fullmatch(text.strip()):
            codes += range(int(named[1]) * 100, int(named[1]) * 100 + 100)
            continue
        try:
            codes.append(int(text))
        except ValueError:
            raise InvalidArgument(
                f"status={text[:40]!r} must be a status code or a class of them, as in 404 or 3xx"
            ) from None
    return codes


def status_words(codes: Iterable[int]) -> str:
    """Return *codes* in words, a whole class of them as such.

    >>> status_words([404, *range(300, 400)])
    '3xx or 404'
    """
    rest = set(codes)
    classes = [first for first in range(100, 1000, 100) if rest.issuperset(range(first, first + 100))]
    words = {first: f"{first // 100}xx" for first in classes}
    words |= {code: str(code) for code in rest if code // 100 * 100 not in words}
    return " or ".join(words[code] for code in sorted(words))


_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([wdhms])")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def parse_time(name: str, text: str) -> datetime:
    """Return the moment that *text* names, in UTC if it has no offset; raises `InvalidArgument`.

    >>> parse_time("since", "2026-11-20"), parse_time("since", "2026-11-20T10:00+01:00").isoformat()
    (datetime.datetime(2026, 11, 20, 0, 0, tzinfo=datetime.timezone.utc), '2026-11-20T10:00:00+01:00')
    """
    # Without fractions of a second, so that a question asked twice has the same words.
    ago = _AGO.fullmatch(text.strip().lower())
    try:
        if ago:
            return clock.now().replace(microsecond=0) - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
        moment = _beginning(text) or datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as exc:
        raise InvalidArgument(f"{name}={text!r} is not a time: write {TIME_FORMS}") from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def duration_of(name: str, value: timedelta | str) -> timedelta:
    """Return *value*, a `timedelta` or a text, as a `timedelta`; raises `InvalidArgument`, which quotes *name*.

    >>> duration_of("gap", "6h"), duration_of("gap", "2d")
    (datetime.timedelta(seconds=21600), datetime.timedelta(days=2))
    """
    duration = value if isinstance(value, timedelta) else timedelta()
    if isinstance(value, str) and (ago := _AGO.fullmatch(value.strip().lower())):
        with suppress(OverflowError):
            duration = timedelta(**{_UNITS[ago[2]]: float(ago[1])})
    if duration <= timedelta():
        raise InvalidArgument(f"{name}={value!r} must be a time above 0, as in {DURATIONS}")
    return duration


def said_duration(duration: timedelta) -> str:
    """Return a *duration* as people write it.

    >>> said_duration(timedelta(hours=6)), said_duration(timedelta(days=2)), said_duration(timedelta(minutes=90))
    ('6h', '2d', '90m')
    """
    units = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
    return next((f"{duration // unit}{name}" for name, unit in units.items() if not duration % unit), str(duration))


def is_ago(text: str) -> bool:
    """Whether *text* is relative to now."""
    return _AGO.fullmatch(text.strip().lower()) is not None or _beginning(text) is not None


def _beginning(text: str) -> datetime | None:
    """Return the beginning in UTC of the day, week or month that *text* names relative to today, None if it names none.

    A week begins on Monday (ISO 8601).
    """
    # In UTC, as all dates here: a day has the same captures wherever the question is asked.
    now = clock.now()
    today = datetime(now.year, now.month, now.day, tzinfo=UTC)
    week, month = today - timedelta(days=today.weekday()), today.replace(day=1)
    match text.lower().split():
        case ["today"]:
            return today
        case ["yesterday"]:
            return today - timedelta(days=1)
        case [day] if day in _WEEKDAYS:
            return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(day)) % 7)
        case ["last", day] if day in _WEEKDAYS:
            return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(day)) % 7 or 7)
        case ["this", "week"]:
            return week
        case ["last", "week"]:
            return week - timedelta(weeks=1)
        case ["this", "month"]:
            return month
        case ["last", "month"]:
            return (month - timedelta(days=1)).replace(day=1)
    return None


def given_moment(name: str, value: Moment | None) -> datetime | None:
    """Return the moment of the argument *name* with this *value*; raises `InvalidArgument`.

    >>> given_moment("since", date(2026, 11, 20))
    datetime.datetime(2026, 11, 20, 0, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        match value:
            case None:
                return None
            case str():
                return parse_time(name, value)
            case timedelta() if value < timedelta():
                raise InvalidArgument(f"{name}={value!r} is a time ago, and must not be negative")
            case timedelta():
                return clock.now() - value
            case datetime() if value.tzinfo is not None:
                return value
            case date() if not isinstance(value, datetime):
                return datetime(value.year, value.month, value.day, tzinfo=UTC)
    except OverflowError as exc:
        raise InvalidArgument(f"{name}={value!r} is before all time") from exc
    raise InvalidArgument(
        f"{name}={value!r} must be a datetime with a timezone, as in datetime.now(UTC), or {TIME_FORMS}"
    )


def said_time(moment: datetime) -> str:
    """Return *moment* to the millisecond as the words of a question have it, in UTC.

    >>> said_time(datetime(2026, 11, 20, tzinfo=UTC)), said_time(datetime(2026, 11, 20, 10, 0, 0, 5_000, UTC))
    ('2026-11-20', '2026-11-20 10:00:00.005 UTC')
    """
    with suppress(OverflowError):  # in the first or the last hours of the calendar
        moment = moment.astimezone(UTC)
    text = moment.replace(tzinfo=None).isoformat(" ", "milliseconds").removesuffix(".000")
    day, _, time = text.partition(" ")
    return day if time == "00:00:00" else f"{text} UTC"


def moments(**arguments: Moment | None) -> dict[str, datetime | None]:
    """Return the moments of the *arguments*, by their names.

    Raises `InvalidArgument` for an invalid moment, for a `since` in the future, an `until` before `since` and a
    `new` before `old`.
    """
    times = {name: given_moment(name, moment) for name, moment in arguments.items()}
    since = times.get("since")
    if since is not None and since > clock.now():
        raise InvalidArgument(f"since={since} is in the future: nothing can have happened since then")
    for first, last in (("since", "until"), ("old", "new")):
        begin, end = times.get(first), times.get(last)
        if begin is not None and end is not None and end < begin:
            raise InvalidArgument(f"{last}={end} is before ", Argument(first, begin))
    return times


def checked_date(url: str, name: str, moment: datetime, now: datetime) -> datetime:
    """Return the date *moment* of a fetch of *url* in UTC and to the millisecond; *name* is that of its field.

    Raises `FutureCapture` for a date more than a day from *now*, and `InvalidCapture` for one before 1970.
    """
    date = in_utc(url, name, moment)
    if date > now + MAX_AHEAD:
        raise FutureCapture(f"{url[:200]}: {name}={date:%Y-%m-%d %H:%M:%S} is over a day from now")
    # HBase's timestamps are milliseconds from then on.
    if date.year < 1970:
        raise InvalidCapture(f"{url[:200]}: {name}={date:%Y-%m-%d} is before 1970")
    return date


def in_utc(url: str, name: str, moment: datetime) -> datetime:
    """Return a *moment* of the page *url* in UTC and to the millisecond; *name* is that of its field."""
    if moment.tzinfo is not UTC:
        if moment.tzinfo is None:
            raise InvalidCapture(f"{url[:200]}: {name}={moment} has no timezone; use datetime.now(UTC)")
        try:
            moment = moment.astimezone(UTC)
        except OverflowError as exc:
            raise InvalidCapture(f"{url[:200]}: {name}={moment} cannot be converted to UTC") from exc
    beyond = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - beyond) if beyond else moment

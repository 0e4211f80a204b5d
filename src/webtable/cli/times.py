"""Moments as they are written on the command line: a date, a time of a day, or how long ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from webtable.errors import InvalidArgument

TIME = "TIME"
"""What stands for a moment in a help text."""
FORMS = "2026-11-20, 2026-11-20T10:00 (UTC, or with an offset as in +01:00), or ago: 7d, 12h, 30m"

_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([wdhm])")
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes"}


def parse_time(name: str, text: str) -> datetime:
    """Return the moment that *text* tells, in UTC where it has no offset; raises `InvalidArgument`.

    >>> parse_time("since", "2026-11-20"), parse_time("since", "2026-11-20T10:00+01:00").isoformat()
    (datetime.datetime(2026, 11, 20, 0, 0, tzinfo=datetime.timezone.utc), '2026-11-20T10:00:00+01:00')
    """
    ago = _AGO.fullmatch(text.strip().lower())
    try:
        if ago:
            return datetime.now(UTC).replace(microsecond=0) - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as exc:
        raise InvalidArgument(f"{name}={text!r} is no time: write {FORMS}") from exc
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_ago(text: str) -> bool:
    """Whether *text* tells another moment whenever it is read."""
    return _AGO.fullmatch(text.strip().lower()) is not None


def parse_times(**times: str | None) -> dict[str, datetime | None]:
    """Return the moments that the options *times* tell, None for those that are not given."""
    return {name: None if text is None else parse_time(name.replace("_", "-"), text) for name, text in times.items()}

"""Moments as they are written on the command line: a date, a time of a day, or how long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webtable.repository.times import parse_time

if TYPE_CHECKING:
    from datetime import datetime

TIME = "TIME"
"""What stands for a moment in a help text."""


def parse_times(**times: str | None) -> dict[str, datetime | None]:
    """Return the moments that the options *times* tell, None for those that are not given."""
    return {name: None if text is None else parse_time(name.replace("_", "-"), text) for name, text in times.items()}

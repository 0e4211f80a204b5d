"""Sizes, durations, moments and counts as people write them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from datetime import datetime


def examples(*lines: str) -> str:
    """Return the epilogue of a command's help: *lines* as examples."""
    # The \b keeps typer from joining the lines.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def parse_names(text: str) -> list[str]:
    """Return the names in a comma-separated list.

    >>> parse_names("url, status,")
    ['url', 'status']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


TIME = "TIME"
"""The placeholder for a moment in help texts."""


def parse_times(**times: str | None) -> dict[str, datetime | None]:
    """Return the moments that the options *times* name, None for those that are not given."""
    # Imported here, since most commands take no times and should not wait for it.
    from webtable.questions import parse_time

    return {name: None if text is None else parse_time(name.replace("_", "-"), text) for name, text in times.items()}


def parse_days(name: str, text: str) -> int | None:
    """Return a number of days as seconds, None for `none`; raises `InvalidArgument`.

    >>> parse_days("ttl", "90"), parse_days("ttl", "none")
    (7776000, None)
    """
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text.strip())
    seconds = float(found[1]) * 86_400 if found else 0.0
    if not 1 <= seconds < math.inf:
        raise InvalidArgument(f"{name}={text!r} must be a number of days above 0, or none to keep everything")
    return int(seconds)


def parse_versions(text: str) -> int | None:
    """Return a number of versions, None for `all`; raises `InvalidArgument`.

    >>> parse_versions("5"), parse_versions("all")
    (5, None)
    """
    if text.strip().lower() == "all":
        return None
    if not text.strip().isdecimal():
        raise InvalidArgument(f"versions={text!r} must be a number of contents above 0, or all")
    return int(text)


def file_name(file: str) -> str:
    """Return the name of *file* in messages."""
    return "standard input" if file == "-" else file

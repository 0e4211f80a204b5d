"""What a question says of a field, besides its value: a half-open interval, a beginning, a domain with all below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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

"""The option --limit, and what is said of pages that are over one."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated

import typer

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.cli.terminal.text import parse_size, plural
from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from webtable.formats import ReadReport

LimitOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Another limit for what is read, as in parsed=64MB; may be repeated."),
]
_NAMES = tuple(field.name for field in fields(ReadLimits))


def parse_limits(texts: Sequence[str], defaults: ReadLimits = DEFAULT_LIMITS) -> ReadLimits:
    """Return the limits of a reader with those of *texts* in place of the *defaults*; raises `InvalidArgument`.

    >>> parse_limits(["parsed=64MiB", "seconds=0.5"]).parsed
    67108864
    """
    values: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or name not in _NAMES:
            raise InvalidArgument(f"limit={text!r} must be NAME=VALUE, with one of the names {', '.join(_NAMES)}")
        values[name] = _seconds(text, value) if name == "seconds" else parse_size(f"limit {name}", value)
    return replace(defaults, **values)  # type: ignore[arg-type]


def _seconds(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as exc:
        raise InvalidArgument(f"limit={text!r} must be a number of seconds") from exc


def over_limits(report: ReadReport) -> Iterator[str]:
    """Yield what is to be said of records and pages that were over a limit."""
    for counts, noun, what in (
        (report.skipped, "record", "skipped"),
        (report.unparsed, "page", "stored without title and links"),
        (report.shortened, "page", "stored with the first links only"),
    ):
        if counts:
            first = counts.most_common(1)[0][0]
            yield (
                f"over a limit: {plural(counts.total(), noun)} {what} ({_names(counts)}); "
                f"--limit {first}=… sets another one"
            )


def _names(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())

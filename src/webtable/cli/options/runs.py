"""The options of commands that take long: --limit, --resume and --refresh, and the files that resuming goes by."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.cli.exit_codes import note
from webtable.cli.terminal.text import parse_size
from webtable.errors import InvalidArgument
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable.cli.session import CommandSession

LimitOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Another limit for what is read, as in parsed=64MB; may be repeated."),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Keep what was found beside the store, and go on where an earlier run was ended."),
]
JournalOption = Annotated[
    bool, typer.Option("--resume", help="Keep a journal beside the store, and go on where an earlier run was ended.")
]
RefreshOption = Annotated[
    bool, typer.Option("--refresh/--no-refresh", help="Whether links and pages of hosts are counted at the end.")
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


def beside(store: str, ending: str) -> Path:
    """Return the file beside a *store* with this *ending*; that of a server is in the current directory."""
    url = StoreURL.parse(store)
    return Path(f"{url.rest if url.is_path else quote(url.typed, safe=':')}.{ending}")


@contextmanager
def resuming(this: CommandSession, walk: str, *, resume: bool) -> Iterator[Path | None]:
    """Give the file that keeps what a *walk* over a store has found, None without *resume*; tell what it is for."""
    path = beside(this.store, walk) if resume else None
    if path is not None and path.exists():
        note(f"going on from what an earlier run has found ({path})")
    try:
        yield path
    except KeyboardInterrupt:
        if path is not None and path.exists():
            note(f"what was found is kept in {path}: the same command goes on from there")
        raise

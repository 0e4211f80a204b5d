"""Options that several commands share: which pages, how a table is laid out, limits, resuming, and counting links."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import quote

import typer

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.cli.exit_codes import note
from webtable.cli.output import parse_days, parse_names, parse_versions
from webtable.cli.session import CommandSession, import_indexes
from webtable.display.text import parse_size
from webtable.errors import InvalidArgument
from webtable.questions import EXCLUDE, INCLUDE, SITE, named_site

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from webtable.answers import Site
    from webtable.maintenance import AlterOptions, LayoutOptions
    from webtable.rowkey import Salt

SiteArgument = Annotated[str | None, typer.Argument(metavar=SITE.metavar, help=SITE.help)]
NeededSiteArgument = Annotated[str, typer.Argument(metavar=SITE.metavar, help=SITE.help)]


def site_of(text: str | None) -> Site | None:
    """Return the site that *text* names on the command line, None if nothing was given."""
    return None if text is None else named_site(text)


class SaltName(StrEnum):
    """The part of a URL that a salt is taken from."""

    host = "host"
    domain = "domain"
    url = "url"
    none = "none"


class Names(StrEnum):
    """How columns are named in the store."""

    readable = "readable"
    short = "short"


class Compression(StrEnum):
    """How bodies are compressed."""

    zstd = "zstd"
    none = "none"


SaltOption = Annotated[
    SaltName | None, typer.Option("--salt", help="What the salt of a key is taken from. Default: host.")
]
DigitsOption = Annotated[int | None, typer.Option("--digits", help="Hex digits of the salt, 1 to 4. Default: 2.")]
TTLOption = Annotated[
    str | None,
    typer.Option(
        "--ttl", metavar="DAYS|none", help="How long content is kept. Default: always in a file, 90 days on HBase."
    ),
]
VersionsOption = Annotated[
    str | None,
    typer.Option(
        "--versions", metavar="N|all", help="How many contents of a page are kept. Default: all in a file, 3 on HBase."
    ),
]
OtherVersionsOption = Annotated[
    str | None, typer.Option("--versions", metavar="N|all", help="How many contents of a page are kept.")
]
NamesOption = Annotated[
    Names | None, typer.Option("--names", help="Column names in the store; short ones save space. Default: readable.")
]
IndexesOption = Annotated[
    str | None,
    typer.Option(
        "--indexes",
        metavar="all|none|A,B",
        help="The indexes of the new table, as in time,status; a custom one is package.module:index. "
        "Default: all of webtable's own.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Report what would be done, and change nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where there is no terminal.")]
RegionsOption = Annotated[int, typer.Option("--regions", metavar="N", help="Regions of the new table.")]


def layout_options(
    *, salt: SaltName | None = None, digits: int | None = None, **texts: StrEnum | str | None
) -> LayoutOptions:
    """Return the options that were given; raises `InvalidArgument` for an impossible value."""
    options = _read_options(texts)
    if salt is not None or digits is not None:
        options["salt"] = make_salt(salt, digits)
    return cast("LayoutOptions", options)


def altered_options(*, families: Iterable[str], fixed: Mapping[str, str | None], **texts: str | None) -> AlterOptions:
    """Return the options that were given, including *fixed* ones, which a table refuses; raises `InvalidArgument`."""
    options = {name: value for name, value in fixed.items() if value is not None} | _read_options(texts)
    for text in families:
        name, equals, value = text.partition("=")
        family, dot, option = name.strip().partition(".")
        if not equals or not dot:
            raise InvalidArgument(f"set={text!r} must be FAMILY.OPTION=VALUE, as in content.block_size=131072")
        options.setdefault("families", {}).setdefault(family, {})[option] = _option_value(value.strip())
    return cast("AlterOptions", options)


def _read_options(texts: Mapping[str, StrEnum | str | None]) -> dict[str, Any]:
    return {name: _READ[name](value) for name, value in texts.items() if value is not None}


def _option_value(text: str) -> int | bool | str:
    match text.lower():
        case "true" | "false" as word:
            return word == "true"
        case number if number.isdecimal():
            return int(number)
        case _:
            return text.upper()


def _names_of_indexes(text: str) -> tuple[str, ...]:
    from webtable.indexes import WEB_INDEXES  # imports rows and keys, which most commands do not need

    match text.strip():
        case "all":
            return tuple(WEB_INDEXES)
        case "none":
            return ()
        case given:
            names = tuple(dict.fromkeys(parse_names(given)))
            import_indexes(names)
            return names


# The functions that parse the options of a layout, by their names.
_READ: dict[str, Callable[[Any], Any]] = {
    "ttl": partial(parse_days, "ttl"),
    "names": str,
    "compression": str,
    "versions": parse_versions,
    "plain_columns": lambda text: () if text == "none" else tuple(parse_names(text)),
    "indexes": _names_of_indexes,
}


# A salt of no part of the URL has no digits; --digits alone keeps the usual part, the host.
def make_salt(salt: SaltName | None, digits: int | None) -> Salt:
    """Return the salt that the options name."""
    from webtable.rowkey import Salt

    if digits is None:
        digits = 0 if salt is SaltName.none else 2
    return Salt((salt or SaltName.host).value, digits)


LimitOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Another limit for what is read, as in parsed=64MB (repeatable)."),
]
IncludeOption = Annotated[list[str] | None, typer.Option("--include", metavar=INCLUDE.metavar, help=INCLUDE.help)]
ExcludeOption = Annotated[list[str] | None, typer.Option("--exclude", metavar=EXCLUDE.metavar, help=EXCLUDE.help)]
LanguageOption = Annotated[
    bool,
    typer.Option(
        "--detect-language", help="Find the language of pages that do not say it, in their text; some 3 ms a page."
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume", help="Keep the findings in a file beside the store, and continue where an earlier run stopped."
    ),
]
JournalOption = Annotated[
    bool, typer.Option("--resume", help="Keep a journal beside the store, and continue where an earlier run stopped.")
]
# The end of a message about a run that kept no journal.
CAN_CONTINUE = "only a run that was started with --resume can be continued from where it ended"
WorkersOption = Annotated[int, typer.Option(metavar="N", help="How many processes read the table, a part each.")]
WaitOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="How long to wait for a store that does not answer, as in 30m: a restart, say.",
        show_default="10m, but not at the start",
    ),
]
RefreshOption = Annotated[
    bool, typer.Option("--refresh/--no-refresh", help="Whether to count links and the pages of hosts at the end.")
]
_NAMES = tuple(field.name for field in fields(ReadLimits))


def parse_limits(texts: Sequence[str], defaults: ReadLimits = DEFAULT_LIMITS) -> ReadLimits:
    """Return the limits of a reader, those of *texts* replacing the *defaults*; raises `InvalidArgument`.

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


def parse_types(text: str | None) -> Collection[str] | None:
    """Return the media types of the option `--types`, None for all; raises `InvalidArgument`."""
    from webtable.formats import DEFAULT_TYPES

    if text is None:
        return DEFAULT_TYPES
    if text.strip() == "all":
        return None
    types = frozenset(parse_names(text.lower()))
    wrong = sorted(name for name in types if "/" not in name)
    if wrong or not types:
        raise InvalidArgument(f"types={text!r} must be media types, as in text/html,application/pdf, or all")
    return types


def parse_methods(text: str | None) -> Collection[str] | None:
    """Return the methods of the option `--methods`, None for all; raises `InvalidArgument`."""
    from webtable.formats import DEFAULT_METHODS, wanted_methods

    if text is None:
        return DEFAULT_METHODS
    return None if text.strip().lower() == "all" else wanted_methods(parse_names(text))


def _seconds(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as exc:
        raise InvalidArgument(f"limit={text!r} must be a number of seconds") from exc


def seconds_of(wait: str | None, default: float = 600.0) -> float:
    """Return the seconds of the option `--wait`; raises `InvalidArgument`."""
    from webtable.questions import duration_of

    return default if wait is None else duration_of("wait", wait).total_seconds()


def beside(store: str, ending: str) -> Path:
    """Return the path of a file beside a *store*, with this *ending*; for a server it is in the current directory."""
    from webtable.store import StoreURL

    url = StoreURL.parse(store)
    return Path(f"{url.rest if url.is_path else quote(url.typed, safe=':')}.{ending}")


@contextmanager
def resuming(this: CommandSession, walk: str, *, resume: bool) -> Iterator[Path | None]:
    """Yield the path of the journal of a *walk* over a store, None without *resume*; notes report its use."""
    path = beside(this.store, walk) if resume else None
    if path is not None and path.exists():
        note(f"continuing from the findings of an earlier run ({path})")
    try:
        yield path
    except KeyboardInterrupt:
        if path is not None and path.exists():
            note(f"the findings are kept in {path}: the same command continues from there")
        raise

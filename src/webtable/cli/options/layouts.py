"""The options that say how a new table is laid out."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from webtable.cli.session import import_indexes
from webtable.cli.terminal.text import parse_days, parse_names, parse_versions
from webtable.errors import InvalidArgument
from webtable.repository.indexes import WEB_INDEXES
from webtable.rowkey import Salt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webtable.repository import AlterOptions, LayoutOptions
    from webtable.schema import PlainColumn


class SaltName(StrEnum):
    """What a salt can be taken from."""

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
NamesOption = Annotated[
    Names | None, typer.Option("--names", help="Column names in the store; short ones save space. Default: readable.")
]
IndexesOption = Annotated[
    str | None,
    typer.Option(
        "--indexes",
        metavar="all|none|A,B",
        help="The indexes of the new table, as in time,status; one of your own is package.module:index. "
        "Default: all of webtable's own.",
        show_default=False,
    ),
]
RegionsOption = Annotated[int, typer.Option("--regions", metavar="N", help="Regions of the new table.")]


def layout_options(
    *,
    salt: SaltName | None = None,
    digits: int | None = None,
    ttl: str | None = None,
    names: Names | None = None,
    compression: Compression | None = None,
    versions: str | None = None,
    plain_columns: str | None = None,
    indexes: str | None = None,
) -> LayoutOptions:
    """Return those options that were given; raises `InvalidArgument` for a value that none can have."""
    options: LayoutOptions = {}
    if salt is not None or digits is not None:
        options["salt"] = make_salt(salt, digits)
    if ttl is not None:
        options["ttl"] = parse_days("ttl", ttl)
    if names is not None:
        options["names"] = names.value
    if compression is not None:
        options["compression"] = compression.value
    if versions is not None:
        options["versions"] = parse_versions(versions)
    if plain_columns is not None:
        given = () if plain_columns == "none" else tuple(parse_names(plain_columns))
        options["plain_columns"] = cast("tuple[PlainColumn, ...]", given)  # the layout refuses others
    if indexes is not None:
        options["indexes"] = _names_of_indexes(indexes)
    return options


def altered_options(
    *, ttl: str | None, versions: str | None, families: Iterable[str], fixed: Mapping[str, str | None]
) -> AlterOptions:
    """Return those options that were given, also the *fixed* ones, which a table refuses; raises `InvalidArgument`."""
    options: dict[str, Any] = {name: value for name, value in fixed.items() if value is not None}
    if ttl is not None:
        options["ttl"] = parse_days("ttl", ttl)
    if versions is not None:
        options["versions"] = parse_versions(versions)
    for text in families:
        name, equals, value = text.partition("=")
        family, dot, option = name.strip().partition(".")
        if not equals or not dot:
            raise InvalidArgument(f"set={text!r} must be FAMILY.OPTION=VALUE, as in content.block_size=131072")
        options.setdefault("families", {}).setdefault(family, {})[option] = _option_value(value.strip())
    return cast("AlterOptions", options)


def _option_value(text: str) -> int | bool | str:
    match text.lower():
        case "true" | "false" as word:
            return word == "true"
        case number if number.isdecimal():
            return int(number)
        case _:
            return text.upper()


def _names_of_indexes(text: str) -> tuple[str, ...]:
    match text.strip():
        case "all":
            return tuple(WEB_INDEXES)
        case "none":
            return ()
        case given:
            names = tuple(dict.fromkeys(parse_names(given)))
            import_indexes(names)
            return names


def make_salt(salt: SaltName | None, digits: int | None) -> Salt:
    """Return the salt that the options name."""
    if digits is None:
        digits = 0 if salt is SaltName.none else 2
    return Salt((salt or SaltName.host).value, digits)

"""Schemas of tables and column families, with the options that HBase has for them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from webtable.display import Shown, ShowsItself
from webtable.display.text import plural
from webtable.errors import InvalidArgument

Compression = Literal["NONE", "GZ", "LZO", "SNAPPY", "LZ4", "BZIP2", "ZSTD"]
Bloom = Literal["NONE", "ROW", "ROWCOL"]
BlockEncoding = Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"]

FOREVER = None  # a TTL that never ends; HBase shows it as FOREVER or 2147483647
ALL_VERSIONS = 2**31 - 1
"""The `versions` of a family that keeps all of them: the largest number that HBase takes."""


@dataclass(frozen=True, slots=True)
class FamilySchema(ShowsItself):
    """A column family: columns with the same options. The defaults are those of HBase.

    `versions` is how many versions of a cell are kept (2147483647: all), `min_versions` how many of them even after the
    TTL. `ttl` is in seconds (None keeps cells for ever), `block_size` in bytes; `replication_scope` is 0 (local) or 1
    (replicated). The options are those of HBase's ColumnFamilyDescriptor. Raises `InvalidArgument` for a value that
    HBase would refuse.
    """

    name: str
    versions: int = 1
    min_versions: int = 0
    ttl: int | None = FOREVER
    compression: Compression = "NONE"
    bloom: Bloom = "ROW"
    block_encoding: BlockEncoding = "NONE"
    block_size: int = 65536
    in_memory: bool = False
    block_cache: bool = True
    replication_scope: int = 0

    def __post_init__(self) -> None:
        def require(condition: bool, option: str, limit: str) -> None:
            if not condition:
                value = getattr(self, option)
                raise InvalidArgument(f"family {self.name!r}: {option}={value!r} must be {limit}")

        require(
            bool(self.name) and self.name.isprintable() and ":" not in self.name and self.name[0] != ".",
            "name",
            "printable, without ':' and not beginning with '.'",
        )
        require(1 <= self.versions < 2**31, "versions", "from 1 to 2147483647")
        require(0 <= self.min_versions <= self.versions, "min_versions", "from 0 to versions")
        require(self.ttl is None or 0 < self.ttl < 2**31 - 1, "ttl", "seconds from 1 to 2147483646, or None")
        require(self.compression in get_args(Compression), "compression", f"one of {', '.join(get_args(Compression))}")
        require(self.bloom in get_args(Bloom), "bloom", f"one of {', '.join(get_args(Bloom))}")
        require(
            self.block_encoding in get_args(BlockEncoding),
            "block_encoding",
            f"one of {', '.join(get_args(BlockEncoding))}",
        )
        require(self.block_size >= 1024, "block_size", "at least 1024 bytes")
        require(self.replication_scope in (0, 1), "replication_scope", "0 or 1")

    def _shown(self) -> Shown:
        """Return the options, beside HBase's defaults."""
        usual = FamilySchema(self.name)
        rows = [(option, option_value(self, option), option_value(usual, option)) for option in FAMILY_OPTIONS]
        return Shown(f"family {self.name}", ("option", "value", "HBase's default"), rows)


def option_value(family: FamilySchema, option: str) -> object:
    """Return the value of an *option* of *family* for people to read."""
    value = getattr(family, option)
    if option == "versions" and value == ALL_VERSIONS:
        return versions_text(value)
    if option != "ttl":
        return value
    return "for ever" if value is None else days_text(value)


def versions_text(versions: int) -> str:
    """Return a number of versions in words.

    >>> versions_text(3), versions_text(ALL_VERSIONS)
    ('3', 'all')
    """
    return "all" if versions == ALL_VERSIONS else str(versions)


def days_text(seconds: int) -> str:
    """Return a time to live, given in seconds, in words.

    >>> days_text(90 * 86_400), days_text(43_200), days_text(5)
    ('90 days', '0.5 days', '5 seconds')
    """
    if seconds < 3_600:
        return plural(seconds, "second")
    days = seconds / 86_400
    return f"{days:,.4g} day{'s'[: days != 1]}"


#: The names of a family's options, in the order in which they are shown.
FAMILY_OPTIONS: tuple[str, ...] = tuple(f.name for f in fields(FamilySchema) if f.name != "name")


# \w has letters of all alphabets, as HBase allows them.
_NAME = re.compile(r"(?:\w+:)?(?![.-])[\w.-]+")


def check_table_name(name: str) -> None:
    """Raise `InvalidArgument` for the *name* of a table that HBase refuses; it may begin with `namespace:`.

    >>> check_table_name("crawls:pages-2")
    """
    # TableName.isLegalTableQualifierName and isLegalNamespaceName of HBase
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"table {name!r}: a name in HBase has letters, digits, '_', '-' and '.', and begins with none of the last "
            "two; before it may be a namespace of letters, digits and '_', and ':'"
        )


@dataclass(frozen=True, slots=True)
class TableSchema(ShowsItself):
    """A table: its name (with `namespace:` before it if it has one), its families and its split points.

    `split_keys` are the split points: the first keys of all regions but the first, in byte order. They and the families
    may be given in any sequence, and are kept as tuples.
    Raises `InvalidArgument` for a table without families, families with the same name, or split keys out of order.
    """

    name: str
    families: tuple[FamilySchema, ...]
    split_keys: tuple[bytes, ...] = field(default=())

    def __post_init__(self) -> None:
        # As tuples, because a created table is compared with the one that is read back, which has tuples.
        for name in ("families", "split_keys"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        names = [family.name for family in self.families]
        if not self.name or self.name.count(":") > 1:
            raise InvalidArgument(f"name={self.name!r} must be a table name, or namespace:table")
        if not names or len(set(names)) != len(names):
            raise InvalidArgument(f"table {self.name!r}: families={names} must be one or more, each with its own name")
        if not all(isinstance(key, bytes) for key in self.split_keys):
            raise InvalidArgument(f"table {self.name!r}: split_keys={self.split_keys!r} must be bytes, as in b'80'")
        if list(self.split_keys) != sorted(set(self.split_keys)) or b"" in self.split_keys:
            raise InvalidArgument(f"table {self.name!r}: split_keys must be distinct, not empty and in byte order")

    def _shown(self) -> Shown:
        """Return the families with the options that are not HBase's defaults."""
        rows = []
        for family in self.families:
            usual = FamilySchema(family.name)
            own = [option for option in FAMILY_OPTIONS if getattr(family, option) != getattr(usual, option)]
            rows.append((family.name, ", ".join(f"{option} {option_value(family, option)}" for option in own)))
        regions = len(self.split_keys) + 1
        return Shown(f"table {self.name}, {plural(regions, 'region')}", ("family", "options of its own"), rows)

    def family(self, name: str) -> FamilySchema:
        """Return the family with that name; raises `KeyError` if there is none."""
        for family in self.families:
            if family.name == name:
                return family
        raise KeyError(name)

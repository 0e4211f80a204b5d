"""The schema of web tables: their families, and the names of their columns in the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from webtable.errors import InvalidArgument
from webtable.schema.table import ALL_VERSIONS, FOREVER, FamilySchema, TableSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

ColumnNames = Literal["readable", "short"]
PlainColumn = Literal["title", "status_code", "last_modified"]

DAY = 86_400
DEFAULT_TTL = 90 * DAY
"""For how many seconds the content of a page is kept on HBase; links are kept twice as long."""
DEFAULT_VERSIONS = 3
"""How many different contents of a page are kept on HBase."""


@dataclass(frozen=True, slots=True)
class WebColumns:
    """The names of the families and columns of a web table in the store.

    Names are repeated in every cell, so `short` ones save space on disk and in transfer; `readable` ones are easier to
    understand in the HBase shell and in other programs.
    """

    content: str
    metadata: str
    outlinks: str
    inlinks: str
    html: bytes
    capture: bytes
    page: bytes
    links: bytes
    deleted: bytes
    urls: bytes
    plain: dict[str, bytes]


_COLUMNS: dict[ColumnNames, WebColumns] = {
    "readable": WebColumns(
        content="content",
        metadata="metadata",
        outlinks="outlinks",
        inlinks="inlinks",
        html=b"content:html",
        capture=b"content:capture",
        page=b"metadata:page",
        links=b"metadata:links",
        deleted=b"metadata:deleted",
        urls=b"outlinks:urls",
        plain={name: f"metadata:{name}".encode() for name in get_args(PlainColumn)},
    ),
    "short": WebColumns(
        content="c",
        metadata="m",
        outlinks="o",
        inlinks="i",
        html=b"c:h",
        capture=b"c:c",
        page=b"m:p",
        links=b"m:l",
        deleted=b"m:d",
        urls=b"o:u",
        plain={"title": b"m:t", "status_code": b"m:s", "last_modified": b"m:m"},
    ),
}


def web_columns(names: ColumnNames = "readable") -> WebColumns:
    """Return the names in the store; raises `InvalidArgument` if *names* is neither readable nor short."""
    if names not in _COLUMNS:
        raise InvalidArgument(f"names={names!r} must be one of {', '.join(_COLUMNS)}")
    return _COLUMNS[names]


def web_table_schema(
    name: str,
    *,
    names: ColumnNames = "readable",
    versions: int | None = DEFAULT_VERSIONS,
    ttl: int | None = DEFAULT_TTL,
    split_keys: Sequence[bytes] = (),
) -> TableSchema:
    """Return the schema of the web table *name*.

    The content of a page is kept in *versions* versions (None: all of them) for *ttl* seconds (None: for ever). Links
    are kept for twice that time, outlinks in as many versions (at least 2), inlinks in 2. Metadata is always kept.
    Raises `InvalidArgument` for a value that HBase would refuse.
    """
    columns = web_columns(names)
    versions = ALL_VERSIONS if versions is None else versions
    twice = FOREVER if ttl is None else min(2 * ttl, 2**31 - 2)
    return TableSchema(
        name,
        families=(
            # Bodies are compressed by the writer, before the wire; another compression would find nothing to do.
            FamilySchema(columns.content, versions=versions, ttl=ttl),
            FamilySchema(columns.metadata),
            # Two at least: the links of the content before are what the inlinks of a new one are compared with.
            FamilySchema(columns.outlinks, versions=max(2, versions), ttl=twice),
            FamilySchema(columns.inlinks, versions=2, ttl=twice),
        ),
        split_keys=tuple(split_keys),
    )

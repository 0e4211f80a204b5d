"""What a new web table can be given, and the table that is asked for with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypedDict

from webtable.errors import InvalidArgument
from webtable.repository.indexes import WEB_INDEXES
from webtable.repository.indexes.states import defined
from webtable.rowkey import Salt, split_points
from webtable.schema import ColumnNames, IndexState, Layout, PlainColumn, TableSchema
from webtable.store import adapter_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


class LayoutOptions(TypedDict, total=False):
    """What a new table can be given; a table that is there must have been created with it.

    `salt` as in `Salt.host()`; `names` of the columns; `compression` of bodies: by zstd, or none; `plain_columns`
    stored as plain text too; the newest `versions` of the content are kept (None: all), for `ttl` seconds (None:
    always). A file keeps all of them for ever by default, HBase 3 for 90 days. `indexes` are names of webtable's own
    (all seven by default, `[]` for none) and importable ones (`package.module:attribute`).
    """

    salt: Salt
    names: ColumnNames
    compression: Literal["zstd", "none"]
    plain_columns: tuple[PlainColumn, ...]
    versions: int | None
    ttl: int | None
    indexes: Sequence[str]


class NewWebTable(NamedTuple):
    """A web table as it is asked for: its layout, its split points, and the states of its indexes by their names."""

    layout: Layout
    splits: list[bytes]
    indexes: dict[str, IndexState]

    @classmethod
    def of(cls, url: str | os.PathLike[str], options: LayoutOptions, regions: int) -> Self:
        """Return the table that *options* describe; raises `InvalidArgument` before anything is touched."""
        usual = adapter_of(url).capabilities
        given = {"versions": usual.default_versions, "ttl": usual.default_ttl, **options}
        salt = given.pop("salt", Salt.host())
        indexes = defined(options.get("indexes", tuple(WEB_INDEXES)))
        given.pop("indexes", None)
        if not isinstance(salt, Salt):
            raise InvalidArgument(f"salt={salt!r} must be a Salt, as in Salt.host()")
        layout = Layout.of(salt, **given)
        layout.table_schema("any")
        return cls(layout, split_points(regions, layout.digits), indexes)

    def schema(self, table: str) -> TableSchema:
        """Return the schema of the table of its pages, by this name."""
        return self.layout.table_schema(table, self.splits)

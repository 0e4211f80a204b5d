"""The manifest of a Parquet dataset: of which pages it is, up to which moment, and the exports that it is made of."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from webtable._checksums import UNREADABLE, unsealed
from webtable.errors import FormatError
from webtable.formats.exports.manifest import sealed_bytes, write_sealed

if TYPE_CHECKING:
    from webtable._files import Folder

PartitionedBy = Literal["host", "month"]
"""What the folders of a dataset are named after: the host of a page, or the month of its newest capture."""
NAME: Final = "_manifest.json"
"""Readers of a folder of Parquet files skip names that begin with _."""
FORMAT_NUMBER: Final = 1


class LakeExport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One export into a dataset: the version `webtable` made it between `begun` and `ended`.

    It wrote `rows` pages to `files` files of `bytes` bytes, which the file `listing` lists, one JSON object a line
    (name, rows, bytes, SHA-256); `sha256` is that of the listing. `damaged` counts rows that could not be read, up to
    100.
    """

    webtable: str
    begun: datetime
    ended: datetime
    rows: int
    files: int
    bytes: int
    damaged: int
    listing: str
    sha256: str


class LakeManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of a dataset: `pages` pages of the `site` of a `table`, as they were stored at `moment` or later.

    `columns` are those of its rows, without `exported_at` and what `partition_by` names.
    """

    format_number: int = FORMAT_NUMBER
    table: str
    site: str
    partition_by: PartitionedBy
    columns: tuple[str, ...]
    moment: datetime
    pages: int
    exports: tuple[LakeExport, ...]

    def write(self, folder: Folder) -> None:
        """Write the manifest into *folder*; it replaces an earlier one."""
        write_sealed(folder, NAME, self)


def read_lake_manifest(folder: Folder) -> LakeManifest:
    """Return the manifest in *folder*; raises `FormatError` if it is missing, damaged or not valid."""
    sealed = sealed_bytes(folder, NAME, "this directory has no Parquet dataset that webtable has written")
    try:
        return msgspec.json.decode(unsealed(sealed), type=LakeManifest)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{folder.path / NAME}: damaged, altered or not the manifest of a dataset: {exc}") from exc

"""Export of pages into a Parquet dataset: their newest captures, and in a later export what is different then.

The files of an export are written into a folder of their own, and moved to their places when all are complete, the
manifest last. A later export compares the pages with those of the one before by URL: these, and a hash of each row, are
in files of the dataset, in the order of the answer. So it also notices captures that were stored late, under a date
before the last export; and a page that was deleted is no longer in that list.

The folder may be somebody else's: it is read and written as a `Folder`, and no name is taken out of what is in a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.exports.locked_folder import locked_folder
from webtable.formats.lakes.lake_manifest import NAME, LakeManifest, PartitionedBy, read_lake_manifest
from webtable.formats.lakes.lake_writer import INCOMING, LISTINGS, STATE, LakeWriter, prefix
from webtable.repository.answers.arrow import arrow
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.context import Frame
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.site import ALL, site_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from webtable._files import Folder
    from webtable.repository.arguments import Progress
    from webtable.repository.reading.site import Site
    from webtable.repository.table.web_table import WebTable

LAKE_FILE_BYTES: Final = 128_000_000


@dataclass(slots=True)
class WrittenLake:
    """The result of `write_lake`: the manifest, and as `examples` the first 100 rows that could not be read."""

    manifest: LakeManifest
    examples: list[DamagedRow] = field(default_factory=list)


def write_lake(
    table: WebTable,
    folder: str | PathLike[str],
    site: Site | None = None,
    *,
    partition_by: PartitionedBy,
    columns: Sequence[str] | None = None,
    since: Literal["last"] | None = None,
    file_bytes: int = LAKE_FILE_BYTES,
    on_progress: Progress | None = None,
) -> WrittenLake:
    """Write the pages of *table* that `WebTable.pages` lists for *site* into Parquet files below *folder*.

    A page is a row, with the columns of a listing, or those that *columns* names, and `exported_at`. The files are in
    folders as Hive names them: `host=example.com` with *partition_by* "host", and `month=2026-11`, the month in UTC of
    the newest capture, with "month". The rows of a file take *file_bytes* bytes at most, unless there is only one.

    *folder* must be new or empty; with *since* "last" it may be a dataset of the same arguments, to which rows are
    added for pages that are new or different since the last export; `_state` lists the rows that hold (docs/lake.md
    says how it is read). Without *columns* it keeps those that it has. The files appear when all are complete: an
    export that is cut short changes nothing, and begins anew. *on_progress* is called with how many pages were read so
    far. Needs `hbase-webtable[arrow]`. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `UnknownColumn`,
    `MissingExtra`, `FormatError` for a dataset that is damaged, or has links or pipes in it, and `OSError`.
    """
    path = Path(folder).resolve()
    if partition_by not in get_args(PartitionedBy):
        raise InvalidArgument(f"partition_by={partition_by!r} must be one of {', '.join(get_args(PartitionedBy))}")
    if since not in ("last", None):
        reason = "pages may be stored later under dates before any moment, so only the last export can be compared with"
        raise InvalidArgument(f"since={since!r} must be 'last': {reason}")
    if type(file_bytes) is not int or file_bytes < 1:
        raise InvalidArgument(f"file_bytes={file_bytes!r} must be a number of bytes above 0")
    Scope.of(site).ranges(Frame.of(table.store, table.table, table.layout, strict=table.strict))
    wanted = LakeManifest(
        table=table.table,
        site=site_text(site or ALL),
        partition_by=partition_by,
        columns=_columns(partition_by, columns),
        moment=clock.now(),
        pages=0,
        exports=(),
    )
    arrow()  # raises before a folder is made, as do the lines above
    pages = table.pages(site)
    with locked_folder(path) as opened:
        before = _manifest_in(opened, since)
        if before is not None:
            known = before.columns if columns is None else wanted.columns
            wanted = _continued(path, before, replace(wanted, columns=known))
        try:
            LakeWriter(opened, wanted, table.key, file_bytes).run(pages, on_progress)
            _settle(opened)
        finally:
            _drop_incoming(opened)
        return WrittenLake(read_lake_manifest(opened), pages.damaged)


def _columns(partition_by: PartitionedBy, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns of the files, for those that are *named*; raises `UnknownColumn`."""
    names = ["url", *(one.name for one in PAGES.chosen(named)), *(["fetched_at"] if partition_by == "month" else ())]
    # A reader has the host from the name of the folder.
    return tuple(name for name in dict.fromkeys(names) if name != partition_by)


def _manifest_in(folder: Folder, since: str | None) -> LakeManifest | None:
    """Return the manifest of the dataset in *folder*, after ending an export that was cut short; None for no dataset.

    Raises `FormatError` for a link or a pipe in the folder, which the export would meet at its end, after hours.
    """
    present = set(folder.names())
    for name in present:
        folder.kind(name)
    if INCOMING in present and folder.kind(f"{INCOMING}/{NAME}") is not None:
        _settle(folder)
        present = set(folder.names())
    if NAME in present:
        if since is None:
            hint = "since='last' (--since last) adds what came since, or name a new or empty directory"
            raise InvalidArgument(f"{folder.path}: there is a dataset already; {hint}")
    elif present - {INCOMING}:
        raise InvalidArgument(f"{folder.path}: the directory is not empty, and has no dataset; name a new or empty one")
    _drop_incoming(folder)
    return read_lake_manifest(folder) if NAME in present else None


def _continued(folder: Path, before: LakeManifest, wanted: LakeManifest) -> LakeManifest:
    """Return the manifest *wanted* with the exports *before* it; raises `InvalidArgument` for other arguments."""
    for name in ("format_number", "table", "site", "partition_by", "columns"):
        if (was := getattr(before, name)) != (now := getattr(wanted, name)):
            raise InvalidArgument(f"{folder}: the dataset has {name}={was!r}, not {now!r}: name another directory")
    later = before.moment + timedelta(microseconds=1)  # for a clock that was set back
    return replace(wanted, moment=max(wanted.moment, later), pages=before.pages, exports=before.exports)


def _settle(folder: Folder) -> None:
    """Move the files of a complete export to their places, the manifest last; it may have been done in part."""
    with folder.folder(INCOMING) as incoming:
        manifest = read_lake_manifest(incoming)
        for name in incoming.names():
            if name == NAME:
                continue
            if name not in (STATE, LISTINGS) and not name.startswith(f"{manifest.partition_by}="):
                path = incoming.path
                raise FormatError(f"{path / name}: no part of an export; remove {path}, and export again")
            with incoming.folder(name) as source, folder.folder(name, make=True) as target:
                for file in source.names():
                    _move(source, file, target)
        _move(incoming, NAME, folder)
    with folder.folder(STATE) as state:
        for name in state.names():
            if not name.startswith(f"{prefix(len(manifest.exports))}-"):
                state.remove(name)
    _drop_incoming(folder)


def _move(source: Folder, name: str, target: Folder) -> None:
    source.move(name, target)


def _drop_incoming(folder: Folder) -> None:
    if folder.kind(INCOMING) is not None and folder.kind(f"{INCOMING}/{NAME}") is None:
        folder.remove_folder(INCOMING)

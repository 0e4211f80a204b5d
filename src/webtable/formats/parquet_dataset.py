"""Parquet datasets: their manifest, their partitioned files, one export of the newest captures, and later ones.

The files of an export are written into a folder of their own, and moved to their places when all are complete, the
manifest last. A later export compares the pages with those of the one before by URL: these, and a hash of each row, are
in files of the dataset, in the order of the answer. So it also notices captures that were stored late, under a date
before the last export; and a page that was deleted is no longer in that list.

The folder may be somebody else's: it is read and written as a `Folder`, and no name is taken out of what is in a file.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from webtable._checksums import UNREADABLE, unsealed
from webtable._clock import clock
from webtable._files import Folder, naming_errors
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.archives import check_file_bytes
from webtable.formats.exports import locked_folder, sealed_bytes, synced, write_sealed
from webtable.formats.warc_out import software
from webtable.repository.answers.arrow import BATCH_ROWS, GROUP_BYTES, GROUP_ROWS, arrow, new_file, type_of
from webtable.repository.answers.columns import PAGES
from webtable.repository.context import TableContext
from webtable.repository.reading.scope import ALL, Scope, Site, site_text
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    import pyarrow as pa

    from webtable.repository.answers.results import Pages
    from webtable.repository.arguments import Progress
    from webtable.repository.table.web_table import WebTable
    from webtable.rowkey import WebKey


# --- Manifest ---------------------------------------------------------------------------------------------------------


PartitionedBy = Literal["host", "month"]
"""What the folders of a dataset are named after: the host of a page, or the month of its newest capture."""
NAME: Final = "_manifest.json"
"""Readers of a folder of Parquet files skip names that begin with _."""
FORMAT_NUMBER: Final = 1


class DatasetExport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class DatasetManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    exports: tuple[DatasetExport, ...]

    def write(self, folder: Folder) -> None:
        """Write the manifest into *folder*; it replaces an earlier one."""
        write_sealed(folder, NAME, self)


def read_dataset_manifest(folder: Folder) -> DatasetManifest:
    """Return the manifest in *folder*; raises `FormatError` if it is missing, damaged or not valid."""
    sealed = sealed_bytes(folder, NAME, "this directory has no Parquet dataset that webtable has written")
    try:
        return msgspec.json.decode(unsealed(sealed), type=DatasetManifest)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{folder.path / NAME}: damaged, altered or not the manifest of a dataset: {exc}") from exc


# --- Partitioned files ------------------------------------------------------------------------------------------------


_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes for a value that is missing."""
_MOST_OF_NAME: Final = 255
_FULL: Final = 0.9
"""What part of its size a file must have to be full."""


class DatasetFile(msgspec.Struct, frozen=True):
    """A complete file of a dataset: its name below the folder of that, its rows, size and SHA-256."""

    name: str
    rows: int
    bytes: int
    sha256: str


def hive_folder(name: str, value: str | None) -> str:
    """Return the folder of the rows whose column *name* has this *value*, as Hive encodes it.

    A value that is too long for the name of a folder is left to the other columns, as one that is missing.

    >>> hive_folder("host", "example.com"), hive_folder("host", "[::1]")
    ('host=example.com', 'host=%5B%3A%3A1%5D')
    """
    folder = f"{name}={quote(value or _NO_VALUE, safe='')}"
    return folder if len(folder) <= _MOST_OF_NAME else f"{name}={_NO_VALUE}"


class PartitionedFiles:
    """Files in the folders below *root*, named *prefix* and numbered; of each folder one is open at most.

    At most *most_open* are open; for another one, the one that was not used for longest is completed. The rows of a
    file take *file_bytes* at most, unless it has only one; *on_file* is called with each that is complete. Rows that
    wait to be written take 64 MiB of memory in all. At the end of a `with` block all files are completed; after an
    error they are left as they are.
    """

    def __init__(
        self, root: Folder, prefix: str, *, most_open: int, file_bytes: int, on_file: Callable[[DatasetFile], None]
    ) -> None:
        self._root = root
        self._prefix = prefix
        self._most_open = most_open
        self._file_bytes = file_bytes
        self._on_file = on_file
        self._open: OrderedDict[str, _OpenFile] = OrderedDict()
        self._count = 0

    def __enter__(self) -> PartitionedFiles:
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        try:
            while failed is None and self._open:
                self._complete(next(iter(self._open)))
        finally:
            for file in self._open.values():
                file.abandon()

    def put(self, folder: str, rows: pa.Table) -> None:
        """Add *rows* to the files in *folder*, all of which have the same columns; without rows a file is begun."""
        while True:
            file = self._file(folder, rows.schema)
            room = self._file_bytes - file.written - file.waiting_bytes
            fitting = rows.slice(0, max(1, room * rows.num_rows // max(1, rows.nbytes)))
            file.add(fitting)
            if file.written + file.waiting_bytes >= self._file_bytes or file.waiting_rows >= GROUP_ROWS:
                file.write_group()
            # A file that lacks little is full, or its last row groups would be ever smaller.
            if file.written >= self._file_bytes * _FULL:
                self._complete(folder)
            while sum(waiting_file.waiting_bytes for waiting_file in self._open.values()) > GROUP_BYTES:
                max(self._open.values(), key=lambda waiting_file: waiting_file.waiting_bytes).write_group()
            rows = rows.slice(fitting.num_rows)
            if not rows.num_rows:
                return

    def _file(self, folder: str, schema: pa.Schema) -> _OpenFile:
        if folder not in self._open:
            if len(self._open) >= self._most_open:
                self._complete(next(iter(self._open)))
            name = f"{self._prefix}-{self._count:06}.parquet"
            self._count += 1
            self._open[folder] = _OpenFile(self._root, folder, name, schema)
        self._open.move_to_end(folder)
        return self._open[folder]

    def _complete(self, folder: str) -> None:
        complete = self._open[folder].complete()
        del self._open[folder]
        self._on_file(complete)


class _OpenFile:
    """A file that rows are added to, and written to in groups."""

    def __init__(self, root: Folder, folder: str, name: str, schema: pa.Schema) -> None:
        self._name = f"{folder}/{name}"
        self._path = root.path / self._name
        self._rows = 0
        self.written = 0
        self.waiting_rows = 0
        self.waiting_bytes = 0
        self._waiting: list[pa.Table] = []
        with naming_errors(self._path), root.folder(folder, make=True) as opened:
            self._file = opened.making(name)
        self._writer = new_file(self._file, schema)

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self.waiting_rows += rows.num_rows
        self.waiting_bytes += rows.nbytes

    def write_group(self) -> None:
        """Write the rows that are waiting as a row group."""
        if self.waiting_rows:
            with naming_errors(self._path):
                together = arrow().concat_tables(self._waiting)
                self._writer.write_table(together, row_group_size=self.waiting_rows)
                self.written = self._file.tell()
            self._rows += self.waiting_rows
            self._waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0

    def complete(self) -> DatasetFile:
        """Write all rows and the footer to the disk, and return the complete file."""
        self.write_group()
        with naming_errors(self._path), self._file:
            self._writer.close()
            return DatasetFile(self._name, self._rows, *synced(self._file))

    def abandon(self) -> None:
        """Close the file, which will not be used."""
        with suppress(OSError, ValueError), self._file:
            self._writer.close()


# --- One export -------------------------------------------------------------------------------------------------------


INCOMING: Final = "_incoming"
"""The folder in which the files of an export wait until all are complete."""
STATE: Final = "_state"
"""The folder with the list of the rows that hold: each page with a hash of its row, and when that was exported."""
LISTINGS: Final = "_files"
_OPEN_FILES: Final[dict[PartitionedBy, int]] = {"host": 1, "month": 128}
"""How many files are open at once: the pages of a host lie side by side, those of a month do not."""
_HASH_BYTES: Final = 16


def prefix(number: int) -> str:
    """Return how the names of the files of the export *number* begin."""
    return f"part-{number:04}"


class DatasetWriter:
    """Writes the export after those of *manifest* into the folder for incoming files in *folder*."""

    def __init__(self, folder: Folder, manifest: DatasetManifest, key: WebKey, file_bytes: int) -> None:
        self._before = _RowsBefore(_stored(folder, manifest), key)
        self._incoming = folder.folder(INCOMING, make=True)
        self._manifest = manifest
        number = prefix(len(manifest.exports) + 1)
        self._listing = f"{LISTINGS}/{number}.jsonl"
        files = partial(PartitionedFiles, self._incoming, number, file_bytes=file_bytes, on_file=self._list)
        self._data = files(most_open=_OPEN_FILES[manifest.partition_by])
        self._state = files(most_open=1)
        self._pages = self._rows = self._files = self._bytes = 0

    def run(self, pages: Pages, on_progress: Progress | None) -> None:
        """Write all files, and the manifest after them."""
        with self._incoming, self._incoming.folder(LISTINGS, make=True) as listings:
            with listings.making(self._listing.rpartition("/")[2]) as self._lines:
                self._write(pages, on_progress)
                _, listing_digest = synced(self._lines)
            export = DatasetExport(
                webtable=software().partition(" ")[2],
                begun=self._manifest.moment,
                ended=clock.now(),
                rows=self._rows,
                files=self._files,
                bytes=self._bytes,
                damaged=len(pages.damaged),
                listing=self._listing,
                sha256=listing_digest,
            )
            exports = (*self._manifest.exports, export)
            replace(self._manifest, pages=self._pages, exports=exports).write(self._incoming)

    def _write(self, pages: Pages, on_progress: Progress | None) -> None:
        with self._data, self._state:
            reader = pages.to_arrow(self._manifest.columns)
            self._put_state([], [], [])  # a reader needs a file that says the columns
            for batch in reader:
                self._add(batch)
                if on_progress is not None:
                    on_progress(self._pages)
            if not self._manifest.exports and not self._rows:
                self._put_rows(None, reader.schema.empty_table())

    def _list(self, file: DatasetFile) -> None:
        self._lines.write(msgspec.json.encode(file) + b"\n")
        if not file.name.startswith(STATE):
            self._files += 1
            self._bytes += file.bytes

    def _add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of *batch* that are new or different, and list all of them."""
        pa, urls, hashes = arrow(), batch["url"].to_pylist(), _hashes(batch)
        self._pages += len(urls)
        moment = self._moments(1).cast(pa.int64())[0].as_py()
        exported: list[int] = []
        values: dict[str, list[int]] = {}
        for place, (url, digest) in enumerate(zip(urls, hashes, strict=True)):
            before = self._before.of(url)
            if before is not None and before.digest == digest:
                exported.append(before.exported_at)
            else:
                exported.append(moment)
                values.setdefault(self._value(batch, place), []).append(place)
        self._put_state(urls, hashes, exported)
        for value, places in values.items():
            self._put_rows(value, pa.Table.from_batches([batch.take(pa.array(places))]))

    def _value(self, batch: pa.RecordBatch, place: int) -> str:
        """Return the host or the month of the row at *place*."""
        if self._manifest.partition_by == "host":
            return split_url(batch["url"][place].as_py()).host
        return batch["fetched_at"][place].as_py().isoformat()[: len("2026-11")]  # type: ignore[no-any-return]

    def _put_rows(self, value: str | None, rows: pa.Table) -> None:
        self._rows += rows.num_rows
        moments = self._moments(rows.num_rows)
        self._data.put(hive_folder(self._manifest.partition_by, value), rows.append_column("exported_at", moments))

    def _put_state(self, urls: list[str], hashes: list[bytes], exported: list[int]) -> None:
        pa = arrow()
        columns = {
            "url": pa.array(urls, pa.string()),
            "exported_at": pa.array(exported, pa.int64()).cast(type_of("time")),
            "hash": pa.array(hashes, pa.binary(_HASH_BYTES)),
            "moment": self._moments(len(urls)),
        }
        self._state.put(STATE, pa.table(columns))

    def _moments(self, count: int) -> pa.Array:
        return arrow().array([self._manifest.moment] * count, type_of("time"))


def _hashes(batch: pa.RecordBatch) -> list[bytes]:
    """Return a hash of each row."""
    pa = arrow()
    times = pa.types.is_timestamp
    columns = [(column.cast(pa.int64()) if times(column.type) else column).to_pylist() for column in batch.columns]
    rows = map(msgspec.msgpack.encode, zip(*columns, strict=True))
    return [blake2b(row, digest_size=_HASH_BYTES).digest() for row in rows]


class _RowBefore(NamedTuple):
    """A row that holds after the last export; `exported_at` in microseconds."""

    url: str
    digest: bytes
    exported_at: int


class _RowsBefore:
    """The rows that hold after the last export, in the order in which pages come."""

    def __init__(self, rows: Iterator[_RowBefore], key: WebKey) -> None:
        self._key = key
        self._rows = rows
        self._next = next(self._rows, None)

    # Both sides are in the order of the pages, so each is read once, side by side. Rows are compared, and not dates: no
    # date of a capture says when it was stored, and a page that was deleted has none.
    def of(self, url: str) -> _RowBefore | None:
        """Return the row of *url*, which comes after the one of the call before; None if there is none."""
        while (row := self._next) is not None:
            if row.url != url and self._place(row.url) > self._place(url):
                return None
            self._next = next(self._rows, None)
            if row.url == url:
                return row
        return None

    def _place(self, url: str) -> bytes:
        return self._key.unsalted(self._key.encode(url))


def _stored(folder: Folder, manifest: DatasetManifest) -> Iterator[_RowBefore]:
    """Yield the rows that hold after the last export; raises `FormatError` if some are missing or cannot be read."""
    if not manifest.exports:
        return
    pa, count, path = arrow(), 0, folder.path / STATE
    try:
        with folder.folder(STATE) as state:
            for name in state.names():
                if not name.startswith(f"{prefix(len(manifest.exports))}-"):
                    continue
                with state.reading(name) as file:
                    names = ["url", "hash", "exported_at"]
                    for batch in pa.parquet.ParquetFile(file).iter_batches(BATCH_ROWS, columns=names):
                        count += batch.num_rows
                        times = batch["exported_at"].cast(pa.int64())
                        columns = (batch["url"], batch["hash"], times)
                        yield from map(_RowBefore, *(column.to_pylist() for column in columns))
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise FormatError(f"{path}: damaged, export into a new directory: {exc}") from exc
    if count != manifest.pages:
        raise FormatError(f"{path}: {count:,} pages instead of {manifest.pages:,}: export into a new directory")


# --- Data sets --------------------------------------------------------------------------------------------------------


DATASET_FILE_BYTES: Final = 128_000_000


@dataclass(slots=True)
class WrittenDataset:
    """The result of `write_dataset`: the manifest, and as `examples` the first 100 rows that could not be read."""

    manifest: DatasetManifest
    examples: list[DamagedRow] = field(default_factory=list)


def write_dataset(
    table: WebTable,
    folder: str | PathLike[str],
    site: Site | None = None,
    *,
    partition_by: PartitionedBy,
    columns: Sequence[str] | None = None,
    since: Literal["last"] | None = None,
    file_bytes: int = DATASET_FILE_BYTES,
    on_progress: Progress | None = None,
) -> WrittenDataset:
    """Write the pages of *table* that `WebTable.pages` lists for *site* into Parquet files below *folder*.

    A page is a row, with the columns of a listing, or those that *columns* names, and `exported_at`. The files are in
    folders as Hive names them: `host=example.com` with *partition_by* "host", and `month=2026-11`, the month in UTC of
    the newest capture, with "month". The rows of a file take *file_bytes* bytes at most, unless there is only one.

    *folder* must be new or empty; with *since* "last" it may be a dataset of the same arguments, to which rows are
    added for pages that are new or different since the last export; `_state` lists the rows that hold (docs/dataset.md
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
    check_file_bytes(file_bytes)
    Scope.of(site).ranges(TableContext.of(table.store, table.table, table.layout, strict=table.strict))
    wanted = DatasetManifest(
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
            names = before.columns if columns is None else wanted.columns
            wanted = _continued(path, before, replace(wanted, columns=names))
        try:
            DatasetWriter(opened, wanted, table.key, file_bytes).run(pages, on_progress)
            _settle(opened)
        finally:
            _drop_incoming(opened)
        return WrittenDataset(read_dataset_manifest(opened), pages.damaged)


def _columns(partition_by: PartitionedBy, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns of the files, for those that are *named*; raises `UnknownColumn`."""
    names = [
        "url",
        *(column.name for column in PAGES.chosen(named)),
        *(["fetched_at"] if partition_by == "month" else ()),
    ]
    # A reader has the host from the name of the folder.
    return tuple(name for name in dict.fromkeys(names) if name != partition_by)


def _manifest_in(folder: Folder, since: str | None) -> DatasetManifest | None:
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
    return read_dataset_manifest(folder) if NAME in present else None


def _continued(folder: Path, before: DatasetManifest, wanted: DatasetManifest) -> DatasetManifest:
    """Return the manifest *wanted* with the exports *before* it; raises `InvalidArgument` for other arguments."""
    for name in ("format_number", "table", "site", "partition_by", "columns"):
        if (was := getattr(before, name)) != (now := getattr(wanted, name)):
            raise InvalidArgument(f"{folder}: the dataset has {name}={was!r}, not {now!r}: name another directory")
    # `exported_at` tells the rows of a page apart, so each export is later than the last one, whatever the clock says.
    later = before.moment + timedelta(microseconds=1)
    return replace(wanted, moment=max(wanted.moment, later), pages=before.pages, exports=before.exports)


def _settle(folder: Folder) -> None:
    """Move the files of a complete export to their places; it may have been done in part."""
    # The manifest goes last: until then readers that follow it find the export before. A kill between two moves leaves
    # it among the incoming files, and the next export goes on with the moves.
    with folder.folder(INCOMING) as incoming:
        manifest = read_dataset_manifest(incoming)
        for name in incoming.names():
            if name == NAME:
                continue
            if name not in (STATE, LISTINGS) and not name.startswith(f"{manifest.partition_by}="):
                path = incoming.path
                raise FormatError(f"{path / name}: no part of an export; remove {path}, and export again")
            with incoming.folder(name) as source, folder.folder(name, make=True) as target:
                for file in source.names():
                    source.move(file, target)
        incoming.move(NAME, folder)
    with folder.folder(STATE) as state:
        for name in state.names():
            if not name.startswith(f"{prefix(len(manifest.exports))}-"):
                state.remove(name)
    _drop_incoming(folder)


def _drop_incoming(folder: Folder) -> None:
    if folder.kind(INCOMING) is not None and folder.kind(f"{INCOMING}/{NAME}") is None:
        folder.remove_folder(INCOMING)

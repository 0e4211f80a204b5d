"""The files of one export into a dataset: rows that are new or different, and the list of all rows that hold."""

from __future__ import annotations

import os
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import FormatError
from webtable.formats.archives.warc_files import software
from webtable.formats.exports.manifest import digest_of
from webtable.formats.lakes.lake_manifest import LakeExport
from webtable.formats.lakes.partitioned_files import PartitionedFiles, hive_folder
from webtable.repository.answers.arrow import BATCH_ROWS, arrow, type_of
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from webtable._files import Folder
    from webtable.formats.lakes.lake_manifest import LakeManifest, PartitionedBy
    from webtable.formats.lakes.partitioned_files import LakeFile
    from webtable.repository.answers.results import Pages
    from webtable.repository.arguments import Progress
    from webtable.rowkey import WebKey

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


class LakeWriter:
    """Writes the export after those of *manifest* into the folder for incoming files in *folder*."""

    def __init__(self, folder: Folder, manifest: LakeManifest, key: WebKey, file_bytes: int) -> None:
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
                self._lines.flush()
                os.fsync(self._lines.fileno())
                listing_digest = digest_of(self._lines)
            export = LakeExport(
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

    def _list(self, file: LakeFile) -> None:
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
    columns = [(one.cast(pa.int64()) if times(one.type) else one).to_pylist() for one in batch.columns]
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


def _stored(folder: Folder, manifest: LakeManifest) -> Iterator[_RowBefore]:
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

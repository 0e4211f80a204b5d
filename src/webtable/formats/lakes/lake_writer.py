"""The files of one export into a lake: rows, tombstones of rows that no longer hold, and what the next one compares."""

from __future__ import annotations

import os
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import FormatError
from webtable.formats.archives.warc_files import software
from webtable.formats.exports.manifest import digest_of_file
from webtable.formats.lakes.lake_manifest import LakeExport
from webtable.formats.lakes.partitioned_files import PartitionedFiles, hive_folder
from webtable.repository.answers.arrow_batches import BATCH_ROWS, arrow, type_of
from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from webtable.formats.lakes.lake_manifest import LakeManifest, PartitionedBy
    from webtable.formats.lakes.partitioned_files import LakeFile
    from webtable.repository.answers.results import Pages
    from webtable.repository.arguments import Progress
    from webtable.rowkey import WebKey

INCOMING: Final = "_incoming"
"""The folder in which the files of an export wait until all are complete."""
STATE: Final = "_state"
TOMBSTONES: Final = "_tombstones"
_LISTINGS: Final = "_files"
_OPEN_FILES: Final[dict[PartitionedBy, int]] = {"host": 1, "month": 128}
"""How many files are open at once: the pages of a host lie side by side, those of a month do not."""


def prefix(number: int) -> str:
    """Return how the names of the files of the export *number* begin."""
    return f"part-{number:04}"


class LakeWriter:
    """Writes the export after those of *manifest* into the folder for incoming files below *folder*."""

    def __init__(self, folder: Path, manifest: LakeManifest, key: WebKey, file_bytes: int) -> None:
        self._incoming = folder / INCOMING
        self._manifest = manifest
        number = len(manifest.exports) + 1
        self._listing = f"{_LISTINGS}/{prefix(number)}.jsonl"
        (self._incoming / _LISTINGS).mkdir(parents=True)
        files = partial(PartitionedFiles, self._incoming, prefix(number), file_bytes=file_bytes, on_file=self._list)
        self._data = files(most_open=_OPEN_FILES[manifest.partition_by])
        self._others = files(most_open=2)
        self._before = _Before(folder / STATE, manifest, key, self._bury)
        self._buried: list[str] = []
        self._pages = self._rows = self._tombstones = self._files = self._bytes = 0

    def run(self, pages: Pages, on_progress: Progress | None) -> None:
        """Write all files, and the manifest after them."""
        with (self._incoming / self._listing).open("wb") as self._lines:
            with self._data, self._others:
                reader = pages.to_arrow(self._manifest.columns)
                if not self._manifest.exports:  # a reader needs a file that says the columns
                    self._put_tombstones()
                for batch in reader:
                    self._add(batch)
                    if on_progress is not None:
                        on_progress(self._pages)
                self._before.end()
                if self._buried:
                    self._put_tombstones()
                if not self._manifest.exports and not self._rows:
                    self._put_rows(None, reader.schema.empty_table())
            self._lines.flush()
            os.fsync(self._lines.fileno())
        export = LakeExport(
            webtable=software().partition(" ")[2],
            begun=self._manifest.moment,
            ended=clock.now(),
            rows=self._rows,
            tombstones=self._tombstones,
            files=self._files,
            bytes=self._bytes,
            damaged=len(pages.damaged),
            listing=self._listing,
            sha256=digest_of_file(self._incoming / self._listing),
        )
        exports = (*self._manifest.exports, export)
        replace(self._manifest, pages=self._pages, exports=exports).write(self._incoming)

    def _list(self, file: LakeFile) -> None:
        self._lines.write(msgspec.json.encode(file) + b"\n")
        if not file.name.startswith(STATE):
            self._files += 1
            self._bytes += file.bytes

    def _add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of *batch* that are new or different, and bury those before them."""
        pa, urls, hashes = arrow(), batch["url"].to_pylist(), _hashes(batch)
        self._pages += len(urls)
        state = {"url": urls, "hash": hashes}
        self._others.put(STATE, pa.table(state, pa.schema({"url": pa.string(), "hash": pa.binary(_HASH_BYTES)})))
        values: dict[str, list[int]] = {}
        for place, (url, own) in enumerate(zip(urls, hashes, strict=True)):
            before = self._before.hash_of(url)
            if before == own:
                continue
            if before is not None:
                self._bury(url)
            values.setdefault(self._value(batch, place), []).append(place)
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

    def _moments(self, count: int) -> pa.Array:
        return arrow().array([self._manifest.moment] * count, type_of("time"))

    def _bury(self, url: str) -> None:
        """Put down that the row of *url* in earlier files no longer holds."""
        self._buried.append(url)
        if len(self._buried) == BATCH_ROWS:
            self._put_tombstones()

    def _put_tombstones(self) -> None:
        pa, count = arrow(), len(self._buried)
        tombstones = {"url": pa.array(self._buried, pa.string()), "removed_at": self._moments(count)}
        self._others.put(TOMBSTONES, pa.table(tombstones))
        self._tombstones += count
        self._buried = []


_HASH_BYTES: Final = 16


def _hashes(batch: pa.RecordBatch) -> list[bytes]:
    """Return a hash of each row."""
    pa = arrow()
    times = pa.types.is_timestamp
    columns = [(one.cast(pa.int64()) if times(one.type) else one).to_pylist() for one in batch.columns]
    rows = map(msgspec.msgpack.encode, zip(*columns, strict=True))
    return [blake2b(row, digest_size=_HASH_BYTES).digest() for row in rows]


class _Before:
    """The pages of the last export with the hash of each row, in the order in which pages come."""

    def __init__(self, folder: Path, manifest: LakeManifest, key: WebKey, on_gone: Callable[[str], None]) -> None:
        self._on_gone = on_gone
        self._key = key
        self._rows = _stored(folder, manifest)
        self._next = next(self._rows, None)

    def hash_of(self, url: str) -> bytes | None:
        """Return the hash of the row of *url*, which comes after the one asked before; None if there was none.

        Pages that come before it are gone.
        """
        while self._next is not None:
            known, found = self._next
            if known != url and self._place(known) > self._place(url):
                return None
            self._next = next(self._rows, None)
            if known == url:
                return found
            self._on_gone(known)
        return None

    def end(self) -> None:
        """All pages were asked for: those that are left are gone."""
        while self._next is not None:
            self._on_gone(self._next[0])
            self._next = next(self._rows, None)

    def _place(self, url: str) -> bytes:
        return self._key.unsalted(self._key.encode(url))


def _stored(folder: Path, manifest: LakeManifest) -> Iterator[tuple[str, bytes]]:
    """Yield the URLs and hashes of the last export; raises `FormatError` if some are missing or cannot be read."""
    pa, count = arrow(), 0
    try:
        for path in sorted(folder.glob(f"{prefix(len(manifest.exports))}-*.parquet")):
            with path.open("rb") as file:
                for batch in pa.parquet.ParquetFile(file).iter_batches(BATCH_ROWS, columns=["url", "hash"]):
                    count += batch.num_rows
                    yield from zip(batch["url"].to_pylist(), batch["hash"].to_pylist(), strict=True)
    except (pa.ArrowException, OSError, ValueError) as exc:
        raise FormatError(f"{folder}: damaged, export into a new directory: {exc}") from exc
    if count != manifest.pages:
        raise FormatError(f"{folder}: {count:,} pages instead of {manifest.pages:,}: export into a new directory")

"""Parquet files in the folders of a dataset: of bounded size, and a bounded number of them open at once."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from webtable._files import naming_errors
from webtable.formats.exports.manifest import digest_of
from webtable.repository.answers.arrow import GROUP_BYTES, GROUP_ROWS, arrow, new_file

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from webtable._files import Folder

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes for a value that is missing."""
_MOST_OF_NAME: Final = 255
_FULL: Final = 0.9
"""What part of its size a file must have to be full: otherwise its last row groups would be ever smaller."""


class LakeFile(msgspec.Struct, frozen=True):
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
        self, root: Folder, prefix: str, *, most_open: int, file_bytes: int, on_file: Callable[[LakeFile], None]
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
            if file.written >= self._file_bytes * _FULL:
                self._complete(folder)
            while sum(one.waiting_bytes for one in self._open.values()) > GROUP_BYTES:
                max(self._open.values(), key=lambda one: one.waiting_bytes).write_group()
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

    def complete(self) -> LakeFile:
        """Write all rows and the footer to the disk, and return the complete file."""
        self.write_group()
        with naming_errors(self._path), self._file:
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            size = os.fstat(self._file.fileno()).st_size
            return LakeFile(self._name, self._rows, size, digest_of(self._file))

    def abandon(self) -> None:
        """Close the file, which will not be used."""
        with suppress(OSError, ValueError), self._file:
            self._writer.close()

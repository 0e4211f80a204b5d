"""Writers of the files of an export, one for each format: the captures of a page are written one after another."""

from __future__ import annotations

import gzip
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, Protocol

from webtable._clock import clock
from webtable.formats.parquet import as_given
from webtable.formats.warc_out import Written, capture, software, warcinfo, write_captures, write_member
from webtable.page.json_lines import page_to_json
from webtable.page.page import LINK_BYTES
from webtable.repository.answers.arrow import BATCH_BYTES, BATCH_ROWS, batch_of, new_file, schema_of
from webtable.repository.answers.columns import column
from webtable.repository.answers.page_columns import PAGES
from webtable.repository.page_storage.state import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webtable.formats.exports.manifest import Format
    from webtable.formats.warc_out import WARCRecord
    from webtable.page.page import Page


class CaptureFile(Protocol):
    """A file that captures are written to.

    `waiting` is about how many bytes are still to be written; `incomplete` counts captures of which something was left
    out because it is too long for the format.
    """

    waiting: int
    incomplete: int

    def write(self, captures: Iterator[Page]) -> int:
        """Write the captures of a page, oldest first, and return how many could be written."""
        ...

    def close(self) -> None:
        """Write the captures that are waiting; the file itself stays open."""
        ...


class JSONLinesFile:
    """Captures as JSON Lines, compressed as the name of the file says: .zst, .gz, or not at all."""

    waiting = 0  # except for the block that is being compressed
    incomplete = 0

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._packed: Any = nullcontext(file)
        ending = name.lower()
        if ending.endswith(".zst"):
            import zstandard

            self._packed = zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False)
        elif ending.endswith(".gz"):
            self._packed = gzip.GzipFile(filename="", fileobj=file, mode="wb")
        self._lines = self._packed.__enter__()

    def write(self, captures: Iterator[Page]) -> int:
        """Write a line for each capture of a page."""
        count = 0
        for count, page in enumerate(captures, 1):  # noqa: B007 - it is returned
            self._lines.write(page_to_json(as_given(page)) + b"\n")
        return count

    def close(self) -> None:
        """End the compressed stream."""
        self._packed.__exit__(None, None, None)


_BESIDE = (
    column("same_as"),
    column("html_facts", "headers", of="stored.html_facts"),
    column("payload_digest", of="stored.payload_digest"),
    column("repeats_at", "time", "stored.repeats_at"),
)
"""Columns of captures that questions about pages do not have."""


class ParquetFile:
    """Captures as the rows of a Parquet file, in row groups of 8 MiB of bodies and links."""

    incomplete = 0

    def __init__(self, file: IO[bytes], name: str) -> None:  # noqa: ARG002
        beside = {one.name for one in _BESIDE}
        self._columns = (*PAGES.chosen([name for name in GIVEN if name not in beside]), *_BESIDE)
        self._file = new_file(file, schema_of(self._columns))
        self._rows: list[Page] = []
        self.waiting: int = 0

    def write(self, captures: Iterator[Page]) -> int:
        """Write a row for each capture of a page."""
        count = 0
        for count, page in enumerate(captures, 1):  # noqa: B007
            self._rows.append(as_given(page))
            self.waiting += len(page.body or b"") + LINK_BYTES * len(page.outlinks or ())
            if self.waiting >= BATCH_BYTES or len(self._rows) == BATCH_ROWS:
                self._write_group()
        return count

    def close(self) -> None:
        """Write the last rows and the footer of the file."""
        self._write_group()
        self._file.close()

    def _write_group(self) -> None:
        if self._rows:
            self._file.write_batch(batch_of(self._rows, self._columns))
        self._rows, self.waiting = [], 0


class WARCFile:
    """Captures as WARC records, each a gzip member if the name of the file ends with .gz."""

    waiting = 0

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._write_record = write_member if name.lower().endswith(".gz") else _write_plain
        self.incomplete: int = 0
        info = warcinfo(name, software(), clock.now())
        self._info = info.id
        self._write_record(file, info)

    def write(self, captures: Iterator[Page]) -> int:
        """Write a record for each capture of a page."""
        return write_captures(captures, self._write)[0]

    def _write(self, page: Page, repeated: Written | None) -> Written:
        record = capture(page, self._info, repeated)
        self._write_record(self._file, record)
        self.incomplete += bool(record.left_out)
        return Written(record.id, record.digest)

    def close(self) -> None:
        """Do nothing: each record is written completely."""


def _write_plain(file: IO[bytes], record: WARCRecord) -> None:
    file.writelines(record.parts)


KINDS: dict[Format, Callable[[IO[bytes], str], CaptureFile]] = {
    "warc": WARCFile,
    "parquet": ParquetFile,
    "jsonl": JSONLinesFile,
}

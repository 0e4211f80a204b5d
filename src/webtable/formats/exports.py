"""Exports of the captures of a table: manifest, verification and reading, files of each format, and the run itself."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import os
import re
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, count, groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable._clock import clock
from webtable._files import Folder, atomic_file, naming_errors
from webtable._limits import EXPORT_LIMITS, ReadLimits
from webtable.errors import DamagedRow, FormatError, InvalidArgument, WebTableError
from webtable.formats.archives import (
    FILE_BYTES,
    INDEX,
    PROGRESS_PAGES,
    Archived,
    check_file_bytes,
    each_page,
    failed_fetches,
    sorted_lines,
)
from webtable.formats.compressed import lines_of
from webtable.formats.read import read_pages
from webtable.formats.read_report import ReadReport
from webtable.formats.warc_out import WARCFile, as_put, software
from webtable.page.json_lines import page_to_json
from webtable.page.page import LINK_BYTES, Page
from webtable.repository.answers.arrow import BATCH_BYTES, BATCH_ROWS, batch_of, new_file, schema_of
from webtable.repository.answers.columns import PAGES, column
from webtable.repository.context import TableContext
from webtable.repository.failed_fetches import FailedFetch, FailedFetches
from webtable.repository.page_storage.state import GIVEN
from webtable.repository.partitions.processes import PartTask, check_workers, done_by, unsalted_parts
from webtable.repository.questions.captures import kept
from webtable.repository.reading.scope import ALL, Scope, Site, named_site, site_text
from webtable.schema import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from webtable.repository.arguments import Progress
    from webtable.repository.table.web_table import WebTable
    from webtable.rowkey import KeyRange


# --- The manifest, and what verifies and reads an export by it --------------------------------------------------------
#
# An export may come from a stranger, so only files beside the manifest are opened (`Folder`), and all sizes are
# limited.


NAME = "manifest.json"
FAILED = "failed.warc.gz"
"""The file of an export with the fetches that failed, in any format."""
FORMAT_NUMBER = 1
MOST_BYTES = 64_000_000
"""Enough for a quarter of a million files."""
MOST_OF_TABLE = 200_000
"""Bytes of a manifest without its list of files: millions of short names would take twenty times as much memory."""

Format = Literal["warc", "parquet", "jsonl"]
ENDINGS: dict[Format, str] = {"warc": "warc.gz", "parquet": "parquet", "jsonl": "jsonl.zst"}
_FILE = re.compile(r"webtable-\d{5,9}\.(?:warc\.gz|parquet|jsonl\.zst)")

Count = Annotated[int, Meta(ge=0)]


class ExportFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A complete file of an export: its size, SHA-256, counts of pages and captures, and the URL of its last page.

    `largest` is the size of its largest body, which says what limits are needed to read it.
    """

    name: str
    bytes: Count
    sha256: str
    pages: Count
    captures: Count
    last: str
    largest: Count = 0


class ExportIndex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The index of the WARC files of an export, index.cdxj: its size and SHA-256."""

    bytes: Count
    sha256: str


class ExportFailures(ExportIndex, frozen=True, forbid_unknown_fields=True):
    """The WARC file with the failed fetches of an export, failed.warc.gz: its size, SHA-256 and their number."""

    failures: Count


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of an export: which table, which pages, and which files hold them.

    The version `webtable` wrote it between `begun` and `ended`, and read each page once in that time. `site`
    names the pages that were selected; `layout` and `indexes` are those of the table.
    `is_complete` is false for an export that was interrupted. `damaged` counts rows that could not be read, or only in
    part; `incomplete` counts captures of which something is too long for the format. `index` is that of WARC files,
    `failed` the file with failed fetches.
    """

    format_number: int = FORMAT_NUMBER
    webtable: str
    table: str
    format: Format
    site: str = "all"
    begun: datetime
    ended: datetime | None = None
    is_complete: bool = False
    pages: Count = 0
    captures: Count = 0
    damaged: Count = 0
    incomplete: Count = 0
    layout: Layout
    indexes: tuple[str, ...] = ()
    files: tuple[ExportFile, ...] = ()
    index: ExportIndex | None = None
    failed: ExportFailures | None = None

    @property
    def bytes(self) -> int:
        """The size of all files of captures."""
        return sum(file.bytes for file in self.files)

    @property
    def others(self) -> dict[str, ExportIndex]:
        """The other files by their names: the index, and the failed fetches."""
        return {name: entry for name, entry in ((INDEX, self.index), (FAILED, self.failed)) if entry is not None}

    @property
    def read_names(self) -> list[str]:
        """The names of the files that have captures and failed fetches, in the order in which they are to be read."""
        return [*(file.name for file in self.files), *(self.others.keys() - {INDEX})]

    @property
    def needed_record(self) -> int:
        """The limit `record` with which no body is too large, in bytes."""
        largest = max((file.largest for file in self.files), default=0)
        return largest * (6 if self.format == "jsonl" else 1) + 1_000_000  # JSON has up to six bytes for one

    @property
    def last(self) -> str | None:
        """The URL of the last page in the files, None for an export without files."""
        return self.files[-1].last if self.files else None

    def layout_options(self) -> dict[str, Any]:
        """Return the options with which `webtable.open` makes a table of the same layout, without its indexes."""
        from webtable.rowkey import Salt

        layout = self.layout
        return {
            "salt": Salt(layout.salt, layout.digits),
            **{name: getattr(layout, name) for name in ("names", "compression", "plain_columns", "versions", "ttl")},
        }

    def write(self, folder: Path) -> None:
        """Write the manifest into *folder*; it replaces an earlier one."""
        with Folder(folder) as opened:
            write_sealed(opened, NAME, self)


def write_sealed(folder: Folder, name: str, manifest: msgspec.Struct) -> None:
    """Write *manifest* with a checksum to the file *name* in *folder*, which it replaces."""
    data = with_checksum(msgspec.json.encode(manifest))
    with folder.replacing(name) as file:
        file.write(msgspec.json.format(data, indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def sealed_bytes(folder: Folder, name: str, missing: str) -> bytes:
    """Return the manifest *name* in *folder* with its checksum; raises `FormatError`, which ends with *missing*."""
    path = folder.path / name
    try:
        with folder.reading(name) as file:
            # Not more than the size of the file: `read` allocates a buffer for all that is requested.
            size = os.fstat(file.fileno()).st_size
            data = file.read(min(size, MOST_BYTES + 1))
    except OSError as exc:
        raise FormatError(f"{path}: {exc.strerror}; {missing}") from exc
    if len(data) > MOST_BYTES:
        raise FormatError(f"{path}: larger than {MOST_BYTES:,} bytes, the limit for a manifest")
    try:
        return msgspec.json.format(data, indent=-1)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{path}: damaged, altered or not a manifest: {exc}") from exc


class _ManifestHead(msgspec.Struct):
    format_number: int
    files: msgspec.Raw = msgspec.Raw(b"")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest in *folder*; raises `FormatError` if it is missing, damaged or not valid."""
    path = folder / NAME
    no_export = "this directory is not an export that webtable has written"
    try:
        with Folder(folder) as opened:
            sealed = sealed_bytes(opened, NAME, no_export)
    except OSError as exc:
        raise FormatError(f"{path}: {exc.strerror}; {no_export}") from exc
    try:
        header = msgspec.json.decode(sealed, type=_ManifestHead)
        if (number := header.format_number) != FORMAT_NUMBER:
            raise FormatError(f"{path}: format number {number}, and this version of webtable reads {FORMAT_NUMBER}")
        if len(sealed) - len(memoryview(header.files)) > MOST_OF_TABLE:
            raise FormatError(f"{path}: more than {MOST_OF_TABLE:,} bytes about the table")
        manifest = msgspec.json.decode(unsealed(sealed), type=Manifest)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{path}: damaged, altered or not a manifest: {exc}") from exc
    except WebTableError as exc:
        raise exc if isinstance(exc, FormatError) else FormatError(f"{path}: {exc}") from exc
    _check(path, manifest)
    return manifest


def _check(path: Path, manifest: Manifest) -> None:
    names = [file.name for file in manifest.files]
    for name in names:
        if not _FILE.fullmatch(name) or not name.endswith(ENDINGS[manifest.format]):
            raise FormatError(f"{path}: {name!r} is not a file name of an export")
    if names != sorted(set(names), key=lambda name: (len(name), name)):  # workers leave numbers out
        raise FormatError(f"{path}: its files are not in the order of their numbers")
    if any(
        sum(getattr(file, what) for file in manifest.files) != getattr(manifest, what) for what in ("pages", "captures")
    ):
        raise FormatError(f"{path}: its counts are not the sums of the counts of its files")


def file_name(number: int, form: Format) -> str:
    """Return the name of the file *number* of an export.

    >>> file_name(1, "jsonl")
    'webtable-00001.jsonl.zst'
    """
    return f"webtable-{number:05}.{ENDINGS[form]}"


def index_name(name: str) -> str:
    """Return the name of the file with the unsorted lines of the index of the WARC file *name*, until the end.

    >>> index_name("webtable-00001.warc.gz")
    'webtable-00001.cdxj'
    """
    return f"{name.partition('.')[0]}.cdxj"


def synced(file: IO[bytes]) -> tuple[int, str]:
    """Write all of the open *file* to the disk, and return its size in bytes and its SHA-256."""
    file.flush()
    os.fsync(file.fileno())
    return os.fstat(file.fileno()).st_size, digest_of(file)


def digest_of(file: IO[bytes]) -> str:
    """Return the SHA-256 of *file*, as `sha256sum` prints it, and leave it at its end; raises `OSError`."""
    # What is open to be written can be read by its descriptor.
    with os.fdopen(os.dup(file.fileno()), "rb") as readable:
        readable.seek(0)
        return hashlib.file_digest(readable, "sha256").hexdigest()


@dataclass(slots=True)
class CheckedExport:
    """The result of `verify_export`: counts of the files that are as they were written, and what is wrong with others.

    `files` and `bytes` count sound files, `pages` and `captures` what is in them. `problems` has a sentence for each
    file that is missing, truncated or changed, and one if the export is incomplete. `unlisted` names files in the
    directory that the manifest does not list.
    """

    manifest: Manifest
    files: int = 0
    bytes: int = 0
    pages: int = 0
    captures: int = 0
    problems: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether the export is complete and all files are as they were written."""
        return not self.problems


def verify_export(
    folder: str | PathLike[str],
    *,
    counts: bool = True,
    limits: ReadLimits = EXPORT_LIMITS,
    on_progress: Callable[[int], None] | None = None,
) -> CheckedExport:
    """Compare the files of the export in *folder* with its manifest: their sizes, digests and counts.

    Without *counts* the captures in the files are not counted, which takes most of the time. The default *limits* admit
    whatever a store can hold; lower ones bound memory for an export from a stranger, and a file that exceeds them is a
    problem. *on_progress* is called with how many bytes were compared so far. Raises `FormatError` for a manifest that
    is missing, damaged or not valid.
    """
    folder = Path(folder)
    checked = CheckedExport(read_manifest(folder))
    if not checked.manifest.is_complete:
        # Its store and its site are not those of who compares it.
        rest = "the command that made it, with --resume, completes it"
        checked.problems.append(f"{folder}: the export was interrupted; {rest}")
    with Folder(folder) as opened:
        others = checked.manifest.others
        for name, entry in others.items():
            checked.problems += filter(None, [_compared(opened, name, entry)])
        for file in checked.manifest.files:
            problem = _compared(
                opened, file.name, file, partial(_counted, checked=checked, limits=limits) if counts else None
            )
            if problem is not None:
                checked.problems.append(problem)
            else:
                checked.files += 1
                checked.bytes += file.bytes
            if on_progress is not None:
                on_progress(checked.bytes)
        listed = {NAME, *others, *(file.name for file in checked.manifest.files)}
        checked.unlisted = [name for name in opened.names() if name not in listed]
    return checked


def _compared(
    folder: Folder,
    name: str,
    entry: ExportFile | ExportIndex,
    counted: Callable[[BinaryIO, ExportFile], str | None] | None = None,
) -> str | None:
    """The problem of the file *name*, with its *entry* in the manifest; None if it is as it was written."""
    path = folder.path / name
    try:
        with folder.reading(name) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.bytes:
                truncated = ": truncated" if size < entry.bytes else ""
                return f"{path}: {size:,} bytes instead of {entry.bytes:,}{truncated}"
            if digest_of(file) != entry.sha256:
                return f"{path}: changed: its digest differs from the manifest"
            file.seek(0)
            problem = counted(file, entry) if counted is not None and isinstance(entry, ExportFile) else None
            return problem and f"{path}: {problem}"
    except FileNotFoundError:
        return f"{path}: missing"
    except FormatError as exc:
        return str(exc)
    except OSError as exc:
        return f"{path}: cannot be read: {exc.strerror}"


def _counted(file: BinaryIO, entry: ExportFile, checked: CheckedExport, limits: ReadLimits) -> str | None:
    """Count the pages and captures in *file*; return how these differ from the manifest; None if they do not."""
    pages = captures = 0
    report = ReadReport()
    try:
        read = read_pages(file, types=None, report=report, extract=False, limits=limits)
        for _, own in groupby(read, attrgetter("url")):
            pages += 1
            captures += sum(1 for _ in own)
    except FormatError as exc:
        return f"cannot be read: {exc}"
    checked.pages += pages
    checked.captures += captures
    if (pages, captures) == (entry.pages, entry.captures):
        return None
    damaged = "".join(f" ({record.reason})" for record in (*report.damaged[:1], *report.over_limits[:1]))
    return f"{captures:,} captures of {pages:,} pages instead of {entry.captures:,} of {entry.pages:,}{damaged}"


def read_export(
    folder: str | PathLike[str], *, report: ReadReport | None = None, limits: ReadLimits = EXPORT_LIMITS
) -> Iterator[Page]:
    """Yield the captures of the export in *folder*, for `Writer.put_many`, after comparing it with its manifest.

    *report* is kept up to date. The default *limits* admit whatever a store can hold: lower `record` and `inflation` to
    read an export from a stranger. Raises `FormatError` if a file is missing, truncated or changed, or if the export is
    incomplete.
    """
    folder = Path(folder)
    checked = verify_export(folder, counts=False)
    if not checked.is_sound:
        raise FormatError("; ".join(checked.problems[:3]))
    with Folder(folder) as opened:
        for entry in checked.manifest.files:
            with opened.reading(entry.name) as file:
                yield from read_pages(file, types=None, report=report, limits=limits)


# --- Files of captures, one class for each format ---------------------------------------------------------------------
#
# `write` takes the captures of a page, oldest first. `waiting` is about how many bytes are still to be written, and
# `incomplete` counts captures of which something is too long for the format. `close` leaves the file itself open.


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
            self._lines.write(page_to_json(as_put(page)) + b"\n")
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
        beside = {own.name for own in _BESIDE}
        self._columns = (*PAGES.chosen([name for name in GIVEN if name not in beside]), *_BESIDE)
        self._file = new_file(file, schema_of(self._columns))
        self._rows: list[Page] = []
        self.waiting: int = 0

    def write(self, captures: Iterator[Page]) -> int:
        """Write a row for each capture of a page."""
        count = 0
        for count, page in enumerate(captures, 1):  # noqa: B007
            self._rows.append(as_put(page))
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


CaptureFile = WARCFile | ParquetFile | JSONLinesFile
KINDS: dict[Format, Callable[[IO[bytes], str], CaptureFile]] = {
    "warc": WARCFile,
    "parquet": ParquetFile,
    "jsonl": JSONLinesFile,
}


# --- The folder of an export, which one process writes to at a time ---------------------------------------------------


@contextmanager
def locked_folder(folder: Path) -> Iterator[Folder]:
    """Give *folder*, locked while the block runs, and made if it is missing; raises `InvalidArgument`."""
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"{folder}: not a directory; name a new or empty one")
    if not folder.parent.is_dir():
        raise InvalidArgument(f"{folder}: there is no directory {folder.parent}")
    with naming_errors(folder):
        folder.mkdir(exist_ok=True)
    with Folder(folder) as opened:
        try:
            fcntl.flock(opened.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise InvalidArgument(f"{folder}: another export is writing there; wait until it has ended") from exc
        yield opened


# --- Numbered files ---------------------------------------------------------------------------------------------------
#
# Each appears when it is complete, and is as large as its export wants it.


_Captures = tuple[str, "Iterator[Page]"]
"""The URL of a page, and its captures, oldest first."""


def number_in(name: str) -> int:
    """Return the number of a file of an export.

    >>> number_in("webtable-00012.jsonl.zst")
    12
    """
    return int(name.removeprefix("webtable-").partition(".")[0])


class NumberedFile(NamedTuple):
    """A complete file, and how many of its captures have something that is too long for the format."""

    entry: ExportFile
    incomplete: int


class NumberedFiles:
    """Files of one format in *folder*: each ends with the page that makes it exceed *file_bytes* bytes.

    *report* is called with how many pages the present file has.
    """

    def __init__(
        self, folder: Path, form: Format, file_bytes: int, report: Callable[[int], None] = lambda _: None
    ) -> None:
        self._folder = folder
        self._form = form
        self._file_bytes = file_bytes
        self._report = report

    def written(self, captures: Iterator[Page], first: int) -> Iterator[NumberedFile]:
        """Write *captures*, those of a page together, and yield each file once it is complete, from *first* on."""
        pages = groupby(captures, attrgetter("url"))
        page, number = next(pages, None), first
        while page is not None:
            file, page = self._write_file(number, page, pages)
            yield file
            number += 1

    def _write_file(
        self, number: int, page: _Captures, pages: Iterator[_Captures]
    ) -> tuple[NumberedFile, _Captures | None]:
        """Write a file that begins with *page*, and return it with the first page for the next file."""
        name = file_name(number, self._form)
        lines = index_name(name)
        with (
            Folder(self._folder) as folder,
            folder.replacing(lines) if self._form == "warc" else nullcontext() as index,
            folder.replacing(name) as file,
        ):
            kind = KINDS[self._form](file, name) if index is None else WARCFile(file, name, index.write)
            counts, following = self._fill(file, kind, page, pages)
            if index is not None:
                index.flush()
                os.fsync(index.fileno())
            size, digest = synced(file)
        entry = ExportFile(name, size, digest, counts.pages, counts.captures, counts.last, counts.largest)
        return NumberedFile(entry, counts.incomplete), following

    def _fill(
        self, file: IO[bytes], kind: CaptureFile, page: _Captures, pages: Iterator[_Captures]
    ) -> tuple[_FileCounts, _Captures | None]:
        """Write pages to *file* until it is large enough; return its counts, and the first page for the next file."""
        counts = _FileCounts()
        following: _Captures | None = page
        # The header that a format writes may be larger than a file may be already.
        while following is not None and (not counts.pages or file.tell() + kind.waiting < self._file_bytes):
            counts.add(following, kind)
            self._report(counts.pages)
            following = next(pages, None)
        kind.close()
        counts.incomplete = kind.incomplete
        return counts, following


@dataclass(slots=True)
class _FileCounts:
    """How many pages and captures a file has, the URL of its last page, and the size of its largest body."""

    pages: int = 0
    captures: int = 0
    incomplete: int = 0
    last: str = ""
    largest: int = 0

    def add(self, page: _Captures, file: CaptureFile) -> None:
        """Write the captures of *page* to *file*, and count them."""
        self.last, captures = page
        written = file.write(map(self._measured, captures))
        self.pages += written > 0
        self.captures += written

    def _measured(self, capture: Page) -> Page:
        self.largest = max(self.largest, len(capture.body or b""))
        return capture


# --- One file of all captures -----------------------------------------------------------------------------------------


CAPTURE_ENDINGS: dict[str, Format] = {
    ".warc.gz": "warc",
    ".warc": "warc",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".jsonl.zst": "jsonl",
    ".parquet": "parquet",
}
"""The formats by the endings of the names of files."""


def capture_format(file: str | PathLike[str]) -> Format | None:
    """Return the format that the name of *file* says, None if it says none."""
    name = Path(file).name.lower()
    return next((form for ending, form in CAPTURE_ENDINGS.items() if name.endswith(ending)), None)


def write_captures(
    table: WebTable,
    file: str | PathLike[str],
    site: Site | None = None,
    *,
    on_progress: Progress | None = None,
) -> Archived:
    """Write all captures that *table* keeps into one file, and return what it holds.

    Its name says the format: .warc.gz, .warc, .jsonl, .jsonl.gz, .jsonl.zst, or .parquet (with
    `hbase-webtable[arrow]`). The pages are those that `WebTable.pages` lists for *site*; `read_pages` reads the file.
    It appears when it is complete, and replaces an earlier one. *on_progress* is called with how many pages were
    written so far. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `MissingExtra` and `OSError`.
    """
    scope, path = Scope.of(site), Path(file).resolve()
    form = capture_format(path)
    if form is None or path.is_dir() or not path.parent.is_dir():
        endings = ", ".join(CAPTURE_ENDINGS)
        raise InvalidArgument(f"{file}: name a file in an existing directory whose name ends with {endings}")
    archived = Archived()
    with atomic_file(path) as part, part.open("wb") as opened:
        kind = KINDS[form](opened, path.name)
        for captures in each_page(table, scope, archived, on_progress):
            count = kind.write(captures)
            archived.pages += count > 0
            archived.records += count
        if isinstance(kind, WARCFile):
            for failure in failed_fetches(table, scope):
                kind.add_failed(failure)
        kind.close()
        opened.flush()
        os.fsync(opened.fileno())
        archived.bytes = opened.tell()
    archived.files.append(path.name)
    archived.incomplete = kind.incomplete
    return archived


# --- Exports ----------------------------------------------------------------------------------------------------------


PARTS_A_WORKER = 4
"""How many parts each worker writes, in at least as many files."""
FILES_A_PART = 1_000
"""How many numbers each part has for its files."""
MOST_EXAMPLES = 100


@dataclass(slots=True)
class Exported:
    """The result of an export: its manifest, and as `examples` the first 100 rows that could not be read.

    After `resume` two more counts say how far the table has changed since an earlier run wrote its files: of the pages
    in them, `refetched` were fetched again, and the table has `added` more of them now (below 0: fewer). The files keep
    the earlier state. Both are None without `resume`.
    """

    manifest: Manifest
    examples: list[DamagedRow] = field(default_factory=list)
    refetched: int | None = None
    added: int | None = None


def write_export(
    table: WebTable,
    folder: str | PathLike[str],
    site: Site | None = None,
    *,
    format: Format = "jsonl",
    file_bytes: int = FILE_BYTES,
    resume: bool = False,
    workers: int = 1,
    on_progress: Progress | None = None,
) -> Exported:
    """Write all captures that *table* keeps into files in *folder*, with a manifest, and return what was written.

    The pages are those that `WebTable.pages` lists for *site*; *format* is
    "jsonl", "parquet" (with `hbase-webtable[arrow]`) or "warc". A file ends with the page that makes it exceed
    *file_bytes* bytes. Beside WARC files is `index.cdxj`, the sorted index of their records, with which pywb replays
    them. *folder* must be new or empty. If a run is interrupted, its complete files stay, and a run with
    *resume* and the same other arguments goes on after them. With several *workers*, processes that read a part of the
    URLs each, the files are as many as parts at least, and their numbers have gaps.
    *on_progress* is called with how many pages were written so far.
    Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `MissingExtra`, `FormatError` for a manifest that is
    damaged, and `OSError`.
    """
    scope, folder = Scope.of(site), Path(folder).resolve()
    if format not in get_args(Format):
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(get_args(Format))}")
    check_file_bytes(file_bytes)
    context = TableContext.of(table.store, table.table, table.layout, strict=table.strict)
    scope.ranges(context)  # raises before a folder is made
    check_workers(context, workers)
    with locked_folder(folder) as opened:
        present = opened.names()
        if present and not resume:
            hint = "; --resume completes an export that was interrupted" if NAME in present else ""
            raise InvalidArgument(f"{folder}: the directory is not empty{hint}; name a new or empty one")
        if present and NAME not in present:
            raise InvalidArgument(f"{folder}: there is no {NAME}, so nothing to resume; name a new or empty directory")
        manifest = _new_manifest(context, site, format)
        if not present:
            manifest.write(folder)
            exported = Exported(manifest)
        else:
            exported = Exported(_resumed_manifest(opened, manifest))
            _compare(exported, table)
        _drop_unlisted(opened, exported.manifest)
        run = _Export(context, scope, folder, exported, on_progress)
        if workers == 1:
            run.run_here(file_bytes)
        else:
            run.run_in_workers(workers, file_bytes)
            _drop_unlisted(opened, exported.manifest)  # of workers that were killed
    return exported


def _new_manifest(context: TableContext, site: Site | None, form: Format) -> Manifest:
    indexes = [index for index in context.indexes.read().values() if index.state.phase in ("ready", "building")]
    return Manifest(
        webtable=software().partition(" ")[2],
        table=context.table,
        format=form,
        site=site_text(site or ALL),
        begun=clock.now(),
        layout=context.layouts.recent(),
        indexes=tuple(sorted(index.state.of or index.name for index in indexes)),
    )


def _drop_unlisted(folder: Folder, manifest: Manifest) -> None:
    """Remove files of processes that were killed, or whose part came after one that was not finished."""
    listed = {name for file in manifest.files for name in (file.name, index_name(file.name))}
    for name in folder.names():
        is_other = name in (INDEX, FAILED) and name not in manifest.others
        if is_other or (name.startswith("webtable-") and name not in listed):
            folder.remove(name)


def _resumed_manifest(opened: Folder, wanted: Manifest) -> Manifest:
    """Return the manifest of an earlier run; raises `InvalidArgument` if its arguments differ or it is complete."""
    folder = opened.path
    manifest = read_manifest(folder)
    for name in ("table", "format", "site", "layout", "indexes"):
        before, now = getattr(manifest, name), getattr(wanted, name)
        if before != now:
            raise InvalidArgument(
                f"{folder}: the export began with {name}={before!r}, now it is {now!r}: export into another directory"
            )
    if manifest.is_complete:
        raise InvalidArgument(f"{folder}: the export there is complete; name another directory")
    for file in manifest.files:
        names = [file.name, *([index_name(file.name)] if manifest.format == "warc" else [])]
        is_there = all(opened.kind(name) == "file" for name in names)
        if not is_there or (folder / file.name).lstat().st_size != file.bytes:
            raise FormatError(
                f"{folder / file.name}: missing, or not of the size that was written: export into another directory"
            )
    return manifest


def _compare(exported: Exported, table: WebTable) -> None:
    """Set `refetched` and `added` by the dates and the number of pages that the table has now."""
    manifest, place = exported.manifest, table.key.unsalted
    if manifest.last is None:
        return
    last, pages, refetched = place(table.key.encode(manifest.last)), 0, 0
    for page in table.pages(named_site(manifest.site)):
        if place(table.key.encode(page.url)) > last:
            break
        pages += 1
        refetched += page.fetched_at > manifest.begun
    exported.refetched = refetched
    # Rows that cannot be read are not among the pages that were written.
    exported.added = 0 if manifest.damaged else pages - manifest.pages


class _Export:
    """A run, which writes all captures after the last page in the manifest."""

    def __init__(
        self, context: TableContext, scope: Scope, folder: Path, exported: Exported, on_progress: Progress | None
    ) -> None:
        self._context = context
        self._scope = scope
        self._folder = folder
        self._exported = exported
        self._on_progress = on_progress
        self._damaged_before = exported.manifest.damaged

    def run_here(self, file_bytes: int) -> None:
        """Write all files, and the manifest after each of them."""
        damage = self._context.damage(self._exported.examples)
        begun = self._exported.manifest
        captures = kept(self._context, self._scope, damage, after=begun.last)
        first = number_in(begun.files[-1].name) + 1 if begun.files else 1

        def report(pages: int) -> None:
            self._report(self._exported.manifest.pages + pages)

        for file in NumberedFiles(self._folder, begun.format, file_bytes, report).written(captures, first):
            self._add([file], damage.count)
        self._end(damage.count)

    def run_in_workers(self, workers: int, file_bytes: int) -> None:
        """Do the same with *workers* processes: a part counts once all before it do, so that a run can be resumed."""
        context, begun = self._context, self._exported.manifest
        before = number_in(begun.files[-1].name) if begun.files else 0
        firsts = count((before // FILES_A_PART + 1) * FILES_A_PART + 1, FILES_A_PART)
        parts = unsalted_parts(context, self._scope.ranges(context), begun.last, PARTS_A_WORKER * workers)
        shared = (self._scope, self._folder, begun.format, file_bytes, begun.last)
        tasks = [PartTask(_written_part, None, (*shared, *own)) for own in zip(firsts, parts, strict=False)]
        damaged = 0
        with done_by(workers, context, tasks) as written:
            for files, damaged_here, examples in written:
                damaged += damaged_here
                self._exported.examples += examples[: MOST_EXAMPLES - len(self._exported.examples)]
                self._add(files, damaged)
                if self._on_progress is not None:
                    self._on_progress(self._exported.manifest.pages)
        self._end(damaged)

    def _add(self, files: Sequence[NumberedFile], damaged: int) -> None:
        """Enter *files* into the manifest."""
        manifest = self._exported.manifest
        self._update(
            damaged,
            files=(*manifest.files, *(file.entry for file in files)),
            pages=manifest.pages + sum(file.entry.pages for file in files),
            captures=manifest.captures + sum(file.entry.captures for file in files),
            incomplete=manifest.incomplete + sum(file.incomplete for file in files),
        )

    def _end(self, damaged: int) -> None:
        index = None
        with Folder(self._folder) as folder:
            lines = [index_name(file.name) for file in self._exported.manifest.files]
            if self._exported.manifest.format == "warc" and lines:
                index = _write_index(folder, lines)
            failed = _write_failed(folder, FailedFetches(self._context).in_scope(self._scope))
            self._update(damaged, is_complete=True, ended=clock.now(), index=index, failed=failed)
            for name in lines:
                folder.remove(name)

    def _update(self, damaged: int, **changed: object) -> None:
        self._exported.manifest = replace(self._exported.manifest, damaged=self._damaged_before + damaged, **changed)
        self._exported.manifest.write(self._folder)

    def _report(self, pages: int) -> None:
        if self._on_progress is not None and pages % PROGRESS_PAGES == 0:
            self._on_progress(pages)


def _write_failed(folder: Folder, failures: Iterator[FailedFetch]) -> ExportFailures | None:
    """Write *failures* as a WARC file; there is none if there are none."""
    first, number = next(failures, None), 0
    if first is None:
        return None
    with folder.replacing(FAILED) as file:
        warc = WARCFile(file, FAILED)
        for number, failure in enumerate(chain([first], failures), 1):  # noqa: B007 - used after the loop
            warc.add_failed(failure)
        return ExportFailures(*synced(file), number)


def _write_index(folder: Folder, names: Sequence[str]) -> ExportIndex:
    """Write the lines of the files *names*, sorted, as the index of all WARC files."""

    def lines() -> Iterator[bytes]:
        for name in names:
            with folder.reading(name) as file:
                yield from lines_of(file, str(folder.path / name))

    with folder.replacing(INDEX) as index:
        index.writelines(sorted_lines(lines()))
        return ExportIndex(*synced(index))


def _written_part(
    context: TableContext,
    scope: Scope,
    folder: Path,
    form: Format,
    file_bytes: int,
    after: str | None,
    first: int,
    urls: KeyRange,
) -> tuple[list[NumberedFile], int, list[DamagedRow]]:
    """Write the files from the number *first* on for pages whose unsalted keys are in *urls*; a worker calls it."""
    examples: list[DamagedRow] = []
    damage = context.damage(examples)
    files: list[NumberedFile] = []
    captures = kept(context, scope, damage, after=after, urls=urls)
    for file in NumberedFiles(folder, form, file_bytes).written(captures, first):
        files.append(file)
        if len(files) == FILES_A_PART:
            raise InvalidArgument(
                f"file_bytes={file_bytes:,} makes {FILES_A_PART:,} files or more of a part: name more bytes"
            )
    return files, damage.count, examples

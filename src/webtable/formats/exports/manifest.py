"""The manifest of an export (table, files, digests and counts), and functions that verify and read an export by it.

An export may come from a stranger, so only files beside the manifest are opened (`Folder`), and all sizes are limited.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, Literal

import msgspec
from msgspec import Meta

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable._files import Folder
from webtable._limits import EXPORT_LIMITS
from webtable.errors import FormatError, WebTableError
from webtable.formats.read import read_pages
from webtable.formats.read_report import ReadReport
from webtable.schema import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from webtable._limits import ReadLimits
    from webtable.page.page import Page

NAME: Final = "manifest.json"
FORMAT_NUMBER: Final = 1
MOST_BYTES: Final = 64_000_000
"""Enough for a quarter of a million files."""
MOST_OF_TABLE: Final = 200_000
"""Bytes of a manifest without its list of files: millions of short names would take twenty times as much memory."""

Format = Literal["warc", "parquet", "jsonl"]
ENDINGS: Final[dict[Format, str]] = {"warc": "warc.gz", "parquet": "parquet", "jsonl": "jsonl.zst"}
_FILE: Final = re.compile(r"webtable-\d{5,9}\.(?:warc\.gz|parquet|jsonl\.zst)")

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


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of an export: which table, which pages, and which files hold them.

    The version `webtable` wrote it between `begun` and `ended`, and read each page once in that time. `site`
    names the pages that were selected; `layout` and `indexes` are those of the table.
    `is_complete` is false for an export that was interrupted. `damaged` counts rows that could not be read, or only in
    part; `incomplete` counts captures of which something is too long for the format.
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

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)

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
        found = msgspec.json.decode(unsealed(sealed), type=Manifest)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{path}: damaged, altered or not a manifest: {exc}") from exc
    except WebTableError as exc:
        raise exc if isinstance(exc, FormatError) else FormatError(f"{path}: {exc}") from exc
    _check(path, found)
    return found


def _check(path: Path, found: Manifest) -> None:
    names = [file.name for file in found.files]
    for name in names:
        if not _FILE.fullmatch(name) or not name.endswith(ENDINGS[found.format]):
            raise FormatError(f"{path}: {name!r} is not a file name of an export")
    if names != sorted(set(names), key=lambda name: (len(name), name)):  # workers leave numbers out
        raise FormatError(f"{path}: its files are not in the order of their numbers")
    if any(sum(getattr(file, what) for file in found.files) != getattr(found, what) for what in ("pages", "captures")):
        raise FormatError(f"{path}: its counts are not the sums of the counts of its files")


def file_name(number: int, form: Format) -> str:
    """Return the name of the file *number* of an export.

    >>> file_name(1, "jsonl")
    'webtable-00001.jsonl.zst'
    """
    return f"webtable-{number:05}.{ENDINGS[form]}"


def digest_of(file: BinaryIO) -> str:
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
        for file in checked.manifest.files:
            problem = _compared(opened, file, checked, limits, counts=counts)
            if problem is not None:
                checked.problems.append(problem)
            else:
                checked.files += 1
                checked.bytes += file.bytes
            if on_progress is not None:
                on_progress(checked.bytes)
        listed = {NAME, *(file.name for file in checked.manifest.files)}
        checked.unlisted = [name for name in opened.names() if name not in listed]
    return checked


def _compared(
    folder: Folder, entry: ExportFile, checked: CheckedExport, limits: ReadLimits, *, counts: bool
) -> str | None:
    """Return what is wrong with the file of *entry*; None if nothing is."""
    path = folder.path / entry.name
    try:
        with folder.reading(entry.name) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.bytes:
                truncated = ": truncated" if size < entry.bytes else ""
                return f"{path}: {size:,} bytes instead of {entry.bytes:,}{truncated}"
            if digest_of(file) != entry.sha256:
                return f"{path}: changed: its digest differs from the manifest"
            file.seek(0)
            problem = _counted(file, entry, checked, limits) if counts else None
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
    damaged = f" ({report.damaged[0].reason})" if report.damaged else ""
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

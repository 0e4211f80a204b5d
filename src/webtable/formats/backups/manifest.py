"""The manifest of a backup: what was written of which table, the files with their digests and counts, and reading them.

What is read here may come from a stranger: names are those of files beside the manifest, sizes have a limit, and
nothing is opened that is no regular file.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from webtable._checksums import UNREADABLE, unsealed, with_checksum
from webtable._limits import BACKUP_LIMITS
from webtable._whole_file import whole_file
from webtable.errors import FormatError, WebTableError
from webtable.formats.base import ReadReport
from webtable.formats.read import read_pages
from webtable.schema import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from os import PathLike

    from webtable._limits import ReadLimits
    from webtable._page.page import Page

NAME: Final = "manifest.json"
FORMAT_NUMBER: Final = 1
MOST_BYTES: Final = 64_000_000
"""A manifest of a quarter of a million files."""
MOST_OF_TABLE: Final = 200_000
"""Bytes of it but for its files: millions of short names of indexes would take twenty times their bytes."""

Format = Literal["warc", "parquet", "jsonl"]
ENDINGS: Final[dict[Format, str]] = {"warc": "warc.gz", "parquet": "parquet", "jsonl": "jsonl.zst"}
_FILE: Final = re.compile(r"webtable-\d{5,9}\.(?:warc\.gz|parquet|jsonl\.zst)")

Count = Annotated[int, Meta(ge=0)]


class BackupFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a backup, which is whole: its digest, and the pages and captures in it, up to the URL `last`."""

    name: str
    bytes: Count
    sha256: str
    pages: Count
    captures: Count
    last: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a backup has of a table, and in which files; they hold all of it where it `is_whole`.

    It was written by `webtable` from `begun` to `ended`: a page is in it as it was when it was read in between.
    `domain`, `host_only` and `path` say of which pages, None for all; `layout` and `indexes` are those of the table.
    `damaged` rows could not be read, or not all of them; of `incomplete` captures something is too long for the format.
    """

    format_number: int = FORMAT_NUMBER
    webtable: str
    table: str
    format: Format
    domain: str | None = None
    host_only: bool = False
    path: str | None = None
    begun: datetime
    ended: datetime | None = None
    is_whole: bool = False
    pages: Count = 0
    captures: Count = 0
    damaged: Count = 0
    incomplete: Count = 0
    layout: Layout
    indexes: tuple[str, ...] = ()
    files: tuple[BackupFile, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def last(self) -> str | None:
        """The URL of the last page in the files, None where there is none."""
        return self.files[-1].last if self.files else None

    def write(self, folder: Path) -> None:
        """Write it into *folder*, in place of the one that is there."""
        data = with_checksum(msgspec.json.encode(self))
        with whole_file(folder / NAME) as part, part.open("wb") as file:
            file.write(msgspec.json.format(data, indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())


class _ManifestHead(msgspec.Struct):
    format_number: int
    files: msgspec.Raw = msgspec.Raw(b"")


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest in *folder*; raises `FormatError` where there is none, or none that can be believed."""
    path = folder / NAME
    try:
        with opened_regular(path) as file:
            # No more than there is: a buffer is made for all that is asked for.
            size = os.fstat(file.fileno()).st_size
            data = file.read(min(size, MOST_BYTES + 1))
    except OSError as exc:
        raise FormatError(f"{path}: {exc.strerror}; it is no backup that webtable export has written") from exc
    if len(data) > MOST_BYTES:
        raise FormatError(f"{path}: a manifest has up to {MOST_BYTES:,} bytes, and this one more")
    try:
        sealed = msgspec.json.format(data, indent=-1)
        header = msgspec.json.decode(sealed, type=_ManifestHead)
        if (number := header.format_number) != FORMAT_NUMBER:
            raise FormatError(f"{path}: format number {number}, and this version of webtable reads {FORMAT_NUMBER}")
        if len(sealed) - len(memoryview(header.files)) > MOST_OF_TABLE:
            raise FormatError(f"{path}: it says more than {MOST_OF_TABLE:,} bytes of the table")
        found = msgspec.json.decode(unsealed(sealed), type=Manifest)
    except (*UNREADABLE, msgspec.MsgspecError) as exc:
        raise FormatError(f"{path}: it is damaged, was altered or is no manifest: {exc}") from exc
    except WebTableError as exc:
        raise exc if isinstance(exc, FormatError) else FormatError(f"{path}: {exc}") from exc
    _check(path, found)
    return found


def _check(path: Path, found: Manifest) -> None:
    names = [file.name for file in found.files]
    for name in names:
        if not _FILE.fullmatch(name) or not name.endswith(ENDINGS[found.format]):
            raise FormatError(f"{path}: {name!r} is no name of a file of a backup")
    if names != [file_name(number, found.format) for number in range(1, len(names) + 1)]:
        raise FormatError(f"{path}: its files are not numbered one after another")
    if any(sum(getattr(file, what) for file in found.files) != getattr(found, what) for what in ("pages", "captures")):
        raise FormatError(f"{path}: its counts are not those of its files")


def file_name(number: int, form: Format) -> str:
    """Return the name of the file *number* of a backup.

    >>> file_name(1, "jsonl")
    'webtable-00001.jsonl.zst'
    """
    return f"webtable-{number:05}.{ENDINGS[form]}"


def opened_regular(path: Path) -> BufferedReader:
    """Open *path*; raises `OSError` where it is a link, a device, a pipe or a directory."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, "it is no regular file", str(path))
    return os.fdopen(file, "rb")


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the file at *path*, as `sha256sum` prints it; raises `OSError` where it is no file."""
    with opened_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def layout_options(manifest: Manifest) -> dict[str, Any]:
    """Return what `webtable.open` makes a table with that is laid out as the one of *manifest*, but for its indexes."""
    from webtable.rowkey import Salt

    layout = manifest.layout
    return {
        "salt": Salt(layout.salt, layout.digits),
        **{name: getattr(layout, name) for name in ("names", "compression", "plain_columns", "versions", "ttl")},
    }


@dataclass(slots=True)
class CheckedBackup:
    """What was compared with a manifest: so many files and bytes, and the pages and captures that were counted in them.

    `problems` says for each file that is missing, cut or another one what is wrong with it, and what the backup lacks.
    `strangers` are files beside the manifest that it does not name.
    """

    manifest: Manifest
    files: int = 0
    bytes: int = 0
    pages: int = 0
    captures: int = 0
    problems: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether all of it is as it was written."""
        return not self.problems


def verify_backup(
    folder: str | PathLike[str], *, counts: bool = True, on_progress: Callable[[int], None] | None = None
) -> CheckedBackup:
    """Return what is wrong with the backup in *folder*, by its manifest: files, their sizes, digests and counts.

    Without *counts* the captures in the files are not counted, which takes most of the time. *on_progress* is called
    with how many bytes were compared so far. Raises `FormatError` where there is no manifest that can be read.
    """
    folder = Path(folder)
    checked = CheckedBackup(read_manifest(folder))
    if not checked.manifest.is_whole:
        checked.problems.append(f"{folder}: the export was ended before it was whole; --resume goes on with it")
    for file in checked.manifest.files:
        problem = _compared(folder, file)
        if problem is None and counts:
            problem = _counted(folder, file, checked)
        if problem is not None:
            checked.problems.append(f"{folder / file.name}: {problem}")
        else:
            checked.files += 1
            checked.bytes += file.bytes
        if on_progress is not None:
            on_progress(checked.bytes)
    named = {"manifest.json", *(file.name for file in checked.manifest.files)}
    checked.strangers = sorted(path.name for path in folder.iterdir() if path.name not in named)
    return checked


def _compared(folder: Path, file: BackupFile) -> str | None:
    path = folder / file.name
    try:
        size = path.lstat().st_size
        if path.is_symlink() or not path.is_file():
            return "it is no regular file"
        if size != file.bytes:
            return f"it has {size:,} bytes in place of {file.bytes:,}" + (": it was cut" if size < file.bytes else "")
        return None if digest_of_file(path) == file.sha256 else "it is not what was written: its digest is another one"
    except FileNotFoundError:
        return "it is missing"
    except OSError as exc:
        return f"it cannot be read: {exc.strerror}"


def _counted(folder: Path, file: BackupFile, checked: CheckedBackup) -> str | None:
    """Count the pages and captures in *file*, and return what is wrong with their number."""
    pages = captures = 0
    report = ReadReport()
    try:
        read = read_pages(folder / file.name, types=None, report=report, extract=False, limits=BACKUP_LIMITS)
        for _, own in groupby(read, attrgetter("url")):
            pages += 1
            captures += sum(1 for _ in own)
    except FormatError as exc:
        return f"it cannot be read: {exc}"
    checked.pages += pages
    checked.captures += captures
    if (pages, captures) == (file.pages, file.captures):
        return None
    damaged = f" ({report.damaged[0].reason})" if report.damaged else ""
    return f"it has {captures:,} captures of {pages:,} pages in place of {file.captures:,} of {file.pages:,}{damaged}"


def read_backup(
    folder: str | PathLike[str], *, report: ReadReport | None = None, limits: ReadLimits = BACKUP_LIMITS
) -> Iterator[Page]:
    """Yield the captures in the backup in *folder*, for `Writer.put_many`, once it was compared with its manifest.

    *report* is kept up to date. *limits* let pass whatever a store can hold: lower `record` and `inflation` to read the
    backup of a stranger. Raises `FormatError` where a file is missing, cut or another one, or the backup is not
    whole.
    """
    folder = Path(folder)
    checked = verify_backup(folder, counts=False)
    if not checked.is_sound:
        raise FormatError("; ".join(checked.problems[:3]))
    for file in checked.manifest.files:
        yield from read_pages(folder / file.name, types=None, report=report, limits=limits)

"""A backup read again: whether it is what was written, and its captures."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from webtable._limits import BACKUP_LIMITS
from webtable.errors import FormatError
from webtable.formats.backups.manifest import BackupFile, Manifest, digest_of_file, read_manifest
from webtable.formats.base import ReadReport
from webtable.formats.read import read_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from webtable._limits import ReadLimits
    from webtable._page.page import Page


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

"""A table out as a backup: a folder of files of bounded size, each of them whole before the manifest names it."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias, get_args

from msgspec.structs import replace

from webtable._clock import clock
from webtable._whole_file import OWN_FOLDER, whole_file
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.archives.warc_files import software
from webtable.formats.backups.files import KINDS
from webtable.formats.backups.manifest import (
    NAME,
    BackupFile,
    Format,
    Manifest,
    digest_of_file,
    file_name,
    read_manifest,
)
from webtable.repository.frame import Frame
from webtable.repository.questions.captures import kept
from webtable.repository.scanning.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from webtable._page.page import Page
    from webtable.formats.backups.files import CaptureFile
    from webtable.repository import WebTable
    from webtable.repository.arguments import Progress

FILE_BYTES: Final = 1_000_000_000
_PROGRESS_PAGES: Final = 100

_Captures: TypeAlias = tuple[str, "Iterator[Page]"]
"""A page on its way: its URL, and its captures, oldest first."""


@dataclass(slots=True)
class Exported:
    """What was written: the manifest as it is at the end, and the first 100 rows that could not be read.

    `refetched` pages of files that an earlier run has written were fetched again since, and `came` says how many more
    of them the table has by now (below 0: fewer): the files have them as they were. None where nothing was there.
    """

    manifest: Manifest
    examples: list[DamagedRow] = field(default_factory=list)
    refetched: int | None = None
    came: int | None = None


def write_backup(
    table: WebTable,
    folder: str | PathLike[str],
    domain: str | None = None,
    *,
    format: Format = "jsonl",  # noqa: A002 - what the command line calls it
    host_only: bool = False,
    path: str | None = None,
    full_scan: bool = False,
    file_bytes: int = FILE_BYTES,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> Exported:
    """Write every capture that *table* keeps into files in *folder*, with a manifest of them, and say what was written.

    The pages are those that `WebTable.pages` lists for *domain*, *host_only*, *path* and *full_scan*; *format* is
    "jsonl", "parquet" (with `hbase-webtable[arrow]`) or "warc". A file ends with the first page beyond *file_bytes*
    bytes. *folder* must be new or empty; with *resume* it may have what an earlier run with the same arguments has
    left, which goes on behind the last file that is whole. Where a run ends early, the files that are whole stay.
    *on_progress* is called with how many pages were written so far.
    Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `MissingExtra`, `FormatError` for a manifest that is
    damaged, and `OSError`.
    """
    scope, folder = Scope(domain, host_only, path, full_scan), Path(folder).resolve()
    if format not in get_args(Format):
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(get_args(Format))}")
    if type(file_bytes) is not int or file_bytes < 1:
        raise InvalidArgument(f"file_bytes={file_bytes!r} must be a number of bytes above 0")
    frame = Frame.of(table.store, table.table, table.layout, strict=table.strict)
    scope.ranges(frame)  # before a folder is made
    with _alone(folder, resume=resume):
        manifest = _begun(frame, scope, format)
        if not (folder / NAME).exists():
            manifest.write(folder)
            exported = Exported(manifest)
        else:
            exported = Exported(_going_on(folder, manifest))
            _compare(exported, table, scope)
        _Export(frame, scope, folder, exported, on_progress).run(file_bytes)
    return exported


def _begun(frame: Frame, scope: Scope, form: Format) -> Manifest:
    indexes = [one for one in frame.indexes.read().values() if one.state.phase in ("ready", "building")]
    return Manifest(
        webtable=software().partition(" ")[2],
        table=frame.table,
        format=form,
        domain=scope.domain,
        host_only=scope.host_only,
        path=scope.path,
        begun=clock.now(),
        layout=frame.layouts.recent(),
        indexes=tuple(sorted(one.state.of or one.name for one in indexes)),
    )


@contextmanager
def _alone(folder: Path, *, resume: bool) -> Iterator[None]:
    """Hold *folder*, which is made if it is not there, for this run alone; raises `InvalidArgument`."""
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"{folder}: it is no directory; name a new one, or an empty one")
    if not folder.parent.is_dir():
        raise InvalidArgument(f"{folder}: there is no directory {folder.parent}")
    folder.mkdir(OWN_FOLDER, exist_ok=True)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _hold(held, folder)
        there = sorted(path.name for path in folder.iterdir())
        if there and not resume:
            what = "--resume goes on with an export that was ended" if NAME in there else "name a new directory"
            raise InvalidArgument(f"{folder}: it is there already; {what}, or an empty one")
        if there and NAME not in there:
            raise InvalidArgument(f"{folder}: there is no {NAME} to go on with; name a new directory, or an empty one")
        for left in folder.glob("webtable-*.part"):
            left.unlink()  # of a process that was killed
        yield
    finally:
        os.close(held)


def _hold(held: int, folder: Path) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        raise InvalidArgument(f"{folder}: another export writes there; wait for its end") from exc


def _going_on(folder: Path, wanted: Manifest) -> Manifest:
    """Return what an earlier run has written; raises `InvalidArgument` where it was of something else, or is whole."""
    found = read_manifest(folder)
    for name in ("table", "format", "domain", "host_only", "path", "layout", "indexes"):
        there, now = getattr(found, name), getattr(wanted, name)
        if there != now:
            raise InvalidArgument(f"{folder}: it was begun with {name}={there!r}, and now that is {now!r}: begin anew")
    if found.is_whole:
        raise InvalidArgument(f"{folder}: what was exported there is whole; name another directory")
    for file in found.files:
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.bytes:
            raise FormatError(f"{path}: it is not there as it was written: begin anew in another directory")
    return found


def _compare(exported: Exported, table: WebTable, scope: Scope) -> None:
    """Fill in how the pages that are written differ from those in the table by now: by their dates and their number."""
    manifest, place = exported.manifest, table.key.unsalted
    if manifest.last is None:
        return
    last, pages, refetched = place(table.key.encode(manifest.last)), 0, 0
    for page in table.pages(**scope._asdict()):
        if place(table.key.encode(page.url)) > last:
            break
        pages += 1
        refetched += page.fetched_at > manifest.begun
    exported.refetched = refetched
    # Rows that cannot be read are not among the pages that were written.
    exported.came = 0 if manifest.damaged else pages - manifest.pages


class _Export:
    """A run that writes the captures behind those that are written."""

    def __init__(
        self, frame: Frame, scope: Scope, folder: Path, exported: Exported, on_progress: Progress | None
    ) -> None:
        self._folder = folder
        self._exported = exported
        self._on_progress = on_progress
        self._damage = frame.damage(exported.examples)
        self._damaged_before = exported.manifest.damaged
        manifest = exported.manifest
        captures = kept(frame, scope, self._damage, after=manifest.last)
        self._pages = groupby(captures, attrgetter("url"))

    def run(self, file_bytes: int) -> None:
        """Write files until there are no more pages, and the manifest behind each of them."""
        page = next(self._pages, None)
        while page is not None:
            page = self._write_file(page, file_bytes)
        self._note(is_whole=True, ended=clock.now())

    def _write_file(self, page: _Captures, most: int) -> _Captures | None:
        """Write a file that begins with *page*, and return the page behind it."""
        manifest = self._exported.manifest
        name = file_name(len(manifest.files) + 1, manifest.format)
        with whole_file(self._folder / name) as part:
            with part.open("wb") as file:
                counts, following = self._fill(file, name, page, most)
                file.flush()
                os.fsync(file.fileno())
            digest = digest_of_file(part)
            size = part.stat().st_size
        entry = BackupFile(name, size, digest, counts.pages, counts.captures, counts.last)
        self._note(
            files=(*manifest.files, entry),
            pages=manifest.pages + counts.pages,
            captures=manifest.captures + counts.captures,
            incomplete=manifest.incomplete + counts.incomplete,
        )
        return following

    def _fill(self, file: IO[bytes], name: str, page: _Captures, most: int) -> tuple[_FileCounts, _Captures | None]:
        """Write pages to *file* until it is over *most* bytes; return what they were, and the page behind them."""
        counts, kind = _FileCounts(), KINDS[self._exported.manifest.format](file, name)
        following: _Captures | None = page
        # What a kind writes at its beginning may be more than *most* already.
        while following is not None and (not counts.pages or file.tell() + kind.waiting < most):
            counts.add(following, kind)
            self._tell(self._exported.manifest.pages + counts.pages)
            following = next(self._pages, None)
        kind.close()
        counts.incomplete = kind.incomplete
        return counts, following

    def _note(self, **changed: object) -> None:
        damaged = self._damaged_before + self._damage.count
        self._exported.manifest = replace(self._exported.manifest, damaged=damaged, **changed)
        self._exported.manifest.write(self._folder)

    def _tell(self, pages: int) -> None:
        if self._on_progress is not None and pages % _PROGRESS_PAGES == 0:
            self._on_progress(pages)


@dataclass(slots=True)
class _FileCounts:
    """What is in a file, up to the URL `last`."""

    pages: int = 0
    captures: int = 0
    incomplete: int = 0
    last: str = ""

    def add(self, page: _Captures, file: CaptureFile) -> None:
        """Write the captures of *page* to *file*, and count them."""
        self.last, captures = page
        written = file.write(captures)
        self.pages += written > 0
        self.captures += written

"""Export of the captures of a table into a directory; a file is complete before the manifest lists it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias, get_args

from msgspec.structs import replace

from webtable._atomic_file import atomic_file
from webtable._clock import clock
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.archives.warc_files import software
from webtable.formats.exports.capture_files import KINDS
from webtable.formats.exports.locked_folder import locked_folder
from webtable.formats.exports.manifest import (
    NAME,
    ExportFile,
    Format,
    Manifest,
    digest_of_file,
    file_name,
    read_manifest,
)
from webtable.repository.frame import Frame
from webtable.repository.questions.captures import kept
from webtable.repository.scanning.scope import Scope
from webtable.repository.scanning.site import ALL, named_site, site_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from webtable._page.page import Page
    from webtable.formats.exports.capture_files import CaptureFile
    from webtable.repository.arguments import Progress
    from webtable.repository.scanning.site import Site
    from webtable.repository.table.web_table import WebTable

FILE_BYTES: Final = 1_000_000_000
_PROGRESS_PAGES: Final = 100

_Captures: TypeAlias = tuple[str, "Iterator[Page]"]
"""The URL of a page, and its captures, oldest first."""


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
    format: Format = "jsonl",  # noqa: A002 - what the command line calls it
    file_bytes: int = FILE_BYTES,
    resume: bool = False,
    on_progress: Progress | None = None,
) -> Exported:
    """Write all captures that *table* keeps into files in *folder*, with a manifest, and return what was written.

    The pages are those that `WebTable.pages` lists for *site*; *format* is
    "jsonl", "parquet" (with `hbase-webtable[arrow]`) or "warc". A file ends with the page that makes it exceed
    *file_bytes* bytes. *folder* must be new or empty. If a run is interrupted, its complete files stay, and a run with
    *resume* and the same other arguments goes on after them.
    *on_progress* is called with how many pages were written so far.
    Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, `MissingExtra`, `FormatError` for a manifest that is
    damaged, and `OSError`.
    """
    scope, folder = Scope.of(site), Path(folder).resolve()
    if format not in get_args(Format):
        raise InvalidArgument(f"format={format!r} must be one of {', '.join(get_args(Format))}")
    if type(file_bytes) is not int or file_bytes < 1:
        raise InvalidArgument(f"file_bytes={file_bytes!r} must be a number of bytes above 0")
    frame = Frame.of(table.store, table.table, table.layout, strict=table.strict)
    scope.ranges(frame)  # raises before a folder is made
    with _locked_folder(folder, resume=resume):
        manifest = _new_manifest(frame, site, format)
        if not (folder / NAME).exists():
            manifest.write(folder)
            exported = Exported(manifest)
        else:
            exported = Exported(_resumed_manifest(folder, manifest))
            _compare(exported, table)
        _Export(frame, scope, folder, exported, on_progress).run(file_bytes)
    return exported


def _new_manifest(frame: Frame, site: Site | None, form: Format) -> Manifest:
    indexes = [one for one in frame.indexes.read().values() if one.state.phase in ("ready", "building")]
    return Manifest(
        webtable=software().partition(" ")[2],
        table=frame.table,
        format=form,
        site=site_text(site or ALL),
        begun=clock.now(),
        layout=frame.layouts.recent(),
        indexes=tuple(sorted(one.state.of or one.name for one in indexes)),
    )


@contextmanager
def _locked_folder(folder: Path, *, resume: bool) -> Iterator[None]:
    """Lock *folder* while the block runs, and make it if it is missing; raises `InvalidArgument`."""
    with locked_folder(folder):
        present = sorted(path.name for path in folder.iterdir())
        if present and not resume:
            hint = "; --resume completes an export that was interrupted" if NAME in present else ""
            raise InvalidArgument(f"{folder}: the directory is not empty{hint}; name a new or empty one")
        if present and NAME not in present:
            raise InvalidArgument(f"{folder}: there is no {NAME}, so nothing to resume; name a new or empty directory")
        for left in folder.glob("webtable-*.part"):
            left.unlink()  # of a process that was killed
        yield


def _resumed_manifest(folder: Path, wanted: Manifest) -> Manifest:
    """Return the manifest of an earlier run; raises `InvalidArgument` if its arguments differ or it is complete."""
    found = read_manifest(folder)
    for name in ("table", "format", "site", "layout", "indexes"):
        before, now = getattr(found, name), getattr(wanted, name)
        if before != now:
            raise InvalidArgument(
                f"{folder}: the export began with {name}={before!r}, now it is {now!r}: export into another directory"
            )
    if found.is_complete:
        raise InvalidArgument(f"{folder}: the export there is complete; name another directory")
    for file in found.files:
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.bytes:
            raise FormatError(f"{path}: missing, or not of the size that was written: export into another directory")
    return found


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
        """Write all files, and the manifest after each of them."""
        page = next(self._pages, None)
        while page is not None:
            page = self._write_file(page, file_bytes)
        self._update(is_complete=True, ended=clock.now())

    def _write_file(self, page: _Captures, most: int) -> _Captures | None:
        """Write a file that begins with *page*, and return the first page for the next file."""
        manifest = self._exported.manifest
        name = file_name(len(manifest.files) + 1, manifest.format)
        with atomic_file(self._folder / name) as part:
            with part.open("wb") as file:
                counts, following = self._fill(file, name, page, most)
                file.flush()
                os.fsync(file.fileno())
            digest = digest_of_file(part)
            size = part.stat().st_size
        entry = ExportFile(name, size, digest, counts.pages, counts.captures, counts.last)
        self._update(
            files=(*manifest.files, entry),
            pages=manifest.pages + counts.pages,
            captures=manifest.captures + counts.captures,
            incomplete=manifest.incomplete + counts.incomplete,
        )
        return following

    def _fill(self, file: IO[bytes], name: str, page: _Captures, most: int) -> tuple[_FileCounts, _Captures | None]:
        """Write pages to *file* until it has *most* bytes; return its counts, and the first page for the next file."""
        counts, kind = _FileCounts(), KINDS[self._exported.manifest.format](file, name)
        following: _Captures | None = page
        # The header that a format writes may be larger than *most* already.
        while following is not None and (not counts.pages or file.tell() + kind.waiting < most):
            counts.add(following, kind)
            self._report(self._exported.manifest.pages + counts.pages)
            following = next(self._pages, None)
        kind.close()
        counts.incomplete = kind.incomplete
        return counts, following

    def _update(self, **changed: object) -> None:
        damaged = self._damaged_before + self._damage.count
        self._exported.manifest = replace(self._exported.manifest, damaged=damaged, **changed)
        self._exported.manifest.write(self._folder)

    def _report(self, pages: int) -> None:
        if self._on_progress is not None and pages % _PROGRESS_PAGES == 0:
            self._on_progress(pages)


@dataclass(slots=True)
class _FileCounts:
    """How many pages and captures a file has, and the URL of its last page."""

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

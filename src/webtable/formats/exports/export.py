"""Export of the captures of a table into a directory; a file is complete before the manifest lists it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

from msgspec.structs import replace

from webtable._clock import clock
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.archives.warc_files import software
from webtable.formats.exports.locked_folder import locked_folder
from webtable.formats.exports.manifest import (
    NAME,
    Format,
    Manifest,
    read_manifest,
)
from webtable.formats.exports.numbered_files import NumberedFile, NumberedFiles, number_in
from webtable.repository.context import Frame
from webtable.repository.partitions.cuts import unsalted_parts
from webtable.repository.partitions.tasks import PartTask, check_workers, done_by
from webtable.repository.questions.captures import kept
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.site import ALL, named_site, site_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from webtable._files import Folder
    from webtable.repository.arguments import Progress
    from webtable.repository.reading.site import Site
    from webtable.repository.table.web_table import WebTable
    from webtable.rowkey import KeyRange

FILE_BYTES: Final = 1_000_000_000
PARTS_A_WORKER: Final = 4
"""How many parts each worker writes, in at least as many files."""
FILES_A_PART: Final = 1_000
"""How many numbers each part has for its files."""
MOST_EXAMPLES: Final = 100
_PROGRESS_PAGES: Final = 100


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
    workers: int = 1,
    on_progress: Progress | None = None,
) -> Exported:
    """Write all captures that *table* keeps into files in *folder*, with a manifest, and return what was written.

    The pages are those that `WebTable.pages` lists for *site*; *format* is
    "jsonl", "parquet" (with `hbase-webtable[arrow]`) or "warc". A file ends with the page that makes it exceed
    *file_bytes* bytes. *folder* must be new or empty. If a run is interrupted, its complete files stay, and a run with
    *resume* and the same other arguments goes on after them. With several *workers*, processes that read a part of the
    URLs each, the files are as many as parts at least, and their numbers have gaps.
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
    check_workers(frame, workers)
    with _locked_folder(folder, resume=resume) as opened:
        manifest = _new_manifest(frame, site, format)
        if opened.kind(NAME) is None:
            manifest.write(folder)
            exported = Exported(manifest)
        else:
            exported = Exported(_resumed_manifest(opened, manifest))
            _compare(exported, table)
        _drop_unlisted(opened, exported.manifest)
        run = _Export(frame, scope, folder, exported, on_progress)
        if workers == 1:
            run.by_one(file_bytes)
        else:
            run.by_workers(workers, file_bytes)
            _drop_unlisted(opened, exported.manifest)  # of workers that were killed
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
def _locked_folder(folder: Path, *, resume: bool) -> Iterator[Folder]:
    """Give *folder*, locked while the block runs, and made if it is missing; raises `InvalidArgument`."""
    with locked_folder(folder) as opened:
        present = opened.names()
        if present and not resume:
            hint = "; --resume completes an export that was interrupted" if NAME in present else ""
            raise InvalidArgument(f"{folder}: the directory is not empty{hint}; name a new or empty one")
        if present and NAME not in present:
            raise InvalidArgument(f"{folder}: there is no {NAME}, so nothing to resume; name a new or empty directory")
        yield opened


def _drop_unlisted(folder: Folder, manifest: Manifest) -> None:
    """Remove files of processes that were killed, or whose part came after one that was not finished."""
    listed = {file.name for file in manifest.files}
    for name in folder.names():
        if name.startswith("webtable-") and name not in listed:
            folder.remove(name)


def _resumed_manifest(opened: Folder, wanted: Manifest) -> Manifest:
    """Return the manifest of an earlier run; raises `InvalidArgument` if its arguments differ or it is complete."""
    folder = opened.path
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
        is_there = opened.kind(file.name) == "file"
        if not is_there or (folder / file.name).lstat().st_size != file.bytes:
            raise FormatError(
                f"{folder / file.name}: missing, or not of the size that was written: export into another directory"
            )
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
        self._frame = frame
        self._scope = scope
        self._folder = folder
        self._exported = exported
        self._on_progress = on_progress
        self._damaged_before = exported.manifest.damaged

    def by_one(self, file_bytes: int) -> None:
        """Write all files, and the manifest after each of them."""
        damage = self._frame.damage(self._exported.examples)
        begun = self._exported.manifest
        captures = kept(self._frame, self._scope, damage, after=begun.last)
        first = number_in(begun.files[-1].name) + 1 if begun.files else 1

        def report(pages: int) -> None:
            self._report(self._exported.manifest.pages + pages)

        for file in NumberedFiles(self._folder, begun.format, file_bytes, report).written(captures, first):
            self._add([file], damage.count)
        self._end(damage.count)

    def by_workers(self, workers: int, file_bytes: int) -> None:
        """Do the same with *workers* processes: a part counts once all before it do, so that a run can be resumed."""
        frame, begun = self._frame, self._exported.manifest
        before = number_in(begun.files[-1].name) if begun.files else 0
        firsts = count((before // FILES_A_PART + 1) * FILES_A_PART + 1, FILES_A_PART)
        parts = unsalted_parts(frame, self._scope.ranges(frame), begun.last, PARTS_A_WORKER * workers)
        given = (self._scope, self._folder, begun.format, file_bytes, begun.last)
        tasks = [PartTask(_written_part, None, (*given, *one)) for one in zip(firsts, parts, strict=False)]
        damaged = 0
        with done_by(workers, frame, tasks) as written:
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
            files=(*manifest.files, *(one.entry for one in files)),
            pages=manifest.pages + sum(one.entry.pages for one in files),
            captures=manifest.captures + sum(one.entry.captures for one in files),
            incomplete=manifest.incomplete + sum(one.incomplete for one in files),
        )

    def _end(self, damaged: int) -> None:
        self._update(damaged, is_complete=True, ended=clock.now())

    def _update(self, damaged: int, **changed: object) -> None:
        self._exported.manifest = replace(self._exported.manifest, damaged=self._damaged_before + damaged, **changed)
        self._exported.manifest.write(self._folder)

    def _report(self, pages: int) -> None:
        if self._on_progress is not None and pages % _PROGRESS_PAGES == 0:
            self._on_progress(pages)


def _written_part(
    frame: Frame,
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
    damage = frame.damage(examples)
    files: list[NumberedFile] = []
    captures = kept(frame, scope, damage, after=after, urls=urls)
    for file in NumberedFiles(folder, form, file_bytes).written(captures, first):
        files.append(file)
        if len(files) == FILES_A_PART:
            raise InvalidArgument(
                f"file_bytes={file_bytes:,} makes {FILES_A_PART:,} files or more of a part: name more bytes"
            )
    return files, damage.count, examples

"""Export of the captures of a table into a directory; a file is complete before the manifest lists it."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeAlias, get_args

from msgspec.structs import replace

from webtable._clock import clock
from webtable._files import Folder, atomic_file, naming_errors
from webtable.errors import DamagedRow, FormatError, InvalidArgument
from webtable.formats.archives import Archived
from webtable.formats.exports.capture_files import KINDS
from webtable.formats.exports.manifest import NAME, ExportFile, Format, Manifest, digest_of, file_name, read_manifest
from webtable.formats.warc_out import software
from webtable.progress import counting
from webtable.repository.context import Frame
from webtable.repository.partitions.cuts import unsalted_parts
from webtable.repository.partitions.tasks import PartTask, check_workers, done_by
from webtable.repository.questions.captures import kept
from webtable.repository.reading.scope import Scope
from webtable.repository.reading.site import ALL, named_site, site_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from webtable.formats.exports.capture_files import CaptureFile
    from webtable.page.page import Page
    from webtable.repository.arguments import Progress
    from webtable.repository.reading.site import Site
    from webtable.repository.table.web_table import WebTable
    from webtable.rowkey import KeyRange


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


# --- Files of captures with numbers in their names: each appears when it is complete, and is as large as was asked
# for


_Captures: TypeAlias = tuple[str, "Iterator[Page]"]
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
        self._most = file_bytes
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
        with Folder(self._folder) as folder, folder.replacing(name) as file:
            counts, following = self._fill(file, name, page, pages)
            file.flush()
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
            digest = digest_of(file)
        entry = ExportFile(name, size, digest, counts.pages, counts.captures, counts.last, counts.largest)
        return NumberedFile(entry, counts.incomplete), following

    def _fill(
        self, file: IO[bytes], name: str, page: _Captures, pages: Iterator[_Captures]
    ) -> tuple[_FileCounts, _Captures | None]:
        """Write pages to *file* until it is large enough; return its counts, and the first page for the next file."""
        counts, kind = _FileCounts(), KINDS[self._form](file, name)
        following: _Captures | None = page
        # The header that a format writes may be larger than a file may be already.
        while following is not None and (not counts.pages or file.tell() + kind.waiting < self._most):
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


# --- All captures of a site as one file, in the format that its name says ---------------------------------------------


CAPTURE_ENDINGS: Final[dict[str, Format]] = {
    ".warc.gz": "warc",
    ".warc": "warc",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".jsonl.zst": "jsonl",
    ".parquet": "parquet",
}
"""The formats by the endings of the names of files."""
_PROGRESS_PAGES: Final = 100


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
    frame = Frame.of(table.store, table.table, table.layout, strict=table.strict)
    archived = Archived()
    damage = frame.damage(archived.examples)
    with atomic_file(path) as part, part.open("wb") as opened:
        kind = KINDS[form](opened, path.name)
        pages = groupby(kept(frame, scope, damage), attrgetter("url"))
        for _, captures in counting(pages, on_progress, _PROGRESS_PAGES):
            count = kind.write(captures)
            archived.pages += count > 0
            archived.records += count
        kind.close()
        opened.flush()
        os.fsync(opened.fileno())
        archived.bytes = opened.tell()
    archived.files.append(path.name)
    archived.damaged, archived.incomplete = damage.count, kind.incomplete
    return archived


# ----------------------------------------------------------------------------------------------------------------------


FILE_BYTES: Final = 1_000_000_000
PARTS_A_WORKER: Final = 4
"""How many parts each worker writes, in at least as many files."""
FILES_A_PART: Final = 1_000
"""How many numbers each part has for its files."""
MOST_EXAMPLES: Final = 100


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

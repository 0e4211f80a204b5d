"""Tables out as archives: WARC files in a folder, with an index if that is wanted, or one WACZ file."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zipfile import ZipFile

from webtable._progress import counting
from webtable._whole_file import OWN_FOLDER, named, own_file, part_of, whole_file
from webtable.errors import DamagedRow, InvalidArgument
from webtable.formats.archives.wacz import Package, page_line, page_lines
from webtable.formats.archives.warc_files import WarcFiles
from webtable.repository.frame import Frame
from webtable.repository.questions.captures import kept
from webtable.repository.scanning.scope import Scope
from webtable.repository.scanning.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from os import PathLike

    from webtable._page.page import Page
    from webtable.formats.archives.warc_files import MeasuredFile
    from webtable.formats.archives.warc_records import Written
    from webtable.repository import WebTable
    from webtable.repository.arguments import Progress

FILE_BYTES = 1_000_000_000
"""At so many bytes a WARC file ends, unless another number is given: the size that WARC's own guidelines recommend."""
INDEX = "index.cdxj"
_PROGRESS_PAGES = 100


@dataclass
class Archived:
    """What was written: pages, the records of their captures, WARC files and their bytes, and what is not in them."""

    pages: int = 0
    records: int = 0
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    damaged: int = 0
    """Rows that cannot be read, or not all of them; `examples` are the first 100."""
    incomplete: int = 0
    """Captures of which something, mostly links that are not in the body, is too long to be told in a record."""
    examples: list[DamagedRow] = field(default_factory=list)

    def add(self, file: MeasuredFile) -> None:
        """Count a WARC file that is whole."""
        self.files.append(file.name)
        self.bytes += file.size


def write_warc(
    table: WebTable,
    folder: str | PathLike[str],
    domain: str | None = None,
    *,
    host_only: bool = False,
    path: str | None = None,
    full_scan: bool = False,
    file_bytes: int = FILE_BYTES,
    with_index: bool = False,
    on_progress: Progress | None = None,
) -> Archived:
    """Write every capture that is kept as WARC files into *folder*, which must be new or empty; return what they hold.

    The pages are those that `WebTable.pages` lists for *domain*, *host_only*, *path* and *full_scan*. A file ends with
    the first record beyond *file_bytes* bytes. *with_index* adds `index.cdxj`, the sorted index of all records.
    `read_pages` reads the files: stored in a new table, they make the same pages and versions (docs/archives.md tells
    what a WARC file cannot keep). The files are there when all of them are whole. *on_progress* is called with how many
    pages were written so far. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`, and `OSError`.
    """
    scope, folder = Scope(domain, host_only, path, full_scan), Path(folder).resolve()
    _check_file_bytes(file_bytes)
    archived = Archived()
    with _new_folder(folder) as part, Scratch("CREATE TABLE line (line BLOB)", "BEGIN") as scratch:

        def indexed(line: bytes) -> None:
            if with_index:
                scratch.run("INSERT INTO line VALUES (?)", [line])

        files = WarcFiles(_Folder(part), file_bytes, indexed, archived.add)
        _fill(files, table, scope, archived, on_progress, lambda _: None)
        if with_index:
            with open(part / INDEX, "xb", opener=own_file) as index:
                index.writelines(_sorted(scratch))
    return archived


def write_wacz(
    table: WebTable,
    file: str | PathLike[str],
    domain: str | None = None,
    *,
    host_only: bool = False,
    path: str | None = None,
    full_scan: bool = False,
    file_bytes: int = FILE_BYTES,
    on_progress: Progress | None = None,
) -> Archived:
    """Write every capture that is kept as one WACZ file, which players such as ReplayWeb.page open; return what it has.

    It has the WARC files of `write_warc`, their index, and a list of the pages; *table*, *domain*, *host_only*, *path*,
    *full_scan*, *file_bytes* (bytes) and *on_progress* are those of `write_warc`. It takes the place of what was there
    when it is whole. Raises as `write_warc` does.
    """
    scope, file = Scope(domain, host_only, path, full_scan), Path(file).resolve()
    _check_file_bytes(file_bytes)
    archived = Archived()
    tables = ("CREATE TABLE line (line BLOB)", "CREATE TABLE page (number INTEGER PRIMARY KEY, line BLOB)", "BEGIN")
    _check_file(file)
    with whole_file(file) as part, ZipFile(part, "w") as zipped, Scratch(*tables) as scratch:
        package = Package(zipped)

        def written(warc: MeasuredFile) -> None:
            archived.add(warc)
            package.add(f"archive/{warc.name}", warc)

        def listed(page: Page) -> None:
            if line := page_line(page, archived.pages):
                scratch.run("INSERT INTO page VALUES (?, ?)", [archived.pages, line])

        files = WarcFiles(package, file_bytes, lambda line: scratch.run("INSERT INTO line VALUES (?)", [line]), written)
        _fill(files, table, scope, archived, on_progress, listed)
        package.write("indexes/index.cdx", _sorted(scratch))
        package.write("pages/pages.jsonl", page_lines(line for (line,) in scratch.rows(_PAGES)))
        package.finish(datetime.now(UTC))
    return archived


_PAGES = "SELECT line FROM page ORDER BY number"


def _sorted(scratch: Scratch) -> Iterator[bytes]:
    """Yield the lines of the index as bytes sort, which SQLite does on disk where they are many."""
    return (line for (line,) in scratch.rows("SELECT line FROM line ORDER BY line"))


def _fill(
    files: WarcFiles,
    table: WebTable,
    scope: Scope,
    archived: Archived,
    on_progress: Progress | None,
    listed: Callable[[Page], None],
) -> None:
    """Write all captures into *files*, and give the newest one of each page to *listed*."""
    frame = Frame.of(table.store, table.table, table.layout, strict=table.strict)
    damage = frame.damage(archived.examples)
    try:
        pages = groupby(kept(frame, scope, damage), attrgetter("url"))
        for _, captures in counting(pages, on_progress, _PROGRESS_PAGES):
            listed(_write_captures(files, captures))
            archived.pages += 1
        files.close()
    finally:
        files.abandon()
    archived.records, archived.damaged, archived.incomplete = files.records, damage.count, files.incomplete


def _write_captures(files: WarcFiles, captures: Iterator[Page]) -> Page:
    """Write the captures of one page, at least one, and return the last of them."""
    written: dict[datetime, Written] = {}
    for page in captures:
        repeated = None if page.content_at is None else written.get(page.content_at)
        written[page.fetched_at] = files.write(page, repeated)
    return page


class _Folder:
    """A folder as the target of WARC files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open a new file of that name."""
        return open(self._folder / name, "xb", opener=own_file)


def _check_file_bytes(file_bytes: int) -> None:
    if type(file_bytes) is not int or file_bytes < 1:
        raise InvalidArgument(f"file_bytes={file_bytes!r} must be a number of bytes above 0")


def _check_file(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidArgument(f"{path}: an archive cannot be written there; name a file in a directory that exists")


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder whose files are moved to *folder* at the end, and that is removed where something goes wrong."""
    is_there = folder.is_dir()
    if (folder.exists() and not is_there) or (is_there and any(folder.iterdir())):
        raise InvalidArgument(f"{folder}: it is there already; name a new directory, or an empty one")
    # Within an empty folder, which may be a file system of its own.
    part = folder / f".{os.getpid()}.part" if is_there else part_of(folder)
    try:
        with named(folder):
            part.mkdir(OWN_FOLDER)
            yield part
            if is_there:
                for file in sorted(part.iterdir()):
                    file.replace(folder / file.name)
            else:
                part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)

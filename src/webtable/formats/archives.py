"""Writing the captures of a table as one WACZ file; and what all files of captures are written with."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING
from zipfile import ZipFile, ZipInfo

import msgspec

from webtable._clock import clock
from webtable._files import atomic_file
from webtable.errors import DamagedRow, InvalidArgument
from webtable.formats.warc_out import MeasuredFile, WARCFiles, date_text, sha256, software, write_page_records
from webtable.progress import counting
from webtable.repository.context import TableContext
from webtable.repository.failed_fetches import FailedFetch, FailedFetches
from webtable.repository.questions.captures import kept
from webtable.repository.reading.scope import Scope, Site
from webtable.repository.reading.temporary_tables import TemporaryTables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from os import PathLike

    from webtable.page.page import Page
    from webtable.repository.arguments import Progress
    from webtable.repository.table.web_table import WebTable

FILE_BYTES = 1_000_000_000
"""The default size at which a file ends; for WARC files the guidelines of WARC recommend it."""
INDEX = "index.cdxj"
PROGRESS_PAGES = 100
"""After how many pages progress is reported: a page may have thousands of captures."""


@dataclass
class Archived:
    """The result of writing an archive: counts of pages, records, WARC files and bytes, and of what is missing."""

    pages: int = 0
    records: int = 0
    files: list[str] = field(default_factory=list)
    bytes: int = 0
    damaged: int = 0
    """Rows that could not be read, or only in part; `examples` has the first 100."""
    incomplete: int = 0
    """Captures of which something, mostly links that are not in the body, is too long for a record."""
    examples: list[DamagedRow] = field(default_factory=list)

    def add(self, file: MeasuredFile) -> None:
        """Count a complete WARC file."""
        self.files.append(file.name)
        self.bytes += file.size


def each_page(
    table: WebTable, scope: Scope, archived: Archived, on_progress: Progress | None
) -> Iterator[Iterator[Page]]:
    """Yield the captures of each page that *table* keeps in *scope*, oldest first; damaged rows are counted."""
    context = TableContext.of(table.store, table.table, table.layout, strict=table.strict)
    damage = context.damage(archived.examples)
    pages = groupby(kept(context, scope, damage), attrgetter("url"))
    for _, captures in counting(pages, on_progress, PROGRESS_PAGES):
        yield captures
    archived.damaged = damage.count


def failed_fetches(table: WebTable, scope: Scope) -> Iterator[FailedFetch]:
    """Yield the failed fetches of *scope*, which are written after all captures."""
    context = TableContext.of(table.store, table.table, table.layout, strict=table.strict)
    return FailedFetches(context).in_scope(scope)


def check_file_bytes(file_bytes: int) -> None:
    """Raise `InvalidArgument` unless *file_bytes* is a whole number above 0."""
    if type(file_bytes) is not int or file_bytes < 1:
        raise InvalidArgument(f"file_bytes={file_bytes!r} must be a number of bytes above 0")


def write_wacz(
    table: WebTable,
    file: str | PathLike[str],
    site: Site | None = None,
    *,
    file_bytes: int = FILE_BYTES,
    on_progress: Progress | None = None,
) -> Archived:
    """Write all captures that *table* keeps as one WACZ file, which players such as ReplayWeb.page open.

    It has WARC files that each end with the first record over *file_bytes* (bytes), their index, and a list of the
    pages; *table*, *site* and *on_progress* are those of `write_export`. It replaces an earlier file when it is
    complete. Returns counts of what it has. Raises `FullScanNeeded` as `write_export` does, and `InvalidArgument` for a
    *file* in no directory.
    """
    scope, file = Scope.of(site), Path(file).resolve()
    check_file_bytes(file_bytes)
    if file.is_dir() or not file.parent.is_dir():
        raise InvalidArgument(f"{file}: cannot write an archive there; name a file in an existing directory")
    archived = Archived()
    tables = (_LINES, "CREATE TABLE page (number INTEGER PRIMARY KEY, line BLOB)", "BEGIN")
    with atomic_file(file) as part, ZipFile(part, "w") as zipped, TemporaryTables(*tables) as scratch:
        package = Package(zipped)

        def written(warc: MeasuredFile) -> None:
            archived.add(warc)
            package.add(f"archive/{warc.name}", warc)

        def indexed(line: bytes) -> None:
            scratch.run("INSERT INTO line VALUES (?)", [line])

        files = WARCFiles(package.open, file_bytes, indexed, written)
        try:
            for captures in each_page(table, scope, archived, on_progress):
                _, newest = write_page_records(captures, files.write)
                if line := page_line(newest, archived.pages):
                    scratch.run("INSERT INTO page VALUES (?, ?)", [archived.pages, line])
                archived.pages += 1
            for failure in failed_fetches(table, scope):
                files.write_failed(failure)
            files.close()
        finally:
            files.abandon()
        archived.records, archived.incomplete = files.records, files.incomplete
        package.write("indexes/index.cdx", _sorted(scratch))
        lines = (line for (line,) in scratch.rows("SELECT line FROM page ORDER BY number"))
        package.write("pages/pages.jsonl", chain([_PAGES_HEADER], lines))
        package.finish(clock.now())
    return archived


_LINES = "CREATE TABLE line (line BLOB)"


def sorted_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield *lines* in the order of their bytes; many are sorted on disk."""
    with TemporaryTables(_LINES) as scratch:
        scratch.fill("line", ((line,) for line in lines), 1)
        yield from _sorted(scratch)


def _sorted(scratch: TemporaryTables) -> Iterator[bytes]:
    # A player finds a line by bisection. SQLite sorts on disk if there are many.
    return (line for (line,) in scratch.rows("SELECT line FROM line ORDER BY line"))


# --- WACZ: "Web Archive Collection Zipped" of Webrecorder, version 1.1.1 ----------------------------------------------
#
# A zip of uncompressed entries, so that a player reads a single record of a WARC file in it, by the offset in the
# index: archive/, indexes/index.cdx, pages/pages.jsonl, datapackage.json with the digests of all of these, and
# datapackage-digest.json with the digest of that one.


VERSION = "1.1.1"
_PAGES_HEADER = msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}) + b"\n"
_SHOWN_TYPES = frozenset({None, "text/html", "application/xhtml+xml", "text/plain"})


class Package:
    """The entries of a WACZ file that is being written to *file*; WARC files are opened in archive/."""

    def __init__(self, file: ZipFile) -> None:
        self._zip = file
        self._resources: list[dict[str, object]] = []

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open the next WARC file; it is closed before another entry begins."""
        with self._zip.open(_entry(f"archive/{name}"), "w", force_zip64=True) as file:
            yield file

    def add(self, path: str, file: MeasuredFile) -> None:
        """Add *file*, which was written as the entry *path*, to the list of entries."""
        name = path.rpartition("/")[2]
        self._resources.append({"name": name, "path": path, "hash": file.digest, "bytes": file.size})

    def write(self, path: str, lines: Iterable[bytes]) -> None:
        """Write *lines* as the entry *path*."""
        with self._zip.open(_entry(path), "w", force_zip64=True) as entry:
            file = MeasuredFile(entry, path)
            for line in lines:
                file.write(line)
        self.add(path, file)

    def finish(self, created: datetime) -> None:
        """Write the list of entries with their digests."""
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "software": software(),
            "created": date_text(created),
            "resources": self._resources,
        }
        data = msgspec.json.format(msgspec.json.encode(package))
        self._zip.writestr(_entry("datapackage.json"), data)
        digest = {"path": "datapackage.json", "hash": sha256(data)}
        self._zip.writestr(_entry("datapackage-digest.json"), msgspec.json.encode(digest))


def page_line(page: Page, number: int) -> bytes | None:
    """Return the line of a page that a reader would open; None for errors, redirects and images."""
    if not 200 <= page.status < 300 or page.content_type not in _SHOWN_TYPES:
        return None
    fields = {"id": str(number), "url": page.url, "ts": date_text(page.fetched_at)}
    return msgspec.json.encode(fields | ({"title": page.title} if page.title else {})) + b"\n"


def _entry(path: str) -> ZipInfo:
    entry = ZipInfo(path, time.gmtime()[:6])  # which is not compressed
    entry.external_attr = 0o644 << 16
    return entry

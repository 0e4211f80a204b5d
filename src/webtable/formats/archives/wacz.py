"""A WACZ file, as the specification "Web Archive Collection Zipped" 1.1.1 of Webrecorder has it.

It is a zip of entries that are stored as they are, so that a player reads a record of a WARC file in it, by the offset
in the index, without the rest: archive/, indexes/index.cdx, pages/pages.jsonl, datapackage.json with the digests of all
of these, and datapackage-digest.json with the digest of that one.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import msgspec

from webtable.formats.archives.warc_files import MeasuredFile, software
from webtable.formats.archives.warc_records import date_text, sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from webtable._page.page import Page

VERSION = "1.1.1"
_SHOWN_TYPES = frozenset({None, "text/html", "application/xhtml+xml", "text/plain"})


class Package:
    """The entries of a WACZ file that is being written to *file*; WARC files are opened in archive/."""

    def __init__(self, file: ZipFile) -> None:
        self._zip = file
        self._resources: list[dict[str, object]] = []

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open the next WARC file; it is closed before another entry is begun."""
        with self._zip.open(_entry(f"archive/{name}"), "w", force_zip64=True) as file:
            yield file

    def add(self, path: str, file: MeasuredFile) -> None:
        """Take *file*, which was written as the entry *path*, into the list of what the package has."""
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
        """Write what the package has in it, with digests."""
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


def page_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pages.jsonl: its heading, and the *lines* of its pages."""
    yield msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All pages"}) + b"\n"
    yield from lines


def page_line(page: Page, number: int) -> bytes | None:
    """Return the line of a page that a reader would open, None for errors, redirects and pictures."""
    if not 200 <= page.status_code < 300 or page.content_type not in _SHOWN_TYPES:
        return None
    fields = {"id": str(number), "url": page.url, "ts": date_text(page.fetched_at)}
    return msgspec.json.encode(fields | ({"title": page.title} if page.title else {})) + b"\n"


def _entry(path: str) -> ZipInfo:
    entry = ZipInfo(path, time.gmtime()[:6])
    entry.compress_type = ZIP_STORED
    entry.external_attr = 0o644 << 16
    return entry

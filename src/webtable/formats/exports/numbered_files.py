"""Files of captures with numbers in their names: each appears when it is complete, and is as large as was asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from webtable._files import Folder
from webtable.formats.exports.capture_files import KINDS
from webtable.formats.exports.manifest import ExportFile, digest_of, file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from webtable.formats.exports.capture_files import CaptureFile
    from webtable.formats.exports.manifest import Format
    from webtable.page.page import Page

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

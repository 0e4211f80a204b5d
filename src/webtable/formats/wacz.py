"""The WARC files in a WACZ file: as ranges of its bytes, which are read as any other WARC file.

WACZ is the specification "Web Archive Collection Zipped" of Webrecorder. It stores WARC files in the zip as they are,
so that a player can read one record of them. A collection of several WACZ files (profile multi-wacz-package) is a WACZ
file that holds them, or that lists where they are.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from webtable._files import plain_parts
from webtable.errors import FormatError
from webtable.formats.other_files import description_of_zip
from webtable.formats.read_report import DamagedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"PK\x03\x04"
"""The first bytes of a zip file that is not empty."""
# A WACZ file has WARC files; ARC and HAR files come in other zips.
_WARC = re.compile(r"\.(?:w?arc|har)(?:\.gz|\.zst|\.lz4)?$", re.IGNORECASE)
_IS_ENCRYPTED = 1
_MOST_NESTED = 2
"""A WACZ file in a WACZ file is a collection; deeper ones are made to be hostile."""


class ByteRange(NamedTuple):
    """The bytes of a file from `begin` to before `stop`."""

    begin: int
    stop: int


def is_wacz(file: BinaryIO) -> bool:
    """Whether *file*, which is at its beginning, is a zip; where it cannot be sought, as a pipe, that is not known."""
    if not getattr(file, "seekable", bool)() or file.tell():
        return False
    start = file.read(len(MAGIC))
    file.seek(0)
    return start == MAGIC


def warc_ranges(file: BinaryIO) -> list[ByteRange]:
    """Return where the WARC files are in the seekable WACZ *file*, in the order of its bytes.

    Raises `DamagedFile` where the zip cannot be read, has no WARC file, or holds one that is compressed by zip itself.
    """
    within = ByteRange(0, file.seek(0, 2))
    ranges = sorted(_ranges(file, within, _MOST_NESTED))
    if not ranges:
        what = description_of_zip(entry.filename for entry in _entries(file, within))
        raise DamagedFile(
            what or "a zip without a WARC, ARC or HAR file in it; a collection that only lists WACZ files needs these"
        )
    # Entries may share bytes in a file that is made to be read a thousand times.
    for before, after in pairwise(ranges):
        if after.begin < before.stop:
            raise DamagedFile("a zip whose WARC files overlap")
    return ranges


def _entries(file: BinaryIO, within: ByteRange) -> list[ZipInfo]:
    try:
        with ZipFile(_Window(file, within)) as zipped:
            return zipped.infolist()
    except (BadZipFile, ValueError, NotImplementedError, EOFError) as exc:
        raise DamagedFile(f"its zip cannot be read: {exc}") from exc


def _ranges(file: BinaryIO, within: ByteRange, depth: int) -> Iterator[ByteRange]:
    for entry in _entries(file, within):
        is_nested = entry.filename.lower().endswith(".wacz") and depth > 1
        if entry.file_size and (is_nested or _WARC.search(entry.filename)):
            try:
                plain_parts(entry.filename)
            except FormatError as exc:
                raise DamagedFile(f"its entry {exc}; unzip it, and ingest the files in it") from exc
            content = _range_of(file, entry, within)
            yield from _ranges(file, content, depth - 1) if is_nested else (content,)


def _range_of(file: BinaryIO, entry: ZipInfo, within: ByteRange) -> ByteRange:
    """Return where the content of *entry* is; its local header (section 4.3.7 of APPNOTE.TXT) says how long that is."""
    begin = within.begin + entry.header_offset
    if entry.compress_type != ZIP_STORED or entry.flag_bits & _IS_ENCRYPTED:
        raise DamagedFile(f"{entry.filename!r} is compressed by the zip, which WACZ excludes: unzip the file")
    file.seek(begin)
    header = file.read(30)
    if len(header) < 30 or not header.startswith(MAGIC):
        raise DamagedFile(f"the entry {entry.filename!r} does not begin where the zip says")
    begin += 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    stop = begin + entry.compress_size
    if stop > within.stop:
        raise DamagedFile(f"the entry {entry.filename!r} ends after the end of the file")
    return ByteRange(begin, stop)


class _Window:
    """Some bytes of a file as a file, which is as much of one as `ZipFile` reads."""

    def __init__(self, file: BinaryIO, within: ByteRange) -> None:
        self._file = file
        self._within = within
        self._at = 0

    # A zip in a zip is read in place: a copy of it may be larger than the memory or the disk.
    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        length = self._within.stop - self._within.begin
        self._at = max(0, offset + (0, self._at, length)[whence])
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        begin = self._within.begin + self._at
        remaining = max(0, self._within.stop - begin)
        self._file.seek(begin)
        data = self._file.read(remaining if size < 0 else min(size, remaining))
        self._at += len(data)
        return data

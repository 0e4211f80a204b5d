"""Parts of one WARC file, which several readers read side by side."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.formats.base import DamagedFile
from webtable.formats.compressed.members import pieces_of
from webtable.formats.compressed.stream import BLOCK
from webtable.formats.warc import MEMBER_START

if TYPE_CHECKING:
    from collections.abc import Iterator

PART_BYTES = 1 << 23
"""A part has so many bytes of the file at least."""
_DATE = re.compile(rb"^warc-date:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


class FilePart(NamedTuple):
    """The bytes of *file* from `begin` to `stop`, which is None for its end; a whole file is one as well."""

    file: str
    begin: int = 0
    stop: int | None = None

    @property
    def name(self) -> str:
        """The file, and where in it the part begins, unless that is at the beginning."""
        if self.file == "-":
            return "standard input"
        return f"{self.file} from byte {self.begin:,}" if self.begin else self.file

    @contextmanager
    def opened(self) -> Iterator[str | BinaryIO]:
        """Lend what `read_pages` reads the part from."""
        if not self.begin and self.stop is None:
            yield self.file
            return
        with Path(self.file).open("rb") as file:
            yield _Bounded(file, self)  # type: ignore[misc]  # as much of a file as readers need


class _Bounded:
    """A file that ends where the part of it ends."""

    def __init__(self, file: BinaryIO, part: FilePart) -> None:
        self._file = file
        self._stop = part.stop
        self.name = part.name
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        return self._file.read(size if self._stop is None else min(size, self._stop - self._file.tell()))


def parts_of(file: str, size: int = PART_BYTES, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[FilePart]:
    """Yield the parts of *file*, as they are found; together they are read as the whole file is.

    A part begins with a record whose compressed member begins with it, as in every .warc.gz and .warc.zst that is
    written by the book; any other file is one part. To find them, the file is decompressed up to where it is damaged.
    """
    begin = 0
    try:
        for offset in _records(file, limits):
            if offset - begin >= size:
                yield FilePart(file, begin, offset)
                begin = offset
    except (DamagedFile, OSError):
        pass  # the last part comes to it too, and its reader says what it is
    yield FilePart(file, begin)


def _records(file: str, limits: ReadLimits) -> Iterator[int]:
    """Yield where records begin that have another date than the record in front of them.

    Captures of one URL and one date, such as a redirect and what it leads to, are stored in the order of the file: they
    must not come into two parts.
    """
    member = -1
    date: bytes | None = None
    with Path(file).open("rb") as opened:
        pieces, offsets = pieces_of(iter(lambda: opened.read(BLOCK), b""), limits, lambda: MEMBER_START)
        if not (offsets.are_of_members and offsets.can_begin):
            return
        for piece in pieces:
            if piece.gap is not None:
                date = None  # no part ends with it, for it would not know where reading goes on
            if piece.gap is not None or piece.offset == member:
                continue
            if not piece.data.startswith(MEMBER_START):
                return
            member, before, date = piece.offset, date, _date(piece.data)
            if date != before and before is not None:
                yield member


def _date(record: bytes) -> bytes | None:
    found = _DATE.search(record, 0, max(record.find(b"\r\n\r\n"), 0))
    return found and found[1]

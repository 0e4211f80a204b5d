"""Parts of files: ranges of bytes that several processes read side by side, and that reading can begin with."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.formats.compressed.members import pieces_of
from webtable.formats.compressed.stream import BLOCK
from webtable.formats.exchanges import ExchangeRecord, Exchanges, kind_of
from webtable.formats.http import parse_headers
from webtable.formats.read_report import DamagedFile
from webtable.formats.wacz import is_wacz, warc_ranges
from webtable.formats.warc import MEMBER_START

if TYPE_CHECKING:
    from collections.abc import Iterator

PART_BYTES = 1 << 23
"""The smallest size of a part, in bytes of the file."""
_SEPARATOR = b"\r\n\r\n"
_MOST_BETWEEN = 16
"""Bytes of empty lines that may close a record."""


class FilePart(NamedTuple):
    """The bytes of *file* from `begin` to `stop`, or to its end if that is None; a whole file is a part as well."""

    file: str
    begin: int = 0
    stop: int | None = None

    @property
    def name(self) -> str:
        """The name of the file, and where the part begins unless that is 0."""
        if self.file == "-":
            return "standard input"
        return f"{self.file} from byte {self.begin:,}" if self.begin else self.file

    @contextmanager
    def opened(self) -> Iterator[str | BinaryIO]:
        """Give the source from which `read_pages` reads the part."""
        if not self.begin and self.stop is None:
            yield self.file
            return
        with Path(self.file).open("rb") as file:
            yield _Bounded(file, self)  # type: ignore[misc]  # as much of a file as readers need


class _Bounded:
    """A file that ends where its part ends."""

    def __init__(self, file: BinaryIO, part: FilePart) -> None:
        self._file = file
        self._stop = part.stop
        self.name = part.name
        self.seek = file.seek
        file.seek(part.begin)

    def read(self, size: int) -> bytes:
        return self._file.read(size if self._stop is None else min(size, self._stop - self._file.tell()))


def whole_parts(file: str) -> list[FilePart]:
    """Return the parts of *file* that are files of their own: the WARC files of a WACZ file, else all of it.

    A WACZ file that cannot be read is one part, whose reader reports the reason.
    """
    if not Path(file).is_file():  # standard input, or a pipe that is not to be opened twice
        return [FilePart(file)]
    try:
        with Path(file).open("rb") as opened:
            return [FilePart(file, *one) for one in warc_ranges(opened)] if is_wacz(opened) else [FilePart(file)]
    except (DamagedFile, OSError):
        return [FilePart(file)]


def parts_of(file: str, size: int = PART_BYTES, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[FilePart]:
    """Yield the parts of *file* as they are found; together they are read as the whole file is.

    A part begins with a record that begins its compressed member, as in every regular .warc.gz and .warc.zst; any other
    file is one part. To find them, the file is decompressed up to where it is damaged.
    """
    for whole in whole_parts(file):
        begin = whole.begin
        for offset in _records(whole, limits):
            if offset - begin >= size:
                yield FilePart(file, begin, offset)
                begin = offset
        yield FilePart(file, begin, whole.stop)


@dataclass(slots=True, eq=False)
class _FoundRecord(ExchangeRecord):
    """A record, and where its member begins in the file."""

    offset: int = 0


def _records(whole: FilePart, limits: ReadLimits) -> Iterator[int]:
    """Yield where records begin that have another date than the record before them.

    Captures of one URL and one date, such as a redirect and its target, are stored in the order of the file, so they
    must not be in two parts. Nor must a response and its request, by which the reader of the part knows its method.
    """
    exchanges: Exchanges[_FoundRecord] = Exchanges()
    date: str | None = None
    for record in chain(_members(whole, limits), [None]):
        if record is not None:
            exchanges.add(record)
        for found in exchanges.rest() if record is None else exchanges.taken():
            before, date = date, found.headers.get("warc-date", "")
            if found.is_start and before not in (None, date):
                yield whole.begin + found.offset
        if record is None:
            date = None  # no part ends with a gap: it would not know where reading goes on


def _members(whole: FilePart, limits: ReadLimits) -> Iterator[_FoundRecord | None]:
    """Yield the records of a file that begin its compressed members, and None for what is damaged.

    They end before a member of several records: the second one may be the request of a response elsewhere.
    """
    # The reader of the last part meets the end of what can be read too, and reports it.
    with suppress(DamagedFile, OSError):
        yield from _first_records(whole, limits)


def _first_records(whole: FilePart, limits: ReadLimits) -> Iterator[_FoundRecord | None]:
    member = -1
    left = 0
    with Path(whole.file).open("rb") as opened:
        bounded = _Bounded(opened, whole)
        pieces, offsets = pieces_of(iter(lambda: bounded.read(BLOCK), b""), limits, lambda: MEMBER_START)
        if not (offsets.are_of_members and offsets.can_begin):
            return
        for piece in pieces:
            if piece.gap is not None:
                yield None
            elif piece.offset == member:
                left -= len(piece.data)
            else:
                if not piece.data.startswith(MEMBER_START):
                    return
                member = piece.offset
                head = piece.data[: max(piece.data.find(_SEPARATOR), 0)]
                headers = parse_headers(head).folded()
                length = headers.get("content-length", "")
                size = int(length) if length.isascii() and length.isdecimal() and len(length) < 16 else 0
                left = len(head) + len(_SEPARATOR) + size + _MOST_BETWEEN - len(piece.data)
                yield _FoundRecord(kind_of(headers), headers, size, offset=piece.offset)
            if left < 0:
                return

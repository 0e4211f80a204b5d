"""The decompressed bytes of a file; a truncated or damaged file never passes for a complete one."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, NoReturn

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.display.text import plural
from webtable.errors import FormatError
from webtable.formats.compressed.members import pieces_of
from webtable.formats.read_report import DamagedFile

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    from webtable.formats.compressed.members import Decompressed

BLOCK = 1 << 16
_SETTLED = 1 << 20
_MAX_LINE = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TooLong(DamagedFile):
    """The header or line does not end within its limit."""


class DamagedMember(DamagedFile):
    """The reason why a member of a file cannot be read; *skipped* bytes of the file are between it and the next."""

    def __init__(self, reason: str, offset: int, skipped: int) -> None:
        super().__init__(reason, offset)
        self.begin = offset
        self.skipped = skipped


class ByteStream:
    """The decompressed bytes of a file, read sequentially; raises `DamagedFile` if they end too early.

    Raises `DamagedMember` once for a damaged gzip or zstd member; reading then goes on with the next readable one.
    """

    def __init__(self, blocks: Iterator[bytes], limits: ReadLimits = DEFAULT_LIMITS, *, begin: int = 0) -> None:
        self.member_start = b""
        """The beginning of members at which reading goes on after a damaged one; the reader may set it."""
        self.gaps: int = 0
        """How many damaged members there were."""
        self._pieces, self._offsets = pieces_of(blocks, limits, lambda: self.member_start)
        self._ahead: Decompressed | None = None
        self.begin = begin
        """The place of its first byte in the file."""
        self._data = b""
        self._at = 0
        self._offset = 0
        self._sealed = True
        self._restart = begin
        self._torn = -1
        """The last member that begins inside of a record."""
        self.mark = 0
        """The `offset` of the record that is being read; its reader keeps it."""

    @property
    def offset(self) -> int:
        """The place of the next byte in the file (in a compressed one, of the beginning of its member)."""
        return self.begin + (self._offset if self._offsets.are_of_members else self._offset + self._at)

    def restart(self) -> int:
        """Return where reading of the file can begin to reach the record at `mark`; called after each record.

        That is `mark`, or the start of an earlier record if its member begins inside a record.
        """
        if not self._offsets.can_begin:
            return self.begin
        if self.mark != self._torn:
            self._restart = self.mark
        if self._offsets.are_of_members and self.offset != self.mark:
            self._torn = self.offset
        return self._restart

    def peek(self, size: int) -> bytes:
        """Return up to *size* bytes without consuming them; fewer only at the end."""
        missing = size - (len(self._data) - self._at)
        if missing > 0:
            self._more(missing)
        return self._data[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """Return and consume exactly *size* bytes."""
        end = self._at + size
        if end <= len(self._data):
            taken = self._data[self._at : end]
            self._at = end
            return taken
        taken = b"".join(self._taken(size))
        if len(taken) < size:
            raise DamagedFile(f"the file ends inside a record, {size - len(taken):,} bytes too early")
        return taken

    def skip(self, size: int) -> None:
        """Skip exactly *size* bytes."""
        missing = size - sum(map(len, self._taken(size)))
        if missing:
            raise DamagedFile(f"the file ends inside a record, {missing:,} bytes too early")

    def read_to(self, end: bytes, limit: int) -> bytes:
        """Return and consume the bytes up to and including the next *end*; the rest if there is none.

        Raises `TooLong` if those are over *limit* bytes; some of them are consumed then.
        """
        parts, length = [], 0
        for part in self._taken_to(end):
            parts.append(part)
            length += len(part)
            if length > limit:
                raise TooLong(f"over {limit:,} bytes without the {end!r} that ends a header or a line")
        return b"".join(parts)

    def skip_to(self, end: bytes) -> None:
        """Skip the bytes up to and including the next *end*; all the rest if there is none."""
        for _ in self._taken_to(end):
            pass

    def skip_run(self, run: re.Pattern[bytes]) -> Iterator[bytes]:
        """Consume the bytes that *run* matches, any number, and yield them in parts."""
        while True:
            found = run.match(self._data, self._at)
            if found and found.end() > self._at:
                self._at = found.end()
                yield found[0]
            if self._at < len(self._data) or not self._more():
                return

    def settle(self, end: bytes, start: bytes) -> None:
        """Verify a record that was read by the checksum of its member, if that ends with the record.

        A record ends with *end*, and the next one begins with *start*: if anything else follows, in a member that may
        be damaged, the end of the member is looked for within 1 MiB.
        """
        expected = end + start
        while not self._sealed:
            rest = self._data[self._at : self._at + len(expected)]
            is_next = len(rest) > len(end) and expected.startswith(rest)
            if is_next or len(self._data) - self._at > _SETTLED or not self._more():
                return

    def skip_member(self, reason: str) -> NoReturn:
        """Raise `DamagedMember` with this *reason*; `DamagedFile` if no readable member follows."""
        offset = self._offset
        while self._offsets.are_of_members and (piece := self._ahead or next(self._pieces, None)) is not None:
            self._ahead = None
            if piece.gap is not None or (piece.offset != offset and piece.data.startswith(self.member_start)):
                self._ahead, self._data, self._at, self._sealed = piece, b"", 0, True
                if piece.gap is None:
                    self.gaps += 1
                    raise DamagedMember(reason, offset, piece.offset - offset)
                self._more()  # raises the error of the gap
        raise DamagedFile(reason)

    def _taken(self, size: int) -> Iterator[bytes]:
        while size:
            part = self._data[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            yield part
            if size and not self._more():
                return

    def _taken_to(self, end: bytes) -> Iterator[bytes]:
        while (found := self._data.find(end, self._at)) < 0:
            # The last bytes may be the beginning of *end*.
            stop = max(self._at, len(self._data) - len(end) + 1)
            part = self._data[self._at : stop]
            self._at = stop
            yield part
            if not self._more():
                part = self._data[self._at :]
                self._at = len(self._data)
                yield part
                return
        part = self._data[self._at : found + len(end)]
        self._at = found + len(end)
        yield part

    def _more(self, size: int = 0) -> bool:
        """Load the next piece, and further ones until there are *size* bytes more; return False at the end."""
        piece, self._ahead = self._ahead or next(self._pieces, None), None
        if piece is None:
            return False
        if piece.gap is not None:
            self.gaps += 1
            self._data, self._at, self._sealed = b"", 0, True
            raise DamagedMember(piece.gap.reason, piece.offset, piece.gap.skipped)
        rest = self._data[self._at :]
        if not rest:
            self._offset = piece.offset
        elif not self._offsets.are_of_members:
            self._offset += self._at
        parts, length = [rest, piece.data], len(piece.data)
        while length < size and (following := next(self._pieces, None)) is not None:
            if following.gap is not None:
                self._ahead = following
                break
            piece = following
            parts.append(piece.data)
            length += len(piece.data)
        self._data = b"".join(parts)
        self._at = 0
        self._sealed = piece.sealed
        return True


def lines_of(file: IO[bytes], name: str, *, on_read: Callable[[int], object] | None = None) -> Iterator[bytes]:
    """Yield the lines of a *file* that is open for bytes, decompressed if it is in gzip, zstd or LZ4.

    *on_read* is called with how many bytes of it were read so far. Raises `FormatError`, which calls the file *name*,
    where it is damaged, and for a line of over 1 MiB.
    """

    def blocks() -> Iterator[bytes]:
        size = 0
        while block := file.read(BLOCK):
            size += len(block)
            if on_read is not None:
                on_read(size)
            yield block

    number = 0
    try:
        stream = ByteStream(blocks())
        if stream.peek(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK:
            stream.skip(len(_BYTE_ORDER_MARK))
        while line := stream.read_to(b"\n", _MAX_LINE):
            number += 1
            yield line
    except DamagedFile as exc:
        raise FormatError(f"{name}, after {plural(number, 'line')}: {exc}") from exc

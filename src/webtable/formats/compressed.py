"""Compressed bytes that can be gone back in, the decompressed pieces of a file, and streams of these.

A truncated or damaged file never passes for a complete one.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

import zstandard
from fastwarc.stream_io import Lz4Reader

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.display.text import plural
from webtable.errors import FormatError
from webtable.formats.read_report import DamagedFile, FileOverLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# --- Compressed bytes -------------------------------------------------------------------------------------------------


_KEPT = 1 << 20
"""How many consumed bytes are kept. Where deflate runs on past the end of a damaged member, it fails within 64 KB, the
longest block that is stored uncompressed."""
_ALWAYS_AGAIN = 1 << 24


class CompressedBytes:
    """The bytes of a compressed file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = b""
        self._at = 0
        self._before = 0
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._again = 0

    @property
    def offset(self) -> int:
        """The place of the next byte in the file."""
        return self._before + self._at

    def ahead(self, size: int) -> bytes:
        """Return up to *size* bytes without consuming them; empty at the end."""
        if self._at == len(self._block):
            self._next_block(b"")
        return self._block[self._at : self._at + size]

    def take(self, size: int) -> None:
        """Consume *size* bytes that `ahead` has returned."""
        self._at += size

    def seek(self, offset: int) -> None:
        """Go to *offset*, or as far back towards it as bytes are kept.

        In total it goes back no further than the size of the file so far plus 16 MiB: a malicious file is read twice,
        not once for each of its bytes.
        """
        while self._before > offset and self._kept:
            block = self._kept.pop()
            self._kept_bytes -= len(block)
            self._before -= len(block)
            self._block = block + self._block
            self._at += len(block)
        at = max(offset - self._before, 0)
        if at > self._at:
            self._at = at
        elif self._again + self._at - at <= self._before + len(self._block) + _ALWAYS_AGAIN:
            self._again += self._at - at
            self._at = at

    def find(self, what: bytes) -> bool:
        """Go to the next occurrence of *what*; return False, at the end, if there is none."""
        while self.ahead(1):
            at = self._block.find(what, self._at)
            if at >= 0:
                self._at = at
                return True
            # The last bytes may be the beginning of *what*.
            self._at = max(self._at, len(self._block) - len(what) + 1)
            if not self._next_block(self._block[self._at :]):
                return False
        return False

    def _next_block(self, rest: bytes) -> bool:
        """Load the next block after the *rest* of this one; at the end return False, and skip the rest."""
        following = next(self._blocks, b"")
        done = self._block[: len(self._block) - len(rest)] if following else self._block
        self._before += len(done)
        self._kept.append(done)
        self._kept_bytes += len(done)
        while self._kept_bytes - len(self._kept[0]) >= _KEPT:
            self._kept_bytes -= len(self._kept.popleft())
        self._block, self._at = (rest + following if following else b""), 0
        return bool(following)


# --- Decompressed pieces ----------------------------------------------------------------------------------------------
#
# fastwarc reads faster (6,400 pages of 210 MB in 0.4 s, zlib inflates them in 0.7 s; parsing them takes 5 s), but it
# silently accepts a truncated file: inside a record's header, its block or its gzip member. So it only reads LZ4
# here.


_PIECE = 1 << 20
_MAX_DICTIONARY = 1 << 24
_ALWAYS_INFLATED = 1 << 28
_TRIED = 64
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"


class RecordStart(NamedTuple):
    """How the records of a format begin."""

    starts: tuple[bytes, ...]
    """Their first bytes, in upper case, though they may be in lower case."""
    pattern: re.Pattern[bytes] = re.compile(rb"\Z")
    """The beginning of a record, as it is looked for among bytes that belong to none."""
    longest: int = 1 << 7
    """How many bytes the pattern matches at most."""


_ANYTHING = RecordStart((b"",))


class Gap(NamedTuple):
    """Why a member cannot be read, and how many bytes of the file are skipped up to the next readable one."""

    reason: str
    skipped: int


class Decompressed(NamedTuple):
    """Some bytes of the file after decompression."""

    offset: int
    """Where they are in the file, or where the compressed member that holds them begins."""
    data: bytes
    sealed: bool
    """Whether the checksum after them was read and correct."""
    gap: Gap | None = None
    """The damage found instead; there are no bytes then."""


class Offsets(NamedTuple):
    """Whether the offsets of pieces are those of compressed members, and whether reading can begin at one."""

    are_of_members: bool
    can_begin: bool = True


def pieces_of(
    blocks: Iterator[bytes], limits: ReadLimits, starts: Callable[[], tuple[bytes, ...]]
) -> tuple[Iterator[Decompressed], Offsets]:
    """Return the pieces of the file that consists of *blocks*, and the meaning of their offsets.

    After a damaged gzip or zstd member follows the next one whose data begins with one of *starts*, in upper case.
    """
    start = [next(blocks, b"")]
    length, wanted = len(start[0]), min(_dictionary_end(start[0]), _MAX_DICTIONARY)
    while length < wanted and (block := next(blocks, b"")):
        start.append(block)
        length += len(block)
    first = b"".join(start)
    blocks = chain([first] if first else [], blocks)
    if first.startswith(b"\x1f\x8b"):
        return _Members(blocks, _GzipMember, limits, starts).pieces(), Offsets(are_of_members=True)
    if first.startswith((_ZSTD_FRAME, _ZSTD_DICTIONARY)):
        context = _zstd_context(first)
        # The dictionary comes before the first member, and all members need it.
        needs_dictionary = first.startswith(_ZSTD_DICTIONARY)
        members = _Members(blocks, lambda: _ZstdMember(context.decompressobj()), limits, starts)
        return members.pieces(), Offsets(True, not needs_dictionary)
    if first.startswith(b"\x04\x22\x4d\x18"):
        return _lz4(blocks), Offsets(are_of_members=False, can_begin=False)
    return _plain(blocks), Offsets(are_of_members=False)


def _plain(blocks: Iterator[bytes]) -> Iterator[Decompressed]:
    offset = 0
    for block in blocks:
        yield Decompressed(offset, block, sealed=True)
        offset += len(block)


class _Feed:
    """Blocks as a file that is read sequentially; fastwarc calls `tell`, but never moves elsewhere."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        data = self._rest or next(self._blocks, b"")
        taken = data[:size] if size >= 0 else data
        self._rest = data[len(taken) :]
        self._position += len(taken)
        return taken

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0, /) -> int:
        raise OSError(f"cannot seek to {offset} ({whence})")

    def close(self) -> None:
        """Do nothing: the caller closes the file."""


def _lz4(blocks: Iterator[bytes]) -> Iterator[Decompressed]:
    reader, offset = Lz4Reader(_Feed(blocks)), 0  # of the decompressed bytes, the only offsets that fastwarc gives
    while True:
        try:
            data = reader.read(_PIECE)
        except OSError as exc:
            raise DamagedFile(f"its LZ4 data is damaged: {exc}") from exc
        if not data:
            return
        yield Decompressed(offset, data, sealed=True)
        offset += len(data)


class _UnreadableMember(Exception):
    """The reason why a member cannot be read."""


class _Member:
    """A member of a compressed file, which begins with *magic*; at most *input_bytes* are passed to it at once."""

    name: str
    magic: bytes
    input_bytes: int

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        """Whether its end was read, with its checksum."""
        return bool(self._inner.eof)

    def decompress(self, data: bytes) -> tuple[bytes, int]:
        """Return the decompressed beginning of *data*, and how many bytes of *data* are left."""
        raise NotImplementedError


class _GzipMember(_Member):
    name = "gzip"
    magic = b"\x1f\x8b\x08"
    # The rest after each member is copied, and there may be thousands of members in a block.
    input_bytes = 1 << 14

    def __init__(self) -> None:
        super().__init__(zlib.decompressobj(wbits=31))

    def decompress(self, data: bytes) -> tuple[bytes, int]:
        out = self._inner.decompress(data, _PIECE)
        return out, len(self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail)


class _ZstdMember(_Member):
    name = "zstd"
    magic = _ZSTD_FRAME
    # It returns all decompressed data at once, up to 32 KB for each byte of input.
    input_bytes = 1 << 10

    def decompress(self, data: bytes) -> tuple[bytes, int]:
        return self._inner.decompress(data), len(self._inner.unused_data)


def _zstd_context(first: bytes) -> zstandard.ZstdDecompressor:
    """Return a decompressor with the dictionary that a .warc.zst may begin with (IIPC, "Zstandard for WARC")."""
    if not first.startswith(_ZSTD_DICTIONARY):
        return zstandard.ZstdDecompressor()
    content = first[8 : _dictionary_end(first)]
    try:
        if content.startswith(_ZSTD_FRAME):
            content = _unpacked(content)
        return zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(content))
    except zstandard.ZstdError as exc:
        raise DamagedFile(f"its zstd dictionary is damaged: {exc}") from exc


def _unpacked(dictionary: bytes) -> bytes:
    member, parts, length = zstandard.ZstdDecompressor().decompressobj(), [], 0
    for start in range(0, len(dictionary), _ZstdMember.input_bytes):
        parts.append(member.decompress(dictionary[start : start + _ZstdMember.input_bytes]))
        length += len(parts[-1])
        if length > _MAX_DICTIONARY:
            raise DamagedFile(f"its zstd dictionary has over {_MAX_DICTIONARY:,} bytes")
        if member.eof:
            break
    return b"".join(parts)


def _dictionary_end(first: bytes) -> int:
    return 8 + int.from_bytes(first[4:8], "little") if first.startswith(_ZSTD_DICTIONARY) else 0


class _Members:
    """A file of one or more members, each verified to its end; after a damaged one follows the next readable one."""

    def __init__(
        self,
        blocks: Iterator[bytes],
        opened: Callable[[], _Member],
        limits: ReadLimits,
        starts: Callable[[], tuple[bytes, ...]],
    ) -> None:
        self._packed = CompressedBytes(blocks)
        self._opened = opened
        self._limits = limits
        self._starts = starts
        self._total = 0

    def pieces(self) -> Iterator[Decompressed]:
        """Yield the decompressed data of the members."""
        packed, empty = self._packed, 0
        while packed.ahead(1):
            offset, before = packed.offset, self._total
            member = self._opened()
            try:
                for out in self._data(member, offset):
                    if out or member.eof:
                        yield Decompressed(offset, out, member.eof)
            except _UnreadableMember as exc:
                packed.seek(offset + 1)
                if not self._goes_on():
                    raise DamagedFile(str(exc), offset) from exc
                yield Decompressed(offset, b"", sealed=False, gap=Gap(str(exc), packed.offset - offset))
                continue
            empty = empty + 1 if self._total == before else 0
            if empty > self._limits.members:
                reason = f"over {self._limits.members:,} empty {member.name} members in sequence"
                raise FileOverLimit("members", reason, offset)

    def _data(self, member: _Member, offset: int) -> Iterator[bytes]:
        """Yield the decompressed data of the *member* at *offset*."""
        packed = self._packed
        while not member.eof:
            data = packed.ahead(member.input_bytes)
            if not data:
                raise _UnreadableMember(f"the file ends inside a {member.name} member")
            try:
                out, rest = member.decompress(data)
            except (zlib.error, zstandard.ZstdError) as exc:
                raise _UnreadableMember(f"its {member.name} data is damaged: {exc}") from exc
            packed.take(len(data) - rest)
            self._total += len(out)
            if self._total > max(_ALWAYS_INFLATED, self._limits.inflation * packed.offset):
                reason = f"its {member.name} data decompresses to over {self._limits.inflation} times its size"
                raise FileOverLimit("inflation", reason, offset)
            yield out

    def _goes_on(self) -> bool:
        """Seek the next place where a member may begin, by its first bytes; return False if there is none."""
        packed, member = self._packed, self._opened()
        while packed.find(member.magic):
            at, starts, data = packed.offset, self._starts(), b""
            longest = max(map(len, starts))
            member.input_bytes = _TRIED  # read no more than needed of what is not a member
            try:
                for out in self._data(member, at):
                    data += out
                    if len(data) >= max(longest, 1):
                        break
            except _UnreadableMember:
                data = b""
            if data and data[:longest].upper().startswith(starts):
                packed.seek(at)
                if packed.offset == at:
                    return True
            packed.seek(at + 1)
            member = self._opened()
        return False


# --- Streams ----------------------------------------------------------------------------------------------------------


BLOCK = 1 << 16
_SETTLED = 1 << 20
_MAX_LINE = 1 << 20
_ALWAYS_REPEATED = 1 << 26
_LINE_ENDS = re.compile(rb"[\r\n]*")
EMPTY_LINE = re.compile(rb"\n\r?\n")
"""What ends the header of a WARC record."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TooLong(DamagedFile):
    """The header or line does not end within its limit."""


class EndsInside(DamagedFile):
    """A record is *missing* bytes, because the file ends, or else its member, after which another record follows."""

    def __init__(self, missing: int, *, is_file: bool = True) -> None:
        super().__init__(f"the file ends inside a record, {missing:,} bytes too early")
        self.is_file = is_file


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

    def __init__(
        self,
        blocks: Iterator[bytes],
        limits: ReadLimits = DEFAULT_LIMITS,
        *,
        begin: int = 0,
        probe: Callable[[int, int], bytes] | None = None,
    ) -> None:
        self._probe = probe
        """Returns bytes of the file at an offset, where they can be read without reading up to there."""
        self._record_start = _ANYTHING
        self._longest_start: int = 0
        self.gaps: int = 0
        """How many damaged members there were."""
        self._pieces, self._offsets = pieces_of(blocks, limits, lambda: self._record_start.starts)
        self._ahead: Decompressed | None = None
        self.begin = begin
        """The place of its first byte in the file."""
        self._data = b""
        self._at = 0
        self._offset = 0
        self._sealed = True
        self._restart = begin
        self._passed = self._repeated = 0
        self._torn = -1
        """The last member that begins inside of a record."""
        self.mark = 0
        """The `offset` of the record that is being read; its reader keeps it."""

    @property
    def offset(self) -> int:
        """The place of the next byte in the file (in a compressed one, of the beginning of its member)."""
        return self.begin + (self._offset if self._offsets.are_of_members else self._offset + self._at)

    def expect(self, record_start: RecordStart) -> None:
        """Take the file for one of such records.

        Reading goes on after a damaged member at one that begins with a record, and no record reaches into such one.
        """
        self._record_start = record_start
        self._longest_start = max(map(len, record_start.starts))

    # A member can be read from its beginning only, and a record may begin inside of one.
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

    def missing(self, size: int) -> int:
        """Load the next *size* bytes of a record into memory, and return how many there are too few."""
        while (missing := size - (len(self._data) - self._at)) > 0 and self._more(missing, is_inside=True):
            pass
        return max(missing, 0)

    def is_before_record(self, size: int) -> bool:
        """Whether a record, or the end of the file, follows the next *size* bytes; True where that cannot be known."""
        if self._probe is None or self._offsets.are_of_members or not self._offsets.can_begin:
            return True
        end = self._probe(self.offset + size - 1, self._record_start.longest)
        return end != b"" and self._may_begin(end[1:].lstrip(b"\r\n")[: self._longest_start].upper())

    def read(self, size: int) -> bytes:
        """Return and consume exactly *size* bytes."""
        end = self._at + size
        if end <= len(self._data):
            taken = self._data[self._at : end]
            self._at = end
            return taken
        return b"".join(self._taken(size))

    def skip(self, size: int) -> None:
        """Skip exactly *size* bytes."""
        for _ in self._taken(size):
            pass

    def read_head(self, limit: int, ending: re.Pattern[bytes] = EMPTY_LINE) -> bytes:
        """Return and consume the bytes up to and including the next *ending*; the rest if there is none.

        By default these are the lines, by CRLF or LF, up to the next empty one. Raises `TooLong` if they are over
        *limit* bytes; they are not consumed then.
        """
        while (end := ending.search(self._data, self._at, self._at + limit)) is None:
            length = len(self._data) - self._at
            if length >= limit:
                raise TooLong(f"over {limit:,} bytes without what ends the header of a record")
            if not self._more(length, is_inside=True):  # as much again, so that all is copied twice at most
                return self._up_to(len(self._data))
        return self._up_to(end.end())

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

    def read_line(self, limit: int) -> bytes:
        """Return and consume the bytes up to and including the next line end; the rest if there is none.

        Raises `TooLong` if those are over *limit* bytes; all of them are consumed then.
        """
        parts, length = [], 0
        for part in self._taken_to(b"\n"):
            length += len(part)
            if length <= limit:
                parts.append(part)
        if length > limit:
            raise TooLong(f"over {limit:,} bytes without the end of the line")
        return b"".join(parts)

    def skip_to(self, end: bytes) -> None:
        """Skip the bytes up to and including the next *end*; all the rest if there is none."""
        for _ in self._taken_to(end):
            pass

    def skip_run(self, run: re.Pattern[bytes]) -> tuple[int, bytes]:
        """Consume the bytes that *run* matches, any number; return how many line ends they have, and the last four."""
        lines, last = 0, b""
        while True:
            match = run.match(self._data, self._at)
            if match is not None:
                self._at = match.end()
                lines += match[0].count(b"\n")
                last = (last + match[0])[-4:]
            if self._at < len(self._data) or not self._more():
                return lines, last

    def loaded(self, size: int) -> bytes:
        """Return up to *size* of the bytes that are loaded already, without consuming them; they may be none."""
        return self._data[self._at : self._at + size]

    # A page is given on only after the checksum of its member was verified: what a damaged one becomes looks sound.
    def settle(self) -> bytes | None:
        """Verify a record that was read by the checksum of its member, if that ends with the record.

        Return the line ends after the record if the next one, the end of its member or that of the file follows them,
        and None if anything else does: in a member that may be damaged its end is looked for within 1 MiB before. The
        line ends are not consumed.
        """
        starts, longest = self._record_start.starts, self._longest_start
        while True:
            end = _LINE_ENDS.match(self._data, self._at).end()  # type: ignore[union-attr]  # it matches nothing too
            following = self._data[end : end + longest].upper()
            is_closed = following.startswith(starts)
            if is_closed:
                break
            is_closed = self._may_begin(following)
            if self._offsets.are_of_members:
                if self._sealed or len(self._data) - self._at > _SETTLED:
                    break
            elif not is_closed:
                break
            if not self._more():
                break
        return self._data[self._at : end] if is_closed else None

    def go_back(self, data: bytes) -> bool:
        """Go back before *data*, which was consumed last; return False if too much was gone back already.

        In total it is as much as was read so far plus 64 MiB: a malicious file is read twice, not once for each of its
        records.
        """
        self._repeated += len(data)
        if self._repeated > self._passed + _ALWAYS_REPEATED:
            return False
        if self._offsets.are_of_members:
            self._offset = self.mark - self.begin
        else:
            self._offset += self._at - len(data)
        self._data, self._at = data + self._data[self._at :], 0
        return True

    def skip_to_record(self, passed: int) -> tuple[int, bool]:
        """Skip the bytes up to the beginning of a record, or to a member with a record.

        *passed* are the bytes since `mark`. Return how many bytes of the file are between that and the next record
        (within a compressed member, of its data), and whether there is one.
        """
        _, pattern, longest = self._record_start
        while (match := pattern.search(self._data, self._at)) is None:
            passed += len(self._up_to(max(self._at, len(self._data) - longest)))
            if not self._more(is_inside=True):
                passed += len(self._up_to(len(self._data)))
                return (passed, False) if self._ahead is None else (self.begin + self._ahead.offset - self.mark, True)
        return passed + len(self._up_to(match.start())), True

    def skip_member(self, reason: str) -> NoReturn:
        """Raise `DamagedMember` with this *reason*; `DamagedFile` if no readable member follows."""
        offset = self._offset
        while self._offsets.are_of_members and (piece := self._ahead or next(self._pieces, None)) is not None:
            self._ahead = None
            if piece.gap is not None or (piece.offset != offset and self._begins_record(piece, after=True)):
                self._ahead, self._data, self._at, self._sealed = piece, b"", 0, True
                if piece.gap is None:
                    self.gaps += 1
                    raise DamagedMember(reason, offset, piece.offset - offset)
                self._more()  # raises the error of the gap
        raise DamagedFile(reason)

    def _taken(self, size: int) -> Iterator[bytes]:
        while size:
            part = self._up_to(min(self._at + size, len(self._data)))
            size -= len(part)
            yield part
            if size and not self._more(is_inside=True):
                raise EndsInside(size, is_file=self._ahead is None)

    def _taken_to(self, end: bytes) -> Iterator[bytes]:
        while (end_at := self._data.find(end, self._at)) < 0:
            # The last bytes may be the beginning of *end*.
            yield self._up_to(max(self._at, len(self._data) - len(end) + 1))
            if not self._more():
                yield self._up_to(len(self._data))
                return
        yield self._up_to(end_at + len(end))

    def _up_to(self, stop: int) -> bytes:
        part = self._data[self._at : stop]
        self._at = stop
        return part

    def _more(self, size: int = 0, *, is_inside: bool = False) -> bool:
        """Load the next piece, and further ones until there are *size* bytes more; return False at the end.

        That is also before a member that begins with a record, if the present one *is_inside* or some of it is left.
        """
        piece, self._ahead = self._ahead or next(self._pieces, None), None
        if piece is None:
            return False
        if piece.gap is not None:
            self.gaps += 1
            self._data, self._at, self._sealed = b"", 0, True
            raise DamagedMember(piece.gap.reason, piece.offset, piece.gap.skipped)
        rest = self._data[self._at :]
        if (rest or is_inside) and self._begins_record(piece, after=self._sealed):
            self._ahead = piece
            return False
        if not rest:
            self._offset = piece.offset
        elif not self._offsets.are_of_members:
            self._offset += self._at
        parts, length = [rest, piece.data], len(piece.data)
        while length < size and (following := next(self._pieces, None)) is not None:
            if following.gap is not None or self._begins_record(following, after=piece.sealed):
                self._ahead = following
                break
            piece = following
            parts.append(piece.data)
            length += len(piece.data)
        self._data = b"".join(parts)
        self._at = 0
        self._sealed = piece.sealed
        self._passed += length
        return True

    def _begins_record(self, piece: Decompressed, *, after: bool) -> bool:
        """Whether *piece* is the beginning of a member with a record; the member before it was read to its end."""
        is_member = self._offsets.are_of_members and after and self._longest_start > 0
        return is_member and piece.data[: self._longest_start].upper().startswith(self._record_start.starts)

    def _may_begin(self, data: bytes) -> bool:
        """Whether *data*, in upper case, is the beginning of a record, or a part of it."""
        starts = self._record_start.starts
        return data.startswith(starts) or any(start.startswith(data) for start in starts)


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

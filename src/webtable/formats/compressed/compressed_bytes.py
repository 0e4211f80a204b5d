"""Sequential reader of a compressed file that can go back to look for a readable member."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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

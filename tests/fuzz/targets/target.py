"""What every target of the fuzz tests is: a property of any bytes, and where to look for those that break it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

Strategy = st.SearchStrategy[bytes]


@dataclass(frozen=True)
class Target:
    """A property that holds of all inputs. Every engine calls `check`, which raises where it does not hold."""

    name: str
    check: Callable[[bytes], None]
    inputs: Callable[[], Strategy]
    """Inputs that know the structure, for hypothesis."""
    seeds: Callable[[], Sequence[bytes]]
    """Good inputs to begin with, for atheris."""
    seconds: float = 2.0
    """How long one input may take."""
    megabytes: int = 256
    """How much memory all inputs together may take beyond what the process has at its beginning."""
    fewer: int = 1
    """Of so many inputs that are asked for one is made, where each takes long."""
    longest: int = 4096
    """Bytes of an input that atheris makes."""


def edited(data: bytes, edits: bytes) -> bytes:
    """Return *data* changed as *edits* say, four bytes each: where (of 65,536 parts of it), what is done, and a byte.

    >>> edited(b"abcd", bytes([128, 0, 0, 120])), edited(b"abcd", bytes([128, 0, 2, 0])), edited(b"abcd", b"")
    (b'abxd', b'ab', b'abcd')
    """
    for at in range(0, len(edits) - 3, 4):
        place = int.from_bytes(edits[at : at + 2]) * len(data) >> 16
        kind, byte = edits[at + 2] % 6, edits[at + 3]
        head, tail = data[:place], data[place:]
        match kind:
            case 0:
                data = head + bytes([byte]) + tail[1:]
            case 1:
                data = head + bytes([tail[0] ^ 1 << byte % 8 if tail else byte]) + tail[1:]
            case 2:
                data = head
            case 3:
                data = head + tail[byte + 1 :]
            case 4:
                data = head + bytes([byte]) + tail
            case _:
                data = head + tail[: byte + 1] + tail
    return data


def edits(most: int = 6) -> Strategy:
    """Return edits as `edited` takes them."""
    one = st.tuples(st.integers(0, 255), st.integers(0, 255), st.integers(0, 5), st.integers(0, 255)).map(bytes)
    return st.lists(one, min_size=1, max_size=most).map(b"".join)


def mutated(seeds: Sequence[bytes], most: int = 6) -> Strategy:
    """Return *seeds* with a few edits."""
    return st.builds(edited, st.sampled_from(list(seeds)), edits(most) | st.just(b""))

"""The division of files among workers: which of them are read in parts, and how large these are."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

from webtable.formats import Place
from webtable.formats.read import PART_BYTES, FilePart

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOLERANCE = 1.1
"""Reading may take at most this many times as long as the ideal, before another file is read in parts."""


class UnreadPart(NamedTuple):
    """A part of a file that is to be read from *place* on, after its first *records* records."""

    part: FilePart
    place: Place
    records: int

    def __str__(self) -> str:
        return f"after record {self.records:,} of {self.part.name}"


def files_in_parts(sizes: Mapping[str, int], workers: int) -> set[str]:
    """Return the files to read in parts: as few as keep all *workers* busy, since finding parts takes time."""
    large: set[str] = set()
    ideal = sum(sizes.values()) / workers
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        pieces = [piece for one, size in sizes.items() for piece in pieces_of(size, one in large)]
        if sizes[file] <= PART_BYTES or _longest(pieces, workers) <= _TOLERANCE * ideal:
            break
        large.add(file)
    return large


def pieces_of(size: int, in_parts: bool) -> list[int]:
    """Return how many bytes the parts have of a file of *size* bytes that is read *in_parts*, or as a whole."""
    whole, rest = divmod(size, PART_BYTES) if in_parts else (0, size)
    return [PART_BYTES] * whole + [rest]


def _longest(pieces: list[int], workers: int) -> int:
    """Return how much the last worker to finish reads, if each takes the largest remaining piece."""
    read = [0] * workers
    for piece in sorted(pieces, reverse=True):
        heapq.heapreplace(read, read[0] + piece)
    return max(read)

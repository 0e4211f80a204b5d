"""A run of `ingest` whose files are read by workers: what each is given, and what became of it all."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from webtable.cli.loading.archive_files import is_empty
from webtable.cli.loading.load import Load
from webtable.cli.loading.workers.chunks import Given, Tally, add_tally
from webtable.formats import Place
from webtable.formats.parts import PART_BYTES, FilePart, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOLERANCE = 1.1
"""So many times as long as it could the reading may take at most, before another file is read in parts."""


@dataclass
class SharedLoad(Load):
    """A run of `ingest` whose files are read by workers."""

    workers: int = 2
    stored: int = 0
    unchanged: int = 0
    deaths: list[str] = field(default_factory=list)
    """How workers have died."""
    unfinished: list[str] = field(default_factory=list)
    """The places that the reading has come to, of parts that were begun and not read to their end."""

    @property
    def remarks(self) -> list[str]:
        """What else is to be told of the run."""
        return [f"a worker has died ({death}): what it had not stored was read again" for death in self.deaths]

    @property
    def where(self) -> str:
        """The places in the files that the reading has come to."""
        return " and ".join(self.unfinished) or "between two files"

    def add(self, tally: Tally) -> None:
        """Count what became of some records."""
        add_tally(self, tally)

    def parts(self) -> Iterator[Given]:
        """Yield what is to be read, the largest files first: what is read last should not take long."""
        numbers = count()
        for file in sorted(self._sizes, key=lambda file: -self._sizes[file]):
            if is_empty(file):
                self.damaged_files.append(f"{file}: it is empty")
                continue
            is_stored = True
            for part in self._parts_of(file):
                begun = (Place(part.begin), 0) if self.journal is None else self.journal.begin_part(part)
                if begun is not None:
                    is_stored = False
                    yield Given(next(numbers), part, *begun)
            self.skipped += is_stored

    @property
    def most_workers(self) -> int:
        """How many workers may have something to read."""
        return min(self.workers, sum(len(_pieces(self._sizes[file], file in self._large)) for file in self._sizes))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file: Path(file).stat().st_size for file in self.files}

    @cached_property
    def _large(self) -> set[str]:
        return files_in_parts(self._sizes, self.workers)

    def _parts_of(self, file: str) -> Iterator[FilePart]:
        """Yield the parts of *file*; what an earlier run has begun goes on as it was begun."""
        journal, in_parts = self.journal, file in self._large
        if journal is not None:
            in_parts = not journal.is_known(FilePart(file)) and (in_parts or journal.is_in_parts(file))
        if not in_parts:
            return iter([FilePart(file)])
        return parts_of(file, limits=self.limits)


def files_in_parts(sizes: Mapping[str, int], workers: int) -> set[str]:
    """Return which files are to be read in parts: as few as keep all *workers* busy, since finding parts takes time."""
    large: set[str] = set()
    ideal = sum(sizes.values()) / workers
    for file in sorted(sizes, key=lambda file: -sizes[file]):
        pieces = [piece for one, size in sizes.items() for piece in _pieces(size, one in large)]
        if sizes[file] <= PART_BYTES or _longest(pieces, workers) <= _TOLERANCE * ideal:
            break
        large.add(file)
    return large


def _pieces(size: int, in_parts: bool) -> list[int]:
    whole, rest = divmod(size, PART_BYTES) if in_parts else (0, size)
    return [PART_BYTES] * whole + [rest]


def _longest(pieces: list[int], workers: int) -> int:
    """Return how much the worker has read that ends last, where each takes the largest piece that is left."""
    read = [0] * workers
    for piece in sorted(pieces, reverse=True):
        heapq.heapreplace(read, read[0] + piece)
    return max(read)

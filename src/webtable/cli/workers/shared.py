"""A run of `ingest` whose files are read by workers: what each is given, and what became of it all."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from webtable.cli.archive_files import is_empty
from webtable.cli.load import Load
from webtable.cli.workers.chunks import Given, Tally, add_report
from webtable.formats import Place
from webtable.formats.parts import PART_BYTES, Part, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHARES = 4
"""A file is read in parts where it is more than one of so many shares of the work of one worker."""


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
        add_report(self.report, tally.report)
        self.stored += tally.stored
        self.unchanged += tally.unchanged
        self.refused.add_all(tally.refused)
        self.failed.add_all(tally.failed)

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
        parts = (self._sizes[file] // PART_BYTES + 1 if self._is_large(file) else 1 for file in self._sizes)
        return min(self.workers, sum(parts))

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {file: Path(file).stat().st_size for file in self.files}

    def _is_large(self, file: str) -> bool:
        return self._sizes[file] > max(PART_BYTES, sum(self._sizes.values()) // (self.workers * _SHARES))

    def _parts_of(self, file: str) -> Iterator[Part]:
        whole = Part(file)
        if not self._is_large(file) or (self.journal is not None and self.journal.is_known(whole)):
            return iter([whole])
        return parts_of(file, limits=self.limits)

"""What the readers of all formats share: the types that pass, and the report of what did not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

DEFAULT_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""The media types that `read_pages` lets pass when it is told nothing else."""

MAX_DAMAGED = 1_000
"""Damaged records that a report lists; all are counted."""


class DamagedRecord(NamedTuple):
    """A record that was skipped because it cannot be read."""

    source: str
    offset: int
    """Where it begins: the byte of the file (of its member, in a compressed one), or the line of JSON Lines."""
    url: str | None
    reason: str
    unit: str = "byte"

    def __str__(self) -> str:
        url = f" ({self.url})" if self.url else ""
        return f"{self.source}, {self.unit} {self.offset:,}{url}: {self.reason}"


@dataclass
class ReadReport:
    """What was read so far, and what became of it; given to several reads in turn, it adds up."""

    records: int = 0
    """Records (or lines) that were read to their end."""
    pages: int = 0
    bytes_read: int = 0
    """Bytes of the files themselves, before decompression."""
    total_bytes: int | None = None
    """The length of the files, where it is known: not that of a pipe."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Sound records that are no pages or of a type that was not asked for: how many, by media type, scheme or kind."""
    unknown_fields: Counter[str] = field(default_factory=Counter)
    """Fields of JSON Lines that a page does not have."""
    damaged_count: int = 0
    damaged: list[DamagedRecord] = field(default_factory=list)
    """The first 1,000 damaged records."""

    def add_damaged(self, record: DamagedRecord) -> None:
        """Count *record* and list it, unless the list is full."""
        self.damaged_count += 1
        if len(self.damaged) < MAX_DAMAGED:
            self.damaged.append(record)


class Damaged(Exception):
    """The reason why one record cannot be read; it ends up in a `DamagedRecord`."""


class LeftOut(Exception):
    """What a sound record is counted under that is no page or was not asked for."""


class DamagedFile(Exception):
    """The reason why a file cannot be read further, and where if that is known; it ends up in a `FormatError`."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.offset = offset


def check_type(types: Collection[str] | None, media_type: str) -> None:
    """Raise `LeftOut` unless *media_type* is one of *types*; None is all types."""
    if types is not None and media_type not in types:
        raise LeftOut(media_type)

"""The numbers of stored formats; and the limits of readers, so that no file fills the memory or is read for ever."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from webtable.errors import InvalidArgument, NewerFormat, OlderFormat

# --- Formats ----------------------------------------------------------------------------------------------------------
#
# A number goes up if a webtable that knows the earlier one would misread what is stored, or corrupt it by writing.


LAYOUT_FORMAT: Final = 1
"""The `format` of a layout, and with it of all cells of its table."""
KEY_FORMAT: Final = "web/1"
"""The `key` of a layout: how the row keys of a web table are made."""
FILE_FORMAT: Final = 2
"""The `user_version` of an SQLite file."""


def check_format(name: str, kind: str, number: int, supported: int) -> None:
    """Raise `NewerFormat` or `OlderFormat` if *name* has another format of this *kind* than the *supported* one.

    The first upgrade belongs here: once a release has stored an older format, that is read, or converted, instead of
    the error.
    """
    if number > supported:
        raise NewerFormat(
            f"{name} has {kind} format {number}, of a later webtable; this one reads {supported}: use a version that "
            f"knows {kind} format {number}. Nothing was changed"
        )
    if number < supported:
        raise OlderFormat(
            f"{name} has {kind} format {number}, which no release has written; this one reads {supported}: export it "
            "with the version that made it, and import that. Nothing was changed"
        )


# --- Limits -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The limits of readers of pages. Of 6,443 pages of real documentation none comes near one of them.

    A record over `record`, `head`, `fields` or `members` is skipped; a page over `parsed`, `memory` or `seconds` is
    stored without title and links; of a page with more links the first are kept. `ReadReport` counts each by name.
    The defaults together keep the memory of a reader below 500 MB; larger limits take more.
    Raises `InvalidArgument` for a limit that is not a number above 0.

    >>> ReadLimits(parsed=1 << 26).parsed
    67108864
    """

    record: int = 3 << 23
    """Bytes of a record: of a WARC block, of its body without encodings, of a line of JSON Lines."""
    head: int = 1 << 18
    """Bytes of the head of a WARC record, of that of a response, and of each field of a page in JSON Lines except the
    body and the links."""
    fields: int = 2_000
    """Header fields of a response."""
    members: int = 10_000
    """Parts that a body may be compressed in (gzip members, zstd frames), and empty ones in sequence in a file."""
    inflation: int = 250
    """Ratio of decompressed to compressed size above which a file is not read further, once it is over 256 MiB."""
    parsed: int = 1 << 24
    """Bytes of a body that is parsed for its title, links and text."""
    links: int = 50_000
    """Links of a page that are kept."""
    link_text: int = 1 << 22
    """Characters of the links of a page, anchors included; for a page with a small body 65,536 plus 4 for each byte of
    it, if that is less."""
    memory: int = 1 << 28
    """Bytes of memory that parsing a body may take."""
    seconds: float = 3.0
    """Seconds of processor time that parsing a body may take."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InvalidArgument(f"{field.name}={value!r} must be a number above 0")


DEFAULT_LIMITS = ReadLimits()
"""The limits of a reader unless others are given."""

EXPORT_LIMITS = ReadLimits(record=1 << 33, inflation=1 << 15)
"""The limits for reading an export: the largest page that a store can hold, compressed as well as zstd can.

A body may have 1,000,000,000 bytes in the store, and six times as many as a line of JSON.
"""

"""The row key of a page taken apart, and the region that holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webtable.rowkey import key_text

if TYPE_CHECKING:
    from webtable import WebTable
    from webtable.rowkey import WebKey


class KeyPiece(NamedTuple):
    """Some bytes of a row key as text: the `kind` is their CSS class, the `label` says what they are."""

    kind: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Holder:
    """The region that holds a row, its number among all regions of the table, and its bounds as text."""

    number: int
    count: int
    start: str
    stop: str
    server: str


def pieces_of(key: WebKey, url: str) -> list[KeyPiece]:
    """Return the pieces of the row key of *url*, in their order; the port and the scheme may be missing."""
    row = key.encode(url)
    plain = key.unsalted(row)
    host, slash, rest = plain.partition(b"/")
    path, mark, scheme = rest.partition(b"#")
    pieces = (
        ("salt", "salt", row[: len(row) - len(plain)]),
        ("host", "host, reversed", host),
        ("terminator", "terminator", slash),
        ("path", "path and query", path),
        ("scheme", "scheme and port", mark + scheme),
    )
    return [KeyPiece(kind, label, key_text(piece)) for kind, label, piece in pieces if piece]


def holder_of(table: WebTable, url: str) -> Holder | None:
    """Return the region of *table* that holds the row of *url*; None while a region moves or splits."""
    row, regions = table.key.encode(url), table.store.regions(table.table)
    for number, region in enumerate(regions, 1):
        if row in region.keys:
            start, stop = map(key_text, region.keys)
            return Holder(number, len(regions), start, stop, region.server)
    return None

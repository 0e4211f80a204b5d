"""Row keys: those of URLs, and the split points of regions."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from webtable.errors import InvalidArgument, WebTableError
from webtable.explorer.page_model import PagePart, Rows, View, ViewRequest
from webtable.questions import ListingOption, column
from webtable.rowkey import WebKey, key_text, sample_split_points, split_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webtable import WebTable

# The URLs are in the address of the page, which servers limit to some 64 kB.
MOST_URLS: Final = 500
MOST_REGIONS: Final = 1_000
OPTIONS: Final = (
    ListingOption("urls", f"URLs, one a line; up to {MOST_URLS}.", metavar="LINES"),
    ListingOption("regions", "How many regions a table is to have.", "number", default=16),
)
_ABOUT: Final = (
    "The key of a row is made of the URL of its page: {salt}the host from its end (com.example), and the path. Rows "
    "are stored in the order of their keys, so the key decides which questions are one range, and which server is "
    "busy. webtable keys advise compares other designs, measured on your URLs."
)
_SALT: Final = "{digits} hex digits of a hash of the {salt} (the salt, which spreads pages over the regions), "


class KeyPiece(NamedTuple):
    """Some bytes of a row key as text: the `kind` is their CSS class, the `part` says what they are."""

    kind: str
    part: str
    text: str


class MadeKey(NamedTuple):
    """The row key that a URL has in the table, or the `problem` of a text that is no URL."""

    url: str
    key: bytes | None
    problem: str | None = None


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


def view(request: ViewRequest) -> View:
    """Return the page of keys."""
    layout, lines = request.table.layout, list(filter(None, map(str.strip, request.option("urls").splitlines())))
    if len(lines) > MOST_URLS:
        raise InvalidArgument(
            f"urls: {len(lines):,} are too many for an address; give up to {MOST_URLS}, or use webtable keys advise"
        )
    regions = OPTIONS[1].value(request.option("regions", "16"))
    if not 1 <= regions <= MOST_REGIONS:
        raise InvalidArgument(f"regions={regions!r} must be a number from 1 to {MOST_REGIONS:,}")

    def parts(table: WebTable) -> Iterator[PagePart]:
        keys = [_key_of(table, line) for line in lines]
        if keys:
            yield PagePart("keys", lambda: _keys(table, keys), "Keys")
        if layout.digits:
            about = f"The first keys of all regions but the first, for a new table of {regions} regions."
            even = split_points(min(regions, 16**layout.digits), layout.digits)
            yield PagePart("split_points", lambda: _points(even), "Split points by the salts", about, look="points")
        if keys:
            title, about = "Split points by these URLs", "The same, with equally many of these URLs in each region."
            points = sample_split_points([line.key for line in keys if line.key is not None], regions)
            yield PagePart("split_points_by_urls", lambda: _points(points), title, about, look="points")

    salt = _SALT.format(digits=layout.digits, salt=layout.salt) if layout.digits else ""
    return View("Row keys", parts, _ABOUT.format(salt=salt), button="Show")


def _key_of(table: WebTable, url: str) -> MadeKey:
    try:
        return MadeKey(url, table.key.encode(url))
    except WebTableError as exc:
        return MadeKey(url, None, str(exc))


def _keys(table: WebTable, keys: Sequence[MadeKey]) -> Rows:
    starts = [region.keys.start for region in table.store.regions(table.table)]
    columns = (
        column("url", "url"),
        column("key", of=lambda line: line.key and key_text(line.key)),
        column("hex", of=lambda line: line.key and line.key.hex()),
        column("region", "count", of=lambda line: line.key and bisect_right(starts, line.key)),
        column("problem"),
    )
    return Rows(columns, keys)


def _points(points: Sequence[bytes]) -> Rows:
    return Rows([column("key", of=key_text)], points, empty="None: all rows are in one region.")

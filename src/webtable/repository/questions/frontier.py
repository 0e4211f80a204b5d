"""The question what to crawl next: URLs that pages link to, and that are no pages yet."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from webtable.errors import DamagedRow, KeyFormatError
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.page_rows import PageRows
from webtable.repository.indexes.web import LINK
from webtable.repository.questions.confirmation import URLS_AT_ONCE, Confirmation
from webtable.repository.questions.listing import BY_URL, DOMAIN, FULL_SCAN, Listing
from webtable.repository.scanning.scan import ScanSpec
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable.repository.answers.results import Explanation, Results, Slice
    from webtable.repository.frame import Frame
    from webtable.repository.scanning.scope import Scope
    from webtable.repository.stored.damaged_rows import Damage

URLS = declared(str, "URL", column("url", "url", str))


LISTING = Listing(
    "discovered",
    URLS,
    orders=BY_URL,
    options=(DOMAIN, FULL_SCAN),
    examples=("webtable discovered example.com --limit 1000 > crawl-next.txt", "webtable discovered --full-scan"),
    indexes=(LINK,),
    help="List the URLs that pages link to and that are no pages yet: what to crawl next.",
)


def discovered(frame: Frame, scope: Scope, part: Slice) -> Results[str]:
    """Return what `WebTable.discovered` does."""
    LISTING.check(part)
    rows = PageRows(frame)
    said, ranges = scope.ranges(frame)
    question = f"URLs without a page among the {said}"
    spec = ScanSpec(frame.table, ranges, Wanted([frame.codec.columns.inlinks.encode() + b":"], keys_only=True))

    def run(after: bytes | None, at_most: int | None, damage: Damage) -> Iterator[str]:
        frame.indexes.ready(LINK.name, question)
        bare = _bare(frame, replace(spec, expected=at_most), part.order, after)
        return islice(_linked(frame, bare, at_most, damage), at_most)

    def place(url: str) -> bytes:
        return rows.place_of(url, part.order)

    def explain() -> Explanation:
        return rows.explained(
            question, part.order, spec, "rows that are pages are read as well, keys only, and left out"
        )

    return part.of(question, run, place, explain, frame.damage, URLS)


def _bare(frame: Frame, spec: ScanSpec, order: str, after: bytes | None) -> Iterator[bytes]:
    """Yield the keys of the rows of *spec* that are no pages."""
    rows = PageRows(frame)

    def place(row: bytes) -> tuple[bytes, bytes]:
        return rows.place(row, order), row

    pages = rows.keys(replace(spec, wanted=Wanted([frame.codec.columns.page], keys_only=True)), order, after)
    page = next(pages, None)
    for row in rows.keys(spec, order, after):
        while page is not None and place(page) < place(row):
            page = next(pages, None)
        if page != row:
            yield row


def _linked(frame: Frame, rows: Iterator[bytes], expected: int | None, damage: Damage) -> Iterator[str]:
    """Yield the URLs of those of *rows*, which are no pages, that a page links to."""
    confirmation = Confirmation(frame, damage)
    size = min(expected or URLS_AT_ONCE, URLS_AT_ONCE)
    while batch := list(islice(rows, size)):
        bare = dict(damage.sift(_named(frame, row) for row in batch))
        linked = confirmation.linked(bare) if bare else ()
        yield from (url for row, url in bare.items() if row in linked)
        size = URLS_AT_ONCE


def _named(frame: Frame, row: bytes) -> tuple[bytes, str] | DamagedRow:
    """Return *row* with its URL, or the error where it is no row key."""
    try:
        return row, frame.key.decode(row)
    except KeyFormatError as exc:
        return DamagedRow(row, None, str(exc))

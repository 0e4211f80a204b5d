"""The question for all stored captures: the versions of each page with their bodies, and its newest capture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from webtable.errors import DamagedRow
from webtable.page.page import Page
from webtable.repository.answers.columns import column, declared
from webtable.repository.answers.listing import SITE, Listing
from webtable.repository.hosts.entries import narrowed_ranges
from webtable.repository.page_storage.cells import BODY_BYTES, BODY_ROWS, together
from webtable.repository.page_storage.state import brought
from webtable.repository.questions.rows import PageRows, TableQuestion
from webtable.repository.reading.scan import ScanSpec
from webtable.repository.upkeep.revisits import OpenRevisits, page_in, place_of
from webtable.rowkey import KeyRange
from webtable.rowkey.ranges import ALL_KEYS
from webtable.store import TimeRange
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable.repository.answers.results import Explanation, Window
    from webtable.repository.context import Frame
    from webtable.repository.reading.damage import Damage
    from webtable.repository.reading.scope import Scope
    from webtable.store import Row


def kept(
    frame: Frame, scope: Scope, damage: Damage, *, after: str | None = None, urls: KeyRange = ALL_KEYS
) -> Iterator[Page]:
    """Yield the stored captures of the pages of *scope*: the pages by URL, the captures of each oldest first.

    They begin after the URL *after*, and are of pages whose unsalted keys are in *urls*. Each has its body and its
    links, if any. A newest capture that repeats stored content comes after the versions, and without a body if the
    version at its `content_at` has it. If that version is no longer stored, the capture has its own date as
    `content_at`. So does a version without a body, or with the content of an older version; no other version has a
    `content_at`. Open revisits are among them, and say what they repeat.

    Bodies are read 8 MiB at a time, or one by one if a page has more. Captures that cannot be read, or do not match
    their digest, are added to *damage*. Raises `FullScanNeeded`, `InvalidURL`, `InvalidArgument`.
    """
    ranges = [_inside(frame, keys, urls) for keys in narrowed_ranges(frame, scope)]
    spec = ScanSpec(frame.table, ranges, Wanted(frame.codec.select(())), keep=scope.keeps)
    rows = PageRows(frame)
    pages = rows.pages(spec, "url", None if after is None else rows.place_of(after, "url"), damage)
    some = iter(lambda: list(islice(pages, BODY_ROWS)), [])
    names = frame.codec.columns
    columns = [names.capture, names.body, names.urls]
    captures = chain.from_iterable(_captures_of(frame, piece, columns) for piece in some)
    revisits = OpenRevisits(frame.store, frame.table, frame.key)
    return damage.sift(_with_open(revisits, captures) if revisits.is_any() else captures)


def _with_open(revisits: OpenRevisits, captures: Iterable[Page | DamagedRow]) -> Iterator[Page | DamagedRow]:
    """Yield *captures* with the open *revisits* of their pages between them."""
    for url, some in groupby(captures, key=attrgetter("url")):
        waiting = {} if url is None else {page.fetched_at: page for page in revisits.of_page(url)}
        for capture in some:
            if isinstance(capture, Page):
                waiting.pop(capture.fetched_at, None)
                for at in [at for at in waiting if at < capture.fetched_at]:
                    yield waiting.pop(at)
            yield capture
        yield from waiting.values()


def _inside(frame: Frame, keys: KeyRange, urls: KeyRange) -> KeyRange:
    """Return the part of *keys*, which have a single salt, whose unsalted keys are in *urls*."""
    salt = keys.start.removesuffix(frame.key.unsalted(keys.start))
    return keys.inside(KeyRange(salt + urls.start, urls.stop and salt + urls.stop))


def _captures_of(frame: Frame, pages: Sequence[Page], columns: Sequence[bytes]) -> Iterator[Page | DamagedRow]:
    versions = frame.layouts.recent().versions
    wanted = Wanted([frame.codec.columns.capture], versions=versions)
    captures = frame.store.read(frame.table, [frame.key.encode(page.url) for page in pages], wanted)
    known = [(page, row, _weight(frame, row)) for page, row in zip(pages, captures, strict=True)]
    for piece in together((one, one[-1]) for one in known):
        page, row, weight = piece[0]
        if row is not None and weight > BODY_BYTES:
            yield from _with_newest(frame, page, _one_by_one(frame, row, columns), columns)
        else:
            wanted = Wanted(columns, versions=versions)
            yield from _together(frame, [page for page, _, _ in piece], wanted)


def _weight(frame: Frame, row: Row | None) -> int:
    return 0 if row is None else sum(one.capture.size or 0 for one in frame.codec.versions(row))


def _together(frame: Frame, pages: Sequence[Page], wanted: Wanted) -> Iterator[Page | DamagedRow]:
    rows = frame.store.read(frame.table, [frame.key.encode(page.url) for page in pages], wanted)
    for page, row in zip(pages, rows, strict=True):
        yield from _with_newest(frame, page, () if row is None else _versions(frame, row), wanted.columns or ())


def _one_by_one(frame: Frame, row: Row, columns: Sequence[bytes]) -> Iterator[Page | DamagedRow]:
    """Yield the versions of *row*, which has its captures, with one body in memory at a time."""
    names = frame.codec.columns
    for capture in reversed(row.cells.get(names.capture, ())):
        at = TimeRange(capture.timestamp, capture.timestamp + 1)
        (found,) = frame.store.read(frame.table, [row.key], Wanted(columns, time_range=at))
        if found is not None:
            yield from _versions(frame, found)


def _versions(frame: Frame, row: Row) -> Iterator[Page | DamagedRow]:
    """Yield the versions in *row*, the oldest first, with an error in place of one that cannot be read."""
    names = frame.codec.columns
    bodies = {cell.timestamp: cell for cell in row.cells.get(names.body, ())}
    links = {cell.timestamp: cell for cell in row.cells.get(names.urls, ())}
    for capture in reversed(row.cells.get(names.capture, ())):
        try:
            version = frame.codec.version(row, capture, bodies.get(capture.timestamp), links.get(capture.timestamp))
            frame.pages.check(row.key, version)
        except DamagedRow as exc:
            yield exc
        else:
            yield version


def _with_newest(
    frame: Frame, page: Page, versions: Iterable[Page | DamagedRow], columns: Sequence[bytes]
) -> Iterator[Page | DamagedRow]:
    """Yield *versions* and, if it is not one of them, the newest capture of their *page*.

    If content of the page in *columns* is lost, an error takes the place of its version.
    """
    row, own, lost, before = frame.key.encode(page.url), None, False, set()
    for version in versions:
        if isinstance(version, DamagedRow):
            lost = True
            yield version
            continue
        if version.fetched_at == page.stored.content_at:
            whole = replace(page, body=version.body, outlinks=version.outlinks)
            if (error := frame.pages.lost(row, whole, columns)) is not None:
                lost = True
                yield error
                continue
            own = version
        # In whatever order captures are put, one with content of its own becomes a version.
        is_new = version.body is not None and brought(version) not in before
        yield replace(version, _content_at=None) if is_new else version
        before.add(brought(version))
    if own is None and not lost and (error := frame.pages.lost(row, page, columns)) is not None:
        yield error
    if page.stored.content_at == page.fetched_at:
        return
    if page.stored.content_at is None or (own is not None and brought(page) == brought(own)):
        yield page
    elif own is None:
        # Its content has expired, or cannot be read: it must not be taken for a repeat of another capture.
        yield replace(page, _content_at=page.fetched_at, has_body=False)
    else:
        yield replace(page, body=own.body, outlinks=own.outlinks)


# --- The question for open revisits: captures whose content is that of another one, which is not stored ---------------


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A capture of the page `url` whose content is not stored: it is that of a capture of the URL `original`.

    `original_at` and `payload_digest` are the date of that capture and the digest of its payload, as the revisit record
    names them; None where it does not.
    """

    url: str
    fetched_at: datetime
    original: str
    original_at: datetime | None
    payload_digest: str | None


UNRESOLVED = declared(
    Unresolved,
    "revisit",
    column("url", "url"),
    column("fetched_at", "time", heading="fetched"),
    column("original", "url"),
    column("original_at", "time", heading="original of"),
    column("payload_digest", "digest"),
    listed=("url", "fetched_at", "original", "original_at"),
)
LISTING = Listing(
    "unresolved",
    UNRESOLVED,
    orders=("url",),
    options=(SITE,),
    examples=(
        "webtable unresolved example.com",
        "webtable unresolved all --columns original,original_at --format csv",
    ),
    help="""List the captures whose content is that of another capture, which is not stored.

    Crawlers write such revisit records for what they have fetched before. They get their content when their originals
    are stored: ingest the files that have these.
    """,
)


class UnresolvedQuestion(TableQuestion[Unresolved]):
    """Which revisits of a scope are open."""

    def __init__(self, frame: Frame, scope: Scope, window: Window) -> None:
        super().__init__(frame, scope, window, LISTING)
        self.title: str = "open revisits" + (f" of {scope}" if scope.place is not None else "")
        self.revisits: OpenRevisits = OpenRevisits(frame.store, frame.table, frame.key)

    def rows(self, after: bytes | None, expected: int | None, damage: Damage) -> Iterator[Unresolved]:
        del expected, damage  # what cannot be read stays out, as it can never be completed
        contains, part = self.scope.contains(), self.frame.keys_of(self.frame.table)
        for row in self.revisits.rows([self.scope.unsalted()], after):
            page, key = page_in(row), place_of(row).rpartition(b"\0")[0]
            if page is not None and (contains is None or contains(key)) and self.frame.key.salted(key) in part:
                original = page.same_as or page.url
                yield Unresolved(page.url, page.fetched_at, original, page._repeats_at, page._payload_digest)

    def place(self, result: Unresolved) -> bytes:
        return self.revisits.place(result.url, result.fetched_at)

    def explain(self) -> Explanation:
        return self.plan(("queue:capture",), (self.revisits.range_of(self.scope.unsalted()),), "rows of the queue")

"""Verification of stored data: bodies are compared with their digests, and the pages of hosts are counted."""

from __future__ import annotations

from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from webtable.errors import DamagedRow, IndexNeeded, InvalidURL, KeyFormatError, TableNotFound
from webtable.page.page import Page
from webtable.repository.hosts.entries import CountedHost, counted_hosts
from webtable.repository.indexes.index import HOST, HOST_COUNTS
from webtable.repository.journal import Journal, Walked
from webtable.repository.page_storage.codec import check_body
from webtable.repository.page_storage.decisions import mended
from webtable.repository.questions.page import versions_in
from webtable.repository.questions.stats import PROGRESS_PAGES
from webtable.repository.reading.read_ahead import MOST_KEPT, Damage
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.upkeep.queue import RecountQueue
from webtable.rowkey import KeyRange
from webtable.rowkey.web import host_and_rest
from webtable.schema import index_table_name
from webtable.store import Row
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from os import PathLike

    from webtable.repository.arguments import Progress
    from webtable.repository.context import TableContext
    from webtable.repository.reading.scope import Scope

HOSTS_AT_ONCE: Final = 100_000
"""For how many hosts pages are counted in one pass over the keys of all rows."""


@dataclass(frozen=True, slots=True)
class MissingPages:
    """A host that has fewer pages than it should: `expected` were counted at `counted_at`, `found` are there now."""

    host: str
    expected: int
    found: int
    counted_at: datetime

    @property
    def pages(self) -> int:
        """How many pages are missing."""
        return self.expected - self.found


def missing_pages(
    context: TableContext, scope: Scope, ranges: Sequence[KeyRange], damage: Damage
) -> Iterator[MissingPages] | None:
    """Yield the hosts of *scope*, whose rows are *ranges*, that have fewer pages than were counted.

    None if no host was counted (`links.refresh`), there is no index of hosts, or the scope is a part of a host.
    Hosts whose pages have changed since then are left out.
    """
    if scope.place is not None and not scope.place.is_whole_host:
        return None
    hosts = counted_hosts(context, scope.place, damage)
    try:
        first = next(hosts, None)
    except IndexNeeded:
        return None
    return None if first is None else _missing(context, chain([first], hosts), ranges, damage)


def _missing(
    context: TableContext, hosts: Iterator[CountedHost], ranges: Sequence[KeyRange], damage: Damage
) -> Iterator[MissingPages]:
    while piece := list(islice(hosts, HOSTS_AT_ONCE)):
        pages = _pages_of(context, {host.name for host in piece}, ranges)
        short = [host for host in piece if pages[host.name] < host.counts.pages]
        for host in _settled(context, short, damage) if short else ():
            yield MissingPages(host.name, host.counts.pages, pages[host.name], host.counts.counted_at)


def _pages_of(context: TableContext, hosts: Collection[str], ranges: Sequence[KeyRange]) -> Counter[str]:
    """The number of pages of each of *hosts*, including those that cannot be read."""
    pages, host, span = Counter[str](), "", None
    for row in context.scan(Wanted([context.codec.columns.page], keys_only=True), ranges):
        # Its neighbours are of the same host, so their keys need not be decoded.
        if span is None or row.key not in span:
            try:
                host = host_and_rest(context.key.url_of(row.key))[0]
            except (KeyFormatError, InvalidURL):
                continue  # the key is damaged, so its page is missing
            if context.layout.salt != "url":  # then the rows of a host are neighbours
                span = next((keys for keys in context.key.host_ranges(host) if row.key in keys), None)
        if host in hosts:
            pages[host] += 1
    return pages


def _settled(context: TableContext, hosts: Sequence[CountedHost], damage: Damage) -> list[CountedHost]:
    """The *hosts* that have not changed since they were counted."""
    # Read first: a change is entered into the queue before it is made, and removed when the new count is stored.
    waiting = _waiting(context, {host.name for host in hosts}, damage)
    if waiting is None:
        return []
    table, unchanged = index_table_name(context.table, HOST.name), [host for host in hosts if host.name not in waiting]
    now = context.store.read(table, [host.entry for host in unchanged], Wanted([HOST_COUNTS])) if unchanged else []
    return [
        host for host, row in zip(unchanged, now, strict=True) if row and row.cells[HOST_COUNTS][0].timestamp == host.at
    ]


def _waiting(context: TableContext, hosts: Collection[str], damage: Damage) -> set[str] | None:
    """The names of *hosts* with changes that wait to be counted; None if some of the queue cannot be read."""
    queue, waiting = RecountQueue(context.store, context.table), set[str]()
    for batch in queue.waiting(also_unfinished=True):
        if batch.is_damaged:
            damage.add(DamagedRow(batch.key, None, f"{queue.table}: it is not known whose pages wait"))
            return None
        waiting.update(batch.hosts)
        for row in batch.pages:
            try:
                waiting.add(host_and_rest(context.key.url_of(row))[0])
            except (KeyFormatError, InvalidURL):
                continue  # no page has that key
    return waiting.intersection(hosts)


@dataclass(frozen=True, slots=True)
class Verification:
    """How much was read (pages, the bodies of all their versions, and the bytes of these), and the damage.

    `damaged` counts rows that cannot be read or are not what was stored, `lost` pages whose body or links are gone,
    which neither a limit nor a delete explains. `examples` are the first 100 of both. `inconsistent` pages are those
    whose newest capture disagrees with their history because two writers stored captures of them at once;
    `repair_index` repairs them.
    """

    pages: int
    bodies: int
    bytes: int
    damaged: int
    lost: int
    examples: tuple[DamagedRow, ...] = ()
    missing: int | None = None
    """How many of the counted pages of hosts are missing; None if none were counted (`TableLinks.refresh`)."""
    short_hosts: tuple[MissingPages, ...] = ()
    """The first 100 of these hosts."""
    inconsistent: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged, lost or missing, and each page agrees with its history."""
        return not (self.damaged or self.lost or self.missing or self.inconsistent)


class _VerifiedSoFar(Walked):
    """The findings so far, with the numbers of bodies and of lost pages."""

    bodies: int = 0
    size: int = 0
    lost: int = 0
    inconsistent: int = 0

    def verification(self) -> Verification:
        counts = self.pages, self.bodies, self.size, self.damaged, self.lost
        return Verification(*counts, tuple(self.damaged_rows()), inconsistent=self.inconsistent)


def verify(
    context: TableContext, scope: Scope, on_progress: Progress | None, resume: str | PathLike[str] | None
) -> Verification:
    """The result of `TableMaintenance.verify`."""
    ranges = scope.ranges(context)
    everywhere = [KeyRange()] if scope.place is None else ranges
    journal = Journal(resume, f"verify {context.table}: {scope}", _VerifiedSoFar)
    findings = journal.begun() or _VerifiedSoFar()
    spec = ScanSpec(context.table, everywhere, wanted_to_verify(context), keep=scope.keeps)
    for _ in _verified(
        context, in_storage_order(context.store, spec, findings.position or None), on_progress, findings
    ):
        if journal.is_due():
            journal.keep(findings)
    verification = _with_missing(context, scope, ranges, findings)
    journal.end()
    return verification


def _with_missing(
    context: TableContext, scope: Scope, ranges: Sequence[KeyRange], findings: _VerifiedSoFar
) -> Verification:
    """The verification with these *findings*, and with the counted pages that hosts now lack."""
    examples, first, missing = findings.damaged_rows(), list[MissingPages](), None
    damage = Damage(context.counts, examples)
    with suppress(TableNotFound):  # the index of hosts was dropped meanwhile
        short = missing_pages(context, scope, ranges, damage)
        missing = None if short is None else 0
        for host in short or ():
            missing = (missing or 0) + host.pages
            first += [host][: MOST_KEPT - len(first)]
    findings.damaged += damage.count
    findings.add_examples(examples[len(findings.examples) :])
    return replace(findings.verification(), missing=missing, short_hosts=tuple(first))


def wanted_to_verify(context: TableContext) -> Wanted:
    """The columns and versions that must be read of rows to verify them."""
    names = context.codec.columns
    columns = [names.page, names.links, names.urls, context.codec.family]
    return Wanted(columns, versions=context.layouts.recent().versions)


def verified(context: TableContext, rows: Iterable[Row], on_progress: Progress | None) -> Verification:
    """The verification of *rows*, which were read with `wanted_to_verify`."""
    findings = _VerifiedSoFar()
    deque(_verified(context, rows, on_progress, findings), maxlen=0)
    return findings.verification()


def _verified(
    context: TableContext, rows: Iterable[Row], on_progress: Progress | None, findings: _VerifiedSoFar
) -> Iterator[None]:
    """Add what is damaged of *rows* to *findings*, with a pause after each row."""
    examples = findings.damaged_rows()
    # Both count each row once, and share the examples.
    damage, lost = Damage(context.counts, examples), Damage(context.counts, examples)
    damaged_before, lost_before = findings.damaged, findings.lost
    for row in rows:
        for result in damage.sift(_all_of(context, row)):
            if isinstance(result, Page):
                findings.pages += 1
                if (error := context.pages.lost(row.key, result, context.codec.body_and_links)) is not None:
                    lost.add(error)
            elif isinstance(result, int):
                findings.bodies, findings.size = findings.bodies + 1, findings.size + result
        findings.inconsistent += _is_inconsistent(context, row)
        findings.position = row.key
        findings.damaged, findings.lost = damaged_before + damage.count, lost_before + lost.count
        findings.add_examples(examples[len(findings.examples) :])
        if on_progress is not None and findings.pages % PROGRESS_PAGES == 0:
            on_progress(findings.pages)
        yield
    if on_progress is not None:
        on_progress(findings.pages)


def _is_inconsistent(context: TableContext, row: Row) -> bool:
    """Whether the newest capture of *row* disagrees with its history."""
    names = context.codec.columns
    # Without the body and links, which were read already.
    bare = {column: row.cells[column] for column in (names.page, names.capture) if column in row.cells}
    return mended(context.codec.stored(Row(row.key, bare))) is not None


def _all_of(context: TableContext, row: Row) -> Iterator[Page | int | DamagedRow]:
    """Yield the page of *row*, the sizes of the bodies of its versions, and all that is damaged."""
    codec = context.codec
    page = context.counted.each(row, verify=True)
    if isinstance(page, Page) and page.outlinks is not None and len(page.outlinks) != page.outlink_count:
        reason = f"{len(page.outlinks):,} links, where there were {page.outlink_count:,}"
        page = codec.damaged(row.key, codec.columns.urls, reason)
    if page is not None:
        yield page
    else:
        try:
            codec.counts(row)
        except DamagedRow as exc:
            yield exc
    for _, version in versions_in(context, row):
        if isinstance(version, DamagedRow):
            yield version
        elif version.body is not None:
            try:
                check_body(version.body, version)
            except ValueError as exc:
                yield codec.damaged(row.key, codec.columns.body, exc)
            else:
                yield len(version.body)

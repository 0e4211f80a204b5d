"""Counts and bytes of pages by host, status, type, language, age and more: one pass, without bodies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - msgspec reads it
from typing import TYPE_CHECKING, NamedTuple, get_args

from webtable._clock import clock
from webtable.display import Shown
from webtable.display.text import plural
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.answers.columns import Columns, column, declared
from webtable.repository.answers.tabular import Tabular
from webtable.repository.arguments import Grouping, Moment, given_moment
from webtable.repository.hosts.entries import narrowed_ranges, nothing_of
from webtable.repository.journal import Journal, Walked
from webtable.repository.partitions.processes import PartTask, Whole, checked_workers, done_by, parts_of
from webtable.repository.reading.page_counts import DATES, Group, PageCounts, grouping, left_out, shown_groups
from webtable.repository.reading.read_ahead import MOST_KEPT
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.reading.scope import Scope
from webtable.rowkey import KeyRange, key_text
from webtable.rowkey.ranges import clipped
from webtable.store.rows import Wanted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from os import PathLike

    from matplotlib.axes import Axes

    from webtable.repository.arguments import Progress
    from webtable.repository.context import TableContext

SHOWN_GROUPS = 8
"""How many groups of a grouping notebooks and terminals show."""
PROGRESS_PAGES = 1_000
"""After how many pages progress is reported."""

_IN_THE_KEY = frozenset({"host", "region"})


class GroupRow(NamedTuple):
    """A group as a row of the statistics as a table: the grouping, the group's name, and its counts."""

    by: str
    group: str
    pages: int
    bytes: int | None


GROUPS = declared(
    GroupRow,
    "group",
    column("by"),
    column("group", share=3),
    column("pages", "count"),
    column("bytes", "bytes", heading="size"),
)


@dataclass(frozen=True, slots=True)
class Stats(Tabular[GroupRow]):
    """All pages, the bytes of their bodies (None if those were not counted), and the groups that have pages.

    `by["status"]["404"]` is the group of the pages with that status. Hosts, types and languages come by name, statuses
    by number, ages from the youngest on, and regions, which are named by their first key (the table's first one has
    none), in key order; sizes from the smallest on, in classes that end at 100, 200, 500, 1,000 bytes and so on, and
    days and months from the first on. As a table it has a row for each group.
    """

    pages: int
    bytes: int | None
    by: dict[Grouping, dict[str, Group]]
    damaged: int = 0
    """How many rows were left out because they cannot be read."""
    examples: tuple[DamagedRow, ...] = ()
    """The first 100 of them."""
    regions: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """All regions of the table, if it was counted by them; those without pages have no group."""
    empty_reason: str = field(default="", repr=False, compare=False)
    """That there are no pages of the site, and which one was probably meant; "" if there are some."""

    @property
    def _columns(self) -> Columns:
        return GROUPS

    def _shown(self) -> Shown:
        """Return the groups of each grouping, or the largest or latest of them."""
        rows: list[Sequence[object]] = []
        for by, groups in self.by.items():
            shown = self.top(by)
            rows += shown
            if len(groups) > len(shown):
                rows.append((by, left_out(by, len(groups) - len(shown)), None, None))
        notes = [f"a {by} is that of the last capture of a page, in UTC" for by in self.by if by in DATES]
        if self.damaged:
            notes.append(f"{plural(self.damaged, 'row')} left out: damaged")
        return Shown(self.empty_reason or str(Group(self.pages, self.bytes)), GROUPS.names, rows, "; ".join(notes))

    def __iter__(self) -> Iterator[GroupRow]:
        return (GroupRow(by, name, *group) for by, groups in self.by.items() for name, group in groups.items())

    def top(self, by: Grouping, most: int = SHOWN_GROUPS) -> list[GroupRow]:
        """Return the groups of the grouping *by* that are to be shown where there is no room for all, in their order.

        Hosts, types, statuses, languages and regions are the *most* with the most pages, days and months the latest 31;
        ages and sizes are all shown. Raises `InvalidArgument` for what was not counted.
        """
        groups = self._of(by)
        return [GroupRow(by, name, *groups[name]) for name in shown_groups(by, groups, most)]

    def _of(self, by: Grouping) -> dict[str, Group]:
        if by not in self.by:
            raise InvalidArgument(f"by={by!r} was not counted: ask with stats(by={by!r})")
        return self.by[by]

    def plot(self, by: Grouping | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the groups of the grouping *by*, by default the first that was counted, and return the axes.

        Groups are bars, of days and months the latest; of regions the hot ones are marked. *ax* are axes of matplotlib
        to draw on; without them a figure is made. Raises `InvalidArgument` for what was not counted, and `MissingExtra`
        without matplotlib.
        """
        from webtable.repository.answers.pictures import draw_groups, draw_nothing

        named: Grouping = next(iter(self.by), "status") if by is None else by
        groups = self._of(named)
        if self.empty_reason:
            return draw_nothing(self.empty_reason, ax)
        if named == "region" and groups:
            groups = {name: groups.get(name, Group(0, 0)) for name in self.regions} | groups
        return draw_groups(named, groups, ax)

    def __str__(self) -> str:
        """Return a line on all pages, and one for each grouping: how many groups, and the one with the most pages."""
        lines = [str(Group(self.pages, self.bytes))]
        if self.damaged:
            lines.append(f"damaged: {self.damaged:,}")
        for name, groups in self.by.items():
            if groups:
                largest = max(groups, key=lambda group: groups[group].pages)
                lines.append(f"by {name}: {len(groups):,}, most in {largest!r}: {groups[largest]}")
        return "\n".join(lines)


class StatsQuestion(NamedTuple):
    """A request to count the pages of *scope*, by some groupings, as of *now*."""

    scope: Scope
    by: Grouping | Sequence[Grouping]
    with_bytes: bool
    now: Moment | None
    workers: int = 1

    def rows(self, context: TableContext, names: Sequence[Grouping], ranges: Sequence[KeyRange]) -> ScanSpec:
        """Return the scan of the pages in *ranges*, with what the groupings *names* need of them."""
        keys_only = not self.with_bytes and _IN_THE_KEY.issuperset(names)
        wanted = Wanted([context.codec.columns.page], keys_only=keys_only)
        return ScanSpec(context.table, ranges, wanted, keep=self.scope.keeps)


class _CountedSoFar(Walked, kw_only=True):
    """The counts so far, as of `now`, with regions that begin at `starts`."""

    now: datetime
    starts: list[bytes]
    size: int = 0
    groups: dict[Grouping, list[tuple[str | int, int, int]]] = {}

    def counts(self, context: TableContext, names: Sequence[Grouping]) -> PageCounts:
        """Return the counts of all pages and of the groupings *names*, to be continued."""
        counts = PageCounts({name: grouping(name, key=context.key, now=self.now, starts=self.starts) for name in names})
        self.add_to(counts)
        return counts

    def add_to(self, counts: PageCounts) -> None:
        """Add to *counts* what was counted here."""
        counts.pages, counts.bytes = counts.pages + self.pages, counts.bytes + self.size
        for name, groups in self.groups.items():
            for group, pages, size in groups:
                counts.groups[name].add(group, size, pages)

    def take(self, counts: PageCounts) -> None:
        """Take over the *counts*."""
        self.pages, self.size = counts.pages, counts.bytes
        self.groups = {name: one.counted() for name, one in counts.groups.items()}


def stats(
    context: TableContext, asked: StatsQuestion, on_progress: Progress | None, resume: str | PathLike[str] | None
) -> Stats:
    """Return what `WebTable.stats` does."""
    names, with_bytes = _known(asked.by), asked.with_bytes
    now = given_moment("now", asked.now)
    checked_workers(asked.workers)
    scope = asked.scope
    scope.check_permitted(context)
    ranges = [KeyRange()] if scope.place is None else narrowed_ranges(context, scope)
    question = f"stats of {context.table}: {scope} by {', '.join(names)}, bytes {with_bytes}, now {now}"
    journal = Journal(resume, question, _CountedSoFar)
    found = journal.begun()
    if found is None:
        regions = context.store.regions(context.table) if "region" in names else ()
        found = _CountedSoFar(now=now or clock.now(), starts=[region.keys.start for region in regions])
    counts = found.counts(context, names)
    if asked.workers > 1:
        counted = _count_by_workers(context, asked, ranges, counts, on_progress, found)
    else:
        counted = _count(context, asked.rows(context, names, ranges), counts, on_progress, found)
    with closing(counted):
        for _ in counted:
            if journal.is_due():
                found.take(counts)
                journal.keep(found)
    journal.end()
    groups = {name: one.groups(with_bytes=with_bytes) for name, one in counts.groups.items()}
    size = counts.bytes if with_bytes else None
    examples, starts = tuple(found.damaged_rows()), tuple(map(key_text, found.starts))
    nothing = "" if counts.pages else nothing_of(context, scope)
    return Stats(counts.pages, size, groups, found.damaged, examples, starts, nothing)


def _count_by_workers(
    context: TableContext,
    asked: StatsQuestion,
    ranges: Sequence[KeyRange],
    counts: PageCounts,
    on_progress: Progress | None,
    found: _CountedSoFar,
) -> Generator[None]:
    """Do as `_count`, a part of the rows at once."""
    whole = Whole.of_rows(context, [keys.after(found.position) for keys in ranges])
    begun = _CountedSoFar(now=found.now, starts=found.starts, position=found.position)
    tasks = [
        PartTask(_count_part, part, (asked, clipped(ranges, part.keys), begun))
        for part in parts_of(context, whole, asked.workers)
    ]
    with done_by(asked.workers, context, tasks) as parts:
        for part in parts:
            part.add_to(counts)
            found.position = max(found.position, part.position)
            found.damaged += part.damaged
            found.examples += part.examples[: MOST_KEPT - len(found.examples)]
            if on_progress is not None:
                on_progress(counts.pages)
            yield


def _count_part(
    context: TableContext, asked: StatsQuestion, ranges: Sequence[KeyRange], found: _CountedSoFar
) -> _CountedSoFar:
    """Return *found* with the counts of the pages in *ranges*; a worker calls it."""
    names = _known(asked.by)
    counts = found.counts(context, names)
    for _ in _count(context, asked.rows(context, names, ranges), counts, None, found):
        pass
    found.take(counts)
    return found


def _count(
    context: TableContext, spec: ScanSpec, counts: PageCounts, on_progress: Progress | None, found: _CountedSoFar
) -> Generator[None]:
    """Add the pages after those that were *found* to the *counts*, with a pause after every 1,000 of them."""
    examples = found.damaged_rows()
    damage, damaged_before = context.damage(examples), found.damaged
    for row in in_storage_order(context.store, spec, found.position or None):
        page = None if spec.wanted.keys_only else context.counted.each(row)
        found.position = row.key
        try:
            if not isinstance(page, DamagedRow):
                counts.add(row.key, page)
        except ValueError as exc:
            page = DamagedRow(row.key, None, str(exc))
        if isinstance(page, DamagedRow):
            damage.add(page)
            found.damaged = damaged_before + damage.count
            found.add_examples(examples[len(found.examples) :])
        elif counts.pages % PROGRESS_PAGES == 0:
            if on_progress is not None:
                on_progress(counts.pages)
            yield
    if on_progress is not None:
        on_progress(counts.pages)


def _known(by: Grouping | Sequence[Grouping]) -> tuple[Grouping, ...]:
    """Return *by* as a tuple; raises `InvalidArgument` for an unknown grouping."""
    names = (by,) if isinstance(by, str) else tuple(by)
    unknown = [name for name in names if name not in get_args(Grouping)]
    if unknown:
        raise InvalidArgument(f"by={unknown[0]!r} is not a grouping; there are {', '.join(get_args(Grouping))}")
    return names

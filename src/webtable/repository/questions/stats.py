"""Counts and bytes of pages by host, status, type, language, age and more: one pass, without bodies."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003 - msgspec reads it
from typing import TYPE_CHECKING, NamedTuple, get_args

from webtable._clock import clock
from webtable.display import Shown
from webtable.display.charts import Amount, area, stack
from webtable.display.markup import escaped, tag
from webtable.display.text import plural
from webtable.errors import DamagedRow, InvalidArgument
from webtable.repository.answers.columns import PAGES, Columns, column, declared
from webtable.repository.answers.tabular import Tabular
from webtable.repository.arguments import ColumnGrouping, Grouping, Moment, given_moment
from webtable.repository.hosts.entries import narrowed_ranges, nothing_of
from webtable.repository.journal import Journal, Walked
from webtable.repository.partitions.processes import PartTask, Whole, checked_workers, done_by, parts_of
from webtable.repository.reading.page_counts import (
    DATES,
    Group,
    GroupCounts,
    PageCounts,
    grouping,
    left_out,
    shown_groups,
)
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

# If only these are counted, without bytes, no values are read.
_IN_THE_KEY = frozenset({"host", "region"})
_COLUMNS = frozenset(get_args(ColumnGrouping))


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
    none), in key order; sizes from the smallest on, in classes that end at 100, 200, 500, 1,000 bytes and so on, days
    and months from the first on, directories and values of columns by their text. Of the last two
    10,000 are counted apart, and the pages of all further ones as "others". As a table it has a row for each group.
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

    def _repr_html_(self) -> str:
        """Return the groups, with a bar below them of each grouping, or a line of days and months."""
        drawn = []
        for by in self.by:
            kinds = "s{0[0]}" if by == "status" else ""
            amounts = [Amount(row.group, row.pages, kinds.format(row.group)) for row in self.top(by)]
            drawn.append(tag("p", by, area(amounts, "pages") if by in DATES else stack(amounts)) if amounts else "")
        return f"{self._shown().html()}{escaped(drawn)}"

    def __iter__(self) -> Iterator[GroupRow]:
        return (GroupRow(by, name, *group) for by, groups in self.by.items() for name, group in groups.items())

    def top(self, by: Grouping, most: int = SHOWN_GROUPS) -> list[GroupRow]:
        """Return the groups of the grouping *by* that are to be shown where there is no room for all, in their order.

        They are the *most* with the most pages, of days and months the latest 31; ages and sizes are all shown. Raises
        `InvalidArgument` for what was not counted.
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
        counts = PageCounts({name: self._grouping(context, name) for name in names})
        self.add_to(counts)
        return counts

    def _grouping(self, context: TableContext, name: Grouping) -> GroupCounts:
        value = PAGES.chosen([name])[0].of if name in _COLUMNS else None
        return grouping(name, key=context.key, now=self.now, starts=self.starts, value=value)

    def add_to(self, counts: PageCounts) -> None:
        """Add to *counts* what was counted here."""
        counts.pages, counts.bytes = counts.pages + self.pages, counts.bytes + self.size
        for name, groups in self.groups.items():
            for group, pages, size in groups:
                counts.groups[name].add(group, size, pages)

    def take(self, counts: PageCounts) -> None:
        """Take over the *counts*."""
        self.pages, self.size = counts.pages, counts.bytes
        self.groups = {name: group_counts.counted() for name, group_counts in counts.groups.items()}


def stats(
    context: TableContext, question: StatsQuestion, on_progress: Progress | None, resume: str | PathLike[str] | None
) -> Stats:
    """Count the pages of the *question*, from where the journal *resume* ended; raises `FullScanNeeded`."""
    names, with_bytes = _groupings(question.by), question.with_bytes
    now = given_moment("now", question.now)
    checked_workers(question.workers)
    scope = question.scope
    scope.check_permitted(context)
    ranges = [KeyRange()] if scope.place is None else narrowed_ranges(context, scope)
    label = f"stats of {context.table}: {scope} by {', '.join(names)}, bytes {with_bytes}, now {now}"
    journal = Journal(resume, label, _CountedSoFar)
    so_far = journal.begun()
    if so_far is None:
        regions = context.store.regions(context.table) if "region" in names else ()
        so_far = _CountedSoFar(now=now or clock.now(), starts=[region.keys.start for region in regions])
    counts = so_far.counts(context, names)
    if question.workers > 1:
        counting = _count_by_workers(context, question, ranges, counts, on_progress, so_far)
    else:
        counting = _count(context, question.rows(context, names, ranges), counts, on_progress, so_far)
    with closing(counting):
        for _ in counting:
            if journal.is_due():
                so_far.take(counts)
                journal.keep(so_far)
    journal.end()
    groups = {name: group_counts.groups(with_bytes=with_bytes) for name, group_counts in counts.groups.items()}
    size = counts.bytes if with_bytes else None
    examples, starts = tuple(so_far.damaged_rows()), tuple(map(key_text, so_far.starts))
    nothing = "" if counts.pages else nothing_of(context, scope)
    return Stats(counts.pages, size, groups, so_far.damaged, examples, starts, nothing)


def _count_by_workers(
    context: TableContext,
    question: StatsQuestion,
    ranges: Sequence[KeyRange],
    counts: PageCounts,
    on_progress: Progress | None,
    so_far: _CountedSoFar,
) -> Generator[None]:
    """Do as `_count`, a part of the rows at once."""
    whole = Whole.of_rows(context, [keys.after(so_far.position) for keys in ranges])
    begun = _CountedSoFar(now=so_far.now, starts=so_far.starts, position=so_far.position)
    # Workers begin with empty counts, which are added up here; regions and ages are of the same moment in all.
    tasks = [
        PartTask(_count_part, part, (question, clipped(ranges, part.keys), begun))
        for part in parts_of(context, whole, question.workers)
    ]
    with done_by(question.workers, context, tasks) as parts:
        for part in parts:
            part.add_to(counts)
            so_far.position = max(so_far.position, part.position)
            so_far.damaged += part.damaged
            so_far.examples += part.examples[: MOST_KEPT - len(so_far.examples)]
            if on_progress is not None:
                on_progress(counts.pages)
            yield


def _count_part(
    context: TableContext, question: StatsQuestion, ranges: Sequence[KeyRange], so_far: _CountedSoFar
) -> _CountedSoFar:
    """Return *so_far* with the counts of the pages in *ranges*; a worker calls it."""
    names = _groupings(question.by)
    counts = so_far.counts(context, names)
    for _ in _count(context, question.rows(context, names, ranges), counts, None, so_far):
        pass
    so_far.take(counts)
    return so_far


def _count(
    context: TableContext, spec: ScanSpec, counts: PageCounts, on_progress: Progress | None, so_far: _CountedSoFar
) -> Generator[None]:
    """Add the pages after those counted *so_far* to the *counts*, with a pause after every 1,000 of them."""
    examples = so_far.damaged_rows()
    damage, damaged_before = context.damage(examples), so_far.damaged
    for row in in_storage_order(context.store, spec, so_far.position or None):
        page = None if spec.wanted.keys_only else context.counted.each(row)
        so_far.position = row.key
        try:
            if not isinstance(page, DamagedRow):
                counts.add(row.key, page)
        except ValueError as exc:  # a row key that is none of a page has no host
            page = DamagedRow(row.key, None, str(exc))
        if isinstance(page, DamagedRow):
            damage.add(page)
            so_far.damaged = damaged_before + damage.count
            so_far.add_examples(examples[len(so_far.examples) :])
        elif counts.pages % PROGRESS_PAGES == 0:
            if on_progress is not None:
                on_progress(counts.pages)
            yield
    if on_progress is not None:
        on_progress(counts.pages)


def _groupings(by: Grouping | Sequence[Grouping]) -> tuple[Grouping, ...]:
    """Return *by* as a tuple; raises `InvalidArgument` for an unknown grouping."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if unknown := [name for name in names if name not in get_args(Grouping)]:
        raise InvalidArgument(f"by={unknown[0]!r} is not a grouping; there are {', '.join(get_args(Grouping))}")
    return names

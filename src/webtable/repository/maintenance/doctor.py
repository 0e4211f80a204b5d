"""The doctor: all checks of a store, a table, its indexes, rows and regions, even if the table cannot be opened."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from webtable import errors
from webtable._clock import clock, moment_of
from webtable._messages import Command, Message, message_of
from webtable.display import Shown, ShowsItself
from webtable.display.text import plural, size_text
from webtable.page.page import Page
from webtable.repository.arguments import Progress
from webtable.repository.context import TableContext
from webtable.repository.full_text.upkeep import state
from webtable.repository.keyed_table.table import KeyedTable, layout_of
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.maintenance.summary import sample_urls
from webtable.repository.maintenance.verify import verified, wanted_to_verify
from webtable.repository.reading.page_counts import HOT, Group, PageCounts, RegionShares, grouping, named
from webtable.repository.table.opening import not_there
from webtable.repository.table.web_table import WebTable
from webtable.repository.upkeep.queue import RecountQueue
from webtable.repository.upkeep.revisits import MOST_COUNTED, OpenRevisits, number_text
from webtable.rowkey import CompositeKey, HashedKey, KeyRange, Text, key_text
from webtable.schema import check_suffix_list
from webtable.store import Region, Row, Store, adapter_of, open_store
from webtable.store.deadline import Deadline, until
from webtable.store.health import MORE_TIME, Check, failed, warned, well
from webtable.store.rows import Wanted
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence


# --- The tables, the indexes and the counts ---------------------------------------------------------------------------


# Not a table that was opened: the doctor works where none can be opened.
@dataclass(frozen=True)
class CheckedTable:
    """A web table in its *store*, what is *stored* of it, and the *time* for all checks."""

    store: Store
    table: str
    stored: StoredWebTable
    time: Deadline

    @cached_property
    def context(self) -> TableContext:
        """The context of the table."""
        return TableContext.of(self.store, self.table, self.stored.layout)

    @cached_property
    def web_table(self) -> WebTable:
        """The table as an object of the API; it is not closed, since that would close the store."""
        return WebTable(self.store, self.table, self.stored.layout)

    @cached_property
    def missing(self) -> frozenset[str]:
        """The names of the tables that belong to it and are missing."""
        return frozenset(schema.name for schema in self.stored.missing())


def layout_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield a description of the layout; raises `LayoutMismatch` if its keys cannot be made here."""
    layout = checked.stored.layout
    check_suffix_list(checked.stored.name, layout)
    text = f"salt {layout.salt}, names {layout.names}, compression {layout.compression}"
    yield well("layout", f"{text}; keeps {layout.limits}")


def missing_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield which of its tables are missing."""
    if not checked.missing:
        yield well("tables", "none is missing")
        return
    names = ", ".join(map(repr, sorted(checked.missing)))
    fix = Message(
        "restore what is missing from a backup; or create it again, empty, with ",
        Command("create", python="webtable.open(…, create=True)"),
    )
    if checked.table not in checked.missing:
        fix += Message(
            ", and fill that of an index with ", Command("index rebuild NAME", python="table.indexes.rebuild(…)")
        )
    yield failed("tables", f"missing: {names}, while the layout is still stored", fix)


def family_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield the families that differ from the layout, in what they keep or how they store it."""
    drifted = checked.stored.drifted()
    if not drifted:
        yield well("families", "they match the layout")
    for plan in drifted:
        fix = (
            Message(Command("create --alter-families", python="webtable.maintenance.create(…, alter_families=True)"))
            if plan.wanted.name == checked.table
            else "in the HBase shell"
        )
        yield warned("families", "; ".join(str(plan).splitlines()), fix + f": {'; '.join(plan.shell().splitlines())}")


LONG_WAIT: Final = timedelta(days=1)
"""The age from which counts are reported as old."""


def text_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield whether the full text is complete, if the table has any."""
    text_state = state(checked.context)
    if text_state is not None and not text_state.is_complete:
        yield warned(
            "full text",
            "it is not complete",
            Message(Command("search-index refresh", python="table.search_index.refresh()"), ", which goes on"),
        )
    elif text_state is not None and text_state.as_of is not None and clock.now() - text_state.as_of > LONG_WAIT:
        text = f"it has the captures up to {text_state.as_of:%Y-%m-%d %H:%M}Z"
        yield warned(
            "full text",
            text,
            Message(Command("search-index refresh", python="table.search_index.refresh()"), ", which adds later ones"),
        )
    elif text_state is not None:
        yield well("full text", f"complete, {size_text(text_state.bytes)}")


def index_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield the indexes that are not ready, or that cannot be used here."""
    by_name = checked.context.indexes.read()
    unusual = False
    for name, index in by_name.items():
        if index.table in checked.missing:
            continue
        if index.state.phase == "building":
            text = f"{name} is not complete: questions cannot use it yet"
            yield warned(
                "indexes",
                text,
                Message(
                    Command(f"index rebuild {name}", python=f"table.indexes.rebuild({name!r})"),
                    ", which goes on where it was interrupted",
                ),
            )
        elif index.state.phase == "retired":
            yield warned(
                "indexes",
                f"the drop of {name} was interrupted",
                Message(Command(f"index drop {name}", python=f"table.indexes.drop({name!r})")),
            )
        else:
            try:
                _ = index.index
                continue
            except errors.LayoutMismatch as exc:
                yield warned(
                    "indexes",
                    message_of(exc),
                    Message(
                        "name it to every writer, or ",
                        Command(f"index drop {name}", python=f"table.indexes.drop({name!r})"),
                    ),
                )
        unusual = True
    if not unusual:
        yield well("indexes", f"ready: {', '.join(sorted(by_name))}" if by_name else "the table has no indexes")


def freshness_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield up to when links and hosts are counted, and whether writers have died."""
    queue = RecountQueue(checked.store, checked.table)
    if queue.table in checked.missing:
        return
    waiting, since = queue.extent()
    counted = checked.context.refreshed.until()
    text = "links were never counted" if counted is None else f"links are counted up to {counted:%Y-%m-%d %H:%M} UTC"
    if since is not None:
        text += f", {waiting:,} batches have waited since {moment_of(since):%Y-%m-%d %H:%M} UTC"
    unfinished = queue.unfinished()
    if unfinished:
        text += f"; {unfinished:,} of these were left by writers that died"
    # Batches that died are counted after ten minutes, but only by a run.
    if unfinished or (since is not None and clock.now() - moment_of(since) > LONG_WAIT):
        yield warned(
            "freshness",
            text,
            Message("run ", Command("links refresh", python="table.links.refresh()"), ", regularly from cron"),
        )
    else:
        yield well("freshness", text)


def revisit_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield how many revisits wait for their originals."""
    open_revisits = OpenRevisits(checked.store, checked.table, checked.context.key)
    if open_revisits.table in checked.missing:
        return
    count = open_revisits.count(MOST_COUNTED)
    if count:
        text = f"{number_text(count)} of captures that are not stored"
        yield warned("revisits", text, "webtable unresolved lists them; ingest the files that have their originals")
    else:
        yield well("revisits", "all have their content")


# --- Rows and regions -------------------------------------------------------------------------------------------------


SAMPLE: Final = 200
DEEP_SAMPLE: Final = 1_000
_AT_ONCE: Final = 16
"""How many rows are read at once with all their bodies."""
_LEAST_LEFT: Final = 0.5
"""With fewer seconds left no more rows are read: they would not come in time."""
_AHEAD: Final = timedelta(minutes=1)
_MENDED = Message(
    "store newer captures of these pages, or delete them; ",
    Command("verify all", python="table.maintenance.verify()"),
    " finds each of them",
)


@dataclass(frozen=True, slots=True)
class Deepness:
    """Whether bodies are compared with their digests, and whether those of all pages; and a function for progress."""

    is_wanted: bool
    is_full: bool
    on_progress: Progress | None


def sample_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield how many pages of a sample cannot be read, and whether some are dated in the future."""
    keys = _keys(checked, SAMPLE)
    results = list(checked.context.pages.read_each(keys, ("fetched_at",)))
    damaged = [result for result in results if isinstance(result, errors.DamagedRow)]
    if damaged:
        text = f"{len(damaged):,} of {len(results):,} pages of a sample cannot be read"
        yield failed("rows", f"{text}: {damaged[0]}", _MENDED)
    else:
        yield well(
            "rows", f"{plural(len(results), 'page')} of a sample can be read" if results else "there are no pages"
        )
    newest = max((result.fetched_at for result in results if isinstance(result, Page)), default=None)
    if newest is not None and newest > clock.now() + _AHEAD:
        text = f"a page of the sample is dated {newest:%Y-%m-%d %H:%M:%S} UTC, in the future"
        yield warned("dates", text, "set the clocks of this machine and of those that write by NTP")


def digest_checks(checked: CheckedTable, deepness: Deepness) -> Iterator[Check]:
    """Yield how many bodies do not match their digests, in a sample of the pages or in all."""
    verification = verified(checked.context, _in_time(_rows(checked, deepness), checked.time), deepness.on_progress)
    read = f"{verification.bodies:,} bodies of {verification.pages:,} pages were read"
    text = f"{read}: {verification.damaged:,} damaged, {verification.lost:,} lost"
    if verification.examples:
        yield failed("digests", f"{text}: {verification.examples[0]}", _MENDED)
    elif checked.time.left() < _LEAST_LEFT:
        yield warned("digests", f"{text}, when the time was over", MORE_TIME)
    else:
        yield well("digests", text)
    if verification.inconsistent:
        text = f"the newest capture of {verification.inconsistent:,} of these pages disagrees with their history"
        yield failed("history", text, Message("run: ", Command("index repair --all", python="table.indexes.repair(…)")))


def _rows(checked: CheckedTable, deepness: Deepness) -> Iterator[Row]:
    wanted = wanted_to_verify(checked.context)
    if deepness.is_full:
        yield from checked.context.scan(wanted)
        return
    keys = iter(_keys(checked, DEEP_SAMPLE))
    while piece := list(islice(keys, _AT_ONCE)):
        yield from filter(None, checked.context.read(piece, wanted))


def _keys(checked: CheckedTable, limit: int) -> Sequence[bytes]:
    return [checked.context.key.encode(url) for url in sample_urls(checked.web_table, most=limit)]


def _in_time(rows: Iterable[Row], time: Deadline) -> Iterator[Row]:
    for row in rows:
        yield row
        if time.left() < _LEAST_LEFT:
            return


MOST_PAGES: Final = 50_000
"""How many pages are counted at most, in a second or two; if there are more, salts or first rows are compared."""
MOST_REGIONS: Final = 256
"""How many regions are then checked for being full."""
MOST_ROWS: Final = 200
"""How many rows a region needs to count as full."""
_UNEVEN: Final = 4
"""A server with this many times as many regions as another one has too many."""
_SPLIT: Final = Message(
    "split hot regions in the HBase shell (split 'TABLE', 'KEY') and merge empty ones (merge_region); ",
    Command("keys splits --regions 16"),
    " names split points",
)
_COUNTS: Final = Message(
    Command("stats all --by region", python="table.stats(webtable.ALL, by=['region'])"), " counts their pages"
)


def region_checks(checked: CheckedTable) -> Iterator[Check]:
    """Yield the checks of the regions of the pages, if the store has regions."""
    regions = checked.store.regions(checked.table)
    yield from placement_checks(checked.store, checked.table, regions)
    if not any(region.server for region in regions):
        return
    if len(regions) == 1:
        yield _judged(RegionShares.of({_name(regions[0]): (0, None)}))
        return
    digits = checked.stored.layout.digits
    groups = _pages(checked, regions)
    if groups is not None:
        yield _judged(RegionShares.of(groups))
    elif digits:
        salts = [b"%0*x" % (digits, number) for number in range(16**digits)]
        shares = RegionShares.of({_name(each): (_begin_in(each.keys, salts), None) for each in regions})
        yield _judged(shares, ", by the salts that begin in them; " + _COUNTS)
    else:
        yield _filled(checked, regions)


def _pages(checked: CheckedTable, regions: Sequence[Region]) -> dict[str, Group] | None:
    """Return the pages and bytes of each region, or None if there are too many pages to count."""
    context, by = checked.context, grouping("region", starts=[region.keys.start for region in regions])
    counts, wanted = PageCounts({"region": by}), Wanted([context.codec.columns.page])
    for number, row in enumerate(context.scan(wanted, limit=MOST_PAGES + 1)):
        if number == MOST_PAGES:
            return None
        page = context.counted.each(row)
        if page is not None and not isinstance(page, errors.DamagedRow):
            counts.add(row.key, page)
    return {_name(region): Group(0, 0) for region in regions} | by.groups()


def _judged(shares: RegionShares, basis: str = "") -> Check:
    """Return the check of *shares*, in the words of the picture of the regions."""
    text = str(shares) + basis
    return warned("splits", text, _SPLIT) if shares.hot else well("splits", text)


def _filled(checked: CheckedTable, regions: Sequence[Region]) -> Check:
    """Return in how few regions nearly all pages are, judged by their first rows."""
    first_regions = regions[:MOST_REGIONS]
    rows = checked.store.first_rows(
        checked.table, [region.keys for region in first_regions], MOST_ROWS, Wanted(keys_only=True)
    )
    full = [_name(region) for region, first in zip(first_regions, rows, strict=True) if len(first) == MOST_ROWS]
    text = f"{len(regions):,} regions: {named(full)} have {MOST_ROWS} rows or more"
    # Nearly all of over MOST_PAGES pages are in these, so one of them has more than HOT times its fair share.
    if len(first_regions) == len(regions) and len(full) < len(regions) / HOT:
        return warned("splits", text, _SPLIT)
    return well("splits", f"{text}; " + _COUNTS)


def placement_checks(store: Store, table: str, regions: Sequence[Region] | None = None) -> Iterator[Check]:
    """Yield the check of the servers of the regions, if the store has regions."""
    regions = store.regions(table) if regions is None else regions
    if not any(region.server for region in regions):
        return
    lost = [region for region in regions if not region.server]
    servers = Counter(region.server for region in regions if region.server)
    text = f"{len(regions):,} on {plural(len(servers), 'server')}"
    if lost:
        fix = "wait while they move; else assign them in the HBase shell (list_regions, assign), or use hbck2"
        yield failed(
            "regions",
            f"{named([_name(lost_region) for lost_region in lost])} of {len(regions):,} regions are on no server",
            fix,
        )
    elif max(servers.values()) > _UNEVEN * max(1, min(servers.values())):
        (busiest, largest), *_ = servers.most_common(1)
        yield warned("regions", f"{text}, {largest:,} of them on {busiest}", "run balancer in the HBase shell")
    else:
        yield well("regions", text)


def _begin_in(keys: KeyRange, salts: Sequence[bytes]) -> int:
    """The number of *salts*, which are in order, that begin in *keys*."""
    stop = bisect_left(salts, keys.stop) if keys.stop else len(salts)
    return max(0, stop - bisect_left(salts, keys.start))


def _name(region: Region) -> str:
    return key_text(region.keys.start)


# --- The doctor -------------------------------------------------------------------------------------------------------


SECONDS: Final = 30.0
"""How long all checks may take together."""


@dataclass(frozen=True, slots=True)
class Diagnosis(ShowsItself):
    """The results of the doctor for the store and the table at `url`: checks in the order in which they were made."""

    url: str
    checks: tuple[Check, ...]

    @property
    def is_ok(self) -> bool:
        """Whether all checks are ok."""
        return all(check.is_ok for check in self.checks)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks with warnings: things that work now, but will cause problems."""
        return tuple(check for check in self.checks if check.state == "warning")

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed: things that do not work, or are damaged."""
        return tuple(check for check in self.checks if check.state == "failed")

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __str__(self) -> str:
        """Return a line for each check, and one for each fix."""
        lines = ((f"{check.state}: {check.check}: {check.finding}", check.fix) for check in self.checks)
        return "\n".join(f"{line}\n    {fix}" if fix else line for line, fix in lines)

    def _shown(self) -> Shown:
        columns = ("check", "state", "finding", "fix")
        return Shown(self.url, columns, [tuple(getattr(check, name) for name in columns) for check in self.checks])


def doctor(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    all_bodies: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Diagnosis:
    """Check the store and the table at *url*, without changing anything.

    If the table cannot be opened, a failed check says why. The checks end within *timeout* seconds; those that there
    was no time for are warnings. With *deep* the bodies of a sample of 1,000 pages are compared with their digests,
    with *all_bodies* those of all pages; *on_progress* gets the number of pages so far. Raises `InvalidArgument` for an
    invalid URL.
    """
    made = checks(url, deep=deep, all_bodies=all_bodies, timeout=timeout, on_progress=on_progress)
    return Diagnosis(StoreURL.parse(url).text, tuple(made))


def checks(
    url: str | os.PathLike[str],
    *,
    deep: bool = False,
    all_bodies: bool = False,
    timeout: float = SECONDS,
    on_progress: Progress | None = None,
) -> Iterator[Check]:
    """Yield the checks that `doctor` makes of *url* as they are made, within *timeout* seconds.

    *deep*, *all_bodies* and *on_progress* are those of `doctor`. Raises `InvalidArgument` for an invalid URL, and for a
    *timeout* that is not over 0.
    """
    if not timeout > 0:
        raise errors.InvalidArgument(f"timeout={timeout} must be over 0 seconds")
    time = Deadline(timeout)
    # Before the store is opened, as that may be what does not work.
    reached = _made("store", time, lambda: adapter_of(url).connection_checks(StoreURL.parse(url)))
    yield from reached
    if any(check.state == "failed" for check in reached):
        return
    try:
        with until(time):
            store, table = open_store(url)
    except errors.InvalidArgument:
        raise
    except errors.WebTableError as exc:
        yield failed("store", message_of(exc), _opening_remedy(exc))
        return
    with closing(store):
        yield well("store", f"{store.name} opens")
        yield from _made("store", time, lambda: store.health(table))
        deepness = Deepness(deep or all_bodies, all_bodies, on_progress)
        yield from _of_table(store, table, time, deepness)


def _of_table(store: Store, table: str, time: Deadline, deepness: Deepness) -> Iterator[Check]:
    try:
        with until(time):
            stored = StoredWebTable.read(store, table)
    except errors.LayoutMismatch as exc:
        # It may be no web table at all, but one of records.
        mismatch = message_of(exc)
        yield from _made("layout", time, lambda: _of_rows(store, table, mismatch))
        return
    except errors.WebTableError as exc:
        yield failed("layout", message_of(exc), "see the other checks of the store")
        return
    if stored is None:
        fix = Message("correct the file or the table in the URL, or restore a table that is lost")
        if table not in store.tables():  # else the finding says what to do with it
            fix += Message("; or create it with ", Command("create", python="webtable.open(…, create=True)"))
        yield failed("layout", message_of(not_there(store, table)), fix)
        return
    # From the cheapest to the slowest, so that most are made when the time is over.
    checked = CheckedTable(store, table, stored, time)
    for name, check in (
        ("layout", layout_checks),
        ("tables", missing_checks),
        ("families", family_checks),
        ("regions", region_checks),
        ("indexes", index_checks),
        ("full text", text_checks),
        ("freshness", freshness_checks),
        ("revisits", revisit_checks),
        ("rows", sample_checks),
    ):
        yield from _made(name, time, partial(check, checked))
    if deepness.is_wanted:
        yield from _made("digests", time, lambda: digest_checks(checked, deepness))


def _of_rows(store: Store, table: str, mismatch: str) -> Iterator[Check]:
    """Yield the checks of a table with rows under a declared key, if it is one."""
    layout = layout_of(store, table)
    if layout is None:
        yield failed("layout", mismatch, "use the version of webtable that created the table, or a later one")
        return
    yield well("layout", f"rows under the key {layout.key}")
    try:
        # Only the name of the key is known here; a hash is never decoded, and no typed column is called "key".
        rows = KeyedTable(store, table, HashedKey(CompositeKey(Text("key"))), columns=layout.columns, strict=True)
        count = rows.scan(limit=SAMPLE).count()
    except errors.DamagedRow as exc:
        yield failed("rows", f"a row of a sample cannot be read: {exc}", "put it again, or delete it")
    else:
        yield well("rows", f"{plural(count, 'row')} of a sample can be read" if count else "there are no rows")
    yield from placement_checks(store, table)


def _made(name: str, time: Deadline, look: Callable[[], Iterable[Check]]) -> list[Check]:
    """Return the checks of *look* that are made before the *time* is over; an error counts as a failed check."""
    # Named, so that nobody takes silence for health.
    if not time.left():
        return [warned(name, "not checked, since the time was over", MORE_TIME)]
    made: list[Check] = []
    try:
        with until(time):
            made.extend(look())
    except errors.InvalidArgument:
        raise  # the mistake of the caller, not of the store
    except errors.TableNotFound as exc:
        made.append(
            failed(
                name,
                message_of(exc),
                Message(
                    "restore the table from a backup, or create it again, empty, with ",
                    Command("create", python="webtable.open(…, create=True)"),
                ),
            )
        )
    except errors.WebTableError as exc:
        is_over = isinstance(exc, errors.StoreUnavailable) and not time.left()
        fix = MORE_TIME if is_over else "try again; webtable --debug shows the traceback"
        made.append((warned if is_over else failed)(name, message_of(exc), fix))
    return made


def _opening_remedy(error: errors.WebTableError) -> str:
    match error:
        case errors.TableNotFound():
            return Message(
                "correct the path, or create the table with ", Command("create", python="webtable.open(…, create=True)")
            )
        case errors.NewerFormat():
            return "use the version of webtable that created the file, or a later one"
        case errors.OlderFormat():
            return "export it with the version of webtable that created it, and import the export"
        case errors.NotAStore():
            return "correct the path or the port; nothing was changed there"
        case errors.StoreUnavailable():
            return "check which other processes use it, and try again"
        case _:
            return "see the message, and check the permissions of the file and its directory"

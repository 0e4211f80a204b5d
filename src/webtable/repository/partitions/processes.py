"""Parts of answers and of tables: where they are cut, and worker processes of this machine that read them."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import msgspec

from webtable._importable import importing_from_here
from webtable.errors import IndexNeeded, InvalidArgument, TableNotFound, WebTableError
from webtable.page.page import Page
from webtable.repository.context import TableContext, TablePart
from webtable.repository.indexes.index import SHARDS, URL, Index, page_id, place_of
from webtable.repository.indexes.states import imported, known
from webtable.repository.maintenance.create import StoredWebTable
from webtable.repository.reading.samples import (
    KEYS_A_PART,
    MOST_KEYS,
    CutPart,
    KeySample,
    all_keys,
    cut_at,
    mean_bytes,
    spaced,
)
from webtable.repository.reading.scan import ScanSpec, in_storage_order
from webtable.repository.reading.scope import PLAIN_KEY
from webtable.rowkey import KeyRange, merged
from webtable.rowkey.ranges import ALL_KEYS
from webtable.schema import INDEX_COLUMN, Layout, check_layout, check_suffix_list, index_table_name
from webtable.store import open_store
from webtable.store.observed import observed
from webtable.store.rows import Wanted
from webtable.store.url import HIDDEN

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Generator, Iterator

    from webtable._processes import Tasks
    from webtable.repository.answers.results import Divisible, Explanation, Partition, Results
    from webtable.store import Store


# --- Where an answer is cut -------------------------------------------------------------------------------------------
#
# A part is a range of keys of the table that the answer is read from: so splits of regions change nothing, and the
# number of parts depends on neither regions nor salts. The context holds the part, and clips the ranges of rows and
# entries to it.
#
# A short answer is cut by the keys of its rows. Of a long one a uniform sample is taken: the entries of the index of
# URLs are in the order of hashes, so the first of them are one, of whichever pages, and the share of all hashes that
# they cover says how many there are. The sampled pages are cut by their row keys, or by their entries in the index
# that the answer is read from. Without that index, keys are looked up at evenly spaced places of the key ranges.


SAMPLED_AT_ONCE = 1_000
"""How many entries of the index of URLs are read at once."""
_PAGE_IDS = 16**16


class Whole(msgspec.Struct, frozen=True):
    """What an answer reads: ranges of a `table`, which has entries of an `index`, or pages if that is None."""

    table: str
    ranges: Sequence[KeyRange]
    index: Index | None
    column: bytes
    columns: Sequence[bytes]
    """The columns of the pages that it reads."""

    @classmethod
    def of(cls, context: TableContext, plan: Explanation, *, by_source: bool) -> Self:
        """Take it from the *plan* of an answer."""
        columns = [column.encode() for column in plan.columns]
        page = context.codec.columns.page
        if by_source:
            return cls(context.table, [ALL_KEYS], None, page, columns)
        if plan.index is None:
            return cls(context.table, merged(plan.ranges), None, page, columns)
        index = context.indexes.named(plan.index).index
        return cls(index_table_name(context.table, plan.index), merged(plan.ranges), index, INDEX_COLUMN, columns)

    @classmethod
    def of_rows(cls, context: TableContext, ranges: Sequence[KeyRange]) -> Self:
        """Return the rows of pages in these *ranges*."""
        page = context.codec.columns.page
        return cls(context.table, merged(ranges), None, page, [page])

    def __contains__(self, key: bytes) -> bool:
        at = bisect_right(self.ranges, key, key=attrgetter("start"))
        return at > 0 and key in self.ranges[at - 1]


def cut(context: TableContext, whole: Whole, n: int) -> list[CutPart]:
    """Return *n* ranges that together are all keys, with about the same number of rows of *whole* each."""
    sample = _sample(context, whole, n)
    return cut_at(sample, n, _mean_bytes(context, whole, sample.spread()) if sample.rows else 0)


def unsalted_parts(context: TableContext, ranges: Sequence[KeyRange], after: str | None, n: int) -> list[KeyRange]:
    """Return *n* ranges of unsalted keys with about as many of the pages in *ranges* each, in the order of URLs.

    They are cut by the pages after the URL *after*.
    """
    sample = (context.key.unsalted(key) for key in _sample(context, Whole.of_rows(context, ranges), n).keys)
    last = b"" if after is None else context.key.unsalted(context.key.encode(after))
    keys = sorted(key for key in sample if key > last)
    return [part.keys for part in cut_at(KeySample(keys, None), n, 0) if not part.keys.is_empty()]


def _sample(context: TableContext, whole: Whole, n: int) -> KeySample:
    keys = ScanSpec(whole.table, whole.ranges, Wanted([whole.column], keys_only=True))
    return all_keys(context.store, keys) or _by_hash(context, whole, n) or spaced(context.store, keys, n)


def _by_hash(context: TableContext, whole: Whole, n: int) -> KeySample | None:
    """Return a sample by the index of URLs; None if the table has no such index, or it has too few of these rows."""
    try:
        table = context.indexes.ready(URL.name, "a sample").table
    except IndexNeeded:
        return None
    enough = min(n * KEYS_A_PART, MOST_KEYS)
    ranges = [KeyRange(shard, shard[:-1] + b";") for shard in SHARDS]
    spec = ScanSpec(table, ranges, Wanted([INDEX_COLUMN], keys_only=True), limit=MOST_KEYS)
    entries = (row.key for row in in_storage_order(context.store, spec, None))
    keys: list[bytes] = []
    last = b""
    while len(keys) < enough and (batch := list(islice(entries, SAMPLED_AT_ONCE))):
        pages = [key for entry in batch if (key := _page_of(entry)) is not None]
        keys += _keys_in(context, whole, pages)
        last = batch[-1]
    if len(keys) < min(n, enough):
        return None
    return KeySample(sorted(keys), round(len(keys) / _share(last)))


def _page_of(entry: bytes) -> bytes | None:
    """Return the unsalted key of the page whose URL has the id of *entry*; None if it is that of its redirect."""
    key = URL.row_of(place_of(entry))
    try:
        return key if place_of(entry).startswith(page_id(PLAIN_KEY.url_of(key)).encode()) else None
    except ValueError:
        return None


def _share(entry: bytes) -> float:
    """Return the share of all hashes that come up to *entry* of the index of URLs."""
    shard, number = SHARDS.index(entry[:2]), int(place_of(entry)[:16], 16)
    return (shard + (number + 1) / _PAGE_IDS) / len(SHARDS)


def _keys_in(context: TableContext, whole: Whole, pages: Sequence[bytes]) -> list[bytes]:
    """Return the keys that the *pages*, which are named by unsalted keys, have in *whole*."""
    salted = [context.key.salted(key) for key in pages]
    if whole.index is None:
        return [key for key in salted if key in whole]
    read = context.pages.read_each(salted, whole.index.columns)
    stored = ((key, page) for key, page in zip(pages, read, strict=True) if isinstance(page, Page))
    entries = ((whole.index, page, key) for key, page in stored)
    return [entry for index, page, key in entries for entry in index.entries(page, key) if entry in whole]


def _mean_bytes(context: TableContext, whole: Whole, keys: Sequence[bytes]) -> int:
    """Return how many bytes of values a row of *keys* has on average."""
    if whole.index is not None:
        named = [whole.index.row_of(place_of(key)) for key in keys if whole.index.names_pages]
        keys = [context.key.salted(key) for key in named]
    return mean_bytes(context.store.read(context.table, keys, Wanted(whole.columns)))


# --- Workers that call a function with each part ----------------------------------------------------------------------


T = TypeVar("T")
R = TypeVar("R")
PARTS_A_WORKER = 4
"""How many parts each worker gets by default: a slow one then delays the end by a quarter of its time at most."""


def map(
    answer: Divisible[T],
    function: Callable[[Results[T]], R],
    *,
    workers: int | None = None,
    partitions: int | None = None,
    ordered: bool = True,
    on_progress: Callable[[int], object] | None = None,
) -> Iterator[R]:
    """Yield what *function* returns for each part of *answer*, which *workers* processes read (one a core by default).

    *function* is called in a worker with the answer of a part, to be iterated or converted (`to_arrow`, `count`). It
    and what it returns are pickled: it is a function of a module, and a script needs `if __name__ == "__main__":`.
    There are *partitions* parts, by default four for each worker. Values come in the order of the parts, or with
    `ordered=False` as they are finished. *on_progress* is called with the number of rows of the parts that are
    finished, by estimate.

    A part whose worker died is read again, once. What *function* raises is raised here; then, as after Ctrl-C or when
    the iterator is closed, the workers end at once, and they also end with this process. Raises what
    `answer.partitions` does, and `WebTableError` if workers die again and again.
    """
    check_importable(function)
    count = (os.cpu_count() or 1) if workers is None else checked_workers(workers)
    parts = answer.partitions(PARTS_A_WORKER * count if partitions is None else partitions)
    return _values(parts, function, count, on_progress, ordered=ordered)


def checked_workers(workers: int) -> int:
    """Return the number of *workers*; raises `InvalidArgument` unless it is a whole number, 1 or more."""
    if type(workers) is not int or workers < 1:
        raise InvalidArgument(f"workers={workers!r} must be a whole number, 1 or more")
    return workers


def _values(
    parts: Sequence[Partition[T]],
    function: Callable[[Results[T]], R],
    workers: int,
    on_progress: Callable[[int], object] | None,
    *,
    ordered: bool,
) -> Iterator[R]:
    rows = 0
    for done in in_processes(partial(_of_part, function), parts, workers, ordered=ordered):
        rows += parts[done.number].rows or 0
        if on_progress is not None:
            on_progress(rows)
        yield done.value


def _of_part(function: Callable[[Results[T]], R], part: Partition[T]) -> R:
    with part.open() as answer:
        return function(answer)


class Done(NamedTuple):
    """What a function has returned for an item, and the item's place among all."""

    number: int
    value: Any


def in_processes(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int, *, ordered: bool = False
) -> Generator[Done]:
    """Yield what *function* returns for each of *items*, which at most *workers* processes are given one by one.

    Items whose worker died are given out again. Raises what *function* raises, and `WebTableError`.
    """
    from webtable._processes import GivenUp, Workers  # to open a table needs no sockets and no pickles

    following = begun = 0
    values: dict[int, Any] = {}

    def numbered() -> Iterator[tuple[int, Any]]:
        nonlocal begun
        for begun in range(len(items)):
            yield begun, items[begun]

    def has_room() -> bool:
        # In order the values of later items have to be kept.
        return not ordered or begun < following + 2 * workers

    with Workers(partial(_call_each, function), min(workers, len(items)), with_main=True) as processes:
        for number, value in processes.run(numbered(), has_room=has_room):
            if isinstance(value, GivenUp):
                raise WebTableError(f"a part cannot be read, perhaps for want of memory: {value.why}")
            if number is None:
                if value.error is not None:
                    raise value.error
            elif not ordered:
                yield Done(number, value)
            else:
                values[number] = value
                while following in values:
                    yield Done(following, values.pop(following))
                    following += 1


def _call_each(function: Callable[[Any], Any], tasks: Tasks[Any]) -> None:
    for number, item in tasks:
        tasks.report(number, function(item))


def check_importable(function: Callable[..., Any]) -> None:
    """Raise `InvalidArgument` for a *function* that another process could not import."""
    plain = function
    while isinstance(plain, partial):
        plain = plain.func
    main = plain.__module__ == "__main__" and not hasattr(__import__("__main__"), "__file__")
    if main or "<" in plain.__qualname__:
        raise InvalidArgument(
            f"{plain.__qualname__}: a worker process must be able to import the function: define it at the top of a "
            "module (a file beside the notebook, say), neither within another function nor in a notebook"
        )


# --- The address of a table -------------------------------------------------------------------------------------------
#
# By it another process opens the store to read a part: without secrets, which it takes from its own environment.


def address_of(store: Store, name: str) -> str:
    """Return the address of the *store* of the table *name*; raises `InvalidArgument` if partitions may not have it."""
    address = store.address
    if address is None:
        raise InvalidArgument(f"{name} cannot be opened by another process: partitions need a file or an HBase")
    if HIDDEN in address:
        raise InvalidArgument(
            f"{name}: partitions hold no secrets, and its URL has options that may be some: {address}; open it "
            "without them, and let the store take them from the environment"
        )
    return address


class TableAddress(NamedTuple):
    """The URL of a store without user and password, and what its table is to be like.

    `indexes` are the importable names of those that users have defined and that this process knows, if they are needed.
    """

    store: str
    layout: Layout
    is_strict: bool
    indexes: tuple[str, ...] = ()

    @classmethod
    def of(cls, context: TableContext, *, with_indexes: bool = False) -> Self:
        """Return the place of *context*; raises `InvalidArgument` if no other process could open it."""
        own = [index.state.of for index in context.indexes.read().values() if index.state.of] if with_indexes else []
        named = tuple(name for name in own if known(name) is not None)
        return cls(address_of(context.store, context.name), context.layout, context.strict, named)

    @contextmanager
    def opened(self, part: TablePart | None) -> Iterator[TableContext]:
        """Open the store, and yield the context of a *part* of the table (None: all of it).

        Raises what `webtable.open` does, and `LayoutMismatch` if the table was created anew with another layout.
        """
        if self.indexes:
            with importing_from_here():
                for name in self.indexes:
                    imported(name)
        store, table = open_store(self.store)
        with store:
            stored = StoredWebTable.read(store, table)
            if stored is None:
                raise TableNotFound(f"{store.name} has no web table {table!r} any more: ask for partitions again")
            # These may be altered while a table is in use; all others say what its keys and cells mean.
            kept = {name: getattr(stored.layout, name) for name in ("ttl", "versions", "family_options")}
            check_layout(stored.name, stored.layout, msgspec.structs.replace(self.layout, **kept))
            check_suffix_list(stored.name, stored.layout)
            yield TableContext.of(observed(store), table, stored.layout, strict=self.is_strict, part=part)


# --- Tasks for parts of a table ---------------------------------------------------------------------------------------


TASKS_A_WORKER = 16
"""How many parts each worker gets: progress is shown after each."""


class PartTask(NamedTuple):
    """A function of a module, which is called with the context of a part (None: the whole table) and arguments."""

    function: Callable[..., Any]
    part: TablePart | None
    arguments: tuple[Any, ...] = ()


def check_workers(context: TableContext, workers: int) -> None:
    """Raise `InvalidArgument` if *workers* is none, or several of them cannot open the table of *context*."""
    if checked_workers(workers) > 1:
        TableAddress.of(context)


def parts_of(context: TableContext, whole: Whole, workers: int) -> list[TablePart]:
    """Return parts of *whole* for this number of *workers*."""
    parts = cut(context, whole, TASKS_A_WORKER * workers)
    return [TablePart(whole.table, part.keys) for part in parts if not part.keys.is_empty()]


@contextmanager
def done_by(workers: int, context: TableContext, tasks: Sequence[PartTask]) -> Iterator[Iterator[Any]]:
    """Give what each of the *tasks* returns, in their order; *workers* processes do them for the table of *context*.

    What a task counts (damaged rows, say) is counted in *context*. A task whose worker was killed is done again. Raises
    what a task raises, `InvalidArgument` for a table that other processes cannot open, and `WebTableError`. The workers
    end with the block.
    """
    place = TableAddress.of(context, with_indexes=True)
    with closing(in_processes(partial(_done, place), tasks, workers, ordered=True)) as all_done:
        yield (_counted(context, *done.value) for done in all_done)


def _counted(context: TableContext, value: Any, counts: Counter[str]) -> Any:
    for name, many in counts.items():
        context.counts(name, many)
    return value


def _done(place: TableAddress, task: PartTask) -> tuple[Any, Counter[str]]:
    with place.opened(task.part) as context:
        return task.function(context, *task.arguments), context.counts.snapshot()

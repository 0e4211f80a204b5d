"""Which readings does a Thrift2 gateway make faster, beside a Thrift1 gateway that can do all of them?"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import webtable
from benchmarks.material import made_up_pages
from benchmarks.measuring import LeftOut, Result, tidied
from webtable import HostOnly, WebTable
from webtable.store import TimeRange, Wanted

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable.rowkey import KeyRange

NEEDS = frozenset({"hbase"})
SITE = "listed.example"
WITH_BODIES = "bodies.example"
DOMAIN = "wanted.example"


class Reading(NamedTuple):
    """A reading of a table, done `times` times in a run, which both gateways must answer alike."""

    what: str
    do: Callable[[WebTable], Any]
    times: int = 1


class Spent(NamedTuple):
    """What a reading took, in seconds: on the clock, and of this process's processor time."""

    clock: float
    processor: float


def run(setting: Setting) -> list[Result | LeftOut]:
    """Fill a table, open it by Thrift1 alone and with Thrift2, and read it in turn."""
    url = setting.url_of("x", by_native=False)
    if "thrift2=" not in url:
        return [LeftOut("Thrift2", "the URL of HBase names no Thrift2 gateway (?thrift2=PORT)")]
    with setting.hbase_table() as filled:
        with filled.writer() as writer:
            for pages in (
                made_up_pages(setting.scaled(20_000), [SITE], body_bytes=500),
                _bodies(setting.scaled(2_000)),
                made_up_pages(100, [f"h{number}.{DOMAIN}" for number in range(100)]),
                made_up_pages(setting.scaled(10_000), [f"www.other-{number}.example" for number in range(1_000)]),
            ):
                for page in pages:
                    writer.put(page)
        setting.flush(filled.table)
        base = setting.url_of(filled.table, by_native=False)
        with webtable.open(base.partition("?")[0]) as alone, webtable.open(base) as beside:
            return [_compared(reading, alone, beside, setting) for reading in _readings(filled)]


def _bodies(count: int) -> list[webtable.Page]:
    """Return pages whose bodies are as large, compressed, as those of documentation: 7 KB of 33 KB."""
    texts = random.Random(5)
    return [
        webtable.Page(url=page.url, body=texts.randbytes(7_000), title=page.title, status=200, outlinks=())
        for page in made_up_pages(count, [WITH_BODIES])
    ]


def _body(page: webtable.Page | None) -> bytes | None:
    """Return the body of *page*, if there is one."""
    return None if page is None else page.body


def _readings(table: WebTable) -> list[Reading]:
    key = table.key
    urls = [page.url for page in table.pages(HostOnly(WITH_BODIES), limit=400)]
    chosen = urls[:: max(1, len(urls) // 100)]
    rows = [key.encode(url) for url in chosen]
    spread = key.subtree_ranges(DOMAIN)
    (site,) = key.host_ranges(SITE)
    everything = Wanted(columns=[b"metadata:page", b"content:html"])
    return [
        Reading("list a site without bodies", lambda t: [(p.url, p.title) for p in t.pages(HostOnly(SITE))]),
        Reading(
            "scan a site with bodies", lambda t: [p.body for p in t.pages(HostOnly(WITH_BODIES), columns=["body"])]
        ),
        Reading("get a page with its body", lambda t: [_body(t.get(url)) for url in chosen[:20]], 20),
        Reading("get 100 pages with their bodies", lambda t: list(map(_body, t.get_many(chosen)))),
        Reading("first 20 pages of a domain in 256 ranges", lambda t: [p.url for p in t.pages(DOMAIN).page(size=20)]),
        Reading("first rows of 256 ranges", lambda t: t.store.first_rows(t.table, spread, 20, Wanted())),
        Reading("last rows of 256 ranges", lambda t: t.store.first_rows(t.table, spread, 2, Wanted(), reverse=True)),
        Reading("scan of 256 ranges, 100 rows in all", lambda t: _scanned(t, spread)),
        Reading("first 20 pages of a site", lambda t: [p.url for p in t.pages(HostOnly(SITE)).page(size=20)]),
        Reading("first 20 rows of a range", lambda t: t.store.first_rows(t.table, [site], 20, Wanted())),
        Reading("count the rows of a site", lambda t: len(_scanned(t, [site], Wanted(keys_only=True)))),
        Reading("scan a site backwards", lambda t: _scanned(t, [site], reverse=True)),
        Reading("scan a site in a time range", lambda t: _scanned(t, [site], Wanted(time_range=_LATE))),
        Reading("read 100 rows", lambda t: t.store.read(t.table, rows, everything)),
        Reading("read 100 rows with all their versions", lambda t: _versions(t, rows)),
        Reading("read the first columns of a row", lambda t: _columns(t, rows[:1])),
        Reading("read the first columns of 100 rows", lambda t: _columns(t, rows)),
        Reading("describe the table", lambda t: sorted(t.store.describe(t.table).schema.split_keys)),
    ]


_ALL = Wanted()
_LATE = TimeRange(since=1)


def _scanned(
    table: WebTable,
    ranges: list[KeyRange],
    wanted: Wanted = _ALL,
    *,
    reverse: bool = False,
) -> list[bytes]:
    return [row.key for row in table.store.scan(table.table, ranges, wanted, reverse=reverse)]


def _versions(table: WebTable, rows: list[bytes]) -> list[Any]:
    found = table.store.read(table.table, rows, Wanted(versions=3))
    return [{column: tuple(cells) for column, cells in row.cells.items()} for row in found if row is not None]


def _columns(table: WebTable, rows: list[bytes]) -> list[Any]:
    return table.store.read_cells(table.table, rows, b"metadata", limit=10)


def _compared(reading: Reading, alone: WebTable, beside: WebTable, setting: Setting) -> Result:
    pairs = [(_spent(reading, alone), _spent(reading, beside)) for _ in range(setting.pairs(7) + 1)][1:]
    assert reading.do(alone) == reading.do(beside), f"{reading.what}: not the same answer"
    clock = median(one.clock / two.clock for one, two in pairs)
    processor = median(one.processor / max(two.processor, 1e-4) for one, two in pairs)
    one, two = (
        Spent(*(median(part) * 1000 / reading.times for part in zip(*side, strict=True)))
        for side in zip(*pairs, strict=True)
    )
    return Result(
        f"{reading.what}, with Thrift2 in use",
        "Thrift1 alone",
        f"{two.clock:,.1f} ms, {two.processor:,.1f} of the client's processor",
        f"{one.clock:,.1f} ms, {one.processor:,.1f}",
        clock,
        None,
        note=f"by the client's processor time {processor:.2f}",
    )


def _spent(reading: Reading, table: WebTable) -> Spent:
    with tidied():
        clock, processor = time.perf_counter(), time.process_time()
        reading.do(table)
        return Spent(time.perf_counter() - clock, time.process_time() - processor)

"""How fast are the four keyed tables of docs/records.md, in a file and on HBase?"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.measuring import Result
from webtable.records import KeyedTable, TypedColumn
from webtable.rowkey import (
    CompositeKey,
    Constant,
    Date,
    Descending,
    Hash,
    HashSalt,
    ReversedDomain,
    RowKey,
    Text,
    Time,
    UInt,
    between,
)

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset[str]()

ROWS = 100_000
ASKED = 5
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


class KeyedDesign(NamedTuple):
    """A table of the guide: its key and columns, how many regions it begins with, its rows, and what is asked of it."""

    key: RowKey
    columns: list[TypedColumn]
    splits: list[bytes]
    rows: Callable[[int], Iterator[tuple[dict[str, Any], dict[str, Any]]]]
    questions: dict[str, Callable[[KeyedTable], object]]


def pages(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield pages of hosts with 500 each."""
    for number in range(count):
        cells = {"title": f"Page {number}", "status": 404 if number % 50 == 0 else 200, "size": number}
        yield {"host": f"h{number // 500}.example", "path": f"section/{number % 500}.html"}, cells


def links(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield links, ten to each target."""
    for number in range(count):
        values = {"target": f"https://t.example/{number // 10}", "source": f"https://s.example/{number}"}
        yield values, {"anchor": f"link {number}", "rel": ""}


def sizes(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield sizes of up to 1 MB, of hosts with 400 pages each."""
    draw = random.Random(1)
    for number in range(count):
        yield {"host": f"h{number // 400}.example", "size": draw.randrange(10**6), "path": f"{number}"}, {"status": 200}


def messages(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield messages in 20 channels, one a second."""
    for number in range(count):
        sent = BEGAN + timedelta(seconds=number)
        yield (
            {"sent": sent, "message_id": f"m{number}"},
            {"channel": f"c{number % 20}", "text": "word " * 20, "size": 100},
        )


_HASHES = [b"%02x" % number for number in range(16, 256, 16)]
_HOUR = between(BEGAN + timedelta(hours=2), BEGAN + timedelta(hours=3))
DESIGNS = {
    "pages": KeyedDesign(
        CompositeKey(Hash(of="host", first=2), Constant(b":"), ReversedDomain("host", terminator=b"/"), Text("path")),
        [TypedColumn("title", "text"), TypedColumn("status", "int"), TypedColumn("size", "int")],
        _HASHES,
        pages,
        {
            "a page": lambda table: table.get(host="h3.example", path="section/7.html"),
            "a host": lambda table: list(table.scan(host="h3.example")),
            "404 of a host": lambda table: list(table.scan(host="h3.example", where={"status": 404})),
        },
    ),
    "links": KeyedDesign(
        CompositeKey(Hash(of="target", first=2), Constant(b":"), Text("target", terminator=b"\0"), Text("source")),
        [TypedColumn("anchor", "text"), TypedColumn("rel", "text")],
        _HASHES,
        links,
        {
            "links to a page": lambda table: list(table.scan(target="https://t.example/77")),
            "count of them": lambda table: table.count(target="https://t.example/77"),
        },
    ),
    "sizes": KeyedDesign(
        CompositeKey(ReversedDomain("host", terminator=b"/"), Descending(UInt("size", 8)), Text("path")),
        [TypedColumn("status", "int")],
        [b"example.h%d" % number for number in range(1, 10)],
        sizes,
        {
            "ten largest of a host": lambda table: list(table.scan(host="h3.example", limit=10)),
            "over 0.9 MB of a host": lambda table: list(table.scan(host="h3.example", size=between(900_000))),
        },
    ),
    "messages": KeyedDesign(
        CompositeKey(
            HashSalt(of="message_id", buckets=[f"{number:x}" for number in range(16)]),
            Date("sent"),
            Time("sent"),
            Text("message_id"),
            separator=":",
        ),
        [TypedColumn("channel", "text"), TypedColumn("text", "text"), TypedColumn("size", "int")],
        [f"{number:x}".encode() for number in range(1, 16)],
        messages,
        {
            "a message": lambda table: table.get(sent=BEGAN + timedelta(seconds=77), message_id="m77"),
            "an hour": lambda table: list(table.scan(sent=_HOUR)),
            "an hour of a channel": lambda table: list(table.scan(sent=_HOUR, where={"channel": "c7"})),
            "the last 50": lambda table: list(table.scan(sent=between(), reverse=True, limit=50)),
        },
    ),
}


def run(setting: Setting) -> list[Result]:
    """Put the rows of each design into a file, and into HBase if there is one, and ask its questions."""
    count = setting.scaled(ROWS)
    results = []
    for name, design in DESIGNS.items():
        results.append(_measured(str(setting.new_file()), f"{name} in a file", design, count))
        if setting.hbase is not None:
            with setting.hbase_table_url() as url:
                results.append(_measured(url, f"{name} on HBase", design, count))
    return results


def _measured(url: str, name: str, design: KeyedDesign, count: int) -> Result:
    splits = design.splits if url.startswith("hbase") else []
    options: dict[str, Any] = {"columns": design.columns, "create": True, "split_keys": splits}
    with KeyedTable.open(url, design.key, **options) as table:
        began = time.perf_counter()
        table.put_many(design.rows(count))
        rate = count / (time.perf_counter() - began)
        answers = {question: _seconds(ask, table) for question, ask in design.questions.items()}
    told = ", ".join(f"{question} {1_000 * seconds:.1f} ms" for question, seconds in answers.items())
    return Result(f"{name}, {count:,} rows", "–", f"{rate:,.0f} rows/s", told, rate, None, note=told)


def _seconds(ask: Callable[[KeyedTable], object], table: KeyedTable) -> float:
    def timed() -> float:
        began = time.perf_counter()
        ask(table)
        return time.perf_counter() - began

    return median(timed() for _ in range(ASKED))

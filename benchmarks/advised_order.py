"""Is the order in which the advisor ranks ten keys of a chat that of the latencies on three region servers?"""

# Messages of channels of Zipf's law are written by four threads, in batches, while nobody reads; then each of six
# questions is asked by two threads. A question that a key cannot answer is the scan of the whole table that a caller
# would make.

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

import webtable
from benchmarks import space
from benchmarks.measuring import LeftOut, Result
from benchmarks.region_servers import started
from webtable.errors import NoRange
from webtable.records import KeyedTable
from webtable.rowkey import (
    CompositeKey,
    Date,
    Hash,
    HashedKey,
    HashSalt,
    RandomSalt,
    ReverseTimestamp,
    RowKey,
    Text,
    Time,
    Timestamp,
    UInt,
    between,
)
from webtable.rowkey.advice import advise
from webtable.testing.hbase import NoHBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.setting import Setting
    from webtable.rowkey.advice import Judgement

NEEDS = frozenset[str]()

MESSAGES = 20_000
CHANNELS = 200
REGIONS = 12
REGION_SERVERS = 3
WRITERS, READERS = 4, 2
BATCH = 100
ASKED, SCANNED = 40, 4
"""How often a question is asked, and how often where it reads the whole table."""
SHOWN = 50
VALUE_BYTES = 200

CHANNEL, ID = Text("channel", terminator=b"\0"), UInt("id")
KEYS: dict[str, RowKey] = {
    "hashed channel, newest first": CompositeKey(Hash("channel", first=2), CHANNEL, ReverseTimestamp("sent"), ID),
    "hashed channel": CompositeKey(Hash("channel", first=2), CHANNEL, Timestamp("sent"), ID),
    "salt of the channel": CompositeKey(HashSalt(("channel",), 12), CHANNEL, Timestamp("sent"), ID),
    "salt of channel and id": CompositeKey(HashSalt(("channel", "id"), 12), CHANNEL, Timestamp("sent"), ID),
    "random salt": CompositeKey(RandomSalt(12), CHANNEL, Timestamp("sent"), ID),
    "channel": CompositeKey(CHANNEL, Timestamp("sent"), ID),
    "time": CompositeKey(Timestamp("sent"), CHANNEL, ID),
    "salt:date:time:id": CompositeKey(HashSalt(("id",), 12), Date("date"), Time("time"), ID),
    "salt and time": CompositeKey(HashSalt(("id",), 12), Timestamp("sent"), ID),
    "hash of all": HashedKey(CompositeKey(CHANNEL, Timestamp("sent"), ID)),
}
QUESTIONS = ("point", "channel", "channel, sent between", "latest of channel", "sent between", "latest")


class Measured(NamedTuple):
    """What was measured of a design: seconds of a batch of writes, of each question, and the busiest region's share."""

    batches: Sequence[float]
    questions: dict[str, float]
    share: float

    @property
    def mean(self) -> float:
        """The mean over the questions, each of which has its median."""
        return fmean(self.questions.values())


def run(setting: Setting) -> list[Result | LeftOut]:
    """Judge the designs, measure each on an HBase of three region servers, and compare both orders."""
    rows = list(messages(setting.scaled(MESSAGES)))
    advice = advise(
        rows, KEYS, questions=[*QUESTIONS], regions=REGIONS, servers=REGION_SERVERS, value_bytes=VALUE_BYTES
    )
    with ExitStack() as stack:
        try:
            url = started(stack, REGION_SERVERS)
        except NoHBase as exc:
            return [LeftOut("the advisor's order", str(exc))]
        measured = {judgement.name: _measured(url, judgement, rows) for judgement in advice.designs}
    foretold = [judgement.name for judgement in advice.designs]
    shown = sorted(measured, key=lambda name: measured[name].mean)
    return [
        Result(
            "the order in which the advisor ranks ten keys, and that of the mean of six questions",
            "–",
            f"{_agreement(foretold, shown):.2f}",
            "Spearman's coefficient of the two orders",
            _agreement(foretold, shown),
            0.8,
            note="; ".join(_line(rank, advice[name], measured[name], shown) for rank, name in enumerate(foretold, 1)),
        )
    ]


def messages(count: int) -> Sequence[dict[str, Any]]:
    """Return so many messages, one a second, of channels whose shares follow Zipf's law."""
    draw, weights = random.Random(5), [1 / rank for rank in range(1, CHANNELS + 1)]
    began = datetime(2026, 1, 1, tzinfo=UTC)
    rows = []
    for number, channel in enumerate(draw.choices(range(CHANNELS), weights, k=count)):
        sent = began + timedelta(seconds=number)
        rows.append({"channel": f"c{channel}", "sent": sent, "id": number, "date": sent, "time": sent})
    return rows


def _measured(url: str, judgement: Judgement, rows: Sequence[dict[str, Any]]) -> Measured:
    key, name = KEYS[judgement.name], f"order_{abs(hash(judgement.name)):x}"
    base, _, query = url.partition("?")
    address = f"{base}/{name}?{query}"
    with KeyedTable.open(address, key, create=True, split_keys=judgement.writes.splits) as table:
        batches = _write(table, rows)
        container = space.container_of(name)
        assert container is not None
        writes = Counter({start: int(count) for start, count in space.regions(container, "writes", name)})
        return Measured(batches, _asked(table, rows), max(writes.values()) / writes.total())


def _write(table: KeyedTable, rows: Sequence[dict[str, Any]]) -> list[float]:
    draw = random.Random(0)
    values = [({name: row[name] for name in table.key.names}, draw.randbytes(VALUE_BYTES)) for row in rows]

    def write(start: int) -> float:
        began = time.perf_counter()
        table.put_many((fields, {"d:text": text}) for fields, text in values[start : start + BATCH])
        return time.perf_counter() - began

    with ThreadPoolExecutor(WRITERS) as writers:
        return list(writers.map(write, range(0, len(values), BATCH)))


def _asked(table: KeyedTable, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the median seconds of each question, asked about rows that are spread over all of them."""
    return {question: _seconds(table, question, rows) for question in QUESTIONS}


def _seconds(table: KeyedTable, question: str, rows: Sequence[dict[str, Any]]) -> float:
    ask = _question(table, question)
    try:
        ask(rows[0])
        count = ASKED
    except NoRange:
        ask, count = _whole(table), SCANNED
    chosen = random.Random(1).sample(rows, count)

    def timed(row: dict[str, Any]) -> float:
        began = time.perf_counter()
        ask(row)
        return time.perf_counter() - began

    with ThreadPoolExecutor(READERS) as readers:
        return median(readers.map(timed, chosen))


def _question(table: KeyedTable, question: str) -> Callable[[dict[str, Any]], object]:
    some = timedelta(minutes=5)

    def span(row: dict[str, Any]) -> Any:
        return between(row["sent"], row["sent"] + some)

    def some_time(row: dict[str, Any]) -> dict[str, Any]:
        sent = row["sent"]
        if "date" in table.key.names:
            return {"date": sent, "time": between(sent.time(), (sent + some).time())}
        return {"sent": span(row)}

    def first(**fields: Any) -> object:
        return list(table.scan(limit=SHOWN, **fields))

    def of_channel(row: dict[str, Any]) -> dict[str, Any]:
        if "channel" not in table.key.names:
            raise NoRange("the key has no channel", "put it there")
        return {"channel": row["channel"]}

    return {
        "point": lambda row: table.get(**{name: row[name] for name in table.key.names}),
        "channel": lambda row: first(**of_channel(row)),
        "channel, sent between": lambda row: first(**of_channel(row), sent=span(row)),
        "latest of channel": lambda row: table.latest(**of_channel(row)),
        "sent between": lambda row: first(**some_time(row)),
        "latest": lambda _: table.latest(),
    }[question]


def _whole(table: KeyedTable) -> Callable[[object], object]:
    return lambda _: sum(1 for _ in table.scan(webtable.ALL))


def _agreement(foretold: Sequence[str], shown: Sequence[str]) -> float:
    """Return Spearman's rank correlation of two orders of the same names."""
    apart = sum((foretold.index(name) - shown.index(name)) ** 2 for name in foretold)
    return 1 - 6 * apart / (len(foretold) * (len(foretold) ** 2 - 1))


def _line(rank: int, judgement: Judgement, measured: Measured, shown: Sequence[str]) -> str:
    fair = 1 / REGIONS
    return (
        f"{rank}. {judgement.name}: {shown.index(judgement.name) + 1}. with {1_000 * measured.mean:.1f} ms a question "
        f"({', '.join(f'{1_000 * seconds:.1f}' for seconds in measured.questions.values())}), a batch "
        f"{1_000 * median(measured.batches):.0f} ms, 95 % {1_000 * quantiles(measured.batches, n=20)[-1]:.0f}; "
        f"score {judgement.score:.1f}, heat {judgement.heat:.1f}, in all the busiest region has "
        f"{measured.share / fair:.1f} times its share ({judgement.writes.hottest.share / fair:.1f} foretold)"
    )

"""Do declared keys cost more than the same keys written out by hand?"""

from __future__ import annotations

import hashlib
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.measuring import Result, Run, compare, stopwatch
from webtable.rowkey import RowKey
from webtable.rowkey.examples import (
    EXAMPLES,
    HASHED_KEY,
    LATEST_KEY,
    LONG_KEY,
    MESSAGE_KEY,
    METRIC_KEY,
    REVERSED_KEY,
    SALTED_TIME_KEY,
    SPREAD_LOG_KEY,
    TAIL_SALTED_KEY,
    USER_APP_KEY,
    WEB_KEY,
)

if TYPE_CHECKING:
    from benchmarks.setting import Setting

NEEDS = frozenset[str]()

TAGS = bytes.fromhex("000001000001")
LONG_MAX = 2**63 - 1
SALTS = (b"a-", b"b-", b"c-", b"d-")

Encoder = Callable[[Sequence[Any]], list[bytes]]


class Case(NamedTuple):
    """An example key, the values of a row by its number, and two ways to make the keys of many rows."""

    key: RowKey
    names: tuple[str, ...]
    row: Callable[[int], tuple[Any, ...]]
    ours: Encoder
    by_hand: Encoder
    is_random: bool = False


def run(setting: Setting) -> list[Result]:
    """Encode rows by each example key and by an f-string, a concatenation or struct.pack; and decode the keys."""
    count = setting.scaled(50_000)
    results = []
    for case in CASES:
        name = next(name for name, key in EXAMPLES.items() if key is case.key)
        rows = [case.row(number) for number in range(count)]
        results.append(
            compare(
                f"encode {name!r} of webtable.rowkey.examples",
                "the same written out by hand",
                target=0.5,
                ours=_side(case.ours, rows, is_random=case.is_random),
                peer=_side(case.by_hand, rows, is_random=case.is_random),
                pairs=setting.pairs(7),
                unit="keys/s",
            )
        )
        if case.key is not HASHED_KEY:
            results.append(_decoding(name, case, rows, setting.pairs(7)))
    return results


def _side(encode: Encoder, rows: Sequence[Any], *, is_random: bool) -> Callable[[], Run]:
    def side() -> Run:
        with stopwatch() as watch:
            keys = encode(rows)
        proof = sum(map(len, keys)) if is_random else hashlib.md5(b"\n".join(keys)).hexdigest()
        return Run(watch.seconds, len(keys), proof)

    return side


def _decoding(name: str, case: Case, rows: Sequence[Any], times: int) -> Result:
    keys = case.ours(rows)
    seconds = []
    for _ in range(times):
        with stopwatch() as watch:
            decoded = [case.key.decode(key) for key in keys]
        seconds.append(watch.seconds)
        assert decoded[-1] == dict(zip(case.names, rows[-1], strict=True)), decoded[-1]
    rate = len(keys) / median(seconds)
    return Result(f"decode {name!r}, and prove it", "–", f"{rate:,.0f} keys/s", "–", rate, None, unit=" keys/s")


def _moment(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)


def _hour(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)


def _ms(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def _message_by_hand(rows: Sequence[Any]) -> list[bytes]:
    return [
        f"{hashlib.md5(i.encode()).hexdigest().upper()}:{sent:%y%m%d}:{sent:%H%M%S}:{i}".encode() for sent, i in rows
    ]


def _web_by_hand(rows: Sequence[Any]) -> list[bytes]:
    return [
        f"{hashlib.md5(host.encode()).hexdigest()[:2]}:{'.'.join(reversed(host.split('.')))}/{rest}".encode()
        for host, rest in rows
    ]


def _salted_by_hand(rows: Sequence[Any]) -> list[bytes]:
    return [
        bytes([zlib.crc32(b"%d" % (ms := _ms(time))) % 16]) + struct.pack(">Q", ms) + i.encode() for time, i in rows
    ]


CASES = (
    Case(
        WEB_KEY,
        ("host", "rest"),
        lambda n: (f"www.site{n % 100}.example", f"products/{n}"),
        lambda rows: [WEB_KEY.encode(host=host, rest=rest) for host, rest in rows],
        _web_by_hand,
    ),
    Case(
        MESSAGE_KEY,
        ("sent", "message_id"),
        lambda n: (_moment(n), str(1231231 + n)),
        lambda rows: [MESSAGE_KEY.encode(sent=sent, message_id=i) for sent, i in rows],
        _message_by_hand,
    ),
    Case(
        METRIC_KEY,
        ("metric", "hour", "tags"),
        lambda n: (n % 1000, _hour(n), TAGS),
        lambda rows: [METRIC_KEY.encode(metric=metric, hour=hour, tags=tags) for metric, hour, tags in rows],
        lambda rows: [
            metric.to_bytes(3, "big") + struct.pack(">I", int(hour.timestamp()) // 3600 * 3600) + tags
            for metric, hour, tags in rows
        ],
    ),
    Case(
        USER_APP_KEY,
        ("user_id", "app_id"),
        lambda n: (n, n % 100),
        lambda rows: [USER_APP_KEY.encode(user_id=user, app_id=app) for user, app in rows],
        lambda rows: [struct.pack(">QI", user, app) for user, app in rows],
    ),
    Case(
        SALTED_TIME_KEY,
        ("time", "id"),
        lambda n: (_moment(n), str(n)),
        lambda rows: [SALTED_TIME_KEY.encode(time=time, id=i) for time, i in rows],
        _salted_by_hand,
    ),
    Case(
        SPREAD_LOG_KEY,
        ("time", "id"),
        lambda n: (_moment(n), str(n)),
        lambda rows: [SPREAD_LOG_KEY.encode(time=time, id=i) for time, i in rows],
        lambda rows: [random.choice(SALTS) + struct.pack(">Q", _ms(time)) + i.encode() for time, i in rows],
        is_random=True,
    ),
    Case(
        LATEST_KEY,
        ("key", "time"),
        lambda n: (f"sensor {n % 100}", _moment(n)),
        lambda rows: [LATEST_KEY.encode(key=key, time=time) for key, time in rows],
        lambda rows: [key.encode() + b"\x00" + struct.pack(">Q", LONG_MAX - _ms(time)) for key, time in rows],
    ),
    Case(
        LONG_KEY,
        ("id",),
        lambda n: (n,),
        lambda rows: [LONG_KEY.encode(id=i) for (i,) in rows],
        lambda rows: [struct.pack(">Q", i) for (i,) in rows],
    ),
    Case(
        TAIL_SALTED_KEY,
        ("id",),
        lambda n: (str(1364248490 + n),),
        lambda rows: [TAIL_SALTED_KEY.encode(id=i) for (i,) in rows],
        lambda rows: [f"{hashlib.md5(i.encode()).hexdigest()[-4:]}{i}".encode() for (i,) in rows],
    ),
    Case(
        REVERSED_KEY,
        ("id",),
        lambda n: (n,),
        lambda rows: [REVERSED_KEY.encode(id=i) for (i,) in rows],
        lambda rows: [f"{i:010d}"[::-1].encode() for (i,) in rows],
    ),
    Case(
        HASHED_KEY,
        ("url",),
        lambda n: (f"https://example.com/{n}",),
        lambda rows: [HASHED_KEY.encode(url=url) for (url,) in rows],
        lambda rows: [hashlib.sha256(url.encode()).digest() for (url,) in rows],
    ),
)

"""What people type: moments, sizes, limits and addresses of stores become values, or an `InvalidArgument`."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import strategies as st

from targets.target import Strategy, Target, mutated
from webtable.cli.options import parse_limits
from webtable.cli.output import parse_days
from webtable.display.text import parse_size
from webtable.errors import InvalidArgument
from webtable.page.headers import Headers, media_type
from webtable.questions import is_ago, parse_time
from webtable.store.hbase.thrift.store import address_of as hbase_address
from webtable.store.memory import MemoryStore
from webtable.store.sqlite.file import address_of as sqlite_address
from webtable.store.url import HIDDEN, StoreURL


def check(data: bytes) -> None:
    """The first byte chooses what the text behind it is taken for."""
    choice, text = (data[0], data[1:].decode("utf-8", "surrogateescape")) if data else (0, "")
    with suppress(InvalidArgument):
        _CHECKS[choice % len(_CHECKS)](text)


def _time(text: str) -> None:
    moment = parse_time("since", text)
    assert moment.tzinfo is not None
    assert is_ago(text) in (True, False)


def _size(text: str) -> None:
    assert parse_size("max-body", text) > 0


def _days(text: str) -> None:
    found = parse_days("ttl", text)
    assert found is None or found > 0


def _limits(text: str) -> None:
    limits = parse_limits(text.split(","))
    assert limits.record > 0


def _hbase(text: str) -> None:
    found = hbase_address(StoreURL.parse(f"hbase:{text}"))
    assert found.gateways
    assert all(gateway.host and 0 < gateway.port < 65_536 for gateway in found.gateways)
    assert found.settings()["timeout"] > 0


def _sqlite(text: str) -> None:
    found = sqlite_address(StoreURL.parse(f"sqlite:{text}"))
    assert found.path
    assert found.options.number("timeout", 30.0) > 0


def _memory(text: str) -> None:
    assert MemoryStore.table_of(StoreURL.parse(f"memory:{text}")) is not None


def _any_store(text: str) -> None:
    url = StoreURL.parse(text)
    assert url.text == text or HIDDEN in url.text
    assert (url.rest == text) if url.is_path else text == f"{url.scheme}:{url.rest}"


def _headers(text: str) -> None:
    media, charset = media_type(text)
    assert media is None or media == media.lower()
    assert charset is None or charset
    assert Headers({text: "x"}).get(text) == "x"


_CHECKS = [_time, _size, _days, _limits, _hbase, _sqlite, _memory, _any_store, _headers]
_GOOD = [
    ["2026-11-20", "2026-11-20T10:00+01:00", "7d", "1.5 w", "0001-01-01T00:00+14:00", "2026-W01-1", "9" * 400 + "w"],
    ["500000", "5MB", "512KiB", "1.5k", "9" * 400],
    ["90", "none", "1.5d", "9" * 400],
    ["parsed=64MiB,seconds=0.5", "record=1", "seconds=nan", "links=inf"],
    ["//localhost:9090/crawl?thrift2=9091", "//a,[::1]:1/ns:t?timeout=1e9&pool=2&transport=x", "//a:x/"],
    ["crawl.db?table=t&timeout=5", "//file:x?mode=memory", "%00.db", ":memory:"],
    ["crawl?table=x", "//a%2fb"],
    ["crawl.db", "C:\\x", "hbase://h/t", "a:b"],
    ['text/html; charset="utf-8"', "TEXT/HTML;CHARSET=x;a=b", "text/html, text/plain", ";"],
]


def seeds() -> list[bytes]:
    """Return texts of each kind."""
    return [bytes([kind]) + text.encode() for kind, texts in enumerate(_GOOD) for text in texts]


def inputs() -> Strategy:
    """Return texts that were edited, and any others."""
    text = (
        st.text(max_size=30)
        | st.text("0123456789.dwhmkKMGiB-+:TZ ١", max_size=40)
        | st.text("0123456789.", min_size=300)
    )
    raw = text.map(lambda one: one.encode("utf-8", "surrogatepass"))
    return mutated(seeds()) | st.tuples(st.integers(0, 8).map(lambda one: bytes([one])), raw).map(b"".join)


TEXTS = Target("texts", check, inputs, seeds, longest=512)

"""Row keys: any bytes are the key of values that make them again, or no key; values make a key that leads back."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from targets.target import Strategy, Target, mutated
from webtable.errors import KeyFormatError, WebTableError
from webtable.rowkey import (
    CompositeKey,
    DateTime,
    Descending,
    Digits,
    FixedText,
    Hash,
    HashedKey,
    Hex,
    Int,
    Reversed,
    ReversedDomain,
    ReverseTimestamp,
    Salt,
    Text,
    Timestamp,
    UInt,
    WebKey,
    key_text,
    parse_key,
)
from webtable.rowkey.examples import EXAMPLES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEB = [WebKey(), WebKey(Salt.none()), WebKey(Salt.url(1)), WebKey(Salt.domain(4))]
_DESIGNS = [
    *EXAMPLES.values(),
    CompositeKey(Text("text"), Int("number", 3), separator=":"),
    CompositeKey(Text("text", terminator=b"\0"), Text("other", terminator=b"ab"), FixedText("id", 4)),
    CompositeKey(Descending(UInt("number", 2)), Text("text")),
    CompositeKey(ReversedDomain("host", terminator=b"/"), ReverseTimestamp("time"), Text("text")),
    CompositeKey(Hash("text", algorithm="murmur3"), Hex("id", 4), DateTime("time"), Text("text")),
    CompositeKey(Digits("number", 6), Timestamp("time"), Reversed(FixedText("id", 3)), separator="_"),
    CompositeKey(Descending(Timestamp("time")), Text("text")),
]


def check(data: bytes) -> None:
    """The first byte chooses the design; with its highest bit what follows are values, else it is a key."""
    choice, rest = (data[0], data[1:]) if data else (0, b"")
    _check_text(rest)
    designs = [*_WEB, *_DESIGNS]
    design = designs[choice % 128 % len(designs)]
    if isinstance(design, WebKey):
        _check_web(design, rest)
    elif choice < 128:
        _check_key(design, rest)
    else:
        _check_values(design, rest)


def _check_text(key: bytes) -> None:
    shown = key_text(key)
    assert shown.isascii()
    assert parse_key(shown) == key
    with contextlib.suppress(KeyFormatError):
        parse_key(key.decode("utf-8", "surrogateescape"))


def _check_web(design: WebKey, key: bytes) -> None:
    for read in (design.url_of, design.unsalted):
        with contextlib.suppress(KeyFormatError):
            read(key)
    try:
        url = design.decode(key)
    except KeyFormatError:
        return
    assert design.encode(url) == key
    assert design.salted(design.unsalted(key)) == key


def _check_key(design: Any, key: bytes) -> None:
    design.unsalted(key)
    try:
        values = design.decode(key)
    except KeyFormatError:
        return
    if set(values) == set(design.names):
        assert key in design.candidates(**values)


def _check_values(design: Any, data: bytes) -> None:
    values = _values(design.names, data)
    try:
        (key, *_) = design.candidates(**values)
    except WebTableError:
        return
    try:
        found = design.decode(key)
    except KeyFormatError:
        assert isinstance(design, HashedKey), f"{values} made {key!r}, which is no key"
        return
    # A field may keep less than it is given, as a second of a moment; what it keeps makes the same key.
    assert key in design.candidates(**{**values, **found})
    try:
        ranges = design.ranges(**{design.names[0]: values[design.names[0]]})
    except WebTableError:
        return
    assert any(key in one for one in ranges), f"{key!r} is in none of {len(ranges)} ranges"


_TIMES = ("sent", "hour", "time", "day")
_NUMBERS = ("metric", "user_id", "app_id", "number")


def _values(names: tuple[str, ...], data: bytes) -> dict[str, Any]:
    """Return values of the kinds that *names* stand for, made of *data*."""
    parts = data.split(b"\xff")
    return {name: _value(name, parts[at] if at < len(parts) else b"") for at, name in enumerate(names)}


def _value(name: str, raw: bytes) -> Any:
    number = struct.unpack(">q", raw[:8].rjust(8, b"\0"))[0]
    if name in _TIMES:
        return _moment(number)
    if name in _NUMBERS or (name == "id" and len(raw) > 4 and raw[0] < 32):
        return number
    return raw if name == "tags" else raw.decode("utf-8", "surrogateescape")


def _moment(number: int) -> datetime | date | str:
    try:
        moment = _EPOCH + timedelta(microseconds=number % (1 << 58) - (1 << 50))
    except OverflowError:
        return str(number)
    return moment.date() if number % 17 == 0 else moment


def seeds() -> list[bytes]:
    """Return a key of each design, and values for each."""
    given = [b"12", b"abc", b"\0\0\0\0ab", b"2026", b"example.com"]
    found = [bytes([at]) + _example(design) for at, design in enumerate([*_WEB, *_DESIGNS])]
    return found + [bytes([at | 128]) + b"\xff".join(given) for at in range(len(found))]


def _example(design: Any) -> bytes:
    if isinstance(design, WebKey):
        return design.encode("http://www.example.com:8080/a?b=c")
    values = {name: _sample(name, design) for name in design.names}
    return design.candidates(**values)[0]


def _sample(name: str, design: Any) -> Any:
    if name in _TIMES:
        return datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)
    if name in _NUMBERS:
        return 1234
    if name == "tags":
        return b"\0\0\1"
    if name == "id":
        return _id_of(design)
    return "example.com"


def _id_of(design: Any) -> Any:
    tries: list[Callable[[], Any]] = [lambda: "abcd", lambda: "abc", lambda: 1234, lambda: "deadbeef"]
    for make in tries:
        value = make()
        others = {name: _sample(name, design) for name in design.names if name != "id"}
        try:
            design.candidates(**others, id=value)
        except WebTableError:
            continue
        return value
    raise AssertionError(design)


def inputs() -> Strategy:
    """Return keys and values that were edited, and any bytes."""
    anything = st.tuples(st.integers(0, 255).map(lambda one: bytes([one])), st.binary(max_size=60)).map(b"".join)
    return st.one_of(mutated(seeds()), anything)


KEYS = Target("keys", check, inputs, seeds, longest=256)

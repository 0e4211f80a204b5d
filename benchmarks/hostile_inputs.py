"""Does the time for input that is made to hurt grow no faster than the input?"""

from __future__ import annotations

import gzip
import io
import time
from typing import TYPE_CHECKING

from benchmarks.measuring import Result
from webtable.errors import FormatError
from webtable.formats import ReadLimits, read_pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.setting import Setting

NEEDS = frozenset[str]()

TIMES = 4
"""How many times the larger input is the smaller one: the times differ so much, or by its square, 16."""
LIMIT = 10
"""More than four, because the larger input is in no processor's cache."""
# So large that they do not end what is measured.
_LIMITS = ReadLimits(record=1 << 30, head=1 << 28, fields=10**9, members=10**9)


def _record(block: bytes) -> bytes:
    head = b"WARC-Type: response\r\nWARC-Target-URI: https://example.com/\r\nWARC-Date: 2026-03-01T10:20:30Z"
    return b"WARC/1.1\r\n%b\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (head, len(block), block)


def _page(body: bytes, head: bytes = b"") -> bytes:
    return _record(_OK + head + b"\r\n" + body)


MB = 1_000_000
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_EMPTY = gzip.compress(b"")
INPUTS: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "MB in a line of JSON Lines": (8, lambda n: b'{"url":"https://e.example/","body":"' + b"x" * n * MB + b'"}'),
    "MB in the head of a WARC record": (8, lambda n: b"WARC/1.1\r\nA: " + b"x" * n * MB + b"\r\n\r\n"),
    "header lines of one name": (100_000, lambda n: _page(b"", b"A: b\r\n" * n)),
    "lines of one header": (100_000, lambda n: _page(b"", b"A: b\r\n" + b" c\r\n" * n)),
    "interim responses in front of one": (50_000, lambda n: _record(b"HTTP/1.1 100 C\r\n\r\n" * n + _OK + b"\r\n")),
    "chunks in a body": (100_000, lambda n: _page(b"1\r\nx\r\n" * n + b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n")),
    "gzip members in a body": (30_000, lambda n: _page(_EMPTY * n, b"Content-Encoding: gzip\r\n")),
    "empty gzip members in a file": (30_000, lambda n: gzip.compress(_page(b"")) + _EMPTY * n),
    "line ends between records": (2_000_000, lambda n: _page(b"") + b"\r\n" * n),
    "elements in each other": (20_000, lambda n: _page(b"<div>" * n)),
}


def run(setting: Setting) -> list[Result]:
    """Read each input, and four times as much of it."""
    return [
        _growth(name, max(1, setting.scaled(size)), made, setting.pairs(5)) for name, (size, made) in INPUTS.items()
    ]


def _growth(name: str, size: int, made: Callable[[int], bytes], pairs: int) -> Result:
    small, large = made(size), made(TIMES * size)
    runs = [(_seconds(small), _seconds(large)) for _ in range(pairs)]
    # The fastest of each, for what slows a run down is not the input.
    once, more = (min(side) for side in zip(*runs, strict=True))
    return Result(
        f"reading {TIMES * size:,} {name}",
        f"reading {size:,}",
        f"{more * 1000:,.0f} ms",
        f"{once * 1000:,.0f} ms",
        more / once,
        LIMIT,
        at_most=True,
    )


def _seconds(data: bytes) -> float:
    start = time.perf_counter()
    try:
        for _ in read_pages(io.BytesIO(data), limits=_LIMITS):
            pass
    except FormatError:
        pass  # where a head is all that there is
    return time.perf_counter() - start

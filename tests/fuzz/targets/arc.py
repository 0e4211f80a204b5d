"""ARC files: pages, damaged records that are counted, or a `FormatError` that says where."""

from __future__ import annotations

import gzip

from hypothesis import strategies as st

from targets.target import Strategy, Target, edited, edits
from targets.warc import response
from targets.wrappings import GZIP, MEMBERS, PLAIN, ZSTD, check_file

_URL = "http://example.com/"
_HTML = b"<!doctype html><title>A title</title>\n<a href=/b>next</a>\n"


def record(fields: str, block: bytes) -> bytes:
    """Return an ARC record."""
    return f"{fields} {len(block)}\n".encode() + block + b"\n"


_FIRST = record(
    "filedesc://a.arc 0.0.0.0 20200101000000 text/plain", b"1 0 x\nURL IP-address Archive-date\n<a>\n</a>\n"
)
_RECORDS = [
    record(f"{_URL}a 192.0.2.1 20200102030405 text/html", response(_HTML, "Content-Type: text/html")),
    record(f"{_URL}a b 192.0.2.1 202001020304 text/html", response(_HTML)),
    record(f"{_URL}c - 20201301000000 no-type", response(_HTML)),
    record(f"{_URL}d 192.0.2.1 20200102030405 text/html 301 0a1b {_URL} 9 a.arc", response(b"", status="301 Moved")),
    record(f"{_URL}e 192.0.2.1 20200102030405 text/html", _HTML),
    record("dns:example.com 192.0.2.1 20200102030405 text/dns", b"192.0.2.1"),
    f"{_URL} 192.0.2.1 20200102030405 text/html 99\n".encode() * 3,
]


def seeds() -> list[bytes]:
    """Return good files of one record and of all, plain and wrapped."""
    whole = _FIRST + b"".join(_RECORDS)
    return [*(PLAIN + _FIRST + record for record in _RECORDS), *(kind + whole for kind in (PLAIN, GZIP, ZSTD, MEMBERS))]


def inputs() -> Strategy:
    """Return files of records that were edited, wrapped in all ways; and files of members that were edited."""
    records = st.lists(st.sampled_from([_FIRST, *_RECORDS]), min_size=1, max_size=5)
    damaged = st.builds(edited, records.map(b"".join), edits() | st.just(b""))
    members = records.map(lambda listed: b"".join(gzip.compress(record, mtime=0) for record in [_FIRST, *listed]))
    kind = st.integers(0, 7).map(lambda number: bytes([number]))
    return st.one_of(
        st.tuples(kind, damaged).map(b"".join), st.builds(edited, members, edits()).map(lambda data: PLAIN + data)
    )


ARC = Target("arc", check_file, inputs, seeds, longest=8192)

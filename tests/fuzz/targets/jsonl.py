"""JSON Lines: pages, damaged lines that are counted, or a `FormatError` that says where."""

from __future__ import annotations

import gzip
import json

import zstandard
from hypothesis import strategies as st

from targets.target import Strategy, Target, edited, edits
from targets.wrappings import GZIP, MEMBERS, PLAIN, ZSTD, check_file

_PAGE = {
    "url": "https://example.com/a",
    "body": "<title>T</title><a href=/b>b</a>",
    "title": None,
    "status": 200,
    "content_type": "text/html",
    "fetched_at": "2026-03-01T10:20:30Z",
    "headers": {"Content-Type": "text/html", "Last-Modified": "Sun, 01 Mar 2026 10:00:00 GMT"},
    "outlinks": [["https://example.com/b", "b", "nofollow"]],
    "size": 31,
    "last_modified": "2026-03-01T10:20:30+01:00",
}
_LINES = [
    json.dumps(_PAGE).encode() + b"\n",
    b'{"url":"https://example.com/b","body_base64":"PHA+/w==","content_type":"text/html","charset":"latin-1"}\n',
    b'{"url":"https://example.com/c","status":304,"fetched_at":"2026-03-01T10:20:30"}\r\n',
    b'{"url":"https://example.com/d","truncated":true,"unknown":[1,{"a":"\\ud800"}],"body":"\\ud83d\\ude00"}',
    b"\xef\xbb\xbf\n{}\n\n[]\nnull\n",
    b'{"url":"https://example.com/e","headers":{},"redirect_to":"https://example.com/f","status":301}\n',
    b'{"url":"https://example.com/e","fetched_at":"0001-01-01T00:00:00+14:00","outlinks":[]}\n',
]


def seeds() -> list[bytes]:
    """Return good files of one line and of all, plain and wrapped."""
    whole = b"".join(_LINES)
    return [*(PLAIN + line for line in _LINES), *(kind + whole for kind in (PLAIN, GZIP, ZSTD, MEMBERS)), PLAIN]


def inputs() -> Strategy:
    """Return lines that were edited, lines of odd values, and wrapped files that were edited."""
    odd = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    odd |= st.sampled_from(
        ["2026-03-01T10:20:30Z", "9999-12-31T23:59:59.999999-14:00", "https://a.example/", "text/html"]
    )
    value = st.recursive(
        odd, lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=5), some), max_leaves=6
    )
    page = st.dictionaries(
        st.sampled_from([*_PAGE, "body_base64", "digest", "charset", "etag", "x"]), value, max_size=5
    )
    line = page.map(lambda values: json.dumps({"url": "https://example.com/a", **values}).encode() + b"\n")
    some = st.lists(st.sampled_from(_LINES) | line, min_size=1, max_size=4).map(b"".join)
    damaged = st.builds(edited, some, edits() | st.just(b""))
    wrapped = some.map(lambda data: gzip.compress(data, mtime=0)) | some.map(zstandard.compress)
    kind = st.integers(0, 7).map(lambda one: bytes([one]))
    return st.one_of(
        st.tuples(kind, damaged).map(b"".join), st.builds(edited, wrapped, edits()).map(lambda data: PLAIN + data)
    )


JSONL = Target("jsonl", check_file, inputs, seeds, longest=8192)

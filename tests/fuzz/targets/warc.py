"""WARC files: pages, damaged records that are counted, or a `FormatError` that says where."""

from __future__ import annotations

import gzip

import zstandard
from hypothesis import strategies as st

from targets.target import Strategy, Target, edited, edits
from targets.wrappings import GZIP, MEMBERS, PLAIN, ZSTD, check_file


def record(block: bytes, *fields: str, kind: str = "response", url: str = "https://example.com/a") -> bytes:
    """Return a WARC record."""
    names = [f"WARC-Type: {kind}", f"WARC-Target-URI: {url}", "WARC-Date: 2026-03-01T10:20:30Z", *fields]
    head = "\r\n".join(["WARC/1.1", *names, f"Content-Length: {len(block)}", "", ""])
    return head.encode() + block + b"\r\n\r\n"


def response(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """Return an HTTP response."""
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode() + body


_HTML = b"<!doctype html><meta charset=utf-8><title>A title</title><a href=/b rel=nofollow>next</a> text"
_TYPE = "Content-Type: text/html; charset=utf-8"
_FILES = [
    record(response(_HTML, _TYPE, "ETag: x", "Last-Modified: Sun, 01 Mar 2026 10:00:00 GMT")),
    record(response(gzip.compress(_HTML, mtime=0), _TYPE, "Content-Encoding: gzip")),
    record(response(zstandard.compress(_HTML), _TYPE, "Content-Encoding: zstd")),
    record(response(b"5\r\n<p>ab\r\n3\r\ncde\r\n0\r\n\r\n", _TYPE, "Transfer-Encoding: chunked")),
    record(response(_HTML, "Content-Type: text/html; charset=utf-16")),
    record(response(b"", "Location: /b", status="301 Moved")),
    record(response(b"HTTP/1.1 200 OK\r\n\r\n<p>x", status="100 Continue")),
    record(b"software: x\r\n", kind="warcinfo"),
    record(b"<html>resource", "Content-Type: text/html", kind="resource"),
    record(b"", "WARC-Refers-To-Target-URI: <https://example.com/b>", "WARC-Profile: identical", kind="revisit"),
    record(response(b"", status="304 Not Modified"), "WARC-Profile: server-not-modified", kind="revisit"),
    record(response(_HTML, _TYPE), "WARC-Truncated: length", "WARC-Block-Digest: sha1:ABCD"),
    record(response(_HTML, _TYPE), "WARC-Segment-Number: 1", url="<https://example.com/ü>"),
    record(response(_HTML), "WARC-Record-ID: <urn:a>", "WARC-IP-Address: 192.0.2.1", "WARC-Protocol: h2, tls/1.3"),
    record(b"via: https://a.example/\r\nhopsFromSeed: 2+LL\r\n", "WARC-Concurrent-To: <urn:a>", kind="metadata"),
]


def seeds() -> list[bytes]:
    """Return good files of one record and of all, plain and wrapped."""
    whole = b"".join(_FILES)
    return [*(PLAIN + file for file in _FILES), *(kind + whole for kind in (PLAIN, GZIP, ZSTD, MEMBERS)), PLAIN]


def inputs() -> Strategy:
    """Return files of records that were edited, wrapped in all ways; and wrapped files that were edited."""
    some = st.lists(st.sampled_from(_FILES), min_size=1, max_size=4).map(b"".join)
    damaged = st.builds(edited, some, edits() | st.just(b""))
    wrapped = some.map(lambda data: gzip.compress(data, mtime=0)) | some.map(zstandard.compress)
    kind = st.integers(0, 7).map(lambda one: bytes([one]))
    return st.one_of(
        st.tuples(kind, damaged).map(b"".join), st.builds(edited, wrapped, edits()).map(lambda data: PLAIN + data)
    )


WARC = Target("warc", check_file, inputs, seeds, longest=8192)

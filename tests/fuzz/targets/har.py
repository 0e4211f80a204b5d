"""HAR files: pages, damaged entries that are counted, or a `FormatError` that says where."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from targets.target import Strategy, Target, edited, edits
from targets.wrappings import GZIP, MEMBERS, PLAIN, ZSTD, check_file

_REQUEST = {"method": "GET", "url": "https://example.com/a", "headers": [{"name": "Cookie", "value": "a=b"}]}
_CONTENT = {"size": 31, "mimeType": "text/html", "text": '<title>A "title"</title> \u65e5 ]}'}
_RESPONSE = {
    "status": 200,
    "headers": [{"name": "Content-Type", "value": "text/html; charset=utf-8"}, {"name": ":status", "value": "200"}],
    "content": _CONTENT,
    "redirectURL": "",
    "bodySize": -1,
}
_ENTRY = {"startedDateTime": "2026-03-01T10:20:30.123+01:00", "request": _REQUEST, "response": _RESPONSE, "cache": {}}


def entry(**response: object) -> dict[str, object]:
    """Return an entry."""
    return _ENTRY | {"response": _RESPONSE | response}


def har(*entries: object) -> bytes:
    """Return a HAR file."""
    return json.dumps({"log": {"version": "1.2", "pages": [{"title": '}]"'}], "entries": entries}}).encode()


_ENTRIES = [
    entry(),
    entry(content=_CONTENT | {"text": "PHRpdGxlPkE8L3RpdGxlPg==", "encoding": "base64"}),
    entry(status=301, redirectURL="/b", content={}),
    entry(status=304),
    entry(status=0),
    entry(content={"size": 9}, headers=[{"name": "Content-Type", "value": "text/html; charset=shift_jis"}]),
    _ENTRY | {"request": _REQUEST | {"method": "POST", "postData": {"mimeType": "text/plain", "text": "a"}}},
]


def seeds() -> list[bytes]:
    """Return good files of one entry and of all, plain and wrapped."""
    whole = har(*_ENTRIES)
    return [*(PLAIN + har(entry) for entry in _ENTRIES), *(kind + whole for kind in (PLAIN, GZIP, ZSTD, MEMBERS))]


def inputs() -> Strategy:
    """Return files that were edited, wrapped in all ways, and files with odd values in place of those they have."""
    odd = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    odd |= st.lists(odd, max_size=2) | st.dictionaries(st.text(max_size=5), odd, max_size=2)

    def with_odd_ones(parts: dict[str, object], names: list[str], values: list[object]) -> dict[str, object]:
        return parts | dict(zip(names, values, strict=False))

    def odd_part(parts: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
        names = st.lists(st.sampled_from(sorted(parts)), max_size=2)
        return st.builds(with_odd_ones, st.just(parts), names, st.lists(odd, max_size=2))

    content = odd_part(_CONTENT | {"encoding": ""})
    response = st.builds(lambda parts, content: parts | {"content": content}, odd_part(_RESPONSE), content)
    made = st.builds(
        lambda parts, request, response: parts | {"request": request, "response": response},
        odd_part(_ENTRY),
        odd_part(_REQUEST),
        response,
    )
    files = st.lists(st.sampled_from(_ENTRIES) | made | odd, max_size=3).map(lambda entries: har(*entries))
    kind = st.integers(0, 7).map(lambda number: bytes([number]))
    return st.tuples(kind, st.builds(edited, files, edits() | st.just(b""))).map(b"".join)


HAR = Target("har", check_file, inputs, seeds, longest=8192)

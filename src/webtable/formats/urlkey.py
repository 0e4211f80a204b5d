"""The keys of URLs in CDX indexes, by which pywb, OutbackCDX and the tools of the Internet Archive look up captures.

The rules are those of `AggressiveIAURLCanonicalizer` in iipc/webarchive-commons (Apache License 2.0), which surt 0.3.1
follows, and pywb that. Where the two differ (IPv4 addresses, `www.` twice, port 0), the keys are those of surt.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

from webtable.rowkey.urls import split_url

if TYPE_CHECKING:
    from collections.abc import Iterable

_WWW = re.compile(r"\Awww\d*\.")
_KEPT = string.punctuation.replace("#", "").replace("%", "")
_PERCENT, _HEX = ord("%"), frozenset(string.hexdigits.encode())
# Sessions of ASP.NET are a directory above a page `.aspx`, those of others a parameter, or the end of one.
_PATH_SESSIONS = tuple(map(re.compile, (r"(?<=/)\((?:[a-z]\([0-9a-z]{24}\))+\)/", r"(?<=/)\([0-9a-z]{24}\)/")))
_QUERY_SESSIONS = tuple(
    re.compile(f"{before}(?=(?P<session>{session}(?:&|$)))")
    for before, session in (
        ("", r"jsessionid=[0-9a-z]{32}"),
        ("", r"phpsessid=[0-9a-z]{32}"),
        ("", r"sid=[0-9a-z]{32}"),
        ("", r"aspsessionid[a-z]{8}=[a-z]{24}"),
        # Of several `cfid=` in a parameter, the last one begins it; an atomic group tries no other.
        (r"(?<![^&])(?>[^&]*(?=cfid=[^&]))", r"cfid=[^&]+&cftoken=[^&]+"),
    )
)


def surt(url: str) -> str:
    """Return the key of *url* in an index, as replay tools look it up: equal to that of the package `surt`.

    The host is reversed, without `www.` and final dots; the scheme and the port 0 are left out, everything is in lower
    case. Escapes are decoded, until none is left, but for what is no printable ASCII, `#` and `%`. Parameters are
    sorted, session IDs and repeated and final slashes dropped. Raises `InvalidURL`.

    >>> surt("https://www.Example.com:8080//Docs/%7Ea/?b=2&a=1")
    'com,example:8080)/docs/~a?a=1&b=2'
    """
    parts = split_url(url)
    host = _WWW.sub("", parts.host.strip("[]").replace("..", ".").strip("."))
    reversed_host = ",".join(reversed(host.split(".")))
    port = f":{parts.port}" if parts.port else ""
    path = _without_path_session(_escaped(_normal_path(_unescaped(parts.path))).lower())
    query = _without_query_session(_escaped(_unescaped(parts.query[1:])).lower())
    query = "&".join(sorted(query.split("&"), key=_name_and_value))
    return f"{reversed_host}{port}){path.removesuffix('/') or '/'}{'?' if query else ''}{query}"


def _unescaped(text: str) -> bytes:
    """Return *text* without escapes, also without those that come of decoding others (`%2541`)."""
    data = unquote_to_bytes(text)
    if _PERCENT not in data:
        return data
    # From left to right, as decoding all of it again for each level would take the square of its length.
    decoded = bytearray()
    for byte in data:
        decoded.append(byte)
        while len(decoded) > 2 and decoded[-3] == _PERCENT and _HEX.issuperset(decoded[-2:]):
            decoded[-3:] = bytes.fromhex(decoded[-2:].decode())
    return bytes(decoded)


def _escaped(data: bytes) -> str:
    return quote_from_bytes(data, safe=_KEPT)


def _normal_path(path: bytes) -> bytes:
    """Return *path* without empty segments, `.` and `..`, which escapes may have hidden."""
    *directories, name = _kept(path.split(b"/")[1:]) or [b""]
    return b"/".join((b"", *filter(None, directories), name))


def _kept(segments: Iterable[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    for segment in segments:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    return kept


def _without_path_session(path: str) -> str:
    for pattern in _PATH_SESSIONS:
        for match in reversed([*pattern.finditer(path)]):
            question = path.find("?", match.end())  # was escaped
            if path.rfind(".aspx", match.end() + 1, question if question >= 0 else len(path)) >= 0:
                path = path[: match.start()] + path[match.end() :]
                break
    return path


def _without_query_session(query: str) -> str:
    for pattern in _QUERY_SESSIONS:
        for match in [*pattern.finditer(query)][-1:]:
            query = query[: match.start("session")] + query[match.end("session") :]
    return query


def _name_and_value(parameter: str) -> list[str]:
    return parameter.split("=", 1)  # `a.b` is sorted behind `a=1`, though "." comes before "="

"""The methods of requests, and the URL under which the answer to another method than GET is stored.

That is the URL of the page with the method and what was sent in its query, as cdxj-indexer and pywb make it for an
index (`__wb_method=POST&name=value`; Webrecorder, "Request Body Canonicalization"): tools that replay an archive look
for such an answer by that key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_plus, urlencode

from webtable.errors import InvalidArgument
from webtable.page.headers import attribute_of, headers_of
from webtable.rowkey.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

GET = "GET"
DEFAULT_METHODS = frozenset({GET})
"""The methods whose responses become pages unless others are asked for."""
MAX_QUERY = 4_096
"""Characters of what was sent that count."""
_WITH_CONTENT = frozenset({"POST", "PUT"})
_UNKNOWN_LENGTH = 8_192
"""Bytes of the content of a request without a Content-Length that count."""
_MAX_JSON = 1 << 22
"""Bytes of JSON that are read: decoded they may take many times as much memory."""
_METHOD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}")
_KEY = re.compile(r"[?&]__wb_method=([^&]*)(?:&(.*))?$", re.DOTALL)
_BOUNDARY = re.compile(r'boundary=(?:"([^"]*)"|([^\s;]*))')
_PARAMETER = re.compile(r';\s*(name|filename\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;]*))', re.IGNORECASE)


class Request(NamedTuple):
    """The `method` of a request, and the `query` that stands for what it sent."""

    method: str = GET
    query: str = ""


GET_REQUEST = Request()


def wanted_methods(methods: Collection[str] | None) -> frozenset[str] | None:
    """Return *methods* in upper case, None if all are wanted; raises `InvalidArgument` for one string and for no name.

    >>> sorted(wanted_methods(["get", "POST"]))
    ['GET', 'POST']
    """
    if isinstance(methods, str):
        raise InvalidArgument(f"methods={methods!r} is one string; give a collection, as in {{{methods!r}}}")
    if methods is None or "*" in methods:
        return None
    for method in methods:
        if not isinstance(method, str) or not _METHOD.fullmatch(method):
            raise InvalidArgument(f"methods={method!r} must be names of methods, as in {{'GET', 'POST'}}")
    if not methods:
        raise InvalidArgument("methods is empty: give {'GET'}, or None for all")
    return frozenset(map(str.upper, methods))


def is_wanted(methods: frozenset[str] | None, method: str) -> bool:
    """Whether responses to *method* are wanted."""
    return methods is None or method in methods


def request_of(method: str, media: str | None, length: str | None, content: bytes) -> Request:
    """Return the request of *method* with this *content*; *media* and *length* are its headers.

    >>> request_of("POST", "application/x-www-form-urlencoded", "5", b"a=b+c")
    Request(method='POST', query='a=b c')
    """
    method = method.upper()
    if method not in _WITH_CONTENT:
        return Request(method)
    try:
        size = _UNKNOWN_LENGTH if length is None else int(length)
    except ValueError:
        return Request(method)
    return Request(method, _query(media or "", content[: max(size, 0)])[:MAX_QUERY])


def stored_url(url: str, request: Request) -> str:
    """Return the canonical URL under which the answer of *url* to *request* is stored; raises `InvalidURL`.

    >>> stored_url("https://example.com/a?b=1#c", Request("HEAD"))
    'https://example.com/a?b=1&__wb_method=HEAD'
    """
    url = canonical_url(url)
    if request.method == GET:
        return url
    query = f"&{request.query}" if request.query else ""
    return canonical_url(f"{url}{'&' if '?' in url else '?'}__wb_method={request.method}{query}")


def request_of_response(
    response: object, methods: Collection[str] | None = DEFAULT_METHODS, content: bytes | None = None
) -> Request:
    """The request that the *response* of an HTTP client answers; GET where the response does not know it.

    *content* is what was sent, needed where the client does not keep it. Raises `InvalidArgument` without it, and for
    another method than *methods*.
    """
    request = attribute_of(response, "request") or attribute_of(response, "request_info")
    method = attribute_of(request, "method") or attribute_of(response, "method")
    method = method.upper() if isinstance(method, str) and _METHOD.fullmatch(method) else GET
    if not is_wanted(wanted_methods(methods), method):
        raise InvalidArgument(
            f"response={repr(response)[:200]} answers {method}, and would replace the page: leave it out, or give "
            f"methods=['GET', {method!r}], which stores it under a URL of its own, with __wb_method={method} in it"
        )
    if method not in _WITH_CONTENT:
        return Request(method)
    if content is None:
        content = _content_of(request)
    media = headers_of(request).get("content-type")
    return request_of(method, media, str(len(content)), content)


def _content_of(request: object) -> bytes:
    """The content that *request* of httpx, requests or Scrapy sent; raises `InvalidArgument` where it is not kept."""
    for name in ("content", "body"):
        content = attribute_of(request, name)
        if isinstance(content, str | bytes):
            return content.encode() if isinstance(content, str) else content
    if hasattr(request, "body") and attribute_of(request, "body") is None:  # requests has None for nothing
        return b""
    raise InvalidArgument(
        "request_body is needed: the client does not keep what was sent, by which the answer is found, as in "
        "Page.from_response(response, methods=None, request_body=b'name=value')"
    )


def split_request(url: str) -> tuple[str, Request]:
    """Return the URL and the request of the stored *url*.

    >>> split_request("https://example.com/a?b=1&__wb_method=POST&c=2")
    ('https://example.com/a?b=1', Request(method='POST', query='c=2'))
    """
    key = _KEY.search(url)
    if key is None:
        return url, GET_REQUEST
    return url[: key.start()], Request(key[1], key[2] or "")


# What follows is cdxj-indexer's, byte by byte: `tests/data/request_keys.json` has what that makes of each kind.
def _query(media: str, content: bytes) -> str:
    """The query that stands for the *content* of type *media*, as cdxj-indexer makes it."""
    if media.startswith("application/x-www-form-urlencoded"):
        try:
            return unquote_plus(content.decode())
        except UnicodeDecodeError:
            return _encoded(content)
    if media.startswith("multipart/"):
        match = _BOUNDARY.search(media)
        boundary = match and (match[1] or match[2])
        fields = _fields(content, boundary.encode()) if boundary else None
        return _encoded(content) if fields is None else urlencode(fields)
    if media.startswith("application/json"):
        return _members(content) or ""
    if media.startswith("text/plain"):
        members = _members(content)
        return _encoded(content) if members is None else members
    return _encoded(content)


def _encoded(content: bytes) -> str:
    import base64

    return f"__wb_post_data={base64.b64encode(content[:MAX_QUERY]).decode()}"


def _fields(content: bytes, boundary: bytes) -> list[tuple[str, str | bytes]] | None:
    """Return the names and values of a form (RFC 7578), files as bytes; None if it is not well formed."""
    _, *parts = (b"\r\n" + content).split(b"\r\n--" + boundary)
    if not parts or not parts[-1].startswith(b"--"):
        return None
    fields: list[tuple[str, str | bytes]] = []
    for part in parts[:-1]:
        head, end, value = part.partition(b"\r\n\r\n")
        disposition = re.search(rb"\r\ncontent-disposition:([^\r\n]*)", head, re.IGNORECASE)
        if not end or disposition is None:
            return None
        text = disposition[1].decode("utf-8", "replace")
        parameters = {
            name.lower(): re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in _PARAMETER.findall(text)
        }
        if "name" not in parameters:
            return None
        fields.append((parameters["name"], value if parameters.keys() - {"name"} else _text(value)))
    return fields


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _members(content: bytes) -> str | None:
    """The members of the JSON *content*, or of each of its lines, however deep, as a query; None for no JSON."""
    import json

    if len(content) > _MAX_JSON:
        return None
    try:
        try:
            values = [json.loads(content)]
        except json.JSONDecodeError:
            if b"\n" not in content:
                return None
            values = [json.loads(line) for line in content.split(b"\n")]
        members: dict[str, str] = {}
        counts: dict[str, int] = {}
        for value in values:
            for name, text in _leaves(value, ""):
                # The second member of a name gets `.2_` after it, the third one `.3_`.
                counts[name] = counts.get(name, 0) + 1
                members[name if counts[name] == 1 else f"{name}.{counts[name]}_"] = text
        return urlencode(members)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any, name: str) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _leaves(member, key)
    elif isinstance(value, list):
        for member in value:
            yield from _leaves(member, name)
    elif name:
        yield name, str(value)

"""Reader of HAR files (HTTP Archive 1.1 and 1.2, Odvarko): what browsers and proxies save of their requests.

A file is one JSON value, whose member `log` has the requests in `entries`. It is read entry by entry, and no entry is
held that is over a limit; ijson, which reads JSON in parts too, holds each text whole.
"""

from __future__ import annotations

import base64
import re
from binascii import Error as NotBase64
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from webtable._charsets import charset_name, decoded
from webtable.formats.http import Response
from webtable.formats.read_report import (
    Damaged,
    DamagedFile,
    DamagedRecord,
    LeftOut,
    OverLimit,
    ReadReport,
    check_type,
    count,
    decoded_json,
)
from webtable.formats.warc import WARCOptions, body_of
from webtable.page.body import encoding_of
from webtable.page.headers import REDIRECTS, Headers, address_of, http_date, media_type, protocol_of
from webtable.page.methods import GET, is_wanted, request_of, stored_url
from webtable.page.page import BLANK, Page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webtable._limits import ReadLimits
    from webtable.formats.compressed import ByteStream
    from webtable.page.methods import Request

FIRST = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*(?:\{|\Z)')
"""The beginning of a HAR file."""
NO_CONTENT = "without content"
"""The name under which responses are counted whose content was not saved."""
FAILED = "failed request"
"""The name under which requests are counted that got no response."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[\t\r\n ]+")
# The inside of a text of JSON, up to its end; a whole text; all up to a text that does not end; a text or a bracket.
_INSIDE = rb'(?:[^"\\]++|\\.)*+'
_TO_QUOTE = re.compile(_INSIDE, re.DOTALL)
_TEXT = re.compile(b'"%b"' % _INSIDE, re.DOTALL)
_WHOLE = re.compile(b'(?:[^"]++|"%b")*+' % _INSIDE, re.DOTALL)
_TEXT_OR_BRACKET = re.compile(b'"%b"|([{}\\[\\]])' % _INSIDE, re.DOTALL)
_SCALAR = re.compile(rb"[^\t\r\n ,\]}]*+")
_LEAST_SLICE, _LARGEST_SLICE = 1 << 6, 1 << 16
# Brackets as steps, and what is none.
_UP, _DOWN = b"\x01", b"\xff"
_STEPS = bytes.maketrans(b"{}[]", 2 * (_UP + _DOWN))
_NO_BRACKET = bytes(set(range(256)) - set(b"{}[]"))
_MOST_OF_NAME = 1 << 10
_MOST_JSON = 4
"""How many bytes the JSON of headers may have for each that the headers have."""
_ENCODINGS = frozenset({"content-encoding", "transfer-encoding"})
_UNKNOWN_TYPES = frozenset({None, "x-unknown", "application/x-unknown"})
_MARK = 3
_MOST_OF_DATE = 100
_MOST_OF_TIME = 1e15
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


# --- Entries ----------------------------------------------------------------------------------------------------------


def read_har(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, skip: int = 0
) -> Iterator[Page]:
    """Yield the pages of a HAR file after the first *skip* entries; one that is no page is reported.

    Raises `DamagedFile` where the file is no JSON, and for one that ends within it.
    """
    if stream.gaps:
        raise DamagedFile("what follows the damaged part is inside of its JSON")
    if stream.peek(_MARK) == _BYTE_ORDER_MARK:
        stream.skip(_MARK)
    has_entries = False
    for name in _members(stream):
        if name != b'"log"':
            _skip_value(stream)
            continue
        for member in _members(stream):
            if member != b'"entries"':
                _skip_value(stream)
                continue
            has_entries = True
            for _ in _elements(stream):
                yield from _pages(stream, source, report, options, is_skipped=skip > 0)
                skip -= 1
    if not has_entries:
        raise DamagedFile("a HAR file without the entries that have its requests")
    if _next(stream):
        raise DamagedFile("something follows its JSON")


def _pages(
    stream: ByteStream, source: str, report: ReadReport, options: WARCOptions, *, is_skipped: bool
) -> Iterator[Page]:
    offset = stream.mark = stream.offset

    def read() -> Page | None:
        data = _value(stream, options.limits.record)
        return _page(_decoded(_entry_decoder, data, report), report, options)

    if is_skipped:
        _skip_value(stream)
        return
    page = report.attempt(read, lambda reason: DamagedRecord(source, offset, None, reason))
    # Reading goes on from the beginning of the file only: an entry does not show what it is in.
    report.add_record(stream.begin)
    if page is not None:
        report.pages += 1
        yield page


# --- JSON in parts ----------------------------------------------------------------------------------------------------


def _next(stream: ByteStream) -> bytes:
    """Return the next byte that is no white space; none at the end of the file."""
    stream.skip_run(_SPACE)
    return stream.peek(1)


def _members(stream: ByteStream) -> Iterator[bytes]:
    """Yield the name, as JSON, of each member of the object that follows, whose value the caller consumes."""
    for char in _elements(stream, b"{}"):
        try:
            name = _value(stream, _MOST_OF_NAME) if char == b'"' else b""
        except OverLimit as exc:
            raise DamagedFile(f"its JSON is damaged: a member has a name of over {_MOST_OF_NAME:,} bytes") from exc
        if not name or _next(stream) != b":":
            raise DamagedFile("its JSON is damaged: a member has no name")
        stream.skip(1)
        _next(stream)
        yield name


def _elements(stream: ByteStream, brackets: bytes = b"[]") -> Iterator[bytes]:
    """Yield the first byte of each element of the array, or object, that follows; the caller consumes them."""
    begins, ends = brackets[:1], brackets[1:]
    if (char := _next(stream)) != begins:
        raise DamagedFile(
            f"its JSON is damaged: {char!r} is where {begins!r} should be" if char else "it ends too early"
        )
    stream.skip(1)
    is_first = True
    while (char := _next(stream)) != ends:
        if not is_first:
            if char != b",":
                raise DamagedFile(
                    f"its JSON is damaged: {char!r} is where ',' should be" if char else "the file ends inside its JSON"
                )
            stream.skip(1)
            char = _next(stream)
        is_first = False
        yield char
    stream.skip(1)


def _value(stream: ByteStream, limit: int) -> bytes:
    """Return and consume the JSON value that follows; raises `OverLimit` after one of over *limit* bytes."""
    parts: list[bytes] = []
    size = 0
    for part in _parts(stream):
        size += len(part)
        if size > limit:
            parts.clear()
        else:
            parts.append(part)
    if size > limit:
        raise OverLimit("record", f"its {size:,} bytes are over the limit of {limit:,} for a record")
    return b"".join(parts)


def _skip_value(stream: ByteStream) -> None:
    for _ in _parts(stream):
        pass


def _parts(stream: ByteStream) -> Iterator[bytes]:
    """Yield the parts of the JSON value that follows, up to its end by its brackets and quotation marks."""
    depth, size = 0, _LEAST_SLICE
    is_text = is_escape = is_end = False
    while not is_end:
        data = stream.loaded(size) or (stream.peek(1) and stream.loaded(size))
        if not data:
            raise DamagedFile("the file ends inside its JSON")
        at = 0
        if is_text:
            at = _TO_QUOTE.match(data, int(is_escape)).end()  # type: ignore[union-attr]  # it matches nothing as well
            is_escape = data[at : at + 1] == b"\\"  # the character that it escapes is in the next slice
            is_text = is_escape or at == len(data)
            at = min(at + 1, len(data))
            is_end = depth == 0 and not is_text
        elif depth == 0:
            is_text, depth = data[0] == _QUOTE, int(data[0] in b"{[")
            is_scalar = not (is_text or depth)
            at = _SCALAR.match(data).end() if is_scalar else 1  # type: ignore[union-attr]
            is_end = is_scalar and (at < len(data) or not stream.peek(len(data) + 1)[len(data) :])
        elif (at := _WHOLE.match(data).end()) == 0:  # type: ignore[union-attr]
            is_text, at = True, 1
        else:
            steps = data[:at].translate(_STEPS, _NO_BRACKET)
            if steps:  # those in texts count for nothing
                steps = _TEXT.sub(b"", data[:at]).translate(_STEPS, _NO_BRACKET)
            below = _depth_after(steps, depth)
            if below == 0 and at > _LEAST_SLICE:  # where it ends is looked for in smaller slices
                size = at // 2
                continue
            is_end = below == 0
            at = _end_of_value(data, depth) if is_end else at
            depth = below
        size = min(2 * size, _LARGEST_SLICE)
        stream.skip(at)
        yield data[:at]


def _depth_after(steps: bytes, depth: int) -> int:
    """Return how deep it is after these *steps* from *depth*, which is above 0; 0 if they reach that anywhere."""
    ups = steps.count(_UP)
    if len(steps) - ups >= depth:
        depths = accumulate(memoryview(steps.replace(_UP + _DOWN, b"")).cast("b"), initial=depth)
        if 0 in depths:
            return 0
    return depth + 2 * ups - len(steps)


def _end_of_value(data: bytes, depth: int) -> int:
    """Return where in *data* the value ends of which brackets are open, as many as *depth*."""
    for match in _TEXT_OR_BRACKET.finditer(data):
        if match[1] is not None:
            depth += 1 if match[1] in b"{[" else -1
        if depth == 0:
            return match.end()
    return len(data)


_QUOTE = ord('"')


# --- Pages ------------------------------------------------------------------------------------------------------------


class _Content(msgspec.Struct):
    size: msgspec.Raw = msgspec.Raw()
    mimeType: str | None = None  # noqa: N815 - as the format has it
    text: str | None = None
    encoding: str | None = None


class _Response(msgspec.Struct):
    status: int | None = 0
    headers: msgspec.Raw = msgspec.Raw(b"[]")
    content: _Content | None = None
    redirectURL: str | None = None  # noqa: N815
    bodySize: msgspec.Raw = msgspec.Raw()  # noqa: N815
    httpVersion: msgspec.Raw = msgspec.Raw()  # noqa: N815


class _Request(msgspec.Struct):
    url: str
    method: str | None = GET
    postData: msgspec.Raw = msgspec.Raw(b"null")  # noqa: N815


class _Entry(msgspec.Struct):
    request: _Request
    response: _Response | None = None
    startedDateTime: msgspec.Raw = msgspec.Raw()  # noqa: N815
    serverIPAddress: msgspec.Raw = msgspec.Raw()  # noqa: N815
    time: msgspec.Raw = msgspec.Raw()


class _Named(msgspec.Struct):
    name: str = ""
    value: str | None = ""


class _Posted(msgspec.Struct):
    mimeType: str | None = ""  # noqa: N815
    text: str | None = None
    params: list[_Named] | None = None


_entry_decoder = msgspec.json.Decoder(_Entry, strict=False)
_headers_decoder = msgspec.json.Decoder(list[_Named] | None, strict=False)
_posted_decoder = msgspec.json.Decoder(_Posted | None, strict=False)
_T = TypeVar("_T")


def _decoded(decoder: msgspec.json.Decoder[_T], data: bytes, report: ReadReport) -> _T:
    try:
        return decoded_json(decoder, data, report)[1]
    except (msgspec.MsgspecError, ValueError, RecursionError) as exc:
        raise Damaged(str(exc)) from exc


def _page(entry: _Entry, report: ReadReport, options: WARCOptions) -> Page | None:
    """Return the page of *entry*; None for an answer to a method that is not wanted, which is counted."""
    response, method = entry.response, (entry.request.method or GET).upper()
    scheme = entry.request.url.partition(":")[0].lower()
    if scheme not in {"http", "https"}:
        raise LeftOut(scheme)
    if not is_wanted(options.methods, method):
        count(report.other_methods, method)
        return None
    status = response.status if response else None
    # Browsers write 0 for what was blocked, aborted or not resolved, Playwright -1, BrowserMob -999.
    if response is None or not status or not 100 <= status < 1_000:
        raise LeftOut(FAILED)
    if status < 200:  # a connection that became a WebSocket
        raise LeftOut(f"status {status}")
    url = stored_url(entry.request.url, _request(entry.request, method, report))
    headers = _headers(response, report, options.limits)
    content = response.content or _Content()
    media = media_type(headers.get("content-type"))[0]
    if media is None and (named := media_type(content.mimeType)[0]) not in _UNKNOWN_TYPES:
        media = named
    duration = _number(entry.time)
    page = replace(
        BLANK,
        url=url,
        status=status,
        headers=headers,
        fetched_at=_fetched_at(entry, headers),
        duration=round(duration) if duration is not None and 0 <= duration < _MOST_OF_TIME else None,
        server_address=address_of(_short_text(entry.serverIPAddress)),
        protocol=protocol_of(_short_text(response.httpVersion)),
    )
    if status == 304:  # some browsers put the content that they had before beside it
        if media is not None:
            check_type(options.types, media)
        return replace(page, content_type=media, same_as=url)
    if not content.text and 200 <= status < 300 and method != "HEAD" and _lacks_content(response, content):
        if media is not None:
            check_type(options.types, media)
        raise LeftOut(NO_CONTENT)
    body, charset = _body(content, headers)
    answer = Response(status, _of_the_content(headers) if method != "HEAD" else Headers(), body)
    (body, problem), media = body_of(options.types, answer, media, options.limits, cut=False)
    if problem is None and (_number(content.size) or 0) > len(body) + _MARK:  # a byte order mark is not in a text
        problem = "content.size"
    if problem is not None:
        count(report.truncated, problem)
    return replace(page, body=body, content_type=media, charset=charset, truncated=problem is not None)


def _request(request: _Request, method: str, report: ReadReport) -> Request:
    if method == GET:
        return request_of(GET, None, None, b"")
    posted = _decoded(_posted_decoder, bytes(request.postData), report) or _Posted()
    content = posted.text or urlencode([(param.name, param.value or "") for param in posted.params or ()])
    sent = content.encode()
    return request_of(method, posted.mimeType, str(len(sent)), sent)


def _headers(response: _Response, report: ReadReport, limits: ReadLimits) -> Headers:
    data = bytes(response.headers)
    if len(data) > _MOST_JSON * limits.head:
        raise OverLimit("head", f"its headers have over {_MOST_JSON * limits.head:,} bytes of JSON")
    named = _decoded(_headers_decoder, data, report) or ()
    if len(named) > limits.fields:
        raise OverLimit("fields", f"its response has over {limits.fields:,} header fields")
    # Names with a colon before them are of the protocol HTTP/2; Chrome parts the values of one name by line ends.
    headers = Headers(
        [(header.name, ", ".join((header.value or "").split("\n"))) for header in named if _NAME.fullmatch(header.name)]
    )
    if sum(len(name) + len(value) for name, value in headers.items()) > limits.head:
        raise OverLimit("head", f"the head of its response has over {limits.head:,} characters")
    if response.status in REDIRECTS and response.redirectURL and "location" not in headers:
        return headers | {"Location": response.redirectURL[: limits.head]}
    return headers


def _of_the_content(headers: Headers) -> Headers:
    """The *headers* that say something of the content as it is in the file, which is decoded."""
    encoded = [name for name in headers if name.lower() in _ENCODINGS]
    left_out = {*encoded, *(name for name in headers if encoded and name.lower() == "content-length")}
    return Headers.as_stored({name: value for name, value in headers.items() if name not in left_out})


def _lacks_content(response: _Response, content: _Content) -> bool:
    """Whether the response had content that the file does not have."""
    if response.status in {204, 205}:
        return False
    return _number(content.size) != 0 or (_number(response.bodySize) or 0) > 0


def _short_text(value: msgspec.Raw) -> str | None:
    data = bytes(value)
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(data, type=str) if 0 < len(data) < _MOST_OF_DATE else None
    return None


def _number(value: msgspec.Raw) -> float | None:
    data = bytes(value)
    with suppress(ValueError):
        return float(data) if len(data) < 40 else None
    return None


def _body(content: _Content, headers: Headers) -> tuple[bytes, str | None]:
    """Return the content as bytes and, if they are not in the charset that the response names, their own."""
    text, encoding = content.text or "", (content.encoding or "").strip().lower()
    if encoding == "base64":
        return _from_base64(text), None
    if encoding not in {"", "utf-8", "utf8"}:
        raise Damaged(f"its content is in the encoding {encoding[:100]!r}")
    body, size = text.encode(), _number(content.size)
    # HAR 1.1 has no field that says so, and some programs leave it out.
    if size is not None and size != len(body) and -(-size // 3) * 4 == len(body) and text.isascii():
        with suppress(Damaged):
            return _from_base64(text), None
    announced = media_type(headers.get("content-type"))[1] or media_type(content.mimeType)[1]
    name = encoding_of(body, announced)
    if name != "utf-8":  # the browser has decoded it
        with suppress(LookupError, UnicodeEncodeError):
            original = text.encode(name)
            if decoded(original, name) == text:
                return original, None if announced else charset_name(name)
        return body, "utf-8"
    return body, None


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()).encode("ascii"), validate=True)
    except (NotBase64, UnicodeEncodeError) as exc:
        raise Damaged(f"its content is not in base64: {exc}") from exc


def _fetched_at(entry: _Entry, headers: Headers) -> datetime:
    """Return when the request began; of a file that does not say it, when the server says that it answered."""
    value = bytes(entry.startedDateTime)[:_MOST_OF_DATE]
    try:
        if value.startswith(b'"'):
            moment = datetime.fromisoformat(msgspec.json.decode(value, type=str).strip())
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        else:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=float(value))
    except (ValueError, OverflowError, msgspec.MsgspecError) as exc:
        answered = http_date(headers.get("date"))
        if answered is None:
            raise Damaged(f"its startedDateTime is no date: {value.decode(errors='replace')}") from exc
        moment = answered
    return moment.replace(microsecond=moment.microsecond // 1_000 * 1_000)

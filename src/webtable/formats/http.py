"""Parsing of HTTP responses as crawlers store them: the head, and the body without its encodings."""

from __future__ import annotations

import io
import re
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import zstandard
from fastwarc.stream_io import BrotliReader

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable.formats.read_report import Damaged, OverLimit
from webtable.page.body import is_text, looks_like_html
from webtable.page.headers import Headers, header_text, joined_lines
from webtable.page.methods import Request, request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MAX_ENCODINGS = 8
"""How many nested encodings of a body are decoded."""
MAX_CHUNKS = 1_000_000
"""How many chunks of a body are joined."""

_SLICE = 1 << 14
_MAX_NAME = 100
_GZIP = b"\x1f\x8b"
# A frame, or one to be skipped (RFC 8878, section 3.1).
_ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
# zstd returns all decompressed data at once, up to 32 KB for each byte of input.
_ZSTD_SLICE = 1 << 10
# The window that RFC 9659 allows for a content encoding.
_ZSTD_WINDOW = 1 << 23
# `HTTP/1.x` stands in an example of ISO 28500, `ICY` before SHOUTcast streams; status 0 is of requests that never left
# the browser.
_STATUS_LINE = re.compile(rb"(?:HTTP/[\dx](?:\.[\dx])?|ICY)[ \t]+(\d{3}|0)(?!\d)", re.IGNORECASE)
_REQUEST_LINE = re.compile(rb"([A-Za-z0-9!#$%&'*+.^_`|~-]{1,40})[ \t]+[^ \t\r\n]")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_BEGINS_WITH_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,15}[ \t]*(?:;|\r?\n|\r?\Z)")
_LINE_END = re.compile(rb"\r?\n|\r?\Z")


class Response(NamedTuple):
    """The parts of a response; `body` is still encoded."""

    status: int
    headers: Headers
    body: bytes


def parse_response(block: bytes, limits: ReadLimits = DEFAULT_LIMITS) -> Response:
    """Return the parts of the response *block*; interim responses (status 1xx) before it are skipped.

    Raises `Damaged` if there is none, `OverLimit` for a head that is too long or has too many fields.
    """
    at = 0
    while True:
        status_line = _STATUS_LINE.match(block, at)
        if status_line is None:
            begins = block[at : at + 20]
            raise Damaged("it has no HTTP response:  " + (f"it begins {begins!r}" if begins else "it is empty"))
        end = _HEAD_END.search(block, at, at + limits.head)
        if end is None and len(block) - at > limits.head:
            raise OverLimit("head", f"the head of its response has over {limits.head:,} bytes")
        start, stop = end.span() if end else (len(block), len(block))
        status = int(status_line[1])
        if not (100 <= status < 200 and block.startswith(b"HTTP/", stop)):
            return Response(status, parse_headers(block[at:start], limits.fields), block[stop:])
        at = stop


def method_of(block: bytes) -> str | None:
    """Return the method of the HTTP request *block*, in upper case; None if it is none."""
    request_line = _REQUEST_LINE.match(block)
    return None if request_line is None else request_line[1].decode("ascii").upper()


def parse_request(block: bytes, limits: ReadLimits = DEFAULT_LIMITS) -> Request | None:
    """The HTTP request in *block*; None if it is none. Of one over a limit only the method is known."""
    method = method_of(block)
    if method is None:
        return None
    end = _HEAD_END.search(block, 0, limits.head)
    if end is None:
        return request_of(method, None, None, b"")
    try:
        headers = parse_headers(block[: end.start()], limits.fields)
        content = decoded_body(Response(200, headers, block[end.end() :]), limits).body
    except Damaged:
        return Request(method)
    return request_of(method, headers.get("content-type"), headers.get("content-length"), content)


def parse_headers(head: bytes, limit: int | None = None) -> Headers:
    r"""Return the headers below the first line of *head*.

    Raises `OverLimit` for more than *limit* fields.

    >>> parse_headers(b"HTTP/1.1 200 OK\r\nVary: a\r\nVARY:b")
    Headers({'Vary': 'a, b'})
    """
    names, values = _fields(head, limit)
    return Headers.as_stored({names[key]: joined_lines(key, lines) for key, lines in values.items()})


def parse_record_fields(head: bytes) -> dict[str, str]:
    r"""Return the fields below the first line of *head*, of a WARC record, by their names in lower case.

    >>> parse_record_fields(b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length:7")
    {'warc-type': 'response', 'content-length': '7'}
    """
    return {key: ", ".join(lines) for key, lines in _fields(head, None)[1].items()}


def _fields(head: bytes, limit: int | None) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the spelling and the lines of the value of each field, by its name in lower case."""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        # Each by itself: one that is no UTF-8 says nothing of the others.
        text = "\n".join(map(_line_text, head.split(b"\n")))
    names: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    count = 0
    lines = text.split("\n")[1:]
    for line in _unfolded(lines) if "\n " in text or "\n\t" in text else lines:
        name, colon, value = line.partition(":")
        name = name.strip()
        if not (colon and name):
            continue
        count += 1
        if limit is not None and count > limit:
            raise OverLimit("fields", f"its response has over {limit:,} header fields")
        key = name.lower()
        if key in values:
            values[key].append(value.strip())
        else:
            names[key], values[key] = name, [value.strip()]
    return names, values


def _unfolded(lines: Iterable[str]) -> Iterator[str]:
    """Yield *lines*, each with those that continue it (RFC 9112, section 5.2); a value may begin on the second."""
    parts: list[str] = []
    for line in lines:
        if line[:1] not in {" ", "\t"}:
            yield " ".join(parts)
            parts = []
        parts.append(line.strip())
    yield " ".join(parts)


def _line_text(line: bytes) -> str:
    name, colon, value = line.partition(b":")
    if not colon:
        return header_text("", line)
    text = header_text("", name)
    return f"{text}:{header_text(text.strip().lower(), value)}"


def payloads(block: bytes, limits: ReadLimits) -> Iterator[bytes]:
    """Yield what writers take for the payload of the response *block*: its body as it is, unchunked, and decoded.

    WARC 1.1 does not say whether it has the transfer encodings; crawlers that store decoded bodies digest these.
    """
    response = parse_response(block, limits)
    yield response.body
    if "transfer-encoding" in response.headers:
        yield _unchunked(response.body)[0]
    yield decoded_body(response, limits).body


class Decoded(NamedTuple):
    """A body without its encodings, and the reason why it is not what its headers say; None if it is."""

    body: bytes
    problem: str | None = None


def decoded_body(response: Response, limits: ReadLimits = DEFAULT_LIMITS, *, cut: bool = False) -> Decoded:
    """Return the body of *response* without transfer and content encodings.

    A body that begins as HTML is not encoded, whatever the headers say: many crawlers store the body decoded and the
    headers as received. Any other body that an encoding does not fit is kept as it is, as one in an unknown encoding
    is (Fetch standard, "handle content codings"); of an encoding that breaks off, the part before is kept. Each has
    a `problem`, and so has a body that was *cut* or is shorter than its Content-Length. Raises `Damaged` for a body
    of too many encodings or chunks, `OverLimit` for one that is too large.
    """
    headers, body = response.headers, response.body
    transfers = _encodings(headers.get("transfer-encoding"))
    encodings = _encodings(headers.get("content-encoding")) + [name for name in transfers if name != "chunked"]
    problems = ["WARC-Truncated"] if cut else []
    if not (transfers or encodings or cut) and _is_short(response):
        problems.append("Content-Length")
    if not body or looks_like_html(body):
        encodings, transfers = [], []
    # What does not begin with the size of a chunk was stored without chunks, as by older tools of Webrecorder.
    if "chunked" in transfers and _BEGINS_WITH_CHUNK.match(body):
        body, is_whole = _unchunked(body)
        problems += [] if is_whole else ["chunked"]
    if len(encodings) > MAX_ENCODINGS:
        raise Damaged(f"its body has {len(encodings):,} encodings; {MAX_ENCODINGS} are decoded at most")
    for name in reversed(encodings):
        body, is_whole = _without(name, body, limits)
        problems += [] if is_whole else [name[:_MAX_NAME]]
    return Decoded(body, next(iter(problems), None))


def content_decoded(body: bytes, encodings: str) -> Decoded:
    """Return *body* without its content *encodings*, as `decoded_body` does; raises the same."""
    return decoded_body(Response(200, Headers({"content-encoding": encodings}), body))


def _encodings(value: str | None) -> list[str]:
    names = [name.strip().lower() for name in (value or "").split(",")]
    return [name for name in names if name not in {"", "identity", "none", "utf-8"}]


def _is_short(response: Response) -> bool:
    """Whether the body is shorter than its Content-Length; crawlers leave out those of redirects and errors."""
    length = response.headers.get("content-length", "").partition(",")[0].strip()
    if not (length.isascii() and length.isdecimal() and len(length) < 16) or len(response.body) >= int(length):
        return False
    return bool(response.body) or 200 <= response.status < 300


def _unchunked(body: bytes) -> tuple[bytes, bool]:
    """Return *body* without the chunked transfer coding (RFC 9112, section 7.1), and whether it was whole.

    A body that does not hold to it in its first chunk is returned as it is, unless it ends within that chunk.
    """
    parts: list[bytes] = []
    at = 0
    for _ in range(MAX_CHUNKS):
        size_line = _CHUNK_SIZE.match(body, at)
        if size_line is None:
            break
        size = int(size_line[1], 16)
        if size == 0:
            return b"".join(parts), True
        stop = size_line.end() + size
        end = _LINE_END.match(body, stop)
        if end is not None or parts:
            parts.append(body[size_line.end() : stop])
        if end is None:
            break
        at = end.end()
    else:
        raise Damaged(f"its body has over {MAX_CHUNKS:,} chunks")
    return (b"".join(parts) if parts else body), False


def _without(name: str, body: bytes, limits: ReadLimits) -> tuple[bytes, bool]:
    """Return *body* without the encoding *name*, and whether it was whole and in that encoding."""
    decoder = _DECODERS.get(name)
    if decoder is None or not body:
        return body, decoder is not None
    parts: list[bytes] = []
    size = 0
    try:
        for part in decoder(body, limits.members):
            size += len(part)
            if size > limits.record:
                raise OverLimit("record", f"its {name} body decodes to over {limits.record:,} bytes")
            if part:
                parts.append(part)
    except _NotEncoded:
        return body, False
    except EOFError:
        return b"".join(parts), False
    except (zlib.error, zstandard.ZstdError, OSError):
        return (b"".join(parts) if parts else body), False
    return b"".join(parts), True


class _NotEncoded(Exception):
    """The body is not in the encoding."""


def _gunzipped(body: bytes, members: int) -> Iterator[bytes]:
    if not body.startswith(_GZIP[: len(body)]):
        raise _NotEncoded
    return _inflated(body, members, 31)


def _inflated(body: bytes, members: int, wbits: int) -> Iterator[bytes]:
    at = 0
    for _ in range(members):
        member = zlib.decompressobj(wbits)
        while not member.eof:
            # A slice, because the rest after a member is copied.
            data = body[at : at + _SLICE]
            before = member.copy()
            try:
                part = member.decompress(data, 1 << 20)
            except zlib.error:
                yield from _up_to_damage(before, data)
                raise
            at += len(data) - len(member.unused_data if member.eof else member.unconsumed_tail)
            yield part
            if not (part or data or member.eof):
                raise EOFError("it ends too early")
        if not body.startswith(_GZIP, at):
            return  # data after the stream is padding; browsers skip it as well
    raise OverLimit("members", f"its body has over {members:,} gzip members")


def _up_to_damage(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield what *member* makes of *data* up to its damage: it keeps nothing of a call that fails."""
    with suppress(zlib.error):
        for at in range(len(data)):
            yield member.decompress(data[at : at + 1])


def _deflate_decoded(body: bytes, members: int) -> Iterator[bytes]:
    """Decode `deflate`, which is zlib's format in RFC 9110, and raw deflate as some servers send it."""
    is_zlib = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _unless_text(body, lambda: _inflated(body, members, 15 if is_zlib else -15))


def _brotli_decoded(body: bytes, members: int) -> Iterator[bytes]:  # noqa: ARG001 - Brotli has no members
    return _unless_text(body, lambda: _brotli_parts(body))


def _unless_text(body: bytes, decoded: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """Yield what is *decoded*; of an encoding without a signature, text that cannot be decoded was never encoded."""
    try:
        yield from decoded()
    except (zlib.error, OSError, EOFError) as exc:
        if is_text(body, "utf-8", "text/plain"):
            raise _NotEncoded from exc
        raise


def _brotli_parts(body: bytes) -> Iterator[bytes]:
    size = 0
    try:
        reader = BrotliReader(io.BytesIO(body))
        while part := reader.read(1 << 20):
            yield part
            size += len(part)
    except OSError:
        # It keeps nothing of a call that fails, nor of the input of such a call: it gets and gives little from there.
        reader = BrotliReader(_Dripping(body))
        while size and (skipped := reader.read(min(size, 1 << 20))):
            size -= len(skipped)
        while part := reader.read(1 << 6):
            yield part
        raise


class _Dripping(io.BytesIO):
    """Bytes of which few are read at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(1 << 6 if size is None or size < 0 else min(size, 1 << 6))


def _unzstd(body: bytes, frames: int) -> Iterator[bytes]:
    if not _ZSTD.match(body):
        raise _NotEncoded
    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    at = 0
    for _ in range(frames):
        if at == len(body):
            return
        frame = context.decompressobj()
        while not frame.eof:
            data = body[at : at + _ZSTD_SLICE]
            if not data:
                raise EOFError("it ends too early")
            yield frame.decompress(data)
            at += len(data) - len(frame.unused_data)
    if at < len(body):
        raise OverLimit("members", f"its body has over {frames:,} zstd frames")


_DECODERS: dict[str, Callable[[bytes, int], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _deflate_decoded,
    "br": _brotli_decoded,
    "zstd": _unzstd,
}

"""Parsing of HTTP responses as crawlers store them: the head, and the body without its encodings."""

from __future__ import annotations

import io
import re
import zlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import zstandard
from fastwarc.stream_io import BrotliReader

from webtable._limits import DEFAULT_LIMITS, ReadLimits
from webtable._page.body import looks_like_html
from webtable._page.headers import Headers, header_text
from webtable.formats.read_report import Damaged, OverLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_ENCODINGS = 8
"""How many nested encodings of a body are decoded."""
MAX_CHUNKS = 1_000_000
"""How many chunks of a body are joined."""

_SLICE = 1 << 14
# zstd returns all decompressed data at once, up to 32 KB for each byte of input.
_ZSTD_SLICE = 1 << 10
# The window that RFC 9659 allows for a content encoding.
_ZSTD_WINDOW = 1 << 23
_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_BEGINS_WITH_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,15}[ \t]*(?:;|\r?\n|\r?\Z)")
_LINE_END = re.compile(rb"\r?\n")


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
        found = _STATUS_LINE.match(block, at)
        if found is None:
            begins = block[at : at + 20]
            raise Damaged("it has no HTTP response:  " + (f"it begins {begins!r}" if begins else "it is empty"))
        end = _HEAD_END.search(block, at, at + limits.head)
        if end is None and len(block) - at > limits.head:
            raise OverLimit("head", f"the head of its response has over {limits.head:,} bytes")
        start, stop = end.span() if end else (len(block), len(block))
        status = int(found[1])
        if not (100 <= status < 200 and block.startswith(b"HTTP/", stop)):
            return Response(status, parse_headers(block[at:start], limits.fields), block[stop:])
        at = stop


def parse_headers(head: bytes, most: int | None = None) -> Headers:
    r"""Return the headers below the first line of *head*.

    Raises `OverLimit` for more than *most* fields.

    >>> parse_headers(b"HTTP/1.1 200 OK\r\nVary: a\r\nVARY:b")
    Headers({'Vary': 'a, b'})
    """
    try:
        text = head.decode()
    except UnicodeDecodeError:
        # Each by itself: one that is no UTF-8 says nothing of the others.
        text = "\n".join(map(_line_text, head.split(b"\n")))
    names: dict[str, str] = {}  # by their lower case, as first spelled
    values: dict[str, list[str]] = {}
    count = 0
    field = ""
    for line in text.split("\n")[1:]:
        if line[:1] in {" ", "\t"} and field:
            values[field] += [" ", line.strip()]
            continue
        name, colon, value = line.partition(":")
        field = name.strip() if colon else ""
        if field:
            count += 1
            if most is not None and count > most:
                raise OverLimit("fields", f"its response has over {most:,} header fields")
            field = names.setdefault(field.lower(), field)
            if field in values:
                values[field].append(", ")
            values.setdefault(field, []).append(value.strip())
    return Headers.as_stored({name: "".join(parts) for name, parts in values.items()})


def _line_text(line: bytes) -> str:
    name, colon, value = line.partition(b":")
    if not colon:
        return header_text("", line)
    text = header_text("", name)
    return f"{text}:{header_text(text.strip().lower(), value)}"


def decoded_body(response: Response, limits: ReadLimits = DEFAULT_LIMITS, *, cut: bool = False) -> bytes:
    """Return the body of *response* without transfer and content encodings; of one that was *cut*, the available part.

    A body that begins as HTML is not encoded, whatever the headers say: many crawlers store the body decoded and the
    headers as received. Raises `Damaged` for a body that is incomplete, `OverLimit` for one that is too large.
    """
    headers, body = response.headers, response.body
    transfers = _encodings(headers.get("transfer-encoding"))
    encodings = _encodings(headers.get("content-encoding")) + [name for name in transfers if name != "chunked"]
    if not (transfers or encodings or cut) and 200 <= response.status < 300:
        _check_length(headers, body)
    if not body or looks_like_html(body):
        return body
    # What does not begin with the size of a chunk was stored without chunks, as by older tools of Webrecorder.
    if "chunked" in transfers and _BEGINS_WITH_CHUNK.match(body):
        body = b"".join(_chunks(body, cut=cut))
    if len(encodings) > MAX_ENCODINGS:
        raise Damaged(f"its body has {len(encodings):,} encodings; {MAX_ENCODINGS} are decoded at most")
    for name in reversed(encodings):
        body = _without(name, body, limits, cut=cut)
    return body


def _encodings(value: str | None) -> list[str]:
    names = [name.strip().lower() for name in (value or "").split(",")]
    return [name for name in names if name not in {"", "identity", "none", "utf-8"}]


def _check_length(headers: Mapping[str, str], body: bytes) -> None:
    announced = headers.get("content-length", "").partition(",")[0]
    if announced.isdecimal() and len(announced) < 16 and len(body) < int(announced):
        raise Damaged(f"its body has {len(body):,} bytes but Content-Length says {int(announced):,}")


def _chunks(body: bytes, *, cut: bool) -> Iterator[bytes]:
    """Decode the chunked transfer coding (RFC 9112, section 7.1)."""
    at = 0
    for _ in range(MAX_CHUNKS):
        found = _CHUNK_SIZE.match(body, at)
        if found is None:
            break
        size = int(found[1], 16)
        if size == 0:
            return
        data = body[found.end() : found.end() + size]
        if len(data) == size:
            end = _LINE_END.match(body, found.end() + size)
            at = end.end() if end else len(body)
        if len(data) < size or (end is None and not cut):
            if cut:
                yield data
                return
            break
        yield data
    else:
        raise Damaged(f"its body has over {MAX_CHUNKS:,} chunks")
    if not cut:
        raise Damaged(f"its chunked body is damaged at byte {at:,}")


def _without(name: str, body: bytes, limits: ReadLimits, *, cut: bool) -> bytes:
    decoder = _DECODERS.get(name)
    if decoder is None:
        raise Damaged(f"its content encoding {name[:100]!r} is unknown")
    parts: list[bytes] = []
    size = 0
    try:
        for part in decoder(body, limits.members):
            size += len(part)
            if size > limits.record:
                raise OverLimit("record", f"its {name} body decodes to over {limits.record:,} bytes")
            if part:
                parts.append(part)
    except (zlib.error, zstandard.ZstdError, OSError, EOFError) as exc:
        if not cut:
            raise Damaged(f"its {name} body is damaged: {exc}") from exc
    return b"".join(parts)


def _inflated(body: bytes, most: int, wbits: int) -> Iterator[bytes]:
    at = 0
    for _ in range(most):
        member = zlib.decompressobj(wbits)
        while not member.eof:
            # A slice, because the rest after a member is copied.
            given = body[at : at + _SLICE]
            part = member.decompress(given, 1 << 20)
            at += len(given) - len(member.unused_data if member.eof else member.unconsumed_tail)
            yield part
            if not (part or given or member.eof):
                raise EOFError("it ends too early")
        if not body.startswith(b"\x1f\x8b", at):
            # Data after the stream is padding; browsers skip it as well.
            return
    raise OverLimit("members", f"its body has over {most:,} gzip members")


def _deflate_decoded(body: bytes, most: int) -> Iterator[bytes]:
    """Decode `deflate`, which is zlib's format in RFC 9110, and raw deflate as some servers send it."""
    is_zlib = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflated(body, most, 15 if is_zlib else -15)


def _brotli_decoded(body: bytes, most: int) -> Iterator[bytes]:  # noqa: ARG001 - Brotli has no members
    reader = BrotliReader(io.BytesIO(body))
    while part := reader.read(1 << 20):
        yield part


def _unzstd(body: bytes, most: int) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    at = 0
    for _ in range(most):
        if at == len(body):
            return
        frame = context.decompressobj()
        while not frame.eof:
            given = body[at : at + _ZSTD_SLICE]
            if not given:
                raise EOFError("it ends too early")
            yield frame.decompress(given)
            at += len(given) - len(frame.unused_data)
    if at < len(body):
        raise OverLimit("members", f"its body has over {most:,} zstd frames")


_DECODERS: dict[str, Callable[[bytes, int], Iterator[bytes]]] = {
    "gzip": partial(_inflated, wbits=31),
    "x-gzip": partial(_inflated, wbits=31),
    "deflate": _deflate_decoded,
    "br": _brotli_decoded,
    "zstd": _unzstd,
}

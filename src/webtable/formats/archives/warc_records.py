"""Captures as WARC records (ISO 28500, WARC 1.1): a response, or a revisit that names what it repeats.

Bodies are stored without their transfer and content encodings, so the headers that tell of these, and a length that is
not that of the body, are written with `X-Archive-Orig-` in front of their names: a reader would take the body for
encoded. The record lists them as `WebTable-Renamed`, by which `read_pages` gives them their names again. A charset that
the headers do not tell, such as one that a 304 has left out, is in `WebTable-Charset`.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from webtable._digests import algorithm_of
from webtable._encodings import codec_name
from webtable._headers import media_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webtable._page import Page

ORIGINAL = "X-Archive-Orig-"
"""What stands in front of the names of headers that do not fit the body as it is written."""
RENAMED = "WebTable-Renamed"
"""The field of a record that lists the names of those headers."""
CHARSET = "WebTable-Charset"
"""The field of a record that has the charset of the page where its headers tell none, or another one."""
RESPONSE = "application/http; msgtype=response"
REVISIT = "http://netpreserve.org/warc/1.1/revisit/"
"""What the profile of a revisit begins with; `identical-payload-digest` or `server-not-modified` is its end."""
_LINE_ENDS = re.compile(r"[\r\n]+")
_NOT_MODIFIED = 304


class Written(NamedTuple):
    """What is known of a record that is in its file: its ID, and the digest of its payload."""

    id: str
    digest: str


class Record(NamedTuple):
    """A record in parts, of which the body is one: `parts` follow one another in the file."""

    id: str
    kind: str
    digest: str
    """That of the payload, or of the one that is repeated, as in sha256:…"""
    parts: tuple[bytes, ...]


def warcinfo(filename: str, software: str, now: datetime) -> Record:
    """Return the record that opens the file *filename*."""
    block = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    return record("warcinfo", now, [("WARC-Filename", filename)], (block,), media="application/warc-fields")


def capture(page: Page, info: str, repeated: Written | None = None) -> Record:
    """Return the record of the capture *page*; *info* is the ID of the file's warcinfo record.

    Without a body it is a revisit: of its own URL at its `content_at` where that is another date, whose record
    is *repeated*. A 304 is a response all the same.
    """
    renamed = _misfits(page)
    block = (_head(page, renamed), page.html or b"")
    is_revisit = page.html is None and page.status_code != _NOT_MODIFIED
    fields = [
        ("WARC-Target-URI", page.url),
        *(_repetition(page, repeated) if is_revisit else ()),
        *((("WARC-Payload-Digest", digest),) if (digest := _payload_digest(page, repeated)) else ()),
        *((("WARC-Truncated", "length"),) if page.truncated and not is_revisit else ()),
        *_identified(page),
        *(((RENAMED, ", ".join(renamed)),) if renamed else ()),
        ("WARC-Warcinfo-ID", info),
    ]
    kind = "revisit" if is_revisit else "response"
    return record(kind, page.fetched_at, fields, block, digest=digest)


def _repetition(page: Page, repeated: Written | None) -> Iterator[tuple[str, str]]:
    yield "WARC-Profile", f"{REVISIT}identical-payload-digest"
    if repeated:
        yield "WARC-Refers-To", repeated.id
    yield "WARC-Refers-To-Target-URI", page.url
    if page.content_at is not None and page.content_at < page.fetched_at:
        yield "WARC-Refers-To-Date", date_text(page.content_at)


def _payload_digest(page: Page, repeated: Written | None) -> str:
    """Return the digest of the body as it is written, or of the one that is repeated; empty where nobody knows it.

    It is SHA-256, because readers know that; another one only where a body that is not here has no other.
    """
    is_known = page.digest is not None and algorithm_of(page.digest) == "sha256"
    if page.html is not None and (page.truncated or not is_known):
        return sha256(page.html)
    if page.digest is None:
        return ""
    if is_known:
        return f"sha256:{page.digest.removeprefix('sha256:')}"
    return (repeated.digest if repeated and page.html is None else "") or page.digest


def date_text(moment: datetime) -> str:
    """Return a WARC-Date: with milliseconds where there are any."""
    moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")


def sha256(*parts: bytes) -> str:
    """Return the digest of *parts*, one behind the other, as WARC and WACZ have it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"


def record(
    kind: str,
    moment: datetime,
    fields: Iterable[tuple[str, str]],
    block: tuple[bytes, ...],
    *,
    media: str = RESPONSE,
    digest: str = "",
    identity: uuid.UUID | None = None,
) -> Record:
    """Return a record of that *kind*, with a new ID unless one is given; *fields* stand between date and digest."""
    name = f"<urn:uuid:{identity or uuid.uuid4()}>"
    all_fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", name),
        ("WARC-Date", date_text(moment)),
        *fields,
        ("WARC-Block-Digest", sha256(*block)),
        ("Content-Type", media),
        ("Content-Length", str(sum(map(len, block)))),
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in all_fields)
    return Record(name, kind, digest, (f"WARC/1.1\r\n{head}\r\n".encode(), *block, b"\r\n\r\n"))


def _head(page: Page, renamed: Sequence[str]) -> bytes:
    """Return the head of the response; a line end in a header would begin another one, and becomes a space."""
    try:
        phrase = HTTPStatus(page.status_code).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {page.status_code:03d} {phrase}"]
    for name, value in page.headers.items():
        prefix = ORIGINAL if name.lower() in renamed else ""
        lines.append(f"{prefix}{_LINE_ENDS.sub(' ', name).strip()}: {_LINE_ENDS.sub(' ', value)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _misfits(page: Page) -> list[str]:
    """Return the headers of *page*, in lower case, that do not fit its body as it is written."""
    headers = page.headers
    length = page.size if page.html is None else len(page.html)
    misfits = [name for name in ("content-encoding", "transfer-encoding") if name in headers]
    if "content-length" in headers and length is not None and headers["content-length"].strip() != str(length):
        misfits.append("content-length")
    return misfits


def _identified(page: Page) -> Iterator[tuple[str, str]]:
    """Yield the media type and the charset of *page* where its headers do not tell them."""
    media, charset = media_type(page.headers.get("content-type"))
    if page.content_type and media is None:
        yield "WARC-Identified-Payload-Type", _LINE_ENDS.sub(" ", page.content_type)
    if page.charset and page.charset != codec_name(charset):
        yield CHARSET, _LINE_ENDS.sub(" ", page.charset)

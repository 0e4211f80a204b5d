"""Captures as WARC records (ISO 28500, WARC 1.1): responses, and revisits that name the record they repeat.

Bodies are stored without their transfer and content encodings. So the headers that describe these, and a length that is
not that of the body, are written with the prefix `X-Archive-Orig-`: a reader would take the body for encoded. The field
`WebTable-Renamed` lists them, and `read_pages` restores their names. Everything else about the page that a reader would
not find in the record is in the field `WebTable-Page`; to know that, each record is read back before it is written.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.formats.page_field import FIELD, NAMES, NOT_MODIFIED, as_given, field_value
from webtable.formats.read_report import Damaged, LeftOut
from webtable.formats.warc import ORIGINAL, RENAMED, page_of_record
from webtable.page.body import algorithm_of
from webtable.page.completion import filled
from webtable.page.headers import media_type
from webtable.page.json_lines import values_of
from webtable.page.page import Page
from webtable.page.parts import SAID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

RESPONSE = "application/http; msgtype=response"
REVISIT = "http://netpreserve.org/warc/1.1/revisit/"
"""The beginning of the profile of a revisit, before `identical-payload-digest` or `server-not-modified`."""
_LINE_ENDS = re.compile(r"[\r\n]+")


class Written(NamedTuple):
    """A record that was written: its ID, and the digest of its payload."""

    id: str
    digest: str


class WARCRecord(NamedTuple):
    """A record as the `parts` that follow one another in the file; the body is one of them."""

    id: str
    kind: str
    digest: str
    """The digest of the payload, or of the one that is repeated, as in sha256:…"""
    parts: tuple[bytes, ...]
    left_out: tuple[str, ...] = ()
    """The fields of the page that are too long for the record."""


def warcinfo(filename: str, software: str, now: datetime) -> WARCRecord:
    """Return the record that opens the file *filename*."""
    block = f"software: {software}\r\nformat: WARC File Format 1.1\r\n".encode()
    return record("warcinfo", now, [("WARC-Filename", filename)], (block,), media="application/warc-fields")


def capture(page: Page, info: str, repeated: Written | None = None) -> WARCRecord:
    """Return the record of the capture *page*; *info* is the ID of the file's warcinfo record.

    A capture that repeats the content of its URL at its `content_at`, whose record is *repeated*, is a revisit of that.
    A capture without a body but with a known digest is a revisit that refers to no other record. A capture without a
    digest becomes a response that is truncated before its body. A 304 is a response as well.
    """
    given = as_given(page)
    renamed = _misfits(page)
    is_revisit = _is_revisit(page, given)
    fields = [
        ("WARC-Target-URI", page.url),
        *(_repetition(given, repeated) if is_revisit else ()),
        *((("WARC-Payload-Digest", digest),) if (digest := _payload_digest(page, repeated)) else ()),
        *_truncated(given),
        *_identified(page),
        *(((RENAMED, ", ".join(renamed)),) if renamed else ()),
    ]
    kind = "revisit" if is_revisit else "response"
    head, extra = _head_and_extra(given, kind, fields, _head(page, renamed))
    text, left_out = field_value(extra)
    fields += [*(((FIELD, text),) if extra else ()), ("WARC-Warcinfo-ID", info)]
    made = record(kind, page.fetched_at, fields, (head, page.body or b""), digest=digest)
    return made._replace(left_out=tuple(left_out))


def _is_revisit(page: Page, given: Page) -> bool:
    if page.body is not None or page.status == NOT_MODIFIED:
        return False
    return given.same_as is not None or given.digest is not None


def _repetition(given: Page, repeated: Written | None) -> Iterator[tuple[str, str]]:
    yield "WARC-Profile", f"{REVISIT}identical-payload-digest"
    if given.same_as is None:
        return
    if repeated:
        yield "WARC-Refers-To", repeated.id
    yield "WARC-Refers-To-Target-URI", given.same_as
    if (content_at := given.stored.content_at or given.stored.repeats_at) is not None:
        yield "WARC-Refers-To-Date", date_text(content_at)


def _truncated(given: Page) -> Iterator[tuple[str, str]]:
    if given.truncated and given.body is not None:
        yield "WARC-Truncated", "length"
    elif given.body is None and given.same_as is None and given.digest is None and given.status != NOT_MODIFIED:
        yield "WARC-Truncated", "unspecified"


def _head_and_extra(
    given: Page, kind: str, fields: Sequence[tuple[str, str]], head: bytes
) -> tuple[bytes, dict[str, Any]]:
    """Return the head of the response, and the fields of the page *given* that cannot be read from the record.

    If the record could not be read with these headers, the response is written without them.
    """
    extra: dict[str, Any] = {}
    if given.same_as is None and (kind == "revisit" or given.status == NOT_MODIFIED):
        extra["same_as"] = None
    if given.same_as not in (None, given.url) and given.status == NOT_MODIFIED:
        extra["same_as"] = given.same_as
    if given.same_as is None and given.body is None:
        extra["body"] = None
    for some in (head, head.partition(b"\r\n")[0] + b"\r\n\r\n"):
        try:
            found = _read_again(given, kind, fields, some, extra)
        except (Damaged, LeftOut):
            continue
        if found.body == given.body:
            return some, extra | _differences(given, found)
    return some, extra | _differences(given, Page(url=given.url, fetched_at=given.fetched_at)) | {"body": given.body}


def _read_again(
    given: Page, kind: str, fields: Sequence[tuple[str, str]], head: bytes, extra: Mapping[str, Any]
) -> Page:
    known = [("WARC-Type", kind), ("WARC-Date", date_text(given.fetched_at)), *fields]
    if extra:
        known.append((FIELD, field_value(extra)[0]))
    return filled(page_of_record(known, head + (given.body or b"")))[0]


def _differences(given: Page, found: Page) -> dict[str, Any]:
    """Return the fields of *given* that matter for its kind and that *found* lacks."""
    compared_already = ("body", "same_as", *_measured(given))
    names = [name for name in NAMES if name not in compared_already]
    own, others = values_of(given, names), values_of(found, names)
    extra = {name: value for name, value in own.items() if value != others[name]}
    if any(value is None and name in SAID for name, value in extra.items()) or (
        given.body is not None and "html_facts" in extra
    ):
        # A page with links and `html_facts` has all that its HTML says.
        extra |= own
    return {name: value for name, value in extra.items() if value is not None}


def _measured(given: Page) -> tuple[str, ...]:
    """Return the fields that are extracted from the body of *given*, whatever the record says."""
    is_told = given.body is None or (given.truncated and (given.size or 0) > len(given.body))
    return () if is_told else ("digest", "size")


def _payload_digest(page: Page, repeated: Written | None) -> str:
    """Return the digest of the body as it is written, or of the one that is repeated; empty if it is unknown.

    It is SHA-256, which readers know; another algorithm only if the body is missing and has no other digest.
    """
    is_known = page.digest is not None and algorithm_of(page.digest) == "sha256"
    if page.body is not None and (page.truncated or not is_known):
        return sha256(page.body)
    if page.digest is None:
        return (page.stored.payload_digest or "") if page.same_as is not None else ""
    if is_known:
        return f"sha256:{page.digest.removeprefix('sha256:')}"
    return (repeated.digest if repeated and page.body is None else "") or page.digest


def date_text(moment: datetime) -> str:
    """Return a WARC-Date: with milliseconds if they are not 0."""
    moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")


def sha256(*parts: bytes) -> str:
    """Return the digest of the concatenated *parts* in the format of WARC and WACZ."""
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
) -> WARCRecord:
    """Return a record of this *kind*, with a new ID unless one is given; *fields* come between date and digest."""
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
    return WARCRecord(name, kind, digest, (f"WARC/1.1\r\n{head}\r\n".encode(), *block, b"\r\n\r\n"))


def _head(page: Page, renamed: Sequence[str]) -> bytes:
    """Return the head of the response; a line end in a header, which would begin another header, becomes a space."""
    try:
        phrase = HTTPStatus(page.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {page.status:03d} {phrase}"]
    for name, value in page.headers.items():
        prefix = ORIGINAL if name.lower() in renamed else ""
        lines.append(f"{prefix}{_LINE_ENDS.sub(' ', name).strip()}: {_LINE_ENDS.sub(' ', value)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _misfits(page: Page) -> list[str]:
    """Return the headers of *page*, in lower case, that do not fit its body as it is written."""
    headers = page.headers
    length = page.size if page.body is None else len(page.body)
    misfits = [name for name in ("content-encoding", "transfer-encoding") if name in headers]
    if "content-length" in headers and length is not None and headers["content-length"].strip() != str(length):
        misfits.append("content-length")
    return misfits


def _identified(page: Page) -> Iterator[tuple[str, str]]:
    """Yield the media type of *page* if its headers do not say it."""
    if page.content_type and media_type(page.headers.get("content-type"))[0] is None:
        yield "WARC-Identified-Payload-Type", _LINE_ENDS.sub(" ", page.content_type)

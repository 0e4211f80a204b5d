"""Captures as they are put again, as WARC records (ISO 28500, WARC 1.1), as lines of a CDXJ index, and WARC files."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import uuid
import zlib
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webtable._clock import clock
from webtable.formats.read_report import Damaged, LeftOut
from webtable.formats.urlkey import surt
from webtable.formats.warc import FAILED, FIELD, FIELD_NAMES, MOST_OF_FIELD, ORIGINAL, RENAMED, page_of_record
from webtable.page.body import algorithm_of
from webtable.page.facts import filled, html_facts
from webtable.page.headers import address_of, media_type, protocol_of
from webtable.page.json_lines import page_with, values_of
from webtable.page.methods import GET, split_request
from webtable.page.page import Page
from webtable.page.parts import SAID
from webtable.repository.page_storage.state import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webtable.repository.failed_fetches import FailedFetch


# --- Captures as they are put again -----------------------------------------------------------------------------------


NOT_MODIFIED = 304


def as_put(page: Page) -> Page:
    """The capture *page*, which `kept` has returned, in the form in which it must be put to become the same.

    It names what its HTML says, so that nothing more is looked for in that. An open revisit says what it repeats. Where
    that does not follow otherwise, the `content_at` of another capture says whether it is a separate version or repeats
    the content of a date: the two must not be confused, nor taken for a repeat of older content.
    """
    capture = replace(page_with(values_of(page, GIVEN)), _html_facts=html_facts(page))
    if page.stored.content_at == page.fetched_at or page.same_as is not None:
        return capture
    if page.body is not None:
        return replace(capture, _content_at=None)
    return replace(capture, same_as=page.url, truncated=False, outlinks=None)


# --- WARC records: responses, and revisits that name the record they repeat -------------------------------------------
#
# Bodies are stored without their transfer and content encodings. So the headers that describe these, and a length
# that is not that of the body, are written with the prefix `X-Archive-Orig-`: a reader would take the body for
# encoded. The field `WebTable-Renamed` lists them, and `read_pages` restores their names. Everything else about the
# page that a reader would not find in the record is in the field `WebTable-Page`; to know that, each record is read
# back before it is written.


RESPONSE = "application/http; msgtype=response"
REVISIT = "http://netpreserve.org/warc/1.1/revisit/"
"""The beginning of the profile of a revisit, before `identical-payload-digest` or `server-not-modified`."""
_LINE_ENDS = re.compile(r"[\r\n]+")


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
    return new_record("warcinfo", now, [("WARC-Filename", filename)], (block,), media="application/warc-fields")


def capture_record(page: Page, info: str, repeated: WARCRecord | None = None) -> WARCRecord:
    """Return the record of the capture *page*; *info* is the ID of the file's warcinfo record.

    A capture that repeats the content of its URL at its `content_at`, whose record is *repeated*, is a revisit of that.
    A capture without a body but with a known digest is a revisit that refers to no other record. A capture without a
    digest becomes a response that is truncated before its body. A 304 is a response as well.
    """
    expected = as_put(page)
    renamed = _misfits(page)
    is_revisit = _is_revisit(page, expected)
    fields = [
        ("WARC-Target-URI", page.url),
        *(_repetition(expected, repeated) if is_revisit else ()),
        *((("WARC-Payload-Digest", digest),) if (digest := _payload_digest(page, repeated)) else ()),
        *_truncated(expected),
        *_connection(page),
        *_identified(page),
        *(((RENAMED, ", ".join(renamed)),) if renamed else ()),
    ]
    kind = "revisit" if is_revisit else "response"
    head, extra = _head_and_extra(expected, kind, fields, _head(page, renamed))
    text, left_out = field_value(extra)
    fields += [*(((FIELD, text),) if extra else ()), ("WARC-Warcinfo-ID", info)]
    made = new_record(kind, page.fetched_at, fields, (head, page.body or b""), digest=digest)
    return made._replace(left_out=tuple(left_out))


def failed_record(failure: FailedFetch, info: str) -> WARCRecord:
    """Return the metadata record of a fetch that failed; *info* is the ID of the file's warcinfo record.

    The field `WebTable-Failed` has what `read_pages` reads; the block says it to other programs.
    """
    values = {name: value for name, value in asdict(failure).items() if value is not None}
    del values["url"], values["failed_at"]
    fields = [
        ("WARC-Target-URI", failure.url),
        (FAILED, msgspec.json.encode(values).decode()),
        ("WARC-Warcinfo-ID", info),
    ]
    block = f"fetchFailed: {failure.reason}\r\nfetchAttempts: {failure.attempts}\r\n".encode()
    return new_record("metadata", failure.failed_at, fields, (block,), media="application/warc-fields")


def _is_revisit(page: Page, expected: Page) -> bool:
    if page.body is not None or page.status == NOT_MODIFIED:
        return False
    return expected.same_as is not None or expected.digest is not None


def _repetition(expected: Page, repeated: WARCRecord | None) -> Iterator[tuple[str, str]]:
    yield "WARC-Profile", f"{REVISIT}identical-payload-digest"
    if expected.same_as is None:
        return
    if repeated:
        yield "WARC-Refers-To", repeated.id
    yield "WARC-Refers-To-Target-URI", expected.same_as
    if (content_at := expected.stored.content_at or expected.stored.repeats_at) is not None:
        yield "WARC-Refers-To-Date", date_text(content_at)


def _truncated(expected: Page) -> Iterator[tuple[str, str]]:
    if expected.truncated and expected.body is not None:
        yield "WARC-Truncated", "length"
    elif (
        expected.body is None
        and expected.same_as is None
        and expected.digest is None
        and expected.status != NOT_MODIFIED
    ):
        yield "WARC-Truncated", "unspecified"


def _connection(page: Page) -> Iterator[tuple[str, str]]:
    # Others than these a reader does not take; they are in `FIELD`.
    if (address := page.server_address) and address_of(address) == address:
        yield "WARC-IP-Address", address
    if (protocol := page.protocol) and protocol_of(protocol) == protocol:
        yield "WARC-Protocol", protocol


MOST_HOPS = 50
"""How many links of a way to a page Heritrix writes; before them stands how many there are besides."""


def metadata_record(page: Page, record: WARCRecord, info: str) -> WARCRecord | None:
    """Return the record that says of the *record* of *page* how the crawler came to it, as Heritrix writes it.

    None if *page* does not say it. The fields are in *record* as well (`FIELD`): this one is for other programs.
    """
    fields: list[tuple[str, object]] = [("seed", "")] if page.depth == 0 else []
    if page.referrer:
        fields.append(("via", _LINE_ENDS.sub(" ", page.referrer)))
    if page.depth:
        more = f"{page.depth - MOST_HOPS}+" if page.depth > MOST_HOPS else ""
        fields.append(("hopsFromSeed", more + "L" * min(page.depth, MOST_HOPS)))
    if page.duration is not None:
        fields.append(("fetchTimeMs", page.duration))
    if not fields:
        return None
    block = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("utf-8", "replace")
    of = [("WARC-Target-URI", page.url), ("WARC-Concurrent-To", record.id), ("WARC-Warcinfo-ID", info)]
    return new_record("metadata", page.fetched_at, of, (block,), media="application/warc-fields")


def _head_and_extra(
    expected: Page, kind: str, fields: Sequence[tuple[str, str]], head: bytes
) -> tuple[bytes, dict[str, Any]]:
    """Return the head of the response, and the fields of the page *expected* that cannot be read from the record.

    If the record could not be read with these headers, the response is written without them.
    """
    extra: dict[str, Any] = {}
    if expected.same_as is None and (kind == "revisit" or expected.status == NOT_MODIFIED):
        extra["same_as"] = None
    if expected.same_as not in (None, expected.url) and expected.status == NOT_MODIFIED:
        extra["same_as"] = expected.same_as
    if expected.same_as is None and expected.body is None:
        extra["body"] = None
    for written_head in (head, head.partition(b"\r\n")[0] + b"\r\n\r\n"):
        try:
            reread = _read_again(expected, kind, fields, written_head, extra)
        except (Damaged, LeftOut):
            continue
        if reread.body == expected.body:
            return written_head, extra | _differences(expected, reread)
    return written_head, extra | _differences(expected, Page(url=expected.url, fetched_at=expected.fetched_at)) | {
        "body": expected.body
    }


def _read_again(
    expected: Page, kind: str, fields: Sequence[tuple[str, str]], head: bytes, extra: Mapping[str, Any]
) -> Page:
    record_fields = [("WARC-Type", kind), ("WARC-Date", date_text(expected.fetched_at)), *fields]
    if extra:
        record_fields.append((FIELD, field_value(extra)[0]))
    return filled(page_of_record(record_fields, head + (expected.body or b"")))[0]


def _differences(expected: Page, reread: Page) -> dict[str, Any]:
    """Return the fields of *expected* that matter for its kind and that *reread* lacks."""
    compared_already = ("body", "same_as", *_measured(expected))
    names = [name for name in FIELD_NAMES if name not in compared_already]
    own, others = values_of(expected, names), values_of(reread, names)
    extra = {name: value for name, value in own.items() if value != others[name]}
    if any(value is None and name in SAID for name, value in extra.items()) or (
        expected.body is not None and "html_facts" in extra
    ):
        # A page with links and `html_facts` has all that its HTML says.
        extra |= own
    return {name: value for name, value in extra.items() if value is not None}


def field_value(extra: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The value of the field `FIELD`, and the names of page fields that are too long for it, the longest first."""
    parts = {name: msgspec.json.encode(value) for name, value in extra.items()}
    left_out = []
    while sum(map(len, parts.values())) > MOST_OF_FIELD:
        left_out.append(max(parts, key=lambda name: len(parts[name])))
        del parts[left_out[-1]]
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in parts.items()}).decode(), left_out


def _measured(expected: Page) -> tuple[str, ...]:
    """Return the fields that are extracted from the body of *expected*, whatever the record says."""
    is_told = expected.body is None or (expected.truncated and (expected.size or 0) > len(expected.body))
    return () if is_told else ("digest", "size")


def _payload_digest(page: Page, repeated: WARCRecord | None) -> str:
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


def new_record(
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


# --- Lines of a CDXJ index --------------------------------------------------------------------------------------------


def cdxj_line(page: Page, record: WARCRecord, offset: int, length: int, filename: str) -> bytes:
    """Return the line of the *record* of *page*, which is *length* bytes at *offset* of the file.

    An answer to another method than GET has the fields of cdxj-indexer: the URL that was asked, and how.
    """
    url, request = split_request(page.url)
    fields = {
        "url": url,
        "mime": "warc/revisit" if record.kind == "revisit" else page.content_type or "unk",
        "status": str(page.status),
        **({"digest": record.digest} if record.digest else {}),
        "length": str(length),
        "offset": str(offset),
        "filename": filename,
        **({} if request.method == GET else {"requestBody": request.query, "method": request.method}),
    }
    moment = page.fetched_at.astimezone(UTC)
    return f"{surt(page.url)} {moment:%Y%m%d%H%M%S} ".encode() + msgspec.json.encode(fields) + b"\n"


def software() -> str:
    """Return the name and version of this software for archives; a source checkout may not know its version."""
    try:
        return f"webtable {importlib.metadata.version('hbase-webtable')}"
    except importlib.metadata.PackageNotFoundError:
        return "webtable"


# --- WARC files -------------------------------------------------------------------------------------------------------


class MeasuredFile:
    """A file that is being written, with its size and digest so far."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._sha256 = hashlib.sha256()
        self.name = name
        self.size: int = 0

    def write(self, data: bytes) -> None:
        """Append *data*."""
        self._file.write(data)
        self._sha256.update(data)
        self.size += len(data)

    @property
    def digest(self) -> str:
        """The digest in the format of WACZ."""
        return f"sha256:{self._sha256.hexdigest()}"


class WARCFile:
    """Captures as WARC records, each a gzip member if the name of the file ends with .gz.

    `incomplete` counts those of which something is too long to be written; none are ever `waiting` to be written.
    *indexed* is called with the line of each in an index.
    """

    waiting = 0

    def __init__(
        self, file: MeasuredFile | IO[bytes], name: str, indexed: Callable[[bytes], object] | None = None
    ) -> None:
        self._file = file
        self._name = name
        self._indexed = indexed
        self._size = 0
        self._is_packed = name.lower().endswith(".gz")
        self.incomplete: int = 0
        info = warcinfo(name, software(), clock.now())
        self._info = info.id
        self._append(info)

    def write(self, captures: Iterable[Page]) -> int:
        """Write a record for each capture of a page, and return how many there are."""
        return write_page_records(captures, self.add)[0]

    def add(self, page: Page, repeated: WARCRecord | None) -> WARCRecord:
        """Write and return the record of a capture; *repeated* is the record that it repeats."""
        record, offset = capture_record(page, self._info, repeated), self._size
        self._append(record)
        length = self._size - offset
        if (metadata := metadata_record(page, record, self._info)) is not None:
            self._append(metadata)
        self.incomplete += bool(record.left_out)
        if self._indexed is not None:
            self._indexed(cdxj_line(page, record, offset, length, self._name))
        return record

    def add_failed(self, failure: FailedFetch) -> None:
        """Write the record of a fetch that failed, which no index lists."""
        self._append(failed_record(failure, self._info))

    def close(self) -> None:
        """Do nothing: each record is written completely."""

    def _append(self, record: WARCRecord) -> None:
        # A member for each record, so that a player can read one of them by its offset (WARC 1.1, annex D).
        member = zlib.compressobj(wbits=31) if self._is_packed else None
        for part in record.parts:
            if packed := part if member is None else member.compress(part):
                self._add(packed)
        if member is not None:
            self._add(member.flush())

    def _add(self, data: bytes) -> None:
        self._file.write(data)
        self._size += len(data)


def write_page_records(
    captures: Iterable[Page], write: Callable[[Page, WARCRecord | None], WARCRecord]
) -> tuple[int, Page]:
    """Write the captures of one page, at least one; return their number and the last of them.

    *write* is called with each capture and the record that it repeats.
    """
    records: dict[datetime, WARCRecord] = {}
    for page in captures:
        repeated = None if (at := page.stored.content_at) is None else records.get(at)
        # Without the parts: a page may have thousands of captures, and their bodies would be held in memory.
        records[page.fetched_at] = write(page, repeated)._replace(parts=())
    return len(records), page


class WARCFiles:
    """WARC files that *opened* opens by name; a file ends when it is over *file_bytes*.

    `records` counts the records, `incomplete` those of which something is too long to be written. Index lines are
    passed to *indexed*, and each complete file to *written*.
    """

    def __init__(
        self,
        opened: Callable[[str], AbstractContextManager[IO[bytes]]],
        file_bytes: int,
        indexed: Callable[[bytes], object],
        written: Callable[[MeasuredFile], None],
    ) -> None:
        self._opened = opened
        self._file_bytes = file_bytes
        self._indexed = indexed
        self._written = written
        self._open = ExitStack()
        self._file: MeasuredFile | None = None
        self._count = 0
        self.records: int = 0
        self.incomplete: int = 0

    def write(self, page: Page, repeated: WARCRecord | None) -> WARCRecord:
        """Write and return the record of a capture; *repeated* is the record that it repeats."""
        record = self._present().add(page, repeated)
        self.records += 1
        self.incomplete += bool(record.left_out)
        return record

    def write_failed(self, failure: FailedFetch) -> None:
        """Write the record of a fetch that failed."""
        self._present().add_failed(failure)

    def _present(self) -> WARCFile:
        """Return the file that is written now: another one if the last has its size."""
        if self._file is None or self._file.size >= self._file_bytes:
            self.close()
            self._count += 1
            name = f"webtable-{self._count:05}.warc.gz"
            self._file = MeasuredFile(self._open.enter_context(self._opened(name)), name)
            self._warc = WARCFile(self._file, name, self._indexed)
        return self._warc

    def close(self) -> None:
        """End the current file."""
        self._open.close()
        if self._file is not None:
            self._written(self._file)
        self._file = None

    def abandon(self) -> None:
        """Close the current file, which is incomplete."""
        with suppress(OSError):
            self._open.close()

"""Writers of WARC files (ISO 28500, WARC 1.1, one gzip member per record) and of their CDXJ lines."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import zlib
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from webtable._clock import clock
from webtable.formats.archives.warc_records import Written, capture, warcinfo
from webtable.page.methods import GET, asked_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from webtable.formats.archives.warc_records import WARCRecord
    from webtable.page.page import Page

_WWW = re.compile(r"www\d*\.")


def surt(url: str) -> str:
    """Return the key of *url*, which is canonical, in an index, as replay tools look it up.

    The host is reversed, without `www.`; the scheme is left out, everything is in lower case, parameters are sorted and
    a final slash is dropped. It is what the tools of the Internet Archive make of a URL, except that session IDs stay.

    >>> surt("https://www.Example.com:8080/Docs/?b=2&a=1")
    'com,example:8080)/docs?a=1&b=2'
    """
    parts = urlsplit(url.lower())
    host = _WWW.sub("", parts.hostname or "", count=1) if _WWW.match(parts.hostname or "") else parts.hostname or ""
    is_address = ":" in host or host.replace(".", "").isdigit()
    reversed_host = host if is_address else ",".join(reversed(host.split(".")))
    port = "" if parts.port is None else f":{parts.port}"
    path = parts.path if parts.path == "/" else parts.path.rstrip("/") or "/"
    query = "&".join(sorted(parts.query.split("&"), key=_name_and_value)) if parts.query else ""
    return f"{reversed_host}{port}){path}{'?' if query else ''}{query}"


def _name_and_value(parameter: str) -> list[str]:
    return parameter.split("=", 1)  # `a.b` is sorted behind `a=1`, though "." comes before "="


def cdxj_line(page: Page, record: WARCRecord, offset: int, length: int, filename: str) -> bytes:
    """Return the line of the *record* of *page*, which is *length* bytes at *offset* of the file.

    An answer to another method than GET has the fields of cdxj-indexer: the URL that was asked, and how.
    """
    url, asked = asked_by(page.url)
    fields = {
        "url": url,
        "mime": "warc/revisit" if record.kind == "revisit" else page.content_type or "unk",
        "status": str(page.status),
        **({"digest": record.digest} if record.digest else {}),
        "length": str(length),
        "offset": str(offset),
        "filename": filename,
        **({} if asked.method == GET else {"requestBody": asked.query, "method": asked.method}),
    }
    moment = page.fetched_at.astimezone(UTC)
    return f"{surt(page.url)} {moment:%Y%m%d%H%M%S} ".encode() + msgspec.json.encode(fields) + b"\n"


def software() -> str:
    """Return the name and version of this software for archives; a source checkout may not know its version."""
    try:
        return f"webtable {importlib.metadata.version('hbase-webtable')}"
    except importlib.metadata.PackageNotFoundError:
        return "webtable"


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


def write_captures(captures: Iterable[Page], write: Callable[[Page, Written | None], Written]) -> tuple[int, Page]:
    """Write the captures of one page, at least one; return their number and the last of them.

    *write* is called with each capture and the record that it repeats.
    """
    written: dict[datetime, Written] = {}
    for page in captures:
        repeated = None if (at := page.stored.content_at) is None else written.get(at)
        written[page.fetched_at] = write(page, repeated)
    return len(written), page


class WarcFiles:
    """WARC files that *opened* opens by name, one gzip member per record; a file ends when it exceeds *most* bytes.

    `records` counts the records, `incomplete` those of which something is too long to be written. Index lines are
    passed to *indexed*, and each complete file to *written*.
    """

    def __init__(
        self,
        opened: Callable[[str], AbstractContextManager[IO[bytes]]],
        most: int,
        indexed: Callable[[bytes], None],
        written: Callable[[MeasuredFile], None],
    ) -> None:
        self._opened = opened
        self._most = most
        self._indexed = indexed
        self._written = written
        self._open = ExitStack()
        self._file: MeasuredFile | None = None
        self._info = ""
        self._count = 0
        self.records: int = 0
        self.incomplete: int = 0

    def write(self, page: Page, repeated: Written | None) -> Written:
        """Write and return the record of a capture; *repeated* is the record that it repeats."""
        if self._file is None or self._file.size >= self._most:
            self.close()
            self._file = self._next()
        file, offset = self._file, self._file.size
        record = capture(page, self._info, repeated)
        write_member(file, record)
        self.records += 1
        self.incomplete += bool(record.left_out)
        self._indexed(cdxj_line(page, record, offset, file.size - offset, file.name))
        return Written(record.id, record.digest)

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

    def _next(self) -> MeasuredFile:
        self._count += 1
        name = f"webtable-{self._count:05}.warc.gz"
        file = MeasuredFile(self._open.enter_context(self._opened(name)), name)
        record = warcinfo(name, software(), clock.now())
        self._info = record.id
        write_member(file, record)
        return file


def write_member(file: MeasuredFile | IO[bytes], record: WARCRecord) -> None:
    """Write *record* to *file* as a separate gzip member."""
    member = zlib.compressobj(wbits=31)
    for part in record.parts:
        if packed := member.compress(part):
            file.write(packed)
    file.write(member.flush())

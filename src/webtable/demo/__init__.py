"""Sample data to try webtable on: three crawls of a small fictional web, as WARC files and as a store."""

from __future__ import annotations

import gzip
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING

import webtable
from webtable._clock import clock
from webtable._files import OWNER_ONLY_FOLDER, private_opener
from webtable.formats import read_pages
from webtable.formats.warc_out import new_record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from webtable.repository.table.web_table import WebTable

__all__ = ["Sample", "make_sample", "sample_table"]


# --- Sample web -------------------------------------------------------------------------------------------------------
#
# The crawls lie beside this module, `crawl-1.warc.gz` and so on, with the dates of crawls that end at the first of
# March 2026: some 500 pages on a dozen hosts, with texts drawn at random, and three small sites in English, German
# and Chinese with texts that people can read. From crawl to crawl some pages change, vanish or appear; most stay the
# same. All host names and addresses are reserved for documentation.


_STORE = "webtable.db"
CRAWLS = Path(__file__).parent
"""Where the crawls are, with the dates of their making."""
VERSION_LINE = b"WARC/1.1\r\n"
_UNTIL = datetime(2026, 3, 1, tzinfo=UTC)
"""When the newest of the crawls beside this module ends."""
_HTTP_DATE = re.compile(rb"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")
_PAGE_DATE = re.compile(rb"(?<=Last changed on )\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Sample:
    """A folder with the sample web: the WARC files of its crawls, the oldest first, and the store with them."""

    crawls: tuple[Path, ...]
    store: Path


def make_sample(folder: str | PathLike[str] = "webtable-demo", *, until: datetime | None = None) -> Sample:
    """Make the sample web in *folder*, unless its store exists, and return it.

    The crawls are of 14, 7 and 0 days before *until*, which is now by default; the same *until* gives the same bytes.
    It takes a few seconds. The store appears when it is complete; pages that do not say their language have that of
    their text.
    """
    folder = Path(folder)
    store = folder / _STORE
    if store.exists():
        return Sample(tuple(sorted(folder.glob("crawl-*.warc.gz"))), store)
    crawls = _write_crawls(folder, (until or clock.now()).astimezone(UTC).replace(microsecond=0))
    unfinished = folder / f"{_STORE}.part"
    for rest in folder.glob(f"{unfinished.name}*"):
        rest.unlink()
    with webtable.open(unfinished, create=True) as table:
        for crawl in crawls:
            with table.writer() as writer:
                writer.put_many(read_pages(crawl, detect_language=True))
        table.links.refresh()
    unfinished.replace(store)
    return Sample(tuple(crawls), store)


def sample_table(folder: str | PathLike[str] = "webtable-demo") -> WebTable:
    """Return the table of the sample web in *folder*, which is made if it is missing.

    >>> table = sample_table(getfixture("tmp_path"))
    >>> table.get("https://example.com/").title
    'Welcome to example.com'
    >>> table.close()
    """
    return webtable.open(make_sample(folder).store)


def _write_crawls(folder: Path, until: datetime) -> list[Path]:
    """Write the crawls to files in *folder*, the oldest first, with dates of which the newest is *until*."""
    folder.mkdir(OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
    crawls = []
    for source in sorted(CRAWLS.glob("crawl-*.warc.gz")):
        crawls.append(folder / source.name)
        with open(crawls[-1], "wb", opener=private_opener) as file:
            # Each record in a gzip member of its own, as the standard recommends; without them the source is smaller.
            moved = _moved_records(gzip.decompress(source.read_bytes()), until - _UNTIL)
            file.writelines(gzip.compress(written, mtime=0) for written in moved)
    return crawls


def _moved_records(crawl: bytes, by: timedelta) -> Iterator[bytes]:
    """Yield the records of *crawl*, all dates in them moved, with the IDs and digests that the source leaves out."""

    def moved_http_date(date: re.Match[bytes]) -> bytes:
        return format_datetime(parsedate_to_datetime(date[0].decode()) + by, usegmt=True).encode()

    def moved_page_date(date: re.Match[bytes]) -> bytes:
        return f"{datetime.fromisoformat(date[0].decode()) + by:%Y-%m-%d}".encode()

    for source in crawl.split(VERSION_LINE)[1:]:
        head, _, block = source.removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        kind, date, media = (fields.pop(name) for name in ("WARC-Type", "WARC-Date", "Content-Type"))
        del fields["Content-Length"]
        moment = datetime.fromisoformat(date) + by
        block = _PAGE_DATE.sub(moved_page_date, _HTTP_DATE.sub(moved_http_date, block))
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{fields['WARC-Target-URI']} {moment}")
        yield b"".join(new_record(kind, moment, fields.items(), (block,), media=media, identity=identity).parts)

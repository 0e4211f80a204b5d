"""The sample web in a folder: its crawls as WARC files, and the store with them."""

from __future__ import annotations

import gzip
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import webtable
from webtable._atomic_file import OWNER_ONLY_FOLDER, private_opener
from webtable._clock import clock
from webtable.demo.web import CRAWLS, Answer, SampleWeb, http_date
from webtable.formats import read_pages
from webtable.formats.archives.warc_records import REVISIT, record

if TYPE_CHECKING:
    from os import PathLike

    from webtable.repository.table.web_table import WebTable

_STORE = "webtable.db"


@dataclass(frozen=True, slots=True)
class Sample:
    """A folder with the sample web: the WARC files of its crawls, the oldest first, and the store with them."""

    crawls: tuple[Path, ...]
    store: Path


def make_sample(
    folder: str | PathLike[str] = "webtable-demo", *, until: datetime | None = None, seed: int = 7
) -> Sample:
    """Make the sample web in *folder*, unless its store exists, and return it.

    The crawls are of 14, 7 and 0 days before *until*, which is now by default. Another *seed* makes another web; the
    same *seed* and *until* give the same bytes. It takes a few seconds. The store appears when it is complete; pages
    that do not say their language have that of their text.
    """
    folder = Path(folder)
    store = folder / _STORE
    if store.exists():
        return Sample(tuple(sorted(folder.glob("crawl-*.warc.gz"))), store)
    newest = (until or clock.now()).astimezone(UTC).replace(microsecond=0)
    crawls = write_crawls(SampleWeb(seed, newest), folder)
    unfinished = folder / f"{_STORE}.part"
    for left in folder.glob(f"{unfinished.name}*"):
        left.unlink()
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


def write_crawls(web: SampleWeb, folder: Path) -> list[Path]:
    """Write each crawl of *web* to a file in *folder*, the oldest first: a fetch every two seconds up to its date.

    The same web gives the same bytes.
    """
    folder.mkdir(OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
    paths = [folder / f"crawl-{crawl + 1}.warc.gz" for crawl in range(CRAWLS)]
    for crawl, path in enumerate(paths):
        fetches = list(web.fetches(crawl))
        begin = web.dates[crawl] - timedelta(seconds=2 * len(fetches))
        with open(path, "wb", opener=private_opener) as file:
            file.writelines(
                _warc_record(url, answer, begin + timedelta(seconds=2 * number))
                for number, (url, answer) in enumerate(fetches, start=1)
            )
    return paths


def _warc_record(url: str, answer: Answer, when: datetime) -> bytes:
    """Return *answer* as a WARC 1.1 record in a separate gzip member, as the standard recommends."""
    lines = [f"HTTP/1.1 {answer.status}", f"Date: {http_date(when)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    block = ("\r\n".join(lines).encode() + b"\r\n\r\n", answer.body)
    fields = [("WARC-Target-URI", url)]
    if answer.unchanged:
        fields += [("WARC-Profile", f"{REVISIT}{answer.unchanged}"), ("WARC-Refers-To-Target-URI", url)]
    kind, identity = "revisit" if answer.unchanged else "response", uuid.uuid5(uuid.NAMESPACE_URL, f"{url} {when}")
    written = record(kind, when.replace(microsecond=0), fields, block, identity=identity)
    return gzip.compress(b"".join(written.parts), mtime=0)

"""The crawls of the sample web as WARC files, the format in which crawlers save what they get."""

from __future__ import annotations

import gzip
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from webtable._whole_file import OWN_FOLDER, own_file
from webtable.demo.web import CRAWLS, Answer, SampleWeb, http_date
from webtable.formats.archives.warc_records import REVISIT, record

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


def write_crawls(web: SampleWeb, folder: Path) -> list[Path]:
    """Write each crawl of *web* to a file in *folder*, the oldest first: a fetch every two seconds up to its date.

    The same web gives the same bytes.
    """
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    paths = [folder / f"crawl-{crawl + 1}.warc.gz" for crawl in range(CRAWLS)]
    for crawl, path in enumerate(paths):
        fetches = list(web.fetches(crawl))
        begin = web.dates[crawl] - timedelta(seconds=2 * len(fetches))
        with open(path, "wb", opener=own_file) as file:
            file.writelines(
                warc_record(url, answer, begin + timedelta(seconds=2 * number))
                for number, (url, answer) in enumerate(fetches, start=1)
            )
    return paths


def warc_record(url: str, answer: Answer, when: datetime) -> bytes:
    """Return *answer* as a WARC 1.1 record in a gzip member of its own, as the standard recommends."""
    lines = [f"HTTP/1.1 {answer.status}", f"Date: {http_date(when)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    block = ("\r\n".join(lines).encode() + b"\r\n\r\n", answer.body)
    fields = [("WARC-Target-URI", url)]
    if answer.unchanged:
        fields += [("WARC-Profile", f"{REVISIT}{answer.unchanged}"), ("WARC-Refers-To-Target-URI", url)]
    kind, identity = "revisit" if answer.unchanged else "response", uuid.uuid5(uuid.NAMESPACE_URL, f"{url} {when}")
    written = record(kind, when.replace(microsecond=0), fields, block, identity=identity)
    return gzip.compress(b"".join(written.parts), mtime=0)

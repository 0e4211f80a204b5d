"""The crawls of the sample web as WARC files, the format in which crawlers save what they get."""

from __future__ import annotations

import gzip
import hashlib
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from webtable.demo.web import CRAWLS, Answer, SampleWeb, http_date

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


def write_crawls(web: SampleWeb, folder: Path) -> list[Path]:
    """Write each crawl of *web* to a file in *folder*, the oldest first: a fetch every two seconds up to its date.

    The same web gives the same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"crawl-{crawl + 1}.warc.gz" for crawl in range(CRAWLS)]
    for crawl, path in enumerate(paths):
        fetches = list(web.fetches(crawl))
        begin = web.dates[crawl] - timedelta(seconds=2 * len(fetches))
        with path.open("wb") as file:
            for number, (url, answer) in enumerate(fetches, start=1):
                file.write(warc_record(url, answer, begin + timedelta(seconds=2 * number)))
    return paths


def warc_record(url: str, answer: Answer, when: datetime) -> bytes:
    """Return *answer* as a WARC 1.1 record in a gzip member of its own, as the standard recommends."""
    lines = [f"HTTP/1.1 {answer.status}", f"Date: {http_date(when)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    block = "\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body
    fields = {
        "WARC-Type": "revisit" if answer.unchanged else "response",
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{url} {when}')}>",
        "WARC-Date": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "WARC-Target-URI": url,
        "Content-Type": "application/http; msgtype=response",
    }
    if answer.unchanged:
        fields["WARC-Profile"] = f"http://netpreserve.org/warc/1.1/revisit/{answer.unchanged}"
        fields["WARC-Refers-To-Target-URI"] = url
    fields["WARC-Block-Digest"] = f"sha256:{hashlib.sha256(block).hexdigest()}"
    fields["Content-Length"] = str(len(block))
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return gzip.compress(b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n", mtime=0)

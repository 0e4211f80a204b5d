"""What is stored: the corpus' pages, read without webtable, and pages made up by number."""

from __future__ import annotations

import hashlib
import random
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from warcio.archiveiterator import ArchiveIterator

import webtable
from benchmarks.measuring import Run
from webtable import Page
from webtable.rowkey import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from benchmarks.setting import Setting
    from webtable.page.parts import HTMLFacts

_WORDS = [
    "archive",
    "build",
    "cache",
    "client",
    "column",
    "commit",
    "crawl",
    "default",
    "directory",
    "document",
    "example",
    "family",
    "field",
    "filter",
    "header",
    "host",
    "index",
    "install",
    "key",
    "link",
    "module",
    "network",
    "number",
    "option",
    "page",
    "parse",
    "query",
    "range",
    "record",
    "region",
    "release",
    "request",
    "response",
    "result",
    "row",
    "scan",
    "schema",
    "server",
    "session",
    "store",
    "stream",
    "table",
    "text",
    "thread",
    "time",
    "token",
    "update",
    "value",
    "version",
]


PARSED: Final[HTMLFacts] = {}
"""What the HTML of a prepared page says: nothing, and a writer does not parse it, as it does for a title and links."""


def corpus_pages(files: Iterable[Path]) -> list[Page]:
    """Return the corpus' captures as prepared pages, one for each URL: with a title and without links.

    So nothing is left to parse when they are stored.
    """
    found: dict[str, Page] = {}
    for file in files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type != "response":
                    continue
                url = canonical_url(record.rec_headers.get_header("WARC-Target-URI"))
                body = record.content_stream().read()
                headers = {name.lower(): value for name, value in record.http_headers.headers}
                modified = headers.get("last-modified")
                found[url] = Page(
                    url=url,
                    body=body,
                    title=_title(body),
                    status=int(record.http_headers.get_statuscode()),
                    content_type=headers["content-type"].partition(";")[0],
                    charset="utf-8",
                    headers=headers,
                    fetched_at=datetime.fromisoformat(record.rec_headers.get_header("WARC-Date")),
                    last_modified=parsedate_to_datetime(modified) if modified else None,
                    etag=headers.get("etag"),
                    outlinks=(),
                    _html_facts=PARSED,
                )
    return list(found.values())


def prepared_pages(setting: Setting) -> tuple[list[Page], str]:
    """Return pages with bodies, the corpus' where there is one, and what to call them."""
    if setting.corpus:
        pages = corpus_pages(setting.warc_files)
        if setting.quick:
            pages = pages[:: len(pages) // 200 or 1]
        return pages, f"{len(pages):,} pages of the corpus"
    pages = list(made_up_pages(setting.scaled(5_000), ["made-up.example"], body_bytes=20_000))
    return pages, f"{len(pages):,} made-up pages"


def made_up_pages(count: int, hosts: list[str], *, body_bytes: int = 0) -> Iterator[Page]:
    """Yield *count* pages, spread over *hosts*, with the metadata that a server sends and a body of that size."""
    now = datetime.now(UTC).replace(microsecond=0)
    chosen = random.Random(7)
    words = " ".join(chosen.choices(_WORDS, k=max(20, body_bytes // 3)))
    for number in range(count):
        host = hosts[number % len(hosts)]
        modified = now - timedelta(days=10, seconds=number)
        etag = f'"{number:016x}"'
        title = f"Page {number:,} of {host}, {words[number % 50 : number % 50 + 40].strip()}"
        cut = number % 997
        yield Page(
            url=f"https://{host}/section-{number // len(hosts) % 97:02}/page-{number:07}.html",
            body=f"<!doctype html><title>{title}</title><p>{words[cut : cut + body_bytes]}".encode(),
            title=title,
            content_type="text/html",
            charset="utf-8",
            headers={
                "content-type": "text/html; charset=utf-8",
                "last-modified": modified.strftime("%a, %d %b %Y %H:%M:%S GMT"),
                "etag": etag,
                "server": "Apache",
                "cache-control": "max-age=3600",
            },
            fetched_at=now - timedelta(seconds=number % 86_400),
            last_modified=modified,
            etag=etag,
            outlinks=(),
            _html_facts=PARSED,
        )


def digest_of(pairs: Iterable[tuple[str, bytes]]) -> str:
    """Return a digest of URLs and bodies that does not depend on their order."""
    total = 0
    for url, body in pairs:
        total ^= int.from_bytes(hashlib.sha256(url.encode() + b"\0" + hashlib.sha256(body).digest()).digest())
    return f"{total:064x}"


def read_back(url: str, seconds: float) -> Run:
    """Return the run that took *seconds* to fill the table at *url*: its proof is what is stored there."""
    with webtable.open(url) as table:
        pages = list(table.pages(webtable.ALL, order="storage", columns=["body"]))
    return Run(seconds, len(pages), digest_of((page.url, page.body or b"") for page in pages))


def _title(body: bytes) -> str:
    start = body.find(b"<title>")
    text = body[start + 7 : body.find(b"</title>", start)] if start >= 0 else b"-"
    return " ".join(text[:1_000].decode("utf-8", "replace").split()) or "-"

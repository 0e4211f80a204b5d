"""The scripts that ingest is held against: warcio, HappyBase, and the standard library's HTML parser or selectolax."""

from __future__ import annotations

import json
from datetime import datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from selectolax.lexbor import LexborHTMLParser
from warcio.archiveiterator import ArchiveIterator

from benchmarks.plain import BATCH_CELLS, LINKS, cells_of
from webtable import Link, Page
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import happybase


class PageParser(HTMLParser):
    """Collects the title and the links of a page, each URL once."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._in_title = False
        self._anchor: list[str] | None = None
        self._target = ("", "")
        self.title = ""
        self.links: dict[str, Link] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the beginning of a title or of a link."""
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag in {"a", "area"}:
            found = dict(attrs)
            if href := found.get("href"):
                self._target = urldefrag(urljoin(self._url, href.strip()))[0], found.get("rel") or ""
                self._anchor = []

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a title or of a link."""
        if tag == "title":
            self._in_title = False
        elif tag == "a" and self._anchor is not None:
            url, rel = self._target
            if url.startswith("http"):
                self.links.setdefault(url, Link(url, " ".join("".join(self._anchor).split()), rel))
            self._anchor = None

    def handle_data(self, data: str) -> None:
        """Take the text of a title or of a link."""
        if self._in_title:
            self.title += data
        if self._anchor is not None:
            self._anchor.append(data)


Said = tuple[str, tuple[Link, ...]]
"""The title and the links of a page."""


def by_standard_library(url: str, body: bytes) -> Said:
    """Return what the parser of the standard library finds."""
    parser = PageParser(url)
    parser.feed(body.decode("utf-8", "replace"))
    return " ".join(parser.title.split()), tuple(parser.links.values())


def by_selectolax(url: str, body: bytes) -> Said:
    """Return what selectolax finds."""
    tree = LexborHTMLParser(body)
    title = tree.css_first("title")
    links: dict[str, Link] = {}
    for node in tree.css("a[href], area[href]"):
        found = node.attributes
        target = urldefrag(urljoin(url, (found["href"] or "").strip()))[0]
        if target.startswith("http") and target not in links:
            links[target] = Link(target, " ".join(node.text().split()), found.get("rel") or "")
    return " ".join(title.text().split()) if title else "", tuple(links.values())


def pages_of(files: Iterable[Path], parse: Callable[[str, bytes], Said]) -> Iterator[Page]:
    """Yield the pages of WARC files with the titles and links that *parse* finds."""
    for file in files:
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    body = record.content_stream().read()
                    headers = {name.lower(): value for name, value in record.http_headers.headers}
                    modified = headers.get("last-modified")
                    title, links = parse(url, body)
                    yield Page(
                        url=url,
                        body=body,
                        title=title,
                        status=int(record.http_headers.get_statuscode()),
                        content_type=headers.get("content-type", "").partition(";")[0],
                        headers=headers,
                        fetched_at=datetime.fromisoformat(record.rec_headers.get_header("WARC-Date")),
                        last_modified=parsedate_to_datetime(modified) if modified else None,
                        etag=headers.get("etag"),
                        outlinks=links,
                    )


def ingest(files: Iterable[Path], table: happybase.Table, parse: Callable[[str, bytes], Said]) -> int:
    """Store the pages of WARC files, their links as one JSON cell, and return how many there were."""
    key = WebKey()
    count = 0
    with table.batch(batch_size=BATCH_CELLS) as batch:
        for page in pages_of(files, parse):
            batch.put(key.encode(page.url), {**cells_of(page), LINKS: json.dumps(page.outlinks).encode()})
            count += 1
    return count

"""Files and folders that have pages or say something of pages, and are not read: what they are, and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from webtable.page.body import looks_like_html

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOKED_AT = 1 << 11
"""How many bytes of the beginning of a file are looked at."""
_FROM_ITS_WARC = "and none of their HTML; take the WARC file that it was made from"
DERIVED = {
    "metadata": f"a WAT file, which has the metadata of pages {_FROM_ITS_WARC}",
    "conversion": f"a WET file, which has the text of pages {_FROM_ITS_WARC}",
}
"""Files in the format WARC that have no pages, by the kind of their records."""
_CDX_KEY = rb"\S+\)\S* (?:\d{8,17}|\S+ \d{14}) "


class _Kind(NamedTuple):
    """The beginning of a file, what it is, and what to do with it, where `{}` is its name."""

    start: re.Pattern[bytes]
    is_a: str
    advice: str


def _kind(start: bytes, is_a: str, advice: str) -> _Kind:
    return _Kind(re.compile(start, re.DOTALL), is_a, advice)


_THE_WARC = "has no pages, but the places of them in WARC files: name those, as in `webtable ingest archive`"
_UNPACK = "unpack it, as in `{} {{}}`, and name the files or the directory that it becomes"
_KINDS = (
    _kind(
        rb"\x1f\x8b|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18",
        "a compressed file that was compressed again",
        "decompress it once, as in `gzip -dc {} | webtable ingest -`",
    ),
    _kind(rb"BZh[1-9]", "a bzip2 file", "decompress it, as in `bzip2 -dc {} | webtable ingest -`"),
    _kind(rb"\xfd7zXZ\x00", "an xz file", "decompress it, as in `xz -dc {} | webtable ingest -`"),
    _kind(rb"LZIP", "an lzip file", "decompress it, as in `lzip -dc {} | webtable ingest -`"),
    _kind(rb"\x1f\x9d", "a file of compress (.Z)", "decompress it, as in `gzip -dc {} | webtable ingest -`"),
    _kind(rb".{257}ustar", "a tar file", _UNPACK.format("tar -xf")),
    _kind(rb"7z\xbc\xaf\x27\x1c", "a 7z file", _UNPACK.format("7z x")),
    _kind(rb"Rar!\x1a\x07", "a RAR file", _UNPACK.format("unrar x")),
    _kind(rb"PK\x05\x06", "an empty zip file", "there is nothing in it to read"),
    _kind(
        rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "an Excel file in the format of before 2007 (.xls)",
        "save it as .xlsx or as CSV, and then `webtable ingest pages.csv`",
    ),
    _kind(
        rb"ZIM\x04",
        "a ZIM file, which has pages without their headers and dates",
        "take the WARC or WACZ file that it was made from (by warc2zim or zimit)",
    ),
    _kind(
        rb"SEQ[\x04-\x06]",
        "a sequence file of Hadoop, as Nutch's segments have",
        "write WARC files with Nutch, as in `nutch warc archive -dir crawl/segments`, then `webtable ingest archive`",
    ),
    _kind(rb" CDX ", "an index (CDX)", f"it {_THE_WARC}"),
    _kind(rb"(?:!\S[^\n]*\n)*" + _CDX_KEY + rb"\{", "an index (CDXJ)", f"it {_THE_WARC}"),
    _kind(rb"!(?:OpenWayback-)?CDXJ", "an index (CDXJ)", f"it {_THE_WARC}"),
    _kind(_CDX_KEY, "an index (CDX)", f"it {_THE_WARC}"),
    _kind(rb"\S+\)\S* \d{8,17}\t", "the index of an index (ZipNum)", f"it {_THE_WARC}"),
    _kind(
        rb"SQLite format 3\x00",
        "an SQLite file",
        "if it is a store of webtable, copy its pages, as in `webtable -s {} copy webtable.db`",
    ),
    _kind(
        rb"(?:\xef\xbb\xbf)?\s*\[",
        "an array of JSON",
        "write a page a line, as in `jq -c '.[]' {} | webtable ingest -`",
    ),
    _kind(
        rb"(?:\xef\xbb\xbf)?\s*(?:<[?!][^>]*>\s*)*+<(?:urlset|sitemapindex)[\s>]",
        "a sitemap, which has URLs and no pages",
        "fetch them with `webtable crawl https://example.com/ --sitemaps` (its host), and then compare them with "
        "`webtable sitemaps example.com`",
    ),
    _kind(
        rb"https?://\S+\r?\n",
        "a list of URLs, without the pages",
        "fetch these into a WARC file, as in `wget --warc-file=crawl -i {}`, and then `webtable ingest crawl.warc.gz`",
    ),
    _kind(
        rb"\xff\xfe|\xfe\xff",
        "a text in UTF-16",
        "write it in UTF-8, as in `iconv -f UTF-16 -t UTF-8 {} | webtable ingest -`",
    ),
)
_MHTML = re.compile(rb"(?:^|\n)content-type:\s*multipart/related\b", re.IGNORECASE)
_HEADER = re.compile(rb"[A-Za-z-]+:")
_HTML = (
    "a page of HTML without its URL, headers and date",
    "fetch it again into a WARC file, as in `wget --warc-file=crawl URL`, and then `webtable ingest crawl.warc.gz`",
)
_MHTML_SAYS = (
    "an MHTML file, which has a page as the browser shows it",
    "save the network log of the browser as HAR instead, or fetch the page again into a WARC file, as in "
    "`wget --warc-file=crawl URL`",
)
_HTTRACK = (
    "HTTrack's cache, with the pages of a copy",
    "write them as ARC, as in `proxytrack --convert crawl.arc hts-cache/new.zip`, and then `webtable ingest crawl.arc`",
)
_SCRAPY = (
    "Scrapy's cache of responses (httpcache)",
    "run the spider again with it and with webtable's middleware (docs/scrapy.md), as in "
    "`scrapy crawl SPIDER -s HTTPCACHE_ENABLED=1 -s WEBTABLE_STORE_RESPONSES=1`: it fetches nothing again",
)
_NUTCH = (
    "a segment of Nutch, or a directory of them",
    "write WARC files with Nutch, as in `nutch warc archive -dir crawl/segments`, and then `webtable ingest archive`",
)
_MIRROR = (
    "a copy of a site as files, as wget --mirror makes it, without the headers and dates of its pages",
    "fetch it again into a WARC file, as in `wget --mirror --warc-file=crawl URL`, and then "
    "`webtable ingest crawl.warc.gz`",
)
_NUTCH_PARTS = frozenset({"content", "crawl_fetch", "crawl_generate", "crawl_parse", "parse_data", "parse_text"})
_SCRAPY_PARTS = frozenset({"pickled_meta", "response_body", "response_headers"})
_MOST_LOOKED_AT = 1_000
_DEPTH = 4  # of httpcache: spider/ab/abcd…/pickled_meta


def description_of(start: bytes, file: str) -> str | None:
    """Return what *file*, which begins with *start*, is and what to do with it; None if it is not known."""
    parts = set(Path(file).parts)
    if "hts-cache" in parts:
        return _sentence(*_HTTRACK, "")
    if "httpcache" in parts or Path(file).name in _SCRAPY_PARTS:
        return _sentence(*_SCRAPY, "")
    for kind in _KINDS:
        if kind.start.match(start):
            return _sentence(kind.is_a, kind.advice, file)
    if _HEADER.match(start) and _MHTML.search(start):
        return _sentence(*_MHTML_SAYS, file)
    return _sentence(*_HTML, file) if looks_like_html(start) else None


def description_of_zip(names: Iterable[str]) -> str | None:
    """Return what a zip with entries of these *names* is and what to do with it; None if it is not known."""
    listed = list(names)
    if any(name.startswith(("http://", "https://")) for name in listed):
        return _sentence(*_HTTRACK, "")
    if any(name.endswith("index.rdf") for name in listed):
        return _sentence("a MAFF file, which has a page as the browser shows it", _MHTML_SAYS[1], "")
    return None


def description_of_folder(folder: Path) -> str | None:
    """Return what *folder* is and what to do with it; None if it is not known."""
    parts = {path.relative_to(folder).parts for path in _paths_in(folder)}
    names = {name for part in parts for name in (folder.name, *part)}
    if names & {"hts-cache", "hts-log.txt"}:
        return _sentence(*_HTTRACK, "")
    if len(_NUTCH_PARTS & names) > 1:
        return _sentence(*_NUTCH, "")
    if names >= _SCRAPY_PARTS or "httpcache" in names:
        return _sentence(*_SCRAPY, "")
    is_crawl = any(".warc" in name for name in names)  # in a directory below
    if not is_crawl and any(name.lower().endswith((".html", ".htm", ".xhtml")) for name in names):
        return _sentence(*_MIRROR, "")
    return None


def _paths_in(folder: Path) -> list[Path]:
    """The paths in *folder*, a few levels deep and no more than are needed to know it; links are not followed."""
    paths: list[Path] = []
    level = [folder]
    for _ in range(_DEPTH):
        inside = [path for above in level for path in sorted(above.iterdir())[:_MOST_LOOKED_AT]][:_MOST_LOOKED_AT]
        paths += inside
        level = [path for path in inside if path.is_dir() and not path.is_symlink()]
    return paths


def _sentence(is_a: str, advice: str, file: str) -> str:
    # What standard input was before is not known.
    name = "FILE" if file in ("", "-", "standard input", "the open file") else quote(file)
    return f"{is_a}; {advice.replace('{}', name)}"

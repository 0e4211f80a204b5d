"""How many URLs a second become row keys?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from w3lib.url import canonicalize_url

from benchmarks.material import corpus_pages
from benchmarks.measuring import Result, Run, compare, stopwatch
from webtable.errors import InvalidURL
from webtable.rowkey import WebKey

if TYPE_CHECKING:
    from benchmarks.setting import Setting
    from webtable import Page

NEEDS = frozenset({"corpus"})

_HREF = re.compile(rb"""<a\s[^>]*?href\s*=\s*["']([^"'<>]+)["']""", re.IGNORECASE)


def run(setting: Setting) -> list[Result]:
    """Encode the corpus' URLs and the links of its pages as they stand there, and decode some of the keys."""
    urls = real_urls(corpus_pages(setting.warc_files), setting.scaled(100_000))

    def ours() -> Run:
        key = WebKey()
        with stopwatch() as watch:
            keys = [key.encode(url) for url in urls]
        for url in map(key.decode, keys[:: max(1, len(keys) // 1_000)]):
            assert url.startswith("http"), url
        return Run(watch.seconds, len(keys), "a result for each")

    def w3lib() -> Run:
        with stopwatch() as watch:
            found = [canonicalize_url(url) for url in urls]
        return Run(watch.seconds, len(found), "a result for each")

    return [
        compare(
            f"WebKey.encode: {len(urls):,} URLs of the corpus and of its links",
            "w3lib.url.canonicalize_url",
            target=5,
            ours=ours,
            peer=w3lib,
            pairs=setting.pairs(7),
            unit="URLs/s",
            note="fragments and relative parts as the pages have them; a new WebKey each time, so no host is known yet",
        )
    ]


def real_urls(pages: list[Page], most: int) -> list[str]:
    """Return *most* distinct URLs: those of *pages*, then those that they link to, fragments included."""
    key = WebKey()
    found = dict.fromkeys(page.url for page in pages)
    for page in pages:
        for href in _HREF.findall(page.body or b""):
            if len(found) >= most:
                return list(found)[:most]
            url = urljoin(page.url, href.decode("utf-8", "replace").strip())
            if url not in found and url.startswith("http"):
                try:
                    key.encode(url)
                except InvalidURL:
                    continue
                found[url] = None
    return list(found)[:most]

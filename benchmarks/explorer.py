"""How soon does each page of the explorer begin on a large table, and when is it complete?"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median, quantiles
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx

import webtable
from benchmarks.crawl import SUBJECT, Crawl
from benchmarks.measuring import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.setting import Setting

NEEDS: frozenset[str] = frozenset()

ASKS = 40
MOST_MILLISECONDS = 100
"""Of 95 in 100 requests until the first byte."""
MOST_SECONDS = 3.0
"""A page is not read further then: its counts go on."""


def run(setting: Setting) -> list[Result]:
    """Fill a file with `--largest` made-up pages with links, and ask a server in a process of its own for each page."""
    crawl = Crawl.until_now(setting.scaled(setting.largest))
    file = setting.new_file()
    with webtable.open(file, create=True) as table, table.writer() as writer:
        for page in crawl.pages():
            writer.put(page)
    with webtable.open(file) as table:
        table.links.refresh()
    command = [sys.executable, "-m", "webtable", "-s", str(file), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with httpx.Client(follow_redirects=True, timeout=60) as client:
                client.get(address).raise_for_status()
                base = address.partition("/?")[0]
                return [_timed(client, base + path, name, crawl.count, setting) for name, path in _pages(crawl)]
        finally:
            server.terminate()


def _pages(crawl: Crawl) -> Iterator[tuple[str, str]]:
    url = quote(crawl.url(SUBJECT), safe="")
    host = crawl.url(SUBJECT).split("/")[2]
    yield "the table", "/"
    yield "a site", f"/site/{host}/"
    yield "a page", f"/page?url={url}"
    yield "pages of a site", f"/q/pages?site={host}"
    yield "errors of all sites", "/q/errors?site=all"
    yield "links to a page", f"/q/linking-to?url={url}"
    yield "an audit of a site", f"/audit?site={host}"
    yield "captures by CDX", f"/cdx?url={host}&matchType=host&limit=100"


def _timed(client: httpx.Client, address: str, name: str, count: int, setting: Setting) -> Result:
    """Return how long one page takes until its first byte, and until it is complete."""
    firsts: list[float] = []
    wholes: list[float] = []
    for _ in range(3 if setting.quick else ASKS):
        start = time.perf_counter()
        with client.stream("GET", address) as response:
            pieces = response.iter_raw()
            next(pieces)
            firsts.append((time.perf_counter() - start) * 1e3)
            response.raise_for_status()
            for _ in pieces:
                if time.perf_counter() - start > MOST_SECONDS:
                    break
            wholes.append(time.perf_counter() - start)
    late = quantiles(firsts, n=20)[-1]
    whole = f"complete after {median(wholes):.2f} s" if median(wholes) < MOST_SECONDS else "its counts go on after 3 s"
    return Result(
        f"explorer, {count:,} pages: {name}",
        "–",
        f"first byte {median(firsts):.0f} ms, p95 {late:.0f} ms; {whole}",
        "–",
        late,
        MOST_MILLISECONDS,
        at_most=True,
        unit=" ms",
    )

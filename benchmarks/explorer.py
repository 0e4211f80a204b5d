"""How soon does each page of the explorer begin on a large table, and when is it complete, beside Datasette's?"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

import httpx

import webtable
from benchmarks.crawl import SUBJECT, Crawl
from benchmarks.measuring import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

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
    peers = _peers(setting, crawl)
    command = [sys.executable, "-m", "webtable", "-s", str(file), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with httpx.Client(follow_redirects=True, timeout=60) as client:
                client.get(address).raise_for_status()
                base = address.partition("/?")[0]
                return [_timed(client, base + path, name, crawl.count, setting, peers) for name, path in _pages(crawl)]
        finally:
            server.terminate()


def _pages(crawl: Crawl) -> Iterator[tuple[str, str]]:
    url = quote(crawl.url(SUBJECT), safe="")
    host = crawl.url(SUBJECT).split("/")[2]
    yield "start", "/"
    yield "a site", f"/site/{host}/"
    yield "a page", f"/page?url={url}"
    yield "a question", "/q/errors?site=all"
    yield "an audit", f"/audit?site={host}"
    yield "pages of a site", f"/q/pages?site={host}"
    yield "links to a page", f"/q/linking-to?url={url}"
    yield "captures by CDX", f"/cdx?url={host}&matchType=host&limit=100"


class _Times(NamedTuple):
    """Milliseconds until the first byte: of half of the requests and of 95 in 100; and seconds until all, of half."""

    first: float
    late: float
    whole: float

    def __str__(self) -> str:
        whole = f"complete after {self.whole:.2f} s" if self.whole < MOST_SECONDS else "its counts go on after 3 s"
        return f"first byte {self.first:.0f} ms, p95 {self.late:.0f} ms; {whole}"


def _timed(
    client: httpx.Client, address: str, name: str, count: int, setting: Setting, peers: Mapping[str, _Times]
) -> Result:
    """Return how long one page takes until its first byte, and until it is complete, beside that of the peer."""
    times = _measured(client, address, setting)
    peer, theirs = ("Datasette", str(peers[name])) if name in peers else ("–", "–")
    what = f"explorer, {count:,} pages: {name}"
    return Result(what, peer, str(times), theirs, times.late, MOST_MILLISECONDS, at_most=True, unit=" ms")


def _measured(client: httpx.Client, address: str, setting: Setting) -> _Times:
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
    return _Times(median(firsts), quantiles(firsts, n=20)[-1], median(wholes))


# --- Datasette (Apache-2.0, `pip install datasette`, or its command in the variable DATASETTE) ------------------------
#
# It shows the same pages from a plain file: a row for each page, with indexes of hosts, statuses and times. Without it
# webtable is measured alone.


_AUDIT = """select title, count(*) as pages from pages where host = :host and status = 200 group by title
    having pages > 1 order by pages desc"""


def _peers(setting: Setting, crawl: Crawl) -> dict[str, _Times]:
    """Return the times of Datasette's pages by their names; none where it is not installed."""
    program = os.environ.get("DATASETTE") or shutil.which("datasette")
    if program is None:
        return {}
    file = setting.new_file().with_suffix(".sqlite")
    number = _plain_file(file, crawl)
    host = crawl.url(SUBJECT).split("/")[2]
    of_file = f"/{file.stem}"
    pages = {
        "start": of_file,
        "a site": f"{of_file}/pages?{urlencode({'host': host, '_facet': 'status'})}",
        "a page": f"{of_file}/pages/{number}",
        "a question": f"{of_file}/pages?status__gte=400&_sort=status",
        "an audit": f"{of_file}?{urlencode({'sql': _AUDIT, 'host': host})}",
    }
    with _datasette(program, file) as client:
        return {name: _measured(client, path, setting) for name, path in pages.items()}


def _plain_file(file: Path, crawl: Crawl) -> int:
    """Write the pages into a plain file, and return the number of the one that is asked for."""
    rows = (
        (number, page.url, page.url.split("/")[2], page.status, page.title, page.content_type, page.size,
         f"{page.fetched_at:%Y-%m-%d %H:%M:%S}", page.body)
        for number, page in enumerate(crawl.pages())
    )  # fmt: skip
    with sqlite3.connect(file) as database:
        database.execute(
            "create table pages (id integer primary key, url text, host text, status integer, title text,"
            " content_type text, size integer, fetched_at text, body blob)"
        )
        database.executemany("insert into pages values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        for name in ("url", "host", "status", "fetched_at"):
            database.execute(f"create index by_{name} on pages ({name})")
    database.close()
    return SUBJECT


@contextmanager
def _datasette(program: str, file: Path) -> Iterator[httpx.Client]:
    """Serve *file*, and give a client of the server."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "serve", str(file), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", follow_redirects=True, timeout=60) as client:
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline:
                    try:
                        client.get("/-/versions.json")
                        break
                    except httpx.TransportError:
                        time.sleep(0.1)
                yield client
        finally:
            server.terminate()

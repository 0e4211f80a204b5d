"""Does memory stay flat while pages stream into a store and out again, without links and with sixty, all indexed?"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import psutil
from msgspec.structs import replace

import webtable
from benchmarks.material import made_up_pages
from benchmarks.measuring import LeftOut, Result
from benchmarks.setting import REGIONS, Setting
from webtable import Link
from webtable.repository.indexes.index import WEB_INDEXES

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDS = frozenset[str]()
LIKES = frozenset({"hbase"})

PAGES = 100_000
LINKING_PAGES = 20_000
LINKS = 60
"""How many links each of them has; with them the table has all indexes."""
LIMIT_MB = 150
FLAT = 1.15
"""How many times the middle of the second half of a stream may be that of the first half."""
SITE = "streamed.example"


class Stream(NamedTuple):
    """The resident memory of a process while pages stream past, in MB."""

    start: float
    first_half: float
    second_half: float
    most: float

    @property
    def is_flat(self) -> bool:
        """Whether it did not grow with what had gone past."""
        return self.second_half <= FLAT * self.first_half

    def __str__(self) -> str:
        halves = f"{self.first_half:.0f} then {self.second_half:.0f}"
        return f"{self.start:.0f} MB at the start, p50 {halves}, at most {self.most:.0f}"


def run(setting: Setting) -> list[Result | LeftOut]:
    """Let a process of its own write and read, and look at its resident memory every 20 ms."""
    results: list[Result | LeftOut] = []
    for pages, links in ((PAGES, 0), (LINKING_PAGES, LINKS)):
        count = setting.scaled(pages)
        results += _results("embedded", str(setting.new_file()), count, links)
        if setting.hbase is None:
            why = setting.missing.get("hbase", "no HBase")
            results.append(LeftOut(f"memory on HBase, {links} links", why))
        else:
            with setting.hbase_table_url() as url:
                results += _results("HBase", url, count, links)
    return results


def _results(store: str, url: str, count: int, links: int) -> list[Result]:
    return [
        Result(
            f"resident memory, {store}: {count:,} pages {stream}",
            "–",
            str(measured),
            "flat" if measured.is_flat else "grows",
            measured.most if measured.is_flat else float("inf"),
            LIMIT_MB,
            at_most=True,
            unit=" MB",
            note=f"{links} links a page, all seven indexes" if links else "a table without indexes",
        )
        for stream, measured in watched(url, count, links).items()
    ]


def watched(url: str, count: int, links: int = 0) -> dict[str, Stream]:
    """Return the memory of the process that streams *count* pages into the store *url*, and of that which reads."""
    streams = {}
    for name in ("written", "read"):
        command = [sys.executable, "-m", "benchmarks.memory", name, url, str(count), str(links)]
        with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            child.stdout.readline()  # it has loaded what it needs
            process = psutil.Process(child.pid)
            start, samples = process.memory_info().rss / 1e6, []
            while child.poll() is None:
                samples.append(process.memory_info().rss / 1e6)
                time.sleep(0.02)
            said = child.stdout.read().split()
        assert (child.returncode, said) == (0, [str(count)]), f"{command}: exit code {child.returncode}, said {said}"
        samples = [sample for sample in samples if sample]  # none of a process that is about to end
        # Behind the first fifth, in which buffers and caches fill up.
        settled = samples[len(samples) // 5 :] or [start]
        middle = len(settled) // 2
        first, second = median(settled[: middle or 1]), median(settled[middle:])
        streams[name] = Stream(start, first, second, max([start, *samples]))
    return streams


def write(url: str, count: int, links: int) -> int:
    """Stream pages into a new table and return how many were stored."""
    indexes = tuple(WEB_INDEXES) if links else ()
    with webtable.open(url, create=True, regions=REGIONS, indexes=indexes) as table:
        print("ready", flush=True)
        writer = table.writer()
        with writer:
            for page in made_up_pages(count, [SITE, f"www.{SITE}"], body_bytes=1_000):
                writer.put(replace(page, outlinks=tuple(_links(page.url, links))) if links else page)
        return writer.stored


def _links(url: str, count: int) -> Iterator[Link]:
    """Yield links from the page *url*: half of them those of the whole site, half to pages near it."""
    for number in range(count):
        near = f"{url}/{number}" if number % 2 else f"https://{SITE}/navigation/{number}"
        yield Link(near, f"a link to number {number}")


def read(url: str, count: int, links: int) -> int:  # noqa: ARG001 - as `write` is called
    """Stream all pages out of the table, bodies included, and return how many there were."""
    with webtable.open(url) as table:
        print("ready", flush=True)
        return sum(1 for page in table.pages(SITE, columns=["body"]) if page.body)


if __name__ == "__main__":
    what, store_url, *numbers = sys.argv[1:]
    print((write if what == "written" else read)(store_url, *map(int, numbers)))

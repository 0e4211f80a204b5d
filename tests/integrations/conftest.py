"""Crawls of Scrapy, each in a process of its own, of a web that is served here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from benchmarks.crawl_site import Answer, CrawlSite, answers_of, served

import webtable
from running_pieces import Run, pieces_run_after
from webtable.demo import Sample

SCRIPT = Path(__file__).with_name("crawl.py")
CRAWL = """
import gc, os
from pathlib import Path
from crawl import main
os.environ["http_proxy"] = {proxy!r}
main(Path({told!r}))
gc.collect()  # as an interpreter does at its end, which shows errors that nobody has taken
"""


@dataclass
class Crawl:
    """What a crawl has come to."""

    code: int
    log: str
    acknowledged: set[str]
    """The pages of which it was told that they are stored."""
    stats: dict[str, object] = field(default_factory=dict)
    items: list[dict[str, object]] = field(default_factory=list)

    def counts(self, *names: str) -> list[object]:
        """The statistics of these names, of those of webtable."""
        return [self.stats.get(f"webtable/{name}", 0) for name in names]


def listen_to_interrupts() -> None:
    """Take SIGINT as it comes from a terminal, also where a shell runs the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Crawls:
    """Starts crawls in *folder*, by the proxy of a site."""

    def __init__(self, folder: Path, url: str, run_piece: Run) -> None:
        self.folder = folder
        self.url = url
        self._run_piece = run_piece

    def told(self, spider: str, urls: list[str], settings: dict[str, object], arguments: dict[str, object]) -> Path:
        """Return the file that tells of a crawl what it is to be."""
        told = self.folder / f"{uuid.uuid4().hex[:8]}.json"
        stops = arguments.pop("stops", 0)
        said = {
            "spider": spider,
            "arguments": {"urls": urls, **arguments},
            "settings": {
                "WEBTABLE_URI": self.url,
                "WEBTABLE_CREATE": True,
                "WEBTABLE_WRITER_PROCESS": False,
                **settings,
            },
            "stops": stops,
        }
        told.write_text(json.dumps(said))
        return told

    def begin(self, site: CrawlSite, spider: str, urls: list[str], settings: dict[str, object], **arguments: object):
        """Start a crawl that can be interrupted, and return its process with the file that tells of it."""
        told = self.told(spider, urls, settings, arguments)
        environment = os.environ | {"http_proxy": site.proxy, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        log = told.with_suffix(".log").open("w")
        with log:
            command = [sys.executable, "-W", "error::ResourceWarning", str(SCRIPT), str(told)]
            process = subprocess.Popen(
                command, stderr=log, stdout=log, env=environment, cwd=self.folder, preexec_fn=listen_to_interrupts
            )
        return process, told

    def end(self, process: subprocess.Popen, told: Path) -> Crawl:
        """Wait for the end of a crawl, and return what it has come to."""
        return self.found(process.wait(timeout=240), told)

    def found(self, code: int, told: Path) -> Crawl:
        """Return what a crawl has come to that ended with *code*."""
        done = told.with_suffix(".done")
        found = json.loads(done.read_text()) if done.exists() else {}
        acknowledged = set(told.with_suffix(".acknowledged").read_text().split())
        return Crawl(code, told.with_suffix(".log").read_text(), acknowledged, **found)

    def run(self, site: CrawlSite, spider: str, urls: list[str], settings: dict[str, object], **arguments: object):
        """Return what a crawl has come to."""
        told = self.told(spider, urls, settings, arguments)
        code, log = self._run_piece(CRAWL.format(proxy=site.proxy, told=str(told)), self.folder)
        told.with_suffix(".log").write_text(log)
        return self.found(code, told)


@pytest.fixture(scope="session")
def run_piece() -> Iterator[Run]:
    """Run a piece of Python where Scrapy is imported, which takes longer than most crawls."""
    with pieces_run_after("crawl", warnings="error::ResourceWarning", path=[str(SCRIPT.parent)]) as run:
        yield run


@pytest.fixture
def crawls(tmp_path: Path, run_piece: Run) -> Crawls:
    return Crawls(tmp_path, str(tmp_path / "crawl.db"), run_piece)


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.nightly),
        # By one gateway alone each page of an index takes calls of its own, which others try by day.
        pytest.param("hbase-thrift1", marks=[pytest.mark.hbase, pytest.mark.nightly]),
        pytest.param("hbase-native", marks=pytest.mark.hbase),
    ]
)
def crawls_into(request: pytest.FixtureRequest, tmp_path: Path, run_piece: Run) -> Iterator[Crawls]:
    """Crawls into a table of each store."""
    if request.param == "sqlite":
        yield Crawls(tmp_path, str(tmp_path / "crawl.db"), run_piece)
        return
    server = request.getfixturevalue("native_url" if request.param == "hbase-native" else "hbase_url")
    base, _, query = server.partition("?")
    name = f"scrapy_{uuid.uuid4().hex[:8]}"
    url = f"{base.rstrip('/')}/{name}" + (f"?{query}" if request.param == "hbase-native" else "")
    # By one gateway alone, each page of an index takes calls of its own.
    indexes = ["time", "link"]
    with webtable.open(url, create=True, indexes=indexes) as table:
        yield Crawls(tmp_path, url, run_piece)
        for made in [one for one in table.store.tables() if one.startswith(name)]:
            table.store.drop_table(made)


@pytest.fixture(scope="session")
def sample_answers(sample_web: Sample) -> list[dict[str, Answer]]:
    return [answers_of(sample_web.crawls[:count]) for count in (1, 2)]


@pytest.fixture
def site(sample_answers):
    """The sample web as its first crawl finds it."""
    with served(sample_answers[0]) as site:
        yield site

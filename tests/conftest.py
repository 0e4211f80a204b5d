"""Stores to test against: every adapter, each with one table that the tests share under prefixes of their own."""

from __future__ import annotations

import fcntl
import gc
import gzip
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import settings

from manual_clock import SERVER_SECONDS, ManualClock
from nightly import NIGHTLY
from store_differences import ADAPTERS
from webtable import demo
from webtable.demo import Sample, make_sample
from webtable.schema import web
from webtable.store import MAX_CELL, StoreURL
from webtable.store.memory import MemoryStore
from webtable.store.port import Store
from webtable.store.sqlite import SQLiteStore
from webtable.testing import ListeningStore, WrappedStore, hbase_native_url
from webtable.testing.store_fixtures import new_table, space, store, table  # noqa: F401 - fixtures

pytest_plugins = ["webtable.testing"]

# Beside other work a quick example may take a second: none fails by the clock on the wall. All else is as Hypothesis
# chooses, which tries the same examples in every run where CI is set.
settings.register_profile("webtable", settings(), deadline=None)
settings.load_profile("webtable")

# They hold no examples, and as modules to be looked at for some they would all have one name.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


# Most of what the tests wait for is SQLite, which waits for the disk at each commit: in memory they take half the time.
# What a test kills are processes, never the machine, so that nothing depends on a disk. A run has some 500 MB there.
IN_MEMORY = Path("/dev/shm")
if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))

# To open four regions for each of seven indexes takes HBase longer than many a test. By night, and for tables that
# commands make in processes of their own, they have four.
if not NIGHTLY:
    web.INDEX_REGIONS = 1

JOBS = {"cluster", "engines", "kerberos", "spark", "versions"}
"""Marks of tests that need packages or servers of their own, and run only where they are asked for."""
NUMBER_OF_A_PAGE = re.compile(r"[-=](\d+)(?:\.html?|/|&lang=en)?$")
"""Most pages of the sample web have their number in their URL."""
SITES = ("debian-policy", "git-doc", "nodejs-doc")
BUILD_CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "build_corpus.py"
"""Where the script that makes the corpus is kept: beside the checkout."""


def pytest_report_header() -> str:
    """Say what the tests run with: of most failures elsewhere that is the reason."""
    drivers = ("happybase", "thriftpy2", "msgspec", "resiliparse", "selectolax", "zstandard")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in drivers)
    return f"webtable {metadata.version('hbase-webtable')}: SQLite {sqlite3.sqlite_version}, {versions}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out by day what is for the night, and skip the jobs that `-m` does not name."""
    if not NIGHTLY:
        by_night = {item for item in items if item.get_closest_marker("nightly")}.union(variants_on_hbase(items))
        config.hook.pytest_deselected(items=list(by_night))
        items[:] = [item for item in items if item not in by_night]
    for job in JOBS - set(re.findall(r"\w+", config.option.markexpr)):
        skip = pytest.mark.skip(reason=f"a job of its own: make test MARK={job}")
        for item in items:
            if item.get_closest_marker(job):
                item.add_marker(skip)


def variants_on_hbase(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return two of three variants that HBase tries of a test, where the file tries all; gateways try others.

    The contract of stores, and the tests of HBase alone, are tried wholly: they are why one store may stand for both.
    """
    variants: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        adapter = (
            item.callspec.params.get("adapter") if isinstance(item, pytest.Function) and "[" in item.name else None
        )
        if isinstance(adapter, str) and item.path.parent.name not in ("store", "hbase", "faults"):
            variants.setdefault(item.nodeid.partition("[")[0], {}).setdefault(adapter, []).append(item)
    return {
        item
        for by_adapter in variants.values()
        if "sqlite" in by_adapter
        for adapter, tried in by_adapter.items()
        if adapter.startswith("hbase") and len(tried) > 1
        for place, item in enumerate(tried)
        if place % 3 != (0 if adapter == "hbase-native" else 1)
    }


def pytest_collection_finish() -> None:
    """Leave 10,000 collected tests out of every collection of garbage, which took an eighth of the tests' time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let extension modules see at exit that nothing of theirs is left."""
    gc.unfreeze()


@pytest.fixture
def manual_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The clock that the library goes by in the test: it stands still, but for what the library sleeps."""
    is_on_hbase = request.node.get_closest_marker("hbase") is not None
    return ManualClock(server_seconds=SERVER_SECONDS if is_on_hbase else 0.0).installed(monkeypatch)


def pytest_runtest_teardown() -> None:
    """Close the figures that a test has drawn: matplotlib keeps them, and warns of more than twenty."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def large_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every store count as one that is too large to be read as a whole without being asked for it."""
    monkeypatch.setattr("webtable.repository.reading.scope.SMALL_BYTES", -1)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts come through, here and in processes started here, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell turns them off there
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def native_url(request: pytest.FixtureRequest) -> str:
    """URL of the running HBase by its own protocol, without a table: `WEBTABLE_HBASE_NATIVE_URL`, or its container."""
    if url := os.environ.get("WEBTABLE_HBASE_NATIVE_URL"):
        return url
    gateways = request.getfixturevalue("hbase_url")
    if "WEBTABLE_HBASE_URL" in os.environ:
        pytest.skip("WEBTABLE_HBASE_URL is set, and WEBTABLE_HBASE_NATIVE_URL is not")
    return hbase_native_url(gateways)


@pytest.fixture(scope="session")
def open_store(
    adapter: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Store]:
    """Open the same store once more."""
    if adapter == "memory":
        return lambda: MemoryStore("contract")
    if adapter in ("sqlite", "sqlite-wrapped"):
        path = tmp_path_factory.mktemp("store") / "contract.db"
        # With the largest cell that HBase has: one of SQLite's own largest would take gigabytes to write.
        sqlite = partial(SQLiteStore, path, create=True, max_cell=MAX_CELL)
        return sqlite if adapter == "sqlite" else lambda: ListeningStore(WrappedStore(sqlite()), lambda _: None)

    from webtable.store.hbase import HBaseStore
    from webtable.store.hbase.native.store import NativeStore

    if adapter == "hbase-https":  # of the tests in tests/hbase alone
        address = StoreURL.parse(request.getfixturevalue("https_url"))
        return lambda: HBaseStore.from_url(address)
    if adapter == "hbase-native":
        native = StoreURL.parse(request.getfixturevalue("native_url"))
        return lambda: NativeStore.from_url(native)
    gateways = request.getfixturevalue("hbase_url")
    address = StoreURL.parse(gateways if adapter == "hbase-thrift2" else gateways.partition("?")[0])
    return lambda: HBaseStore.from_url(address)


@pytest.fixture(scope="session")
def sample_web(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample web, to be read alone: making it takes seconds, so that all processes of a run have the same."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_sample(folder / "sample")


@pytest.fixture(scope="session")
def few_crawls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a sample web with eight numbered pages of each host at most."""
    folder = tmp_path_factory.mktemp("crawls")
    for crawl in demo.CRAWLS.glob("crawl-*.warc.gz"):
        head, *records = gzip.decompress(crawl.read_bytes()).split(demo.VERSION_LINE)
        urls = (re.search(rb"^WARC-Target-URI: (.*)\r$", record, re.MULTILINE)[1].decode() for record in records)
        numbers = (NUMBER_OF_A_PAGE.search(url) for url in urls)
        few = [record for record, number in zip(records, numbers, strict=True) if not number or int(number[1]) < 8]
        (folder / crawl.name).write_bytes(gzip.compress(demo.VERSION_LINE.join([head, *few])))
    return folder


@pytest.fixture
def few_sample_pages(few_crawls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample web that is made in the test has eight pages of each host at most."""
    monkeypatch.setattr(demo, "CRAWLS", few_crawls)


@pytest.fixture(scope="session")
def small_web(few_crawls: Path, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A sample web of few pages, to be read alone, for tests to which their number does not matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "CRAWLS", few_crawls)
        return make_sample(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def warc_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Sites of the real web corpus, or a skip that says why there is none."""
    given = os.environ.get("WEBTABLE_CORPUS")
    folder = Path(given) if given else tmp_path_factory.mktemp("corpus")
    if not given:
        missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
        if missing or not BUILD_CORPUS.is_file():
            what = missing[0] if missing else BUILD_CORPUS.name
            pytest.skip(f"no corpus: WEBTABLE_CORPUS is not set, and there is no {what} to make one")
        sites = [part for site in SITES for part in ("--site", site)]
        command = [sys.executable, str(BUILD_CORPUS), "--out", str(folder), *sites]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            pytest.skip(f"no corpus: {BUILD_CORPUS.name} failed: {built.stderr.strip()[-500:]}")
    files = [folder / f"{site}.warc.gz" for site in SITES]
    present = [file for file in files if file.is_file()]
    assert len(present) >= 2, f"WEBTABLE_CORPUS={folder} holds fewer than two of {', '.join(SITES)}"
    return present

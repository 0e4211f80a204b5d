"""`ingest --workers` where workers, or the whole run, are ended."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from running import Run
from test_cli_workers import PAGES, count, crawl, pages_of

import child_processes
import webtable
from webtable.store import open_store

COMMAND = [sys.executable, "-m", "webtable.cli"]
INGEST = ["ingest", "--workers", "2", "--batch", "20"]

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the workers"),
    pytest.mark.slow,
]


@contextmanager
def ingesting(*arguments: str, store: str = "webtable.db") -> Iterator[subprocess.Popen[str]]:
    """An ingest under way in a group of processes of its own, as a shell starts it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        [*COMMAND, "-s", store, *INGEST, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        signal.signal(signal.SIGHUP, before)
        try:
            yield process
        finally:
            process.kill()


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    return [worker.pid for worker in child_processes.workers_of(process.pid)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(pid: int) -> None:
    """Kill a worker that may have ended since it was seen."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(happened: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, "it ended before it could be hurt"
        time.sleep(0.01)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return crawl(tmp_path)


def test_a_worker_that_is_killed_loses_nothing(files: list[str]):
    with ingesting(*files) as process:
        wait_for(lambda: count("webtable.db"), process)
        os.kill(workers_of(process)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0
    assert err == "a worker died (it was ended by SIGKILL): what it had not stored was read again\n"
    assert out.startswith(f"{PAGES:,} pages stored in ")
    assert count("webtable.db") == PAGES


def test_a_file_on_which_two_workers_die_is_named_and_the_others_are_stored(files: list[str]):
    killed: set[int] = set()
    with ingesting(files[0]) as process:
        while process.poll() is None:
            for pid in set(workers_of(process)) - killed:
                killed.add(pid)
                wait_for(lambda pid=pid: is_reading(pid, files[0]) or process.poll() is not None)
                kill(pid)
            time.sleep(0.005)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 1
    assert len(killed) >= 2
    assert re.search(
        rf"webtable: {files[0]}: not read after record [\d,]+: 2 workers died there: it was ended by SIGKILL", err
    )


def is_reading(pid: int, file: str) -> bool:
    try:
        return any(link.readlink().name == file for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_workers_that_cannot_begin_end_the_run(files: list[str]):
    with ingesting(*files) as process:
        while process.poll() is None:
            for pid in workers_of(process):
                kill(pid)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 1
    assert err == "webtable: workers die before they can begin: it was ended by SIGKILL\n"


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly), signal.SIGHUP]
)
def test_a_signal_keeps_what_was_read_and_ends_all_workers(tmp_path: Path, number: signal.Signals):
    files = crawl(tmp_path, links_each=150)  # so that much is left to read when it is seen that some is stored
    with ingesting(*files) as process:
        wait_for(lambda: count("webtable.db"), process)
        workers = workers_of(process)
        os.killpg(process.pid, number)  # as a terminal does it: the workers get it as well
        out, err = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    said = int(re.match(r"([\d,]+) pages? stored", out)[1].replace(",", ""))
    assert 0 < said < PAGES
    assert count("webtable.db") == said
    by = "" if number == signal.SIGINT else f" by {number.name}"
    place = r"after record [\d,]+ of \d.warc.gz"
    assert re.fullmatch(rf"webtable: interrupted{by} {place}( and {place})?: what was read is stored; .+\n", err)
    assert not any(map(command_of, workers))


def test_a_second_ctrl_c_gives_up_what_workers_do_not_come_to_the_end_of(files: list[str]):
    with ingesting(*files) as process:
        wait_for(lambda: count("webtable.db"), process)
        workers = workers_of(process)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        time.sleep(1.5)  # less would be one press that comes twice
        still_running = process.poll() is None
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)
        _, err = process.communicate(timeout=60)

    assert still_running
    assert (process.returncode, err) == (130, "webtable: aborted; what was not stored yet is lost\n")
    wait_for(lambda: not any(map(command_of, workers)))


def test_workers_end_with_the_process_that_has_started_them(files: list[str]):
    with ingesting(*files) as process:
        wait_for(lambda: count("webtable.db"), process)
        workers = workers_of(process)
        process.kill()
        process.wait()

    assert workers
    wait_for(lambda: not any(map(command_of, workers)))


@pytest.mark.parametrize("kind", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_what_was_ended_goes_on_with_the_last_batches_and_misses_nothing(files: list[str], kind: signal.Signals):
    read = 0
    for _ in range(2):
        before = noted()
        with ingesting("--resume", *files) as process:
            wait_for(lambda before=before: noted() >= before + 150 or process.poll() is not None)
            process.send_signal(kind)
        read = max(read, noted())

    done = subprocess.run([*COMMAND, *INGEST, "--resume", *files], capture_output=True, text=True, check=True)

    pages = int(done.stdout.split()[0].replace(",", ""))
    assert read >= 300
    assert pages <= PAGES - read
    assert sorted(page.url for page in pages_of("webtable.db")) == sorted(
        f"https://h{number % 7}.example.com/{number}" for number in range(PAGES)
    )


@pytest.fixture
def hbase_store(hbase_url: str) -> Iterator[str]:
    name = f"workers_{uuid.uuid4().hex[:8]}"
    base, _, query = hbase_url.partition("?")
    store = f"{base.rstrip('/')}/{name}?{query}"
    webtable.create(store)
    yield store
    with open_store(hbase_url)[0] as tables:
        for table in tables.tables():
            if table == name or table.startswith(f"{name}_"):
                tables.drop_table(table)


@pytest.mark.hbase
def test_workers_that_store_themselves_leave_the_same_table_also_where_one_is_killed(
    files: list[str], hbase_store: str, run: Run
):
    run("-s", "one.db", "ingest", *files)
    with ingesting("--resume", *files, store=hbase_store) as process:
        wait_for(lambda: count(hbase_store), process)
        os.kill(workers_of(process)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)

    assert (process.returncode, err.count("\n")) == (0, 1)
    assert "a worker died (it was ended by SIGKILL): what it had not stored was read again" in err
    assert out.startswith(f"{PAGES:,} pages stored in ")
    assert pages_of(hbase_store) == pages_of("one.db")
    again = run("-s", hbase_store, "ingest", "--workers", "2", "--resume", *files)
    assert "0 pages stored" in again.out
    assert f"{len(files)} files stored before" in again.out


@pytest.mark.hbase
def test_a_signal_ends_workers_that_store_themselves(files: list[str], hbase_store: str):
    with ingesting(*files, store=hbase_store) as process:
        wait_for(lambda: count(hbase_store), process)
        os.killpg(process.pid, signal.SIGTERM)
        out, _ = process.communicate(timeout=120)

    assert process.returncode == 143
    assert 0 < count(hbase_store) < PAGES
    assert out.startswith(f"{count(hbase_store):,} pages stored")


def noted() -> int:
    """How many records the journal says are stored."""
    journal = Path("webtable.db.ingest")
    if not journal.exists():
        return 0
    written = journal.read_bytes()
    return sum(part.get("records", 0) for part in json.loads(written)["found"]["parts"]) if written else 0

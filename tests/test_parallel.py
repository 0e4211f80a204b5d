"""Answers read by several processes: all of it once, in order, also where a worker dies; none is left at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import parallel_functions as functions
import webtable
from webtable import Page, parallel
from webtable.errors import InvalidArgument, WebTableError

pytestmark = pytest.mark.slow

PAGES = 60
DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def table(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        with table.writer() as writer:
            for number in range(PAGES):
                writer.put(Page(url=f"https://h{number % 9}.example/{number}", body=b"x"))
        yield table


def test_values_come_in_the_order_of_the_parts_with_progress(table):
    progress: list[int] = []

    found = list(parallel.map(table.pages(), functions.urls, workers=2, partitions=5, on_progress=progress.append))

    assert found == [[page.url for page in part.pages()] for part in table.pages().partitions(5)]
    assert progress == [12, 24, 36, 48, 60]


def test_values_come_as_they_are_finished_where_order_does_not_matter(table):
    found = list(parallel.map(table.pages(), functions.rows_of_frame, workers=2, partitions=3, ordered=False))

    assert sorted(found) == [20, 20, 20]


def test_a_part_whose_worker_was_killed_is_read_again(table, tmp_path, monkeypatch):
    monkeypatch.setenv("WEBTABLE_TEST_DIED", str(tmp_path / "died"))

    found = [url for urls in parallel.map(table.pages(), functions.die_once, workers=2) for url in urls]

    assert (tmp_path / "died").exists()
    assert sorted(found) == sorted(page.url for page in table.pages())


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (functions.die, WebTableError, "2 workers died there: it was ended by SIGKILL"),
        (functions.fail, ValueError, "no all pages"),
        (lambda answer: answer.count(), InvalidArgument, "define it at the top of a module"),
    ],
)
def test_what_goes_wrong_is_raised_here(table, function, error, message):
    with pytest.raises(error, match=message):
        list(parallel.map(table.pages(), function, workers=1, partitions=2))


def test_a_number_of_workers_that_is_none_is_refused(table):
    for workers in (0, -1, 1.5):
        with pytest.raises(InvalidArgument, match="workers="):
            parallel.map(table.pages(), functions.urls, workers=workers)


def test_the_script_of_the_docs_counts_words(tmp_path):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(Page(url="https://example.com/", body=b"<p>salted keys, salted rows", content_type="text/html"))
    (script,) = re.findall(r"```py\n(.*?)```", (DOCS / "parallel.md").read_text(), re.DOTALL)
    (tmp_path / "words.py").write_text(script)

    run = subprocess.run([sys.executable, "words.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run.stdout.startswith("[('salted', 2)"), run.stderr


PROGRAM = """
import signal
import sys
import webtable
from webtable import parallel
from parallel_functions import wait

if __name__ == "__main__":
    # A shell has its commands in the background ignore Ctrl-C, and the tests may be one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with webtable.open(sys.argv[1]) as table:
        list(parallel.map(table.pages(), wait, workers=2, partitions=4))
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(table, tmp_path, ending):
    waiting, program = tmp_path / "waiting", tmp_path / "program.py"
    waiting.mkdir()
    program.write_text(PROGRAM)
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "WEBTABLE_TEST_WAITING": str(waiting)}
    process = subprocess.Popen(
        [sys.executable, program, tmp_path / "crawl.db"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: len(list(waiting.iterdir())) == 2)

        process.send_signal(ending)

        assert process.wait(20) != 0
        until(lambda: not any(Path("/proc", worker.name).exists() for worker in waiting.iterdir()))
    finally:
        process.kill()
        process.wait()


def until(condition) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)

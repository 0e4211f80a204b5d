"""The command line as a process: signals, closed pipes, terminals."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import webtable
from nightly import some
from webtable.formats import FORMATS

WEBTABLE = [sys.executable, "-m", "webtable.cli"]
PAGES = 900
FEW = 150


@pytest.fixture(scope="module")
def warc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A WARC file that takes a second or two to ingest."""
    return written(tmp_path_factory.mktemp("warc") / "crawl.warc", PAGES)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A WARC file that nothing has to be in time for."""
    return written(tmp_path / "few.warc", FEW)


def written(path: Path, pages: int) -> Path:
    date = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with path.open("wb") as file:
        for number in range(pages):
            links = "".join(f"<a href=/{number}/{link}>link {link}</a>" for link in range(20))
            file.write(record(f"https://h{number % 7}.example.com/{number}", date, f"<title>{number}</title>{links}"))
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("WEBTABLE_STORE", "COLUMNS")}
    return {**kept, "PYTHONUNBUFFERED": "", "TERM": "xterm-256color"}


def record(url: str, date: str, body: str) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body.encode()
    headers = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n"
        f"WARC-Record-ID: <urn:uuid:0>\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return headers.encode() + block + b"\r\n\r\n"


def listing(store: Path) -> list[webtable.Page]:
    with webtable.open(store) as table:
        return list(table.pages("example.com"))


def count(store: Path) -> int:
    # The table may not be there yet.
    with suppress(webtable.WebTableError):
        return len(listing(store))
    return 0


def wait_until_some_are_stored(process: subprocess.Popen[bytes], store: Path) -> None:
    deadline = time.monotonic() + 60
    while not count(store):
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def ingesting(warc: Path, tmp_path: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """An ingest under way, of which some pages are stored."""
    command = [*WEBTABLE, "-s", "crawl.db", "ingest", "--batch", "20", str(warc)]
    # Where the tests themselves were started by nohup it would be ignored.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        signal.signal(signal.SIGHUP, before)
        try:
            wait_until_some_are_stored(process, tmp_path / "crawl.db")
            yield process
        finally:
            process.kill()


def run(*arguments: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*WEBTABLE, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_read_and_says_how_much(
    ingesting: subprocess.Popen[bytes], tmp_path: Path, warc: Path, environment: dict[str, str]
) -> None:
    ingesting.send_signal(signal.SIGINT)
    out, err = ingesting.communicate(timeout=60)

    assert ingesting.returncode == 130
    said = int(re.match(r"([\d,]+) pages? stored", out.decode())[1].replace(",", ""))
    assert 0 < said < PAGES
    assert count(tmp_path / "crawl.db") == said
    (line,) = err.decode().splitlines()
    place = re.fullmatch(r"webtable: interrupted after record ([\d,]+) of (.+): what was read is stored; (.+)", line)
    assert place is not None
    assert (int(place[1].replace(",", "")), place[2]) == (said, str(warc))
    assert place[3] == (
        "the same command reads everything again and stores the rest; "
        "only a run that was started with --resume can be continued from where it ended"
    )

    again = run("-s", "crawl.db", "ingest", str(warc), cwd=tmp_path, environment=environment)
    assert again.returncode == 0
    assert count(tmp_path / "crawl.db") == PAGES


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_processes_keeps_what_was_read_and_says_how_much(
    ingesting: subprocess.Popen[bytes], tmp_path: Path, warc: Path, number: signal.Signals
) -> None:
    ingesting.send_signal(number)
    out, err = ingesting.communicate(timeout=60)

    assert ingesting.returncode == 128 + number
    said = int(re.match(r"([\d,]+) pages? stored", out.decode())[1].replace(",", ""))
    assert 0 < said < PAGES
    assert count(tmp_path / "crawl.db") == said
    assert f"interrupted by {number.name} after record {said:,} of {warc}: what was read is stored" in err.decode()


@pytest.mark.slow
def test_an_ingest_that_is_to_survive_a_hangup_does(warc: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    command = ["nohup", *WEBTABLE, "-s", "crawl.db", "ingest", "--batch", "50", str(warc)]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until_some_are_stored(process, tmp_path / "crawl.db")
        process.send_signal(signal.SIGHUP)

        assert process.wait(timeout=120) == 0


def test_ctrl_c_that_arrives_twice_at_once_is_one(ingesting: subprocess.Popen[bytes], tmp_path: Path) -> None:
    ingesting.send_signal(signal.SIGINT)
    ingesting.send_signal(signal.SIGINT)
    out, _ = ingesting.communicate(timeout=60)

    assert ingesting.returncode == 130
    assert out.decode().startswith(f"{count(tmp_path / 'crawl.db'):,} pages stored")


@pytest.mark.slow
def test_a_killed_ingest_run_again_leaves_what_one_clean_run_leaves(
    ingesting: subprocess.Popen[bytes], tmp_path: Path, warc: Path, environment: dict[str, str]
) -> None:
    ingesting.kill()
    ingesting.wait()
    assert 0 < count(tmp_path / "crawl.db") < PAGES

    again = run("-s", "crawl.db", "ingest", str(warc), cwd=tmp_path, environment=environment)
    clean = run("-s", "clean.db", "ingest", str(warc), cwd=tmp_path, environment=environment)

    assert (again.returncode, clean.returncode) == (0, 0)
    assert listing(tmp_path / "crawl.db") == listing(tmp_path / "clean.db")


def test_ctrl_c_ends_a_wait_for_standard_input(tmp_path: Path, environment: dict[str, str]) -> None:
    date = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    with subprocess.Popen(
        [*WEBTABLE, "-s", "crawl.db", "ingest", "--batch", "5", "-"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        # More than a block of the reader, so that the first pages come through.
        process.stdin.write(b"".join(record(f"https://example.com/{n}", date, "x" * 10_000) for n in range(30)))
        process.stdin.flush()
        wait_until_some_are_stored(process, tmp_path / "crawl.db")

        process.send_signal(signal.SIGINT)

        assert process.wait(timeout=30) == 130


@pytest.fixture(scope="module")
def store_of_many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose listing does not fit into a pipe."""
    path = tmp_path_factory.mktemp("many") / "webtable.db"
    with webtable.open(path, create=True) as table, table.writer() as writer:
        for number in range(1_500):
            writer.put(webtable.Page(url=f"https://example.com/{number}", body=b"<title>T</title>" + b"x" * number))
    return path


@pytest.mark.parametrize("chosen", some(["table", "lines", *FORMATS], 3))
def test_a_reader_that_stops_early_ends_it_without_a_word(
    store_of_many: Path, environment: dict[str, str], chosen: str
) -> None:
    command = " ".join([*WEBTABLE, "pages", "example.com", "--format", chosen])
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | head -1"],
        cwd=store_of_many.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (result.returncode, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 1


def test_a_help_that_nobody_reads_ends_without_a_word(tmp_path: Path, environment: dict[str, str]) -> None:
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{' '.join(WEBTABLE)} --help | true"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert result.stderr == ""


def test_titles_are_utf_8_in_a_pipe_whatever_the_locale(tmp_path: Path, environment: dict[str, str]) -> None:
    with webtable.open(tmp_path / "webtable.db", create=True) as table:
        table.put(webtable.Page(url="https://example.com/", body="<title>größer 中文</title>".encode()))

    environment = {**environment, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = run("pages", "example.com", cwd=tmp_path, environment=environment)

    assert result.returncode == 0
    assert result.stdout.endswith("größer 中文\n")


def in_terminal(*arguments: str, cwd: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run it with a terminal of 100 columns for all of its streams; return its exit code and what that showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*WEBTABLE, *arguments],
        cwd=cwd,
        env={**environment, "COLUMNS": "100"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while process.poll() is None or select.select([ours], [], [], 0)[0]:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                shown += os.read(ours, 65_536)
            except OSError:  # the other side is closed
                break
    process.wait(timeout=60)
    os.close(ours)
    return process.returncode, shown.decode()


@pytest.mark.slow
def test_a_terminal_shows_a_progress_bar_with_rates_and_then_tables(
    tmp_path: Path, environment: dict[str, str], few: Path
) -> None:
    code, shown = in_terminal("ingest", str(few), cwd=tmp_path, environment=environment)
    assert code == 0
    assert "pages/s" in shown
    assert "%" in shown
    assert f"{FEW:,} pages" in shown

    code, shown = in_terminal("pages", "h1.example.com", "--limit", "3", cwd=tmp_path, environment=environment)
    assert code == 0
    assert "───" in shown
    assert "\t" not in shown


@pytest.mark.slow
def test_a_pipe_shows_no_progress_and_no_colours(tmp_path: Path, environment: dict[str, str], few: Path) -> None:
    ingested = run("ingest", str(few), cwd=tmp_path, environment=environment)
    listed = run("pages", "h1.example.com", "--limit", "3", "--format", "table", cwd=tmp_path, environment=environment)

    assert ingested.stderr == ""
    assert "\x1b" not in ingested.stdout + listed.stdout


@pytest.mark.slow
def test_the_bar_of_several_workers_is_one_with_what_all_have_stored(
    tmp_path: Path, environment: dict[str, str], few: Path
) -> None:
    (tmp_path / "half.warc").write_bytes(few.read_bytes())

    code, shown = in_terminal("ingest", "--workers", "2", str(few), "half.warc", cwd=tmp_path, environment=environment)

    assert code == 0
    assert "pages/s" in shown
    assert "%" in shown
    assert f"{2 * FEW:,} pages stored" in shown


@pytest.mark.parametrize("module", ["webtable", "webtable.cli"])
def test_the_package_runs_as_the_program_does(module: str, tmp_path: Path, environment: dict[str, str]):
    def done(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    assert done("--help").stdout.startswith("Usage: webtable [OPTIONS] COMMAND")
    assert done("--version").stdout.startswith("webtable ")
    wrong = done("pages")
    assert wrong.returncode != 0
    assert wrong.stderr.startswith("webtable: ")

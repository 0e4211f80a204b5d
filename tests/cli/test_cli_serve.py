"""`webtable serve` as a process: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import webtable

TOKEN = "0123456789abcdef-token"


def most_seconds() -> float:
    """Return three, or more where the machine does something else now."""
    return 3.0 * (1 + os.getloadavg()[0])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with texts that are more than the buffers of a connection hold."""
    path = tmp_path_factory.mktemp("serve") / "webtable.db"
    with webtable.open(path, create=True) as table, table.writer() as writer:
        for number in range(40):
            body = f"<title>{number}</title><p>{'words ' * 100_000}".encode()
            writer.put(webtable.Page(url=f"https://example.com/{number}", body=body, content_type="text/html"))
    return path


@contextmanager
def serving(*words: object) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run `webtable serve`, and give a client that has opened the address it has printed."""
    command = [sys.executable, "-m", "webtable.cli", *map(str, words)]
    begun = time.monotonic()
    ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # of tests that run below nohup
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGHUP, ignored)
        try:
            address = httpx.URL(process.stdout.readline().strip())
            with httpx.Client(base_url=address.copy_with(query=None), timeout=10) as client:
                assert client.get(address).status_code == (200 if "token" in address.params else 403)
                assert time.monotonic() - begun < most_seconds()
                yield process, client
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    """Send the signal *number*, and return what was still written once the process has ended."""
    process.send_signal(number)
    return process.communicate(timeout=most_seconds())


@pytest.mark.slow
def test_it_answers_who_has_opened_the_printed_address(store):
    with serving("-s", store, "serve", "--port", 0) as (process, client):
        found = client.get("/q/pages", params={"site": "example.com"})
        stranger = httpx.get(client.base_url.join("/q/pages?site=example.com"))

        assert (found.status_code, stranger.status_code) == (200, 403)
        assert ended(process, signal.SIGINT) == ("", "webtable: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_it_ends_on_a_signal_though_a_response_is_open(store, number, code):
    with serving("-s", store, "serve", "--port", 0) as (process, client):
        query = {"site": "all", "columns": "url,text"}
        with client.stream("GET", "/q/pages.jsonl", params=query) as response:
            next(response.iter_raw())
            out, err = ended(process, number)

    assert (process.returncode, out, err) == (code, "", "webtable: interrupted\n")


@pytest.mark.slow
def test_a_token_in_a_file_is_the_one_that_is_asked_for(store, tmp_path):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"{TOKEN}\n")
    with serving("-s", store, "serve", "--port", 0, "--token-file", file, "--allow-host", "Crawl.example") as (
        _,
        client,
    ):
        headers = {"authorization": f"Bearer {TOKEN}", "host": "crawl.example"}
        address = client.base_url.join("/q/pages?site=example.com")

        assert httpx.get(address, headers=headers).status_code == 200
        assert httpx.get(address, headers=headers | {"host": "other.example"}).status_code == 421
        assert client.base_url.params.get("token") is None


def test_a_port_in_use_is_named(run, store):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        done = run("-s", store, "serve", "--port", port)

    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"webtable: --port {port} of 127.0.0.1: Address already in use; give another one, "
        "or --port 0 for any that is free\n"
    )


def test_other_machines_need_a_token_that_was_chosen(run, store):
    done = run("-s", store, "serve", "--host", "0.0.0.0")

    assert done.code == 2
    assert "--host 0.0.0.0 needs --token-file FILE" in done.err


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [
        (0o644, TOKEN, "can be read by other users"),
        (0o600, "short", "must have one token of 16 or more letters"),
        (0o600, f"{TOKEN} {TOKEN}", "must have one token of 16 or more letters"),
        (None, "", "No such file or directory; to make it: umask 077"),
    ],
)
def test_a_token_file_that_protects_nothing_is_refused(run, store, mode, text, said):
    if mode is not None:
        Path("token").write_text(text)
        Path("token").chmod(mode)

    done = run("-s", store, "serve", "--token-file", "token")

    assert done.code == 2
    assert said in done.err
    assert not text or text not in done.err


def test_a_store_that_is_missing_is_not_made(run):
    done = run("serve")

    assert done.code == 3
    assert "no such file; name another store by -s, or make one to try by `webtable demo`" in done.err
    assert not Path("webtable.db").exists()


@pytest.mark.slow
def test_after_the_demo_it_shows_the_demo():
    Path("webtable-demo").mkdir()
    webtable.open("webtable-demo/webtable.db", create=True).close()

    with serving("serve", "--port", 0) as (process, _):
        _, err = ended(process, signal.SIGINT)

    assert err.startswith("there is no ./webtable.db: this is webtable-demo/webtable.db\n")


def test_the_browser_is_not_given_the_token_in_its_command_line(run, store, monkeypatch, tmp_path):
    opened = []

    def browse(address: str) -> None:
        opened.append((address, Path(address.removeprefix("file://")).read_text()))
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setenv("HOME", str(tmp_path))

    done = run("-s", store, "serve", "--open", "--port", 0)

    assert done.code == 130
    ((address, text),) = opened
    assert done.lines[0] in text
    assert "token=" not in address
    assert not list(tmp_path.glob("webtable-open-*"))


def test_a_missing_extra_is_named(run, store, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "uvicorn" or "webtable.explorer" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    done = run("-s", store, "serve")

    assert done.code == 1
    assert "pip install 'hbase-webtable[web]'" in done.err

"""One HBase for all processes of a test session, which goes with the last of them, however they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from webtable.testing.hbase import _no_engine

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.hbase
SECONDS = 120

SHARED = """
import os, time

def use(url):
    with open(f"{os.getpid()}.url", "w") as file:
        file.write(url)
    while os.path.exists("stay"):
        time.sleep(0.1)

def test_one(hbase_url): use(hbase_url)
def test_two(hbase_url): use(hbase_url)
"""


@pytest.fixture
def engine(monkeypatch):
    """The engine of Docker: a server of the environment is not for these tests, which are about containers."""
    monkeypatch.delenv("WEBTABLE_HBASE_URL", raising=False)
    if reason := _no_engine():
        (pytest.fail if os.environ.get("WEBTABLE_REQUIRE_HBASE") else pytest.skip)(f"no container: {reason}")
    import docker

    with closing(docker.from_env()) as engine:
        yield engine


@pytest.fixture
def project(pytester):
    pytester.makeconftest("pytest_plugins = ['webtable.testing']")
    pytester.makepyfile(SHARED)
    (pytester.path / "stay").touch()
    return pytester


@pytest.fixture
def start(project):
    """Start the tests of the project, on workers unless that is 0, in a process group as a terminal has it."""
    runs = []

    def start(workers):
        command = [sys.executable, "-m", "pytest", f"-n{workers}", f"--basetemp={project.path / 'temp'}"]
        with (project.path / "output").open("w") as output:
            runs.append(
                subprocess.Popen(command, cwd=project.path, stdout=output, stderr=output, start_new_session=True)
            )
        return runs[-1]

    yield start
    for run in runs:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def urls(project, run, count):
    """Wait for so many processes and return their URLs."""
    until = time.monotonic() + SECONDS
    while len(found := [path.read_text() for path in project.path.glob("*.url")]) < count or not all(found):
        assert run.poll() is None, (project.path / "output").read_text()
        assert time.monotonic() < until
        time.sleep(0.1)
    return found


def containers(engine, url):
    """Return the containers that have published the port of *url*."""
    port = str(urlsplit(url).port)
    return [one for one in engine.containers.list() if f"'HostPort': '{port}'" in str(one.ports)]


@pytest.mark.nightly  # a container of its own takes half a minute to come up
def test_workers_share_one_container_that_is_gone_when_the_last_has_ended(engine, project, start):
    run = start(workers=2)

    one, two = urls(project, run, 2)
    (project.path / "stay").unlink()
    code = run.wait(SECONDS)

    assert code == 0, (project.path / "output").read_text()
    assert one == two
    assert containers(engine, one) == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("how", "workers"),
    [
        pytest.param(signal.SIGINT, 0, id="ctrl_c", marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, 2, id="ctrl_c_with_workers", marks=pytest.mark.nightly),
        pytest.param(signal.SIGKILL, 2, id="killed_with_workers", marks=pytest.mark.nightly),
    ],
)
def test_a_session_that_is_stopped_leaves_no_container_behind(engine, project, start, how, workers):
    run = start(workers)
    (url,) = set(urls(project, run, max(workers, 1)))
    during = containers(engine, url)

    os.killpg(run.pid, how)
    run.wait(SECONDS)

    assert len(during) == 1
    until = time.monotonic() + SECONDS
    while containers(engine, url):
        assert time.monotonic() < until, "the container is still there"
        time.sleep(0.2)


def test_workers_skip_with_the_reason_where_there_is_no_engine(project, monkeypatch):
    monkeypatch.delenv("WEBTABLE_HBASE_URL", raising=False)
    monkeypatch.delenv("WEBTABLE_REQUIRE_HBASE", raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    (project.path / "stay").unlink()

    result = project.runpytest_subprocess("-n2", "-rs")

    result.assert_outcomes(skipped=2)
    assert re.search("no HBase: set WEBTABLE_HBASE_URL or start Docker", result.stdout.str())

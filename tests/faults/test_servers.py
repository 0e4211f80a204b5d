"""HBase itself is killed, paused and started again while it is written to and read from. Takes minutes."""

from __future__ import annotations

import os
import socket
import time
from contextlib import closing, contextmanager

import docker
import pytest
from load import Ledger, Load, settled
from proxy import HOST
from story import TROUBLE, told

import webtable
from webtable.testing.hbase import _image

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.timeout(900)]
TIMEOUT = 10
"""The deadline of a call, in seconds."""
PAUSES = [5, 40, 100]
READY_SECONDS = 180


def free_port():
    with closing(socket.create_server((HOST, 0))) as listener:
        return listener.getsockname()[1]


class Server:
    """An HBase in a container of its own, on ports that stay the same when it is started again."""

    def __init__(self, container, ports):
        self.container = container
        self.url = f"hbase://{HOST}:{ports[0]}/{{table}}?thrift2={ports[1]}&timeout={TIMEOUT}"

    def wait(self):
        """Return when it answers."""
        deadline = time.monotonic() + READY_SECONDS
        while self.container.exec_run(["bash", "/opt/hbase/health.sh"]).exit_code:
            assert time.monotonic() < deadline
            time.sleep(0.5)

    def restart(self):
        """Kill all of it with SIGKILL, and start it again."""
        self.container.kill("SIGKILL")
        self.container.wait()
        self.container.start()
        self.wait()

    def signal(self, name, process):
        """Send a signal to the Java processes whose command names *process*."""
        pattern = f"[{process[0]}]{process[1:]}"  # which the command that looks for it does not match itself
        each = f"for p in /proc/[0-9]*; do grep -qs '{pattern}' $p/cmdline && kill -{name} ${{p#/proc/}}; done; true"
        assert self.container.exec_run(["bash", "-c", each], user="root").exit_code == 0

    @contextmanager
    def paused(self, process):
        """Let a process do nothing until the block ends; start everything again where that was too long for HBase."""
        self.signal("STOP", process)
        try:
            yield
        finally:
            self.signal("CONT", process)
        time.sleep(3)
        self.container.reload()
        if self.container.status != "running":
            self.container.start()
        self.wait()


@pytest.fixture(scope="module")
def server():
    engine = docker.from_env()
    ports = free_port(), free_port()
    container = engine.containers.run(
        _image(),
        detach=True,
        ports={"9090/tcp": (HOST, ports[0]), "9091/tcp": (HOST, ports[1])},
        environment={"HBASE_HEAP": "2g", "THRIFT_HEAP": "512m"},
    )
    try:
        made = Server(container, ports)
        made.wait()
        yield made
    finally:
        container.remove(force=True, v=True)
        engine.close()


@contextmanager
def under_load(server, tmp_path, name):
    """Write and read while the block runs, then compare what is there with what was acknowledged.

    The block is given the story of it, which must agree with itself and with the errors.
    """
    url = server.url.format(table=f"servers_{os.getpid()}_{name}")
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url, create=True) as table:
        with told(table) as story, Load(table, ledger, pages=200) as load:
            until = time.monotonic() + 60
            while not load.findings.acknowledged and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(5)
            before = load.findings.acknowledged
            yield story
            time.sleep(10)
        found = settled(table, ledger, load.findings)
    print(f"\n{name}: {found}; told {dict(story.events())}, away {story.away()}")
    assert found.is_clean, str(found)
    assert found.acknowledged > before > 0
    assert story.contradictions(found.errors) == []


def test_hbase_is_killed_and_started_again(server, tmp_path):
    with under_load(server, tmp_path, "killed") as story:
        began = time.time()
        server.restart()
        ended = time.time()

    assert story.of("dropped")
    away = [(since, until) for _, since, until in story.away() if until is not None]
    assert away, "no gateway is told as down and up again"
    assert all(began <= since for since, _ in away)
    assert max(until for _, until in away) < ended + 10
    assert not any(gateway.is_down for gateway in story.after.gateways)


@pytest.mark.parametrize("seconds", PAUSES)
def test_a_gateway_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"gateway_{seconds}") as story, server.paused("thrift2.ThriftServer"):
        time.sleep(seconds)

    assert story.of(*TROUBLE)


@pytest.mark.parametrize("seconds", PAUSES)
def test_hbase_is_paused(server, tmp_path, seconds):
    with under_load(server, tmp_path, f"hbase_{seconds}") as story, server.paused("HMaster"):
        time.sleep(seconds)

    assert story.of(*TROUBLE)

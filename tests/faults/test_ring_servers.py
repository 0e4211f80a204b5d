"""A ring of pages has no gap when gateways, HBase and its writers were killed or hung. Takes minutes."""

from __future__ import annotations

import os
import time
from collections import Counter

import docker
import pytest
import ring
from proxy import HOST
from servers import READY_SECONDS, TIMEOUT, Server, container, free_port

import webtable
from webtable.errors import StoreError

pytestmark = [pytest.mark.faults, pytest.mark.hbase, pytest.mark.nightly, pytest.mark.timeout(5400)]
PAGES = int(os.environ.get("WEBTABLE_FAULT_RING", "200000"))
SECOND_HOST = "127.0.0.2"
"""Where the second pair of gateways is reached: a URL has one port for the Thrift2 gateways of all its hosts."""
FIRST, SECOND = (9090, 9091), (9092, 9093)
AGAIN = """
for process in /proc/[0-9]*; do
    mapfile -d '' -t command < $process/cmdline
    [[ ${command[0]} = java && " ${command[*]} " = *" -p %(old)s "* ]] && exec "${command[@]/#%(old)s/%(new)s}"
done 2>/dev/null
exit 1
"""
"""Starts another process as the one that listens on the port `old`, on the port `new`."""


class TwoPairs(Server):
    """An HBase with two pairs of gateways, the second of which may be killed without the rest."""

    def __init__(self, container, ports):
        super().__init__(container, ports)
        self._second = f"hbase://{SECOND_HOST}:{ports[0]}/ready?thrift2={ports[1]}&timeout={TIMEOUT}"
        self.url = self.url.replace("/{table}", f",{SECOND_HOST}:{ports[0]}/{{table}}")

    def wait(self):
        """Return when it answers; Docker starts it again where it has ended by itself."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return super().wait()
            except docker.errors.APIError:  # nothing can be asked of a container that is about to start
                assert time.monotonic() < deadline
                time.sleep(0.5)

    def start_second(self):
        """Start the second pair, and return when it answers."""
        for old, new in zip(FIRST, SECOND, strict=True):
            self.container.exec_run(["bash", "-c", AGAIN % {"old": old, "new": new}], user="hbase", detach=True)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return webtable.open(self._second, create=True).close()
            except StoreError:
                assert time.monotonic() < deadline
                time.sleep(0.5)

    def kill_second(self):
        """Kill both gateways of the second pair with SIGKILL, and start them again a moment later."""
        self.wait()
        self._signal_second("KILL")
        time.sleep(2)
        self.start_second()

    def hang_second(self, seconds):
        """Let both gateways of the second pair take connections and answer nothing for a while."""
        self.wait()
        self._signal_second("STOP")
        time.sleep(seconds)
        self._signal_second("CONT")

    def _signal_second(self, name):
        for port in SECOND:
            self.signal(name, str(port))

    def restart(self):
        super().restart()
        self.start_second()


@pytest.fixture
def server():
    ports = free_port(), free_port()
    published = {
        inside: (host, outside)
        for host, pair in ((HOST, FIRST), (SECOND_HOST, SECOND))
        for inside, outside in zip(pair, ports, strict=True)
    }
    with container(published, restart_policy={"Name": "on-failure"}) as running:
        made = TwoPairs(running, ports)
        made.wait()
        made.start_second()
        yield made


def test_a_ring_has_no_gap_behind_gateways_and_an_hbase_that_were_killed(server):
    done = Counter()

    def die(crew):
        for tenth in range(1, 10):
            crew.reached(tenth / 10)
            if tenth in (3, 7):
                server.restart()
                done["HBase killed"] += 1
            elif tenth == 5:
                server.hang_second(2 * TIMEOUT)
                done["gateways hung"] += len(SECOND)
            else:
                server.kill_second()
                done["gateways killed"] += len(SECOND)

    ring.survives(server.url.format(table="ring"), PAGES, kills=3 + PAGES // 10_000, while_written=die)

    print(dict(done))
    assert done == {"HBase killed": 2, "gateways hung": 2, "gateways killed": 12}

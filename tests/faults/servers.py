"""HBase in a container of its own, to be killed, paused and started again."""

from __future__ import annotations

import socket
import time
from contextlib import closing, contextmanager

import docker
from proxy import HOST

from webtable.testing.hbase import _image

TIMEOUT = 10
"""The deadline of a call, in seconds."""
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


@contextmanager
def started():
    """Give an HBase that is removed when the block ends."""
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

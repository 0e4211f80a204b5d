"""A cluster of HBase by the compose file: ZooKeeper, a master or two, two region servers and pairs of gateways."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL

import docker
import pytest
from servers import READY_SECONDS, free_port, regions

import webtable
from webtable.errors import StoreError
from webtable.store.deadline import Deadline
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.testing.hbase import _image

CHECKOUT = Path(__file__).parents[2]
HOSTS = ("127.0.0.1", "127.0.0.2")
"""Where the compose file publishes the gateways: all addresses of a URL have the same Thrift2 port."""
TIMEOUT = 30
"""The deadline of a call in seconds; that of a store unless it is given."""


def compose_command():
    """Return what runs a compose file here."""
    if shutil.which("docker") and not subprocess.call(["docker", "compose", "version"], stdout=DEVNULL, stderr=DEVNULL):
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.fail("a cluster needs `docker compose` or `docker-compose`: install docker-compose-plugin or docker-compose")


class Cluster:
    """The services of the compose file's profile `cluster`, by their names."""

    def __init__(self, engine, compose, image):
        ports = free_port(), free_port()
        zookeeper, master, region_server = self._servers = free_port(), free_port(), free_port()
        self._engine = engine
        self._compose = compose
        self._project = f"webtable-{os.getpid()}"
        self._image = image
        self.ports = ports
        self.url = f"hbase://{HOSTS[0]}:{ports[0]},{HOSTS[1]}:{ports[0]}/{{table}}?thrift2={ports[1]}&timeout={TIMEOUT}"
        servers = {"master": master, "regionserver": region_server}
        reached = [f"{name}{n or ''}=127.0.0.{max(n, 1)}:{port}" for name, port in servers.items() for n in range(3)]
        self.native_url = (
            f"hbase+native://{HOSTS[0]}:{zookeeper}/{{table}}?rename={','.join(reached)}&timeout={TIMEOUT}"
        )

    def compose(self, *arguments):
        """Run a command of compose, in a session of its own: Ctrl-C is to end the tests and not what they clean up."""
        settings = {
            "WEBTABLE_HBASE_IMAGE": self._image,
            "WEBTABLE_CLUSTER_THRIFT1_PORT": str(self.ports[0]),
            "WEBTABLE_CLUSTER_THRIFT2_PORT": str(self.ports[1]),
            "WEBTABLE_CLUSTER_ZOOKEEPER_PORT": str(self._servers[0]),
            "WEBTABLE_CLUSTER_MASTER_PORT": str(self._servers[1]),
            "WEBTABLE_CLUSTER_REGION_SERVER_PORT": str(self._servers[2]),
        }
        done = subprocess.run(
            [*self._compose, "-p", self._project, "--profile", "cluster", *arguments],
            cwd=CHECKOUT,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            start_new_session=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def container(self, service):
        labels = [f"com.docker.compose.project={self._project}", f"com.docker.compose.service={service}"]
        [found] = self._engine.containers.list(all=True, filters={"label": labels})
        return found

    def wait(self, *services):
        """Return when these answer."""
        deadline = time.monotonic() + READY_SECONDS
        for service in services:
            while self.container(service).exec_run(["bash", "/opt/hbase/health.sh"]).exit_code:
                assert time.monotonic() < deadline, self.container(service).logs(tail=20).decode()
                time.sleep(0.5)

    def kill(self, service):
        """Kill all processes of the service with SIGKILL."""
        container = self.container(service)
        container.kill("SIGKILL")
        container.wait()

    def start(self, service):
        """Start what was killed, and return when it answers."""
        self.container(service).start()
        self.wait(service)

    def wait_natively(self):
        """Return when a table can be made by HBase's own protocol."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                return webtable.open(self.native_url.format(table="ready"), create=True).close()
            except StoreError:
                assert time.monotonic() < deadline
                time.sleep(1)

    def stop_balancer(self):
        """Leave regions where the tests have moved them; another master that takes over does so too."""

        class Off:  # SetBalancerRunningRequest, which webtable never sends: on=false
            SerializeToString = staticmethod(lambda: b"\x08\x00")

        with webtable.open(self.native_url.format(table="ready")) as table:
            cluster = table.store.wrapped._cluster
            cluster.ask_master("SetBalancerRunning", Off, pb.EmptyMsg, Deadline(TIMEOUT))

    def regions(self, command, table, *key):
        """Do something about the regions of *table*, as `servers.regions` does."""
        return regions(self.container("zookeeper"), command, table, *key)


@contextmanager
def running(*services):
    """Give a cluster with these *services*, and what they need; it is taken down, with its data, as the block ends."""
    engine = docker.from_env()
    made = Cluster(engine, compose_command(), _image())
    try:
        made.compose("up", "--detach", "--no-build", *services)
        made.wait(*services)
        made.wait_natively()
        made.stop_balancer()
        yield made
    finally:
        made.compose("down", "--volumes", "--timeout", "2")
        engine.close()

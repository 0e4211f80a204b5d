"""HBase in a container of its own, to be killed, paused and started again, and work for it while that is done."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from contextlib import closing, contextmanager

import docker
from load import Ledger, Load, settled
from proxy import HOST

import webtable
from webtable.testing.hbase import _image

TIMEOUT = 10
"""The deadline of a call, in seconds."""
READY_SECONDS = 300


def free_port():
    with closing(socket.create_server((HOST, 0))) as listener:
        return listener.getsockname()[1]


class Server:
    """An HBase in a container of its own, on ports that stay the same when it is started again."""

    def __init__(self, container, ports, native=(0, 0, 0)):
        self.container = container
        zookeeper, master, region_server = native
        renamed = f"localhost:16000={HOST}:{master},localhost:16020={HOST}:{region_server}"
        self.native_url = f"hbase+native://{HOST}:{zookeeper}/{{table}}?rename={renamed}&timeout={TIMEOUT}"
        self.url = f"hbase://{HOST}:{ports[0]}/{{table}}?thrift2={ports[1]}&timeout={TIMEOUT}"
        self.url_of_thrift1 = f"hbase://{HOST}:{ports[0]}/{{table}}?timeout={TIMEOUT}"

    def wait(self):
        """Return when it answers; started again where it has ended by itself, as HBase does after a long pause."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                if not self.container.exec_run(["bash", "/opt/hbase/health.sh"]).exit_code:
                    return
            except docker.errors.APIError:
                self.container.start()
            assert time.monotonic() < deadline
            time.sleep(0.5)

    def regions(self, command, table, *key):
        """Have HBase do to the regions of *table* what Thrift has no call for, and return what that prints, by line."""
        return regions(self.container, command, table, *key)

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
        time.sleep(10)  # until HBase has noticed that it was too long
        self.wait()


def regions(container, command, table, *key):
    """Do so in any container with HBase's jars; a key is written as HBase's shell shows it."""
    code, said = container.exec_run(["bash", "/opt/hbase/java.sh", "Regions", command, table, *key], demux=True)
    printed, complaints = (one.decode() if one else "" for one in said)
    assert code == 0, f"{command} {table} {key}: {complaints}"
    return [tuple(line.split("\t")) for line in printed.splitlines()]


@contextmanager
def container(published, environment=None, **options):
    """Give a container of the image that is removed when the block ends; *published* says where, for ports inside."""
    with closing(docker.from_env()) as engine:
        made = engine.containers.run(
            _image(),
            detach=True,
            ports={f"{port}/tcp": where for port, where in published.items()},
            environment={"HBASE_HEAP": "2g", "THRIFT_HEAP": "512m", **(environment or {})},
            **options,
        )
        try:
            yield made
        finally:
            made.remove(force=True, v=True)


@contextmanager
def started(**environment):
    """Give an HBase that is removed when the block ends."""
    ports = {inside: (HOST, free_port()) for inside in (9090, 9091, 2181, 16000, 16020)}
    with container(ports, environment) as running:
        outside = [port for _, port in ports.values()]
        made = Server(running, outside[:2], outside[2:])
        made.wait()
        yield made


class TimedLoad(Load):
    """Such a load that also knows how long the longest call of each kind took, and an error of each kind."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.longest = Counter()
        self.examples = {}

    def _timed(self, name, call):
        began = time.monotonic()
        super()._timed(name, call)
        self.longest[name] = max(self.longest[name], time.monotonic() - began)

    def _failed(self, error):
        super()._failed(error)
        self.examples.setdefault(type(error).__name__, str(error))


@contextmanager
def under_load(url, tmp_path, name, *, through=None, after=10, **options):
    """Write and read while the block runs, then compare what is there with what was acknowledged.

    The block is given the load and its table. *url* has a place for the table's name; the load goes *through* another
    URL where one is given, and goes on for *after* seconds behind the block.
    """
    url = url.format(table=f"{name}_{os.getpid()}")
    ledger = Ledger(tmp_path / "ledger")
    with webtable.open(url, create=True, **options) as table:
        with webtable.open(through.format(table=table.table) if through else url) as used:  # noqa: SIM117
            with TimedLoad(used, ledger, pages=200) as load:
                time.sleep(5)
                while not (before := load.findings.acknowledged):
                    time.sleep(1)
                yield load
                time.sleep(after)
        found = settled(table, ledger, load.findings)
    longest = ", ".join(f"{call} {seconds:.1f} s" for call, seconds in load.longest.most_common())
    print(f"\n{name}: {found}; the longest calls: {longest}", *load.examples.values(), sep="\n  ")
    assert found.is_clean, str(found)
    assert found.acknowledged > before

"""HBase's own gateways in HTTP mode, started beside those that are there, in the container of the tests' HBase."""

from __future__ import annotations

import contextlib
import io
import socket
import tarfile
import time
import uuid
from typing import Any

from certificates import KEYSTORE_PASSWORD

READY_SECONDS = 120.0
SERVICES = {1: "thrift", 2: "thrift2"}
# The settings go in front of those of the image: HBase's gateways take none from their command line.
START = """
echo $$ > "$FOLDER.pid"
exec bash <(sed "s#^settings=/opt/hbase\\$#settings=$FOLDER:/opt/hbase#" /opt/hbase/java.sh) \\
  -Xmx256m -XX:+UseSerialGC "org.apache.hadoop.hbase.$SERVICE.ThriftServer" start -p "$PORT"
"""
SITE = """<?xml version="1.0" encoding="UTF-8"?>
<configuration xmlns:xi="http://www.w3.org/2001/XInclude">
  <xi:include href="/opt/hbase/hbase-site.xml"/>
  {properties}
</configuration>
"""


def container_at(engine: Any, port: int) -> Any:
    """Return the container that publishes *port*, or None."""
    for container in engine.containers.list():
        for bindings in container.ports.values():
            if any(binding["HostPort"] == str(port) for binding in bindings or ()):
                return container
    return None


def address_in(container: Any) -> str:
    """Return where the container is reached from this machine."""
    return next(net["IPAddress"] for net in container.attrs["NetworkSettings"]["Networks"].values())


class HTTPModeGateway:
    """The Thrift*number* service of the HBase in *container* in HTTP mode; by TLS where it is given a keystore."""

    def __init__(self, container: Any, number: int, keystore: bytes | None = None) -> None:
        self._container = container
        self._folder = f"/tmp/{uuid.uuid4().hex}"
        self._service = SERVICES[number]
        self.host = address_in(container)
        self.port = 20_000 + uuid.uuid4().int % 10_000
        settings = {"hbase.regionserver.thrift.http": "true"}
        if keystore is not None:
            settings |= {
                "hbase.thrift.ssl.enabled": "true",
                "hbase.thrift.ssl.keystore.store": f"{self._folder}/keystore.p12",
                "hbase.thrift.ssl.keystore.password": KEYSTORE_PASSWORD,
            }
        properties = (
            f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items()
        )
        self._put("hbase-site.xml", SITE.format(properties="\n  ".join(properties)).encode())
        self._put("keystore.p12", keystore or b"")

    def _put(self, name: str, content: bytes) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            entry = tarfile.TarInfo(f"{self._folder[1:]}/{name}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
        self._container.put_archive("/", packed.getvalue())

    def start(self) -> None:
        """Start it; `wait` says when it is there."""
        environment = {"FOLDER": self._folder, "SERVICE": self._service, "PORT": str(self.port)}
        self._container.exec_run(["bash", "-c", START], environment=environment, detach=True, user="hbase")

    def wait(self) -> None:
        """Return when it takes connections."""
        until = time.monotonic() + READY_SECONDS
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection((self.host, self.port), timeout=1).close()
                return
            assert time.monotonic() < until, "the gateway does not come up"
            time.sleep(0.2)

    def kill(self) -> None:
        """End it; it can be started again."""
        self._container.exec_run(["bash", "-c", f"kill -9 $(cat {self._folder}.pid)"])

    def remove(self) -> None:
        """End it, and leave nothing of it."""
        self.kill()
        self._container.exec_run(["bash", "-c", f"rm -rf {self._folder} {self._folder}.pid"])

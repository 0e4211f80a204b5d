"""Where the servers of an HBase in a container of this session are reached by its own protocol."""

from __future__ import annotations

import docker

ZOOKEEPER, MASTER, REGION_SERVER = "2181/tcp", "16000/tcp", "16020/tcp"


def published_native_url(gateway: int, *, by_zookeeper: bool = False) -> str:
    """Return the URL of the HBase whose Thrift1 gateway is published at the port *gateway*, without a table."""
    engine = docker.from_env()
    try:
        for container in engine.containers.list():
            ports = {inside: found[0]["HostPort"] for inside, found in container.ports.items() if found}
            if ports.get("9090/tcp") == str(gateway):
                # In the container it is registered as localhost with its usual ports.
                renamed = ",".join(
                    f"localhost:{inside.partition('/')[0]}=127.0.0.1:{ports[inside]}"
                    for inside in (MASTER, REGION_SERVER)
                )
                if by_zookeeper:
                    return f"hbase+native://127.0.0.1:{ports[ZOOKEEPER]}?rename={renamed}"
                return f"hbase+native://127.0.0.1:{ports[MASTER]}?registry=master&rename={renamed}"
    finally:
        engine.close()
    raise LookupError(f"no container publishes a gateway at the port {gateway}")

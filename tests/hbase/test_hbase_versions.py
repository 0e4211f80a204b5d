"""The contract of the store port by HBase's own protocol on other versions of HBase: `make test MARK=versions`.

They are the last ones of 2.4, 2.5 and 3.0 whose server is whole on Maven Central; 2.6 is what `make test` runs on.
Each is built as an image, run in a container of its own and removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import docker
import pytest

pytestmark = [pytest.mark.versions, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
VERSIONS = ("2.4.18", "2.5.8", "3.0.0-alpha-4")
ZOOKEEPER, MASTER, REGION_SERVER = "2181/tcp", "16000/tcp", "16020/tcp"
READY_SECONDS = 180


def contract_of(version: str) -> int:
    """Run the contract on HBase *version*, and return the exit code of pytest."""
    engine = docker.from_env(timeout=900)
    image, _ = engine.images.build(
        path=str(ROOT / "docker" / "hbase"),
        tag=f"webtable-hbase:v{version}",
        buildargs={"HBASE_VERSION": version, "PROFILES": "!gateways"},
        network_mode="host",
        rm=True,
    )
    ports = dict.fromkeys((ZOOKEEPER, MASTER, REGION_SERVER), ("127.0.0.1", None))
    environment = {"HBASE_ROLE": "native", "HBASE_HEAP": "2g"}
    container = engine.containers.run(image, detach=True, ports=ports, environment=environment)
    try:
        container.reload()
        found = {port: container.ports[port][0]["HostPort"] for port in ports}
        rename = f"localhost:16000=127.0.0.1:{found[MASTER]},localhost:16020=127.0.0.1:{found[REGION_SERVER]}"
        url = f"hbase+native://127.0.0.1:{found[ZOOKEEPER]}?registry=zookeeper&rename={rename}"
        wait_until_ready(url)
        command = [sys.executable, "-m", "pytest", "-q", "tests/store/test_store_contract.py", "-k", "hbase-native"]
        environment = {**os.environ, "WEBTABLE_HBASE_NATIVE_URL": url, "WEBTABLE_REQUIRE_HBASE": "1"}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    finally:
        container.remove(force=True, v=True)
        engine.close()


def wait_until_ready(url: str) -> None:
    """Return when tables can be made, or raise the error that says why not."""
    from webtable.schema import FamilySchema, TableSchema
    from webtable.store import StoreURL
    from webtable.store.deadline import Deadline, attempts
    from webtable.store.hbase import NativeStore

    error: Exception | None = None
    for _ in attempts(Deadline(READY_SECONDS)):
        try:
            with NativeStore.from_url(StoreURL.parse(url)) as store:
                store.create_table(TableSchema("ready", (FamilySchema("f"),)))
                return
        except Exception as exc:  # noqa: BLE001 - of a server that is starting
            error = exc
    raise RuntimeError(f"HBase is not ready after {READY_SECONDS} s") from error


@pytest.mark.parametrize("version", VERSIONS)
def test_the_contract_holds(version):
    assert contract_of(version) == 0

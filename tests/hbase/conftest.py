"""Fake gateways that end with their test, and a real HBase with a table, by each gateway and through proxies."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import docker
import pytest
from certificates import Authority
from gateways import HOST, Proxy, Server, page_keys, put
from real_tls import HTTPModeGateway, address_in, container_at

from webtable.rowkey import split_points
from webtable.schema import FamilySchema, TableSchema
from webtable.store.hbase import HBaseStore

sys.path.append(str(Path(__file__).parents[1] / "faults"))  # its proxy hurts connections to gateways here as well


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    running: list[Server] = []
    yield running
    for server in running:
        server.close()


@pytest.fixture(scope="session")
def gateways(hbase_url: str) -> tuple[int, int]:
    url = urlsplit(hbase_url)
    return url.port or 9090, int(parse_qs(url.query)["thrift2"][0])


@pytest.fixture(params=[pytest.param(False, id="thrift1"), pytest.param(True, id="thrift2")])
def with_thrift2(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def hbase(gateways: tuple[int, int], with_thrift2: bool) -> Iterator[HBaseStore]:
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1] if with_thrift2 else None) as store:
        yield store


@pytest.fixture
def pages(gateways: tuple[int, int]) -> Iterator[str]:
    """A table of 16 regions with 4,000 rows of 500 bytes."""
    name = f"hbase_{uuid.uuid4().hex[:12]}"
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        splits = tuple(split_points(regions=16, digits=2))
        store.create_table(TableSchema(name, (FamilySchema("f", versions=3),), splits))
        store.write(name, [put(key, value=bytes(500)) for key in page_keys()])
        yield name
        store.drop_table(name)


@pytest.fixture
def proxies(gateways: tuple[int, int]) -> Iterator[tuple[Proxy, Proxy]]:
    pair = Proxy(gateways[0]), Proxy(gateways[1])
    yield pair
    for proxy in pair:
        proxy.close()


@pytest.fixture
def through_proxies(proxies: tuple[Proxy, Proxy], with_thrift2: bool) -> Iterator[HBaseStore]:
    second = proxies[1].port if with_thrift2 else None
    with HBaseStore(HOST, proxies[0].port, thrift2=second, timeout=10.0) as store:
        yield store


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs the certificates of servers that are to be believed."""
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def http_mode(gateways: tuple[int, int]) -> Iterator[Callable[..., HTTPModeGateway]]:
    """Start gateways in HTTP mode beside those of the tests' HBase, to be ended with the session."""
    with closing(docker.from_env()) as engine, ExitStack() as stack:
        container = container_at(engine, gateways[0])
        if container is None:
            pytest.skip("the HBase of WEBTABLE_HBASE_URL is in no container here")

        def start(number: int, keystore: bytes | None = None) -> HTTPModeGateway:
            gateway = HTTPModeGateway(container, number, keystore)
            stack.callback(gateway.remove)
            gateway.start()
            return gateway

        start.host = address_in(container)  # type: ignore[attr-defined]
        yield start


@pytest.fixture(scope="session")
def https_url(http_mode: Callable[..., HTTPModeGateway], authority: Authority) -> str:
    """URL of HBase's own gateways by TLS, without a table."""
    keystore = authority.keystore(http_mode.host)  # type: ignore[attr-defined]
    first, second = http_mode(1, keystore), http_mode(2, keystore)
    first.wait()
    second.wait()
    return f"hbase+https://{first.host}:{first.port}?thrift2={second.port}&ca={authority.file}"

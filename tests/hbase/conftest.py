"""Fake gateways that end with their test, and a real HBase with a table, by each gateway and through proxies."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import docker
import happybase
import pytest
from certificates import Authority
from gateways import HOST, Proxy, Server, page_keys
from real_tls import HTTPModeGateway, address_in, container_at
from shell import Shell

from webtable.rowkey import split_points
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put
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


@contextmanager
def table_of(gateways: tuple[int, int], regions: int, keys: Iterable[bytes] = ()) -> Iterator[str]:
    """Create a table with a row of 500 bytes for each of *keys*, titled by its key; it is dropped at the end."""
    name = f"hbase_{uuid.uuid4().hex[:12]}"
    with HBaseStore(HOST, gateways[0], thrift2=gateways[1]) as store:
        splits = tuple(split_points(regions=regions, digits=2)) if regions > 1 else ()
        store.create_table(TableSchema(name, (FamilySchema("f", versions=3),), splits))
        body = NewCell(b"f:q", 1, bytes(500))
        store.write(name, [Put(key, [body, NewCell(b"f:title", 1, key)]) for key in keys])
        yield name
        store.drop_table(name)


@pytest.fixture(scope="session")
def pages(gateways: tuple[int, int]) -> Iterator[str]:
    """A table of 16 regions with 4,000 rows, which stay the only ones: the tests share it."""
    with table_of(gateways, 16, page_keys()) as name:
        yield name


@pytest.fixture(scope="session")
def growing_pages(gateways: tuple[int, int]) -> Iterator[str]:
    """The same as `pages`, for tests that add rows of their own, with keys from b"x" on."""
    with table_of(gateways, 16, page_keys()) as name:
        yield name


@pytest.fixture(scope="session")
def scratch(gateways: tuple[int, int]) -> Iterator[str]:
    """A table of one region without rows, to which each test adds its own, with keys of a `space`."""
    with table_of(gateways, 1) as name:
        yield name


@pytest.fixture(scope="module")
def disabled_table(gateways: tuple[int, int]) -> Iterator[str]:
    """A table of 16 regions that is disabled."""
    with table_of(gateways, 16) as name:
        with closing(happybase.Connection(HOST, gateways[0])) as connection:
            connection.disable_table(name)
        yield name


@pytest.fixture
def own_table(gateways: tuple[int, int]) -> Iterator[str]:
    """A table of one region without rows, of the test alone."""
    with table_of(gateways, 1) as name:
        yield name


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
def container(gateways: tuple[int, int]) -> Iterator[Any]:
    """The container of the tests' HBase."""
    with closing(docker.from_env()) as engine:
        found = container_at(engine, gateways[0])
        if found is None:
            pytest.skip("the HBase of WEBTABLE_HBASE_URL is in no container here")
        yield found


@pytest.fixture(scope="session")
def shell(container: Any) -> Iterator[Shell]:
    """HBase's own shell."""
    with closing(Shell(container)) as running:
        yield running


@pytest.fixture(scope="session")
def http_mode(container: Any) -> Iterator[Callable[..., HTTPModeGateway]]:
    """Start gateways in HTTP mode beside those of the tests' HBase, to be ended with the session."""
    with ExitStack() as stack:

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

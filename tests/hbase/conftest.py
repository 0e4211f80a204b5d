"""Fake gateways that end with their test, and a real HBase with a table, by each gateway and through proxies."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from gateways import HOST, Proxy, Server, page_keys, put

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

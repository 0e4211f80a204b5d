"""Connections that break at any byte: nothing acknowledged is lost, nothing is wrong, no call outlasts its deadline."""

from __future__ import annotations

import os
import time

import pytest
from load import Ledger, Load, settled
from proxy import HOST, KINDS, FaultProxy, Weather

import webtable

pytestmark = pytest.mark.faults
BREAKING = tuple(kind for kind in KINDS if kind != "corrupt")
"""What a client can tell; that another byte came than was sent it can tell of what carries a checksum only."""
SECONDS = float(os.environ.get("WEBTABLE_FAULT_SECONDS", "8"))
"""How long each kind of weather lasts."""


@pytest.mark.hbase
@pytest.mark.parametrize("gateways", ["thrift1", "thrift2"])
@pytest.mark.parametrize("indexes", ["all", "none"])
def test_nothing_is_lost_or_wrong_in_bad_weather(hbase_url, tmp_path, gateways, indexes):
    host, _, rest = hbase_url.removeprefix("hbase://").partition(":")
    port, _, options = rest.partition("?")
    second = int(dict(one.split("=") for one in options.split("&")).get("thrift2", 0))
    name = f"faults_{os.getpid()}_{gateways}_{indexes}"
    kept = {} if indexes == "all" else {"indexes": []}
    with webtable.open(f"hbase://{host}:{port}/{name}?thrift2={second}", create=True, **kept) as direct:
        ledger = Ledger(tmp_path / "ledger")
        with FaultProxy(int(port), host) as first, FaultProxy(second, host) as other:
            also = f"&thrift2={other.port}" if gateways == "thrift2" else ""
            with webtable.open(f"hbase://{HOST}:{first.port}/{name}?timeout=10{also}") as table:
                for seed, proxy in enumerate([first, other]):
                    proxy.weather(Weather(seed, kinds=BREAKING, within=5_000))
                with Load(table, ledger) as load:
                    time.sleep(SECONDS)
                for proxy in (first, other):
                    proxy.weather(None)
            injected = first.injected() + other.injected()
        found = settled(direct, ledger, load.findings)

    print(f"\n{gateways}, indexes {indexes}: {dict(injected)}; {found}")
    assert found.is_clean, str(found)
    assert found.acknowledged > 0
    assert sum(count for kind, count in injected.items() if kind != "connections") > 0

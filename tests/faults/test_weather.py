"""Connections that break at any byte: nothing acknowledged is lost, nothing is wrong, no call outlasts its deadline."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from load import Ledger, Load, page_of, settled
from proxy import HOST, KINDS, FaultProxy, Weather
from story import told

import webtable

pytestmark = [pytest.mark.faults, pytest.mark.hbase]
BREAKING = tuple(kind for kind in KINDS if kind != "corrupt")
SECONDS = float(os.environ.get("WEBTABLE_FAULT_SECONDS", "3"))
"""How long each kind of weather lasts."""
PAGES = 300


@pytest.fixture(params=["thrift1", "thrift2"])
def gateways(request):
    """Whether the Thrift2 gateway is used beside the other one."""
    return request.param


@contextmanager
def hurt(direct, hbase_url, gateways, **weather):
    """Give the table of *direct* as it is reached through bad *weather*, and what it did by port, told then."""
    host, _, rest = hbase_url.removeprefix("hbase://").partition(":")
    port, _, options = rest.partition("?")
    second = int(dict(one.split("=") for one in options.split("&"))["thrift2"])
    injected: dict[int, Counter[str]] = {}
    with FaultProxy(int(port), host) as first, FaultProxy(second, host) as other:
        also = f"&thrift2={other.port}" if gateways == "thrift2" else ""
        with webtable.open(f"hbase://{HOST}:{first.port}/{direct.table}?timeout=10{also}") as table:
            for seed, proxy in enumerate([first, other]):
                proxy.weather(Weather(seed, within=5_000, **weather))
            yield table, injected
            for proxy in (first, other):
                proxy.weather(None)
                injected[proxy.port] = proxy.injected()
                del injected[proxy.port]["connections"]


def opened(hbase_url, name, **options):
    server, _, gateways = hbase_url.partition("?")
    return webtable.open(f"{server}/faults_{os.getpid()}_{name}?{gateways}", create=True, **options)


# By Thrift1 alone each page of an index takes calls of its own: that, and Thrift2 without indexes, is for the night.
@pytest.mark.parametrize(
    ("gateways", "indexes"),
    [
        pytest.param("thrift1", "all", marks=pytest.mark.nightly),
        ("thrift1", "none"),
        ("thrift2", "all"),
        pytest.param("thrift2", "none", marks=pytest.mark.nightly),
    ],
    indirect=["gateways"],
)
def test_nothing_is_lost_or_wrong_in_bad_weather(hbase_url, tmp_path, gateways, indexes):
    kept = {} if indexes == "all" else {"indexes": []}
    ledger = Ledger(tmp_path / "ledger")
    with opened(hbase_url, f"{gateways}_{indexes}", **kept) as direct:
        with hurt(direct, hbase_url, gateways, kinds=BREAKING) as (table, injected):  # noqa: SIM117
            with told(table) as story, Load(table, ledger, pages=PAGES) as load:
                time.sleep(SECONDS)
        found = settled(direct, ledger, load.findings)

    faults = sum(injected.values(), Counter())
    what = f"{faults.total():,} faults {dict(faults)}; {found}; told {dict(story.events())}"
    print(f"\n{gateways}, indexes {indexes}: {what}")
    assert found.is_clean, str(found)
    assert found.acknowledged
    assert faults
    assert story.contradictions(found.errors, injected) == []
    assert story.of("dropped")


def test_a_changed_byte_in_a_reply_makes_no_wrong_page(hbase_url, tmp_path, gateways):
    with opened(hbase_url, f"{gateways}_corrupt", indexes=["time", "status", "link"]) as direct:
        with direct.writer() as writer:
            for number in range(PAGES):
                writer.put(page_of(number, 1))
        with hurt(direct, hbase_url, gateways, kinds=("corrupt",), ways=("reply",)) as (table, injected):
            ledger = Ledger(tmp_path / "ledger")
            with told(table) as story, Load(table, ledger, writers=0, pages=PAGES) as load:
                time.sleep(SECONDS)

    faults = sum(injected.values(), Counter())
    print(f"\n{gateways}, readers: {dict(faults)}; {load.findings}; told {dict(story.events())}")
    assert load.findings.is_clean, str(load.findings)
    assert faults["corrupt"]
    assert story.contradictions(load.findings.errors, injected) == []

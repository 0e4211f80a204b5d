"""Connections that break at any byte: nothing acknowledged is lost, nothing is wrong, no call outlasts its deadline."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from contextlib import ExitStack, contextmanager

import pytest
from load import Ledger, Load, page_of, settled
from proxy import HOST, KINDS, FaultProxy, Weather
from story import told

import webtable
from nightly import examples
from webtable.testing import hbase_native_url

pytestmark = [pytest.mark.faults, pytest.mark.hbase]
BREAKING = tuple(kind for kind in KINDS if kind != "corrupt")
SECONDS = float(os.environ.get("WEBTABLE_FAULT_SECONDS", examples(3, 75)))
"""How long each kind of weather lasts."""
PAGES = 300


@pytest.fixture
def way(request):
    """By which gateways HBase is reached, or by its own protocol."""
    if request.param == "native" and "WEBTABLE_HBASE_URL" in os.environ:
        pytest.skip("the ports of HBase's own protocol are known of a container of this session alone")
    return request.param


@contextmanager
def hurt(direct, hbase_url, way, **weather):
    """Give the table of *direct* as it is reached, a function that makes *weather* on the way to it, and its faults.

    The faults are told by port when the block has ended.
    """
    host, first, second = re.findall(r"//(.*):(\d+)\?thrift2=(\d+)", hbase_url)[0]
    injected: dict[int, Counter[str]] = {}
    with ExitStack() as stack:
        proxies: dict[str, FaultProxy] = {}

        def through(port):
            if port not in proxies:
                proxies[port] = stack.enter_context(FaultProxy(int(port), host))
            return str(proxies[port].port)

        if way == "native":
            url = hbase_native_url(hbase_url, by_zookeeper=True)  # beyond it are the master and the region server
            url = re.sub(rf"(?<={HOST}:)\d+", lambda found: through(found[0]), url)
        else:
            url = f"hbase://{HOST}:{through(first)}?thrift2={through(second)}"
            url = url if way == "thrift2" else url.partition("?")[0] + "?"
        url = url.replace("?", f"/{direct.table}?timeout=10&")
        # By HBase's own protocol all threads share one connection: it must last for a while, and ends by itself.
        chances, seconds = (
            ({"within": 1_000_000, "share": 0.7}, 0.5) if way == "native" else ({"within": 5_000}, SECONDS)
        )

        def storm():
            for seed, proxy in enumerate(proxies.values()):
                proxy.weather(Weather(seed, **chances, **weather))
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                if way == "native":
                    for proxy in proxies.values():
                        proxy.reset_all()
                time.sleep(seconds)

        with webtable.open(url) as table:
            yield table, storm, injected
            for proxy in proxies.values():
                proxy.weather(None)
                injected[proxy.port] = proxy.injected()
                del injected[proxy.port]["connections"]


def opened(hbase_url, name, **options):
    server, _, gateways = hbase_url.partition("?")
    return webtable.open(f"{server}/faults_{os.getpid()}_{name}?{gateways}", create=True, **options)


# By day with all indexes, by Thrift2 and by HBase's own protocol. By Thrift1 alone each page of an index takes calls of
# its own: that is for the night, and so is what has no index.
@pytest.mark.parametrize(
    ("way", "indexes"),
    [
        pytest.param("thrift1", "all", marks=pytest.mark.nightly),
        pytest.param("thrift1", "none", marks=pytest.mark.nightly),
        ("thrift2", "all"),
        pytest.param("thrift2", "none", marks=pytest.mark.nightly),
        ("native", "all"),
    ],
    indirect=["way"],
)
def test_nothing_is_lost_or_wrong_in_bad_weather(hbase_url, tmp_path, way, indexes):
    kept = {} if indexes == "all" else {"indexes": []}
    ledger = Ledger(tmp_path / "ledger")
    with opened(hbase_url, f"{way}_{indexes}", **kept) as direct:
        with hurt(direct, hbase_url, way, kinds=BREAKING) as (table, storm, injected):  # noqa: SIM117
            with told(table) as story, Load(table, ledger, pages=PAGES) as load:
                storm()
        found = settled(direct, ledger, load.findings)

    faults = sum(injected.values(), Counter())
    what = f"{faults.total():,} faults {dict(faults)}; {found}; told {dict(story.events())}"
    print(f"\n{way}, indexes {indexes}: {what}")
    assert found.is_clean, str(found)
    assert found.acknowledged
    assert faults
    assert story.contradictions(found.errors, injected) == []
    assert story.of("retry" if way == "native" else "dropped")


# By Thrift1 damaged replies are read by day in test_hbase_replies.
@pytest.mark.parametrize(
    "way", [pytest.param("thrift1", marks=pytest.mark.nightly), "thrift2", "native"], indirect=True
)
def test_a_changed_byte_in_a_reply_makes_no_wrong_page(hbase_url, tmp_path, way):
    with opened(hbase_url, f"{way}_corrupt", indexes=["time", "status", "link"]) as direct:
        with direct.writer() as writer:
            for number in range(PAGES):
                writer.put(page_of(number, 1))
        with hurt(direct, hbase_url, way, kinds=("corrupt",), ways=("reply",)) as (table, storm, injected):
            ledger = Ledger(tmp_path / "ledger")
            with told(table) as story, Load(table, ledger, writers=0, pages=PAGES) as load:
                storm()

    faults = sum(injected.values(), Counter())
    print(f"\n{way}, readers: {dict(faults)}; {load.findings}; told {dict(story.events())}")
    assert load.findings.is_clean, str(load.findings)
    assert faults["corrupt"]
    assert story.contradictions(load.findings.errors, injected) == []

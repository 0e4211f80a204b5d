"""HBase by its own protocol: what its URL means, what the doctor says of it, and what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import webtable
from webtable.errors import InvalidArgument
from webtable.store import StoreURL, table_of
from webtable.store.deadline import Deadline
from webtable.store.hbase.native.cluster import Cluster
from webtable.store.hbase.native.connection import ConnectionLost, ServerError
from webtable.store.hbase.native.store import address_of
from webtable.store.url import HostPort
from webtable.testing import fresh_table


def settings(text):
    return address_of(StoreURL.parse(text)).settings()


def test_a_port_after_the_last_host_is_that_of_all_of_them():
    assert settings("hbase+native://zk1,zk2,zk3:2182/crawl")["zookeeper"] == "zk1:2182,zk2:2182,zk3:2182"
    assert settings("hbase+native://zk1,zk2/crawl")["zookeeper"] == "zk1:2181,zk2:2181"


def test_hosts_with_the_port_of_masters_are_masters():
    masters = (HostPort("m1", 16000), HostPort("m2", 16000))

    assert settings("hbase+native://m1:16000,m2:16000/crawl")["masters"] == masters
    assert settings("hbase+native://m1,m2/crawl?registry=master")["masters"] == masters
    assert settings("hbase+native://m1:16000/crawl?registry=zookeeper")["zookeeper"] == "m1:16000"


def test_options_say_where_nodes_and_servers_are():
    found = settings("hbase+native://zk/ns:crawl?parent=/hbase-secure&rename=rs1=10.0.0.5,rs2:16020=localhost:17020")

    assert found["parent"] == "/hbase-secure"
    assert found["rename"] == {"rs1": "10.0.0.5", "rs2:16020": "localhost:17020"}
    assert table_of("hbase+native://zk/ns:crawl") == "ns:crawl"


@pytest.mark.parametrize(
    "text",
    [
        "hbase+native:///crawl",
        "hbase+native://zk:x/crawl",
        "hbase+native://user:secret@zk/crawl",
        "hbase+native://zk/crawl?registry=etcd",
        "hbase+native://zk/crawl?rename=rs1",
        "hbase+native://zk/crawl?thrift2=9091",
        "hbase+native://zk/crawl?timeout=0",
    ],
)
def test_a_wrong_url_is_refused_before_anything_is_opened(text):
    with pytest.raises(InvalidArgument) as caught:
        settings(text)

    assert "secret" not in str(caught.value)


def test_without_its_packages_the_scheme_names_the_extra():
    program = (
        "import sys; sys.modules['google.protobuf.message'] = None\n"
        "import webtable\n"
        "try: webtable.open('hbase+native://zk/crawl')\n"
        "except webtable.errors.WebTableError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "hbase-webtable[native]" in done.stdout


@pytest.mark.parametrize(
    ("text", "seconds"), [("wait 1sec, 200ms", 1.2), ("wait 2mins, 1sec", 121.0), ("number of requests exceeded", 0.5)]
)
def test_an_exception_of_quotas_says_how_long_to_wait(text, seconds):
    assert ServerError("org.apache.hadoop.hbase.quotas.RpcThrottlingException", text).pause == seconds


@pytest.mark.hbase
def test_the_doctor_checks_the_cluster_and_each_region_server(native_url):
    base, _, query = native_url.partition("?")
    with fresh_table(native_url) as table:
        found = {check.check: check for check in webtable.doctor(f"{base.rstrip('/')}/{table.table}?{query}").checks}

    assert found["cluster"].is_ok
    assert found["clock"].is_ok
    assert [check.state for name, check in found.items() if name.startswith("region server ")] == ["ok"]


@pytest.mark.hbase
def test_a_table_made_by_one_way_is_the_same_by_the_other(native_url, hbase_url, sample_pages):
    with fresh_table(native_url) as table:
        with table.writer() as writer:
            writer.put_many(sample_pages)
        base, _, query = hbase_url.partition("?")
        with webtable.open(f"{base.rstrip('/')}/{table.table}?{query}") as other:
            assert list(other.pages(webtable.ALL)) == list(table.pages(webtable.ALL))


class ForgetfulServers:
    """Servers of which another thread forgets the master and hbase:meta just before each call."""

    def __init__(self):
        self.asked = []
        self.cluster = Cluster("hbase+native://test", self, self)

    def master(self, _):
        return HostPort("master", 16000)

    meta = master

    @property
    def ask(self):
        self.cluster._master = self.cluster._meta = None
        return lambda server, *_: self.asked.append(server)

    @property
    def send(self):
        self.cluster._master = self.cluster._meta = None
        return self._sent

    def _sent(self, server, *_):
        self.asked.append(server)
        raise ConnectionLost("gone")


def test_a_call_goes_to_the_server_that_was_found_though_another_thread_forgets_it():
    servers = ForgetfulServers()

    servers.cluster.ask_master("GetTableNames", None, None, Deadline(1))
    with pytest.raises(ConnectionLost):
        servers.cluster.regions("crawl", Deadline(1))

    assert servers.asked == [HostPort("master", 16000)] * 2


def test_a_short_deadline_has_time_for_a_second_attempt(manual_clock):
    cluster = Cluster("hbase+native://test", None, None)
    given = []

    def lost_once(deadline):
        given.append(deadline.left())
        if len(given) == 1:
            manual_clock.sleep(deadline.left())
            raise TimeoutError
        return "found"

    assert cluster.retried(lost_once, None, "Get", Deadline(1.5)) == "found"
    assert given == pytest.approx([1.0, 0.5])

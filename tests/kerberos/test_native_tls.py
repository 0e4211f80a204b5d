"""HBase's own protocol by TLS, on an HBase 2.6 that speaks nothing else: `make test MARK=kerberos`."""

from __future__ import annotations

import io
import sys
import tarfile
from datetime import timedelta
from pathlib import Path

import docker
import pytest

import webtable
from webtable.errors import NotAStore, StoreUnavailable, WebTableError
from webtable.store import StoreURL
from webtable.store.deadline import Deadline, attempts
from webtable.store.hbase import NativeStore
from webtable.testing import fresh_table
from webtable.testing import hbase as testing_hbase

sys.path.append(str(Path(__file__).parents[1] / "hbase"))
from certificates import KEYSTORE_PASSWORD, Authority

pytestmark = [pytest.mark.kerberos, pytest.mark.timeout(900)]

MASTER, REGION_SERVER = "16000/tcp", "16020/tcp"
READY_SECONDS = 180.0
FOLDER = "/opt/hbase/tls"
SETTINGS = {
    "hbase.server.netty.tls.enabled": "true",
    "hbase.server.netty.tls.supportplaintext": "false",
    "hbase.client.netty.tls.enabled": "true",
    "hbase.rpc.tls.keystore.location": f"{FOLDER}/keystore.p12",
    "hbase.rpc.tls.keystore.type": "PKCS12",
    "hbase.rpc.tls.keystore.password": KEYSTORE_PASSWORD,
    "hbase.rpc.tls.truststore.location": f"{FOLDER}/authority.pem",
    "hbase.rpc.tls.truststore.type": "PEM",
    "hbase.server.netty.tls.verify.client.hostname": "false",
}
SITE = """<?xml version="1.0" encoding="UTF-8"?>
<configuration xmlns:xi="http://www.w3.org/2001/XInclude">
  <xi:include href="hbase-plain.xml"/>
  {properties}
</configuration>
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def hbase(authority):
    """Where master and region server of an HBase with TLS are published, as options of a URL, and the master's port."""
    engine = docker.from_env()
    ports = dict.fromkeys((MASTER, REGION_SERVER), ("127.0.0.1", None))
    environment = {"HBASE_ROLE": "native", "HBASE_HEAP": "1g"}
    container = engine.containers.create(testing_hbase._image(), ports=ports, environment=environment)
    try:
        properties = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>" for name, value in SETTINGS.items()
        )
        plain = (testing_hbase.image_folder() / "hbase-site.xml").read_bytes()
        files = {
            "hbase-plain.xml": plain,
            "hbase-site.xml": SITE.format(properties=properties).encode(),
            "tls/keystore.p12": authority.keystore("localhost"),
            "tls/authority.pem": authority.file.read_bytes(),
        }
        container.put_archive("/opt/hbase", archive(files))
        container.start()
        container.reload()
        found = {port: container.ports[port][0]["HostPort"] for port in ports}
        rename = f"localhost:16000=127.0.0.1:{found[MASTER]},localhost:16020=127.0.0.1:{found[REGION_SERVER]}"
        # The master is asked as localhost, which is the name in its certificate.
        base, options = f"hbases+native://localhost:{found[MASTER]}", f"registry=master&timeout=15&rename={rename}"
        wait_until_ready(f"{base}?{options}&ca={authority.file}&cert={authority.sign('client')}", container)
        yield base, options
    finally:
        container.remove(force=True, v=True)
        engine.close()


def archive(files):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in files.items():
            one = tarfile.TarInfo(name)
            one.size, one.mode = len(content), 0o644
            tar.addfile(one, io.BytesIO(content))
    return stream.getvalue()


def wait_until_ready(url, container):
    error = None
    for _ in attempts(Deadline(READY_SECONDS)):
        try:
            with fresh_table(url):
                return
        except WebTableError as exc:
            error = exc
    raise RuntimeError(container.logs(tail=40).decode()) from error


@pytest.fixture
def url(hbase, authority):
    base, options = hbase
    return f"{base}?{options}&ca={authority.file}&cert={authority.sign('client')}"


def test_pages_are_stored_and_read_by_tls(url, sample_pages):
    with fresh_table(url) as table:
        with table.writer() as writer:
            writer.put_many(sample_pages)
        assert len(list(table.pages(webtable.ALL))) > 3
        assert table.name.startswith("hbases+native://localhost:")


def opened(url):
    return NativeStore.from_url(StoreURL.parse(url))


def test_a_server_of_another_authority_gets_nothing(hbase, authority, tmp_path):
    base, options = hbase
    other = Authority(tmp_path, "another authority")

    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        opened(f"{base}?{options}&ca={other.file}&cert={authority.sign('client')}")


def test_a_server_that_is_not_the_host_of_its_certificate_gets_nothing(hbase, authority):
    base, options = hbase
    elsewhere = base.replace("localhost", "127.0.0.1")

    with pytest.raises(StoreUnavailable, match="certificate verify failed"):
        opened(f"{elsewhere}?{options}&ca={authority.file}&cert={authority.sign('client')}")


@pytest.mark.parametrize("certificate", ["none", "expired", "of another authority"])
def test_a_client_that_hbase_does_not_trust_is_told_to_give_another_certificate(
    hbase, authority, tmp_path, certificate
):
    base, options = hbase
    signer = Authority(tmp_path, "another") if certificate == "of another authority" else authority
    valid = timedelta(days=-1 if certificate == "expired" else 1)
    cert = "" if certificate == "none" else f"&cert={signer.sign('client', valid=valid)}"

    with pytest.raises(StoreUnavailable, match=r"alert.*may want another certificate of the client \(cert=FILE\)"):
        opened(f"{base}?{options}&ca={authority.file}{cert}")


def test_without_tls_nothing_is_answered(hbase):
    base, options = hbase

    with pytest.raises((StoreUnavailable, NotAStore)):
        opened(f"{base.replace('hbases', 'hbase')}?{options}")

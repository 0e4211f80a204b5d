"""HBase with Kerberos, and a KDC, in a container of their own: `make test-kerberos`.

Tickets are real, and so is the package gssapi that asks for them.
"""

from __future__ import annotations

import base64
import io
import os
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from webtable.errors import StoreRefused, StoreUnavailable, WebTableError
from webtable.store import StoreURL
from webtable.store.hbase import HBaseStore
from webtable.testing import fresh_table
from webtable.testing import hbase as testing_hbase

pytestmark = pytest.mark.skipif("WEBTABLE_KERBEROS" not in os.environ, reason="a job of its own: make test-kerberos")

FOLDER = Path(__file__).parents[2] / "docker" / "kerberos"
PORTS = {"kdc": "88/tcp", "thrift1": "9090/tcp", "thrift2": "9091/tcp"}
READY_SECONDS = 240.0


class Realm:
    """The KDC and the gateways of one *container*, with a *folder* on this side for what clients need."""

    def __init__(self, container, folder: Path) -> None:
        self._container, self._folder = container, folder
        published = {name: container.ports[port][0]["HostPort"] for name, port in PORTS.items()}
        self.url = f"hbase+http://localhost:{published['thrift1']}?thrift2={published['thrift2']}&timeout=20"
        self.settings = folder / "krb5.conf"
        self.settings.write_text((FOLDER / "krb5.conf").read_text().replace(":88", f":{published['kdc']}"))

    def copy(self, path: str) -> Path:
        """Return a copy of the container's file."""
        stream, _ = self._container.get_archive(path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            archive.extractall(self._folder, filter="data")
        return self._folder / Path(path).name

    def ticket_of_alice(self, life: str) -> Path:
        """Return a file with a ticket that is good for *life*."""
        command = ["kinit", "-k", "-t", "/keytabs/alice.keytab", "-l", life, "-c", "/tmp/ticket", "alice"]
        done = self._container.exec_run(command)
        assert done.exit_code == 0, done.output
        return self.copy("/tmp/ticket")


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    engine = docker.from_env()
    image, _ = engine.images.build(
        path=str(FOLDER),
        tag="webtable-kerberos",
        buildargs={"BASE": testing_hbase._image()},
        network_mode="host",
        rm=True,
    )
    # The gateways are `localhost` in their tickets, so they are published there alone.
    container = engine.containers.run(image, detach=True, ports=dict.fromkeys(PORTS.values(), ("127.0.0.1", None)))
    try:
        container.reload()
        running = Realm(container, tmp_path_factory.mktemp("realm"))
        wait_until_ready(running, container)
        yield running
    finally:
        container.remove(force=True, v=True)
        engine.close()


def wait_until_ready(realm: Realm, container) -> None:
    until = time.monotonic() + READY_SECONDS
    with pytest.MonkeyPatch.context() as patch:
        while True:
            try:
                as_alice(realm, patch)
                with fresh_table(f"{realm.url}&auth=negotiate"):
                    return
            except (WebTableError, OSError, docker.errors.APIError) as exc:
                if time.monotonic() > until:
                    raise RuntimeError(container.logs(tail=30).decode()) from exc
                time.sleep(2)


def as_alice(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    no_ticket(realm, monkeypatch)
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.copy("/keytabs/alice.keytab")))


def no_ticket(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(realm.settings))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.settings.parent / 'cache'}-{time.monotonic_ns()}")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", os.devnull)


def store_at(url: str) -> HBaseStore:
    return HBaseStore.from_url(StoreURL.parse(url))


def ticket_for_another_service(_host: str) -> dict[str, str]:
    import gssapi

    other = gssapi.Name("HTTP@other", gssapi.NameType.hostbased_service)
    token = gssapi.SecurityContext(name=other, usage="initiate").step()
    return {"Authorization": "Negotiate " + base64.b64encode(token).decode()}


@pytest.mark.parametrize("services", ["both", "thrift1 alone"])
def test_pages_are_stored_and_read_with_a_ticket(realm, monkeypatch, sample_pages, services):
    as_alice(realm, monkeypatch)
    url = realm.url if services == "both" else realm.url.split("?")[0] + "?timeout=20"
    with_body = [page for page in sample_pages if page.body is not None]
    with fresh_table(f"{url}&auth=negotiate") as table:
        for page in with_body:
            table.put(page)

        assert with_body
        assert [table.get(page.url).body for page in with_body] == [page.body for page in with_body]


def test_who_shows_no_ticket_is_refused(realm):
    with pytest.raises(StoreRefused, match=r"401 .*credentials are missing, or not accepted"):
        store_at(realm.url)


def test_without_a_ticket_kerberos_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)

    with pytest.raises(StoreUnavailable, match="no Kerberos ticket for HTTP@localhost"):
        store_at(f"{realm.url}&auth=negotiate")


def test_a_ticket_that_has_expired_is_named(realm, monkeypatch):
    no_ticket(realm, monkeypatch)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.ticket_of_alice(life='2s')}")
    time.sleep(3)

    with pytest.raises(StoreUnavailable, match=r"no Kerberos ticket for HTTP@localhost.*expired"):
        store_at(f"{realm.url}&auth=negotiate")


def test_a_ticket_for_another_service_is_refused(realm, monkeypatch):
    as_alice(realm, monkeypatch)
    monkeypatch.setenv("WEBTABLE_HBASE_HEADERS", f"{__name__}:ticket_for_another_service")

    with pytest.raises(StoreRefused, match=r"401 .*credentials are missing, or not accepted"):
        store_at(f"{realm.url}&auth=hook")

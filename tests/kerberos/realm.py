"""HBase with Kerberos, and a KDC, in a container of their own, and what clients of it need."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import pytest

from webtable.errors import WebTableError
from webtable.testing import fresh_table
from webtable.testing import hbase as testing_hbase

FOLDER = Path(__file__).parents[2] / "docker" / "kerberos"
PORTS = {"kdc": "88/tcp", "master": "16000/tcp", "region_server": "16020/tcp"}
READY_SECONDS = 240.0


class Realm:
    """The KDC and HBase of one *container*, with a *folder* on this side for what clients need."""

    def __init__(self, container, folder: Path) -> None:
        self._container, self._folder = container, folder
        published = {name: container.ports[port][0]["HostPort"] for name, port in PORTS.items()}
        rename = (
            f"localhost:16000=127.0.0.1:{published['master']},localhost:16020=127.0.0.1:{published['region_server']}"
        )
        self.native = f"hbase+native://localhost:{published['master']}?registry=master&timeout=20&rename={rename}"
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


@contextmanager
def running(folder: Path, url_of: Callable[[Realm], str], **environment: str) -> Iterator[Realm]:
    """Lend the realm of a container with *environment*, once tables are made at the URL that *url_of* returns."""
    engine = docker.from_env()
    image, _ = engine.images.build(
        path=str(FOLDER),
        tag="webtable-kerberos",
        buildargs={"BASE": testing_hbase._image()},
        network_mode="host",
        rm=True,
    )
    # All of HBase is `localhost` in its tickets, so it is published there alone.
    ports = dict.fromkeys(PORTS.values(), ("127.0.0.1", None))
    container = engine.containers.run(image, detach=True, ports=ports, environment=environment)
    try:
        container.reload()
        realm = Realm(container, folder)
        wait_until_ready(realm, container, url_of(realm))
        yield realm
    finally:
        container.remove(force=True, v=True)
        engine.close()


def wait_until_ready(realm: Realm, container, url: str) -> None:
    until = time.monotonic() + READY_SECONDS
    with pytest.MonkeyPatch.context() as patch:
        while True:
            try:
                as_alice(realm, patch)
                with fresh_table(url):
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

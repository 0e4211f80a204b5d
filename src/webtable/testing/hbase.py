"""A real HBase for the tests of programs that use webtable, and tables on it for one test.

A test that asks for `hbase_url` gets a store URL without a table, such as `hbase://127.0.0.1:9090?thrift2=9091`. One
server serves the whole session and is found in this order:

1. `WEBTABLE_HBASE_URL`, as it is: a running server.
2. Docker: a container on free ports, always removed at the end (`webtable.testing.hbase`); the workers
   of pytest-xdist share it. Its image is built once (a few minutes) and again only when its files change.
3. Otherwise the test is skipped with the reason, or fails if `WEBTABLE_REQUIRE_HBASE=1`.

`hbase_server()` is the same for programs other than tests. Both need the extra `hbase-webtable[testing]`.
"""

from __future__ import annotations

import fcntl
import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import webtable
from webtable._files import atomic_file
from webtable._importable import install_of
from webtable.errors import StoreUnavailable, WebTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testcontainers.core.container import DockerContainer

    from webtable import WebTable


IMAGE = "webtable-hbase"
THRIFT1, THRIFT2 = 9090, 9091
ZOOKEEPER, MASTER, REGION_SERVER = 2181, 16000, 16020
STARTUP_SECONDS = 180.0
SETTINGS = {"HBASE_HEAP", "THRIFT_HEAP", "HBASE_JAVA_OPTIONS", "HBASE_REGIONSERVERS"}
"""Variables that are passed on to the image: heap sizes, as in `2g`, options of Java, and a number of servers."""


class NoHBase(WebTableError):
    """There is no HBase, neither by a URL nor by Docker; the message says what is missing."""


@contextmanager
def hbase_server() -> Iterator[str]:
    """Give the URL of a running HBase, without a table, until the block ends.

    The server of `WEBTABLE_HBASE_URL` is left as it is found; one in Docker is new and empty, and removed at the end.
    Raises `NoHBase` if there is neither, and `StoreUnavailable` if the container does not start.

        with hbase_server() as url:
            ...
    """
    if url := os.environ.get("WEBTABLE_HBASE_URL"):
        yield url
        return
    if reason := _no_engine():
        raise NoHBase(f"no HBase: set WEBTABLE_HBASE_URL or {reason}")
    import docker.errors
    from testcontainers.core.container import DockerContainer

    with ExitStack() as stack:
        try:
            wanted = DockerContainer(_image()).with_exposed_ports(THRIFT1, THRIFT2, ZOOKEEPER, MASTER, REGION_SERVER)
            for name in SETTINGS & os.environ.keys():
                wanted = wanted.with_env(name, os.environ[name])
            container = stack.enter_context(wanted)
        except docker.errors.DockerException as exc:
            raise NoHBase(f"no HBase: set WEBTABLE_HBASE_URL or see why Docker has no such image ({exc})") from exc
        _wait_until_ready(container)
        # Docker may publish another random port for IPv6, and `localhost` may mean that.
        host = container.get_container_host_ip().replace("localhost", "127.0.0.1")
        yield f"hbase://{host}:{container.get_exposed_port(THRIFT1)}?thrift2={container.get_exposed_port(THRIFT2)}"


def hbase_native_url(url: str, *, by_zookeeper: bool = False) -> str:
    """The URL by HBase's own protocol of the container whose gateways are at *url*, without a table.

    Region servers are found by the master, or *by_zookeeper*.
    Raises `NoHBase` if *url* is of no container here that publishes the ports of its servers.
    """
    from testcontainers.core.docker_client import DockerClient

    gateway = str(urlsplit(url).port)
    engine = DockerClient().client
    try:
        for container in engine.containers.list():
            ports = {inside: published[0]["HostPort"] for inside, published in container.ports.items() if published}
            zookeeper, master, server = (ports.get(f"{port}/tcp") for port in (ZOOKEEPER, MASTER, REGION_SERVER))
            if ports.get(f"{THRIFT1}/tcp") == gateway and zookeeper and master and server:
                # In the container both are registered as localhost, with the usual ports.
                here = "rename=localhost:%d=127.0.0.1:%s,localhost:%d=127.0.0.1:%s"
                renamed = here % (MASTER, master, REGION_SERVER, server)
                if by_zookeeper:
                    return f"hbase+native://127.0.0.1:{zookeeper}?{renamed}"
                return f"hbase+native://127.0.0.1:{master}?registry=master&{renamed}"
    finally:
        engine.close()
    raise NoHBase(f"no container here publishes the servers of the HBase whose gateway is at the port {gateway}")


def _no_engine() -> str:
    """What to do before Docker can be used here; empty if its engine answers."""
    try:
        import docker
        import testcontainers.core.container  # noqa: F401 - _start needs it
        from testcontainers.core.docker_client import DockerClient
    except ImportError as exc:
        return f"{install_of('testing')} ({exc})"
    reason = ""
    # If no engine answers, the client leaves its socket open, which fails tests for which warnings are errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            DockerClient().client.close()
        except docker.errors.DockerException as exc:
            reason = f"start Docker ({exc})"
        gc.collect()
    return reason


def _image() -> str:
    """The name of the local image of the files here, built if it is missing; never pulled from elsewhere."""
    import docker.errors
    from testcontainers.core.docker_client import DockerClient

    folder = image_folder()
    tag = image_tag(folder) if folder else f"{IMAGE}:latest"
    engine = DockerClient()
    try:
        engine.client.images.get(tag)
    except docker.errors.ImageNotFound:
        if folder is None:
            raise NoHBase(f"no HBase: set WEBTABLE_HBASE_URL or build the image {tag}") from None
        engine.build(path=str(folder), tag=tag, network_mode="host")
    finally:
        engine.client.close()
    return tag


def image_folder() -> Path | None:
    """The folder with the image's Dockerfile: in the installed package, or in the source checkout."""
    here = Path(__file__).resolve()
    candidates = (here.parents[1] / "_docker", here.parents[3] / "docker" / "hbase")
    return next((folder for folder in candidates if (folder / "Dockerfile").is_file()), None)


def image_tag(folder: Path) -> str:
    """The name of the image of *folder*, which changes with any file in it."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return f"{IMAGE}:{digest.hexdigest()[:16]}"


def _wait_until_ready(container: DockerContainer) -> None:
    """Return when both gateways answer, by the image's own health check."""
    deadline = time.monotonic() + STARTUP_SECONDS
    server = container.get_wrapped_container()
    while True:
        server.reload()
        if server.status != "running" or time.monotonic() > deadline:
            log = server.logs(tail=20).decode(errors="replace")
            raise StoreUnavailable(f"{container.image} is {server.status} and HBase does not answer:\n{log}")
        if container.exec(["bash", "/opt/hbase/health.sh"]).exit_code == 0:
            return
        time.sleep(0.5)


@contextmanager
def fresh_table(server: str) -> Iterator[WebTable]:
    """Create a web table with a unique name on *server*; it is dropped at the end of the block.

    *server* is a store URL without a table, as `hbase_server()` gives it; other tables there are left alone.

        with hbase_server() as server, fresh_table(server) as table:
            ...
    """
    name = f"test_{uuid.uuid4().hex}"
    base, mark, options = server.partition("?")
    with webtable.open(f"{base.rstrip('/')}/{name}{mark}{options}", create=True) as table:
        try:
            yield table
        finally:
            # The names of its companion tables begin with its own; to disable and drop one takes HBase a second.
            tables = [made for made in table.store.tables() if made.startswith(name)]
            with ThreadPoolExecutor(4) as executor:
                list(executor.map(table.store.drop_table, tables))


# --- One HBase for all processes of a test session --------------------------------------------------------------------
#
# They may be workers of pytest-xdist. A separate process, the keeper, starts it, and removes it when it is no longer
# used. Each user holds a shared lock on a file, and the keeper waits for an exclusive one. The kernel releases the lock
# of a process however that ends, so neither Ctrl-C nor a kill leaves a container behind.


_USERS = "hbase-users.lock"
_STARTING = "hbase-starting.lock"
_ANSWER = "hbase.json"
_LOG = "hbase.log"
_HANDOVER_SECONDS = 0.2


@contextmanager
def shared_hbase(folder: Path) -> Iterator[str]:
    """Give the URL of one HBase to all processes that name the same *folder*; the last of them removes it.

    The server of `WEBTABLE_HBASE_URL` takes precedence. Raises `NoHBase` and `StoreUnavailable` as `hbase_server` does.
    """
    if url := os.environ.get("WEBTABLE_HBASE_URL"):
        yield url
        return
    with (folder / _USERS).open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield _url(folder)
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the file open
            time.sleep(_HANDOVER_SECONDS)
            fcntl.flock(users, fcntl.LOCK_SH)  # the last user gets it when the keeper is done
            fcntl.flock(users, fcntl.LOCK_UN)


def _url(folder: Path) -> str:
    """The URL from the keeper, which is started if there is none."""
    answer = folder / _ANSWER
    with (folder / _STARTING).open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not answer.exists():
            _start_keeper(folder, starting.fileno())
    with (folder / _STARTING).open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)  # the keeper holds it until it has answered
        if not answer.exists():
            log = (folder / _LOG).read_text(errors="replace")[-2_000:]
            raise StoreUnavailable(f"HBase was not started:\n{log}")
        outcome = json.loads(answer.read_text())
    if "url" in outcome:
        return str(outcome["url"])
    raise NoHBase(outcome["missing"]) if "missing" in outcome else StoreUnavailable(outcome["failed"])


def _start_keeper(folder: Path, starting: int) -> None:
    """Start the keeper in a new session, which gets no Ctrl-C; it inherits the lock *starting*."""
    command = [sys.executable, "-m", __name__, str(folder), str(starting)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (folder / _LOG).open("a") as log:
        subprocess.run(  # noqa: S603 - no shell
            command,
            check=True,
            env=environment,
            pass_fds=[starting],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _keep(folder: Path, starting: int) -> None:
    """Start an HBase, write its URL into *folder*, and remove it when it is no longer used."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with (folder / _USERS).open("a") as users, ExitStack() as stack:
        try:
            outcome = {"url": stack.enter_context(hbase_server())}
        except WebTableError as exc:
            outcome = {"missing" if isinstance(exc, NoHBase) else "failed": str(exc)}
        with atomic_file(folder / _ANSWER) as answer:
            answer.write_text(json.dumps(outcome))
        os.close(starting)
        if "url" in outcome:
            fcntl.flock(users, fcntl.LOCK_EX)
            (folder / _ANSWER).unlink(missing_ok=True)


if __name__ == "__main__" and os.fork() == 0:  # so that the starting process has no child to wait for
    _keep(Path(sys.argv[1]), int(sys.argv[2]))

"""A real HBase for the tests of those who use webtable, and tables on it for the time of one test.

A test that asks for `hbase_url` gets a store URL without a table, such as `hbase://127.0.0.1:9090?thrift2=9091`. One
server serves the whole session and is found in this order:

1. `WEBTABLE_HBASE_URL`, as it is: a server that runs already.
2. Docker: a container on free ports, removed at the end however that comes (`webtable.testing.keeper`); the workers
   of pytest-xdist share it. Its image is built once (a few minutes) and again only when its files change.
3. None: the test is skipped with the reason, or fails with it where `WEBTABLE_REQUIRE_HBASE=1`.

`hbase_server()` is the same for programs other than tests. Both need the extra `hbase-webtable[testing]`.
"""

from __future__ import annotations

import gc
import hashlib
import os
import time
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import webtable
from webtable.errors import StoreUnavailable, WebTableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from testcontainers.core.container import DockerContainer

    from webtable import WebTable

IMAGE = "webtable-hbase"
THRIFT1, THRIFT2 = 9090, 9091
STARTUP_SECONDS = 180.0
SETTINGS = {"HBASE_HEAP", "THRIFT_HEAP", "HBASE_REGIONSERVERS"}
"""What the image takes from its environment: heaps, as in `2g`, and a number of servers; handed on where it is set."""


class NoHBase(WebTableError):
    """Neither a URL nor Docker leads to an HBase here; the message says what is missing."""


@contextmanager
def hbase_server() -> Iterator[str]:
    """URL of a running HBase, without a table, until the block ends.

    The server of `WEBTABLE_HBASE_URL` is left as it is found; one in Docker is new and empty, and removed at the end.
    Raises `NoHBase` where there is neither, and `StoreUnavailable` when the container does not come up.

        with hbase_server() as url:
            ...
    """
    if url := os.environ.get("WEBTABLE_HBASE_URL"):
        yield url
        return
    with ExitStack() as stack:
        yield _start(stack)


def _start(stack: ExitStack) -> str:
    """Start a container that *stack* removes, and return its URL once HBase answers."""
    if reason := _no_engine():
        raise NoHBase(f"no HBase: set WEBTABLE_HBASE_URL or {reason}")
    import docker.errors
    from testcontainers.core.container import DockerContainer

    try:
        wanted = DockerContainer(_image()).with_exposed_ports(THRIFT1, THRIFT2)
        for name in SETTINGS & os.environ.keys():
            wanted = wanted.with_env(name, os.environ[name])
        container = stack.enter_context(wanted)
    except docker.errors.DockerException as exc:
        raise NoHBase(f"no HBase: set WEBTABLE_HBASE_URL or see why Docker has no such image ({exc})") from exc
    _wait_until_ready(container)
    # Docker may publish another random port for IPv6, and `localhost` may mean that.
    host = container.get_container_host_ip().replace("localhost", "127.0.0.1")
    return f"hbase://{host}:{container.get_exposed_port(THRIFT1)}?thrift2={container.get_exposed_port(THRIFT2)}"


def _no_engine() -> str:
    """What to do about Docker before it can be used here; empty when its engine answers."""
    try:
        import docker
        import testcontainers.core.container  # noqa: F401 - all that _start needs
        from testcontainers.core.docker_client import DockerClient
    except ImportError as exc:
        return f"install hbase-webtable[testing] ({exc})"
    reason = ""
    # Where no engine answers, the client leaves its socket open, which is an error where warnings are errors.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            DockerClient().client.close()
        except docker.errors.DockerException as exc:
            reason = f"start Docker ({exc})"
        gc.collect()
    return reason


def _image() -> str:
    """Name of a local image made of the files at hand, built when it is not there yet; never one from a registry."""
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
    """Folder with the image's Dockerfile: in an installed package, or in the checkout that this module is part of."""
    here = Path(__file__).resolve()
    candidates = (here.parents[1] / "_docker", here.parents[3] / "docker" / "hbase")
    return next((folder for folder in candidates if (folder / "Dockerfile").is_file()), None)


def image_tag(folder: Path) -> str:
    """Name of the image made of *folder*: another one whenever a file in it changes."""
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
    """Create a web table with a name of its own on *server*, to be dropped with all in it when the block ends.

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
            _drop(table, name)


def _drop(table: WebTable, name: str) -> None:
    """Drop the table *name* and those beside it, which all begin with that."""
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(table.store.drop_table, [one for one in table.store.tables() if one.startswith(name)]))

"""The store for HBase by its own protocol, and its URLs: `hbase+native://zk1,zk2:2181/[namespace:]table?timeout=10`.

Hosts with the port 16000, or with `registry=master`, are masters of the cluster; others are the ZooKeeper of it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from webtable._clock import clock
from webtable._messages import Command
from webtable.display.text import plural
from webtable.errors import CapabilityError, InvalidArgument, NotAStore, StoreError, StoreUnavailable
from webtable.store.capabilities import Capabilities
from webtable.store.deadline import of_call
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.calls import NativeClient, NativePieces
from webtable.store.hbase.native.cluster import Cluster
from webtable.store.hbase.native.failures import CALL_ERRORS, ServerError, translated
from webtable.store.hbase.native.registry import MasterRegistry, ZooKeeperRegistry
from webtable.store.hbase.native.sasl import PRINCIPAL, Kerberos
from webtable.store.hbase.native.servers import Servers
from webtable.store.hbase.native.tables import NativeTables
from webtable.store.hbase.shared.base import DDL_FACTOR, HBaseBase, clock_check
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.sockets import client_context
from webtable.store.hbase.shared.tables import TableCache
from webtable.store.hbase.shared.workers import Workers
from webtable.store.health import Check, failed, warned, well
from webtable.store.url import HostPort, URLOptions

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from webtable.rowkey import KeyRange
    from webtable.schema import ShellCommand
    from webtable.store.hbase.native.servers import OnCall
    from webtable.store.hbase.shared.selection import Selection
    from webtable.store.metrics import ServerMetrics
    from webtable.store.url import StoreURL


_REACH = (
    "start it, or say by ?rename=NAME=HOST how its name is reached from here, and open its port, 16020, to this host"
)


class NativeStore(HBaseBase):
    """HBase without a gateway: calls go to the region servers that hold the rows.

    The cluster is found by ZooKeeper at *zookeeper* (`zk1:2181,zk2:2181`, nodes below *parent*), or by its *masters*.
    *rename* says where servers are reached that are registered under names which do not resolve here: a host, or a host
    and port, by a host, or a host and port. With *tls* servers prove by their certificates that they are those which
    the cluster names (HBase 2.6); with *kerberos* both sides prove who they are; ZooKeeper is asked in the clear, and
    without a ticket. *user* is who HBase sees, with Kerberos somebody for whom the owner of the ticket may act.
    *timeout* is the deadline of each call in seconds, with all its retries.
    Raises `NotAStore` if something else answers, `StoreUnavailable` if nothing does, `StoreRefused` if HBase does not
    accept who we are.
    """

    capabilities: Capabilities = Capabilities(
        processes_write_concurrently=True, has_snapshots=True, runs_shell_commands=True
    )
    _uncompacted = "HBase compacts tables by itself"

    def __init__(
        self,
        *,
        zookeeper: str = "",
        parent: str = "/hbase",
        masters: Sequence[HostPort] = (),
        rename: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        threads: int = 8,
        tls: ssl.SSLContext | None = None,
        user: str | None = None,
        kerberos: Kerberos | None = None,
    ) -> None:
        if bool(zookeeper) == bool(masters):
            raise InvalidArgument("one of zookeeper and masters must be given")
        if timeout <= 0:
            raise InvalidArgument(f"timeout={timeout} must be over 0 seconds")
        scheme = "hbase+native" if tls is None else "hbases+native"
        self.name: str = f"{scheme}://{zookeeper or ','.join(map(str, masters))}"
        self.timeout = timeout
        self._process = os.getpid()
        self._workers = Workers(threads, self.name)
        self._servers = Servers(self.name, rename or {}, tls, user, kerberos)
        registry = ZooKeeperRegistry(zookeeper, parent) if zookeeper else MasterRegistry(masters, self._servers)
        self._cluster = Cluster(self.name, registry, self._servers)
        self._client = self._many = NativeClient(self._cluster)
        self._tables: NativeTables = NativeTables(self._cluster)
        self._table_cache = TableCache(self._tables, self.name)
        self._check()
        self._closed = False

    @classmethod
    def table_of(cls, url: StoreURL) -> str:
        """Return the table of `hbase+native://host:port/[namespace:]table`: by default `pages`."""
        return address_of(url).table

    @classmethod
    def from_url(cls, url: StoreURL, *, create: bool = False) -> Self:
        """Return the store of the cluster that *url* names; *create* has no effect."""
        del create
        return cls(**address_of(url).settings())

    @classmethod
    def connection_checks(cls, url: StoreURL) -> Iterator[Check]:
        """Yield the check whether the cluster is found, and its active master answers."""
        settings, began = address_of(url).settings(), clock.monotonic()
        try:
            with cls(**settings):
                took = (clock.monotonic() - began) * 1000
                yield well("cluster", f"the registry and the active master answer, in {took:.0f} ms")
        except (NotAStore, StoreError) as exc:
            yield failed("cluster", str(exc), "give the hosts of ZooKeeper or of the masters, as in hbase-site.xml")

    def health(self, table: str) -> Iterator[Check]:
        """Yield the check of each region server of *table*, and of HBase's clock."""
        servers = Counter(region.server for region in self.regions(table))
        for server, regions in sorted(servers.items()):
            name = f"region server {server}"
            if not server:
                yield warned("regions", f"{plural(regions, 'region')} on no server", "see the log of the master")
                continue
            began = clock.monotonic()
            try:
                self._cluster.touch(server, self._deadline())
            except CALL_ERRORS as exc:
                yield failed(name, f"{plural(regions, 'region')}; {exc}", _REACH)
            else:
                took = (clock.monotonic() - began) * 1000
                yield well(name, f"{plural(regions, 'region')}, connected in {took:.0f} ms")
        yield clock_check(self, table)

    def _check(self) -> None:
        """Raise unless the active master answers."""
        deadline = of_call(self.timeout)
        try:
            self._cluster.ask_master("GetTableNames", pb.GetTableNamesRequest(), pb.GetTableNamesResponse, deadline)
        except WrongReply as exc:
            self._servers.close()
            raise NotAStore(f"{self.name}: what answers is not HBase's own protocol: {exc}") from exc
        except CALL_ERRORS as exc:
            self._servers.close()
            error = translated(exc, self.name, None, "finding the master")
            is_clear = isinstance(error, StoreUnavailable) or (isinstance(exc, ServerError) and exc.denied)
            raise (error if is_clear else NotAStore(str(error))) from exc

    def _pieces(self, table: str, ranges: Sequence[KeyRange], wanted: Selection, limit: int | None) -> NativePieces:
        return NativePieces(self._cluster, table, ranges, wanted, limit)

    def _groups(self, bounds: Sequence[bytes]) -> int:
        return len(bounds) + 1  # each region by itself

    def backup(self, path: Path, on_progress: Callable[[int], object] | None = None) -> int:  # noqa: ARG002
        """Raise `CapabilityError`: snapshots stay in HBase."""
        raise CapabilityError(
            f"{self.name}: HBase keeps its snapshots itself; ",
            Command("backup snapshot --apply"),
            " takes them, and ",
            Command("export"),
            " writes files",
        )

    def run(self, command: ShellCommand) -> None:
        """Take a snapshot, restore one, or disable or enable a table."""
        self._tables.run(command, self._deadline(DDL_FACTOR))
        self._table_cache.clear()

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._servers.close()

    @property
    def on_call(self) -> OnCall | None:
        """The function that is called with the method of each call (`Multi`), in its thread."""
        return self._servers.on_call

    @on_call.setter
    def on_call(self, listener: OnCall | None) -> None:
        self._servers.on_call = listener

    def events(self) -> Counter[str]:
        """Return how often each event has occurred."""
        return super().events() + self._cluster.log.events.snapshot()

    def servers(self) -> list[ServerMetrics]:
        """Return the state of the connections to each server."""
        return self._servers.state()


_EVERY: Final = frozenset({"parent", "registry", "rename", "timeout", "pool", "user", "auth", "principal"})
OPTIONS: Final = {"hbase+native": _EVERY, "hbases+native": _EVERY | {"ca", "cert", "key"}}
"""By scheme: `parent=/hbase` in ZooKeeper, `registry=zookeeper|master`, `rename=FROM=TO,…` of servers,
`timeout=SECONDS`, `pool=THREADS`, `user=NAME`, `auth=kerberos`, `principal=SERVICE/_HOST[@REALM]` of the servers, and
for TLS `ca=FILE`, `cert=FILE`, `key=FILE`."""
_ZOOKEEPER_PORT: Final = 2181
_MASTER_PORT: Final = 16000
_AUTHORITY: Final = re.compile("//([^/?#]*)")


class NativeAddress(NamedTuple):
    """The hosts of the registry, and the table, by default `pages`."""

    hosts: tuple[HostPort, ...]
    by_masters: bool
    table: str
    options: URLOptions
    scheme: str = "hbase+native"

    def settings(self) -> dict[str, Any]:
        """Return the arguments of `NativeStore`; raises `InvalidArgument` for a wrong option."""
        options = self.options
        where: dict[str, Any] = (
            {"masters": self.hosts}
            if self.by_masters
            else {
                "zookeeper": ",".join(map(str, self.hosts)),
                "parent": options.get("parent", "/hbase"),
            }
        )
        return {
            **where,
            "rename": _renamed(options.get("rename", "")),
            "timeout": options.number("timeout", 30.0),
            "threads": int(options.number("pool", 8)),
            "user": options.get("user"),
            "tls": self._tls(),
            "kerberos": self._kerberos(),
        }

    def _tls(self) -> ssl.SSLContext | None:
        if self.scheme != "hbases+native":
            return None
        return client_context(self.options.get("ca"), self.options.get("cert"), self.options.get("key"))

    def _kerberos(self) -> Kerberos | None:
        auth, principal = self.options.get("auth"), self.options.get("principal", PRINCIPAL)
        if auth not in (None, "kerberos"):
            raise InvalidArgument(f"store: auth must be kerberos, or left out, with {self.scheme}://")
        if auth is None and "principal" in self.options:
            raise InvalidArgument(f"store: principal={principal!r} needs auth=kerberos")
        return None if auth is None else Kerberos(principal)


def address_of(url: StoreURL) -> NativeAddress:
    """Return the address in *url*; raises `InvalidArgument` that says what is wrong with it."""
    found = _AUTHORITY.match(url.rest)
    text, rest = ("", url.rest) if found is None else (found[1], url.rest[found.end() :])
    if "@" in text:
        raise InvalidArgument(f"store={url.text!r}: there is no logging in by {url.scheme}://")
    parts = urlsplit(rest)
    options = url.options(parts.query, OPTIONS[url.scheme])
    registry = options.get("registry")
    if registry not in (None, "zookeeper", "master"):
        raise InvalidArgument(f"store: registry={registry!r} must be 'zookeeper' or 'master'")
    try:
        given = [urlsplit(f"//{host}") for host in text.split(",")]
        ports = [one.port for one in given if one.port]
    except ValueError as exc:
        raise InvalidArgument(f"store={url.text!r}: {exc}") from None
    if not all(one.hostname for one in given):
        raise InvalidArgument(f"store={url.text!r} must name a host, as in {url.scheme}://zk1:2181/crawl")
    by_masters = registry == "master" or (registry is None and _MASTER_PORT in ports)
    # As HBase writes it, a port after the last host is that of all of them.
    usual = ports[-1] if ports else _MASTER_PORT if by_masters else _ZOOKEEPER_PORT
    hosts = tuple(dict.fromkeys(HostPort(one.hostname or "", one.port or usual) for one in given))
    return NativeAddress(hosts, by_masters, url.table(parts.path), options, url.scheme)


def _renamed(text: str) -> dict[str, str]:
    """Return the map in `FROM=TO,FROM=TO`, of hosts, or hosts and ports."""
    renamed = {}
    for one in filter(None, text.split(",")):
        name, equals, place = one.partition("=")
        port = place.rpartition(":")[2] if ":" in place else "0"
        if not (name and equals and place and port.isdigit()):
            raise InvalidArgument(f"store: rename={text!r} must be FROM=TO, of hosts or host:port, and commas between")
        renamed[name] = place
    return renamed

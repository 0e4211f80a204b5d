"""Store URLs of HBase's own protocol: `hbase+native://zk1,zk2:2181/[namespace:]table`, and options after a `?`.

Hosts with the port 16000, or with `registry=master`, are masters of the cluster; others are the ZooKeeper of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from webtable.errors import InvalidArgument
from webtable.store.hbase.native.sasl import PRINCIPAL, Kerberos
from webtable.store.url import HostPort, URLOptions

if TYPE_CHECKING:
    import ssl

    from webtable.store.url import StoreURL

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
        from webtable.store.hbase.thrift.transport import client_context  # which loads HTTP too

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

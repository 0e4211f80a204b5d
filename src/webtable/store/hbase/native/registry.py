"""The registry: where hbase:meta and the active master are, by ZooKeeper or by asking the masters themselves."""

from __future__ import annotations

import logging
import struct
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from google.protobuf.message import DecodeError

from webtable.errors import StoreError
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.failures import CALL_ERRORS
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, connected
from webtable.store.url import HostPort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.servers import Servers

T = TypeVar("T")

_LOGGER: Final = logging.getLogger("webtable.store.hbase.zookeeper")
_MAGIC: Final = b"PBUF"
_LENGTH = struct.Struct(">I")
_SHARE: Final = 1 / 2
"""The share of the remaining time that one of several masters may use."""


class Registry(ABC):
    """Answers where the parts of a cluster are now; nothing is cached. The errors are those of calls."""

    @abstractmethod
    def meta(self, deadline: Deadline) -> HostPort:
        """Return the server of hbase:meta."""

    @abstractmethod
    def master(self, deadline: Deadline) -> HostPort:
        """Return the active master."""


class ZooKeeperRegistry(Registry):
    """The registry in ZooKeeper, at *hosts* (`zk1:2181,zk2:2181`), in the nodes below *parent* (`/hbase`).

    A session is opened for each question: there are few, and a session that stays has threads that no fork survives.
    """

    def __init__(self, hosts: str, parent: str) -> None:
        self._hosts = hosts
        self._parent = parent

    def meta(self, deadline: Deadline) -> HostPort:
        """Return the server of hbase:meta."""
        return self._read("meta-region-server", lambda data: pb.MetaRegionServer.FromString(data).server, deadline)

    def master(self, deadline: Deadline) -> HostPort:
        """Return the active master."""
        return self._read("master", lambda data: pb.Master.FromString(data).master, deadline)

    def _read(self, node: str, read: Callable[[bytes], pb.ServerName], deadline: Deadline) -> HostPort:
        from kazoo.client import KazooClient
        from kazoo.exceptions import ConnectionLoss, KazooException, NoNodeError, SessionExpiredError
        from kazoo.handlers.threading import KazooTimeoutError

        self._check_reached(deadline)
        seconds = deadline.left()
        if not seconds:
            raise TimeoutError
        path = f"{self._parent}/{node}"
        client = KazooClient(self._hosts, timeout=max(seconds, 1.0), read_only=True, logger=_LOGGER)
        try:
            client.start(timeout=seconds)
            try:
                data, _ = client.get_async(path).get(timeout=max(deadline.left(), 0.001))
            except (ConnectionLoss, SessionExpiredError):  # by another host of ZooKeeper, perhaps
                data, _ = client.get_async(path).get(timeout=max(deadline.left(), 0.001))
        except KazooTimeoutError:
            raise TimeoutError(f"ZooKeeper at {self._hosts} does not answer") from None
        except NoNodeError:
            raise ConnectionError(
                f"ZooKeeper at {self._hosts} has no {self._parent}/{node}: HBase is not up, or has another ?parent="
            ) from None
        except KazooException as exc:
            raise ConnectionError(f"ZooKeeper at {self._hosts}: {type(exc).__name__} {exc}") from exc
        finally:
            with suppress(AttributeError):  # of a client whose thread was interrupted before it had begun
                client.stop()
            client.close()
        try:
            found = read(_plain(data))
        except DecodeError as exc:
            raise WrongReply(f"{self._parent}/{node} in ZooKeeper is not of HBase") from exc
        return _server(found)

    def _check_reached(self, deadline: Deadline) -> None:
        """Raise `OSError` if no host takes connections: kazoo would try again without a word until the deadline."""
        errors: list[OSError] = []
        for host in self._hosts.split(","):
            name, _, port = host.rpartition(":")
            try:
                connected(name.strip("[]"), int(port), deadline.within(CONNECT_SECONDS)).close()
            except OSError as exc:
                errors.append(exc)
            else:
                return
        raise ConnectionError(f"no connection to ZooKeeper at {self._hosts}: {errors[0]}") from errors[0]


class MasterRegistry(Registry):
    """The registry by the masters at *addresses* themselves, or other servers of the cluster (HBase 2.3 or newer)."""

    def __init__(self, addresses: Sequence[HostPort], servers: Servers) -> None:
        self._addresses = [HostPort(*address) for address in addresses]
        self._servers = servers

    def meta(self, deadline: Deadline) -> HostPort:
        """Return the server of hbase:meta."""
        found = self._ask("GetMetaRegionLocations", pb.GetMetaRegionLocationsResponse, deadline).meta_locations
        first = next((one for one in found if not one.region_info.replica_id), None)
        if first is None or not first.server_name.host_name:
            raise ConnectionError("hbase:meta is on no server at the moment")
        return _server(first.server_name)

    def master(self, deadline: Deadline) -> HostPort:
        """Return the active master."""
        found = self._ask("GetActiveMaster", pb.GetActiveMasterResponse, deadline)
        if not found.server_name.host_name:
            raise ConnectionError("no master is active at the moment")
        return _server(found.server_name)

    def _ask(self, method: str, response: type[T], deadline: Deadline) -> T:
        """Return the answer of the first master that gives one."""
        errors: list[Exception] = []
        for server in self._addresses:
            several = len(self._addresses) - len(errors) > 1
            soon = deadline.within(deadline.left() * _SHARE) if several else deadline
            try:
                return self._servers.ask(server, "ClientMetaService", method, pb.EmptyMsg(), response, soon)
            except (*CALL_ERRORS, StoreError) as exc:
                errors.append(exc)
        raise errors[0]


def _plain(data: bytes) -> bytes:
    """Return the message in a node: after HBase's mark, and after the name of the writer (RecoverableZooKeeper)."""
    if data[:1] == b"\xff" and len(data) >= 5:
        data = data[5 + _LENGTH.unpack_from(data, 1)[0] :]
    if data[:4] != _MAGIC:
        raise WrongReply("the node in ZooKeeper is not one of HBase")
    return data[4:]


def _server(found: pb.ServerName) -> HostPort:
    if not (found.host_name and isinstance(found.host_name, str)):  # it is bytes where it is not UTF-8
        raise WrongReply(f"a server with the name {found.host_name!r:.100}")
    return HostPort(found.host_name, found.port)

"""Gateways that do as they are told, proxies in front of real ones, and what is written to them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TBufferedTransport

from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.connection import thrift1, thrift2
from webtable.store.rows import NewCell, Put

HOST = "127.0.0.1"


def put(row: bytes, timestamp: int = 1, column: bytes = b"f:q", value: bytes = b"v") -> Put:
    return Put(row, [NewCell(column, timestamp, value)])


def page_keys() -> list[bytes]:
    """The rows of the table `pages`."""
    return sorted(b"%02x:%05d" % (number * 37 % 256, number) for number in range(4000))


class Server:
    """A TCP server that hands each connection to *serve* in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket], None], host: str = HOST, port: int = 0) -> None:
        self._serve = serve
        self._host = host
        self._listener = socket.create_server((host, port))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            with suppress(OSError):
                client, _ = self._listener.accept()
                if self._stopped:
                    client.close()
                    return
                # A reply of two pieces would wait 40 ms for the client to acknowledge the first.
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                self._open.append(client)
                threading.Thread(target=self._run, args=(client,), daemon=True).start()

    def _run(self, client: socket.socket) -> None:
        with closing(client), suppress(Exception):
            try:
                self._serve(client)
            finally:
                client.shutdown(socket.SHUT_RDWR)  # closing alone tells nobody while another thread reads from it

    def close(self) -> None:
        self._stopped = True
        with suppress(OSError):
            socket.create_connection((self._host, self.port), timeout=1).close()
        self._thread.join(2)
        self._listener.close()
        for client in self._open:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            client.close()


class SocketStream:
    """What a Thrift transport wants of a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, size: int) -> bytes:
        data = self._sock.recv(size)
        if not data:
            raise EOFError
        return data

    def write(self, data: bytes) -> None:
        self._sock.sendall(data)

    def flush(self) -> None:
        pass


def thrift_server(service: Any, handler: object, host: str = HOST, port: int = 0) -> Server:
    """A gateway whose answers are the methods of *handler*."""

    def serve(client: socket.socket) -> None:
        wire = TBinaryProtocol(TBufferedTransport(SocketStream(client)), decode_response=False)
        processor = TProcessor(service, handler)
        while True:
            processor.process(wire, wire)

    return Server(serve, host, port)


class FakeThrift1:
    """A gateway from before HBase 2.x: it has no getThriftServerType."""

    def __init__(self) -> None:
        self.calls = 0
        self.delays: dict[int, float] = {}

    def getTableNames(self) -> list[bytes]:
        self.calls += 1
        call = self.calls
        time.sleep(self.delays.get(call, 0))
        return [b"call-%d" % call]


def fake_store(servers: list[Server], handler: FakeThrift1, **options: Any) -> HBaseStore:
    servers.append(thrift_server(thrift1.Hbase, handler))
    return HBaseStore(HOST, servers[-1].port, **options)


class Proxy(Server):
    """Passes bytes on to *port*; `plan` says for each connection after how many bytes of replies to cut it, or None."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.plan: Callable[[], int | None] = lambda: None
        self.cuts = 0
        super().__init__(self._pass_on)

    def _pass_on(self, client: socket.socket) -> None:
        left = self.plan()
        with socket.create_connection((HOST, self.target)) as gateway:
            threading.Thread(target=self._copy, args=(client, gateway), daemon=True).start()
            while data := gateway.recv(4096):
                if left is not None:
                    if len(data) > left:
                        self.cuts += 1
                        client.sendall(data[:left])
                        client.shutdown(socket.SHUT_RDWR)
                        return
                    left -= len(data)
                client.sendall(data)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


class RoundRobin(Server):
    """A balancer: passes each new connection on to the next of *targets*."""

    def __init__(self, *targets: tuple[str, int], host: str = HOST, port: int = 0) -> None:
        self.targets = list(targets)
        self._turn = 0
        super().__init__(self._pass_on, host, port)

    def _pass_on(self, client: socket.socket) -> None:
        self._turn += 1
        target = self.targets[self._turn % len(self.targets)]
        with socket.create_connection(target) as gateway:
            threading.Thread(target=Proxy._copy, args=(client, gateway), daemon=True).start()
            while data := gateway.recv(65536):
                client.sendall(data)

    def cut(self) -> None:
        """Close all connections there are, as a gateway that is restarted does."""
        for client in self._open:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


Distort = Callable[[list[Any]], list[Any]]


class Rows:
    """Sorted rows by table; `wrong` is applied to the next answers, one after another, and `always` to all others."""

    def __init__(self, **tables: list[bytes]) -> None:
        self.tables = {name.encode(): sorted(keys) for name, keys in tables.items()}
        self.wrong: list[Distort] = []
        self.always: Distort | None = None
        self.held = threading.Event()
        self.held.set()

    def answer(self, rows: list[Any]) -> list[Any]:
        distort = self.wrong.pop(0) if self.wrong else self.always
        return distort(rows) if distort else rows

    def found(self, table: bytes, start: bytes, stop: bytes, reverse: bool) -> list[bytes]:
        keys = self.tables[table]
        if reverse:
            return [key for key in reversed(keys) if (not start or key <= start) and key > stop]
        return [key for key in keys if key >= start and (not stop or key < stop)]


class RowsThrift1(Rows):
    """A Thrift1 gateway from before HBase 2.x. Its scanners are numbered from 0, as those of any other gateway."""

    def __init__(self, **tables: list[bytes]) -> None:
        super().__init__(**tables)
        self.scanners: dict[int, list[bytes]] = {}
        self.opened = 0

    def result(self, key: bytes) -> Any:
        return thrift1.TRowResult(row=key, columns={b"f:q": thrift1.TCell(value=key, timestamp=1)})

    def getTableNames(self) -> list[bytes]:
        self.held.wait(30)
        return list(self.tables)

    def getColumnDescriptors(self, table: bytes) -> dict[bytes, Any]:
        return {
            b"f:": thrift1.ColumnDescriptor(
                name=b"f:", maxVersions=1, compression=b"NONE", bloomFilterType=b"ROW", timeToLive=2**31 - 1
            )
        }

    def getTableRegions(self, table: bytes) -> list[Any]:
        return [thrift1.TRegionInfo(startKey=b"", endKey=b"", id=1, name=b"r", version=1, serverName=b"rs", port=1)]

    def getRowsWithColumnsTs(self, table: bytes, rows: list[bytes], *_: Any) -> list[Any]:
        return self.answer([self.result(row) for row in rows if row in self.tables[table]])

    def getVerTs(self, table: bytes, row: bytes, *_: Any) -> list[Any]:
        return [thrift1.TCell(value=row, timestamp=1)]

    def mutateRowsTs(self, *_: Any) -> None:
        pass

    def deleteAllRowTs(self, *_: Any) -> None:
        pass

    def scannerOpenWithScan(self, table: bytes, scan: Any, _: Any) -> int:
        number, self.opened = self.opened, self.opened + 1
        self.scanners[number] = self.found(table, scan.startRow or b"", scan.stopRow or b"", bool(scan.reversed))
        return number

    def scannerGetList(self, number: int, count: int) -> list[Any]:
        if number not in self.scanners:
            raise thrift1.IllegalArgument(message=b"scanner ID is invalid")
        rows, self.scanners[number] = self.scanners[number][:count], self.scanners[number][count:]
        return self.answer([self.result(key) for key in rows])

    def scannerClose(self, number: int) -> None:
        self.scanners.pop(number, None)


class RowsThrift2(Rows):
    """A Thrift2 gateway; of several ranges it gives what is between them too, as those do that know no such filter."""

    def result(self, key: bytes | None) -> Any:
        values = [thrift2.TColumnValue(family=b"f", qualifier=b"q", value=key, timestamp=1)] if key else []
        return thrift2.TResult(row=key, columnValues=values)

    def getThriftServerType(self) -> int:
        return 2

    def getMultiple(self, table: bytes, gets: list[Any]) -> list[Any]:
        keys = set(self.tables[table])
        return self.answer([self.result(get.row if get.row in keys else None) for get in gets])

    def getScannerResults(self, table: bytes, scan: Any, count: int) -> list[Any]:
        keys = self.found(table, scan.startRow or b"", scan.stopRow or b"", bool(scan.reversed))
        return self.answer([self.result(key) for key in keys[:count]])

    def putMultiple(self, *_: Any) -> None:
        pass


class Valve(RoundRobin):
    """Passes bytes on to one gateway; while it is `shut`, no answer comes through."""

    def __init__(self, target: int) -> None:
        self._flows = threading.Event()
        self._flows.set()
        super().__init__((HOST, target))

    def _pass_on(self, client: socket.socket) -> None:
        with socket.create_connection(self.targets[0]) as gateway:
            threading.Thread(target=Proxy._copy, args=(client, gateway), daemon=True).start()
            while data := gateway.recv(65536):
                self._flows.wait(60)
                client.sendall(data)

    def shut(self) -> None:
        self._flows.clear()

    def open(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self.open()
        super().close()


class Corrupting(RoundRobin):
    """Passes bytes on to one gateway; `corrupt`, where it is set, is applied to a reply, the last of its connection."""

    def __init__(self, target: int) -> None:
        self.corrupt: Callable[[bytes], bytes] | None = None
        super().__init__((HOST, target))

    def _pass_on(self, client: socket.socket) -> None:
        with socket.create_connection(self.targets[0]) as gateway:
            threading.Thread(target=Proxy._copy, args=(client, gateway), daemon=True).start()
            while data := gateway.recv(65536):
                corrupt, self.corrupt = self.corrupt, None
                client.sendall(corrupt(data) if corrupt else data)
                if corrupt:
                    return

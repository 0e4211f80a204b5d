"""A server of HBase's RPC for tests, which answers each call as it is told."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from webtable.store.hbase.native import hbase_pb2 as pb

Answer = Callable[[socket.socket, int, str], object]
"""Called with the connection, the number of a call and its method."""


def varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def part(message: object) -> bytes:
    data = message.SerializeToString()
    return varint(len(data)) + data


def length(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def reply(number: int, message: object = None, cells: bytes = b"") -> bytes:
    """Return the answer to the call of this number."""
    header = pb.ResponseHeader(call_id=number)
    if cells:
        header.cell_block_meta.length = len(cells)
    return length(part(header) + part(message or pb.EmptyMsg()) + cells)


def refusal(number: int, name: bytes, trace: bytes) -> bytes:
    """Return the answer of an exception, whose texts may be any bytes."""
    exception = b"".join(bytes([key]) + varint(len(text)) + text for key, text in ((0x0A, name), (0x12, trace)))
    header = b"\x08" + varint(number) + b"\x12" + varint(len(exception)) + exception
    return length(varint(len(header)) + header)


class RpcServer:
    """Takes calls while `reading` is set, and has *answer* answer them."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.reading = threading.Event()
        self.reading.set()
        self.connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as file:
                file.read(6)
                self._context(file)
                while True:
                    data = self._context(file)
                    at, size = 1, data[0]
                    if size > 0x7F:
                        at, size = 2, size & 0x7F | data[1] << 7
                    header = pb.RequestHeader.FromString(data[at : at + size])
                    self._answer(connection, header.call_id, header.method_name)
        except (OSError, EOFError, ValueError):
            pass

    def _context(self, file: object) -> bytes:
        self.reading.wait(20)
        head = file.read(4)
        if len(head) < 4:
            raise EOFError
        (size,) = struct.unpack(">I", head)
        self.reading.wait(20)
        data = file.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def close(self) -> None:
        self.reading.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for connection in self.connections:
            connection.close()


@contextmanager
def rpc_server(answer: Answer) -> Iterator[RpcServer]:
    server = RpcServer(answer)
    try:
        yield server
    finally:
        server.close()

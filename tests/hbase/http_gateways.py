"""Gateways in HTTP mode that do as they are told."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from typing import Any

from gateways import HOST, Server
from thriftpy2.protocol import TBinaryProtocol
from thriftpy2.thrift import TProcessor
from thriftpy2.transport import TMemoryBuffer

from webtable.store.hbase.thrift.connection import thrift1, thrift2

Answer = Callable[[bytes], bytes]
"""Makes what is sent of the body of an answer."""


def fixed(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/x-thrift\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def chunked(body: bytes) -> bytes:
    parts = [body[at : at + 7] for at in range(0, len(body), 7)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def status(line: str) -> Answer:
    text = b"<html>no</html>"
    head = f"HTTP/1.1 {line}\r\nLocation: http://{HOST}:9/\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    return lambda _: head + text


class HTTPGateway(Server):
    """Answers POSTs with what the methods of *handler* return, by `answer`; `heads` has those of requests."""

    def __init__(self, handler: object, answer: Answer = fixed, tls: ssl.SSLContext | None = None) -> None:
        self.heads: list[dict[str, str]] = []
        self.answer = answer
        service = thrift2.THBaseService if hasattr(handler, "getThriftServerType") else thrift1.Hbase
        self._processor = TProcessor(service, handler)
        self._tls = tls
        super().__init__(self._serve_requests)

    def _serve_requests(self, client: socket.socket) -> None:
        if self._tls is not None:
            client = self._tls.wrap_socket(client, server_side=True)
            self._open.append(client)
        with client.makefile("rb") as incoming:
            while request := incoming.readline():
                assert request == b"POST / HTTP/1.1\r\n"
                head = {}
                while (line := incoming.readline().decode("latin-1").strip()) != "":
                    name, _, value = line.partition(": ")
                    head[name] = value
                self.heads.append(head)
                client.sendall(self.answer(self._answered(incoming.read(int(head["Content-Length"])))))

    def _answered(self, message: bytes) -> bytes:
        wire: Any = TBinaryProtocol(TMemoryBuffer(message), decode_response=False)
        reply = TMemoryBuffer()
        self._processor.process(wire, TBinaryProtocol(reply))
        return reply.getvalue()

"""Each exception of the driver, and of the gateways' own IDL, becomes an error of the store."""

from __future__ import annotations

import importlib
import pkgutil
import socket
import ssl

import pytest
import thriftpy2
from thriftpy2.parser.exc import ThriftParserError
from thriftpy2.thrift import TDecodeException, TType

from webtable.errors import StoreError
from webtable.store.hbase.connection import CheckedClient, Unsendable, thrift1, thrift2
from webtable.store.hbase.failures import DRIVER_ERRORS, translated

# What reads IDL files, and what is there for other transports than sockets, is not on the way of a call.
NOT_ON_THE_WAY = ("thriftpy2.contrib", "thriftpy2.hook", "thriftpy2.http", "thriftpy2.tornado", "thriftpy2.server")


def exceptions_of_the_driver() -> list[type[Exception]]:
    modules = [thrift1, thrift2]
    for info in pkgutil.walk_packages(thriftpy2.__path__, "thriftpy2."):
        if not info.name.startswith(NOT_ON_THE_WAY):
            modules.append(importlib.import_module(info.name))
    found = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Exception) and one.__module__ != "builtins"
    }
    return sorted(
        (one for one in found | {Unsendable} if not issubclass(one, ThriftParserError)),
        key=lambda one: (one.__module__, one.__name__),
    )


class Failing(CheckedClient):
    """A client whose next reply is an exception."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def _reply(self, _api: str) -> None:
        raise self.error


DRIVER = exceptions_of_the_driver()
SOCKET = [
    TimeoutError("timed out"),
    ConnectionRefusedError(111, "refused"),
    ConnectionResetError(104, "reset"),
    BrokenPipeError(32, "broken pipe"),
    socket.gaierror(-2, "unknown name"),
    ssl.SSLError(1, "handshake"),
    EOFError("too short"),
    OSError(113, "no route"),
]


def test_the_driver_has_the_exceptions_that_are_known():
    names = {one.__name__ for one in DRIVER}

    assert {"TException", "TApplicationException", "TProtocolException", "TTransportException"} <= names
    assert {"IOError", "IllegalArgument", "AlreadyExists", "TIOError", "TIllegalArgument"} <= names


@pytest.mark.parametrize("kind", DRIVER, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_exception_of_the_driver_is_an_error_of_the_store(kind):
    error = TDecodeException("TCell", 1, "value", 5, TType.STRING) if kind is TDecodeException else kind()

    with pytest.raises(DRIVER_ERRORS) as raised:
        Failing(error)._recv("getRows")

    assert isinstance(translated(raised.value, "hbase://h:1", "pages", "getRows"), StoreError)


@pytest.mark.parametrize("error", SOCKET, ids=lambda error: type(error).__name__)
def test_every_error_of_a_socket_is_an_error_of_the_store(error):
    assert isinstance(error, DRIVER_ERRORS)
    assert isinstance(translated(error, "hbase://h:1", None, "getRows"), StoreError)

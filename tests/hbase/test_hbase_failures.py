"""Each exception of the driver, and of the gateways' own IDL, becomes an error of the store."""

from __future__ import annotations

import importlib
import pkgutil
import socket
import ssl
import time

import pytest
import thriftpy2
from gateways import HOST, RowsThrift1, RowsThrift2, put, thrift_server
from thriftpy2.parser.exc import ThriftParserError
from thriftpy2.thrift import TDecodeException, TType

from webtable.errors import StoreError, StoreRefused, StoreUnavailable
from webtable.store import Wanted
from webtable.store.deadline import Deadline, until
from webtable.store.hbase import HBaseStore
from webtable.store.hbase.thrift.connection import CheckedClient, Unsendable, thrift1, thrift2
from webtable.store.hbase.thrift.gateway import DRIVER_ERRORS, translated

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


# --- what HBase says, from the lists of hbase-client and hbase-server 2.6.1 -------------------------------------------

PASSING = [
    "org.apache.hadoop.hbase.CallDroppedException",
    "org.apache.hadoop.hbase.CallQueueTooBigException",
    "org.apache.hadoop.hbase.DroppedSnapshotException",
    "org.apache.hadoop.hbase.MasterNotRunningException",
    "org.apache.hadoop.hbase.NotServingRegionException",
    "org.apache.hadoop.hbase.PleaseHoldException",
    "org.apache.hadoop.hbase.PleaseRestartMasterException",
    "org.apache.hadoop.hbase.RegionException",
    "org.apache.hadoop.hbase.RegionTooBusyException",
    "org.apache.hadoop.hbase.RetryImmediatelyException",
    "org.apache.hadoop.hbase.YouAreDeadException",
    "org.apache.hadoop.hbase.ZooKeeperConnectionException",
    "org.apache.hadoop.hbase.client.ConnectionImplementation$LocalConnectionClosedException",
    "org.apache.hadoop.hbase.client.NoServerForRegionException",
    "org.apache.hadoop.hbase.client.OperationTimeoutExceededException",
    "org.apache.hadoop.hbase.client.RegionOfflineException",
    "org.apache.hadoop.hbase.exceptions.ConnectionClosedException",
    "org.apache.hadoop.hbase.exceptions.ConnectionClosingException",
    "org.apache.hadoop.hbase.exceptions.MasterRegistryFetchException",
    "org.apache.hadoop.hbase.exceptions.MasterStoppedException",
    "org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException",
    "org.apache.hadoop.hbase.exceptions.PreemptiveFastFailException",
    "org.apache.hadoop.hbase.exceptions.RegionInTransitionException",
    "org.apache.hadoop.hbase.exceptions.RegionMovedException",
    "org.apache.hadoop.hbase.exceptions.RegionOpeningException",
    "org.apache.hadoop.hbase.exceptions.ScannerResetException",
    "org.apache.hadoop.hbase.exceptions.TimeoutIOException",
    "org.apache.hadoop.hbase.ipc.CallTimeoutException",
    "org.apache.hadoop.hbase.ipc.FailedServerException",
    "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException",
    "org.apache.hadoop.hbase.ipc.ServerTooBusyException",
    "org.apache.hadoop.hbase.ipc.StoppedRpcClientException",
    "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
    "org.apache.hadoop.hbase.quotas.ThrottlingException",
    "org.apache.hadoop.hbase.regionserver.LeaseException",
    "org.apache.hadoop.hbase.regionserver.RegionServerAbortedException",
    "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException",
    "org.apache.hadoop.hbase.regionserver.WrongRegionException",
    "org.apache.hadoop.hbase.security.visibility.VisibilityControllerNotReadyException",
    "org.apache.hadoop.hbase.UnknownScannerException",
    "java.net.ConnectException",
    "java.net.SocketTimeoutException",
]
REFUSALS = [
    "org.apache.hadoop.hbase.DoNotRetryIOException",
    "org.apache.hadoop.hbase.InvalidFamilyOperationException",
    "org.apache.hadoop.hbase.NamespaceExistException",
    "org.apache.hadoop.hbase.NamespaceNotFoundException",
    "org.apache.hadoop.hbase.TableExistsException",
    "org.apache.hadoop.hbase.TableNotDisabledException",
    "org.apache.hadoop.hbase.TableNotEnabledException",
    "org.apache.hadoop.hbase.UnknownRegionException",
    "org.apache.hadoop.hbase.client.DoNotRetryRegionException",
    "org.apache.hadoop.hbase.client.RowTooBigException",
    "org.apache.hadoop.hbase.constraint.ConstraintException",
    "org.apache.hadoop.hbase.coprocessor.CoprocessorException",
    "org.apache.hadoop.hbase.exceptions.FailedSanityCheckException",
    "org.apache.hadoop.hbase.exceptions.RequestTooBigException",
    "org.apache.hadoop.hbase.exceptions.UnknownProtocolException",
    "org.apache.hadoop.hbase.io.hfile.CorruptHFileException",
    "org.apache.hadoop.hbase.ipc.BadAuthException",
    "org.apache.hadoop.hbase.ipc.FatalConnectionException",
    "org.apache.hadoop.hbase.ipc.WrongVersionException",
    "org.apache.hadoop.hbase.quotas.QuotaExceededException",
    "org.apache.hadoop.hbase.quotas.SpaceLimitingException",
    "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
    "org.apache.hadoop.hbase.security.AccessDeniedException",
    "org.apache.hadoop.hbase.snapshot.HBaseSnapshotException",
]
FRAMES = "\n\tat org.apache.hadoop.hbase.regionserver.HRegion.{}(HRegion.java:5012)\n\t... 12 more"


def error_of(text: str, *, can_retry: bool = False) -> StoreError:
    return translated(thrift2.TIOError(message=text, canRetry=can_retry), "hbase://h:1", "pages", "getRows")


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_worth_another_attempt(name):
    assert isinstance(error_of(f"{name}: not now{FRAMES.format('checkFamily')}"), StoreUnavailable)
    assert isinstance(error_of(f"Failed 1 action: {name.rpartition('.')[2]}: 1 time, servers"), StoreUnavailable)
    wrapped = (
        f"org.apache.hadoop.hbase.client.RetriesExhaustedException: Failed after attempts=3\nCaused by: {name}: no"
    )
    assert isinstance(error_of(wrapped), StoreUnavailable)
    assert isinstance(translated(thrift1.IOError(message=name.encode()), "h", "pages", "getRows"), StoreUnavailable)


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_stays_refused_whatever_passes_beside_it(name):
    assert isinstance(error_of(f"{name}: no"), StoreRefused)
    assert isinstance(error_of(f"{name}: no; RegionTooBusyException"), StoreRefused)
    # A batch says that it can be repeated, whatever happened to its rows.
    several = f"Failed 2 actions: {name.rpartition('.')[2]}: 1 time, NotServingRegionException: 1 time"
    assert isinstance(error_of(several, can_retry=True), StoreRefused)
    assert isinstance(translated(thrift1.IOError(message=name.encode()), "h", "pages", "getRows"), StoreRefused)


def test_the_methods_that_an_error_came_through_do_not_make_it_something_else():
    passes = "java.io.IOException: x\nCaused by: org.a.RegionTooBusyException: Over memstore limit"

    assert isinstance(error_of("org.a.SomeException: no" + FRAMES.format("onRegionTooBusyException")), StoreRefused)
    assert isinstance(error_of(passes + FRAMES.format("rethrowAccessDeniedException")), StoreUnavailable)


def test_an_error_that_nobody_knows_goes_by_what_it_says_of_itself():
    assert isinstance(error_of("org.a.NewException: x", can_retry=True), StoreUnavailable)
    assert isinstance(error_of("org.a.NewException: x", can_retry=False), StoreRefused)


class Busy:
    """Answers the first calls of each of *methods* with an error, and counts them."""

    def __init__(self, handler: object, error: Exception, times: int, *methods: str) -> None:
        self.calls = 0
        for method in methods:
            setattr(handler, method, self._failing(getattr(handler, method), error, times))

    def _failing(self, told, error, times):
        left = [error] * times

        def answer(*arguments):
            self.calls += 1
            if left:
                raise left.pop()
            return told(*arguments)

        return answer


@pytest.fixture
def faked(servers, with_thrift2):
    """A store, the gateway that it asks, and an error of that one with a text."""
    handlers = RowsThrift1(pages=[b"a", b"b"]), RowsThrift2(pages=[b"a", b"b"])
    servers.append(thrift_server(thrift1.Hbase, handlers[0]))
    servers.append(thrift_server(thrift2.THBaseService, handlers[1]))
    kind = thrift2.TIOError if with_thrift2 else thrift1.IOError
    with HBaseStore(HOST, servers[0].port, thrift2=servers[1].port if with_thrift2 else None, timeout=10.0) as store:
        yield store, handlers[with_thrift2], lambda text: kind(message=text.encode())


READS = "getMultiple", "getRowsWithColumnsTs"
VERSIONS = Wanted(versions=2)
"""What Thrift2 reads where it is there."""


@pytest.mark.parametrize("name", ["RegionTooBusy", "NotServingRegion", "RegionMoved", "CallDropped"])
def test_a_region_that_moves_or_is_full_is_waited_out(faked, name):
    store, handler, error = faked
    methods = [method for method in (*READS, "mutateRowsTs") if hasattr(handler, method)]
    busy = Busy(handler, error(f"org.apache.hadoop.hbase.{name}Exception: not now"), 3, *methods)

    outcomes = store.write("pages", [put(b"a")])
    found = store.read("pages", [b"a"], VERSIONS)

    assert outcomes == [None]
    assert [row.key for row in found] == [b"a"]
    assert busy.calls == 4 * len(methods)


def test_a_region_that_stays_full_ends_with_the_deadline_and_its_reason(faked):
    store, handler, error = faked
    methods = [method for method in READS if hasattr(handler, method)]
    Busy(handler, error("org.apache.hadoop.hbase.RegionTooBusyException: Over memstore limit=512 MB"), 9999, *methods)

    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="RegionTooBusyException: Over memstore limit"), until(Deadline(0.5)):
        store.read("pages", [b"a"], VERSIONS)

    assert time.monotonic() - began < 5


def test_a_refusal_is_told_at_once(faked):
    store, handler, error = faked
    text = "org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions; RegionTooBusyException"
    busy = Busy(handler, error(text), 9999, *[method for method in READS if hasattr(handler, method)])

    with pytest.raises(StoreRefused, match="AccessDeniedException: Insufficient permissions"):
        store.read("pages", [b"a"], VERSIONS)

    assert busy.calls == 1


def test_the_rows_of_a_batch_that_only_came_too_early_are_stored_beside_those_that_are_refused(servers):
    class Batches(RowsThrift1):
        """Refuses the row `bad`; the region of `busy` is full at first."""

        early = 2

        def mutateRowsTs(self, table, puts, *_):
            reasons = [b"ConstraintException: 1 time"] * any(one.row == b"bad" for one in puts)
            if self.early and any(one.row == b"busy" for one in puts):
                self.early -= 1
                reasons.append(b"RegionTooBusyException: 1 time")
            if reasons:
                raise thrift1.IOError(message=b"Failed actions: " + b", ".join(reasons))

    servers.append(thrift_server(thrift1.Hbase, Batches(pages=[])))
    with HBaseStore(HOST, servers[0].port, timeout=10.0) as store:
        first, bad, last, busy = store.write("pages", [put(b"a"), put(b"bad"), put(b"c"), put(b"busy")])

    assert (first, last, busy) == (None, None, None)
    assert isinstance(bad, StoreRefused)

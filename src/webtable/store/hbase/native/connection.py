"""A connection to a service of a server: its errors, its bytes, TLS, the calls in flight on it, and Kerberos."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
import ssl
import struct
import threading
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from google.protobuf.message import DecodeError

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidArgument, StoreUnavailable, WebTableError
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.shared.failures import WrongReply, answered, gist, passes, unanswered
from webtable.store.hbase.shared.filters import varint
from webtable.store.hbase.shared.sockets import CONNECT_SECONDS, connected, seconds_until
from webtable.store.metrics import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.message import Message

    from webtable.store.deadline import Deadline


# --- Errors -----------------------------------------------------------------------------------------------------------
#
# What an exception means is decided by its Java class, whose name is in each answer.


# The region is elsewhere, or its server stops: it is looked up again.
_MOVED: Final = frozenset(
    {
        "NotServingRegionException",
        "RegionMovedException",
        "RegionOpeningException",
        "WrongRegionException",
        "UnknownRegionException",
        "RegionServerStoppedException",
        "RegionServerAbortedException",
        "ServerNotRunningYetException",
        "MasterNotRunningException",
        "MasterStoppedException",
        "PleaseHoldException",
        "YouAreDeadException",
    }
)
_DENIED: Final = frozenset({"AccessControlException", "AccessDeniedException", "InvalidToken", "SaslException"})
_OVERLOADED_PAUSE: Final = 0.5  # hbase.client.pause.server.overloaded
_WAIT: Final = re.compile(r"(?<!\d)(\d{1,10}) ?(hrs|mins|sec|ms)")
_SECONDS: Final = {"hrs": 3600.0, "mins": 60.0, "sec": 1.0, "ms": 0.001}


class ServerError(Exception):
    """An exception that HBase has answered: its Java class, its text, and how long to wait before a retry, in s."""

    def __init__(self, java_class: str | bytes, text: str | bytes, *, overloaded: bool = False) -> None:
        java_class, text = _text(java_class), _text(text)
        super().__init__(f"{java_class}: {text}")
        self.kind: Final = java_class.rpartition(".")[2]
        self.text: Final = text
        self.moved: Final = self.kind in _MOVED
        self.denied: Final = self.kind in _DENIED
        self.passes: Final = self.moved or overloaded or passes(self.kind)
        """Whether the same call may succeed later."""
        self.pause: Final = _pause(text) if self.kind == "RpcThrottlingException" else _OVERLOADED_PAUSE * overloaded


class ConnectionLost(OSError):
    """A connection that cannot be used any longer; calls on it have no answer."""


CALL_ERRORS: Final = (ServerError, OSError)
"""The exceptions of a call: HBase's, and those of the connection (`WrongReply` too)."""


def _text(field: str | bytes) -> str:
    """The text of a message, which protobuf gives as bytes where it is not UTF-8."""
    return field.decode(errors="replace") if isinstance(field, bytes) else field


def _pause(text: str) -> float:
    """The seconds that an exception of quotas asks to wait, as in `wait 1sec, 200ms`."""
    times = _WAIT.findall(text.partition("wait ")[2])
    return sum(int(number) * _SECONDS[unit] for number, unit in times) or _OVERLOADED_PAUSE


def translated(exc: Exception, name: str, table: str | None, call: str, seconds: float = 0.0) -> WebTableError:
    """The error of the store for *exc*, raised by a *call* to *table* on *name*, *seconds* after it began."""
    subject = subject_of(name, table)
    if not isinstance(exc, ServerError):
        return unanswered(exc, subject, call, seconds)
    text = f"{exc.kind}: {exc.text}"
    # Whether a region has moved is known by the class; the text of a gateway says less.
    return StoreUnavailable(f"{subject}: {call}: {gist(text)}") if exc.passes else answered(text, name, table, call)


# --- The bytes of a connection ----------------------------------------------------------------------------------------
#
# They are written and read before a deadline, by one thread each at the same time. What meets its deadline is continued
# by the next call: what has come is kept, and so is what was not sent yet. Python's time limit of a socket is a
# property of the object, not of the connection, so that the reading thread and the writing one have an object each.


_PIECE: Final = 2**18
"""The bytes that are read at once: memory is allocated as they come, not as a length promises them."""
_LEAST_PIECE: Final = 2**14
_CLOSED: Final = "the server has closed the connection"
_NO_ANSWER: Final = "and answered nothing: does it want Kerberos (auth=kerberos), or TLS (hbases+native://)?"


class Wire:
    """A TCP connection to *host* and *port*, made before *deadline*."""

    def __init__(self, host: str, port: int, deadline: Deadline) -> None:
        self._reader = connected(host, port, deadline.within(CONNECT_SECONDS))
        self._writer = self._reader.dup()
        self._layers: list[TLS | _Protection] = []  # the one next to the socket first
        self._unsent: list[memoryview] = []
        self._pieces: list[bytes] = []  # what has come and was not asked for yet, or belongs to something incomplete
        self._received = 0
        self.heard: float = clock.monotonic()
        """When something has come last."""
        self._made = self.heard

    def protect(self, layer: TLS | _Protection) -> None:
        """Pass through *layer* all that is written from now on, and all that was not read yet."""
        early = b"".join(self._pieces)
        self._layers.append(layer)
        self._pieces = [layer.decoded(early)]
        self._received = len(self._pieces[0])

    def write(self, data: bytes, deadline: Deadline, more: bytes = b"") -> None:
        """Send all of *data* and *more*; after a `TimeoutError` the next call sends the rest."""
        for part in filter(None, (data, more)):
            for layer in reversed(self._layers):
                part = layer.encoded(part)
            self._unsent.append(memoryview(part))
        self.flush(deadline)

    def flush(self, deadline: Deadline) -> None:
        """Send what was written before a deadline and not sent."""
        while self._unsent:
            # A server takes some bytes within this time, or none at all any longer.
            soon = deadline.within(_QUIET_SECONDS + _PROBE_SECONDS)
            self._writer.settimeout(seconds_until(soon))
            try:
                sent = self._writer.send(self._unsent[0])
            except TimeoutError:
                if deadline.left():
                    raise ConnectionLost("the server takes nothing any longer") from None
                raise
            rest = self._unsent[0][sent:]
            self._unsent[:1] = [rest] if rest else []

    @property
    def has_answered(self) -> bool:
        """Whether anything has come."""
        return self.heard > self._made

    def more(self, deadline: Deadline, wanted: int) -> None:
        """Wait for the next bytes, about *wanted*."""
        data = self.receive(deadline, wanted)
        for layer in self._layers:
            data = layer.decoded(data)
        self._pieces.append(data)
        self._received += len(data)

    def pending(self) -> bytes:
        """What has come and was not read yet."""
        if len(self._pieces) != 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]

    def read(self, size: int, deadline: Deadline) -> bytes:
        """The next *size* bytes; after a `TimeoutError` the call may be repeated."""
        while self._received < size:
            self.more(deadline, size - self._received)
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._received -= size
        self._pieces = [data[size:]] if self._received else []
        return data[:size]

    def receive(self, deadline: Deadline, wanted: int = _PIECE) -> bytes:
        """The next bytes as they come, about *wanted*."""
        self._reader.settimeout(seconds_until(deadline))
        data = self._reader.recv(min(max(wanted, _LEAST_PIECE), _PIECE))
        if not data:
            raise ConnectionLost(_CLOSED if self.has_answered else f"{_CLOSED} {_NO_ANSWER}")
        self.heard = clock.monotonic()
        return data

    def is_open(self) -> bool:
        """Whether the other end has not closed the connection, as far as is known here; nobody may read meanwhile."""
        self._reader.settimeout(0)
        try:
            return bool(self._reader.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def shut(self) -> None:
        """End the connection; threads that read or write get an `OSError`, and it can be closed when they are gone."""
        with contextlib.suppress(OSError):
            self._reader.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, which no thread uses: the next one that is made may have the same descriptor."""
        self.shut()
        self.forget()

    def forget(self) -> None:
        """Close the descriptors of a forked child; the connection stays the parent's."""
        self._reader.close()
        self._writer.close()


class TLS:
    """TLS of *wire* by *context*. Nothing else is sent before the other end has proven that it is *server*."""

    # OpenSSL lets only one thread at a time use a connection, so it gets its bytes from memory, under a lock.

    def __init__(self, wire: Wire, context: ssl.SSLContext, server: str, deadline: Deadline) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server)
        self._lock = threading.Lock()
        deadline = deadline.within(CONNECT_SECONDS)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                wire.write(self._outgoing.read(), deadline)
                self._incoming.write(wire.receive(deadline))
            except ssl.SSLError as exc:
                raise _not_secure(exc) from exc
            else:
                wire.write(self._outgoing.read(), deadline)
                return

    def encoded(self, data: bytes) -> bytes:
        """*data* encrypted."""
        with self._lock:
            self._tls.write(data)
            return self._outgoing.read()

    def decoded(self, data: bytes) -> bytes:
        """What is complete with *data*, the next bytes that have come, decrypted; possibly nothing."""
        parts: list[bytes] = []
        with self._lock:
            self._incoming.write(data)
            try:
                while part := self._tls.read(_PIECE):
                    parts.append(part)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as exc:  # a TLS 1.3 server looks at the client's certificate after the handshake
                raise _not_secure(exc) from exc
            else:
                if not parts:
                    raise ConnectionLost(_CLOSED)
        return b"".join(parts)


def _not_secure(exc: ssl.SSLError) -> ConnectionLost:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return ConnectionLost(f"certificate verify failed: {exc.verify_message}")
    reason = (exc.reason or "no TLS").replace("_", " ").lower()
    if "alert" in reason:
        return ConnectionLost(f"{reason}: the server may want another certificate of the client (cert=FILE)")
    return ConnectionLost(f"{reason}: what answers may not speak TLS")


# --- Calls in flight --------------------------------------------------------------------------------------------------
#
# Several calls are in flight, whose answers come in any order. There is no thread for reading: of the threads that wait
# for answers one reads, for all of them. RPC.proto of HBase describes the form of calls and answers: a length, a
# header, a message, and cells after it.
#
# A connection may fall silent without an end: a firewall has forgotten it, a machine is gone, an answer has lost some
# bytes. So whoever waits in silence sends a call that any server answers at once. If that brings nothing either, the
# connection is over, and its calls are made again on another one, after a look where their regions are now: the server
# may be the one that is silent. HBase skips the calls of connections that are closed.


MOST_BYTES: Final = 2**28
"""The longest answer, 256 MB: a longer one is not a length, or would fill the memory."""
CODEC: Final = "org.apache.hadoop.hbase.codec.KeyValueCodec"
PREAMBLE: Final = b"HBas\x00\x50"
"""The beginning of a connection on which HBase takes the user's name as it is."""
_MOST_CALLS: Final = 2**31 - 1
"""Greater numbers are negative in HBase: what they answer is the connection itself."""
_LENGTH = struct.Struct(">I")
_SILENT_SECONDS: Final = 1.0
"""A call that was not answered for this time leaves a connection on which there are no new ones."""
_QUIET_SECONDS: Final = 2.0
"""After so long without a byte the server is asked whether it is still there."""
_PROBE_SECONDS: Final = 3.0
"""How long its answer may take. Packets that are lost are sent again after 0.2, 0.6, 1.4 and 3 seconds."""
_LEAST_LOOK: Final = 0.1
_PROBES: Final = {"ClientService": "Multi", "MasterService": "IsMasterRunning", "ClientMetaService": "GetActiveMaster"}
"""A method of each service that takes an empty message and does nothing."""
_IDLE_SECONDS: Final = 1.0
"""The seconds without a call after which it is checked whether the server has closed the connection."""
_OTHERS: Final = {
    b"HTTP": "it is an HTTP server, as HBase's own pages are at 16010 and 16030",
    b"\x15\x03": "it speaks TLS, which hbases+native:// does",
}
"""What answers that are none begin with, and what has sent them."""
_NAP: Final = 0.5
"""How long a thread waits for another one at once: an interrupt may keep that one from telling that it is done."""


class RpcAnswer(NamedTuple):
    """The answer to a call: its message, and its cells from `start` to `end` of `data`."""

    message: Any
    data: bytes
    start: int
    end: int


class RpcCall:
    """A call in flight on *connection*."""

    __slots__ = ("connection", "number", "outcome", "response", "sent_at")

    def __init__(self, connection: RpcConnection, number: int, response: type[Message]) -> None:
        self.connection: Final = connection
        self.number: Final = number
        self.response: Final = response
        self.outcome: RpcAnswer | Exception | None = None
        self.sent_at: Final = clock.monotonic()

    def is_over(self) -> bool:
        """Whether the answer has come, or will not come."""
        return self.outcome is not None

    def wait(self, deadline: Deadline) -> RpcAnswer:
        """The answer; see `RpcConnection.wait`."""
        return self.connection.wait(self, deadline)

    def drop(self) -> None:
        """Let nobody wait for the answer."""
        self.connection.drop(self)


class RpcConnection:
    """A connection over *wire* to the *service* of a server, for *user*; without one for whom the wire is logged in.

    An error of the connection ends it, and all calls in flight with a `ConnectionLost`; so does silence. A call that
    meets its deadline ends alone, and after a second of waiting it lets new calls take another connection: its answer
    may be lost. An interrupt of a thread that sends or waits ends the connection, as nobody knows how far it came.
    """

    on_answer: Callable[[], object] | None = None
    """Called once, at the first answer."""
    on_lost: Callable[[RpcConnection, Exception], object] | None = None
    """Called once, with the reason, when calls have lost the connection."""

    def __init__(self, wire: Wire, service: str, user: str, deadline: Deadline, preamble: bytes = PREAMBLE) -> None:
        self._wire = wire
        self._probe_method = _PROBES.get(service)
        self._probe: RpcCall | None = None
        header = pb.ConnectionHeader(service_name=service, cell_block_codec_class=CODEC)
        if user:
            header.user_info.effective_user = user
        # HBase decides by the version which features a client has; those of 2.x are what is spoken here.
        version = header.version_info
        version.version, version.url, version.revision, version.user, version.date = "2.6.1", "", "", "", ""
        version.src_checksum, version.version_major, version.version_minor = "", 2, 6
        data = header.SerializeToString()
        wire.write(preamble + _LENGTH.pack(len(data)) + data, deadline)
        self._numbers = itertools.count(1)
        self._calls: dict[int, RpcCall] = {}
        self._unawaited: set[int] = set()  # calls in flight for whose answers nobody waits
        self._has_answered = self._is_lost = False
        self._size: int | None = None
        self._dead: Exception | None = None
        # Whether a call had no answer in time: those in flight may still be answered, and there are no new ones.
        self._is_hung = False
        self._called = self._looked = wire.heard
        self.after_fork(alive=True)
        renew_after_fork(self)

    def after_fork(self, *, alive: bool = False) -> None:
        """End the connection, which is the parent's, unless it is *alive*; with a lock and calls that nobody holds."""
        # An interrupt may come between two lines, but not before a lock of C is known to its `with`.
        self._lock = threading.RLock()
        self._answered, self._writable = threading.Condition(self._lock), threading.Condition(self._lock)
        self._is_read = self._is_written = False
        if not alive:
            self._wire.forget()
            self._is_lost = True
            self._end(ConnectionLost("the connection is the parent's"))

    @property
    def is_usable(self) -> bool:
        """Whether calls can be sent; of a connection that nobody has used for a while this looks at the socket."""
        now = clock.monotonic()
        if self._dead is not None or self._is_hung:
            return False
        if self._calls or now - max(self._wire.heard, self._looked) < _IDLE_SECONDS:
            return True
        with self._lock:
            if not (self._calls or self._is_read):  # no other thread is about to read
                self._looked = now
                if not self._wire.is_open():
                    self._end(ConnectionLost("the server has closed the connection"))
            return self._dead is None

    @property
    def is_alive(self) -> bool:
        """Whether the connection has not ended, as far as is known without a look, and takes new calls."""
        return self._dead is None and not self._is_hung

    @property
    def has_answered(self) -> bool:
        """Whether any call was answered."""
        return self._has_answered

    @property
    def in_flight(self) -> int:
        """How many calls have no answer yet."""
        return len(self._calls)

    def send(
        self, method: str, request: Message, response: type[Message], deadline: Deadline, cells: bytes = b""
    ) -> RpcCall:
        """Send a call, whose answer `wait` returns."""
        call = RpcCall(self, next(self._numbers), response)
        header = pb.RequestHeader(call_id=call.number, method_name=method, request_param=True)
        header.timeout = max(1, int(deadline.left() * 1000))
        if cells:
            header.cell_block_meta.length = len(cells)
        head, param = header.SerializeToString(), request.SerializeToString()
        start = varint(len(head)) + head + varint(len(param)) + param
        with self._lock:
            self._check_alive()
            self._calls[call.number] = call
            if self._called <= self._wire.heard:
                self._called = call.sent_at
        try:
            self._write(_LENGTH.pack(len(start) + len(cells)) + start, cells, deadline)
        except TimeoutError:
            self._give_up(call)
        except BaseException as exc:  # half a call may have been sent, also after an interrupt
            self._end(exc if isinstance(exc, OSError) else ConnectionLost(f"interrupted by {type(exc).__name__}"))
            raise
        return call

    def wait(self, call: RpcCall, deadline: Deadline) -> RpcAnswer:
        """The answer to *call*; raises `ServerError` if HBase refuses it, `OSError` if there is none."""
        try:
            while not call.is_over():
                self._wait(call, deadline)
        except Exception:
            self.drop(call)
            raise
        except BaseException as exc:  # what was read may be lost, for another thread as well
            self._end(ConnectionLost(f"interrupted by {type(exc).__name__}"))
            raise
        if isinstance(call.outcome, RpcAnswer):
            return call.outcome
        raise call.outcome or ConnectionLost("there is no answer")

    def drop(self, call: RpcCall) -> None:
        """Forget *call*: its answer is not wanted."""
        with self._lock:
            if self._calls.pop(call.number, None) is not None:
                self._unawaited.add(call.number)
            self._end_unused()

    def close(self) -> None:
        """End the connection and all calls in flight."""
        self._is_lost = True  # and nobody else's doing
        self._end(ConnectionLost("the connection was closed"))

    def _write(self, data: bytes, cells: bytes, deadline: Deadline) -> None:
        """Send both when the other threads have sent theirs, or nothing if that takes too long."""
        mine = False
        try:
            with self._lock:
                while self._is_written and self._dead is None:
                    self._writable.wait(min(seconds_until(deadline), _NAP))
                self._check_alive()
                self._is_written = mine = True
            self._wire.flush(deadline)
            seconds_until(deadline)
            self._wire.write(data, deadline, cells)
        finally:
            if mine:
                with self._lock:
                    self._is_written = False
                    self._close_unused()
                    self._writable.notify()

    def _wait(self, call: RpcCall, deadline: Deadline) -> None:
        """Wait until *call* is over, or until this thread has read what it was."""
        mine = False
        try:
            with self._lock:
                while self._is_read and not call.is_over():
                    if not deadline.left():
                        self._give_up(call)
                    self._answered.wait(min(deadline.left(), _NAP))
                if call.is_over():
                    return
                self._check_alive()
                self._is_read = mine = True
            self._read_until(call, deadline)
        finally:
            if mine:
                with self._lock:
                    self._is_read = False
                    self._close_unused()
                    self._answered.notify_all()

    def _check_alive(self) -> None:
        if self._dead is not None:
            raise ConnectionLost(str(self._dead)) from self._dead

    def _give_up(self, call: RpcCall) -> NoReturn:
        with self._lock:
            late = clock.monotonic() - _SILENT_SECONDS
            comes = self._size is not None and self._wire.heard > late  # a large answer, before that of the call
            if self._wire.heard < self._called < late or (call.sent_at < late and not comes):
                self._is_hung = True
            self.drop(call)
            is_hung = self._is_hung
        if is_hung:
            self._tell_lost(TimeoutError("a call was not answered in time"))
        raise TimeoutError

    def _read_until(self, call: RpcCall, deadline: Deadline) -> None:
        while not call.is_over():
            try:
                number, outcome = self._read(self._until_look(deadline))
            except TimeoutError:
                if not deadline.left():
                    self._give_up(call)
                self._look(deadline)
                continue
            except OSError as exc:
                self._end(exc)
                continue
            if number > _MOST_CALLS and isinstance(outcome, ServerError):  # who the connection is from is refused
                self._end(outcome)
                continue
            with self._lock:
                answered = self._calls.pop(number, None)
                if answered is not None:
                    answered.outcome = outcome
                    if answered is not call:
                        self._answered.notify_all()
                    self._end_unused()
                elif number in self._unawaited:
                    self._unawaited.remove(number)
                else:
                    self._end(WrongReply(f"an answer to call {number}, which was not made"))
            if not self._has_answered:
                self._has_answered = True
                if self.on_answer is not None:
                    self.on_answer()

    def _until_look(self, deadline: Deadline) -> Deadline:
        """The time at which the connection will have been quiet for too long, or *deadline*."""
        if self._probe_method is None:
            return deadline
        if self._probe is None or self._probe.is_over():
            quiet_at = max(self._wire.heard, self._called) + _QUIET_SECONDS
        else:
            quiet_at = max(self._wire.heard, self._probe.sent_at) + _PROBE_SECONDS
        return deadline.within(max(quiet_at - clock.monotonic(), _LEAST_LOOK))

    def _look(self, deadline: Deadline) -> None:
        """Ask whether the server is still there; without an answer to that, end the connection."""
        if self._probe_method is None or self._is_written:  # a thread that sends sees by itself whether that goes on
            return
        try:
            if self._probe is None or self._probe.is_over():
                message = pb.EmptyMsg
                self._probe = self.send(self._probe_method, message(), message, deadline.within(_PROBE_SECONDS))
            elif clock.monotonic() - max(self._wire.heard, self._probe.sent_at) >= _PROBE_SECONDS:
                raise TimeoutError
        except TimeoutError:
            self._end(ConnectionLost("the connection has fallen silent"))
        except OSError:
            pass  # which has ended it

    def _tell_lost(self, error: Exception) -> None:
        if not self._is_lost:
            self._is_lost = True
            if self.on_lost is not None:
                self.on_lost(self, error)

    def _read(self, deadline: Deadline) -> tuple[int, RpcAnswer | Exception]:
        """The number of the next answer, and the answer."""
        if self._size is None:
            self._size = self._next_size(deadline)
            self._wire.read(4, deadline)
        data = self._wire.read(self._size, deadline)
        self._size = None
        return decoded(data, self._response_of)

    def _next_size(self, deadline: Deadline) -> int:
        """The length of the next answer, which comes after it; raises `WrongReply` if it can be none."""
        while True:
            begun, missing = self._wire.pending(), 4
            if len(begun) >= 4:
                (size,) = _LENGTH.unpack_from(begun)
                if not 0 < size <= MOST_BYTES:
                    what = next((name for start, name in _OTHERS.items() if begun.startswith(start)), "")
                    raise WrongReply(what or f"an answer of {size:,} bytes; up to {MOST_BYTES:,} are read")
                missing = 4 + size - len(begun)
                if missing <= 0 or begins_well(begun, 4, 4 + size):
                    return int(size)
            self._wire.more(deadline, missing)

    def _response_of(self, number: int) -> type[Message] | None:
        call = self._calls.get(number)
        return None if call is None else call.response

    def _end_unused(self) -> None:
        """End the connection if there are no new calls on it, and no others."""
        if self._is_hung and all(call is self._probe for call in self._calls.values()):
            self._end(ConnectionLost("the server does not answer"))

    def _end(self, error: Exception) -> None:
        is_lost = self._dead is None and bool(self._calls)
        with self._lock:
            if self._dead is None:
                self._dead = error
                self._wire.shut()
                self._close_unused()
            for call in self._calls.values():
                kind = WrongReply if isinstance(error, WrongReply) else ConnectionLost
                call.outcome = error if isinstance(error, ServerError) else kind(str(error))
                call.outcome.__cause__ = None if call.outcome is error else error
            self._calls.clear()
            self._answered.notify_all()
            self._writable.notify_all()
        if is_lost:
            self._tell_lost(error)

    def _close_unused(self) -> None:
        if self._dead is not None and not (self._is_read or self._is_written):
            self._wire.close()


def decoded(data: bytes, response_of: Callable[[int], type[Message] | None]) -> tuple[int, RpcAnswer | Exception]:
    """The number of the call that *data* answers, and its answer or HBase's exception.

    *response_of* returns the message of the answer to a number, None if nobody waits for it. Raises `WrongReply` if
    *data* is no answer.
    """
    try:
        at, end = _message(data, 0, len(data))
        header = pb.ResponseHeader.FromString(data[at:end])
        number = header.call_id
        if header.HasField("exception"):
            exc = header.exception
            text = exc.stack_trace or exc.exception_class_name
            return number, ServerError(exc.exception_class_name, text, overloaded=exc.server_overloaded)
        response = response_of(number)
        if response is None:
            return number, WrongReply("an answer that nobody waits for")
        if end == len(data):  # a message without fields that are set may be left out
            return number, RpcAnswer(response(), data, end, end)
        at, end = _message(data, end, len(data))
        message = response.FromString(data[at:end])
    except DecodeError as exc:
        raise WrongReply(f"an answer that is not one of HBase ({exc!s:.200})") from exc
    stop = end + header.cell_block_meta.length
    if stop != len(data):
        raise WrongReply(f"an answer of {len(data):,} bytes says that it has {stop:,}")
    return number, RpcAnswer(message, data, end, stop)


def begins_well(data: bytes, at: int, stop: int) -> bool:
    """Whether *data* has enough of the answer from *at* to *stop* to see that its parts are as long as it together.

    Raises `ConnectionLost` if they are not, and `WrongReply` if they can be none: a damaged length would be waited for
    in vain, and take what comes after it.
    """
    try:
        begin, end = _message(data, at, stop)
        if len(data) < end:
            return end == stop
        header = pb.ResponseHeader.FromString(data[begin:end])
        if end == stop or header.HasField("exception"):
            return True
        _, end = _message(data, end, stop)
    except IndexError:
        return False
    except DecodeError as exc:
        raise WrongReply(f"an answer that is not one of HBase ({exc!s:.200})") from exc
    end += header.cell_block_meta.length
    if end != stop:
        raise ConnectionLost(f"an answer has {end - at:,} bytes by its parts, and {stop - at:,} by its length")
    return True


def _message(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """Where the message after the length at *at* begins and ends; raises `WrongReply` if that is after *stop*.

    Raises `IndexError` if its length has not come whole.
    """
    size = shift = 0
    for place in range(at, min(at + 5, stop)):
        byte = data[place]
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            if place + 1 + size > stop:
                break
            return place + 1, place + 1 + size
        shift += 7
    raise WrongReply("an answer whose parts are longer than it")


# --- Kerberos: who the client is, who the server is, and the protection of all that follows ---------------------------
#
# The mechanism is SASL's GSSAPI (RFC 4752). Before each token of the client there is its length, before each of the
# server's a status too (HBaseSaslRpcClient of HBase).


PRINCIPAL: Final = "hbase/_HOST"
"""The principal of HBase's servers; `_HOST` is the host of each."""
_PREAMBLE: Final = b"HBas\x00\x51"
_INT = struct.Struct(">i")
_SWITCH_TO_SIMPLE: Final = -88
"""In place of a length: the server does not know Kerberos, and asks to go on without."""
_MOST_TOKEN: Final = 2**20
_MOST_WRAPPED: Final = 2**28 + 2**20
_PRIVACY: Final = 4
_LAYERS: Final = {_PRIVACY: b"\xff\xff\xff", 2: b"\xff\xff\xff", 1: bytes(3)}
"""`hbase.rpc.protection` (privacy, integrity, authentication), with the most taken at once, which HBase ignores."""


class Kerberos:
    """Proves by tickets who the client is to servers of the *principal* `service/_HOST@REALM`, and has them prove it.

    Tickets are those of the process, of `kinit` or a keytab in KRB5_CLIENT_KTNAME. Raises `InvalidArgument` if there
    is no package gssapi.
    """

    def __init__(self, principal: str = PRINCIPAL) -> None:
        self._principal = principal
        try:
            self._gssapi: Any = import_module("gssapi")
        except ImportError as exc:
            raise InvalidArgument("store: auth=kerberos needs the package gssapi (pip install gssapi)") from exc

    def log_in(self, wire: Wire, host: str, deadline: Deadline) -> None:
        """Log *wire* to *host* in, and protect it as well as the server offers.

        Waiting for the KDC is not bounded by *deadline*, but by the settings of Kerberos.
        """
        deadline, service = deadline.within(CONNECT_SECONDS), self._principal.replace("_HOST", host)
        with self.told(f"no Kerberos ticket for {service}"):
            context = self._context(service)
            token = context.step()
        wire.write(_PREAMBLE + _framed(token), deadline)
        with self.told(f"{host} has not proven to be {service}"):
            while not context.complete:
                token = context.step(_token(wire, deadline))
                wire.write(_framed(token or b""), deadline)
            offered = context.unwrap(_token(wire, deadline)).message
            layer = next((layer for layer in _LAYERS if len(offered) == 4 and layer & offered[0]), None)
            if layer is None:
                raise WrongReply(f"{host} offers no protection that is known")
            wire.write(_framed(context.wrap(bytes([layer]) + _LAYERS[layer], False).message), deadline)
        if layer != 1:
            wire.protect(_Protection(self, context, layer == _PRIVACY))

    def _context(self, service: str) -> Any:
        gssapi, flags = self._gssapi, self._gssapi.RequirementFlag
        if "@" in service:
            name = gssapi.Name(service, gssapi.NameType.kerberos_principal)
        else:  # the realm is that of the host
            name = gssapi.Name(service.replace("/", "@", 1), gssapi.NameType.hostbased_service)
        wanted = flags.mutual_authentication | flags.integrity | flags.confidentiality
        wanted |= flags.replay_detection | flags.out_of_sequence_detection
        return gssapi.SecurityContext(name=name, mech=gssapi.MechType.kerberos, flags=wanted, usage="initiate")

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Raise errors of Kerberos in the block as a `ConnectionLost` that says *what* it means."""
        try:
            yield
        except self._gssapi.exceptions.GSSError as exc:
            raise ConnectionLost(f"{what}: {exc}") from exc


class _Protection:
    """Signs everything, and with *encrypted* encrypts it too, in pieces with their length before."""

    def __init__(self, kerberos: Kerberos, context: Any, encrypted: bool) -> None:
        self._kerberos, self._context, self._encrypted = kerberos, context, encrypted
        self._lock = threading.Lock()  # a context is for one thread at a time
        self._pending = bytearray()

    def encoded(self, data: bytes) -> bytes:
        """*data* as a protected piece."""
        with self._lock:
            return _framed(self._context.wrap(data, self._encrypted).message)

    def decoded(self, data: bytes) -> bytes:
        """What is complete with *data*; raises `ConnectionLost` if it is not protected as agreed."""
        self._pending += data
        messages: list[bytes] = []
        while len(self._pending) >= 4:
            stop = 4 + _size(self._pending[:4], _MOST_WRAPPED)
            if len(self._pending) < stop:
                break
            with self._lock, self._kerberos.told("a message was changed on its way"):
                piece = self._context.unwrap(bytes(self._pending[4:stop]))
            if self._encrypted and not piece.encrypted:
                raise ConnectionLost("the server has sent something that is not encrypted")
            messages.append(bytes(piece.message))
            del self._pending[:stop]
        return b"".join(messages)


def _framed(token: bytes) -> bytes:
    return _INT.pack(len(token)) + token


def _token(wire: Wire, deadline: Deadline) -> bytes:
    """The server's next token; raises `ServerError` if it refuses, or does not know Kerberos."""
    (status,) = _INT.unpack(wire.read(4, deadline))
    if status:
        kind, text = (_counted(wire, deadline).decode(errors="replace") for _ in range(2))
        raise ServerError(kind, f"the server does not accept the Kerberos ticket: {text}")
    return _counted(wire, deadline)


def _counted(wire: Wire, deadline: Deadline) -> bytes:
    """The next bytes, before which there is their number."""
    return wire.read(_size(wire.read(4, deadline), _MOST_TOKEN), deadline)


def _size(head: bytes | bytearray, limit: int) -> int:
    (size,) = _INT.unpack(head)
    if size == _SWITCH_TO_SIMPLE:
        raise ServerError("SaslException", "the server does not know Kerberos; leave auth=kerberos out for it")
    if not 0 <= size <= limit:
        raise WrongReply(f"a token of Kerberos with {size:,} bytes")
    return int(size)

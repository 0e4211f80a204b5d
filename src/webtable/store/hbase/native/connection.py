"""A connection to one service of one server: several calls in flight, whose answers come in any order.

There is no thread for reading: of the threads that wait for answers one reads, for all of them. RPC.proto of HBase
describes the form of calls and answers: a length, a header, a message, and cells after it.
"""

from __future__ import annotations

import itertools
import struct
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from google.protobuf.message import DecodeError

from webtable._clock import clock
from webtable._process_hooks import renew_after_fork
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.failures import ConnectionLost, ServerError
from webtable.store.hbase.shared.failures import WrongReply
from webtable.store.hbase.shared.filters import varint

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.native.wire import Wire

MOST_BYTES: Final = 2**28
"""The longest answer, 256 MB: a longer one is not a length, or would fill the memory."""
CODEC: Final = "org.apache.hadoop.hbase.codec.KeyValueCodec"
PREAMBLE: Final = b"HBas\x00\x50"
"""The beginning of a connection on which HBase takes the user's name as it is."""
_MOST_CALLS: Final = 2**31 - 1
"""Greater numbers are negative in HBase: what they answer is the connection itself."""
_LENGTH = struct.Struct(">I")
_SILENT_SECONDS: Final = 1.0
"""A server that has sent nothing for this time seems to hang: new calls get another connection."""
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
    """A call in flight."""

    __slots__ = ("found", "number", "response", "sent_at")

    def __init__(self, number: int, response: type[Message]) -> None:
        self.number: Final = number
        self.response: Final = response
        self.found: RpcAnswer | Exception | None = None
        self.sent_at: Final = clock.monotonic()

    def is_over(self) -> bool:
        """Whether the answer has come, or will not come."""
        return self.found is not None


class RpcConnection:
    """A connection over *wire* to the *service* of a server, for *user*; without one for whom the wire is logged in.

    An error of the connection ends it, and all calls in flight with a `ConnectionLost`. A call that meets its deadline
    ends alone; an interrupt of a thread that sends or waits ends the connection, as nobody knows how far it came.
    """

    def __init__(self, wire: Wire, service: str, user: str, deadline: Deadline, preamble: bytes = PREAMBLE) -> None:
        self._wire = wire
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
        self._size: int | None = None
        self._dead: Exception | None = None
        self._is_left = False
        """Whether the server seems to hang: calls in flight may still be answered, and there are no new ones."""
        self._asked = self._looked = wire.heard
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
            self._end(ConnectionLost("the connection is the parent's"))

    @property
    def is_usable(self) -> bool:
        """Whether calls can be sent; of a connection that nobody has used for a while this looks at the socket."""
        now = clock.monotonic()
        if self._dead is not None or self._is_left:
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
        """Whether the connection has not ended, as far as is known without a look."""
        return self._dead is None

    @property
    def in_flight(self) -> int:
        """How many calls have no answer yet."""
        return len(self._calls)

    def send(
        self, method: str, request: Message, response: type[Message], deadline: Deadline, cells: bytes = b""
    ) -> RpcCall:
        """Send a call, whose answer `wait` returns."""
        call = RpcCall(next(self._numbers), response)
        header = pb.RequestHeader(call_id=call.number, method_name=method, request_param=True)
        header.timeout = max(1, int(deadline.left() * 1000))
        if cells:
            header.cell_block_meta.length = len(cells)
        head, param = header.SerializeToString(), request.SerializeToString()
        start = varint(len(head)) + head + varint(len(param)) + param
        with self._lock:
            self._check_alive()
            self._calls[call.number] = call
            if self._asked <= self._wire.heard:
                self._asked = call.sent_at
        try:
            self._write(_LENGTH.pack(len(start) + len(cells)) + start, cells, deadline)
        except TimeoutError:
            self._give_up(call)
        except BaseException as exc:  # half a call may have been sent, also after an interrupt
            self._end(exc if isinstance(exc, OSError) else ConnectionLost(f"interrupted by {type(exc).__name__}"))
            raise
        return call

    def wait(self, call: RpcCall, deadline: Deadline) -> RpcAnswer:
        """Return the answer to *call*; raises `ServerError` if HBase refuses it, `OSError` if there is none."""
        try:
            while not call.is_over():
                self._wait(call, deadline)
        except Exception:
            self.drop(call)
            raise
        except BaseException as exc:  # what was read may be lost, for another thread as well
            self._end(ConnectionLost(f"interrupted by {type(exc).__name__}"))
            raise
        if isinstance(call.found, RpcAnswer):
            return call.found
        raise call.found or ConnectionLost("there is no answer")

    def drop(self, call: RpcCall) -> None:
        """Forget *call*: its answer is not wanted."""
        with self._lock:
            self._calls.pop(call.number, None)
            if self._is_left and not self._calls:
                self._end(ConnectionLost("the server does not answer"))

    def close(self) -> None:
        """End the connection and all calls in flight."""
        self._end(ConnectionLost("the connection was closed"))

    def _write(self, data: bytes, cells: bytes, deadline: Deadline) -> None:
        """Send both when the other threads have sent theirs, or nothing if that takes too long."""
        mine = False
        try:
            with self._lock:
                while self._is_written and self._dead is None:
                    _check_left(deadline)
                    self._writable.wait(min(deadline.left(), _NAP))
                self._check_alive()
                self._is_written = mine = True
            self._wire.flush(deadline)
            _check_left(deadline)
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
            if self._wire.heard < self._asked < clock.monotonic() - _SILENT_SECONDS:
                self._is_left = True
            self.drop(call)
        raise TimeoutError

    def _read_until(self, call: RpcCall, deadline: Deadline) -> None:
        while not call.is_over():
            try:
                number, found = self._read(deadline)
            except TimeoutError:
                self._give_up(call)
            except OSError as exc:
                self._end(exc)
                continue
            if number > _MOST_CALLS and isinstance(found, ServerError):  # who the connection is from is refused
                self._end(found)
                continue
            with self._lock:
                answered = self._calls.get(number)  # None: nobody waits for it any longer
                if answered is not None:
                    answered.found = found
                    self.drop(answered)
                    if answered is not call:
                        self._answered.notify_all()

    def _read(self, deadline: Deadline) -> tuple[int, RpcAnswer | Exception]:
        """Return the number of the next answer, and the answer."""
        if self._size is None:
            head = self._wire.read(4, deadline)
            (size,) = _LENGTH.unpack(head)
            if not 0 < size <= MOST_BYTES:
                what = next((name for start, name in _OTHERS.items() if head.startswith(start)), "")
                raise WrongReply(what or f"an answer of {size:,} bytes; up to {MOST_BYTES:,} are read")
            self._size = size
        data = self._wire.read(self._size, deadline)
        self._size = None
        return decoded(data, self._response_of)

    def _response_of(self, number: int) -> type[Message] | None:
        call = self._calls.get(number)
        return None if call is None else call.response

    def _end(self, error: Exception) -> None:
        with self._lock:
            if self._dead is None:
                self._dead = error
                self._wire.shut()
                self._close_unused()
            for call in self._calls.values():
                kind = WrongReply if isinstance(error, WrongReply) else ConnectionLost
                call.found = error if isinstance(error, ServerError) else kind(str(error))
                call.found.__cause__ = None if call.found is error else error
            self._calls.clear()
            self._answered.notify_all()
            self._writable.notify_all()

    def _close_unused(self) -> None:
        if self._dead is not None and not (self._is_read or self._is_written):
            self._wire.close()


def _check_left(deadline: Deadline) -> None:
    if not deadline.left():
        raise TimeoutError


def decoded(data: bytes, response_of: Callable[[int], type[Message] | None]) -> tuple[int, RpcAnswer | Exception]:
    """Return the number of the call that *data* answers, and its answer or HBase's exception.

    *response_of* returns the message of the answer to a number, None if nobody waits for it. Raises `WrongReply` if
    *data* is no answer.
    """
    try:
        at, end = _message(data, 0)
        header = pb.ResponseHeader.FromString(data[at:end])
        number = header.call_id
        if header.HasField("exception"):
            found = header.exception
            text = found.stack_trace or found.exception_class_name
            return number, ServerError(found.exception_class_name, text, overloaded=found.server_overloaded)
        response = response_of(number)
        if response is None:
            return number, WrongReply("an answer that nobody waits for")
        if end == len(data):  # a message without fields that are set may be left out
            return number, RpcAnswer(response(), data, end, end)
        at, end = _message(data, end)
        message = response.FromString(data[at:end])
    except DecodeError as exc:
        raise WrongReply(f"an answer that is not one of HBase ({exc!s:.200})") from exc
    stop = end + header.cell_block_meta.length
    if stop != len(data):
        raise WrongReply(f"an answer of {len(data):,} bytes says that it has {stop:,}")
    return number, RpcAnswer(message, data, end, stop)


def _message(data: bytes, at: int) -> tuple[int, int]:
    """Return where the message after the length at *at* begins and ends."""
    size = shift = 0
    for place in range(at, min(at + 5, len(data))):
        byte = data[place]
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            if place + 1 + size > len(data):
                break
            return place + 1, place + 1 + size
        shift += 7
    raise WrongReply("an answer whose parts are longer than it")

"""Answers to calls, as HBase writes them: a header, a message, and cells (RPC.proto)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.message import DecodeError

from webtable.store.hbase.failures import WrongReply
from webtable.store.hbase.native import hbase_pb2 as pb
from webtable.store.hbase.native.failures import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message


class RpcAnswer(NamedTuple):
    """The answer to a call: its message, and its cells from `start` to `end` of `data`."""

    message: Any
    data: bytes
    start: int
    end: int


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

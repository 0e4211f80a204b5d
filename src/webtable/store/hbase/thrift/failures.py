"""Translation of the driver's exceptions to errors of the store."""

from __future__ import annotations

from typing import Final

from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TTransportException

from webtable.errors import CapabilityError, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.store.hbase.shared.failures import answered
from webtable.store.hbase.thrift.connection import NotServed, Unsendable, thrift1, thrift2
from webtable.store.hbase.thrift.http import NoHeaders, WrongStatus
from webtable.store.metrics import subject_of

DRIVER_ERRORS: Final = (OSError, EOFError, TException, Unsendable)
"""The exceptions of a call on a connection: those of sockets, of Thrift, and of the gateway's IDL."""

_DECLARED: Final = (
    thrift1.IOError,
    thrift1.IllegalArgument,
    thrift1.AlreadyExists,
    thrift2.TIOError,
    thrift2.TIllegalArgument,
)


def is_answer(exc: Exception) -> bool:
    """Whether *exc* was an answer, or came before anything was sent, so that other connections may be fine."""
    return isinstance(exc, (*_DECLARED, TApplicationException, Unsendable)) or is_declined(exc)


def is_declined(exc: Exception) -> bool:
    """Whether *exc* is an HTTP status, or a lack of headers, that would be the same for another attempt."""
    return isinstance(exc, NoHeaders) or (isinstance(exc, WrongStatus) and not exc.passes)


def is_unanswered(error: Exception) -> bool:
    """Whether *error*, of the store, came from a call that a gateway accepted but did not answer in time."""
    return isinstance(error.__cause__, TimeoutError) and not isinstance(error.__cause__, NotServed)


def translated(
    exc: Exception, name: str, table: str | None, call: str, seconds: float = 0.0
) -> StoreError | TableNotFound:
    """Return the error of the store for *exc*, raised by a call to *table* on *name*, *seconds* after it began."""
    subject = subject_of(name, table)
    if isinstance(exc, _DECLARED):
        return answered(
            _text(exc.message),
            name,
            table,
            call,
            can_retry=bool(getattr(exc, "canRetry", False)),
            exists=isinstance(exc, thrift1.AlreadyExists),
        )
    if isinstance(exc, TApplicationException):
        if exc.type == TApplicationException.UNKNOWN_METHOD:
            return CapabilityError(f"{subject}: the gateway has no {call}; it is from HBase 1.x or no gateway of HBase")
        return StoreRefused(f"{subject}: {call}: {_text(exc.message) or 'the gateway gave no result'}")
    if isinstance(exc, Unsendable) or is_declined(exc):
        return StoreRefused(f"{subject}: {call}: {exc}")
    if isinstance(exc, NotServed):
        return StoreUnavailable(f"{subject}: {call}: no answer within {seconds:.1f} s: {exc}")
    if isinstance(exc, TimeoutError):
        text = str(exc) if exc.args not in ((), ("timed out",)) else f"no answer within {seconds:.1f} s"
        return StoreUnavailable(f"{subject}: {call}: {text}")
    if isinstance(exc, TTransportException):
        return StoreUnavailable(f"{subject}: {call}: {_text(exc.message)}")
    return StoreUnavailable(f"{subject}: {call}: {exc}")


def _text(message: object) -> str:
    return message.decode(errors="replace") if isinstance(message, bytes) else str(message or "")

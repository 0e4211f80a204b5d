"""HBase's exceptions as errors of this package, and those of connections as errors of the store.

What an exception means is decided by its Java class, whose name is in each answer.
"""

from __future__ import annotations

import re
from typing import Final

from webtable.errors import StoreError, StoreRefused, StoreUnavailable, TableNotFound, WebTableError
from webtable.store.hbase.shared.failures import answered
from webtable.store.metrics import subject_of

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
_BUSY: Final = frozenset(
    {
        "RegionTooBusyException",
        "CallQueueTooBigException",
        "CallDroppedException",
        "ServerTooBusyException",
        "RpcThrottlingException",
        "RetryImmediatelyException",
        "MultiActionResultTooLarge",
    }
)
SCANNER_LOST: Final = frozenset(
    {"UnknownScannerException", "OutOfOrderScannerNextException", "ScannerResetException", "LeaseException"}
)
_DENIED: Final = frozenset({"AccessControlException", "AccessDeniedException", "InvalidToken", "SaslException"})
_OVERLOADED_PAUSE: Final = 0.5  # hbase.client.pause.server.overloaded
_WAIT: Final = re.compile(r"(\d+) ?(hrs|mins|sec|ms)")
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
        self.busy: Final = self.kind in _BUSY or overloaded
        self.pause: Final = _pause(text) if self.kind == "RpcThrottlingException" else _OVERLOADED_PAUSE * overloaded

    @property
    def passes(self) -> bool:
        """Whether the same call may succeed later."""
        return self.moved or self.busy or self.kind in SCANNER_LOST


class ConnectionLost(OSError):
    """A connection that cannot be used any longer; calls on it have no answer."""


CALL_ERRORS: Final = (ServerError, OSError)
"""The exceptions of a call: HBase's, and those of the connection (`WrongReply` too)."""


def _text(found: str | bytes) -> str:
    """Return the text of a message, which protobuf gives as bytes where it is not UTF-8."""
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def _pause(text: str) -> float:
    """Return the seconds that an exception of quotas asks to wait, as in `wait 1sec, 200ms`."""
    asked = _WAIT.findall(text.partition("wait ")[2])
    return sum(int(number) * _SECONDS[unit] for number, unit in asked) or _OVERLOADED_PAUSE


def translated(exc: Exception, name: str, table: str | None, call: str, seconds: float = 0.0) -> WebTableError:
    """Return the error of the store for *exc*, raised by a *call* to *table* on *name*, *seconds* after it began."""
    subject = subject_of(name, table)
    if isinstance(exc, ServerError):
        if exc.passes:
            return StoreUnavailable(f"{subject}: {call}: {exc.kind}: {_first_line(exc.text)}")
        return _refused(exc, name, table, call)
    if isinstance(exc, TimeoutError):
        return StoreUnavailable(f"{subject}: {call}: {str(exc) or f'no answer within {seconds:.1f} s'}")
    return StoreUnavailable(f"{subject}: {call}: {exc}")


def _refused(exc: ServerError, name: str, table: str | None, call: str) -> StoreError | TableNotFound:
    text = f"{exc.kind}: {exc.text}"
    if exc.kind == "NoSuchColumnFamilyException":
        return StoreRefused(f"{subject_of(name, table)}: {_first_line(exc.text)}")
    return answered(text, name, table, call)


def _first_line(text: str) -> str:
    """Return the message of a stack trace, without the class at its beginning."""
    line = text.partition("\n")[0].strip()
    return re.sub(r"^(?:[\w$]+\.)+[\w$]+(?:Exception|Error|TooLarge)(?::\s*|$)", "", line) or line

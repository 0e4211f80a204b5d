"""Translation of the driver's exceptions and HBase's messages to errors of the store, and the log of gateways.

Lost connections, slow calls and the reactions to them are logged. No data of pages is logged: of row keys only those at
which a scan goes on, and of rejected replies only that they were rejected. Texts from other systems are escaped to one
line.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Final

from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TTransportException

from webtable.errors import CapabilityError, StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.store.hbase.thrift.connection import Unsendable, thrift1, thrift2
from webtable.store.hbase.thrift.gateway_socket import NotServed, WrongReply
from webtable.store.hbase.thrift.http_socket import NoHeaders, WrongStatus
from webtable.store.metrics import log_event, subject_of

if TYPE_CHECKING:
    from webtable.errors import WebTableError

DRIVER_ERRORS: Final = (OSError, EOFError, TException, Unsendable)
"""The exceptions of a call on a connection: those of sockets, of Thrift, and of the gateway's IDL."""

_DECLARED: Final = (
    thrift1.IOError,
    thrift1.IllegalArgument,
    thrift1.AlreadyExists,
    thrift2.TIOError,
    thrift2.TIllegalArgument,
)

# Java exceptions of temporary states: a region moves, splits or is full, a server starts, stops or is too busy.
_PASSING: Final = re.compile(
    "NotServingRegion|RegionTooBusy|RegionMoved|RegionOpening|RegionOffline|RegionInTransition|RegionException|"
    "WrongRegion|NoServerForRegion|RegionServerStopped|RegionServerAborted|YouAreDead|DroppedSnapshot|"
    "ServerNotRunning|ServerTooBusy|FailedServer|PreemptiveFastFail|CallQueueTooBig|CallDropped|CallTimeout|"
    "RetryImmediately|ThrottlingException|VisibilityControllerNotReady|"
    "PleaseHold|PleaseRestartMaster|MasterNotRunning|MasterNotDiscovered|MasterStopped|MasterRegistryFetch|"
    r"SocketTimeout|ConnectException|\bConnection(Clos|Reset|Exc)|LocalConnectionClosed|ZooKeeperConnection|"
    "[Cc]onnection (refused|reset|clos)|StoppedRpcClient|OperationTimeout|TimeoutIOException|InterruptedIO|SafeMode"
)
# A lost scanner, however the client in the gateway reports it: a new scanner helps.
_SCANNER_GONE: Final = re.compile(
    "LeaseException|scanner ID is invalid|UnknownScanner|ScannerReset|OutOfOrderScannerNext"
)
# The subclasses of DoNotRetryIOException in HBase 2.6.1, except those above, which are temporary nevertheless. They are
# matched by name, because a batch says that it can be repeated whatever happened to its rows.
_REFUSING: Final = re.compile(
    r"\b(?:DoNotRetry(?:IO|Region)|NoSuchColumnFamily|InvalidFamilyOperation|FailedSanityCheck|AccessDenied|Constraint|"
    "Coprocessor|CorruptHFile|ConcurrentTableModification|NamespaceExist|NamespaceNotFound|NotAllMetaRegionsOnline|"
    "ReplicationPeerNotFound|TableExists|TableNotDisabled|TableNotEnabled|TableNotFound|UnknownRegion|MergeRegion|"
    "RowTooBig|RequestTooBig|QuotaExceeded|SpaceLimiting|UnknownProtocol|UnknownService|EmptyServiceName|BadAuth|"
    "FatalConnection|UnsupportedCellCodec|UnsupportedCompressionCodec|UnsupportedCrypto|WrongVersion|"
    r"InvalidLabel|LabelAlreadyExists|(?:HBase|Corrupted|Export|Restore|Unknown)Snapshot)Exception\b"
)
_FRAME: Final = re.compile(r"^\s+at .*$", re.MULTILINE)
_EXCEPTION: Final = re.compile(r"^(?:[\w$]+\.)+([\w$]+(?:Exception|Error))(?::\s*|$)")


class TableDisabled(StoreRefused):
    """The table is disabled, which concerns all rows of a batch."""


def is_answer(exc: Exception) -> bool:
    """Whether *exc* was an answer, or came before anything was sent, so that other connections may be fine."""
    return isinstance(exc, (*_DECLARED, TApplicationException, Unsendable)) or is_declined(exc)


def is_declined(exc: Exception) -> bool:
    """Whether *exc* is an HTTP status, or a lack of headers, that would be the same for another attempt."""
    return isinstance(exc, NoHeaders) or (isinstance(exc, WrongStatus) and not exc.passes)


def is_lost(error: Exception) -> bool:
    """Whether *error*, of the store, came from a failed or missing connection, so that another one may work."""
    cause = error.__cause__
    return isinstance(cause, DRIVER_ERRORS) and not is_answer(cause)


def is_unanswered(error: Exception) -> bool:
    """Whether *error*, of the store, came from a call that a gateway accepted but did not answer in time."""
    return isinstance(error.__cause__, TimeoutError) and not isinstance(error.__cause__, NotServed)


def disabled(name: str, table: str) -> TableDisabled:
    """Return the error of a call to *table*, which is disabled, on the store *name*."""
    return TableDisabled(f"{subject_of(name, table)} is disabled; in the HBase shell: enable '{table}'")


def translated(
    exc: Exception, name: str, table: str | None, call: str, seconds: float = 0.0
) -> StoreError | TableNotFound:
    """Return the error of the store for *exc*, raised by a call to *table* on *name*, *seconds* after it began."""
    subject = subject_of(name, table)
    if isinstance(exc, _DECLARED):
        return _declared(exc, name, table, call)
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


def _declared(exc: Any, name: str, table: str | None, call: str) -> StoreError | TableNotFound:
    subject, text = subject_of(name, table), _text(exc.message)
    if table and _says_missing(text, table):
        return TableNotFound(f"{subject} does not exist; create it first")
    if table and _says_disabled(text, table):
        return disabled(name, table)
    family = re.search(r"Column family (\S+) does not exist", text)
    if family:
        return StoreRefused(f"{subject} has no family {family[1]!r}")
    if isinstance(exc, thrift1.AlreadyExists) or "TableExistsException" in text:
        return StoreRefused(f"{subject} exists already")
    if "NamespaceNotFoundException" in text and table:
        return StoreRefused(
            f"{subject}: there is no such namespace; in the HBase shell: create_namespace '{table.partition(':')[0]}'"
        )
    kind = StoreUnavailable if _passes(text, can_retry=bool(getattr(exc, "canRetry", False))) else StoreRefused
    return kind(f"{subject}: {call}: {_gist(text)}")


def _passes(text: str, *, can_retry: bool) -> bool:
    """Whether the same call may succeed later; a refusal is final even if the text also names a temporary state.

    The halves of such a batch are tried separately.
    """
    named = _FRAME.sub("", text)  # the methods of the stack trace say nothing about the error
    if _SCANNER_GONE.search(named):
        return True
    if _REFUSING.search(named):
        return False
    return can_retry or _PASSING.search(named) is not None


def _says_missing(text: str, table: str) -> bool:
    """Whether the message says that the table is missing; that of Thrift2 is only the table's name."""
    short = table.removeprefix("default:")
    return (
        "TableNotFoundException" in text
        or text == short
        or "table does not exist" in text
        or re.match(rf"(?:\S+: )?Failed \d+ actions?: {re.escape(short)}: \d+ times?,", text) is not None
    )


def _says_disabled(text: str, table: str) -> bool:
    """Whether the message says that the table is disabled; that of Thrift2 has no exception name."""
    return (
        re.match(rf"(?:\S*TableNotEnabledException: )*{re.escape(table.removeprefix('default:'))} is disabled", text)
        is not None
    )


def _text(message: object) -> str:
    return message.decode(errors="replace") if isinstance(message, bytes) else str(message or "")


def _gist(text: str) -> str:
    r"""Return the first line of a Java message, with the innermost exception name.

    >>> _gist("org.a.BException: org.a.CException: too large\n\tat org.a.E")
    'CException: too large'
    """
    rest, exception = text.partition("\n")[0].strip(), ""
    while match := _EXCEPTION.match(rest):
        exception, rest = match[1], rest[match.end() :]
    return ": ".join(part for part in (exception, rest) if part)


LOGGER: Final = logging.getLogger("webtable.store.hbase")

_LONGEST: Final = 300  # of the reason, which may quote the answer of a server


def log_gateway_event(
    level: int,
    event: str,
    text: str,
    *,
    gateway: str,
    table: str | None,
    seconds: float,
    error: WebTableError | None = None,
) -> None:
    """Log *event* of *gateway* at *level*, how many *seconds* it took or will take, and why.

    *event*, *gateway*, *table* and *seconds* are fields of the record too. Without a handler for it nothing is done.
    """
    if not LOGGER.isEnabledFor(level):
        return
    reason = "" if error is None else _reason(error, subject_of(gateway, table))
    fields: dict[str, object] = {"gateway": gateway}
    log_event(LOGGER, level, event, text, store=gateway, table=table, seconds=seconds, reason=reason, fields=fields)


def _reason(error: WebTableError, subject: str) -> str:
    if isinstance(error.__cause__, WrongReply):
        return "a reply that was rejected"  # its error may quote it
    return str(error).removeprefix(f"{subject}: ")[:_LONGEST]

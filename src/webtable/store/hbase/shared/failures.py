"""Errors of the store for HBase's messages, the log of its servers and gateways, and retries of calls."""

from __future__ import annotations

import logging
import re
from logging import INFO
from typing import TYPE_CHECKING, Final, TypeVar

from webtable._clock import clock
from webtable.errors import StoreError, StoreRefused, StoreUnavailable, TableNotFound
from webtable.store.deadline import attempts
from webtable.store.metrics import Counts, log_event, subject_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from webtable.errors import WebTableError
    from webtable.store.deadline import Deadline


# Java exceptions of temporary states: a region moves, splits or is full, a server starts, stops or is too busy.
_PASSING: Final = re.compile(
    "NotServingRegion|RegionTooBusy|RegionMoved|RegionOpening|RegionOffline|RegionInTransition|RegionException|"
    "WrongRegion|NoServerForRegion|RegionServerStopped|RegionServerAborted|YouAreDead|DroppedSnapshot|"
    "ServerNotRunning|ServerTooBusy|FailedServer|PreemptiveFastFail|CallQueueTooBig|CallDropped|CallTimeout|"
    "RetryImmediately|MultiActionResultTooLarge|ThrottlingException|VisibilityControllerNotReady|"
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
_FRAME: Final = re.compile(r"^[ \t]+at .*$", re.MULTILINE)
_EXCEPTION: Final = re.compile(r"^(?:[\w$]+\.)*([\w$]+(?:Exception|Error|TooLarge))(?::\s*|$)")


class WrongReply(OSError):
    """A reply that does not belong to the waiting call, or is not a reply at all."""


class TableDisabled(StoreRefused):
    """The table is disabled, which concerns all rows of a batch."""


def disabled(name: str, table: str) -> TableDisabled:
    """The error of a call to *table*, which is disabled, on the store *name*."""
    return TableDisabled(f"{subject_of(name, table)} is disabled; in the HBase shell: enable '{table}'")


def missing(name: str, table: str) -> TableNotFound:
    """The error of a call to *table*, which the store *name* does not have."""
    return TableNotFound(f"{subject_of(name, table)} does not exist; create it first")


def answered(
    text: str, name: str, table: str | None, call: str, *, can_retry: bool = False, exists: bool = False
) -> StoreError | TableNotFound:
    """The error of the store that HBase's message *text* means, the answer to a *call* to *table* on *name*.

    With *can_retry* HBase has declared that the call may be repeated, with *exists* that the table exists already.
    """
    subject = subject_of(name, table)
    if table and _says_missing(text, table):
        return missing(name, table)
    if table and _says_disabled(text, table):
        return disabled(name, table)
    family = re.search(r"Column family (\S+) does not exist", text)
    if family:
        return StoreRefused(f"{subject} has no family {family[1]!r}")
    if exists or "TableExistsException" in text:
        return StoreRefused(f"{subject} exists already")
    if "NamespaceNotFoundException" in text and table:
        return StoreRefused(
            f"{subject}: there is no such namespace; in the HBase shell: create_namespace '{table.partition(':')[0]}'"
        )
    kind = StoreUnavailable if passes(text, can_retry=can_retry) else StoreRefused
    return kind(f"{subject}: {call}: {gist(text)}")


def unanswered(exc: Exception, subject: str, call: str, seconds: float) -> StoreUnavailable:
    """The error about *subject* for a *call* whose connection was lost, or not answered in so many *seconds*."""
    # Neither Python's sockets nor deadlines say more than that the time is over.
    is_bare = isinstance(exc, TimeoutError) and str(exc) in ("", "timed out")
    return StoreUnavailable(f"{subject}: {call}: {f'no answer within {seconds:.1f} s' if is_bare else exc}")


def unknown(error: Exception) -> StoreError:
    """The error for a write that must not be repeated, and failed with *error* after it was sent."""
    return StoreError(f"{error}; whether the row is stored is unknown: read it")


def passes(text: str, *, can_retry: bool = False) -> bool:
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


def gist(text: str) -> str:
    r"""The first line of a Java message, with the innermost exception name.

    >>> gist("org.a.BException: org.a.CException: too large\n\tat org.a.E")
    'CException: too large'
    """
    rest, exception = text.partition("\n")[0].strip(), ""
    while match := _EXCEPTION.match(rest):
        exception, rest = match[1], rest[match.end() :]
    return ": ".join(part for part in (exception, rest) if part)


# --- The log ----------------------------------------------------------------------------------------------------------
#
# Lost connections, slow calls and the reactions to them are logged. No data of pages is logged: of row keys only those
# at which a scan goes on, and of rejected replies only that they were rejected. Texts from other systems are escaped to
# one line.


LOGGER: Final = logging.getLogger("webtable.store.hbase")

_LONGEST: Final = 300  # of the reason, which may quote the answer of a server


class ServerLog:
    """Counts and logs the events of *server*, a gateway or HBase itself, in `events` and as records."""

    def __init__(self, server: str) -> None:
        self.events: Final = Counts()
        self._server = server

    def __call__(
        self,
        level: int,
        event: str,
        text: str,
        table: str | None,
        seconds: float,
        error: WebTableError | None = None,
        *,
        server: str | None = None,
    ) -> None:
        """Count *event*, and log at *level* that it took or will take so many *seconds*, and why.

        *event*, *table*, *seconds* and the server are fields of the record too, *server* where that is one of several.
        Without a handler for it nothing is logged.
        """
        self.events(event)
        server = server or self._server
        reason = "" if error is None else str(error).removeprefix(f"{subject_of(server, table)}: ")[:_LONGEST]
        if error is not None and isinstance(error.__cause__, WrongReply):
            reason = "a reply that was rejected"  # its error may quote it
        log_event(
            LOGGER,
            level,
            event,
            text,
            store=self._server,
            table=table,
            seconds=seconds,
            reason=reason,
            server=server,
        )


# --- Retries ----------------------------------------------------------------------------------------------------------


T = TypeVar("T")

# The share of the remaining time that one attempt may use, so that there is some for another.
_FIRST_SHARE: Final = 2 / 3
LEAST_ATTEMPT: Final = 2.0
"""The seconds that an attempt has at least, if they are left."""


def repeated(attempt: Callable[[], T], deadline: Deadline, log: ServerLog | None = None, table: str | None = None) -> T:
    """The result of *attempt*, retried while it raises `StoreUnavailable` and there is time for a pause.

    The second attempt comes at once: usually the first one found that its connection was gone. Each is logged as one
    of a call to *table* in *log*.
    """
    began = clock.monotonic()
    errors: list[StoreUnavailable] = []
    for number in attempts(deadline, at_once=True):
        if errors and log is not None:
            log(INFO, "retry", f"attempt {number}", table, clock.monotonic() - began, errors[-1])
        try:
            return attempt()
        except StoreUnavailable as error:
            errors.append(error)
    first, last = errors[0], errors[-1]
    if first is last:
        raise first
    seconds = clock.monotonic() - began
    # The first error may be the cause, and those after it only what followed from it.
    before = "" if type(first.__cause__) is type(last.__cause__) else f"; the first one: {first}"
    raise StoreUnavailable(f"{last} (the last of {len(errors)} attempts in {seconds:.1f} s{before})") from last


def one_attempt(deadline: Deadline, subject: str, least: float = LEAST_ATTEMPT) -> Deadline:
    """The deadline of one attempt, so that there is some time for another; raises if there is none for one.

    It has *least* seconds, if they are left. The error is a `StoreUnavailable` about *subject*.
    """
    seconds = deadline.left()
    if not seconds:
        raise StoreUnavailable(f"{subject}: the deadline of the call has passed")
    return deadline.within(max(seconds * _FIRST_SHARE, least))

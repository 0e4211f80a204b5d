"""Connections within a deadline, TLS for them, and the threads that use several connections at the same time."""

from __future__ import annotations

import os
import socket
import ssl
import threading
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webtable._threads import Threads
from webtable.errors import InvalidArgument, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webtable._threads import Task
    from webtable.store.deadline import Deadline


CONNECT_SECONDS: Final = 5.0
"""How long a server may take to accept a connection, and to prove who it is."""


_KEEPALIVE: Final = {"TCP_KEEPIDLE": 15, "TCP_KEEPALIVE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""After 15 idle seconds the other machine is asked every 5 whether it is there: firewalls forget idle connections.

The first name is Linux's, the second macOS's.
"""


def seconds_until(deadline: Deadline) -> float:
    """The seconds until *deadline*; raises `TimeoutError` if there are none."""
    seconds = deadline.left()
    if not seconds:  # as the timeout of a socket, 0 would mean that it does not block
        raise TimeoutError("timed out")
    return seconds


def connected(
    host: str, port: int, deadline: Deadline, on_made: Callable[[socket.socket], object] | None = None
) -> socket.socket:
    """A connection to the first address of *host* that accepts it; raises `OSError`.

    *on_made* gets each socket before it is connected, so that a child forked in the meantime can close it.
    """
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in _addresses(host, port, deadline):
        made = socket.socket(family, kind, protocol)
        if on_made is not None:
            on_made(made)
        try:
            made.settimeout(seconds_until(deadline))
            made.connect(address)
            # Without it the second of two small packets waits 40 ms for the confirmation of the first.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option in _KEEPALIVE.keys() & vars(socket):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), _KEEPALIVE[option])
        except OSError as exc:
            made.close()
            failure = exc
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failure


def _addresses(host: str, port: int, deadline: Deadline) -> list[Any]:
    """The result of `socket.getaddrinfo`, within *deadline*: a resolver may take arbitrarily long."""
    with suppress(socket.gaierror):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    answer: Future[list[Any]] = Future()

    def resolve() -> None:
        try:
            answer.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as exc:  # noqa: BLE001 - it is raised by the caller
            answer.set_exception(exc)

    try:
        threading.Thread(target=resolve, daemon=True).start()
    except RuntimeError:  # the interpreter shuts down
        resolve()
    try:
        return answer.result(deadline.left())
    except TimeoutError as exc:
        raise TimeoutError(f"the name {host!r} was not resolved in time") from exc


# --- TLS --------------------------------------------------------------------------------------------------------------


# The variable of the environment with the password of an encrypted private key.
_KEY_PASSWORD: Final = "WEBTABLE_HBASE_KEY_PASSWORD"  # noqa: S105 - the name of the variable


def client_context(ca: str | None = None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """The context of connections with TLS 1.2 and later, which verifies the host by its certificate.

    Certificates are verified by the authorities in the file *ca* (PEM), without it by those of the system. *cert* is
    sent to a server that requests a certificate, with its private *key* if that is in a separate file. Raises
    `InvalidArgument` that names a file which cannot be used. Verification cannot be switched off.
    """
    if key is not None and cert is None:
        raise InvalidArgument(f"store: key={key!r} needs cert, the certificate to which it belongs")
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as exc:  # ssl.SSLError is one
        raise InvalidArgument(f"store: ca={ca!r}: {_reason(exc)}") from exc
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if cert is not None:
        try:
            context.load_cert_chain(cert, key, password=_key_password)
        except OSError as exc:
            raise InvalidArgument(f"store: cert={cert!r}, key={key!r}: {_reason(exc)}") from exc
    return context


def _key_password() -> str:
    """The password of the private key; without a function for it OpenSSL would prompt in the terminal."""
    password = os.environ.get(_KEY_PASSWORD)
    if password is None:
        raise InvalidArgument(f"the private key is encrypted: {_KEY_PASSWORD} must have its password")
    return password


def _reason(exc: OSError) -> str:
    if isinstance(exc, ssl.SSLError):
        return f"not usable PEM ({exc.reason or 'not readable'})"
    return exc.strerror or str(exc)


# --- Threads ----------------------------------------------------------------------------------------------------------


T = TypeVar("T")
A = TypeVar("A")


class Workers:
    """At most *count* threads, started when they are needed; *name* is the store's.

    A job that submits jobs itself runs those in its own thread, and a thread that waits for a job that has not begun
    runs it itself, so nothing waits for a free thread: jobs end at their own deadlines.
    """

    def __init__(self, count: int, name: str) -> None:
        self._name = name
        self._threads: Threads | None = Threads(count, "webtable-hbase")
        self._here = threading.local()

    def map(self, job: Callable[[A], T], items: Sequence[A]) -> list[T]:
        """`job(item)` for each of *items*; raises the first error, after all jobs have ended."""
        if len(items) < 2 or self.is_worker():
            return [job(item) for item in items]
        tasks = [self.submit(lambda item=item: job(item)) for item in items[1:]]  # type: ignore[misc]
        try:
            first = job(items[0])
            # The threads take the jobs in order; at the other end are more jobs that have not begun.
            here = {place: job(items[place + 1]) for place in reversed(range(len(tasks))) if tasks[place].cancel()}
            return [first, *(here[place] if place in here else task.result() for place, task in enumerate(tasks))]
        except BaseException as exc:
            for task in tasks:
                task.cancel()
            if isinstance(exc, Exception):  # an interrupt does not wait
                for task in tasks:
                    task.wait()
            raise

    def in_runs(self, job: Callable[[Sequence[A]], list[T]], items: Sequence[A], size: int) -> list[T]:
        """The joined results of *job* for runs of *size* items; raises as `map` does."""
        runs = [items[at : at + size] for at in range(0, len(items), size)]
        return list(chain.from_iterable(self.map(job, runs)))

    def each(self, jobs: Iterable[Callable[[], object]]) -> None:
        """Run all *jobs*; raises the first error, after all have ended."""
        self.map(lambda job: job(), list(jobs))

    def is_worker(self) -> bool:
        """Whether this is one of the threads."""
        return getattr(self._here, "worker", False)

    def submit(self, job: Callable[[], T]) -> Task[T]:
        """Start *job*."""
        threads = self._threads
        if threads is None:
            raise StoreError(f"{self._name}: the store is closed")

        def marked() -> T:
            # While the interpreter shuts down a job runs in the thread that submits it, which is no worker afterwards.
            before, self._here.worker = self.is_worker(), True
            try:
                return job()
            finally:
                self._here.worker = before

        return threads.submit(marked)

    def result(self, task: Task[T], deadline: Deadline) -> T:
        """The result of *task*; raises `StoreUnavailable` if it has not ended by *deadline*."""
        try:
            return task.result(deadline.left())
        except CancelledError as exc:
            raise StoreError(f"{self._name}: the store is closed") from exc
        except TimeoutError as exc:
            raise StoreUnavailable(f"{self._name}: a piece that is read ahead has not come in time") from exc

    def close(self) -> None:
        """Refuse further jobs. The threads end after their current jobs, which fail if they need a connection."""
        self._threads = None

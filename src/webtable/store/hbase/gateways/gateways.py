"""Several gateways to one HBase: selection for each call, and cool-downs of those that failed."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from logging import INFO
from typing import TYPE_CHECKING, Final

from webtable._clock import clock
from webtable._forks import renew_after_fork
from webtable.errors import StoreError, StoreUnavailable
from webtable.store.deadline import Backoff
from webtable.store.hbase.gateways.gateway import Gateway, OneGateway, Session
from webtable.store.hbase.thrift.failures import is_lost
from webtable.store.metrics import subject_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from webtable.store.deadline import Deadline
    from webtable.store.hbase.thrift.connection import Connection
    from webtable.store.metrics import ServerMetrics
    from webtable.store.url import HostPort


class Member:
    """One of the gateways, with its cool-down."""

    def __init__(self, address: HostPort, gateway: OneGateway) -> None:
        self.address = address
        self.gateway = gateway
        self.cool_down: Final = CoolDown()


class Gateways(Gateway):
    """Calls to the least busy of several gateways, and to another one if that fails before anything was sent.

    A gateway on which a call was lost gets a cool-down, so the retry goes to another one. If all have a cool-down, they
    are tried in the order in which these end: a call fails if no gateway works now, not because none worked a while
    ago. The pools must connect to a gateway only if it serves the connection (`ServedConnector`), which is how a
    gateway is checked before it is used again.
    """

    def __init__(self, name: str, number: int, gateways: Mapping[HostPort, OneGateway]) -> None:
        super().__init__(name, number)
        self.members: Final = [Member(address, gateway) for address, gateway in gateways.items()]
        self._turn = 0
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock; the state of the gateways is valid in the child as well."""
        self._lock = threading.Lock()

    @contextmanager
    def session(
        self, deadline: Deadline, table: str | None = None, *, preferred: Connection | None = None, only: bool = False
    ) -> Iterator[Session]:
        """Lend a connection to the gateway of *preferred* unless it is in a cool-down, else to the least busy."""
        member = None
        try:
            with ExitStack() as stack:
                member, session = self._entered(stack, deadline, table, preferred, only)
                yield session
        except StoreError as error:
            if member is not None and is_lost(error):
                self.failed(member, table)
            elif member is not None:
                self._worked(member)
            raise
        self._worked(member)

    def all_events(self) -> Counter[str]:
        """Return how often each event has occurred, in total for all gateways."""
        return sum((member.gateway.all_events() for member in self.members), super().all_events())

    def state(self) -> list[ServerMetrics]:
        """Return the state of each gateway, with the rest of its cool-down."""
        return [one for member in self.members for one in member.gateway.state(member.cool_down.left())]

    def failed(self, member: Member, table: str | None = None) -> None:
        """Begin a cool-down of *member*."""
        with self._lock:
            seconds = member.cool_down.failed()
        if seconds:
            member.gateway.log(INFO, "cool-down", "is left alone", table, seconds)

    def unavailable(self, table: str | None, errors: Mapping[Member, StoreError]) -> StoreUnavailable:
        """Return the error of a call for which no gateway could be used."""
        reasons = (
            f"{member.address}: {str(error).removeprefix(subject_of(member.gateway.name, table) + ': ')}"
            for member, error in errors.items()
        )
        subject = subject_of(self.name, table)
        return StoreUnavailable(f"{subject}: none of {len(errors)} gateways can be used: {'; '.join(reasons)}")

    def _entered(
        self, stack: ExitStack, deadline: Deadline, table: str | None, preferred: Connection | None, only: bool
    ) -> tuple[Member, Session]:
        if only and preferred is not None:
            member = next(one for one in self.members if one.address == (preferred.host, preferred.port))
            return member, stack.enter_context(member.gateway.session(deadline, table, preferred=preferred, only=True))
        errors: dict[Member, StoreError] = {}
        began = clock.monotonic()
        while (candidate := self._next(errors, preferred)) is not None:
            try:
                session = stack.enter_context(candidate.gateway.session(deadline, table, preferred=preferred))
            except StoreUnavailable as error:
                if is_lost(error):
                    self.failed(candidate, table)
                elif not errors:  # it works but is busy: the call waits for it
                    raise
                errors[candidate] = error
                continue
            if errors:
                self._report_failover(candidate, table, clock.monotonic() - began, errors)
            return candidate, session
        raise self.unavailable(table, errors) from list(errors.values())[-1]

    def _report_failover(
        self, member: Member, table: str | None, seconds: float, errors: Mapping[Member, StoreError]
    ) -> None:
        text = f"takes the place of {', '.join(str(one.address) for one in errors)}"
        member.gateway.log(INFO, "failover", text, table, seconds)

    def _next(self, without: Collection[Member], preferred: Connection | None) -> Member | None:
        """Return the gateway to try next; None after all of them."""
        with self._lock:
            self._turn = (self._turn + 1) % len(self.members)
            # Of equally busy ones a different one each time.
            left = [one for one in self.members[self._turn :] + self.members[: self._turn] if one not in without]
            ready = [one for one in left if one.cool_down.is_over()]
            if not left:
                return None
            chosen = _chosen(ready, preferred) if ready else min(left, key=lambda one: one.cool_down.until)
            chosen.cool_down.tried()
            return chosen

    def _worked(self, member: Member) -> None:
        if member.cool_down.failures:
            with self._lock:
                member.cool_down.worked()


def _chosen(ready: Sequence[Member], preferred: Connection | None) -> Member:
    if preferred is not None:
        for one in ready:
            if one.address == (preferred.host, preferred.port):
                return one
    return min(ready, key=lambda one: one.gateway.pool.in_use())


_BACKOFF: Final = Backoff(first=1.0, longest=60.0)
_TRIAL_SECONDS: Final = 5.0


class CoolDown:
    """The cool-down of one gateway: consecutive `failures`, 0 while it works, and the time `until` which it lasts.

    Its length is random, so that many processes do not come back at the same moment. When it is over, one caller tries
    the gateway, and the others do not use it until the result is known.
    """

    def __init__(self) -> None:
        self.failures: int = 0
        self.until: float = 0.0
        self._is_tried = False

    def is_over(self) -> bool:
        """Whether the gateway may be tried."""
        return not self.failures or clock.monotonic() >= self.until

    def left(self) -> float:
        """Return the remaining seconds; 0 if the gateway may be tried."""
        return max(0.0, self.until - clock.monotonic()) if self.failures else 0.0

    def tried(self) -> None:
        """Keep other callers away from the gateway for as long as its trial may take."""
        if self.failures and self.is_over():
            self._is_tried = True
            self.until = clock.monotonic() + _TRIAL_SECONDS

    def failed(self) -> float:
        """Begin a cool-down and return its seconds; 0 if the failure belongs to the current one."""
        now = clock.monotonic()
        if self.failures and now < self.until and not self._is_tried:
            return 0.0
        self._is_tried = False
        self.failures += 1
        seconds = _BACKOFF.pause(self.failures)
        self.until = now + seconds
        return seconds

    def worked(self) -> None:
        """End the cool-down."""
        self.failures, self._is_tried = 0, False

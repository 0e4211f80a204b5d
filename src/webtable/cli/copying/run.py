"""The run of `copy`: passes over the source, until one has come to its end and nobody wants another."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from webtable._clock import clock
from webtable._shown.sizes import size_text
from webtable._shown.text import plural
from webtable.cli.terminal.interaction import handling_interrupts
from webtable.repository import Copied, CopyCheck
from webtable.repository.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from webtable.repository import WebTable

PAUSE = 1.0
"""How many seconds a copy that follows waits between two passes."""


class Tokens(msgspec.Struct):
    """Up to which place of each source all is copied, which a journal keeps."""

    of: dict[str, str] = {}


@dataclass
class CopyRun:
    """What was copied, in how many passes, and why it ended; *follow* for passes until a signal comes."""

    rate: float | None = None
    follow: bool = False
    journal: Journal[Tokens] = field(default_factory=lambda: Journal(None, "copy", Tokens))
    passes: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("pages", "versions", "bytes", "deleted"), 0))
    last: Copied | None = None
    """What the last pass has done: it has looked at all."""
    check: CopyCheck | None = None
    ended_by: signal.Signals | None = None
    """What has ended it before its end."""
    now: str = ""
    """What it does now, for a progress bar."""
    started: float = field(default_factory=lambda: clock.monotonic())
    _asked: signal.Signals | None = None
    _tokens: Tokens = field(default_factory=Tokens)

    @property
    def seconds(self) -> float:
        """How long it runs already."""
        return max(clock.monotonic() - self.started, 1e-6)

    def run(self, source: WebTable, target: WebTable) -> None:
        """Copy, with a pass over all behind one that went on in the middle, or behind those that have followed."""
        self._tokens = self.journal.begun() or Tokens()
        token = self._tokens.of.get(source.name)
        if token is not None and next(iter(target.pages(full_scan=True, limit=1, order="storage")), None) is None:
            token = None  # the target was made anew
        try:
            self._pass(source, target, token)
            if token is not None:
                self._pass(source, target)
            while self.follow and not self._asked:
                self._pause()
                self._pass(source, target)
            if self.follow:
                self._pass(source, target)
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT

    def conclude(self, source: WebTable, target: WebTable, *, refresh: bool, verify: str) -> None:
        """Count the links of the target and compare both, where that is wanted and nothing has ended it."""
        try:
            if refresh and {"link", "host"} & target.index_states().keys():
                target.refresh_links(on_progress=self._told("counting links"))
            if verify != "none":
                self.check = source.check_copy(target, full=verify == "full", on_progress=self._told("comparing"))
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP end it behind what is being stored, and the second one at once."""
        return handling_interrupts(self._interrupt)

    def _interrupt(self, number: signal.Signals) -> None:
        if self._asked and not self.follow:
            raise KeyboardInterrupt
        # The second one ends the last pass of a copy that follows in the same good order as the first ends another.
        self.follow = self.follow and not self._asked
        self._asked = number

    def _pass(self, source: WebTable, target: WebTable, token: str | None = None) -> None:
        self.passes += 1
        done = source.copy_to(target, after=token, rate=self.rate, on_copied=partial(self._take, source))
        self._take_last(done)
        self._keep(source, done)

    def _take(self, source: WebTable, copied: Copied) -> None:
        self._show(copied)
        self.last = copied
        is_asked = self._asked and not self.follow
        if is_asked or self.journal.is_due():
            self._keep(source, copied)
        if is_asked:
            self._take_last(copied)
            raise KeyboardInterrupt

    def _keep(self, source: WebTable, copied: Copied) -> None:
        """Keep up to where all of *source* is copied; forget it where nothing is left."""
        if copied.token is None:
            self._tokens.of.pop(source.name, None)
        else:
            self._tokens.of[source.name] = copied.token
        self.journal.keep(self._tokens)

    def _take_last(self, copied: Copied) -> None:
        self.last = copied
        for name in self.written:
            self.written[name] += getattr(copied, name)

    def _show(self, copied: Copied) -> None:
        size = self.written["bytes"] + copied.bytes
        which = f"pass {self.passes}  " if self.passes > 1 else ""
        self.now = (
            f"{which}{plural(copied.looked_at, 'page')}  {copied.looked_at / self.seconds:,.0f} pages/s, "
            f"{size_text(size / self.seconds)}/s"
        )

    def _told(self, what: str) -> Callable[[int], None]:
        def told(count: int) -> None:
            self.now = f"{what}: {count:,}"
            if self._asked and not self.follow:
                raise KeyboardInterrupt

        return told

    def _pause(self) -> None:
        end = clock.monotonic() + PAUSE
        while not self._asked and clock.monotonic() < end:
            clock.sleep(0.05)

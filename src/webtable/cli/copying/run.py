"""The run of `copy`: passes over the source, until one has come to its end and nobody wants another."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webtable._shown.sizes import size_text
from webtable.cli.copying.journal import CopyJournal
from webtable.cli.terminal.interrupts import handling_interrupts
from webtable.cli.terminal.text import plural
from webtable.repository import Copied, CopyCheck

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from webtable.repository import WebTable

PAUSE = 1.0
"""How many seconds a copy that follows waits between two passes."""
NOTE_SECONDS = 1.0
"""A line of the journal is written so often at most."""


@dataclass
class CopyRun:
    """What was copied, in how many passes, and why it ended; *follow* for passes until a signal comes."""

    rate: float | None = None
    follow: bool = False
    journal: CopyJournal | None = None
    passes: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("pages", "versions", "bytes", "deleted"), 0))
    last: Copied | None = None
    """What the last pass has done: it has looked at all."""
    check: CopyCheck | None = None
    ended_by: signal.Signals | None = None
    """What has ended it before its end."""
    now: str = ""
    """What it does now, for a progress bar."""
    started: float = field(default_factory=time.monotonic)
    _asked: signal.Signals | None = None
    _noted: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it runs already."""
        return max(time.monotonic() - self.started, 1e-6)

    def run(self, source: WebTable, target: WebTable) -> None:
        """Copy, with a pass over all behind one that went on in the middle, or behind those that have followed."""
        token = None if self.journal is None else self.journal.token()
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
        done = source.copy_to(target, after=token, rate=self.rate, on_copied=self._take)
        self._take_last(done)
        if self.journal is not None:
            self.journal.note(None)

    def _take(self, copied: Copied) -> None:
        self._show(copied)
        self.last = copied
        if self.journal is not None and time.monotonic() - self._noted >= NOTE_SECONDS:
            self.journal.note(copied.token)
            self._noted = time.monotonic()
        if self._asked and not self.follow:
            if self.journal is not None:
                self.journal.note(copied.token)
            self._take_last(copied)
            raise KeyboardInterrupt

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
        end = time.monotonic() + PAUSE
        while not self._asked and time.monotonic() < end:
            time.sleep(0.05)

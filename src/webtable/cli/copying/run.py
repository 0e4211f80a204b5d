"""The run of `copy`: passes over the source, one after another, until they are complete or interrupted."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable._process_hooks import handling_signals
from webtable.cli.exit_codes import note
from webtable.display.text import plural, size_text
from webtable.errors import StoreUnavailable
from webtable.maintenance import Copied, CopyCheck
from webtable.store import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from webtable import WebTable

PAUSE = 1.0
"""How many seconds a copy that follows waits between two passes."""
_PAUSE_AFTER_ERROR = 2.0
"""How many seconds a copy waits before it asks a store again that did not answer."""


@dataclass
class CopyRun:
    """A run of `copy`: its counts, its passes and why it ended; with *follow* it makes passes until a signal comes."""

    rate: float | None = None
    follow: bool = False
    journal: Path | None = None
    dry_run: bool = False
    workers: int = 1
    wait: float = 600.0
    """How many seconds to wait for a store that does not answer, without any progress."""
    lost: StoreUnavailable | None = None
    """The error that ended it, if a store is gone."""
    passes: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("pages", "versions", "bytes", "deleted"), 0))
    last: Copied | None = None
    """The result of the last pass."""
    check: CopyCheck | None = None
    ended_by: signal.Signals | None = None
    """The signal that interrupted it."""
    now: str = ""
    """Its present state, for a progress bar."""
    started: float = field(default_factory=lambda: clock.monotonic())
    _asked: signal.Signals | None = None
    _taken: Copied | None = None
    """The last result that is in `written`."""

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return max(clock.monotonic() - self.started, 1e-6)

    def run(self, source: WebTable, target: WebTable) -> None:
        """Copy in one pass; after a resumed pass, or after following, make another pass over everything."""
        try:
            if self._pass(source, target).resumed:
                self._pass(source, target)
            while self.follow and not self._asked:
                self._pause()
                self._pass(source, target)
            if self.follow:
                self._pass(source, target)
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT
        except StoreUnavailable as exc:
            self.lost = exc

    def conclude(self, source: WebTable, target: WebTable, *, refresh: bool, verify: str) -> None:
        """Count the links of the target, and compare both tables, as requested."""
        try:
            if refresh and {"link", "host"} & target.indexes.states().keys():
                target.links.refresh(on_progress=self._progress("counting links"))
            if verify != "none":
                self.check = source.maintenance.check_copy(
                    target, full=verify == "full", on_progress=self._progress("comparing")
                )
        except KeyboardInterrupt:
            self.ended_by = self._asked or signal.SIGINT

    def handling_interrupts(self) -> AbstractContextManager[None]:
        """Let Ctrl-C, SIGTERM and SIGHUP end it after the pages that are being stored, and a second one at once.

        Where workers copy, the first one ends it at once: their parts are large, and may be copied again.
        """
        return handling_signals(self._interrupt)

    def _interrupt(self, number: signal.Signals) -> None:
        if not self.follow and (self._asked or self.workers > 1):
            self._asked = number
            if self.last is not None and self.last is not self._taken:
                self._take_last(self.last)
            raise KeyboardInterrupt
        # With --follow the first signal begins the last pass, and the second one ends it after the current pages.
        self.follow = self.follow and not self._asked
        self._asked = number

    def _pass(self, source: WebTable, target: WebTable) -> Copied:
        self.passes += 1
        with ExitStack() as stack:
            journal = self.journal
            if journal is None and not self.dry_run:  # for this pass alone, so that it continues where a store was gone
                journal = Path(stack.enter_context(TemporaryDirectory())) / "copy"
            done = self._repeated(
                partial(
                    source.maintenance.copy,
                    target,
                    dry_run=self.dry_run,
                    resume=journal,
                    rate=self.rate,
                    workers=self.workers,
                )
            )
        self._take_last(done)
        return done

    def _repeated(self, copy: Callable[..., Copied]) -> Copied:
        """Return what *copy* returns, which is called again while a store does not answer."""
        deadline = Deadline(self.wait)
        while True:
            before = self.last
            try:
                return copy(on_copied=self._take)
            except StoreUnavailable as exc:
                if self.last is not None and self.last is not before:
                    self._take_last(self.last)
                    deadline = Deadline(self.wait)
                if self._asked:
                    raise KeyboardInterrupt from exc
                if deadline.left() < _PAUSE_AFTER_ERROR:
                    raise
                self.now = f"waiting for a store: {exc}"
                if not sys.stderr.isatty():  # else the progress bar shows it
                    note(f"waiting up to {self.wait:g} s for a store: {exc}")
                clock.sleep(_PAUSE_AFTER_ERROR)

    def _take(self, copied: Copied) -> None:
        self._show(copied)
        self.last = copied
        if self._asked and not self.follow:
            self._take_last(copied)
            raise KeyboardInterrupt

    def _take_last(self, copied: Copied) -> None:
        self.last = self._taken = copied
        for name in self.written:
            self.written[name] += getattr(copied, name)

    def _show(self, copied: Copied) -> None:
        size = self.written["bytes"] + copied.bytes
        which = f"pass {self.passes}  " if self.passes > 1 else ""
        self.now = (
            f"{which}{plural(copied.looked_at, 'page')}  {copied.looked_at / self.seconds:,.0f} pages/s, "
            f"{size_text(size / self.seconds)}/s"
        )

    def _progress(self, what: str) -> Callable[[int], None]:
        def show(count: int) -> None:
            self.now = f"{what}: {count:,}"
            if self._asked and not self.follow:
                raise KeyboardInterrupt

        return show

    def _pause(self) -> None:
        end = clock.monotonic() + PAUSE
        while not self._asked and clock.monotonic() < end:
            clock.sleep(0.05)

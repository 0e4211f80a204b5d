"""A ring of pages that is written by processes which die, into a store that is hurt; see `ring_pages`."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ring_pages
from ring_pages import Ring, RingLedger
from ring_verdict import Verdict, verdict

import webtable

STUCK = 600
"""How long nothing may be acknowledged before the ring is given up, in seconds."""


def survives(url: str, pages: int, *, kills: int = 0, while_written: Callable[[Crew], object] | None = None) -> Verdict:
    """Write a ring of about so many *pages* into a new table, and assert that nothing of it is lost or wrong.

    *kills* of its processes are killed with SIGKILL at random moments. *while_written* does its worst to the store
    meanwhile: it is called once, in a thread of its own, with the crew that writes, whose `reached(0.5)` waits until
    half of the ring is acknowledged.
    """
    ring, began = Ring.of(pages), time.monotonic()
    webtable.open(url, create=True).close()
    with tempfile.TemporaryDirectory() as folder:
        crew = Crew(url, Path(folder), ring, random.Random(1))
        crew.run_beside(while_written, kills)
        errors = dict(crew.errors())
    written = time.monotonic()
    with webtable.open(url) as table:
        found = verdict(table, url, ring)
    seconds, asked = written - began, time.monotonic() - written
    print(f"\n{url}: {crew.kills} writers killed, errors {errors}; {found}")
    print(f"{ring.puts:,} puts in {seconds:.0f} s, {ring.puts / seconds:.0f} a second; asked in {asked:.0f} s")
    assert found.is_clean, str(found)
    return found


class Crew:
    """The processes that write a ring. One that is killed is run again; one that ends by itself ends the ring."""

    def __init__(self, url: str, folder: Path, ring: Ring, chance: random.Random) -> None:
        self._url = url
        self._ring = ring
        self._chance = chance
        self._paths = [folder / f"ring-{writer}.ledger" for writer in range(ring.writers)]
        self._ledgers = [RingLedger(path) for path in self._paths]
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._is_over = False
        self.kills = 0

    def acknowledged(self) -> int:
        return sum(ledger.acknowledged() for ledger in self._ledgers)

    def errors(self) -> Counter[str]:
        return sum((ledger.errors() for ledger in self._ledgers), Counter())

    def reached(self, share: float) -> None:
        """Return when this share of all puts is acknowledged; raises where the crew has ended without that."""
        while (done := self.acknowledged()) < share * self._ring.puts:
            assert not self._is_over, f"the ring ended with {done:,} of {self._ring.puts:,} puts"
            time.sleep(0.1)

    def run_beside(self, while_written: Callable[[Crew], object] | None, kills: int) -> None:
        """Do what `run` does, and have *while_written* called in the meantime; it may take longer."""
        with ThreadPoolExecutor(1) as beside:
            worst = beside.submit(while_written or (lambda _: None), self)
            self.run(kills)
            worst.result()

    def run(self, kills: int) -> None:
        """Write the whole ring, and kill *kills* processes with SIGKILL meanwhile, at random moments."""
        moments = sorted(self._chance.random() for _ in range(kills))
        try:
            for writer in range(self._ring.writers):
                self._start(writer)
            self._watch(moments)
        finally:
            self._is_over = True
            for process in self._running.values():
                process.kill()
                process.wait()

    def _watch(self, moments: list[float]) -> None:
        before, since = 0, time.monotonic()
        while self._running:
            done = self.acknowledged()
            if done > before:
                before, since = done, time.monotonic()
            assert time.monotonic() - since < STUCK, f"nothing was acknowledged for {STUCK} s: {self.errors()}"
            while moments and done > moments[0] * self._ring.puts:
                moments.pop(0)
                self._chance.choice(list(self._running.values())).kill()
            self._look_after()
            time.sleep(0.05)

    def _look_after(self) -> None:
        for writer, process in list(self._running.items()):
            code = process.poll()
            if code == -signal.SIGKILL:
                self.kills += 1
                self._start(writer)
            elif code is not None:
                assert code == 0, f"writer {writer} ended with {code}"
                del self._running[writer]

    def _start(self, writer: int) -> None:
        ring = self._ring
        shape = map(str, (ring.writers, ring.rounds, ring.width, writer))
        command = [sys.executable, ring_pages.__file__, self._url, str(self._paths[writer]), *shape]
        self._running[writer] = subprocess.Popen(command)

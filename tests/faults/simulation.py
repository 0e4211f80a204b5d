"""A crawl under faults that a seed draws: writers, readers and upkeep on one store, one call at a time.

python tests/faults/simulation.py SEED      one run, told call by call
"""

from __future__ import annotations

import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from baton import Baton, SimulatedClock, simulated
from crawl_ledger import AHEAD, Ledger, TriedDelete, Try, page_of, unmodified, url_of
from simulated_questions import QUESTIONS
from simulated_store import FAULTS, Killed, SimulatedStore, World
from simulated_verdict import verdict

import webtable
from webtable import WebTable, WebTableError
from webtable.repository.writing import writer as writer_module
from webtable.rowkey import Salt
from webtable.store.memory import MemoryStore
from webtable.writing import PageOutcome

PAGES = 24


class Violation(AssertionError):
    """What may not happen; it says how to have it happen again."""


@dataclass
class Run:
    """What came of one seed."""

    seed: int
    injected: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    acknowledged: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)


class Crawl:
    """One run: its processes, each an actor with a table of its own, and the ledger outside of them."""

    def __init__(self, seed: int, tell: Callable[[str], object] | None) -> None:
        self.chance = random.Random(seed)
        self.clock = SimulatedClock()
        self.run = Run(seed)
        self.ledger = Ledger()
        rate, eagerness = self.chance.choice([0.04, 0.1, 0.2, 0.3]), self.chance.choice([0.03, 0.2, 0.6])
        # Not all kinds in each run: what one of them hides another seed shows.
        kinds = frozenset(self.chance.sample(FAULTS, self.chance.randrange(3, len(FAULTS) + 1)))
        self.world = World(self.chance, self.clock, Baton(self.chance, eagerness), rate, kinds, tell=tell)
        self._rounds = self.chance.randrange(2, 9)
        self._pages = self.chance.choice([3, 8, PAGES])
        # A repeat refers to the body of a capture before it, which others may push out until it is written.
        self._versions = self.chance.choice([20, 40])
        self._salt = self.chance.choice([Salt.none(), Salt.host(1), Salt.url(1)])

    def play(self) -> None:
        name = f"seed-{self.run.seed}"
        try:
            with webtable.open(f"memory:{name}", create=True, versions=self._versions, salt=self._salt) as table:
                self._store, self._name, self._layout = table.store, table.table, table.layout
                self._writing = self.chance.randrange(1, 4)
                writers = {f"writer {n}": self._write for n in range(self._writing)}
                actors = {**writers, "reader": self._read, "upkeep": self._keep}
                self.world.baton.run({who: lambda who=who, do=do: self._live(who, do) for who, do in actors.items()})
                self._look_back(table)
        finally:
            MemoryStore.forget(name)
            self.run.injected, self.run.calls = self.world.injected, self.world.step
            self.run.acknowledged = self.ledger.acknowledged

    def _live(self, who: str, act: Callable[[WebTable], None]) -> None:
        """Do what an actor does: a writer for some rounds, others as long as there are writers.

        When its process is killed, another one goes on.
        """
        table, rounds = self._process(who), self._rounds
        while not self.world.baton.errors and (rounds if act == self._write else self._writing):
            rounds -= 1
            try:
                act(table)
            except Killed:
                self.world.says(f"{who} was killed; another one goes on")
                table = self._process(who)
            except WebTableError as exc:
                self._failed(exc)
            except ExceptionGroup as exc:
                for one in exc.exceptions:
                    if not isinstance(one, WebTableError):
                        raise
                    self._failed(one)
        self._writing -= act == self._write

    def _process(self, who: str) -> WebTable:
        return WebTable(SimulatedStore(self._store, self.world, who), self._name, self._layout)

    def _failed(self, exc: WebTableError) -> None:
        self.run.errors[type(exc).__name__] += 1
        self.world.says(f"{type(exc).__name__}: {exc}"[:200])

    def _write(self, table: WebTable) -> None:
        puts: dict[tuple[str, object], list[Try]] = {}

        def outcome(of: PageOutcome) -> None:
            (one, *rest) = puts[of.url, of.fetched_at]
            puts[of.url, of.fetched_at] = rest
            one.ended, one.is_acknowledged = self.world.step, of.error is None
            self.ledger.acknowledged += of.error is None
            if of.error is not None:
                self._failed(of.error)
            self.world.says(f"{of.url} of {of.fetched_at}: {of.error or 'acknowledged'}"[:160])

        writer = table.writer(on_outcome=outcome, max_age=3_600, buffer_pages=self.chance.choice([1, 4, 50]))
        try:
            with writer:
                for _ in range(self.chance.randrange(1, 12)):
                    page = self._capture()
                    self.world.says(f"puts {page.url} of {page.fetched_at}: {dict(page.headers) or page.status}")
                    puts.setdefault((page.url, page.fetched_at), []).append(self.ledger.put(page, self.world.step))
                    writer.put(page)
        finally:
            writer_module._open.discard(writer)
            for one in (one for some in puts.values() for one in some):
                one.ended = self.world.step

    def _capture(self) -> webtable.Page:
        chance, number = self.chance, self.chance.randrange(self._pages)
        known = self.ledger.captures[number]
        if known and chance.random() < 0.15:
            return known[chance.choice(list(known))].page
        now = self.clock.now()
        date = chance.choice([now] * 6 + [now - timedelta(hours=chance.uniform(0, 90))] * 2 + [now + AHEAD])
        date += timedelta(milliseconds=chance.randrange(2_000))
        date = date.replace(microsecond=date.microsecond // 1000 * 1000)
        while date in known:
            date += timedelta(milliseconds=1)
        if chance.random() < 0.15:
            return unmodified(number, date)
        return page_of(number, chance.randrange(4), date)

    def _read(self, table: WebTable) -> None:
        for _ in range(4):
            name = self.chance.choice(list(QUESTIONS))
            since = self.world.step
            self.world.says(f"reader: asks {name}")
            try:
                wrong = QUESTIONS[name](table, self.ledger, self.chance.randrange(self._pages), self.world)
            except WebTableError as exc:
                self._failed(exc)
                continue
            self.run.answers[name] += 1
            self._check(wrong and f"{name}, asked at step {since}: {wrong}")

    def _keep(self, table: WebTable) -> None:
        work = self.chance.choice(["refresh", "refresh", "repair", "rebuild", "delete", "delete", "delete"])
        self.world.says(f"upkeep: {work}")
        if work == "refresh":
            table.links.refresh(also_unfinished=self.chance.random() < 0.3)
        elif work == "repair":
            table.indexes.repair(self.chance.choice(list(table.indexes.states())), settle=0.2)
        elif work == "rebuild":
            table.indexes.rebuild(self.chance.choice(list(table.indexes.states())))
        else:
            self._delete(table, self.chance.randrange(self._pages))

    def _delete(self, table: WebTable, number: int) -> None:
        self.world.says(f"upkeep: delete {url_of(number)}, now {self.clock.now()}")
        one = TriedDelete(self.world.step, clock=self.clock.now())
        self.ledger.deletes[number].append(one)
        try:
            one.is_acknowledged = table.delete(url_of(number))
        finally:
            one.ended = self.world.step
            self.world.says(f"upkeep: delete ended: {one.is_acknowledged}")

    def _look_back(self, table: WebTable) -> None:
        """Compare what is there when all is quiet with the ledger."""
        self.world.calm = True
        self.world.says("all is quiet")
        self.world.land(self._store, everything=True)
        self.clock.beyond_all(7 * 3_600)
        quiet = self._process("look back")
        for wrong in verdict(quiet, self.ledger, self.world):
            self._check(wrong)

    def _check(self, wrong: str | None) -> None:
        if wrong:
            self.world.says(f"WRONG: {wrong}")
            raise Violation(wrong)


def run(seed: int, tell: Callable[[str], object] | None = None) -> Run:
    """Return what came of a *seed*; raises `Violation` for what may not happen, with the last calls."""
    crawl = Crawl(seed, tell)
    with simulated(crawl.clock, crawl.chance):
        try:
            crawl.play()
        except Exception as exc:
            last = "\n".join(crawl.world.last)
            what = str(exc) if isinstance(exc, Violation) else "".join(traceback.format_exception(exc))
            how = f"seed {seed}: {what}\n{last}\nagain: python tests/faults/simulation.py {seed}"
            raise Violation(how) from exc
    return crawl.run


if __name__ == "__main__":
    print(run(int(sys.argv[1]), print))

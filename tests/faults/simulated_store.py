"""A store that fails, is late, does things twice or by halves, and kills who asks it: all by what a seed draws."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from baton import Baton, SimulatedClock

from webtable.errors import StoreError, StoreRefused, StoreUnavailable
from webtable.rowkey import KeyRange
from webtable.store import Delete, Mutation, Row, Store
from webtable.testing import Call, WrappedStore

WRITE_FAULTS = (
    "fails before it is done",
    "answer lost",
    "partly done, told",
    "partly done, all failed",
    "single rows refused",
    "done later",
    "done twice",
    "in two moves",
    "killed before",
    "killed after",
    "killed half-way",
    "clock jumps",
)
READ_FAULTS = (
    "fails before it is done",
    "answer lost",
    "read twice",
    "in two moves",
    "killed before",
    "killed after",
    "clock jumps",
)
SCAN_FAULTS = ("fails before it is done", "scan cut", "in two moves", "killed before", "killed half-way", "clock jumps")
FAULTS = tuple(dict.fromkeys(WRITE_FAULTS + READ_FAULTS + SCAN_FAULTS))
MOVE = 7
"""After about so many rows of a scan others may write."""


class Killed(BaseException):
    """What nothing catches: the process is gone."""


@dataclass
class World:
    """What all processes of one run share: chance, time, the baton, and what is on its way to the store."""

    chance: random.Random
    clock: SimulatedClock
    baton: Baton
    rate: float
    """How many of the calls have a fault."""
    kinds: frozenset[str]
    step: int = 0
    calm: bool = False
    injected: Counter[str] = field(default_factory=Counter)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=40))
    tell: Callable[[str], object] | None = None
    late: list[tuple[int, str, Sequence[Mutation]]] = field(default_factory=list)
    """Mutations that the store takes at a later step."""

    def says(self, text: str) -> None:
        line = f"{self.step:>5} {text}"
        self.last.append(line)
        if self.tell is not None:
            self.tell(line)

    def fault(self, kinds: Sequence[str]) -> str:
        if self.calm or self.chance.random() > self.rate:
            return ""
        possible = [kind for kind in kinds if kind in self.kinds]
        if not possible:
            return ""
        kind = self.chance.choice(possible)
        self.injected[kind] += 1
        return kind

    def land(self, store: Store, *, everything: bool = False) -> None:
        """Let the store take what has been on its way to it until now."""
        if not self.late:
            return
        due = [one for one in self.late if everything or one[0] <= self.step]
        self.late = [one for one in self.late if one not in due]
        for _, table, mutations in due:
            self.says(f"the store takes {len(mutations)} late mutations of {table}")
            store.write(table, mutations)


class SimulatedStore(WrappedStore):
    """The store as one process sees it; what goes wrong is drawn by *world*."""

    def __init__(self, store: Store, world: World, process: str) -> None:
        super().__init__(store)
        self._world = world
        self._process = process
        self._is_dead = False

    def around(self, call: Call, do: Callable[[], Any]) -> Any:
        world = self._world
        self._breathe()
        how = {"write": self._written, "scan": self._scanned}.get(call.name, self._read_once)
        if call.name in ("transaction", "close"):
            return do()
        kinds = {"write": WRITE_FAULTS, "scan": SCAN_FAULTS}.get(call.name, READ_FAULTS)
        kind = world.fault(kinds)
        world.says(f"{self._process}: {call.name} {call.table} {_extent(call)}{kind and ': ' + kind}")
        if world.tell is not None and call.name == "write":
            for mutation in call.arguments["mutations"]:
                world.tell(f"        {_shown(mutation)}")
        if kind == "clock jumps":
            world.clock.jump(world.chance.uniform(-5, 5))
        if kind == "killed before":
            self._die()
        if kind == "fails before it is done":
            raise StoreUnavailable(f"{self.name}: simulated: not reached")
        return how(call, do, kind)

    def _breathe(self) -> None:
        """Let others go on, and time too."""
        world = self._world
        if self._is_dead or world.baton.errors:
            raise Killed
        if not world.calm:
            world.baton.pass_on()
        world.step += 1
        world.clock.sleep(world.chance.randrange(4) / 1000)
        world.land(self.wrapped)

    def _die(self) -> None:
        self._is_dead = True
        raise Killed

    def _read_once(self, call: Call, do: Callable[[], Any], kind: str) -> Any:
        if kind == "in two moves" and "rows" in call.arguments and len(call.arguments["rows"]) > 1:
            return self._read_by_halves(call)
        found = do()
        if kind in ("read twice", "in two moves"):
            self._breathe()
            found = do()
        if kind == "killed after":
            self._die()
        if kind == "answer lost":
            raise StoreUnavailable(f"{self.name}: simulated: the answer was lost")
        return found

    def _read_by_halves(self, call: Call) -> Any:
        given = dict(call.arguments)
        rows = given.pop("rows")
        ask = getattr(self.wrapped, f"_{call.name}")
        half = len(rows) // 2
        first = ask(call.table, rows[:half], **given)
        self._breathe()
        return [*first, *ask(call.table, rows[half:], **given)]

    def _scanned(self, call: Call, do: Callable[[], Any], kind: str) -> Iterator[Sequence[Row]]:
        pieces = do()
        return self._pieces(call, chain.from_iterable(pieces), kind) if kind in SCAN_FAULTS else pieces

    def _pieces(self, call: Call, rows: Iterator[Row], kind: str) -> Iterator[Sequence[Row]]:
        """Yield the rows of a scan that is cut, or overtaken by others: it goes on behind the last row that it gave."""
        given = dict(call.arguments)
        rest, left = given.pop("limit"), given.pop("ranges")
        while True:
            size = self._world.chance.randrange(1, 2 * MOVE)
            some = list(islice(rows, size))
            yield some
            if kind == "scan cut":
                raise StoreUnavailable(f"{self.name}: simulated: the scan broke off")
            if kind == "killed half-way":
                self._die()
            rest = None if rest is None else rest - len(some)
            if len(some) < size or rest == 0:
                return
            self._breathe()
            left = _left(left, some[-1].key, reverse=given["reverse"])
            rows = chain.from_iterable(self.wrapped._scan(call.table, left, limit=rest, **given))

    def _written(self, call: Call, do: Callable[[], Any], kind: str) -> list[StoreError | None]:
        mutations: Sequence[Mutation] = call.arguments["mutations"]
        chance, failed = self._world.chance, self._failed(mutations)
        # By their rows: in which order a set of ours gave them is no matter of the seed.
        order = sorted(range(len(mutations)), key=lambda at: mutations[at].row)
        if kind in ("done later", "done twice"):
            due = self._world.step + chance.randrange(1, 60)
            self._world.late.append((due, call.table, list(mutations)))
            return failed if kind == "done later" else do()
        if kind == "single rows refused":
            bad = chance.choice(order)
            done = self._apply(call.table, mutations, [at for at in order if at != bad])
            done[bad] = StoreRefused(f"{self.name}: simulated: row {mutations[bad].row[:60]!r} refused")
            return done
        if kind in ("partly done, told", "partly done, all failed", "killed half-way"):
            done = self._apply(call.table, mutations, self._some(mutations, order))
            if kind == "killed half-way":
                self._die()
            return done if kind == "partly done, told" else failed
        if kind == "in two moves":
            # One row's mutations take effect in the order given, so they stay together.
            rows = {mutations[at].row for at in self._some(mutations, order)}
            first = [at for at in order if mutations[at].row in rows]
            done = self._apply(call.table, mutations, first)
            self._breathe()
            rest = self._apply(call.table, mutations, [at for at in order if at not in first])
            return [done[at] if at in first else rest[at] for at in range(len(mutations))]
        outcomes = do()
        if kind == "killed after":
            self._die()
        return failed if kind == "answer lost" else outcomes

    def _some(self, mutations: Sequence[Mutation], order: Sequence[int]) -> list[int]:
        """Return the places of some of *mutations* in any order, but those of one row as they came."""
        chance = self._world.chance
        rows = [mutations[at].row for at in order]
        drawn = {row: chance.random() for row in dict.fromkeys(rows)}
        some = [at for at in order if chance.random() < 0.5]
        return sorted(some, key=lambda at: (drawn[mutations[at].row], at))

    def _apply(self, table: str, mutations: Sequence[Mutation], places: Sequence[int]) -> list[StoreError | None]:
        """Apply those of *mutations*; the others have failed."""
        outcomes = self._failed(mutations)
        for at, outcome in zip(places, self.wrapped.write(table, [mutations[at] for at in places]), strict=True):
            outcomes[at] = outcome
        return outcomes

    def _failed(self, mutations: Sequence[Mutation]) -> list[StoreError | None]:
        return [StoreUnavailable(f"{self.name}: simulated: no answer")] * len(mutations)


def _left(ranges: Sequence[KeyRange], key: bytes, *, reverse: bool) -> list[KeyRange]:
    rest = [one.before(key) if reverse else one.after(key) for one in ranges]
    return [one for one in rest if not one.is_empty()]


def _extent(call: Call) -> str:
    for name in ("mutations", "rows", "ranges"):
        if name in call.arguments:
            return f"{len(call.arguments[name])} {name}"
    return ""


def _shown(mutation: Mutation) -> str:
    if isinstance(mutation, Delete):
        return f"delete {mutation.row!r} {mutation.columns} {'at' if mutation.exact else 'to'} {mutation.timestamp}"
    return f"put {mutation.row!r} {[cell[:2] for cell in mutation.cells]}"

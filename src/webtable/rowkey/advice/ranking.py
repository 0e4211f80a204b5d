"""What advice says, before it is shown: designs in the order of their scores, and what they were measured on."""

from __future__ import annotations

import msgspec

from webtable.rowkey.advice.judgement import Judgement
from webtable.rowkey.advice.questions import MOST_DERIVED
from webtable.rowkey.advice.scope import Scope


class Ranking(msgspec.Struct, frozen=True):
    """Designs for a row key, the best first, and what they were measured on; see `Advice`."""

    designs: tuple[Judgement, ...]
    keys: int
    measured: int
    margin: float
    regions: int
    servers: int
    window: int
    column: str | None
    value_bytes: int
    skipped: int
    first_skipped: str
    scope: Scope | None = None
    holds_for: tuple[str, ...] = ()
    not_asked: tuple[str, ...] = ()

    @property
    def best(self) -> Judgement:
        """The design with the lowest score."""
        return self.designs[0]

    @property
    def measure(self) -> str:
        """What was measured, as a line."""
        sampled = (
            ""
            if not self.margin
            else (f" ({self.measured:,} of them measured, evenly through time: shares in the end ±{self.margin:.1%})")
        )
        made_up = "made-up " if self.scope is not None and self.scope.models else ""
        regions = f"{self.regions:,} region{'s'[: self.regions != 1]} on {self.servers:,} server"
        return (
            f"{self.keys:,} {made_up}key{'s'[: self.keys != 1]}{sampled}, {regions}{'s'[: self.servers != 1]}, "
            f"{self.window:,} at a moment"
        )

    @property
    def said_of_all(self) -> tuple[str, ...]:
        """What holds for all designs, in words: for which crawls the verdict holds, and what was not asked."""
        if not self.not_asked:
            return self.holds_for
        left_out = f"questions that were derived are {MOST_DERIVED} at most; left out: {'; '.join(self.not_asked)}"
        return (*self.holds_for, left_out)

    def __getitem__(self, name: str) -> Judgement:
        for design in self.designs:
            if design.name == name:
                return design
        raise KeyError(name)

"""The upgrade of a stored web table: what of it is older than in a new one, and how that is brought up to date.

Each kind of step is looked for when those before it are done, and goes by nothing but what is stored. So an upgrade
that was cut short is gone on with by the same call, and of two at once each finds what the other has left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webtable._shown import Shown, ShowsItself
from webtable.repository.creation.web import StoredWebTable
from webtable.repository.door import not_there
from webtable.repository.frame import Frame
from webtable.repository.upgrading import indexes, rows, tables
from webtable.repository.upgrading.old import Old, Outdated, Step
from webtable.store import open_store

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from webtable.repository.arguments import Progress
    from webtable.store import Store

_KINDS: tuple[Callable[[Old], Iterable[Step | Outdated]], ...] = (
    tables.file,
    tables.keys,
    tables.layout,
    tables.families,
    tables.missing,
    tables.digests,
    indexes.unordered,
    indexes.unfinished,
    indexes.absent,
    rows.sample,
)
"""In this order: a table that is made anew leaves an index to be completed, and so does one that gets its order."""


@dataclass(frozen=True, slots=True)
class Upgrade(ShowsItself):
    """What of the table that `url` names is older than in a new one: `steps` that were found to be done, and the rest.

    `left` cannot be done in place, or is for you to decide; each says by which command it is done. `is_done` tells
    whether the steps were done.
    """

    url: str
    steps: tuple[Outdated, ...]
    left: tuple[Outdated, ...]
    is_done: bool

    @property
    def is_empty(self) -> bool:
        """Whether there was no step to be done."""
        return not self.steps

    def __iter__(self) -> Iterator[Outdated]:
        return iter((*self.steps, *self.left))

    def __str__(self) -> str:
        """Return a line for each of them, those to be done first; empty if nothing is old."""
        return "\n".join(map(str, self))

    def _shown(self) -> Shown:
        columns = ("what", "found", "remedy")
        values = [tuple(getattr(one, name) for name in columns) for one in self]
        return Shown(self.url, columns, values, "" if values else "nothing to do")


def upgrade(url: str | os.PathLike[str], *, apply: bool = False, on_progress: Progress | None = None) -> Upgrade:
    """Return what of the web table that *url* names is older than in a new one; with *apply* it is brought up to date.

    Others may go on using the table, with this version of webtable. What was cut short is gone on with by the same
    call; one more finds no steps. *on_progress* is told how many pages the index that is being built has entries of.
    Where the gateway cannot change families, what is `left` has the statements for the HBase shell. Raises what
    `webtable.open` does, but for tables that are missing, and `IndexFailed`.
    """
    store, table = open_store(url)
    with store:
        steps: list[Outdated] = []
        left: list[Outdated] = []
        for kind in _KINDS:
            for one in kind(_read(store, table, on_progress)):
                (steps if isinstance(one, Step) else left).append(one.outdated if isinstance(one, Step) else one)
                if apply and isinstance(one, Step):
                    one.do()
        return Upgrade(f"{store.name}/{table}", tuple(steps), tuple(left), apply)


def _read(store: Store, table: str, on_progress: Progress | None) -> Old:
    stored = StoredWebTable.read(store, table)
    if stored is None:
        raise not_there(store, table)
    return Old(stored, Frame.of(store, table, stored.layout), on_progress)

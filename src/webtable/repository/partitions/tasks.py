"""Tasks that worker processes do for parts of a table, each with a frame of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from webtable.repository.context import TablePart
from webtable.repository.partitions.cuts import Whole, cut
from webtable.repository.partitions.places import FramePlace
from webtable.repository.partitions.processes import checked_workers, in_processes

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from webtable.repository.context import Frame

PARTS_A_WORKER = 16
"""How many parts each worker gets: progress is shown after each."""


class PartTask(NamedTuple):
    """A function of a module, which is called with the frame of a part (None: the whole table) and arguments."""

    function: Callable[..., Any]
    part: TablePart | None
    arguments: tuple[Any, ...] = ()


def check_workers(frame: Frame, workers: int) -> None:
    """Raise `InvalidArgument` if *workers* is none, or several of them cannot open the table of *frame*."""
    if checked_workers(workers) > 1:
        FramePlace.of(frame)


def parts_of(frame: Frame, whole: Whole, workers: int) -> list[TablePart]:
    """Return parts of *whole* for this number of *workers*."""
    parts = cut(frame, whole, PARTS_A_WORKER * workers)
    return [TablePart(whole.table, part.keys) for part in parts if not part.keys.is_empty()]


@contextmanager
def done_by(workers: int, frame: Frame, tasks: Sequence[PartTask]) -> Iterator[Iterator[Any]]:
    """Give what each of the *tasks* returns, in their order; *workers* processes do them for the table of *frame*.

    What a task counts (damaged rows, say) is counted in *frame*. A task whose worker was killed is done again. Raises
    what a task raises, `InvalidArgument` for a table that other processes cannot open, and `WebTableError`. The workers
    end with the block.
    """
    place = FramePlace.of(frame, with_indexes=True)
    with closing(in_processes(partial(_done, place), tasks, workers, ordered=True)) as all_done:
        yield (_counted(frame, *done.value) for done in all_done)


def _counted(frame: Frame, value: Any, counts: Counter[str]) -> Any:
    for name, many in counts.items():
        frame.counts(name, many)
    return value


def _done(place: FramePlace, task: PartTask) -> tuple[Any, Counter[str]]:
    with place.opened(task.part) as frame:
        return task.function(frame, *task.arguments), frame.counts.snapshot()

"""Worker processes of this machine that call a function with each part of an answer, or of another task."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from webtable.errors import InvalidArgument, WebTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection

    from webtable.repository.answers.results import Divisible, Partition, Results

T = TypeVar("T")
R = TypeVar("R")
PARTS_A_WORKER = 4
"""How many parts each worker gets by default: a slow one then delays the end by a quarter of its time at most."""
MOST_DEATHS = 2
"""A task is given up when workers have died so often without finishing a part in between."""


def map(
    answer: Divisible[T],
    function: Callable[[Results[T]], R],
    *,
    workers: int | None = None,
    partitions: int | None = None,
    ordered: bool = True,
    on_progress: Callable[[int], object] | None = None,
) -> Iterator[R]:
    """Yield what *function* returns for each part of *answer*, which *workers* processes read (one a core by default).

    *function* is called in a worker with the answer of a part, to be iterated or converted (`to_arrow`, `count`). It
    and what it returns are pickled: it is a function of a module, and a script needs `if __name__ == "__main__":`.
    There are *partitions* parts, by default four for each worker. Values come in the order of the parts, or with
    `ordered=False` as they are finished. *on_progress* is called with the number of rows of the parts that are
    finished, by estimate.

    A part whose worker died is read again, once. What *function* raises is raised here; then, as after Ctrl-C or when
    the iterator is closed, the workers end at once, and they also end with this process. Raises what
    `answer.partitions` does, and `WebTableError` if workers die again and again.
    """
    check_importable(function)
    count = (os.cpu_count() or 1) if workers is None else checked_workers(workers)
    parts = answer.partitions(PARTS_A_WORKER * count if partitions is None else partitions)
    return _values(parts, function, count, on_progress, ordered=ordered)


def checked_workers(workers: int) -> int:
    """Return the number of *workers*; raises `InvalidArgument` unless it is a whole number, 1 or more."""
    if type(workers) is not int or workers < 1:
        raise InvalidArgument(f"workers={workers!r} must be a whole number, 1 or more")
    return workers


def _values(
    parts: Sequence[Partition[T]],
    function: Callable[[Results[T]], R],
    workers: int,
    on_progress: Callable[[int], object] | None,
    *,
    ordered: bool,
) -> Iterator[R]:
    rows = 0
    for done in in_processes(partial(_of_part, function), parts, workers, ordered=ordered):
        rows += parts[done.number].rows or 0
        if on_progress is not None:
            on_progress(rows)
        yield done.value


def _of_part(function: Callable[[Results[T]], R], part: Partition[T]) -> R:
    with part.open() as answer:
        return function(answer)


class Done(NamedTuple):
    """What a function has returned for an item, and the item's place among all."""

    number: int
    value: Any


def in_processes(
    function: Callable[[Any], Any], items: Sequence[Any], workers: int, *, ordered: bool = False
) -> Generator[Done]:
    """Yield what *function* returns for each of *items*, which at most *workers* processes are given one by one.

    Items whose worker died are given out again. Raises what *function* raises, and `WebTableError`.
    """
    left, deaths = deque(range(len(items))), 0
    while left:
        done = _in_a_pool(function, items, left, workers, ordered=ordered)
        try:
            for one in done:
                deaths = 0
                yield one
        except BrokenProcessPool as exc:
            deaths += 1
            if deaths == MOST_DEATHS:
                raise WebTableError(
                    f"{deaths} times a worker process was killed, or ended before it began: for want of memory, or "
                    f'because a script starts workers outside of its `if __name__ == "__main__":` ({exc})'
                ) from exc
        finally:
            done.close()


def _in_a_pool(
    function: Callable[[Any], Any], items: Sequence[Any], left: deque[int], workers: int, *, ordered: bool
) -> Generator[Done]:
    """Yield as `in_processes` does for the items numbered in *left*, and take those from it that are done."""
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(min(workers, len(left)), context, _begin, (theirs,))
    try:
        waiting, running = deque(left), dict[Future[Any], int]()
        while waiting or running:
            # No more than these, as in order the values of later ones have to be kept.
            while waiting and len(running) < 2 * workers:
                number = waiting.popleft()
                running[pool.submit(function, items[number])] = number
            first = next(iter(running))
            ready = wait([first] if ordered else running, return_when=FIRST_COMPLETED).done
            for future in ready:
                number, value = running.pop(future), future.result()
                left.remove(number)
                yield Done(number, value)
        pool.shutdown()
    finally:
        ours.close()
        theirs.close()
        pool.shutdown(cancel_futures=True)


def _begin(pipe: Connection) -> None:
    """Prepare a worker: Ctrl-C is the parent's, and it exits when the parent closes its end of *pipe*, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(pipe,), daemon=True).start()


def _end_with_parent(pipe: Connection) -> None:
    pipe.poll(None)
    os._exit(1)


def check_importable(function: Callable[..., Any]) -> None:
    """Raise `InvalidArgument` for a *function* that another process could not import."""
    plain = function
    while isinstance(plain, partial):
        plain = plain.func
    main = plain.__module__ == "__main__" and not hasattr(__import__("__main__"), "__file__")
    if main or "<" in plain.__qualname__:
        raise InvalidArgument(
            f"{plain.__qualname__}: a worker process must be able to import the function: define it at the top of a "
            "module (a file beside the notebook, say), neither within another function nor in a notebook"
        )

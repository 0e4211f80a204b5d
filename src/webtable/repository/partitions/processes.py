"""Worker processes of this machine that call a function with each part of an answer, or of another task."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from webtable._processes import GivenUp, Tasks, Workers
from webtable.errors import InvalidArgument, WebTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from webtable.repository.answers.results import Divisible, Partition, Results

T = TypeVar("T")
R = TypeVar("R")
PARTS_A_WORKER = 4
"""How many parts each worker gets by default: a slow one then delays the end by a quarter of its time at most."""


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
    following = begun = 0
    values: dict[int, Any] = {}

    def numbered() -> Iterator[tuple[int, Any]]:
        nonlocal begun
        for begun in range(len(items)):
            yield begun, items[begun]

    def has_room() -> bool:
        # In order the values of later items have to be kept.
        return not ordered or begun < following + 2 * workers

    with Workers(partial(_call_each, function), min(workers, len(items)), with_main=True) as processes:
        for number, value in processes.run(numbered(), has_room=has_room):
            if isinstance(value, GivenUp):
                raise WebTableError(f"a part cannot be read, perhaps for want of memory: {value.why}")
            if number is None:
                if value.error is not None:
                    raise value.error
            elif not ordered:
                yield Done(number, value)
            else:
                values[number] = value
                while following in values:
                    yield Done(following, values.pop(following))
                    following += 1


def _call_each(function: Callable[[Any], Any], tasks: Tasks[Any]) -> None:
    for number, item in tasks:
        tasks.report(number, function(item))


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

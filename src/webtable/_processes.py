"""Child processes: this very Python, started with a pipe; and workers, which are given tasks one by one.

A child has a session of its own and ignores the signals that end its parent, which decides when it ends. Without its
parent it ends as well: what it reads from its pipe is then at its end.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from webtable._process_hooks import ENDING, collect_rarely, renew_after_fork
from webtable.errors import WebTableError

# multiprocessing is imported where it is used: most programs that load this module start no process.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

T = TypeVar("T")

MOST_DEATHS = 2
"""A task is given up after this many workers have died on it without any progress."""
_SECONDS = 0.2
"""The end of a run is noticed after at most this many seconds, since no message comes with it."""
# The paths come as an argument: with `-P` the child does not search its own directory, where a file may lie that has
# the name of a module.
_BEGIN = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from webtable._processes import run; run(sys.argv[2], int(sys.argv[3]))"
)
_is_importing_main = False


class Child:
    """A process that calls the function *name* ("module:function") with its end of `pipe`, and ends with it.

    What it prints is lost if it *is_quiet*. A process that is forked from this one has no part in it. Raises `OSError`
    if no process can be started.
    """

    def __init__(self, name: str, *, is_quiet: bool = False) -> None:
        from multiprocessing.connection import Connection

        output = subprocess.DEVNULL if is_quiet else None
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
        paths = json.dumps(list(map(str, sys.path)))
        ours, theirs = socket.socketpair()
        with ours, theirs:
            # Blocked until the child ignores them, since a signal may be for all processes of a service.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
            try:
                self._process = subprocess.Popen(  # noqa: S603 - this very Python
                    [sys.executable, *flags, "-P", "-c", _BEGIN, paths, name, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the parent
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self.pipe: Connection[Any, Any] = Connection(ours.detach())
        renew_after_fork(self)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def end(self, *, kill: bool = True) -> int:
        """Close the pipe, and return the exit code of the process; unless *kill*, wait until it ends by itself."""
        if kill:
            self.kill()
        self.pipe.close()
        return self._process.wait()

    def death(self) -> str:
        """Wait until the process has ended, and say how: "was ended by SIGKILL", "ended with exit code 1"."""
        code = self._process.wait()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def after_fork(self) -> None:
        """Leave the process to the parent."""
        self._process.returncode = 0  # it is no child of this process, which must not wait for it
        self.pipe.close()


def run(name: str, handle: int) -> None:
    """Be the child: call the function *name* with the pipe that is the file *handle*."""
    from multiprocessing.connection import Connection

    collect_rarely()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    os.set_inheritable(handle, False)
    module, _, function = name.partition(":")
    getattr(import_module(module), function)(Connection(handle))


class _Idle(NamedTuple):
    """The message of a worker that has nothing to do."""


class Ended(NamedTuple):
    """The last message of a worker: the error that ended it, if one did."""

    error: BaseException | None


class GivenUp(NamedTuple):
    """What becomes of a task on which workers have died: what is left to do of it, and why."""

    task: Any
    why: str


class Tasks(Generic[T]):
    """The tasks of a worker, each with its number, as they are given, and its reports; it ends with its parent."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._sending = threading.Lock()
        self._messages: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._receive, daemon=True).start()

    def __iter__(self) -> Iterator[tuple[int, T]]:
        """Ask for tasks until there are no more."""
        while True:
            self.send(_Idle())
            task = self.receive()
            if task is None:
                return
            yield task

    @property
    def are_ending(self) -> bool:
        """Whether the worker is to end, also in the middle of a task."""
        return not self._messages.empty()

    def report(self, number: int | None, value: object, rest: T | None = None) -> None:
        """Send *value* for the task *number*, of which *rest* is left to do; any thread may."""
        self.send((number, value, rest))

    def receive(self) -> Any:
        """Return the next message."""
        return pickle.loads(self._messages.get())  # noqa: S301 - from the parent

    def send(self, message: object) -> None:
        """Send a message."""
        data = pickle.dumps(message)
        with self._sending:
            self._pipe.send_bytes(data)

    def _receive(self) -> None:
        with suppress(OSError, EOFError):
            while True:
                self._messages.put(self._pipe.recv_bytes())
        os._exit(1)  # the parent is gone: nothing could be reported


def work(pipe: Connection[Any, Any]) -> None:
    """Be a worker: call the function that comes through *pipe*, for the tasks that come after it."""
    tasks = Tasks[Any](pipe)
    error = None
    try:
        _import_main(tasks.receive())
        tasks.receive()(tasks)
    except BaseException as exc:  # noqa: BLE001 - the parent raises it
        error = _sendable(exc)
    with suppress(OSError):  # the parent is gone
        tasks.send(Ended(error))


def _import_main(preparation: dict[str, Any] | None) -> None:
    """Import the script of the parent as multiprocessing does, for functions that are defined in it."""
    global _is_importing_main
    if preparation is not None:
        from multiprocessing import spawn

        _is_importing_main = True
        spawn.prepare(preparation)
        _is_importing_main = False


def _sendable(error: BaseException) -> BaseException:
    """Return *error*, or one in its place if it cannot be pickled, with a note of where it was raised."""
    where = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - whatever the class of the error does
        error = WebTableError(f"{type(error).__name__}: {error}")
    error.add_note(f"In a worker process:\n{where}")
    return error


@dataclass(eq=False)
class _Worker(Generic[T]):
    child: Child
    doing: dict[int, T] = field(default_factory=dict)
    """The tasks that it was given and has not finished."""
    was_heard: bool = False
    is_idle: bool = False
    is_to_end: bool = False
    ended: Ended | None = None

    def sent(self, message: object) -> bool:
        """Send *message*; returns False if the worker has died, which is noticed soon."""
        try:
            self.child.pipe.send(message)
        except OSError:
            return False
        return True

    def death(self) -> str | None:
        """Say how it died, once it has ended; None if it ended normally, or with an error of the library."""
        if self.ended is None:
            return f"it {self.child.death()}"
        error = self.ended.error
        return None if error is None or isinstance(error, WebTableError) else f"unexpected error: {error!r}"


class Workers(Generic[T]):
    """At most *most* processes that each call *function* with their `Tasks`; those still running at the end are killed.

    Each has a pipe of its own: a queue that all share has a lock, which a killed worker may hold forever. A worker that
    dies is replaced, and what it had not finished is given to others. Functions of a script are found *with_main*; the
    workers then import it.
    """

    def __init__(self, function: Callable[[Tasks[T]], object], count: int, *, with_main: bool = False) -> None:
        if with_main and _is_importing_main:
            raise WebTableError('a script starts worker processes only below its `if __name__ == "__main__":`')
        self._function = function
        self._count = count
        self._with_main = with_main
        self._workers: dict[Any, _Worker[T]] = {}
        self._returned: deque[tuple[int, T]] = deque()
        self._deaths: Counter[int] = Counter()
        self._false_starts = 0
        """How many workers died before their first message, since the last message of any worker."""
        self._is_ending = False
        self.deaths: list[str] = []
        """How each dead worker died."""
        self.unfinished: list[T] = []
        """What is left of tasks that were begun but not finished, because the workers were to end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for worker in self._workers.values():
            worker.child.end()

    def start(self) -> None:
        """Start the missing workers; that takes a moment, in which the caller can do other work."""
        for _ in range(self._count - len(self._workers)):
            preparation = None
            if self._with_main:
                from multiprocessing import spawn

                preparation = spawn.get_preparation_data("webtable")
                del preparation["authkey"]  # which may not be sent, and is of no use here
            worker = _Worker[T](Child("webtable._processes:work"))
            self._workers[worker.child.pipe] = worker
            worker.sent(preparation)
            worker.sent(self._function)

    def kill(self) -> None:
        """End all workers at once."""
        for worker in self._workers.values():
            worker.child.kill()

    def run(
        self,
        tasks: Iterator[tuple[int, T]],
        *,
        has_room: Callable[[], bool] = lambda: True,
        is_ending: Callable[[], bool] = lambda: False,
        is_overdue: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int | None, Any]]:
        """Yield what workers report for numbered *tasks*, with the number; returns when the last worker has ended.

        A task that is given up is reported as `GivenUp`, the end of a worker as `Ended` and with None, like what is
        about no task. New tasks are given only while there *has_room*; workers are told to end, and tasks stay
        `unfinished`, when it *is_ending*, and are killed when that *is_overdue*. Raises `WebTableError` if workers die
        before they can begin.
        """
        from multiprocessing.connection import wait

        following = next(tasks, None)
        while True:
            while self._returned and not is_ending() and self._hand_out(*self._returned[0]):
                self._returned.popleft()
            while following and not (self._returned or is_ending()) and has_room() and self._hand_out(*following):
                following = next(tasks, None)
            self._is_ending = is_ending()
            if self._is_ending or not (self._returned or following):
                self._tell_to_end()
            if is_overdue():
                self.kill()
            if not self._workers:
                break
            for pipe in wait(list(self._workers), _SECONDS):
                yield from self._receive_from(self._workers[pipe])
        self.unfinished += [task for _, task in self._returned]

    def _hand_out(self, number: int, task: T) -> bool:
        """Give the task to an idle worker; returns False if there is none yet."""
        # No task is sent ahead: what a dead worker had not begun would have to be told from what it had.
        for worker in self._workers.values():
            if worker.is_idle and worker.sent((number, task)):
                worker.is_idle = False
                worker.doing[number] = task
                return True
        self.start()
        return False

    def _tell_to_end(self) -> None:
        for worker in self._workers.values():
            if (worker.is_idle or self._is_ending) and not worker.is_to_end:
                worker.is_to_end = worker.sent(None)

    def _receive_from(self, worker: _Worker[T]) -> Iterator[tuple[int | None, Any]]:
        try:
            message = worker.child.pipe.recv()
        except (EOFError, OSError):
            yield from self._remove(worker)
            return
        worker.was_heard, self._false_starts = True, 0
        if isinstance(message, _Idle):
            worker.is_idle = True
        elif isinstance(message, Ended):
            worker.ended = message
            yield None, message
        else:
            number, value, rest = message
            if number is not None:
                del worker.doing[number], self._deaths[number]
                if rest is not None:
                    worker.doing[number] = rest
            yield number, value

    def _remove(self, worker: _Worker[T]) -> Iterator[tuple[int, GivenUp]]:
        """Remove a worker that has ended; what it had not finished is given to others."""
        del self._workers[worker.child.pipe]
        worker.child.end(kill=False)
        death = worker.death()
        if death is not None:
            self.deaths.append(death)
            # One may have been killed for its memory; where each of them dies at once, the next would as well.
            self._false_starts += not worker.was_heard
            if self._false_starts > self._count:
                raise WebTableError(f"workers die before they can begin: {death}")
        if self._is_ending:
            self.unfinished += worker.doing.values()
            return
        for number, task in worker.doing.items():
            self._deaths[number] += 1
            if self._deaths[number] < MOST_DEATHS:
                self._returned.append((number, task))
            else:
                yield number, GivenUp(task, f"{MOST_DEATHS} workers died there: {death}")

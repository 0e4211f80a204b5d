"""A process of its own for work that may take too much: the system ends it when it has had its memory or its time.

A parser in C can be stopped by nothing else. The process is started when it is needed first and stays; it ends with
the one that started it, and one that has grown large makes room for a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from webtable._process_hooks import renew_after_fork
from webtable._processes import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

_READY = b"webtable"
_OUT_OF_MEMORY = 3


class TooMuch(Exception):
    """The work needed more than it was given; `limit` is "memory" or "seconds"."""

    def __init__(self, limit: Literal["memory", "seconds"]) -> None:
        super().__init__(limit)
        self.limit: Literal["memory", "seconds"] = limit


class Unavailable(Exception):
    """There can be no such process here."""


class ParserProcess:
    """Has the function *name* ("module:function", bytes to bytes) called in a process that is bounded.

    One call at a time: further threads wait. In a forked child it is a new process. One that has grown large is
    renewed, unless the function *keeps* something between calls; then its memory is counted from after
    `prepare` of that module.
    """

    def __init__(self, name: str, *, keeps: bool = False) -> None:
        self._name = name
        self._keeps = keeps
        self._question: tuple[bytes, int, float] | None = None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._unavailable = not hasattr(signal, "setitimer")  # as on Windows
        renew_after_fork(self)
        atexit.register(self.close)

    def call(self, work: bytes, *, memory: int, seconds: float) -> bytes:
        """Return the answer to *work*; raises `TooMuch`, or `Unavailable` where no process can be started."""
        with self._lock:
            self._ask(work, memory, seconds)
            return self._answer()

    def ask(self, work: bytes, *, memory: int, seconds: float) -> None:
        """Send *work*, whose answer `answer` returns: until then the process works beside its caller.

        For a caller that has the process for itself. Raises what `call` does.
        """
        with self._lock:
            self._ask(work, memory, seconds)

    def answer(self) -> bytes:
        """Return the answer to what was asked last; raises what `call` does."""
        with self._lock:
            if self._child is None and self._question is not None:  # after a fork
                self._ask(*self._question)
            return self._answer()

    def drop_question(self) -> None:
        """End the process if it was asked something: its answer would be taken for the answer to the next."""
        with self._lock:
            if self._question is not None:
                self._question = None
                self._end()

    def _ask(self, work: bytes, memory: int, seconds: float) -> None:
        child = self._child or self._started()
        self._question = (work, memory, seconds)
        with self._ending():
            child.pipe.send_bytes(json.dumps([memory, seconds]).encode())
            child.pipe.send_bytes(work)

    def _answer(self) -> bytes:
        child = self._child
        if child is None:
            raise TooMuch("memory")
        with self._ending():
            goes_on = child.pipe.recv_bytes()
            answer = child.pipe.recv_bytes()
        self._question = None
        if not (goes_on or self._keeps):
            self._end()
        return answer

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """End the process where a call fails."""
        try:
            yield
        except (OSError, EOFError) as exc:
            self._question = None
            raise TooMuch("seconds" if self._end(kill=False) == -signal.SIGPROF else "memory") from exc
        except BaseException:
            # What it answers to this would be taken for the answer to the next.
            self._question = None
            self._end()
            raise

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def after_fork(self) -> None:
        """Leave the process to the parent."""
        self._lock = threading.Lock()
        self._child = None

    def _started(self) -> Child:
        if self._unavailable:
            raise Unavailable
        try:
            child = self._child = Child(f"{__name__}:serve", is_quiet=True)
        except (OSError, RuntimeError, ValueError) as exc:  # no such file; the interpreter ends
            raise Unavailable from exc
        try:
            child.pipe.send_bytes(json.dumps([self._name, self._keeps]).encode())
            child.pipe.recv_bytes()
        except (OSError, EOFError) as exc:
            self._end()
            self._unavailable = True  # `sys.executable` is no Python, as where Python is embedded
            raise Unavailable from exc
        except BaseException:
            self._end()
            raise
        return child

    def _end(self, *, kill: bool = True) -> int | None:
        child, self._child = self._child, None
        return None if child is None else child.end(kill=kill)


def serve(pipe: Connection[Any, Any]) -> None:
    """Be the process: answer until nobody asks any more.

    It sends bytes and no pickles, since what it parses may have taken control of it.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Arrow's own allocators reserve much more than they use, which counts.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    name, keeps = json.loads(pipe.recv_bytes())
    home, _, function = name.partition(":")
    module = importlib.import_module(home)
    answered: Callable[[bytes], bytes] = getattr(module, function)
    if keeps:
        module.prepare()
    unbounded = resource.getrlimit(resource.RLIMIT_DATA)[1]
    own = _pages(5) if keeps else 0  # libraries reserve some for each core
    pipe.send_bytes(_READY)
    goes_on = True
    while goes_on:
        try:
            memory, seconds = json.loads(pipe.recv_bytes())
            work = pipe.recv_bytes()
        except (OSError, EOFError):
            return
        resource.setrlimit(resource.RLIMIT_DATA, (memory + own, unbounded))
        # Its signal ends the process, whatever it is at.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            answer = answered(work)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        signal.setitimer(signal.ITIMER_PROF, 0)
        # Memory that was freed is in pieces: a large page would not find room in what a large page has left.
        goes_on = keeps or _pages(1) < memory / 3
        pipe.send_bytes(b"1" if goes_on else b"")
        pipe.send_bytes(answer)


def _pages(field: int) -> int:
    """Return the memory of the process in bytes: all that is resident (1), or what the limit counts (5)."""
    # Not `ru_maxrss`, which on Linux begins with what the parent had.
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0

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
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from webtable._forks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READY = b"webtable"
_REQUEST = struct.Struct(">QdQ")
"""The memory in bytes, the time in seconds, and how many bytes of work follow."""
_ANSWER = struct.Struct(">?Q")
"""Whether the process goes on, and how many bytes of answer follow."""
_BEGIN = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from webtable._page.parser_process import serve; serve(sys.argv[2], keeps=sys.argv[3] == 'True')"
)
_OUT_OF_MEMORY = 3
_PIPE_BYTES = 1 << 20


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
        self._asked: tuple[bytes, int, float] | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unavailable = not hasattr(signal, "setitimer")  # as on Windows
        renew_after_fork(self)
        atexit.register(self.close)

    def call(self, work: bytes, *, memory: int, seconds: float) -> bytes:
        """Return the answer to *work*; raises `TooMuch`, or `Unavailable` where no process can be started."""
        with self._lock:
            self._ask(work, memory, seconds)
            return bytes(self._answer())

    def ask(self, work: bytes, *, memory: int, seconds: float) -> None:
        """Send *work*, whose answer `answer` returns: until then the process works beside its caller.

        For a caller that has the process for itself. Raises what `call` does.
        """
        with self._lock:
            self._ask(work, memory, seconds)

    def answer(self) -> bytearray:
        """Return the answer to what was asked last; raises what `call` does."""
        with self._lock:
            if self._process is None and self._asked is not None:  # after a fork
                self._ask(*self._asked)
            return self._answer()

    def drop_question(self) -> None:
        """End the process if it was asked something: its answer would be taken for the answer to the next."""
        with self._lock:
            if self._asked is not None:
                self._asked = None
                self._ended()

    def _ask(self, work: bytes, memory: int, seconds: float) -> None:
        process = self._process or self._started()
        self._asked = (work, memory, seconds)
        with self._ending():
            _write(process, _REQUEST.pack(memory, seconds, len(work)))
            _write(process, work)

    def _answer(self) -> bytearray:
        process = self._process
        if process is None:
            raise TooMuch("memory")
        with self._ending():
            goes_on, length = _ANSWER.unpack(_read(process, _ANSWER.size))
            answer = _read(process, length)
        self._asked = None
        if not (goes_on or self._keeps):
            self._ended()
        return answer

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """End the process where a call fails."""
        try:
            yield
        except (OSError, EOFError) as exc:
            self._asked = None
            raise TooMuch("seconds" if self._ended(kill=False) == -signal.SIGPROF else "memory") from exc
        except BaseException:
            # What it answers to this would be taken for the answer to the next.
            self._asked = None
            self._ended()
            raise

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._ended()

    def after_fork(self) -> None:
        """Leave the process to the parent."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # it is no child of this process, which must not wait for it
            _close(process)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._unavailable:
            raise Unavailable
        try:
            process = subprocess.Popen(  # noqa: S603 - this very Python
                [
                    sys.executable,
                    "-P",
                    "-c",
                    _BEGIN,
                    json.dumps(list(map(str, sys.path))),
                    self._name,
                    repr(self._keeps),
                ],
                bufsize=0,  # a fork in the middle of a call must not find bytes that it would write as well
                # Arrow's own allocators reserve much more than they use, which counts.
                env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the one who asked
            )
        except (OSError, RuntimeError, ValueError) as exc:  # no such file; the interpreter ends
            raise Unavailable from exc
        self._process = process
        if process.stdout is not None and sys.platform == "linux":
            import fcntl

            with contextlib.suppress(OSError):  # a user may have so much of them
                fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            _read(process, len(_READY))
        except (OSError, EOFError) as exc:
            self._ended()
            self._unavailable = True  # `sys.executable` is no Python, as where Python is embedded
            raise Unavailable from exc
        except BaseException:
            self._ended()
            raise
        return process

    def _ended(self, *, kill: bool = True) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        if kill:
            process.kill()
        _close(process)
        return process.wait()


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left and process.stdin:
        left = left[process.stdin.write(left) :]


def _read(process: subprocess.Popen[bytes], size: int) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest and process.stdout and (count := process.stdout.readinto(rest)):  # type: ignore[attr-defined]
        rest = rest[count:]
    if rest:
        raise EOFError
    return data


def serve(name: str, *, keeps: bool) -> None:
    """Be the process: answer until nobody asks any more."""
    import resource

    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    home, _, function = name.partition(":")
    module = importlib.import_module(home)
    answered: Callable[[bytes], bytes] = getattr(module, function)
    if keeps:
        module.prepare()
    unbounded = resource.getrlimit(resource.RLIMIT_DATA)[1]
    own = _pages(5) if keeps else 0  # libraries reserve some for each core
    answers.write(_READY)
    answers.flush()
    while len(head := requests.read(_REQUEST.size)) == _REQUEST.size:
        memory, seconds, length = _REQUEST.unpack(head)
        work = requests.read(length)
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
        answers.write(_ANSWER.pack(goes_on, len(answer)))
        answers.write(answer)
        answers.flush()
        if not goes_on:
            return


def _pages(field: int) -> int:
    """Return the memory of the process in bytes: all that is resident (1), or what the limit counts (5)."""
    # Not `ru_maxrss`, which on Linux begins with what the parent had.
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0

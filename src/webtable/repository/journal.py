"""The journal of a job: a file with its progress and its findings, from which another run goes on."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from datetime import datetime
from os.path import samestat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Generic, Self, TypeVar

import msgspec

from webtable._clock import clock
from webtable._files import Folder
from webtable.errors import DamagedRow, FormatError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

State = TypeVar("State", bound=msgspec.Struct)

SAVE_SECONDS: Final = 10.0
"""How often a walk over a table saves its progress, at most; rows read since then are read again."""
SHARE: Final = 20
"""A run spends at most one part in this many of its time on saving its findings, which may be large."""


class Walked(msgspec.Struct):
    """The findings of a walk in the rows up to the key `position`: the numbers of pages and damaged rows."""

    position: bytes = b""
    pages: int = 0
    damaged: int = 0
    examples: list[tuple[bytes, str | None, str]] = []
    """The key, the URL and the reason of the first damaged rows."""

    def damaged_rows(self) -> list[DamagedRow]:
        """Return `examples` as errors."""
        return [DamagedRow(*example) for example in self.examples]

    def add_examples(self, rows: Iterable[DamagedRow]) -> None:
        """Add the damaged *rows* to `examples`."""
        self.examples += [(damaged.row, damaged.url, damaged.reason) for damaged in rows]


class _Kept(msgspec.Struct, frozen=True):
    """The content of the file, as JSON, so that people can read it."""

    job: str
    at: datetime
    found: msgspec.Raw


# A new file takes the place of the old one, so a kill leaves the last state. It names its question: the findings of
# another one would be wrong in silence.
class Journal(Generic[State]):
    """The findings of a *job*, a value of the class *kind*, in the file *path*; not saved with None and /dev/null.

    *job* names the work and the table. Findings are due to be saved again after *seconds*. Concurrent runs may share a
    journal if each goes on from its own findings; otherwise it must be held by one run `alone`.
    """

    def __init__(
        self, path: str | PathLike[str] | None, job: str, kind: type[State], *, seconds: float | None = None
    ) -> None:
        self._path = None if path is None or os.fspath(path) == os.devnull else Path(path)
        self._job = job
        self._kind = kind
        self._seconds = SAVE_SECONDS if seconds is None else seconds
        self._next = clock.monotonic() + self._seconds
        self._held: IO[bytes] | None = None

    def alone(self, command: str) -> Self:
        """Lock the journal until it is closed, and return it.

        Raises `InvalidArgument` if another run of *command* has locked it, `OSError` if it cannot be written.
        """
        if self._path is not None:
            self._held = _held(self._path)
            # Each save moves a new file to this path, which is locked before it is moved.
            if self._held is None or not samestat(os.fstat(self._held.fileno()), self._path.lstat()):
                self.close()
                raise InvalidArgument(f"{self._path}: another {command} uses this journal; wait until it ends")
        return self

    def begun(self) -> State | None:
        """Return the findings that an earlier run has saved, or None.

        Raises `InvalidArgument` for the journal of another job, or a file that is not a journal, and `OSError`.
        """
        try:
            written = b"" if self._path is None else _content(self._path)
        except FileNotFoundError:
            return None
        if not written:
            return None
        try:
            kept = msgspec.json.decode(written, type=_Kept)
            if kept.job == self._job:
                return msgspec.json.decode(kept.found, type=self._kind)
        except msgspec.MsgspecError as exc:
            raise InvalidArgument(
                f"{self._path}: this is not a valid journal: {exc}; remove it to start from the beginning"
            ) from exc
        raise InvalidArgument(
            f"{self._path}: this is the journal of another run ({kept.job}), not of: {self._job}; "
            "let that run go on, or remove the file"
        )

    def is_due(self) -> bool:
        """Whether the findings should be saved now."""
        return self._path is not None and clock.monotonic() >= self._next

    def keep(self, state: State) -> None:
        """Save what was *state*; if the process is killed meanwhile, the last save stays. Raises `OSError`."""
        if self._path is None:
            return
        began = clock.monotonic()
        kept = _Kept(self._job, clock.now(), msgspec.Raw(msgspec.json.encode(state)))
        with _beside(self._path) as folder, folder.replacing(self._path.name, is_private=True) as file:
            file.write(msgspec.json.encode(kept))
            following = None if self._held is None else _locked(os.dup(file.fileno()))
        if following is not None:
            self._release()  # not `close`, in which a subclass saves
            self._held = following
        ended = clock.monotonic()
        # Findings may be large: after a slow save the next one waits longer.
        self._next = ended + max(self._seconds, (ended - began) * SHARE)

    def end(self) -> None:
        """Remove the file: the job is done."""
        if self._path is not None and self._path.is_file():
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Unlock it for other runs."""
        self._release()

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _beside(path: Path) -> Iterator[Folder]:
    """Give the folder of *path*, which may be somebody else's; raises `InvalidArgument` if *path* is no file there."""
    try:
        with Folder(path.parent) as folder:
            yield folder
    except FormatError as exc:
        raise InvalidArgument(str(exc)) from exc


def _content(path: Path) -> bytes:
    with _beside(path) as folder, folder.reading(path.name) as file:
        return file.read()


def _held(path: Path) -> IO[bytes] | None:
    """Return the file at *path*, created if missing, locked for this process; None if another has locked it.

    Raises `InvalidArgument` if it is no file, and `OSError` if it cannot be written.
    """
    with _beside(path) as folder:
        return _locked(folder.open(path.name, os.O_RDWR | os.O_APPEND | os.O_CREAT))


def _locked(descriptor: int) -> IO[bytes] | None:
    """Return the file of *descriptor*, locked for this process; None if another has locked it."""
    file = os.fdopen(descriptor, "ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file

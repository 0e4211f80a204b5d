"""How far a job has come and what it has found, in a file from which another run goes on."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from os.path import samestat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Generic, Self, TypeVar

import msgspec

from webtable._clock import clock
from webtable._whole_file import own_file, whole_file
from webtable.errors import DamagedRow, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from types import TracebackType

State = TypeVar("State", bound=msgspec.Struct)

SAVE_SECONDS: Final = 10.0
"""How often a walk over a table keeps how far it has come, at most: what it has looked at since is looked at again."""
SHARE: Final = 20
"""Of so many parts of its time a run spends one on keeping what it has found, which may be much, at most."""


class Walked(msgspec.Struct):
    """What a walk has found in the rows up to the one with the key `position`: pages and damaged rows."""

    position: bytes = b""
    pages: int = 0
    damaged: int = 0
    examples: list[tuple[bytes, str | None, str]] = []
    """The key, the URL and the reason of each damaged row that is kept."""

    def damaged_rows(self) -> list[DamagedRow]:
        """Return `examples` as they were met."""
        return [DamagedRow(*example) for example in self.examples]

    def add_examples(self, rows: Iterable[DamagedRow]) -> None:
        """Keep the damaged *rows*."""
        self.examples += [(one.row, one.url, one.reason) for one in rows]


class _Kept(msgspec.Struct, frozen=True):
    """What the file has: JSON, so that it can be read."""

    job: str
    at: datetime
    found: msgspec.Raw


class Journal(Generic[State]):
    """What a *job* has found so far, of the class *kind*, in the file *path*; with None it is not kept.

    *job* says what is done with which table. It is due to be kept again after *seconds*. Two runs at once are right
    where each goes on from what it has itself; where that is not so, the journal is for one run `alone` at a time.
    """

    def __init__(
        self, path: str | PathLike[str] | None, job: str, kind: type[State], *, seconds: float | None = None
    ) -> None:
        self._path = None if path is None else Path(path)
        self._job = job
        self._kind = kind
        self._seconds = SAVE_SECONDS if seconds is None else seconds
        self._next = clock.monotonic() + self._seconds
        self._held: IO[bytes] | None = None

    def alone(self, command: str) -> Self:
        """Hold the journal until it is closed, and return it.

        Raises `InvalidArgument` where another run of *command* holds it, `OSError` where it cannot be written.
        """
        if self._path is not None:
            self._held = _held(self._path)
            # Each time that it is kept another file comes to this path, which is held before it gets there.
            if self._held is None or not samestat(os.fstat(self._held.fileno()), self._path.stat()):
                self.close()
                raise InvalidArgument(f"{self._path}: another {command} uses this journal; wait for its end")
        return self

    def begun(self) -> State | None:
        """Return what an earlier run has kept; None where there is nothing.

        Raises `InvalidArgument` for a file of another job, or of anything else, and `OSError`.
        """
        try:
            written = b"" if self._path is None else self._path.read_bytes()
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
                f"{self._path}: this is not what an earlier run has kept: {exc}; without it all is looked at once more"
            ) from exc
        raise InvalidArgument(
            f"{self._path}: this is how far another run has come ({kept.job}), not {self._job}; "
            "let that go on, or remove the file"
        )

    def is_due(self) -> bool:
        """Whether what was found is to be kept again."""
        return self._path is not None and clock.monotonic() >= self._next

    def keep(self, found: State) -> None:
        """Keep what was *found*; a run that is killed meanwhile leaves what it had kept before. Raises `OSError`."""
        if self._path is None:
            return
        began = clock.monotonic()
        kept = _Kept(self._job, clock.now(), msgspec.Raw(msgspec.json.encode(found)))
        with whole_file(self._path) as part:
            part.write_bytes(msgspec.json.encode(kept))
            following = None if self._held is None else _held(part)
        if following is not None:
            self._release()  # not `close`, in which a journal of another class keeps what it has
            self._held = following
        ended = clock.monotonic()
        self._next = ended + max(self._seconds, (ended - began) * SHARE)

    def end(self) -> None:
        """Remove the file: the job is at its end."""
        if self._path is not None and self._path.is_file():
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let another run use it."""
        self._release()

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _held(path: Path) -> IO[bytes] | None:
    """Return the file at *path*, which is made if it is not there, held for this process; None where another holds it.

    Raises `OSError` where it cannot be written.
    """
    file = open(path, "ab", opener=own_file)  # noqa: SIM115 - open for as long as the journal
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file

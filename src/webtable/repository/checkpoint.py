"""How far a walk over a table has come and what it has found, in a file from which another one goes on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from webtable._clock import clock
from webtable._whole_file import whole_file
from webtable.errors import DamagedRow, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

State = TypeVar("State", bound=msgspec.Struct)

SAVE_SECONDS: Final = 10.0
"""How often a walk keeps how far it has come, at most: what it has looked at since is looked at again."""
SHARE: Final = 20
"""Of so many parts of its time a walk spends one on keeping what it has found, which may be much, at most."""


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

    question: str
    at: datetime
    found: msgspec.Raw


class Checkpoint(Generic[State]):
    """What a walk has found so far, of the class *kind*, in the file *path* until its end; with None it is not kept.

    *question* says what is asked of which table. The walk of two at once is right for both: each goes on from what it
    has itself.
    """

    def __init__(self, path: str | PathLike[str] | None, question: str, kind: type[State]) -> None:
        self._path = None if path is None else Path(path)
        self._question = question
        self._kind = kind
        self._next = clock.monotonic() + SAVE_SECONDS

    def begun(self) -> State | None:
        """Return what an earlier walk has kept; None where there is nothing.

        Raises `InvalidArgument` for a file of another question, or of anything else, and `OSError`.
        """
        try:
            written = b"" if self._path is None else self._path.read_bytes()
        except FileNotFoundError:
            return None
        if not written:
            return None
        try:
            kept = msgspec.json.decode(written, type=_Kept)
            if kept.question == self._question:
                return msgspec.json.decode(kept.found, type=self._kind)
        except msgspec.MsgspecError as exc:
            raise InvalidArgument(f"{self._path}: this is not what a walk over a table has kept: {exc}") from exc
        raise InvalidArgument(
            f"{self._path}: this is how far another walk has come ({kept.question}), not {self._question}; "
            "let that go on, or remove the file"
        )

    def is_due(self) -> bool:
        """Whether what was found is to be kept again."""
        return self._path is not None and clock.monotonic() >= self._next

    def keep(self, found: State) -> None:
        """Keep what was *found*; a walk that is killed meanwhile leaves what it had kept before. Raises `OSError`."""
        if self._path is None:
            return
        began = clock.monotonic()
        kept = _Kept(self._question, clock.now(), msgspec.Raw(msgspec.json.encode(found)))
        with whole_file(self._path) as path:
            path.write_bytes(msgspec.json.encode(kept))
        ended = clock.monotonic()
        self._next = ended + max(SAVE_SECONDS, (ended - began) * SHARE)

    def end(self) -> None:
        """Remove the file: the walk is at its end."""
        if self._path is not None and self._path.is_file():
            self._path.unlink(missing_ok=True)

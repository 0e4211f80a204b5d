"""What `copy --resume` keeps beside the target: up to which place of the source it has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from webtable.cli.journal import beside, opened_alone

if TYPE_CHECKING:
    from types import TracebackType


class _Line(msgspec.Struct):
    source: str
    token: str


class CopyJournal:
    """The journal of a copy from *source* into the store *target*, beside that; of a server in the current directory.

    A line that is lost with its process costs that much looking. Raises `InvalidArgument` where another run uses it.
    """

    def __init__(self, source: str, target: str) -> None:
        self.path = beside(target, "copy")
        self._source = source
        self._file = opened_alone(self.path, "copy")

    def token(self) -> str | None:
        """Return the token of the place where an earlier run has ended; None where there was none, or it is done."""
        found = None
        for line in self.path.read_bytes().splitlines():
            try:
                read = msgspec.json.decode(line, type=_Line)
            except msgspec.MsgspecError:
                continue  # what a kill or a full disk has left of it
            found = read.token if read.source == self._source else found
        return found

    def note(self, token: str | None) -> None:
        """Write that all is copied up to *token*; None forgets it, since nothing is left."""
        if token is None:
            self._file.truncate(0)
        else:
            # Behind a line end: what is left of a line that was cut must not take this one with it.
            self._file.write(b"\n" + msgspec.json.encode(_Line(self._source, token)) + b"\n")
            self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

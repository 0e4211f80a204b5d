"""The journal of `ingest --resume` and `import --resume`, beside a store: up to which record each file is stored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from webtable.formats import Place
from webtable.repository.journal import Journal

if TYPE_CHECKING:
    from webtable.formats.read import FilePart


class _StoredPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, or a part of one from `begin` to `stop`, whose first `records`, up to `place`, are stored.

    `made_with` names the options that decide what of a file is stored.
    """

    file: str
    size: int
    mtime: int
    made_with: str
    place: Place = Place()
    records: int = 0
    is_done: bool = False
    begin: int = 0
    stop: int | None = None

    @property
    def _source(self) -> tuple[object, ...]:
        return self.file, self.size, self.mtime, self.made_with, self.begin, self.stop

    def is_of(self, other: _StoredPart) -> bool:
        """Whether both are of the same file, the same part of it and the same options."""
        return self._source == other._source


class _Ingested(msgspec.Struct):
    parts: list[_StoredPart] = []


class IngestJournal(Journal[_Ingested]):
    """The journal at *path* for a run that stores with the options *made_with*.

    Raises `InvalidArgument` if another run uses it, `OSError` if it cannot be written.
    """

    def __init__(self, path: Path, made_with: str) -> None:
        super().__init__(path, "ingest", _Ingested, seconds=0)
        self._made_with = made_with
        self._is_kept = True
        self._is_open = False
        self.alone("ingest")
        try:
            found = self.begun() or _Ingested()
        except BaseException:
            self.close()
            raise
        self._before = {(part.file, part.begin): part for part in found.parts}
        self._now = self._before.copy()
        self._begun: dict[FilePart, _StoredPart] = {}
        self._is_open = True
        self._in_parts = {part.file for part in found.parts if part.begin or part.stop is not None}

    def forget(self) -> None:
        """Forget what earlier runs have stored."""
        self._before, self._now, self._is_kept = {}, {}, False

    @property
    def is_new(self) -> bool:
        """Whether no earlier run has stored anything."""
        return not self._before

    def begin(self, part: FilePart) -> tuple[Place, int] | None:
        """Return where to start reading *part*, and how many records are before that; None if all of it is stored.

        A file that has changed since, or was stored with other options, is read as a whole.
        """
        begun = self._begun[part] = self._stored(part)
        return None if begun.is_done else (begun.place, begun.records)

    def is_known(self, part: FilePart) -> bool:
        """Whether an earlier run has stored some of *part*."""
        stored = self._stored(part)
        return stored.place != Place(part.begin) or stored.is_done

    def is_in_parts(self, file: str) -> bool:
        """Whether an earlier run has read *file* in parts."""
        return str(Path(file).resolve()) in self._in_parts

    def note(self, part: FilePart, place: Place, records: int, *, is_done: bool) -> None:
        """Record that the begun *part* is stored up to *place*: one thread at a time."""
        stored = replace(self._begun[part], place=place, records=records, is_done=is_done)
        self._now[stored.file, stored.begin] = stored
        self._is_kept = False
        if self.is_due():
            self._keep()

    def close(self) -> None:
        """Write what is not yet written, and let others use the journal; one of nothing is removed."""
        if self._is_open and not self._now:
            self.end()
        elif not self._is_kept:
            self._keep()
        super().close()

    def _keep(self) -> None:
        self.keep(_Ingested(list(self._now.values())))
        self._is_kept = True

    def _stored(self, part: FilePart) -> _StoredPart:
        """Return what an earlier run stored of *part*: nothing, if it does not know it."""
        path = Path(part.file).resolve()
        status = path.stat()
        new = _StoredPart(
            str(path),
            status.st_size,
            status.st_mtime_ns,
            self._made_with,
            Place(part.begin),
            begin=part.begin,
            stop=part.stop,
        )
        known = self._before.get((new.file, new.begin))
        return known if known is not None and known.is_of(new) else new

"""What `ingest --resume` keeps beside a store: which file was stored up to which record."""

from __future__ import annotations

import fcntl
import threading
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from webtable._whole_file import own_file
from webtable.errors import InvalidArgument
from webtable.formats import Place
from webtable.formats.parts import FilePart
from webtable.store.url import StoreURL

if TYPE_CHECKING:
    from types import TracebackType
    from typing import BinaryIO

LINE_PAGES = 100
"""After so many acknowledged pages a line is added."""


def beside(store: str, ending: str) -> Path:
    """Return the file beside a *store* with this *ending*; that of a server is in the current directory."""
    url = StoreURL.parse(store)
    return Path(f"{url.rest if url.is_path else quote(url.typed, safe=':')}.{ending}")


def opened_alone(path: Path, command: str) -> BinaryIO:
    """Open the journal at *path* behind its end, for its owner and for one run at a time.

    Raises `InvalidArgument` where another run of the *command* uses it, `OSError` where it cannot be written.
    """
    file = open(path, "ab", opener=own_file)  # noqa: SIM115 - open for as long as the journal
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        file.close()
        raise InvalidArgument(f"{path}: another {command} uses this journal; wait for its end") from exc
    return file


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: a file, and the `place` in it that all pages are stored up to, `records` in all.

    `made_with` names the options that decide what of a file is stored. Of a file that workers read in parts each part
    has lines of its own, from `begin` to `stop`.
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

    def is_of(self, other: _Entry) -> bool:
        """Whether both are of the same file, the same part of it and the same options."""
        return replace(self, place=Place(), records=0, is_done=False) == replace(
            other, place=Place(), records=0, is_done=False
        )


class _Taken(NamedTuple):
    """A page that was taken, or the end of a file (without a URL), and what holds once it is stored."""

    url: str | None
    then: _Entry


class Journal:
    """The journal at *path* for a run that stores with the options *made_with*. May be used by several threads.

    A line is added when pages were acknowledged: one that is lost with its process costs that much reading, and no
    page. Raises `InvalidArgument` where another run uses it, `OSError` where it cannot be written.
    """

    def __init__(self, path: Path, made_with: str) -> None:
        self.path = path
        self._made_with = made_with
        self._file = opened_alone(path, "ingest")
        self._known = self._read()
        self._in_parts = {entry.file for entry in self._known.values() if entry.begin or entry.stop is not None}
        self._lock = threading.Lock()
        self._current: _Entry | None = None
        self._parts: dict[FilePart, _Entry] = {}
        self._waiting: deque[_Taken] = deque()
        self._settled: Counter[str] = Counter()
        self._unwritten = 0
        self._last: _Entry | None = None

    @staticmethod
    def beside(store: str) -> Path:
        """Return where the journal of *store* is: beside its file; that of a server in the current directory."""
        return beside(store, "ingest")

    def forget(self) -> None:
        """Forget what earlier runs have stored."""
        self._known.clear()
        self._file.truncate(0)

    @property
    def is_new(self) -> bool:
        """Whether no earlier run has stored anything."""
        return not self._known

    def begin(self, file: str) -> tuple[Place, int] | None:
        """Return where *file* is to be read from, and how many records are in front of that; None where it is stored.

        A file that is another one by now, or was stored with other options, is read from its beginning.
        """
        self._current = self._entry(FilePart(file))
        return None if self._current.is_done else (self._current.place, self._current.records)

    def begin_part(self, part: FilePart) -> tuple[Place, int] | None:
        """Return what `begin` does, of one part of a file: of parts several may have been begun."""
        entry = self._parts[part] = self._entry(part)
        return None if entry.is_done else (entry.place, entry.records)

    def is_known(self, part: FilePart) -> bool:
        """Whether an earlier run has stored some of *part*."""
        return self._entry(part).place != Place(part.begin) or self._entry(part).is_done

    def is_in_parts(self, file: str) -> bool:
        """Whether an earlier run has read *file* in parts."""
        return str(Path(file).resolve()) in self._in_parts

    def note(self, part: FilePart, place: Place, records: int, *, is_done: bool) -> None:
        """Write that of the begun *part* all is stored up to *place*."""
        entry = replace(self._parts[part], place=place, records=records, is_done=is_done)
        with self._lock:
            self._line(entry)

    def take(self, url: str, place: Place, records: int) -> None:
        """Take note that the page *url* comes, which ends at *place* of the file, its *records*-th record."""
        if self._current is not None:
            with self._lock:
                self._current = replace(self._current, place=place, records=records)
                self._waiting.append(_Taken(url, self._current))

    def end(self) -> None:
        """Take note that the file has come to its end."""
        if self._current is not None:
            with self._lock:
                self._waiting.append(_Taken(None, replace(self._current, is_done=True)))
                self._advance()

    def settle(self, url: str) -> None:
        """Take note that the page *url* is stored, or will never be."""
        with self._lock:
            self._settled[url] += 1
            self._advance()

    def close(self) -> None:
        """Write what is known, and let others use it."""
        with self._lock:
            self._write()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _advance(self) -> None:
        """Go behind all pages that are settled: those of a batch may be in another order than they came."""
        while self._waiting and ((url := self._waiting[0].url) is None or self._settled[url]):
            taken = self._waiting.popleft()
            if url is not None:
                self._settled[url] -= 1
                if not self._settled[url]:
                    del self._settled[url]
            if self._last is not None and self._last.file != taken.then.file:
                self._write()
            self._last = taken.then
            self._unwritten += 1
        if self._unwritten >= LINE_PAGES or (self._unwritten and not self._waiting):
            self._write()

    def _write(self) -> None:
        if self._last is not None and self._unwritten:
            self._line(self._last)
            self._unwritten = 0

    def _line(self, entry: _Entry) -> None:
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()

    def _entry(self, part: FilePart) -> _Entry:
        """Return the entry of *part*, as it is known."""
        path = Path(part.file).resolve()
        status = path.stat()
        new = _Entry(
            str(path),
            status.st_size,
            status.st_mtime_ns,
            self._made_with,
            Place(part.begin),
            begin=part.begin,
            stop=part.stop,
        )
        known = self._known.get((new.file, new.begin))
        return known if known is not None and known.is_of(new) else new

    def _read(self) -> dict[tuple[str, int], _Entry]:
        """Return the last line of each part. What a kill or a full disk has left of a line is none."""
        known: dict[tuple[str, int], _Entry] = {}
        written = self.path.read_bytes()
        if written and not written.endswith(b"\n"):
            self._file.write(b"\n")  # or the next line would be one with what is left of the last
        for line in written.splitlines():
            try:
                entry = msgspec.json.decode(line, type=_Entry)
            except msgspec.MsgspecError:
                continue
            known[entry.file, entry.begin] = entry
        return known

"""The full text of a table in a directory: an index of tantivy (https://github.com/quickwit-oss/tantivy).

One process writes at a time, and holds a lock from its first write until `close`; it may be killed at any moment.
Others read meanwhile, each call as of the last commit, and go on with a complete index while one is built in its place.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

import tantivy

from webtable._files import OWNER_ONLY_FOLDER, Folder
from webtable._messages import Command
from webtable._process_hooks import renew_after_fork
from webtable.errors import FormatError, NotAStore, StoreError, StoreRefused, StoreUnavailable
from webtable.store.full_text import Match, SearchIndex
from webtable.store.full_text.tantivy.documents import DocumentPacking, row_text, schema
from webtable.store.full_text.tantivy.reading import QueryMaker, Readers, all_documents, opened
from webtable.store.full_text.tantivy.state import (
    FILE,
    FOLDER,
    DirectoryState,
    Generation,
    read_state,
    translated,
    write_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from webtable.store.full_text import Document, TermQuery


# --- The lock of a directory of full text: one process writes to it at a time -----------------------------------------


LOCK_FILE = "writer.lock"


class WritingLock:
    """The lock of *directory*, which ends with its process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: int | None = None
        renew_after_fork(self)

    def acquire(self) -> None:
        """Take the lock, and make the directory if it is missing; raises `StoreUnavailable` if another one has it."""
        if self._file is not None:
            return
        directory = self._directory
        try:
            directory.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)
            with Folder(directory) as opened:
                file = opened.open(LOCK_FILE, os.O_RDWR | os.O_CREAT)
        except (FileExistsError, NotADirectoryError) as exc:
            raise NotAStore(f"{directory}: not a directory; full text needs one of its own") from exc
        except FormatError as exc:
            raise NotAStore(str(exc)) from exc
        except OSError as exc:
            raise StoreRefused(f"{directory}: full text cannot be written there: {exc.strerror}") from exc
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            holder = os.pread(file, 20, 0).decode("ascii", "replace")
            os.close(file)
            raise StoreUnavailable(
                f"{directory}: process {holder or 'unknown'} is writing full text there; wait until it has ended"
            ) from exc
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file

    def release(self) -> None:
        """Give the lock back, if this process has it."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # explicitly, because a forked child may still have the file open
            os.close(self._file)
            self._file = None

    def after_fork(self) -> None:
        """Leave the lock to the parent, in the child."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.release()


# --- The writing of documents into a folder of tantivy, which is open for one call at a time --------------------------
#
# So no thread is left between calls: what a commit has to merge is merged before the call returns.


_MEMORY: Final = 64 * 2**20
"""The bytes of terms that are collected before a segment is written."""
_COPIED_AT_ONCE: Final = 5_000
_LOCK: Final = ".tantivy-writer.lock"


def created(directory: Path, folder: str) -> None:
    """Make the *folder* with an empty index."""
    with translated(directory):
        (directory / folder).mkdir(mode=0o700)
        tantivy.Index(schema(), str(directory / folder), reuse=False)


def written(directory: Path, folder: str, documents: Sequence[Document], gone: Sequence[bytes]) -> list[bytes]:
    """Remove the rows *gone*, put *documents*, and commit; returns the rows whose terms are needed."""
    lacking: list[bytes] = []
    with translated(directory), _writer(directory, folder) as (index, writer):
        packing = DocumentPacking()
        searcher = index.searcher()
        queries = QueryMaker(index, searcher)
        put: dict[bytes, Document | None] = {}

        def known(row: bytes) -> Document | None:
            if row in put:
                return put[row]
            hits = searcher.search(queries.of_row(row), 1, count=False).hits
            return packing.unpacked(searcher.doc(hits[0][1])) if hits else None

        for row in gone:
            writer.delete_documents_by_term("row", row_text(row))
            put[row] = None
        for document in documents:
            if document.terms is None:
                before = known(document.row)
                if before is None or before.digest != document.digest:
                    lacking.append(document.row)
                    continue
                document = document._replace(terms=before.terms)
            writer.delete_documents_by_term("row", row_text(document.row))
            writer.add_document(packing.packed(document))
            put[document.row] = document
        writer.commit()
    return lacking


def copied(directory: Path, source: str, target: str) -> None:
    """Write the documents of the folder *source* into the new folder *target*."""
    created(directory, target)
    with translated(directory):
        packing = DocumentPacking()
        index = opened(directory, source)
        for some in all_documents(index, _COPIED_AT_ONCE):
            with _writer(directory, target) as (_, writer):
                for stored in some:
                    writer.add_document(packing.packed(packing.unpacked(stored)))
                writer.commit()


@contextmanager
def _writer(directory: Path, folder: str) -> Iterator[tuple[tantivy.Index, tantivy.IndexWriter]]:
    """Give the index and its writer, for a block that commits."""
    # Our own lock is held; this one may be inherited by a child of a writer, and would outlive it.
    with Folder(directory) as above:
        above.remove(f"{folder}/{_LOCK}")
    index = opened(directory, folder)
    # One thread: documents keep their order, so that the same writes make the same index.
    writer = index.writer(_MEMORY, 1)
    try:
        yield index, writer
    finally:
        writer.wait_merging_threads()


# ----------------------------------------------------------------------------------------------------------------------


_T = TypeVar("_T")


class TantivyIndex(SearchIndex):
    """The full text in *directory*, which is made when the index is created.

    Raises `StoreUnavailable` if another process is writing, `NotAStore` for a directory of something else, and
    `StoreError` for a damaged one.
    """

    at_once = 1_000

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = WritingLock(directory)
        self._readers = Readers(directory)
        self._mutex = threading.RLock()

    @property
    def as_of(self) -> datetime | None:
        """Up to when captures are in it, as `reach` was given it."""
        state = read_state(self._directory)
        return None if state is None else state.current.as_of

    def settings(self) -> str | None:
        """Return the settings of the index that is written."""
        state = read_state(self._directory)
        return None if state is None else state.newest.settings

    def searched(self) -> str | None:
        """Return the settings of the index that is read, unless that is not complete."""
        state = read_state(self._directory)
        return None if state is None or state.current.filled is not None else state.current.settings

    def filled(self) -> bytes | None:
        """Return the row up to which the index that is written is filled."""
        state = read_state(self._directory)
        return None if state is None else state.newest.filled

    def cursor(self) -> str:
        """Return what `reach` was given last."""
        state = read_state(self._directory)
        return "" if state is None else state.newest.cursor

    def create(self, settings: str) -> None:
        """Create the index in a new folder; a complete one that is there is read until the new one is filled."""
        with self._writing() as state:
            generation = Generation(_new_folder(), settings)
            created(self._directory, generation.folder)
            is_complete = state is not None and state.current.filled is None
            self._put(
                DirectoryState(state.current, generation) if state and is_complete else DirectoryState(generation)
            )

    def drop(self) -> None:
        """Remove the index, and one that is built."""
        if read_state(self._directory) is None:
            return
        with self._writing():
            (self._directory / FILE).unlink(missing_ok=True)
            self._clean(set())

    def write(
        self, documents: Iterable[Document], gone: Iterable[bytes] = (), *, filled: bytes | None = b""
    ) -> list[bytes]:
        """Write and commit, then keep *filled*; a killed write has committed all of it or nothing."""
        documents, gone = list(documents), list(gone)
        with self._writing() as state:
            newest = _needed(self._directory, state).newest
            lacking = written(self._directory, newest.folder, documents, gone) if documents or gone else []
            if filled != b"":
                self._reached(filled, newest.cursor, newest.as_of)
        return lacking

    def reach(self, cursor: str, as_of: datetime | None = None) -> None:
        """Keep *cursor*, and the moment *as_of* if it is given."""
        with self._writing() as state:
            newest = _needed(self._directory, state).newest
            self._reached(newest.filled, cursor, as_of or newest.as_of)

    def documents(self, after: bytes, limit: int) -> list[tuple[bytes, int]]:
        """Return the documents of the index that is written, as of its last commit."""
        return self._read(_newest, lambda folder: self._readers.documents(folder, after, limit))

    def captured(self, rows: Sequence[bytes]) -> list[int | None]:
        """Return the dates in the index that is written, as of its last commit."""
        return self._read(_newest, lambda folder: self._readers.captured(folder, rows))

    def matches(self, query: TermQuery, after: Match | None, limit: int) -> list[Match]:
        """Return the matches as of the last commit."""
        return self._read(_current, lambda folder: self._readers.matches(folder, query, after, limit))

    def _read(self, choose: Callable[[DirectoryState], str], read: Callable[[str], _T]) -> _T:
        """Return what *read* returns for the folder that *choose* names, also if that is replaced meanwhile."""
        while True:
            folder = choose(_needed(self._directory, read_state(self._directory)))
            try:
                return read(folder)
            except StoreError:
                state = read_state(self._directory)
                if state is not None and choose(state) == folder:
                    raise

    def compact(self) -> None:
        """Write the documents into a new folder, and remove the old one; takes the space of both meanwhile."""
        with self._writing() as state:
            state = _needed(self._directory, state)
            for one in (state.current, state.next):
                if one is not None:
                    folder = _new_folder()
                    copied(self._directory, one.folder, folder)
                    renewed = Generation(folder, one.settings, one.filled, one.cursor, one.as_of)
                    is_next = one is state.next
                    state = DirectoryState(state.current, renewed) if is_next else DirectoryState(renewed, state.next)
            self._put(state)

    def close(self) -> None:
        """Let other processes write; the object may be used again."""
        with self._mutex:
            self._readers.close()
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[DirectoryState | None]:
        """Hold the lock, and give the state; what killed writers have left is removed before."""
        with self._mutex:
            self._check()
            self._lock.acquire()
            state = read_state(self._directory)
            self._clean(set() if state is None else state.folders)
            yield state

    def _check(self) -> None:
        """Raise `NotAStore` for a directory that has files of others, and nothing of ours."""
        if self._directory.is_dir() and not (self._directory / LOCK_FILE).exists():
            for path in self._directory.iterdir():
                if path.name != FILE and FOLDER.fullmatch(path.name) is None:
                    raise NotAStore(f"{self._directory}: it has other files ({path.name}); name a new or empty one")

    def _reached(self, filled: bytes | None, cursor: str, as_of: datetime | None) -> None:
        state = _needed(self._directory, read_state(self._directory))
        newest = state.newest
        self._put(state.with_newest(Generation(newest.folder, newest.settings, filled, cursor, as_of)))

    def _put(self, state: DirectoryState) -> None:
        write_state(self._directory, state)
        self._clean(state.folders)

    def _clean(self, folders: set[str]) -> None:
        """Remove what the state does not name, as killed writers leave; who reads it goes on with the open files."""
        for path in self._directory.glob(f"{FILE}.*.part"):
            path.unlink(missing_ok=True)
        for path in self._directory.glob("index-*"):
            if path.name not in folders and FOLDER.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)

    def bytes(self) -> int:
        """Return the bytes of all files in the directory."""
        total = 0
        for path in self._directory.rglob("*"):
            with suppress(FileNotFoundError):  # merged meanwhile
                status = path.lstat()
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return total


def _new_folder() -> str:
    # Never used again, so that a reader knows by the name that it has another index.
    return f"index-{secrets.token_hex(8)}"


def _newest(state: DirectoryState) -> str:
    return state.newest.folder


def _current(state: DirectoryState) -> str:
    return state.current.folder


def _needed(directory: Path, state: DirectoryState | None) -> DirectoryState:
    if state is None:
        raise StoreError(f"{directory}: there is no full text: ", Command("search-index create"))
    return state

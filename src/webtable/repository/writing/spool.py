"""Pages that a writer could not store: kept in memory for the caller, or written to a file for `webtable ingest`."""

from __future__ import annotations

import os
import threading
from itertools import count
from logging import WARNING
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import zstandard

from webtable._clock import clock
from webtable._files import Folder, private_opener
from webtable.errors import InvalidArgument, InvalidCapture, WriteFailed
from webtable.page.json_lines import page_to_json
from webtable.page.page import Page, memory_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webtable.repository.writing.outcomes import PageOutcome


ENDING = ".jsonl.zst"


class Spool:
    """Files of pages: *path*, or with a number before the ending (`unsent-2.jsonl.zst`) if that exists already."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path)
        self._current: Path | None = None
        if not self.path.name.endswith(ENDING) or not self.path.parent.is_dir():
            raise InvalidArgument(
                f"spool={str(path)!r} must be a file whose name ends with {ENDING}, in a folder that exists"
            )

    def append(self, pages: Iterable[Page]) -> Path:
        """Append *pages* to the current file on disk, all or none, and return its path.

        They are a separate zstd frame, so that earlier pages stay readable if the process is killed meanwhile.
        Raises `OSError`, and `FormatError` if the file is no longer a regular one.
        """
        path = self._current or self._new_file()
        with Folder(path.parent) as folder:
            descriptor = folder.open(path.name, os.O_WRONLY | os.O_APPEND)
        size = os.fstat(descriptor).st_size
        try:
            # A copy of the descriptor, which is closed with the file: the other is needed to cut it after an error.
            with os.fdopen(os.dup(descriptor), "ab") as file:
                compressor = zstandard.ZstdCompressor(write_checksum=True)
                with compressor.stream_writer(file, closefd=False) as out:
                    for page in pages:
                        out.write(page_to_json(page) + b"\n")
                # On disk before a failure is reported: then a process that is killed loses nothing that was reported.
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            if size:
                os.ftruncate(descriptor, size)
            else:
                path.unlink(missing_ok=True)
                self._current = None
            raise
        finally:
            os.close(descriptor)
        self._current = path
        return path

    def end_file(self) -> None:
        """Have the next pages written to a new file: the caller may read and remove this one."""
        self._current = None

    def _new_file(self) -> Path:
        for number in count(1):
            stem = self.path.name.removesuffix(ENDING)
            path = self.path if number == 1 else self.path.with_name(f"{stem}-{number}{ENDING}")
            try:
                # Only a new file: one that is there may be another writer's, or wait to be ingested.
                open(path, "xb", opener=private_opener).close()
            except FileExistsError:
                continue
            return path
        raise AssertionError("numbers do not end")


class NotStored(NamedTuple):
    """The pages that were not stored: those that are returned to the caller, and the files with the others."""

    pages: list[Page]
    files: list[Path]
    error: Exception | None
    """Why some pages are not in a file."""


class Log(Protocol):
    """A function that logs an event."""

    def __call__(self, level: int, event: str, text: str, seconds: float, reason: str = "") -> None:
        """Count and log an event, as `TableContext.log`."""


class Unsent:
    """The pages that a writer could not store, until it reports them; they take at most *room* bytes.

    With a *spool* they are on disk when `add` returns. Without one, or if it cannot be written, pages over *room* are
    not kept. Pages that the table refuses are not written, since it would refuse them again. *log* gets an event when
    a file is written. Several threads may add pages.
    """

    def __init__(self, room: float, spool: Spool | None, log: Log) -> None:
        self._room = room
        self._spool = spool
        self._log = log
        self._lock = threading.Lock()
        self._pages: list[Page] = []
        self._refused: list[Page] = []
        self._bytes = 0
        self._files: list[Path] = []
        self.has_any: bool = False
        """Whether any were added since they were taken."""
        self._error: Exception | None = None

    def add(self, pages: Iterable[Page], outcomes: Sequence[PageOutcome]) -> None:
        """Add those of *pages* whose outcomes have errors."""
        self.has_any = True
        with self._lock:
            for page, outcome in zip(pages, outcomes, strict=True):
                if outcome.error is None:
                    continue
                weight = memory_of(page)
                if self._bytes + weight > self._room:
                    self._write()
                if self._bytes + weight <= self._room or not self._bytes:
                    (self._refused if isinstance(outcome.error, InvalidCapture) else self._pages).append(page)
                    self._bytes += weight
            self._write()

    def taken(self) -> NotStored:
        """Write the pages that are not in a file yet, and return all since the last call."""
        with self._lock:
            self.has_any = False
            self._write()
            not_stored = NotStored([*self._pages, *self._refused], self._files, self._error)
            self._pages, self._refused, self._bytes, self._files, self._error = [], [], 0, [], None
            if self._spool is not None:
                self._spool.end_file()
            return not_stored

    def _write(self) -> None:
        if self._spool is None or not self._pages:
            return
        began = clock.monotonic()
        try:
            path = self._spool.append(self._pages)
        except Exception as exc:  # noqa: BLE001 - after any error, the pages are returned to the caller
            text = f"could not write {len(self._pages)} pages to the spool"
            self._log(WARNING, "not-spooled", text, clock.monotonic() - began, type(exc).__name__)
            self._error = exc
            return
        self._log(WARNING, "spooled", f"wrote {len(self._pages)} pages to {path}", clock.monotonic() - began)
        if path not in self._files:
            self._files.append(path)
        self._pages, self._error = [], None
        self._bytes = sum(map(memory_of, self._refused))


def joined(errors: Sequence[WriteFailed]) -> WriteFailed:
    """Return one error for those of several writers."""
    if len(errors) == 1:
        return errors[0]
    failures = [failure for error in errors for failure in error.failures]
    return WriteFailed("; ".join(map(str, errors)), failures, [page for error in errors for page in error.pages])


def failed(failures: Sequence[PageOutcome], not_stored: NotStored) -> WriteFailed:
    """Return the error that names the pages that were not stored, with them or the files that have them."""
    reasons = "; ".join(_reason(failure) for failure in failures[:3])
    more = f"; and {len(failures) - 3:,} more" if len(failures) > 3 else ""
    sentences = [f"{_pages(len(failures))} not stored: {reasons}{more}"] if failures else []
    if not_stored.files:
        sentences.append(f"pages that could not be sent are in {', '.join(map(str, not_stored.files))}")
    if not_stored.error is not None:
        sentences.append(f"{_pages(len(not_stored.pages))} could not be written to the spool: {not_stored.error}")
    error = WriteFailed("; ".join(sentences), failures, not_stored.pages)
    error.__cause__ = not_stored.error
    return error


def _pages(count: int) -> str:
    return f"{count:,} page{'s'[: count > 1]}"


def _reason(failure: PageOutcome) -> str:
    reason = str(failure.error)
    return reason if reason.startswith(failure.url[:100]) else f"{failure.url[:100]}: {reason}"

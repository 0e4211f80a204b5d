"""The lock of a directory of full text: one process writes to it at a time."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

from webtable._files import OWNER_ONLY_FOLDER, Folder
from webtable._process_hooks import renew_after_fork
from webtable.errors import FormatError, NotAStore, StoreRefused, StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

FILE = "writer.lock"


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
                file = opened.open(FILE, os.O_RDWR | os.O_CREAT)
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

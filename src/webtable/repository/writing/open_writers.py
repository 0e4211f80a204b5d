"""The writers that are open: a table closes its own; those that are left open are closed when the interpreter exits."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
import weakref
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from webtable._process_hooks import renew_after_fork
from webtable.errors import InvalidCapture, WriteFailed, failed_together
from webtable.store.deadline import Deadline, until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from webtable.page.page import Page
    from webtable.repository.context import Frame
    from webtable.repository.metrics import WriterMetrics


class OpenWriter(Protocol):
    """The members of a writer that are used here."""

    name: str

    def put(self, page: Page) -> object:
        """Take *page* to be stored."""

    def put_not_modified(
        self, url: str, fetched_at: datetime | None = None, headers: Mapping[str, str] | None = None
    ) -> object:
        """Put that *url* was not modified."""

    @property
    def metrics(self) -> WriterMetrics:
        """How much it holds."""

    def close(self) -> None:
        """Store the pages that it holds."""


_open: set[OpenWriter] = set()
_registered_in: int | None = None
# In a child the writers are the parent's, which has the threads that store their pages.
os.register_at_fork(after_in_child=_open.clear)


def remember(writer: OpenWriter) -> None:
    """Have *writer* closed when the interpreter exits, unless `forget` is called for it."""
    global _registered_in
    _open.add(writer)
    if _registered_in == os.getpid():
        return
    _registered_in = os.getpid()
    atexit.register(_close_all)
    # A child of multiprocessing ends with os._exit, which runs no atexit handlers, only multiprocessing's own.
    if (util := sys.modules.get("multiprocessing.util")) is not None:
        util.Finalize(None, _close_all, exitpriority=100)


def forget(writer: OpenWriter) -> None:
    """Remove *writer*, which is closed."""
    _open.discard(writer)


def _close_all() -> None:
    """Close the writers that are open; the interpreter prints the errors that this raises."""
    left = list(_open)
    errors: list[Exception] = []
    for writer in left:
        try:
            writer.close()
        except Exception as exc:  # noqa: BLE001 - the other writers have pages too
            errors.append(exc)
        _open.discard(writer)
    for writer in left:
        try:
            warnings.warn(
                f"{writer.name}: a writer was left open; its pages were stored as the interpreter exited. "
                "Open it in a with block, or close() it",
                ResourceWarning,
                stacklevel=1,
            )
        except ResourceWarning as exc:  # where warnings are errors
            errors.append(exc)
    if errors:
        raise failed_together("the writers that were left open", errors)


class Writers:
    """The writers of the table of *frame*. Thread-safe."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._open: weakref.WeakSet[OpenWriter] = weakref.WeakSet()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make a new lock; writers check for themselves whether they are the parent's."""
        self._lock = threading.Lock()

    def add(self, writer: OpenWriter) -> None:
        """Add *writer*, to be closed with the others."""
        with self._lock:
            self._open.add(writer)

    def metrics(self) -> list[WriterMetrics]:
        """Return the metrics of each open writer."""
        return [writer.metrics for writer in self._all()]

    def put(self, page: Page, new_writer: Callable[[], OpenWriter]) -> None:
        """Do what `WebTable.put` does."""
        with until(Deadline(self._frame.store.timeout)), closing(new_writer()) as writer:
            writer.put(page)

    def put_not_modified(
        self,
        url: str,
        fetched_at: datetime | None,
        headers: Mapping[str, str] | None,
        new_writer: Callable[[], OpenWriter],
    ) -> None:
        """Do what `WebTable.put_not_modified` does."""
        from webtable.repository.questions.versions import get

        with until(Deadline(self._frame.store.timeout)):
            if get(self._frame, url, None, (), verify=False) is None:
                raise InvalidCapture(f"{url[:200]} is not stored, so it cannot be not modified: fetch the whole page")
            with closing(new_writer()) as writer:
                writer.put_not_modified(url, fetched_at, headers)

    def close(self) -> None:
        """Do what `WebTable.close` does."""
        errors: list[Exception] = []
        for writer in self._all():
            try:
                writer.close()
            except Exception as exc:  # noqa: BLE001 - the other writers have pages too
                errors += exc.exceptions if isinstance(exc, ExceptionGroup) else [exc]
        try:
            self._frame.store.close()
        except Exception as exc:  # noqa: BLE001
            errors.append(exc)
        failed = [exc for exc in errors if isinstance(exc, WriteFailed)]
        others = [exc for exc in errors if not isinstance(exc, WriteFailed)]
        if failed or others:
            from webtable.repository.writing.spool import joined

            raise failed_together(self._frame.name, [*([joined(failed)] if failed else []), *others])

    def _all(self) -> list[OpenWriter]:
        with self._lock:
            return list(self._open)

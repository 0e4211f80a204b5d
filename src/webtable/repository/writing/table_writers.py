"""All writers of one web table, which end together; and what is put without one of the caller's own."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from webtable._clock import clock
from webtable._forks import renew_after_fork
from webtable._page.page import Page
from webtable.errors import InvalidCapture, WriteFailed, failed_together
from webtable.store.deadline import Deadline, until

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from webtable.repository.frame import Frame
    from webtable.repository.metrics import WriterMetrics
    from webtable.repository.writing.writer import Writer


class Writers:
    """The writers of the table of *frame*. May be used by many threads."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._open: weakref.WeakSet[Writer] = weakref.WeakSet()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Make the lock anew; writers know themselves what is the parent's."""
        self._lock = threading.Lock()

    def opened(self, writer: Writer) -> Writer:
        """Return *writer*, which ends with the others."""
        with self._lock:
            self._open.add(writer)
        return writer

    def held(self) -> list[WriterMetrics]:
        """Return what each open writer holds."""
        return [writer.held() for writer in self._all()]

    def put(self, page: Page) -> None:
        """Do what `WebTable.put` does."""
        from webtable.repository.writing.batch import BatchWriter
        from webtable.repository.writing.writer import Writer

        timeout = self._frame.store.timeout
        writer = Writer(BatchWriter(self._frame, None), timeout=timeout, max_age=3_600)
        with until(Deadline(timeout)), self.opened(writer):
            writer.put(page)

    def put_not_modified(self, url: str, fetched_at: datetime | None, headers: Mapping[str, str] | None) -> None:
        """Do what `WebTable.put_not_modified` does."""
        from webtable.repository.questions.versions import get

        with until(Deadline(self._frame.store.timeout)):
            if get(self._frame, url, None, (), verify=False) is None:
                raise InvalidCapture(f"{url[:200]} is not stored, so nothing of it can be unmodified: fetch it whole")
            moment = clock.now() if fetched_at is None else fetched_at
            self.put(Page(url=url, status_code=304, same_as=url, fetched_at=moment, headers=headers or {}))

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
            from webtable.repository.writing.outcomes import joined

            raise failed_together(self._frame.name, [*([joined(failed)] if failed else []), *others])

    def _all(self) -> list[Writer]:
        with self._lock:
            return list(self._open)

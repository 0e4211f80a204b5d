"""Writers that were left open: what they hold is stored when the interpreter ends, and they say so."""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from typing import Protocol

from webtable.errors import failed_together


class Closing(Protocol):
    """A writer, as far as it matters here."""

    name: str

    def close(self) -> None:
        """Store what it holds."""


_open: set[Closing] = set()
_registered_in: int | None = None


def remember(writer: Closing) -> None:
    """Have *writer* closed when the interpreter ends, unless `forget` was told of it."""
    global _registered_in
    _open.add(writer)
    if _registered_in == os.getpid():
        return
    _registered_in = os.getpid()
    atexit.register(_close_all)
    # A child of multiprocessing ends by os._exit: what it runs before that is multiprocessing's own list.
    if (util := sys.modules.get("multiprocessing.util")) is not None:
        util.Finalize(None, _close_all, exitpriority=100)


def forget(writer: Closing) -> None:
    """Leave *writer* alone: it is closed, or it is another process's."""
    _open.discard(writer)


def _close_all() -> None:
    """Close the writers that are open, raising what goes wrong: the interpreter prints it."""
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
                f"{writer.name}: a writer was left open; what it held was stored as the interpreter ended. "
                "Open it in a with block, or close() it",
                ResourceWarning,
                stacklevel=1,
            )
        except ResourceWarning as exc:  # where warnings are errors
            errors.append(exc)
    if errors:
        raise failed_together("the writers that were left open", errors)

"""The pager (`--pager`): what a command writes to a terminal goes through `less`, or what `PAGER` names."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from webtable.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFAULT = "less"
_LESS = "FRSX"
"""What less does unless `LESS` says otherwise: end by itself where all has room, show colours, do not wrap lines."""
_open = False


def is_open() -> bool:
    """Whether standard output goes through a pager, and so to a terminal."""
    return _open


@contextmanager
def paged() -> Iterator[None]:
    """Send what is written in the block through the pager; raises `InvalidArgument` where there is no such program.

    What goes to standard error is shown in it too, below the lines: it would be written over them.
    """
    global _open
    program = os.environ.get("PAGER") or _DEFAULT
    begin, end = os.pipe()
    try:
        pager = subprocess.Popen(shlex.split(program), stdin=begin, env={"LESS": _LESS} | os.environ)  # noqa: S603
    except OSError as exc:
        os.close(end)
        raise InvalidArgument(f"PAGER={program!r} cannot be run: {exc}") from exc
    finally:
        os.close(begin)
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream.isatty()]
    kept = [(stream.fileno(), os.dup(stream.fileno())) for stream in streams]
    for stream in streams:
        stream.flush()
        os.dup2(end, stream.fileno())
    os.close(end)
    _open = True
    try:
        yield
    finally:
        _open = False
        for stream in streams:
            with suppress(BrokenPipeError):  # it was left before the end
                stream.flush()
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        pager.wait()

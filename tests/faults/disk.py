"""The writes of SQLite to its files, hurt on their way: through the hook that SQLite has for tests of its own.

As a program it writes the next versions of all pages to a store in a file, and does to one of the writes what it is
told; at the end of its input it prints what came of it:

    python disk.py sqlite:crawl.db ledger 120 '{"log": true, "at": 17, "what": "half and killed"}'
"""

from __future__ import annotations

import _sqlite3
import ctypes
import errno
import json
import os
import random
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from load import Ledger, Load

import webtable
from webtable.store.sqlite import SQLiteStore, connections

What = Literal["killed", "half and killed", "done and killed", "fails", "disk full"]
KILLS: tuple[What, ...] = get_args(What)[:3]
_ERRORS = {"fails": errno.EIO, "disk full": errno.ENOSPC}


@dataclass
class Hurt:
    """What becomes of a write to the `-wal` (which is in a commit) or to the file itself (which is in a checkpoint).

    It is the write number `at` of that kind, or with a `share` any one by chance.
    """

    what: What
    log: bool
    at: int = 0
    share: float = 0.0


class _System(ctypes.Structure):
    """`sqlite3_vfs` (https://www.sqlite.org/c3ref/vfs.html): of its members the last ones replace system calls."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "size_of_file", "longest_path")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data")),
        ("methods", ctypes.c_void_p * 13),
        ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)),
        ("call", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


_PWRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_kept: list[object] = []  # SQLite goes on calling them


def hurt_writes(path: Path, hurt: Hurt, calls: Counter[str]) -> None:
    """Let *hurt* befall writes of this process to the store at *path*, from now on; they are counted in *calls*."""
    chance = random.Random(1)
    count = 0
    wanted = path.with_name(path.name + "-wal") if hurt.log else path

    def pwrite(file: int, data: int, size: int, offset: int) -> int:
        nonlocal count
        content = ctypes.string_at(data, size)
        if not wanted.exists() or not os.path.samestat(os.fstat(file), wanted.stat()):
            return os.pwrite(file, content, offset)
        count += 1
        if count != hurt.at and not chance.random() < hurt.share:
            return os.pwrite(file, content, offset)
        calls["hurt"] += 1
        if hurt.what in _ERRORS:
            ctypes.set_errno(_ERRORS[hurt.what])
            return -1
        os.pwrite(
            file, content[: {"killed": 0, "half and killed": size // 2, "done and killed": size}[hurt.what]], offset
        )
        os.write(1, b"killed\n")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("it goes on behind SIGKILL")

    hook = _PWRITE(pwrite)
    _kept.append(hook)
    _replace(ctypes.cast(hook, ctypes.c_void_p))


def _replace(hook: ctypes.c_void_p) -> None:
    library = ctypes.CDLL(_sqlite3.__file__)  # finds the SQLite that Python itself has loaded
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    address = library.sqlite3_vfs_find(None)
    system = _System.from_address(address)
    for name in (b"pwrite64", b"pwrite"):  # SQLite has been compiled to use one of them
        if system.call(address, name):
            assert system.set_call(address, name, hook) == 0
            return
    raise RuntimeError("this SQLite writes by other calls")


def write_on(url: str, ledger: Ledger, pages: int, hurt: Hurt | None) -> None:
    """Write the next versions of all pages until the input ends, and print the findings."""
    # 0.2 MB where webtable has 64: so that there are many checkpoints.
    connections.WRITER_SETTINGS = (*connections.WRITER_SETTINGS, "wal_autocheckpoint=25")
    tried, _ = ledger.read()
    last = max((version for versions in tried.values() for version in versions), default=0)
    with webtable.open(url) as table:
        load = Load(table, ledger, readers=0, pages=pages, last_version=last)
        if hurt is not None:
            store = table.store.wrapped
            assert isinstance(store, SQLiteStore)
            hurt_writes(store._file.path, hurt, load.findings.calls)
        with load:
            sys.stdin.read()
    print(json.dumps(vars(load.findings)))


if __name__ == "__main__":
    _, _url, _ledger, _pages, _hurt = sys.argv
    write_on(_url, Ledger(Path(_ledger)), int(_pages), Hurt(**json.loads(_hurt)) if _hurt else None)

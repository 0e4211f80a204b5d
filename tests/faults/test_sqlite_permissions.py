"""Files, directories and disks that may not be written, or not even read: what is answered, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import NewCell, Put
from webtable.store.sqlite import SQLiteStore

pytestmark = pytest.mark.faults
NOBODY = 65534
READ_ONLY = "the file, or its directory, is read-only for this user"


def put(row):
    return Put(row, [NewCell(b"f:q", 1, b"v")])


def keys(store):
    return [row.key for row in store.scan("t", [KeyRange()])]


@pytest.fixture
def folder():
    """A directory that everybody may enter, which those of pytest are not."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o777)
    yield made
    made.chmod(0o777)
    shutil.rmtree(made)


def files(path):
    return [file for suffix in ("", "-wal", "-shm") if (file := path.with_name(path.name + suffix)).exists()]


def left_behind(path, log):
    """Make a store with the row `a`; with *log* that is in the log, as a killed process leaves it."""
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", (FamilySchema("f"),)))
        store.write("t", [put(b"a")])
        if log:
            for file in files(path):
                shutil.copy(file, f"{file}.kept")
    for file in path.parent.glob("*.kept"):
        file.rename(file.with_suffix(""))
    for file in files(path):
        file.chmod(0o644)  # whoever is to read it here is another user


def unprivileged(code, path):
    """Return what *code* prints for each `tried(call)`, in a process for which permissions count."""
    begin = f"""
        import os, sys
        from webtable.errors import StoreError
        from webtable.rowkey import KeyRange
        from webtable.store import NewCell, Put
        from webtable.store.sqlite import SQLiteStore
        def tried(call):
            try:
                print(call())
            except StoreError as exc:
                print(type(exc).__name__, exc)
        def keys(store):
            return [row.key for row in store.scan("t", [KeyRange()])]
        def write(store, key):
            [outcome] = store.write("t", [Put(key, [NewCell(b"f:q", 1, b"v")])])
            return "stored" if outcome is None else f"{{type(outcome).__name__}} {{outcome}}"
        if not os.getuid():
            os.setgroups([])
            os.setgid({NOBODY})
            os.setuid({NOBODY})
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(begin) + textwrap.dedent(code), path],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "log", "read", "write"),
    [
        (0o444, 0o777, False, "[b'a']", "StoreRefused"),
        (0o444, 0o777, True, "[b'a']", "StoreRefused"),
        (0o444, 0o555, False, "[b'a']", "StoreRefused"),
        (0o444, 0o555, True, "[b'a']", "StoreRefused"),
        (0o666, 0o555, False, "[b'a']", "StoreRefused"),
        (0o666, 0o555, True, "[b'a']", "stored"),
        (0o000, 0o777, False, "StoreRefused", "StoreRefused"),
        (0o000, 0o777, True, "StoreRefused", "StoreRefused"),
        (0o666, 0o000, True, "StoreUnavailable", "StoreUnavailable"),
    ],
)
def test_what_may_not_be_written_is_read_where_sqlite_can_and_refused_by_name(
    folder, file_mode, folder_mode, log, read, write
):
    path = folder / "crawl.db"
    left_behind(path, log)
    for file in files(path):
        file.chmod(file_mode)
    before = files(path)
    folder.chmod(folder_mode)

    said = unprivileged(
        """
        tried(lambda: keys(SQLiteStore(sys.argv[1], timeout=2)))
        tried(lambda: write(SQLiteStore(sys.argv[1], timeout=2), b"b"))
        """,
        path,
    )

    assert [line.partition(" ")[0] for line in said] == [read, write]
    assert all(str(path) in line for line in said if line.startswith("Store"))
    folder.chmod(0o777)
    assert files(path) == before  # nothing was made, of which the owner might not be the owner
    for file in files(path):
        file.chmod(0o666)
    with SQLiteStore(path) as store:
        assert keys(store) == [b"a", b"b"][: 2 if write == "stored" else 1]


def test_permissions_that_are_taken_away_while_it_is_open_lose_nothing(folder):
    path = folder / "crawl.db"
    left_behind(path, log=False)
    if not os.getuid():
        for file in (path, folder):
            os.chown(file, NOBODY, NOBODY)

    said = unprivileged(
        """
        store = SQLiteStore(sys.argv[1], timeout=2)
        tried(lambda: write(store, b"b"))
        scan = store.scan("t", [KeyRange()])
        for suffix in ("", "-wal", "-shm"):
            os.chmod(sys.argv[1] + suffix, 0)
        os.chmod(os.path.dirname(sys.argv[1]), 0o500)
        tried(lambda: write(store, b"c"))
        tried(lambda: [row.key for row in scan])
        tried(lambda: keys(SQLiteStore(sys.argv[1], timeout=2)))
        tried(lambda: write(store, b"d"))
        """,
        path,
    )

    # Who has it open goes on; the connections that are made later are refused.
    assert [line.partition(" ")[0] for line in said[:2]] == ["stored", "stored"]
    assert said[3] == f"StoreRefused {path}: this user may not read it"
    assert said[4] == "stored"
    folder.chmod(0o777)
    for file in files(path):
        file.chmod(0o666)
    with SQLiteStore(path) as store:
        assert keys(store) == [b"a", b"b", b"c", b"d"]


@pytest.fixture
def disk(folder):
    """A disk of its own, which can be made read-only."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a disk")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "none", folder], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no disk can be mounted here: {made.stderr}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def remounted(disk, mode):
    return subprocess.run(["mount", "-o", f"remount,{mode}", disk], capture_output=True, check=False).returncode == 0


def test_a_store_on_a_read_only_disk_opens_for_reading(disk):
    path = disk / "crawl.db"
    left_behind(path, log=False)
    assert remounted(disk, "ro")

    said = unprivileged(
        """
        tried(lambda: keys(SQLiteStore(sys.argv[1], timeout=2)))
        tried(lambda: keys(SQLiteStore(sys.argv[1], create=True, timeout=2)))
        tried(lambda: write(SQLiteStore(sys.argv[1], timeout=2), b"b"))
        """,
        path,
    )

    assert said == ["[b'a']", "[b'a']", f"StoreRefused {path}: {READ_ONLY}"]


def test_what_a_killed_process_left_on_a_read_only_disk_is_read(disk):
    path = disk / "crawl.db"
    left_behind(path, log=True)
    assert remounted(disk, "ro")

    said = unprivileged(
        """
        tried(lambda: keys(SQLiteStore(sys.argv[1], timeout=2)))
        tried(lambda: write(SQLiteStore(sys.argv[1], timeout=2), b"b"))
        """,
        path,
    )

    assert said == ["[b'a']", f"StoreRefused {path}: {READ_ONLY}"]
    assert remounted(disk, "rw")
    with SQLiteStore(path) as store:
        assert keys(store) == [b"a"]

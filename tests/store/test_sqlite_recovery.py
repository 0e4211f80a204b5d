"""After a kill, a full disk or damage: what was acknowledged is there, and errors are of their kind."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from nightly import some
from webtable.errors import NotAStore, StoreError, StoreRefused, WebTableError
from webtable.rowkey import KeyRange
from webtable.schema import FamilySchema, TableSchema
from webtable.store import Delete, NewCell, Put, TimeRange, Wanted
from webtable.store.sqlite import SQLiteStore, opening
from webtable.store.sqlite.opening import PAGE_SIZE

FAMILIES = (FamilySchema("f"), FamilySchema("hour", versions=3, ttl=3600))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "crawl.db"


def beside(path, suffix):
    return path.with_name(path.name + suffix)


def put(row, value=b"x" * 3000, column=b"f:a"):
    return Put(row, [NewCell(column, 1000, value)])


def keys(store):
    return [row.key for row in store.scan("t", [KeyRange()])]


@contextmanager
def python(code, *arguments):
    """Run *code* in a process of its own, which is gone at the end."""
    imports = "from webtable.store.rows import *; from webtable.store.sqlite import SQLiteStore; import os, sys, time\n"
    process = subprocess.Popen(
        [sys.executable, "-c", imports + textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# ---- a killed checkpoint -------------------------------------------------------------------------------------------


def copied_back(path, pages, folder):
    """Yield, for each of the first *pages* writes of a checkpoint, the path of what a kill right behind it leaves.

    SQLite copies the newest version of each page in the log to its place, in the order of the pages.
    """
    before = path.read_bytes()
    log, index = beside(path, "-wal").read_bytes(), beside(path, "-shm").read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
        after = path.read_bytes()
    changed = [
        at for at in range(0, len(after), PAGE_SIZE) if before[at : at + PAGE_SIZE] != after[at : at + PAGE_SIZE]
    ]
    assert len(changed) >= pages
    for count in range(1, pages + 1):
        content = bytearray(before)
        for at in changed[:count]:
            content[len(content) :] = bytes(max(0, at - len(content)))
            content[at : at + PAGE_SIZE] = after[at : at + PAGE_SIZE]
        killed = folder / f"killed-{count}.db"
        killed.write_bytes(content)
        beside(killed, "-wal").write_bytes(log)
        beside(killed, "-shm").write_bytes(index)
        yield killed


@pytest.mark.parametrize("index", ["with its -shm", "without its -shm"])
def test_a_kill_at_any_page_write_of_a_checkpoint_loses_nothing(path, tmp_path, index):
    written = [b"%03d" % i for i in range(200)]
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(key) for key in written])

        for killed in copied_back(path, 50, tmp_path):
            if index == "without its -shm":
                beside(killed, "-shm").unlink()
            with SQLiteStore(killed) as found:
                assert keys(found) == written
                assert found.write("t", [put(b"after")]) == [None]


@pytest.mark.slow
def test_a_process_killed_in_a_checkpoint_leaves_a_store(path):
    code = """
        store = SQLiteStore(sys.argv[1])
        with store._file.exclusive() as connection:
            connection.execute("PRAGMA wal_autocheckpoint=1")  # so that it is in a checkpoint most of the time
        for i in range(1_000_000):
            assert store.write("t", [Put(b"%06d" % i, [NewCell(b"f:a", 1, b"x" * 50_000)])]) == [None]
            print(i, flush=True)
    """
    acknowledged = []
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
    for turn in range(5):
        with python(code, path) as writer:
            lines = [writer.stdout.readline() for _ in range(3 + turn)]
            os.kill(writer.pid, signal.SIGKILL)
            acknowledged += [b"%06d" % int(line) for line in [*lines, *writer.stdout]]

        with SQLiteStore(path) as found:
            assert set(acknowledged) <= set(keys(found))


def test_beside_a_log_the_file_is_never_taken_as_it_is(path, monkeypatch):
    modes = []
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name, **options: modes.append(name) or connect(name, **options))
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        modes.clear()

        SQLiteStore(path).close()

    assert modes
    assert not [mode for mode in modes if "immutable=1" in mode]


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("index", ["with its -shm", "without its -shm"])
def test_another_program_s_database_is_left_alone_with_its_log(path, tmp_path, create, index):
    (tmp_path / "other").mkdir()
    origin = tmp_path / "other" / "crawl.db"
    with closing(sqlite3.connect(origin)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE notes (text)")
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(beside(origin, suffix), beside(path, suffix))
    if index == "without its -shm":
        beside(path, "-shm").unlink()
    content = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}

    with pytest.raises(NotAStore, match=r"crawl\.db.*another program"):
        SQLiteStore(path, create=create)

    assert {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == content


def test_a_look_at_a_file_gives_up_no_locks_of_this_process(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE notes (text)")
        other.execute("BEGIN IMMEDIATE")
        beside(path, "-wal").write_bytes(b"left over")

        with pytest.raises(NotAStore):
            SQLiteStore(path)

        code = """
            import sqlite3
            try:
                sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as exc:
                print(exc)
        """
        beside(path, "-wal").unlink()
        with python(code, path) as process:
            assert "locked" in process.stdout.read()


@pytest.mark.parametrize("main", [None, b""])
def test_a_log_without_its_file_is_not_thrown_away(path, main):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        log = beside(path, "-wal").read_bytes()
    path.unlink()
    if main is not None:
        path.write_bytes(main)
    beside(path, "-wal").write_bytes(log)

    with pytest.raises(NotAStore, match=r"crawl\.db-wal"):
        SQLiteStore(path, create=True)

    assert beside(path, "-wal").read_bytes() == log


# ---- a full disk ---------------------------------------------------------------------------------------------------


def can_mount():
    if os.geteuid() or not shutil.which("unshare"):
        return False
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt"], capture_output=True
    )
    return tried.returncode == 0


FILLS_A_LIMITED_FILE = """
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
"""
FILLS_A_DISK = """
    ballast = open(sys.argv[1] + ".ballast", "wb")
    status = os.statvfs(os.path.dirname(sys.argv[1]))
    ballast.write(bytes(max(0, status.f_bavail * status.f_frsize - size)))
    ballast.flush()
"""


@pytest.fixture(params=["a limit of the process", *(["a small disk"] if can_mount() else [])])
def full(request, tmp_path):
    """Where a store is to be, and the code that leaves it little room (`size` bytes)."""
    with ExitStack() as stack:
        if request.param == "a limit of the process":
            yield tmp_path / "crawl.db", FILLS_A_LIMITED_FILE
            return
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", tmp_path], check=True)
        stack.callback(subprocess.run, ["umount", tmp_path], check=True)
        yield tmp_path / "crawl.db", FILLS_A_DISK


@pytest.mark.parametrize("size", [300_000, 1_000_000, 3_333_333])
def test_what_a_full_disk_has_acknowledged_is_there(full, size):
    path, fill = full
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
    code = (
        f"""
        size = {size}
        store = SQLiteStore(sys.argv[1])
        with store._file.exclusive() as connection:
            connection.execute("PRAGMA wal_autocheckpoint=20")
        assert store.write("t", [Put(b"first", [NewCell(b"f:a", 1, b"")])]) == [None]
    """
        + textwrap.indent(textwrap.dedent(fill), " " * 8)
        + """
        failed = 0
        for i in range(10_000):
            [outcome] = store.write("t", [Put(b"%06d" % i, [NewCell(b"f:a", 1, os.urandom(20_000))])])
            if outcome is None:
                print(f"{i:06}", flush=True)
            else:
                failed += 1
                print(type(outcome).__name__, file=sys.stderr)
                if failed > 5:
                    break
        os._exit(0 if failed else 1)
    """
    )
    with python(code, path) as writer:
        acknowledged = writer.stdout.read().split()
        assert writer.wait(120) == 0

    # Without the ballast, and without it being gone: there is no room for anything but to read.
    with SQLiteStore(path) as store:
        found = keys(store)

    assert set(found) >= {b"first", *(key.encode() for key in acknowledged)}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# ---- damage --------------------------------------------------------------------------------------------------------


def test_damage_is_told_with_what_sqlite_found_and_what_helps(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(b"%04d" % i) for i in range(500)])
    content = bytearray(path.read_bytes())
    content[PAGE_SIZE * 8 :] = b"\xaa" * (len(content) - PAGE_SIZE * 8)
    path.write_bytes(content)

    with SQLiteStore(path) as damaged, pytest.raises(StoreRefused) as raised:
        keys(damaged)

    message = str(raised.value)
    assert "damaged" in message
    assert "integrity_check" in message
    assert "webtable backup rescue FILE" in message
    assert "-wal and -shm" in message


def test_a_file_that_was_cut_short_is_said_to_be_damaged(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(b"%04d" % i) for i in range(500)])
    os.truncate(path, PAGE_SIZE * 5)

    with pytest.raises(StoreRefused, match=r"crawl\.db: the file is damaged.*webtable backup rescue"):
        SQLiteStore(path)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE families SET options = '{'",
        "UPDATE families SET options = '[1]'",
        """UPDATE families SET options = '{"versions": "3"}'""",
        """UPDATE families SET options = '{"versions": 0}'""",
        """UPDATE families SET options = '{"colour": "red"}'""",
        """UPDATE families SET options = '{"ttl": NaN}'""",
        "UPDATE families SET options = 7",
        "UPDATE families SET options = x'ff'",
        "UPDATE families SET name = x'ff' WHERE id = 1",
        "UPDATE families SET name = CAST(x'ff' AS TEXT) WHERE id = 1",
        "UPDATE tables SET split_keys = '[\"zz\"]'",
        "UPDATE tables SET split_keys = '{}'",
        "UPDATE tables SET split_keys = 1",
        "DROP TABLE cells_1",
        "DROP TABLE deletes_1",
        "DROP TABLE families",
        "UPDATE families SET swept = 'text', swept_deletes = 7",
        "UPDATE cells_1 SET value = 'text'",
        "UPDATE cells_1 SET value = 7",
        "UPDATE cells_1 SET timestamp = 'text'",
        "UPDATE cells_1 SET timestamp = 7.5",
        "UPDATE cells_1 SET timestamp = -9223372036854775808",
        "UPDATE cells_1 SET qualifier = 'text'",
        "UPDATE cells_1 SET row = row || 'text'",
        "UPDATE deletes_1 SET timestamp = 'text'",
        "UPDATE deletes_1 SET scope = 7",
        "UPDATE tables SET name = x'ff'",
    ],
)
def test_a_catalogue_or_cells_that_make_no_sense_are_errors_of_their_kind(path, change):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(b"a"), put(b"b", column=b"hour:a"), Delete(b"c", 1)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(change)
        connection.commit()

    use_all(path)


def use_all(path):
    """Use the store at *path* in every way; only errors of ours may come out of it."""
    try:
        store = SQLiteStore(path, timeout=2)
    except WebTableError:
        return
    calls = [
        store.tables,
        lambda: store.describe("t"),
        lambda: store.regions("t"),
        lambda: store.read("t", [b"a", b"0003"]),
        lambda: store.read("t", [b"a"], Wanted(versions=3, time_range=TimeRange(-(2**70), 2**70))),
        lambda: list(store.scan("t", [KeyRange()])),
        lambda: list(store.scan("t", [KeyRange()], reverse=True)),
        lambda: list(store.scan("t", [KeyRange()], Wanted(keys_only=True))),
        lambda: list(store.scan("t", [KeyRange()], Wanted(versions=3))),
        lambda: store.first_rows("t", [KeyRange(b"0003"), KeyRange()], 3, reverse=True),
        lambda: store.read_cells("t", [b"a"], b"f", limit=10**30),
        lambda: check(store.write("t", [put(b"0003"), Put(b"z", [NewCell(b"f:q", 2**63 - 2, b"")]), Delete(b"a", 5)])),
        lambda: check(store.write("t", [Put(b"%d" % i, [NewCell(b"hour:q", 1, b"")]) for i in range(3000)])),
        lambda: store.set_family("t", FamilySchema("new")),
        lambda: store.create_table(TableSchema("u", FAMILIES)),
        lambda: store.compact(["t"]),
        lambda: store.drop_table("t"),
    ]
    with store:
        for call in calls:
            with suppress(WebTableError):
                call()


def check(outcomes):
    assert [outcome for outcome in outcomes if outcome is not None and not isinstance(outcome, StoreError)] == []


def test_a_definition_of_a_table_that_is_no_text_is_damage(path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE cells_", b"CREA\x9dE TABLE cells_"))

    with pytest.raises(StoreRefused, match="the file is damaged"):
        SQLiteStore(path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_only_errors_of_ours_come_out_of_a_damaged_file(path, seed, tmp_path):
    with SQLiteStore(path, create=True) as store:
        store.create_table(TableSchema("t", FAMILIES))
        store.write("t", [put(b"%04d" % i, b"x" * 300) for i in range(100)])
        store.write("t", [put(b"%04d" % i, b"x" * 20_000, b"hour:a") for i in range(5)])
        store.write("t", [Delete(b"%04d" % i, 1) for i in range(5)])
    whole = path.read_bytes()
    randomly = random.Random(seed)

    for turn in range(30):
        content = bytearray(whole)
        for _ in range(randomly.choice((1, 5, 50))):
            # Headers of pages and of records are where a wrong byte does most.
            at = randomly.randrange(len(content))
            at -= randomly.choice((0, at % PAGE_SIZE))
            content[min(at + randomly.randrange(0, 200), len(content) - 1)] = randomly.randrange(256)
        if turn % 10 == 9:
            del content[randomly.randrange(len(content)) :]
        damaged = tmp_path / f"damaged-{turn}.db"
        damaged.write_bytes(content)

        use_all(damaged)


def test_a_descriptor_is_kept_once_for_a_file(path, monkeypatch):
    monkeypatch.setattr(opening, "_descriptors", {})
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE notes (text)")
    beside(path, "-wal").write_bytes(b"left over")

    for _ in range(3):
        with pytest.raises(NotAStore):
            SQLiteStore(path)

    assert len(opening._descriptors) == 1
    os.close(opening._descriptors.popitem()[1])

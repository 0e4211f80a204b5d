"""Folders of others: whatever lies where a file or a folder should be, nothing outside is read, written or removed.

Each consumer of names, out of manifests, listings and archives or its own, meets each kind of thing at each of them.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import socket
import zipfile
from collections.abc import Callable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import msgspec
import pytest
from test_exports import sealed
from test_wacz_reading import warc

import webtable
from nightly import some
from webtable import Page
from webtable._checksums import with_checksum
from webtable._files import Folder, plain_parts
from webtable.errors import FormatError, StoreError, WebTableError
from webtable.formats import parquet_dataset, read_export, read_pages, verify_export, write_dataset, write_export
from webtable.repository.journal import Journal, Walked
from webtable.repository.writing.spool import Spool
from webtable.store.full_text import Document, TermPhrase, TermQuery
from webtable.store.full_text.tantivy_index import TantivyIndex
from webtable.store.sqlite import SQLiteStore

START = datetime(2026, 3, 1, 10, 20, 30, tzinfo=UTC)


def pages(*hosts, at=START, title="A page"):
    body = f"<title>{title}</title>".encode()
    return [Page(url=f"https://{host}/{n}", body=body, fetched_at=at) for host in hosts for n in range(3)]


def large_pages():
    bodies = map(random.Random(1).randbytes, [2_000] * 120)
    return [Page(url=f"https://example.com/{n}", body=body, fetched_at=START) for n, body in enumerate(bodies)]


def table_of(*stored, name=None):
    table = webtable.open(f"memory:{name or uuid4()}", create=True)
    with table.writer() as writer:
        writer.put_many(stored)
    return table


def make_dataset(folder):
    with table_of(*pages("example.com", "a.example")) as table:
        write_dataset(table, folder, webtable.ALL, partition_by="host")


def add_to_dataset(folder):
    newer = pages("example.com", "a.example", at=datetime(2026, 4, 1, tzinfo=UTC), title="Newer")
    with table_of(*newer, *pages("b.example")) as table:
        return write_dataset(table, folder, webtable.ALL, partition_by="host", since="last")


def make_cut_dataset(folder):
    """Leave an export as a kill leaves it that comes when all files are complete."""
    make_dataset(folder)
    with pytest.MonkeyPatch.context() as patched:
        for name in ("_settle", "_drop_incoming"):
            patched.setattr(parquet_dataset, name, lambda _: None)
        add_to_dataset(folder)


def make_export(folder):
    with table_of(*large_pages()) as table:
        write_export(table, folder, webtable.ALL, file_bytes=20_000)


def make_cut_export(folder):
    def cut(count):
        raise KeyboardInterrupt

    with table_of(*large_pages()) as table, pytest.raises(KeyboardInterrupt):
        write_export(table, folder, webtable.ALL, on_progress=cut, file_bytes=20_000)


def resume_export(folder):
    with table_of(*large_pages()) as table:
        write_export(table, folder, webtable.ALL, file_bytes=20_000, resume=True)


def verify(folder):
    problems = verify_export(folder).problems
    if problems:
        raise FormatError(problems[0])


def document(row):
    return Document(row, 1, "digest", 200, "text/html", "en", ("title", "", "words", ""))


def make_full_text(folder):
    index = TantivyIndex(folder)
    index.create("settings")
    index.write([document(b"row")])
    index.close()


def write_full_text(folder):
    index = TantivyIndex(folder)
    try:
        index.write([document(b"other")])
    finally:
        index.close()


def search_full_text(folder):
    index = TantivyIndex(folder)
    try:
        assert index.matches(TermQuery((TermPhrase(("words",)),)), None, 10)
    finally:
        index.close()


def make_journal(folder):
    folder.mkdir()
    Journal(folder / "journal", "job", Walked).keep(Walked(b"row", 1))


def go_on_by_journal(folder):
    with Journal(folder / "journal", "job", Walked).alone("walk") as journal:
        assert journal.begun() is not None
        journal.keep(Walked(b"row", 2))


def begin_journal(folder):
    Journal(folder / "journal", "job", Walked).keep(Walked(b"row", 2))


@contextmanager
def copied_tables():
    # Always of the same names, which are in the journal.
    with table_of(*pages("example.com"), name="from") as table, table_of(name="to") as target:
        yield table, target


def copy(folder):
    with copied_tables() as (table, target):
        table.maintenance.copy(target, resume=folder / "journal")


def make_copy_journal(folder):
    folder.mkdir()

    def end(_):
        raise KeyboardInterrupt

    with copied_tables() as (table, target), pytest.raises(KeyboardInterrupt):
        table.maintenance.copy(target, resume=folder / "journal", rate=10_000, on_copied=end)


class SpoolAfter(Spool):
    """A spool that has written to its file before."""

    def __init__(self, path):
        super().__init__(path)
        self._current = self.path


def make_spool(folder):
    folder.mkdir()
    Spool(folder / "unsent.jsonl.zst").append(pages("example.com"))


def append_to_spool(folder):
    SpoolAfter(folder / "unsent.jsonl.zst").append(pages("a.example"))


def make_store(folder):
    folder.mkdir()
    webtable.open(folder / "crawl.db", create=True).close()
    for ending in ("-wal", "-shm", "-journal"):
        (folder / f"crawl.db{ending}").write_bytes(b"")


def open_store(folder):
    with webtable.open(folder / "crawl.db") as table:
        table.put(pages("a.example")[0])


def back_up_store(folder):
    with SQLiteStore(folder / "crawl.db", create=False) as store:
        store.backup(folder / "backup.db")


def rescue_store(folder):
    from webtable.store import StoreURL

    SQLiteStore.rescue(StoreURL.parse(str(folder / "crawl.db")), folder / "rescued.db")


class Consumer(NamedTuple):
    """Something that makes a folder, something that uses it, and the names in it that the second one uses."""

    make: Callable[[Path], object]
    use: Callable[[Path], object]
    files: tuple[str, ...]
    folders: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Those that are only removed, or replaced, themselves, so that what they lead to does not matter."""


EXPORT = ("manifest.json", "webtable-00001.jsonl.zst")
INDEX = tuple(f"index-*/{name}" for name in ("meta.json", ".managed.json", "*.store", "*.idx", ".tantivy-meta.lock"))
STORE = ("crawl.db-wal", "crawl.db-shm", "crawl.db-journal")
CONSUMERS = {
    "dataset": Consumer(
        make_dataset,
        add_to_dataset,
        ("_manifest.json", "_state/part-0001-*.parquet"),
        ("_state", "_files", "host=example.com", "_incoming"),
    ),
    "dataset cut short": Consumer(
        make_cut_dataset,
        add_to_dataset,
        (
            *("_incoming/_manifest.json", "_incoming/_state/part-0002-*", "_incoming/host=example.com/part-*"),
            *("_incoming/_files/part-0002.jsonl", "_manifest.json", "_state/part-0001-*", "_state/part-0002-0.parquet"),
        ),
        (
            *("_incoming", "_incoming/_state", "_incoming/_files", "_incoming/host=example.com", "_incoming/host=b"),
            *("_state", "_files", "host=example.com", "host=b.example"),
        ),
        removed=("_state/part-0001-*", "_manifest.json", "_incoming/_manifest.json"),
    ),
    "export": Consumer(make_cut_export, resume_export, EXPORT),
    "export after the last file": Consumer(
        make_cut_export, resume_export, ("webtable-00009.jsonl.zst",), removed=("webtable-00009.jsonl.zst",)
    ),
    "verify": Consumer(make_export, verify, EXPORT),
    "import": Consumer(make_export, lambda folder: list(read_export(folder)), EXPORT),
    "full text, written": Consumer(
        make_full_text,
        write_full_text,
        ("search.json", "writer.lock", *INDEX, "index-*/.tantivy-writer.lock"),
        ("index-*",),
        removed=("index-*/.tantivy-writer.lock",),
    ),
    "full text, read": Consumer(make_full_text, search_full_text, ("search.json", *INDEX), ("index-*",)),
    "journal": Consumer(make_journal, go_on_by_journal, ("journal",)),
    "journal, new": Consumer(make_journal, begin_journal, ("journal",)),
    "copy": Consumer(make_copy_journal, copy, ("journal",)),
    "spool": Consumer(make_spool, append_to_spool, ("unsent.jsonl.zst",)),
    "store": Consumer(make_store, open_store, STORE),
    "backup": Consumer(make_store, back_up_store, STORE),
    "rescue": Consumer(make_store, rescue_store, STORE),
}
PLACES = [
    (name, place, is_folder)
    for name, consumer in CONSUMERS.items()
    for is_folder, places in ((False, consumer.files), (True, consumer.folders))
    for place in places
]


def link(place, outside):
    place.symlink_to(outside)


def relative_link(place, outside):
    place.symlink_to(os.path.relpath(outside, place.parent))


def dangling_link(place, outside):
    place.symlink_to(outside.with_name("new"))


def pipe(place, outside):
    os.mkfifo(place)


def socket_file(place, outside):
    here = Path.cwd()
    os.chdir(place.parent)  # the path of a socket may be 108 bytes long
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)
    finally:
        os.chdir(here)


def other_kind(place, outside):
    if outside.is_dir():
        place.write_bytes(b"a file")
    else:
        place.mkdir()


HOSTILE = [link, relative_link, dangling_link, pipe, socket_file, other_kind]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder that each consumer uses, as it is before anybody has put something into it."""
    folders = {}

    def of(name):
        make = CONSUMERS[name].make
        if make not in folders:
            folders[make] = tmp_path_factory.mktemp("made") / "folder"
            make(folders[make])
        return folders[make]

    return of


def everything_in(folder):
    return {
        str(path.relative_to(folder)): None if path.is_dir() else (path.read_bytes(), path.stat().st_mode)
        for path in folder.rglob("*")
    }


def put_outside(folder, place, outside, is_folder):
    """Move what is at *place* outside, with a file of somebody beside it; return the place, and where that is now."""
    target = outside / "documents" / "target"
    target.parent.mkdir(parents=True)
    (target.parent / "thesis.txt").write_text("irreplaceable")
    found = next(iter(sorted(folder.glob(place))), folder / place.replace("*", "x"))
    if found.exists():
        found.rename(target)
    elif is_folder:
        target.mkdir()
    else:
        target.write_text("irreplaceable")
    if is_folder:
        (target / "part-0001-000009.parquet").write_text("irreplaceable")
        (target / "letter.txt").write_text("irreplaceable")
    found.parent.mkdir(exist_ok=True)
    return found, target


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(("name", "place", "is_folder"), some(PLACES, 3))
def test_nothing_outside_is_touched_whatever_is_in_a_folder(made, tmp_path, name, place, is_folder, hostile):
    consumer, folder = CONSUMERS[name], tmp_path / "folder"
    shutil.copytree(made(name), folder)
    here, target = put_outside(folder, place, tmp_path / "outside", is_folder)
    hostile(here, target)
    before = everything_in(tmp_path / "outside")

    if place in consumer.removed:
        with suppress(WebTableError):
            consumer.use(folder)
    else:
        with pytest.raises(WebTableError) as caught:
            consumer.use(folder)
        assert here.name in str(caught.value)

    assert everything_in(tmp_path / "outside") == before


@pytest.mark.slow
@pytest.mark.parametrize("name", CONSUMERS)
def test_a_folder_that_the_user_reaches_by_links_of_his_own_is_used(made, tmp_path, name):
    real = tmp_path / "real" / "deep"
    real.mkdir(parents=True)
    shutil.copytree(made(name), real / "folder")
    (tmp_path / "parent").symlink_to(real)
    (tmp_path / "folder").symlink_to(tmp_path / "parent" / "folder")

    CONSUMERS[name].use(tmp_path / "parent" / "folder")
    shutil.rmtree(real / "folder")
    shutil.copytree(made(name), real / "folder")
    CONSUMERS[name].use(tmp_path / "folder")

    assert (tmp_path / "folder").is_symlink()


def test_a_store_that_the_user_reaches_by_a_link_is_opened(made, tmp_path):
    shutil.copytree(made("store"), tmp_path / "real")
    (tmp_path / "crawl.db").symlink_to(tmp_path / "real" / "crawl.db")

    open_store(tmp_path)


@pytest.mark.parametrize("hostile", [link, pipe])
def test_what_lies_beside_the_file_that_a_link_leads_to_is_looked_at(made, tmp_path, hostile):
    shutil.copytree(made("store"), tmp_path / "real")
    (tmp_path / "crawl.db").symlink_to(tmp_path / "real" / "crawl.db")
    log, target = put_outside(tmp_path / "real", "crawl.db-wal", tmp_path / "outside", is_folder=False)
    hostile(log, target)

    with pytest.raises(StoreError, match=r"crawl\.db-wal"):
        open_store(tmp_path)


OUTSIDE = [
    *("", ".", "..", "/", "../x", "x/../../x", "./x", "x/", "x//x", "/etc/passwd", "~/../x/..", "x/.", "x/.."),
    *("..\\x", "x\\..\\x", "\\\\server\\x", "C:", "C:\\x", "c:/x", "C:x", "x\0", "x\0/../x", "\0"),
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_may_lead_outside_is_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with Folder(tmp_path / "folder") as folder:
        for use in (
            *(folder.kind, folder.folder, folder.reading, folder.making, folder.remove, folder.remove_folder),
            *(folder.check_file, lambda name: folder.move("x", folder, name), lambda name: folder.move(name, folder)),
            *(lambda name: folder.folder(name, make=True), lambda name: folder.replacing(name).__enter__()),
        ):
            with pytest.raises(FormatError, match="lead out of its directory"):
                use(name)
    with pytest.raises(FormatError):
        plain_parts(name)
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("use", [verify_export, lambda folder: next(read_export(folder)), resume_export])
def test_a_manifest_that_names_a_file_elsewhere_is_refused(made, tmp_path, name, use):
    shutil.copytree(made("export"), tmp_path / "folder")
    sealed(tmp_path / "folder", lambda manifest: manifest["files"][0].update(name=name))

    with pytest.raises(FormatError, match="not a file name of an export"):
        use(tmp_path / "folder")


@pytest.mark.parametrize("use", [write_full_text, search_full_text])
@pytest.mark.parametrize("name", OUTSIDE)
def test_full_text_that_names_a_folder_or_files_elsewhere_is_refused(made, tmp_path, name, use):
    for document in ("search.json", "index-*/.managed.json"):
        folder = tmp_path / document.replace("*", "x").replace("/", "-")
        shutil.copytree(made("full text, read"), folder)
        [file] = folder.glob(document)
        content = json.loads(file.read_bytes())
        if document == "search.json":
            del content["crc32"]
            content["current"]["folder"] = name
            file.write_bytes(with_checksum(msgspec.json.encode(content)))
        else:
            file.write_bytes(msgspec.json.encode([*content, name]))

        with pytest.raises(StoreError):
            use(folder)


def test_full_text_removes_no_file_elsewhere(made, tmp_path):
    shutil.copytree(made("full text, read"), tmp_path / "folder")
    [managed] = (tmp_path / "folder").glob("index-*/.managed.json")
    names = [tmp_path / "absolute", tmp_path / "folder" / "above"]
    for victim in names:
        victim.write_text("irreplaceable")
    managed.write_bytes(msgspec.json.encode([*json.loads(managed.read_bytes()), str(names[0]), "../above"]))

    with pytest.raises(StoreError, match="lead out of its directory"):
        write_full_text(tmp_path / "folder")

    assert [victim.read_text() for victim in names] == ["irreplaceable"] * 2


@pytest.mark.parametrize("name", [f"{name}/x.warc.gz" for name in OUTSIDE if "\0" not in name])
def test_an_archive_with_an_entry_elsewhere_is_refused(tmp_path, name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("archive/data.warc.gz", warc(1))
        zipped.writestr("archive/x.warc.gz", warc(2))
    stored = zipped_as(file.getvalue(), name)

    with pytest.raises(FormatError, match="lead out of its directory"):
        list(read_pages(io.BytesIO(stored)))


def zipped_as(data, name):
    """Return the zip with its second entry renamed to *name*, which `zipfile` would clean."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            new = zipfile.ZipInfo(entry.filename)
            if entry.filename == "archive/x.warc.gz":
                new.filename = name
            target.writestr(new, source.read(entry))
    return out.getvalue()


def test_what_the_listing_of_an_unfinished_export_names_is_not_moved(made, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(made("dataset cut short"), folder)
    (folder / ".bashrc").write_text("echo trap")
    (tmp_path / ".bashrc").write_text("mine")
    [listing] = (folder / "_incoming" / "_files").iterdir()
    lines = [{"name": name, "rows": 0, "bytes": 0, "sha256": ""} for name in ("../.bashrc", "/etc/x", "..", "")]
    listing.write_text("".join(json.dumps(line) + "\n" for line in lines))

    add_to_dataset(folder)

    assert ((tmp_path / ".bashrc").read_text(), (folder / ".bashrc").read_text()) == ("mine", "echo trap")


def test_an_unfinished_export_with_something_else_in_it_is_not_ended(made, tmp_path):
    folder = tmp_path / "folder"
    shutil.copytree(made("dataset cut short"), folder)
    (folder / "_incoming" / ".git").mkdir()
    (folder / "_incoming" / ".git" / "config").write_text("trap")

    with pytest.raises(FormatError, match="no part of an export"):
        add_to_dataset(folder)

    assert not (folder / ".git").exists()


def test_a_device_is_not_opened():
    with Folder(Path("/dev")) as folder:
        for use in (folder.kind, folder.reading, folder.remove_folder, folder.check_file):
            with pytest.raises(FormatError, match=r"not a .*, but a device"):
                use("null")


def test_a_folder_that_becomes_a_link_while_it_is_used_is_still_the_one_that_was_opened(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "folder" / "own").mkdir(parents=True)
    with Folder(tmp_path / "folder") as folder, folder.folder("own") as own:
        (tmp_path / "folder" / "own").rename(tmp_path / "folder" / "moved")
        (tmp_path / "folder" / "own").symlink_to(tmp_path / "outside")

        own.making("file").close()
        with pytest.raises(FormatError, match="symbolic link"):
            folder.making("own/file")

    assert list((tmp_path / "outside").iterdir()) == []
    assert [path.name for path in (tmp_path / "folder" / "moved").iterdir()] == ["file"]


def test_what_is_removed_with_a_folder_does_not_include_what_links_in_it_lead_to(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "thesis.txt").write_text("irreplaceable")
    (tmp_path / "folder" / "own" / "deep").mkdir(parents=True)
    for place in ("own/all", "own/deep/all"):
        (tmp_path / "folder" / place).symlink_to(tmp_path / "outside")
    os.mkfifo(tmp_path / "folder" / "own" / "pipe")

    with Folder(tmp_path / "folder") as folder:
        folder.remove_folder("own")

    assert list((tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "outside" / "thesis.txt").read_text() == "irreplaceable"

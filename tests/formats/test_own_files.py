"""Stores, journals and spools are for their owner alone; files that are made for others follow the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

import webtable
from webtable._files import atomic_file
from webtable.cli import app
from webtable.repository.writing.spool import Spool


@pytest.fixture(params=[0o022, 0o002, 0o000, 0o077, 0o066])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def allowed(umask: int) -> int:
    return 0o600 & ~umask


def test_a_new_store_and_the_files_beside_it_are_for_their_owner_alone(tmp_path, umask, sample_pages):
    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(sample_pages[0])
        files = sorted(path.name for path in tmp_path.iterdir())
        modes = {mode(path) for path in tmp_path.iterdir()}

    assert files == ["crawl.db", "crawl.db-shm", "crawl.db-wal"]
    assert modes == {allowed(umask)}


def test_a_store_that_is_there_keeps_its_mode(tmp_path, sample_pages):
    webtable.create(tmp_path / "crawl.db")
    (tmp_path / "crawl.db").chmod(0o640)

    with webtable.open(tmp_path / "crawl.db", create=True) as table:
        table.put(sample_pages[0])
        modes = {mode(path) for path in tmp_path.iterdir()}

    assert modes == {0o640}


@pytest.mark.parametrize(("is_private", "most"), [(True, 0o600), (False, 0o666)])
def test_a_file_that_is_written_whole_has_its_mode_from_the_beginning(tmp_path, umask, is_private, most):
    path = tmp_path / "export.csv"
    with atomic_file(path, is_private=is_private) as part:
        before = mode(part)
        part.write_text("new")

    assert (before, mode(path)) == (most & ~umask, most & ~umask)


def test_a_file_that_is_written_again_is_as_readable_as_it_was(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o644)

    with atomic_file(path) as part:
        part.write_text("new")

    assert (path.read_text(), mode(path)) == ("new", 0o644)


def test_a_readable_file_that_another_user_has_put_there_makes_nothing_readable(tmp_path, monkeypatch):
    path = tmp_path / "export.csv"
    path.touch()
    path.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)

    with atomic_file(path, is_private=True) as part:
        part.write_text("new")

    assert mode(path) == 0o600


def test_a_link_that_lies_in_wait_for_a_file_is_not_followed(tmp_path):
    victim, path = tmp_path / "victim", tmp_path / "export.csv"
    victim.write_text("mine")
    (tmp_path / f"export.csv.{os.getpid()}.part").symlink_to(victim)

    with atomic_file(path) as part:
        part.write_text("new")

    assert (victim.read_text(), path.read_text()) == ("mine", "new")


def test_spooled_pages_are_for_their_owner_alone(tmp_path, umask, sample_pages):
    path = Spool(tmp_path / "unsent.jsonl.zst").append(sample_pages)

    assert mode(path) == allowed(umask)


COMMANDS = [
    "create",
    "demo web",
    "ingest crawl.warc.gz --resume",
    "export warcs all --format warc",
    "export exported all --format jsonl",
    "export crawl.wacz all",
    "audit example.com --html audit.html",
    "copy webtable.db copied.db --resume",
    "delete-pages example.com --yes",
]


@pytest.mark.slow
@pytest.mark.usefixtures("few_sample_pages")
@pytest.mark.parametrize("umask", [0o022], indirect=True)
def test_what_commands_write_for_others_follows_the_umask_alone(tmp_path, umask, sample_pages, make_warc, monkeypatch):
    given = make_warc(sample_pages)
    monkeypatch.chdir(tmp_path)
    for words in COMMANDS:
        ended = CliRunner().invoke(app, words.split(), prog_name="webtable")
        assert not ended.exit_code, ended.stderr

    with webtable.open(tmp_path / "webtable.db") as table:
        table.pages(webtable.ALL).to_parquet(tmp_path / "pages.parquet")
    made = {path for path in tmp_path.rglob("*") if path != given}

    assert {path.suffix for path in made} >= {".db", ".gz", ".cdxj", ".wacz", ".parquet", ".html"}
    for_others = {"index.cdxj", "crawl.wacz", "pages.parquet", "audit.html", "webtable-00001.warc.gz"}
    for_others |= {"manifest.json", "webtable-00001.jsonl.zst"}
    assert {path.name for path in made if path.is_file() and mode(path) == 0o644} == for_others
    assert {mode(path) for path in made if path.is_file() and path.name not in for_others} == {0o600}
    assert {path.name: mode(path) for path in made if path.is_dir()} == {
        "web": 0o700,
        "warcs": 0o755,
        "exported": 0o755,
    }

"""`webtable plot`: which pictures there are, and the files they are written to."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import pytest
from running import Run

import webtable
from webtable.cli import reports

HOME = "https://example.com/"
SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture
def site() -> None:
    with webtable.open("webtable.db", create=True) as table:
        table.put(webtable.Page(url=HOME, body=b"<a href=/b>b</a>", fetched_at=datetime.now(UTC)))
        table.put(webtable.Page(url=f"{HOME}b", body=b"b", fetched_at=datetime.now(UTC)))
        table.links.refresh()


COUNTED = ("status", "types", "languages", "ages", "sizes", "captures", "regions")
PICTURES = {
    **{name: [name, "example.com"] for name in COUNTED},
    "hosts": ["hosts", "com"],
    "history": ["history", HOME],
}


def test_without_a_name_the_pictures_are_listed(run: Run):
    done = run("plot")

    assert done.code == 0
    assert [name for name in PICTURES if f" {name} " not in done.out] == []


def test_every_picture_that_there_is_is_tried_here():
    assert {command.name or command.callback.__name__ for command in reports.group.registered_commands} == set(PICTURES)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("arguments", list(PICTURES.values()), ids=list(PICTURES))
def test_a_picture_is_written_and_what_it_shows_is_told(run: Run, empty_directory, arguments):
    done = run("plot", *arguments, "--out", "x.png")

    assert done.code == 0, done.err
    assert done.out == ""
    assert done.err.startswith("x.png: ")
    assert "no " not in done.err
    assert (empty_directory / "x.png").read_bytes().startswith(SIGNATURES[".png"])
    assert sorted(path.name for path in empty_directory.glob("x*")) == ["x.png"]


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf", ".PNG"])
def test_the_ending_says_the_format_and_the_same_picture_is_the_same_file(run: Run, empty_directory, ending):
    for name in "ab":
        assert run("plot", "status", "example.com", "--out", f"{name}{ending}").code == 0

    one, other = ((empty_directory / f"{name}{ending}").read_bytes() for name in "ab")
    assert one.startswith(SIGNATURES[ending.lower()])
    assert one == other


@pytest.mark.parametrize("out", ["x.bmp", "x", "missing/x.png", "."])
def test_a_file_that_cannot_be_written_is_told_before_the_store_is_opened(run: Run, out):
    done = run("plot", "sizes", "example.com", "--out", out)

    assert done.code == 2
    assert "--out" in done.err
    assert "webtable.db" not in done.err


@pytest.mark.usefixtures("site")
def test_a_picture_that_fails_leaves_the_file_that_was_there(run: Run, empty_directory, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, path, **_):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    (empty_directory / "x.png").write_bytes(b"before")
    monkeypatch.setattr(Figure, "savefig", fail)

    done = run("plot", "status", "example.com", "--out", "x.png")

    assert done.code == 1
    assert done.errors == ["webtable: x.png: it cannot be written: the disk is full; make space, and try again"]
    assert [path.read_bytes() for path in empty_directory.glob("x*")] == [b"before"]


@pytest.mark.usefixtures("site", "large_store")
def test_a_picture_of_a_large_table_takes_all(run: Run):
    refused = run("plot", "status", "--out", "x.png")
    drawn = run("plot", "status", "all", "--out", "x.png")

    assert (refused.code, drawn.code) == (2, 0)
    assert "or all for every page" in refused.err
    assert drawn.err == "x.png: 2 pages by status\n"


def test_without_matplotlib_it_is_told_what_to_install(run: Run, monkeypatch):
    from webtable.repository.answers import pictures

    pictures.matplotlib.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    done = run("plot", "status", "example.com", "--out", "x.png")

    assert done.code == 1
    assert "pip install 'hbase-webtable[plot]'" in done.err

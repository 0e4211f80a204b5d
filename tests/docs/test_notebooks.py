"""The notebooks of examples/: each runs from a clean kernel, and is kept without what it showed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import webtable
from nightly import some
from webtable.formats import read_pages

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from make_notebooks import NOTEBOOKS, executed  # noqa: E402

nbformat = pytest.importorskip("nbformat")

BOOKS = sorted(NOTEBOOKS.glob("*.ipynb"))
OF_SAMPLE_WEB = [path for path in BOOKS if path.stem != "a_week_of_seo"]
each = pytest.mark.parametrize("path", BOOKS, ids=[path.stem for path in BOOKS])


@pytest.fixture(autouse=True)
def kernels_of_this_environment(monkeypatch):
    """Have a kernel import what the tests do, and only the kernels of this Python."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("JUPYTER_PATH", str(Path(sys.prefix) / "share" / "jupyter"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")


def shown(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.get("data", {}).get("text/html") or output.get("text", "") for output in outputs]


def test_there_are_four():
    assert [path.stem for path in BOOKS] == ["a_week_of_seo", "choosing_a_row_key", "site_audit", "what_changed"]


def test_a_week_of_seo_takes_forty_lines_and_finds_what_the_shop_has(tmp_path):
    notebook = executed(NOTEBOOKS / "a_week_of_seo.ipynb", tmp_path)

    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(len(source.splitlines()) for source in code) <= 40
    assert "robots: none -> 'noindex'" in "".join(shown(notebook))
    assert (tmp_path / "audit.xlsx").read_bytes().startswith(b"PK")


@pytest.mark.slow
@pytest.mark.parametrize("path", some(OF_SAMPLE_WEB[::-1], 3), ids=lambda path: path.stem)
def test_it_runs_on_the_sample_web_from_a_clean_kernel(path, tmp_path):
    notebook = executed(path, tmp_path)

    assert (tmp_path / "webtable-demo" / "webtable.db").exists()
    assert len([text for text in shown(notebook) if text]) > 4


@each
def test_it_is_kept_without_outputs(path):
    cells = nbformat.read(path, as_version=4).cells

    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)


@pytest.fixture(scope="module")
def corpus_store(warc_files, tmp_path_factory):
    store = tmp_path_factory.mktemp("corpus") / "corpus.db"
    with webtable.open(store, create=True) as table:
        with table.writer() as writer:
            for file in warc_files:
                writer.put_many(read_pages(file))
        table.links.refresh()
    return store


@pytest.mark.corpus
@pytest.mark.nightly
@each
def test_it_runs_on_a_real_crawl_too(path, corpus_store, tmp_path):
    with webtable.open(corpus_store) as table:
        (host,) = table.hosts(limit=1)

    notebook = executed(path, tmp_path, store=str(corpus_store), site=host.name)

    assert not (tmp_path / "webtable-demo").exists()
    assert len([text for text in shown(notebook) if text]) > 4

"""What the docs show is true: snippets run, names exist, the CLI page is what --help says."""

from __future__ import annotations

import collections.abc
import inspect
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import webtable
from running_pieces import pieces_run_after
from webtable import (
    answers,
    errors,
    formats,
    indexes,
    ingest,
    maintenance,
    metrics,
    page,
    parallel,
    progress,
    questions,
    records,
    reports,
    rowkey,
    schema,
    store,
    writing,
)
from webtable.repository.table.groups import TableIndexes, TableLinks, TableMaintenance
from webtable.store import Store

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


SNIPPETS = {
    f"{'_'.join(document.relative_to(ROOT).with_suffix('').parts).removeprefix('docs_')}_{number}": code
    for document in DOCS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL), 1)
}


@pytest.fixture(scope="module")
def run_snippet():
    """Run a piece of Python in a folder; returns its exit code and what it wrote."""
    imported = "aio", "explorer", "formats", "reports", "testing"
    with pieces_run_after(*(f"webtable.{name}" for name in imported), "pandas", "pyarrow", warnings="error") as run:
        yield run


@pytest.mark.parametrize("code", list(SNIPPETS.values()), ids=list(SNIPPETS))
def test_a_snippet_runs_in_a_fresh_folder(code, tmp_path, run_snippet, small_web):
    if "webtable.demo" in code:  # the sample web is there already: making it takes longer than all else
        for name in ("sample", "webtable-demo"):
            shutil.copytree(small_web.store.parent, tmp_path / name)

    exit_code, wrote = run_snippet(code, tmp_path)

    assert exit_code == 0, wrote


TESTS = [
    pytest.param(code, id=name, marks=pytest.mark.hbase if "hbase" in code else ())
    for name, code in SNIPPETS.items()
    if "def test_" in code
]


@pytest.mark.parametrize("code", TESTS)
def test_a_test_that_is_shown_passes(code, pytester, request, monkeypatch):
    if "hbase" in code:
        monkeypatch.setenv("WEBTABLE_HBASE_URL", request.getfixturevalue("hbase_url"))
    pytester.makeconftest('pytest_plugins = ["webtable.testing"]')
    pytester.makepyfile(code)

    result = pytester.runpytest("-W", "error", "-p", "no:cacheprovider")

    assert "passed" in result.parseoutcomes()
    assert result.ret == 0


@pytest.mark.slow
def test_the_snippets_satisfy_the_type_checker(tmp_path):
    for name, code in SNIPPETS.items():
        (tmp_path / f"{name}.py").write_text(f"# mypy: allow-untyped-defs\n{code}")

    # With the options of the project alone, so that what it has found out of the package is not thrown away.
    mypy = [sys.executable, "-m", "mypy", str(tmp_path)]
    run = subprocess.run(mypy, capture_output=True, text=True, cwd=ROOT)

    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("document", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_to_a_file_leads_somewhere(document):
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_public_names_are_sorted_and_there():
    assert sorted(webtable.__all__) == webtable.__all__
    assert [name for name in webtable.__all__ if not hasattr(webtable, name)] == []


def test_a_module_that_is_not_public_begins_with_an_underscore():
    modules = {path.stem for path in Path(webtable.__path__[0]).iterdir() if path.suffix == ".py" or path.is_dir()}

    public_modules = {name for name in modules if not name.startswith("_")}

    assert public_modules == {
        "aio",
        "answers",
        "cli",
        "demo",
        "display",
        "errors",
        "explorer",
        "formats",
        "indexes",
        "ingest",
        "integrations",
        "maintenance",
        "metrics",
        "page",
        "parallel",
        "progress",
        "questions",
        "records",
        "reports",
        "repository",
        "rowkey",
        "schema",
        "store",
        "testing",
        "url_filter",
        "writing",
    }


ELSEWHERE = {"PathLike", "None", "DataFrame", "RecordBatchReader", "Axes"}
"""Names of the standard library, of pandas, polars, pyarrow and matplotlib."""


def annotations_of_the_api():
    """Yield the names in the signatures of what callers hold."""
    for holder in (
        webtable.WebTable,
        webtable.KeyedTable,
        webtable.Writer,
        webtable.answers.Results,
        webtable.answers.Batch,
        TableLinks,
        TableIndexes,
        TableMaintenance,
        webtable,
    ):
        for name in dir(holder):
            if name.startswith("_"):
                continue
            found = getattr(holder, name) if holder is webtable else inspect.getattr_static(holder, name)
            function = getattr(found, "fget", None) or getattr(found, "__func__", found)
            if inspect.isfunction(function):
                for annotation in function.__annotations__.values():
                    yield from re.findall(r"\b[A-Z]\w+", str(annotation))


def test_what_a_public_method_takes_and_returns_is_public_too():
    modules = (
        webtable,
        answers,
        formats,
        indexes,
        ingest,
        maintenance,
        metrics,
        page,
        parallel,
        progress,
        questions,
        records,
        reports,
        writing,
        rowkey,
        schema,
        store,
    )
    public = {name for module in modules for name in module.__all__}
    known = {*public, *vars(errors), *vars(typing), *vars(collections.abc), *vars(collections), *ELSEWHERE}

    assert sorted(set(annotations_of_the_api()) - known) == []


def test_progress_is_given_by_its_name():
    members = inspect.getmembers(webtable.WebTable, inspect.isfunction)
    methods = [method for name, method in members if not name.startswith("_")]
    parameters = [inspect.signature(method).parameters.get("on_progress") for method in methods]

    kinds = {one.kind for one in parameters if one is not None}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_every_error_is_in_the_tree_that_opens_the_module():
    classes = {
        name
        for name, value in vars(webtable.errors).items()
        if isinstance(value, type) and issubclass(value, webtable.WebTableError)
    }
    tree = re.findall(r"^[ │├└─]*(\w+)(?: {2,}|$)", webtable.errors.__doc__, re.MULTILINE)

    assert sorted(tree) == sorted(classes)


@pytest.fixture
def makers_of_docs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))


@pytest.mark.slow
@pytest.mark.usefixtures("makers_of_docs")
def test_the_pictures_of_the_row_keys_are_what_the_advisor_draws():
    from make_rowkey_pictures import FOLDER, pictures

    drawn = pictures()

    assert {path.name: path.read_text() for path in FOLDER.glob("rowkey-*.svg")} == drawn, (
        "run: python docs/make_rowkey_pictures.py"
    )
    guide = (ROOT / "docs" / "rowkeys.md").read_text()
    assert [name for name in drawn if f"pictures/{name}" not in guide] == []


@pytest.mark.usefixtures("makers_of_docs")
def test_each_drawing_is_what_its_script_draws_and_is_on_a_page():
    from make_drawings import FOLDER, drawings

    drawn = drawings()

    found = {path.name: path.read_text() for path in FOLDER.glob("drawing-*.svg")}
    assert found == drawn, "run: python docs/make_drawings.py"
    pages = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in drawn if f"pictures/{name}" not in pages] == []


@pytest.mark.usefixtures("makers_of_docs")
def test_the_gallery_shows_every_picture_that_is_drawn_for_it_and_each_is_small():
    from make_gallery import FOLDER, PICTURES

    page = (ROOT / "docs" / "gallery.md").read_text()
    files = {path.stem.removeprefix("gallery-"): path.stat().st_size for path in FOLDER.glob("gallery-*")}

    assert set(re.findall(r"\]\(pictures/gallery-(\w+)\.png\)", page)) == set(PICTURES) == set(files)
    assert max(files.values()) < 100_000, "a picture is too large for a page of the docs"


@pytest.mark.slow
@pytest.mark.usefixtures("makers_of_docs", "few_sample_pages")
def test_the_pictures_of_the_gallery_can_be_drawn_again(tmp_path, monkeypatch):
    import make_gallery

    monkeypatch.setattr(make_gallery, "FOLDER", tmp_path)

    make_gallery.main()

    assert {path.stem.removeprefix("gallery-") for path in tmp_path.iterdir()} == set(make_gallery.PICTURES)


@pytest.mark.usefixtures("makers_of_docs")
def test_the_page_of_the_explorer_shows_every_picture_that_is_taken_for_it_and_each_is_small():
    pytest.importorskip("playwright")
    from make_explorer_pictures import FOLDER, PICTURES

    page = (ROOT / "docs" / "explorer.md").read_text()
    files = {path.stem.removeprefix("explorer-"): path.stat().st_size for path in FOLDER.glob("explorer-*")}

    assert set(re.findall(r"\]\(pictures/explorer-(\w+)\.png\)", page)) == set(PICTURES) == set(files)
    assert max(files.values()) < 150_000, "a picture is too large for a page of the docs"


@pytest.mark.slow
def test_the_tables_of_the_page_on_large_tables_are_of_what_was_measured():
    from benchmarks import scale_page

    page = scale_page.PAGE.read_text()

    assert scale_page.written(page, scale_page.tables()) == page, "run: python -m benchmarks.scale_page"


def test_the_table_of_the_benchmarks_is_of_what_was_measured():
    from benchmarks import main_table

    page = main_table.PAGE.read_text()

    assert main_table.written(page, main_table.read(main_table.RESULTS)) == page, (
        "run: python -m benchmarks.main_table --table"
    )


@pytest.mark.slow
def test_the_picture_of_large_tables_can_be_drawn_again(tmp_path):
    from benchmarks import scale_page

    scale_page.draw(tmp_path / "drawn.png")

    assert abs((tmp_path / "drawn.png").stat().st_size / scale_page.PICTURE.stat().st_size - 1) < 0.2


@pytest.mark.usefixtures("makers_of_docs")
def test_the_reference_in_the_checkout_is_what_the_sources_say():
    from make_reference import FOLDER, pages

    made = pages()

    assert {path.name: path.read_text() for path in FOLDER.glob("*.md")} == made, "run: python docs/make_reference.py"
    text = "".join(made.values())
    assert set(re.findall(r"^#### Store\.(\w+)$", made["stores.md"], re.MULTILINE)) >= Store.__abstractmethods__
    assert re.findall("^::: ", text, re.MULTILINE) == []
    for name in webtable.__all__:
        if isinstance(getattr(webtable, name), type):
            assert re.search(rf"^### webtable\.(?:\w+\.)*{name}$", text, re.MULTILINE), name


@pytest.mark.usefixtures("makers_of_docs")
def test_the_page_of_the_command_line_is_what_the_commands_say():
    from make_cli_page import PAGE, cli_page

    assert PAGE.read_text() == cli_page(), "run: python docs/make_cli_page.py"

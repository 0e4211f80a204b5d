"""The site of the docs: it is built without a warning, needs no other host, and shows what commands really print."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import webtable
import webtable.aio
import webtable.demo
import webtable.errors
import webtable.explorer
import webtable.formats
import webtable.ingest
import webtable.integrations.dask
import webtable.integrations.opentelemetry
import webtable.integrations.prometheus
import webtable.integrations.ray
import webtable.integrations.scrapy
import webtable.questions
import webtable.reports
import webtable.rowkey
import webtable.schema
import webtable.store
import webtable.testing
from nightly import some
from webtable.cli import app

ROOT = Path(__file__).parents[2]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
SHOWN = set(re.findall(r"^::: ([\w.]+)$", "\n".join(path.read_text() for path in REFERENCE), re.MULTILINE))
MODULES = [
    webtable.aio,
    webtable.answers,
    webtable.demo,
    webtable.errors,
    webtable.explorer,
    webtable.formats,
    webtable.ingest,
    webtable.indexes,
    webtable.integrations.dask,
    webtable.integrations.opentelemetry,
    webtable.integrations.prometheus,
    webtable.integrations.ray,
    webtable.integrations.scrapy,
    webtable.maintenance,
    webtable.metrics,
    webtable.page,
    webtable.parallel,
    webtable.progress,
    webtable.questions,
    webtable.records,
    webtable.reports,
    webtable.rowkey,
    webtable.schema,
    webtable.store,
    webtable.testing,
    webtable.url_filter,
    webtable.writing,
]

LISTED = [webtable.answers, webtable.indexes, webtable.maintenance, webtable.metrics, webtable.page, webtable.records]
LISTED += [webtable.explorer, webtable.ingest, webtable.progress, webtable.questions, webtable.writing]
"""The modules that only list public names."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


def test_a_page_takes_nothing_from_another_host(site):
    pages = {page: page.read_text() for page in site.rglob("*.html")}

    taken = r"""<(?:script|img|iframe)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*\shref=["']?(?:https?:)?//"""
    assert {str(page) for page, text in pages.items() if re.search(taken, text)} == set()
    assert len(pages) > 30


def test_examples_of_docstrings_are_code(site):
    page = (site / "reference" / "rowkeys.html").read_text()

    assert page.count('class="gp">&gt;&gt;&gt;') > 20
    assert "<blockquote>" not in page


def test_every_public_name_is_in_the_reference():
    # The page of the errors shows their whole module.
    shown = {name.rpartition(".")[2] for name in SHOWN} | set(vars(webtable.errors)) | {"ALL"}  # in a sentence

    names = {*webtable.__all__, *(name for module in LISTED for name in module.__all__)}
    assert sorted(names - shown) == []


def test_everything_in_the_reference_is_public():
    public = {module.__name__: module.__all__ for module in [webtable, *MODULES]}

    # The classes of `table.links` and the like are found through the table.
    others = {name for name in SHOWN if name.startswith("webtable.repository.table.")} | {"webtable.errors"}
    shown = [name.rpartition(".") for name in SHOWN - others]
    assert [".".join(parts) for parts in shown if parts[2] not in public[parts[0]]] == []


PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.md")) if path.stem != "cli"}
CONSOLE = {
    name: found
    for name, page in PAGES.items()
    if (found := re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
}
ON_HBASE = [name for name, blocks in CONSOLE.items() if any("$HBASE" in block for block in blocks)]


def commands(blocks):
    """Yield the commands in *blocks*, each with the pattern of what it prints."""
    for block in blocks:
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, output = re.fullmatch(r"(.*?\n(?:> .*?\n)*)(.*)", shown, re.DOTALL).groups()
            yield command.replace("\n> ", "\n"), ".*".join(map(re.escape, output.split("…")))


def run_all(blocks, folder, **variables):
    """Run the commands of *blocks* in *folder*, and hold what they print to what is shown."""
    for command, pattern in commands(blocks):
        if command == DEMO:
            shutil.copytree(demo_sample()[0], folder / "sample")
            code, out, err = 0, demo_sample()[1], ""
        elif PLAIN.fullmatch(command):
            code, out, err = in_this_process(command, folder)
        else:
            code, out, err = in_a_shell(command, folder, variables)
        assert code == 0, err
        assert re.fullmatch(pattern, out, re.DOTALL), f"$ {command}\n{out}"


DEMO = "webtable demo sample --until 2026-03-01 --no-ask\n"
PLAIN = re.compile(r"webtable [^|&;<>$*'\"\n]*\n")
"""What needs no shell."""


@cache
def demo_sample():
    """Return a folder that `DEMO` has made, which is always the same, and what it has printed."""
    folder = Path(tempfile.mkdtemp(prefix="webtable-docs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    code, out, err = in_this_process(DEMO, folder)
    assert code == 0, err
    return folder / "sample", out


def in_this_process(command, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("WEBTABLE_STORE", raising=False)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        for module in folder.glob("*.py"):
            patch.delitem(sys.modules, module.stem, raising=False)
        run = CliRunner().invoke(app, command.split()[1:], prog_name="webtable")
    return run.exit_code, run.stdout, run.stderr


def in_a_shell(command, folder, variables):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **variables}
    run = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return run.returncode, run.stdout, run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", some(list(CONSOLE), 2))
def test_the_commands_of_a_page_print_what_it_shows(tmp_path, name):
    run_all([block for block in CONSOLE[name] if "$HBASE" not in block], tmp_path)


@pytest.mark.hbase
@pytest.mark.parametrize("name", ON_HBASE)
def test_the_commands_of_a_page_do_the_same_on_hbase(tmp_path, hbase_url, name):
    made, asked = CONSOLE[name][0], [block for block in CONSOLE[name] if "$HBASE" in block]
    url, _, options = hbase_url.partition("?")

    run_all([made, *asked], tmp_path, HBASE=f"{url}/{name}_{uuid.uuid4().hex}?{options}")


HOW_TOS = {
    "own headers": "pages.html",
    "pdf": "other_content.html",
    "kill -9": "writing.html",
    "changed since": "questions.html",
}
"""What people search for, and the page that says how to do it."""


@pytest.mark.parametrize("words", HOW_TOS)
def test_a_heading_of_the_how_to_has_the_words_that_people_search_for(site, words):
    # The search of the site ranks words in titles first, and the page by its boost.
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    boosts = {one["location"]: one.get("boost", 1) for one in found}

    page = HOW_TOS[words]
    titles = [one["title"].lower() for one in found if one["location"].partition("#")[0] == page]
    assert any(all(word in title for word in words.split()) for title in titles)
    assert boosts[page] == 2 > boosts["index.html"] > boosts["cli.html"]

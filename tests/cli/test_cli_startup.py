"""A command imports what it needs: each module of the others would cost time before the first line comes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import webtable
from webtable.cli.commands import COMMANDS, GROUPS

_RUN = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from webtable.cli import main
main()
"""
OF_OTHER_COMMANDS = {
    "asyncio",
    "concurrent.futures",
    "email",
    "fastwarc",
    "happybase",
    "importlib.metadata",
    "publicsuffixlist",
    "pyarrow",
    "regex",
    "resiliparse",
    "rich",
    "selectolax",
    "thriftpy2",
    "webtable.page.extract",
    "webtable.formats.read",
    "webtable.repository.questions.difference",
    "webtable.repository.writing.writer",
}


CATALOGUE = {"webtable.repository", "webtable.repository.answers", "webtable.repository.answers.catalogue"}
"""The names of the questions, without the questions."""


def of_the_repository(loaded: set[str]) -> set[str]:
    """Return those of the modules *loaded* that are of the repository."""
    return {name for name in loaded if name.startswith("webtable.repository")}


def modules_of(*command: str, program: str = _RUN, code: int = 0) -> set[str]:
    """Return what is imported when the command has ended, with that exit code."""
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture
def url() -> str:
    """The URL of a page in the store of the directory."""
    with webtable.open("webtable.db", create=True) as table:
        table.put(webtable.Page(url="https://example.com/", body=b"<title>Home</title>"))
    return "https://example.com/"


def test_a_misspelt_command_loads_no_other():
    loaded = modules_of("pagse", code=2)

    assert loaded & {f"webtable.cli.{home}" for home in ("listings", "page", "reports")} == set()


def test_the_version_is_told_without_a_store_and_without_a_page():
    loaded = modules_of("--version") - {"importlib.metadata", "email"}

    assert loaded & (OF_OTHER_COMMANDS | {"msgspec", "sqlite3", "webtable.store"}) == set()
    assert of_the_repository(loaded) == CATALOGUE


def test_help_is_told_without_any_command():
    loaded = modules_of("--help")

    homes = {f"webtable.cli.{home.partition(':')[0]}" for one in COMMANDS.values() for home in one.home.split()}
    assert loaded & (OF_OTHER_COMMANDS | homes | {"msgspec", "sqlite3"}) == set()
    assert of_the_repository(loaded) == CATALOGUE


def test_pages_are_listed_without_the_parsers_of_pages(url):
    loaded = modules_of("pages", "all")

    assert "webtable.repository.questions.pages" in loaded
    assert loaded & {"resiliparse", "selectolax", "webtable.page.extract", "webtable.page.facts", "re2"} == set()


def test_a_page_is_shown_without_what_only_other_questions_need(url):
    loaded = modules_of("get", url)

    assert "webtable.repository.questions.page" in loaded
    assert loaded & OF_OTHER_COMMANDS - _of_the_framework() == set()


def _of_the_framework() -> set[str]:
    """Return what typer itself imports for a command: from 0.29 on much, of which nothing is ours."""
    program = "import atexit, json, sys, typer\n" + (
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "app = typer.Typer(rich_markup_mode=None)\n"
        "@app.command()\ndef main(url: str): pass\napp()"
    )
    return modules_of("x", program=program)


def test_importing_webtable_imports_nothing_of_it_before_it_is_used():
    program = "import json, sys, webtable; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"

    loaded = modules_of(program=program)

    assert {name for name in loaded if name.startswith("webtable.")} == {"webtable._late"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_in_the_list_is_there(name):
    command = COMMANDS[name].load(name)

    assert command.name == name
    assert command.help


def test_a_command_and_what_it_does_have_room_on_one_line_of_80_columns():
    width = max(map(len, COMMANDS))

    assert [one.help for one in COMMANDS.values() if 2 + width + 2 + len(one.help) > 80] == []
    assert len(COMMANDS) == sum(map(len, GROUPS.values()))


def test_at_its_end_the_interpreter_searches_no_cycles_among_what_was_imported():
    program = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))\n"

    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}from webtable.cli import main\nmain()", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stderr) > 1_000

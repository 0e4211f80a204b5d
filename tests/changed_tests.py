"""Runs the tests of what has changed since this branch left main, committed or not: `make quick`.

    python tests/changed_tests.py           run them
    python tests/changed_tests.py --list    name their files

For a changed module it chooses the test files and folders that are named for it or for a package around it, the test
files that import it or a module that imports it, and its doctests. A name that a package or a public module hands on
counts as an import of the module that has it; names of the root package do not count, as all tests import some. For a
changed test file it chooses that file, for a helper of tests the files that import it, for any other file the tests
that are named for its folder or that name it. Tests marked `slow` or `hbase` are left to `make test`.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import NoReturn

import grimp

ROOT = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")
ENDINGS = re.compile(r"(?<=\w{4})(ing|(?<=[xs])es|s)$")
"""What is cut off the name of a package: `indexes` has tests in `test_index_…`, and `writing` in `test_writer_…`."""
NOTHING_COLLECTED = 5


def changed_files(root: Path) -> set[str]:
    """Return the paths that differ from where this branch left main, deleted and untracked ones included."""
    names: set[str] = set()
    for command in (
        ["diff", "--name-only", "--no-renames", "-z", base(root)],
        ["ls-files", "-z", "-o", "--exclude-standard"],
    ):
        names |= set(git(root, *command).split("\0"))
    return names - {""}


def base(root: Path) -> str:
    """Return the commit where this branch left main; the last commit where no main is known."""
    for main in ("main", "origin/main"):
        found = git(root, "merge-base", "HEAD", main, check=False).strip()
        if found:
            return found
    return "HEAD"


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """Return what git writes, and nothing where it fails and *check* is off."""
    ended = subprocess.run(
        ["git", *arguments], cwd=root, stdout=-1, stderr=None if check else -3, check=check, text=True
    )
    return ended.stdout


class TestFiles:
    """The Python files below *tests* and what they import, with the modules that they name as text, to patch them."""

    def __init__(self, tests: Path, modules: set[str], handed_on: dict[str, str]) -> None:
        self.paths = {path.relative_to(tests).as_posix(): path for path in sorted(tests.rglob("*.py"))}
        helpers = {path.stem: name for name, path in self.paths.items() if not path.name.startswith("test_")}
        self.modules: dict[str, set[str]] = {}
        self.helpers: dict[str, set[str]] = {}
        for name, path in self.paths.items():
            named = named_modules(ast.parse(path.read_text(encoding="utf-8")))
            imported = {handed_on.get(text, text) for text in named}
            self.modules[name] = {longest for text in imported if (longest := known_part(text, modules))}
            self.helpers[name] = {helpers[part] for text in imported for part in text.split(".") if part in helpers}

    def importing(self, modules: set[str], helpers: set[str]) -> set[str]:
        """Return the test files that import any of those, or a helper that does."""
        reached = set(helpers) | {name for name in self.paths if self.modules[name] & modules}
        while more := {name for name in self.paths if self.helpers[name] & reached} - reached:
            reached |= more
        return {name for name in reached if PurePosixPath(name).name.startswith("test_")}

    def named_for(self, part: str) -> set[str]:
        """Return the test files in a folder with the name *part*, and those whose name begins with it."""
        word = ENDINGS.sub("", part)
        return {
            name
            for name, path in self.paths.items()
            if path.name.startswith("test_")
            and (part in PurePosixPath(name).parts[:-1] or path.stem.removeprefix("test_").startswith(word))
        }

    def naming(self, file: str) -> set[str]:
        """Return the test files whose text has *file* in it."""
        return {
            name
            for name, path in self.paths.items()
            if path.name.startswith("test_") and file in path.read_text(encoding="utf-8")
        }


def named_modules(tree: ast.AST) -> Iterator[str]:
    """Return the dotted names that *tree* imports, and its texts that could be some."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"\w+(\.\w+)+", node.value)
        ):
            yield node.value


def known_part(dotted: str, modules: set[str]) -> str | None:
    """Return the longest beginning of *dotted* that is the name of a module."""
    while dotted and dotted not in modules:
        dotted = dotted.rpartition(".")[0]
    return dotted or None


def names_handed_on(src: Path, packages: set[str]) -> dict[str, str]:
    """Return the names that modules import from others, `shop.orders.Basket`, and where they are from.

    Those of the root *packages* are not among them.
    """
    handed_on: dict[str, str] = {}
    for path in src.rglob("*.py"):
        module = module_name(path.relative_to(src))
        tree = ast.parse(path.read_text(encoding="utf-8")) if module not in packages else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in packages:
                handed_on |= {
                    f"{module}.{alias.asname or alias.name}": f"{node.module}.{alias.name}" for alias in node.names
                }
    return handed_on


def module_name(path: PurePosixPath | Path) -> str:
    """Return the name of the module at *path*, below the folder of sources."""
    return ".".join(part for part in path.with_suffix("").parts if part != "__init__")


def concerned(root: Path, changed: set[str]) -> list[str]:
    """Return the paths of the tests of the *changed* files, as arguments of pytest."""
    packages = {path.parent.name for path in (root / "src").glob("*/__init__.py")}
    graph = grimp.build_graph(*sorted(packages), exclude_type_checking_imports=True, cache_dir=None)
    files = TestFiles(root / "tests", graph.modules, names_handed_on(root / "src", packages))
    chosen: set[str] = set()
    doctests: set[str] = set()
    modules: set[str] = set()
    helpers: set[str] = set()
    for name in changed:
        path = PurePosixPath(name)
        if path.parts[0] == "src" and path.suffix == ".py":
            module = module_name(path.relative_to("src"))
            for part in module.split(".")[1:]:
                chosen |= files.named_for(part.lstrip("_"))
            modules |= {module} & graph.modules
            doctests |= {name} if ">>> " in text_of(root / name) else set()
        elif path.parts[0] == "tests" and path.suffix == ".py":
            inside = path.relative_to("tests").as_posix()
            helpers |= {inside} & files.paths.keys()
            if path.name == "conftest.py" and len(path.parts) > 2:
                chosen |= {test for test in files.paths if test.startswith(f"{path.parts[1]}/test_")}
        else:
            chosen |= files.naming(path.name)
            chosen |= files.named_for(path.parts[0]) if len(path.parts) > 1 else set()
    importers = {importer for module in modules for importer in graph.find_modules_that_directly_import(module)}
    chosen |= files.importing((modules | importers) - packages, helpers)
    return sorted(doctests | {f"tests/{name}" for name in chosen})


def text_of(path: Path) -> str:
    """Return the text of a file, which is empty where there is none any more."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def run(tests: list[str]) -> int:
    """Run *tests* with their files in memory, where that can be, and return the exit code of pytest."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="quick-", dir=memory, ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
        command += ["-m", "not slow and not hbase", f"--basetemp={folder}/pytest", *tests]
        # In a group of its own: what interrupts `make` comes here alone, and ends pytest and its workers at once, also
        # those in which a test has turned signals off.
        pytest = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TMPDIR": folder}, process_group=0)
        try:
            code = pytest.wait()
        finally:
            if pytest.poll() is None:
                os.killpg(pytest.pid, signal.SIGKILL)
                pytest.wait()
    return 0 if code == NOTHING_COLLECTED else code


def end(number: int, _frame: FrameType | None) -> NoReturn:
    """End by an exception, so that the folder is removed."""
    sys.exit(128 + number)


def main() -> int:
    """Name the tests, or run them."""
    sys.path.insert(0, str(ROOT / "src"))
    tests = concerned(ROOT, changed_files(ROOT))
    if "--list" in sys.argv:
        print("\n".join(tests))
        return 0
    if not tests:
        print("no tests of what has changed")
        return 0
    print(f"tests of what has changed: {len(tests)} files")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    return run(tests)


if __name__ == "__main__":
    sys.exit(main())

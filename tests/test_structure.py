"""Folders stay small, imports go one way, a class name stands once: docs/design.md, "Layers"."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import webtable

ROOT = Path(webtable.__file__).parent
FOLDERS = [path.parent for path in sorted(ROOT.rglob("__init__.py"))]


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


def modules_in(folder):
    return [path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of_all():
    """Return the modules that each module imports, those for type checkers and those inside of functions included."""
    known = {module_name(path): tree for path, tree in trees().items()}
    imports = {}
    for module, tree in known.items():
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                found |= {whole if whole in known else node.module for whole in names.values()}
        imports[module] = (found & known.keys()) - {module}
    return imports


def test_no_folder_has_more_than_25_modules():
    assert {folder.name: len(modules_in(folder)) for folder in FOLDERS if len(modules_in(folder)) > 25} == {}


def test_no_folder_has_more_than_12_modules_beside_packages():
    # The modules of `webtable` itself are its API, and what several of its packages use.
    with_packages = [one for one in FOLDERS if one != ROOT and any(other.parent == one for other in FOLDERS)]

    assert {folder.name: len(modules_in(folder)) for folder in with_packages if len(modules_in(folder)) > 12} == {}


def test_no_module_has_more_than_300_lines():
    lines = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in trees()}

    assert {name for name, number in lines.items() if number > 300} == set()


def test_no_import_leads_back_to_its_file_also_not_for_type_checkers():
    try:
        TopologicalSorter(imports_of_all()).prepare()
    except CycleError as exc:
        raise AssertionError(f"imports in a circle: {' <- '.join(exc.args[1])}") from None


def test_a_class_name_stands_once():
    counted = Counter(
        node.name
        for path, tree in trees().items()
        if not path.is_relative_to(ROOT / "aio")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, times in counted.items() if times > 1} == set()


def test_text_becomes_markup_in_one_module():
    escaping = {
        path.relative_to(ROOT).as_posix()
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name == "html" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "html")
    }

    assert escaping - {"demo/web.py"} == {"_shown/markup.py"}

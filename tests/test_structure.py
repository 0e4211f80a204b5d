"""Imports go one way, and text becomes markup in one place: docs/design.md, "Layers"."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import webtable

ROOT = Path(webtable.__file__).parent


@cache
def trees():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}


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


def test_no_import_leads_back_to_its_file_also_not_for_type_checkers():
    try:
        TopologicalSorter(imports_of_all()).prepare()
    except CycleError as exc:
        raise AssertionError(f"imports in a circle: {' <- '.join(exc.args[1])}") from None


def test_the_command_line_names_what_everybody_may_use_also_for_type_checkers():
    inside = re.compile(r"webtable\.(repository|(page|store|schema|formats)\.)")
    named = {
        (module, imported)
        for module, imports in imports_of_all().items()
        if module.startswith("webtable.cli.")
        for imported in imports
        if inside.match(imported)
    }

    assert named == set()


def test_text_becomes_markup_in_one_module():
    escaping = {
        path.relative_to(ROOT).as_posix()
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(alias.name == "html" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "html")
    }

    assert escaping == {"display/markup.py"}

"""Packages whose names are imported when they are asked for look like any other."""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

LATE = ["webtable", "webtable.formats", "webtable.rowkey"]


@pytest.mark.parametrize("name", LATE)
def test_what_a_checker_sees_is_what_there_is(name):
    package = import_module(name)
    tree = ast.parse(Path(package.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in checked.body for alias in node.names}

    homes = {member: module for module, members in package._HOMES.items() for member in members}

    there = {member: getattr(import_module(home), member) for member, home in homes.items()}
    assert homes == seen
    assert {member: getattr(package, member) for member in homes} == there
    assert set(package.__all__) <= {*homes, *vars(package)}
    assert set(homes) <= set(package.__all__) & set(dir(package))


@pytest.mark.parametrize("name", LATE)
def test_no_name_is_that_of_a_module_which_would_hide_it_once_it_is_imported(name):
    package = import_module(name)

    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}

    assert modules & {member for members in package._HOMES.values() for member in members} == set()


def test_a_name_that_is_not_there_is_told():
    import webtable

    with pytest.raises(AttributeError, match="module 'webtable' has no attribute 'opne'"):
        _ = webtable.opne

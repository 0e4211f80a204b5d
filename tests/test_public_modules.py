"""Each public module says in `__all__` which names it promises (docs/versioning.md)."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

import webtable
import webtable.errors
import webtable.integrations

# Reached by the command line, by the public modules, and not by users.
INTERNAL = {"cli", "display", "repository"}
PUBLIC = ["webtable"]
PUBLIC += [
    f"webtable.{found.name}"
    for found in pkgutil.iter_modules(webtable.__path__)
    if not found.name.startswith("_") and found.name not in {*INTERNAL, "integrations"}
]
PUBLIC += [
    f"webtable.integrations.{found.name}"
    for found in pkgutil.iter_modules(webtable.integrations.__path__)
    if not found.name.startswith("_")
]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_lists_its_names(name):
    module = import_module(name)

    assert module.__all__
    assert len(set(module.__all__)) == len(module.__all__)
    assert [listed for listed in module.__all__ if not hasattr(module, listed)] == []
    assert [listed for listed in module.__all__ if listed.startswith("_")] == []


def test_every_error_is_listed():
    errors = {name for name, value in vars(webtable.errors).items() if isinstance(value, type)}

    assert set(webtable.errors.__all__) == {
        name for name in errors if issubclass(vars(webtable.errors)[name], Exception)
    }

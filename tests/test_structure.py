"""Folders stay small enough to be read: docs/design.md, "Layers"."""

from __future__ import annotations

from pathlib import Path

import webtable

FOLDERS = [path.parent for path in sorted(Path(webtable.__file__).parent.rglob("__init__.py"))]


def modules_in(folder):
    return [path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]


def test_no_folder_has_more_than_25_modules():
    assert {folder.name: len(modules_in(folder)) for folder in FOLDERS if len(modules_in(folder)) > 25} == {}


def test_no_folder_has_more_than_12_modules_beside_packages():
    with_packages = [folder for folder in FOLDERS if any(other.parent == folder for other in FOLDERS)]

    assert {folder.name: len(modules_in(folder)) for folder in with_packages if len(modules_in(folder)) > 12} == {}

"""Properties are tried by examples that take as long as the machine needs."""

from __future__ import annotations

import ast
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parents[1]


def test_no_example_has_a_deadline_by_the_clock_on_the_wall():
    by_hand = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for folder in ("tests", "benchmarks", "src")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "hypothesis" in (text := path.read_text(encoding="utf-8"))
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("settings", "register_profile")
        for option in call.keywords
        if option.arg == "deadline" and not (isinstance(option.value, ast.Constant) and option.value.value is None)
    ]

    assert settings().deadline is None
    assert by_hand == []

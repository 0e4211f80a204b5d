"""Patterns that read foreign text: none takes time that is quadratic in it, or worse."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import string
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import regex

import webtable
from nightly import NIGHTLY

CALLS = {"match", "fullmatch", "search", "sub", "findall", "finditer", "split"}
PAIRED = "a0 <\"'\\;=./:-@\n"

ANCHORED = {
    "webtable.formats.har": {"FIRST"},
    "webtable.repository.full_text.words": {"_PART", "_CHARACTERS"},
}
"""Patterns that are matched at given places alone, though the module does not name the call beside the pattern."""


def modules() -> Iterator[str]:
    """The modules of webtable, but for those of engines that are not installed."""
    for module in pkgutil.walk_packages(webtable.__path__, "webtable.", onerror=lambda _: None):
        if "__main__" not in module.name:
            yield module.name


def patterns_of(module: str) -> list[tuple[str, Any, set[str]]]:
    """The patterns that the source of *module* has, each with its name and the calls that are made of it."""
    tree = ast.parse(Path(importlib.util.find_spec(module).origin).read_text())
    calls: dict[str, set[str]] = {}
    patterns = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CALLS and isinstance(node.value, ast.Name):
            calls.setdefault(node.value.id, set()).add(node.attr)
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), call), [ast.Constant(text), *_]) if call in CALLS:
                patterns.append((text, re.compile(text), {call}))
    for name, value in vars(importlib.import_module(module)).items():
        values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
        for pattern in values:
            if isinstance(pattern, (re.Pattern, regex.Pattern)):
                is_anchored = name in ANCHORED.get(module, ())
                patterns.append((name, pattern, {"match"} if is_anchored else calls.get(name, CALLS)))
    return patterns


def hostile_texts(pattern: str) -> Iterator[tuple[str, str, str]]:
    """A beginning, what is repeated, and an end, of the characters and words of *pattern*; more of them by night."""
    words = re.findall(r"[A-Za-z<>=/:;@%.-]{2,}", pattern)
    own = sorted(set(re.sub(r"[\\\[\](){}|?*+^$]", "", pattern)) - set(string.ascii_letters[1:]))
    pairs = map("".join, product(own[:5] if not NIGHTLY else [*own, *PAIRED], repeat=2))
    repeated = [*own[:20], *words[:5], *pairs, "a", "0", " ", "\t", "\n"]
    starts = ["", *words[:1]] if not NIGHTLY else ["", *words, "<", '"', "//", "x"]
    return product(starts, dict.fromkeys(repeated), ["", "\0", "@"] if not NIGHTLY else ["", "\0", "@", "\n", '"'])


def seconds(call: Any, text: str | bytes) -> float:
    """The processor time of *call* for *text*, all of what it yields included."""
    before = time.thread_time()
    matches = call(text)
    if isinstance(matches, Iterator):
        for _ in matches:
            pass
    return time.thread_time() - before


def grows_too_fast(call: Any, start: str, repeated: str, end: str, *, is_bytes: bool) -> bool:
    """Whether twice the text takes over three times as long, up to 20,000 repetitions."""

    def measured(repetitions: int) -> float:
        text = start + repeated * repetitions + end
        return seconds(call, text.encode("latin-1", "replace") if is_bytes else text)

    # What is linear takes about 1 µs here, what is exponential a ms or more.
    if (before := measured(24)) > 0.0005:
        return measured(26) > 1.5 * before
    before = measured(350)
    for repetitions in (700, 1400, 2800, 5600, 11_200, 22_400):
        if (after := measured(repetitions)) < 0.000001 * repetitions:
            return False
        if after > 0.02 and min(after, measured(repetitions)) > 3 * before:
            return True
        before = after
    return False


@pytest.mark.slow
def test_no_pattern_takes_time_quadratic_in_a_foreign_text():
    slow = []
    for module in modules():
        try:
            importlib.import_module(module)
        except ImportError:
            continue  # an engine that is not installed
        for name, pattern, calls in patterns_of(module):
            is_bytes = isinstance(pattern.pattern, bytes)
            text = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
            for call in sorted(calls):
                method = getattr(pattern, call)
                run = method if call != "sub" else lambda text, sub=method: sub(text[:0], text)
                slow += [
                    (module, name, call, *hostile)
                    for hostile in hostile_texts(text)
                    if grows_too_fast(run, *hostile, is_bytes=is_bytes)
                ][:1]
    assert slow == []


@pytest.mark.parametrize("pattern", [r"\s+at", r"(\d+) ?ms", "(a|aa)+$", "^(//).*:.*@", r"<[\w.<>]+ object at 0x"])
def test_a_pattern_that_does_is_noticed(pattern):
    search = re.compile(pattern).search

    assert any(grows_too_fast(search, *hostile, is_bytes=False) for hostile in hostile_texts(pattern))

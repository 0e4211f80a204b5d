"""What is installed with webtable is listed, with its version and a licence that webtable's own goes with."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "docs"))

from make_dependencies import EXTRAS, PAGE, closure  # noqa: E402

LISTED = dict(re.findall(r"^\| (\S+) \| (\S+) \|", PAGE.read_text(), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def extra_of(name: str):
    """Return the extra for a test that needs it installed: Ray and Spark are for jobs of their own."""
    job = {"ray": "engines", "spark": "spark"}.get(name)
    return pytest.param(name, marks=getattr(pytest.mark, job)) if job else name


@pytest.mark.parametrize("extra", ["", *map(extra_of, EXTRAS)])
def test_each_dependency_is_listed(extra):
    needed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]

    assert closure(needed) <= LISTED.keys(), "run: python docs/make_dependencies.py"


def test_each_extra_of_users_is_listed():
    assert {*EXTRAS, "dev", "bench"} == PROJECT["optional-dependencies"].keys()


def test_the_versions_are_those_of_the_constraints():
    constraints = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)
    known = {name.lower().replace("_", "-"): version for name, version in constraints.items()}

    wrong = {
        name: version
        for name, version in LISTED.items()
        if name != "package" and known.get(name.lower().replace("_", "-"), version) != version
    }

    assert not wrong


def test_no_licence_asks_for_more_than_webtable_s_own_gives():
    licences = re.findall(r"^\| (\S+) \| \S+ \| (.*) \|$", PAGE.read_text(), re.MULTILINE)

    assert len(licences) > 40
    assert not [line for line in licences if re.search(r"GPL|not told|AGPL|SSPL|Commons", line[1])]
